"""The noisy family at scale: seconds, accuracy, certified gap and memory, beside approximations.

``python -m benchmarks.noisy_scale --output results/noisy-scale/runs.jsonl [--rows 100000 300000] [--limit 1800]``

10^5, 3 x 10^5 and 10^6 rows of 22 features, noise 0.3, C = 1, gamma = 1 / 44; 20000 test rows. ``SVC`` and
``SVC(max_vectors=k)`` beside scikit-learn's ``Nystroem(k)`` with ``LinearSVC`` and with SGD, and scikit-learn-intelex
where it ends within the limit. Each fit has its own process; a contender that exceeds the limit or the memory is
recorded and not tried again. ``report.md`` and its figure are written beside the lines; ``--report`` only writes them.
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
from .markdown import MEGABYTE, number, table_lines
from .style import STYLE
from .trials import Trials, parser_of, perform, tasks_of

SUITE = "noisy-scale"
ROWS = (100_000, 300_000, 1_000_000)
VECTORS = (128, 256, 512, 1024, 2048)
WHO = ("SVC", "SVC(max_vectors)", "Nystroem + LinearSVC", "Nystroem + SGD", "intelex")
ABOUT = """The noisy family: a smooth function of four of 22 normal features plus noise 0.3; C = 1, gamma = 1 / 44.
Each fit in its own process, {threads} threads, limit {limit:g} s. {cpu}, {cores} cores, {simd}; swapsvm {swapsvm}
({commit}); {versions}. Made by `python -m benchmarks.noisy_scale`; the raw lines are beside this file."""


def run(options: argparse.Namespace) -> None:
    trials = Trials(options.output, "benchmarks.noisy_scale")
    for rows in options.rows:
        fixed = {"suite": SUITE, "data": f"noisy m={rows} noise=0.3", "rows": rows, "C": 1.0, "gamma": 1 / 44}
        due = [task for task in tasks_of(fixed, options) if trials.is_due(task)]
        if due:
            trials.run(due, datasets.load(fixed["data"]))


# ---- report -------------------------------------------------------------------------------------------------------


def report(lines: Sequence[Record]) -> str:
    last = lines[-1]
    where = {**last["where"], "versions": ", ".join(f"{k} {v}" for k, v in last["where"]["versions"].items())}
    about = ABOUT.format(threads=last["threads"], limit=last["limit"], **where)
    text = ["# Noisy data at scale", "", about, "", "![Accuracy against seconds](scale.png)", ""]
    for rows in sorted({line["rows"] for line in lines}):
        text += [f"## {rows} rows", "", *table_of([line for line in lines if line["rows"] == rows])]
    return "\n".join(text)


def table_of(lines: Sequence[Record]) -> list[str]:
    head = ("contender", "vectors", "seconds", "CPU seconds", "accuracy, %", "certified relative gap", "peak, MB")
    ordered = sorted(lines, key=lambda line: (WHO.index(line["contender"]), line["vectors"] or 0))
    return table_lines(head, [row_of(line) for line in ordered])


def row_of(line: Record) -> tuple[Any, ...]:
    if line["status"] != "ok":
        ended = (
            f"> {line['limit']:g}" if line["status"] == "timeout" else f"{line['status']}: {line.get('message', '')}"
        )
        return line["contender"], line["vectors"] or "", ended, "", "", "", ""
    return (
        line["contender"],
        line["kept"] or "",
        number(line["seconds"], ".3g"),
        number(line["cpu_seconds"], ".3g"),
        number(100 * line["accuracy"], ".2f"),
        number(line.get("relative_gap"), ".2g"),
        number(line["peak_bytes"] / MEGABYTE, ".0f"),
    )


def figure(lines: Sequence[Record]) -> Any:
    """A panel for each number of rows: test accuracy against seconds."""
    done = [line for line in lines if line["status"] == "ok"]
    sizes = sorted({line["rows"] for line in done})
    if not sizes:
        return None
    with plt.rc_context(STYLE):
        drawn, grid = plt.subplots(1, len(sizes), figsize=(4.7 * len(sizes), 3.8), squeeze=False, sharey=True)
    for axes, rows in zip(grid[0], sizes, strict=True):
        draw_curves(axes, [line for line in done if line["rows"] == rows], "seconds")
        axes.set(title=f"{rows:,} rows".replace(",", " "), xlabel="fit, seconds")
    grid[0][0].set_ylabel("test accuracy, %")
    grid[0][-1].legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False)
    drawn.tight_layout()
    return drawn


def write(lines: Sequence[Record], directory: Path) -> None:
    drawn = figure(lines)
    if drawn is not None:
        drawn.savefig(directory / "scale.png", bbox_inches="tight")
        plt.close(drawn)
    (directory / "report.md").write_text(report(lines))


def main(words: list[str] | None = None) -> None:
    parser = parser_of(__doc__, "results/noisy-scale/runs.jsonl", WHO, VECTORS)
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS))
    perform(parser.parse_args(words), run, write)


if __name__ == "__main__":
    main()
