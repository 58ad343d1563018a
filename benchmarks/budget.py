"""Accuracy and certified gap against the number of vectors and seconds, for ``SVC(max_vectors=k)``.

``python -m benchmarks.budget --output results/budget/runs.jsonl [--data a9a] [--vectors 32 512] [--limit 600]``

Beside it: ``reduce_support`` of the full model (the seconds of both), ``Nystroem(k)`` with ``LinearSVC``, and the full
``SVC``. On a9a, ijcnn1, noisy 20000 and letter, at their common C and gamma. Each fit has its own process.
``report.md`` and its figure are written beside the lines; ``--report`` only writes them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from swapsvm.study.records import Record

from . import datasets
from .curves import draw_curves
from .markdown import number, table_lines
from .style import STYLE
from .trials import Trials, parser_of, perform, tasks_of

SUITE = "budget"
DATA = ("a9a", "ijcnn1", "noisy m=20000 noise=0.3", "letter")
VECTORS = (32, 64, 128, 256, 512, 1024, 2048)
WHO = ("SVC(max_vectors)", "reduce_support", "Nystroem + LinearSVC", "SVC")
PANELS = (  # across, up, label of x, label of y, factor
    ("kept", "accuracy", "vectors in the model", "test accuracy, %", 100.0),
    ("kept", "relative_gap", "vectors in the model", "certified relative gap", 1.0),
    ("seconds", "accuracy", "fit, seconds", "test accuracy, %", 100.0),
)
ABOUT = """Models with at most k vectors, at the C and gamma that are common to all competitors; the gap is that of the
whole problem, certified. Seconds of `reduce_support` include those of the full fit. {threads} threads, limit
{limit:g} s. {cpu}, {cores} cores, {simd}; swapsvm {swapsvm} ({commit}). Made by `python -m benchmarks.budget`; the raw
lines are beside this file."""


def run(options: argparse.Namespace) -> None:
    trials = Trials(options.output, "benchmarks.budget")
    for data in options.data:
        try:
            split = datasets.load(data)
        except OSError as error:
            print(f"{data} is skipped: {error}", flush=True)
            continue
        C, gamma = datasets.parameters_of(data, split.X)
        trials.run(tasks_of({"suite": SUITE, "data": data, "C": C, "gamma": gamma}, options), split)


# ---- report -------------------------------------------------------------------------------------------------------


def report(lines: Sequence[Record]) -> str:
    last = lines[-1]
    about = ABOUT.format(threads=last["threads"], limit=last["limit"], **last["where"])
    text = ["# Models of few vectors", "", about, "", "![Accuracy and gap against vectors and seconds](budget.png)", ""]
    for data in dict.fromkeys(line["data"] for line in lines):
        some = [line for line in lines if line["data"] == data]
        text += [f"## {data}", "", f"C = {some[0]['C']:g}, gamma = {some[0]['gamma']:.3g}.", "", *table_of(some)]
    return "\n".join(text)


def table_of(lines: Sequence[Record]) -> list[str]:
    head = ("contender", "vectors", "accuracy, %", "certified relative gap", "fit, s", "predict, s")
    ordered = sorted(lines, key=lambda line: (WHO.index(line["contender"]), line["vectors"] or 0))
    return table_lines(head, [row_of(line) for line in ordered])


def row_of(line: Record) -> tuple[Any, ...]:
    if line["status"] != "ok":
        return line["contender"], line["vectors"] or "", line["status"], line.get("message", ""), "", ""
    accuracy, gap = number(100 * line["accuracy"], ".2f"), number(line.get("relative_gap"), ".2g")
    times = (number(line[name], ".3g") for name in ("seconds", "predict_seconds"))
    return line["contender"], line["kept"], accuracy, gap, *times


def figure(lines: Sequence[Record]) -> Any:
    """A column for each data set: accuracy and gap against vectors, accuracy against seconds."""
    done = [line for line in lines if line["status"] == "ok"]
    data = list(dict.fromkeys(line["data"] for line in done))
    if not data:
        return None
    with plt.rc_context(STYLE):
        drawn, grid = plt.subplots(3, len(data), figsize=(3.7 * len(data) + 1.8, 9.0), squeeze=False)
    for column, name in zip(grid.T, data, strict=True):
        draw_column(column, [line for line in done if line["data"] == name], name)
    for axes, panel in zip(grid[:, 0], PANELS, strict=True):
        axes.set_ylabel(panel[3])
    grid[0, -1].legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False)
    drawn.tight_layout()
    return drawn


def draw_column(column: Sequence[Any], lines: Sequence[Record], name: str) -> None:
    for axes, (across, up, label, _, factor) in zip(column, PANELS, strict=True):
        draw_curves(axes, lines, across, up, factor)
        axes.set_xlabel(label)
        if up == "relative_gap" and any(line.get(up) for line in lines):
            axes.set_yscale("log")
    column[0].set_title(name, loc="left")


def write(lines: Sequence[Record], directory: Path) -> None:
    drawn = figure(lines)
    if drawn is not None:
        drawn.savefig(directory / "budget.png", bbox_inches="tight")
        plt.close(drawn)
    (directory / "report.md").write_text(report(lines))


def main(words: list[str] | None = None) -> None:
    parser = parser_of(__doc__, "results/budget/runs.jsonl", WHO, VECTORS)
    parser.add_argument("--data", nargs="+", default=list(DATA))
    perform(parser.parse_args(words), run, write)


if __name__ == "__main__":
    main()
