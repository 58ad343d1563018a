"""Clean and noisy data at scale: seconds, accuracy, certified gap and memory, beside approximations.

``python -m benchmarks.scale --output results/scale/runs.jsonl [--families noisy] [--rows 100000] [--limit 1800]``

10^5, 10^6 and 5 x 10^6 rows of three families: ``noisy``, ``physics`` and ``digits`` (up to 10^6 rows). ``SVC`` and
``SVC(max_vectors=k)`` beside scikit-learn's ``Nystroem(k)`` with ``LinearSVC`` and with SGD, and scikit-learn-intelex
where it ends within the limit. Each fit has its own process; a contender that exceeds the limit or the memory is
recorded and not tried again. ``report.md`` and a figure for each family are written beside the lines; ``--report``
only writes them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
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

SUITE = "scale"
ROWS = (100_000, 1_000_000, 5_000_000)
VECTORS = (128, 256, 512, 1024, 2048)
WHO = ("SVC", "SVC(max_vectors)", "Nystroem + LinearSVC", "Nystroem + SGD", "intelex")
LEAST_RANGE = 0.1  # points of accuracy in a figure: fewer would show single test rows
ABOUT = """Each fit in its own process, {threads} threads, limit {limits} s. {cpu}, {cores} cores, {simd}, load average
up to {load:.1f}: where other processes shared the cores, CPU seconds are the better measure. swapsvm {swapsvm}
({commits}); {versions}. Made by `python -m benchmarks.scale`; the raw lines are beside this file."""


@dataclass(frozen=True)
class Family:
    """Sets that differ in their number of rows only."""

    data: str
    about: str
    most: int = max(ROWS)


FAMILIES = {
    "noisy": Family(
        "noisy m={rows} noise=0.3",
        "A smooth function of four of 22 normal features plus noise 0.3 decides; 20000 test rows.",
    ),
    "physics": Family(
        "physics m={rows}",
        "Momentum, energy and path of particles of two masses: three features, a clean surface; 20000 test rows, "
        "so that 0.005 points are one row.",
    ),
    "digits": Family(
        "deformed m={rows}",
        "MNIST's training images, rotated, scaled, sheared, shifted and bent at random: 784 features, ten classes; "
        "the test rows are the 10000 of MNIST.",
        most=1_000_000,
    ),
}


def run(options: argparse.Namespace) -> None:
    trials = Trials(options.output, "benchmarks.scale")
    for name in options.families:
        for rows in options.rows:
            if rows <= FAMILIES[name].most:
                run_one(trials, name, rows, options)


def run_one(trials: Trials, name: str, rows: int, options: argparse.Namespace) -> None:
    """All contenders on one set, which is only made if one of them is due."""
    fixed = {"suite": SUITE, "family": name, "data": FAMILIES[name].data.format(rows=rows), "rows": rows}
    due = [task for task in tasks_of(fixed, options) if trials.is_due(task)]
    if due:
        split = datasets.load(fixed["data"])
        C, gamma = datasets.parameters_of(fixed["data"], split.X)
        trials.run(({**task, "C": C, "gamma": gamma} for task in due), split)


# ---- report -------------------------------------------------------------------------------------------------------


def report(lines: Sequence[Record]) -> str:
    text = ["# Clean and noisy data at scale", "", about(lines), ""]
    for name in (name for name in FAMILIES if of_family(lines, name)):
        text += section(name, of_family(lines, name))
    return "\n".join(text)


def about(lines: Sequence[Record]) -> str:
    """The conditions, and the notes of lines that have one."""
    where = lines[-1]["where"]
    text = ABOUT.format(
        **{name: where[name] for name in ("cpu", "cores", "simd", "swapsvm")},
        threads=lines[-1]["threads"],
        limits=" or ".join(f"{limit:g}" for limit in sorted({line["limit"] for line in lines})),
        load=max(line["load"] for line in lines),
        commits=", ".join(sorted({line["where"]["commit"] for line in lines})),
        versions=", ".join(f"{package} {version}" for package, version in where["versions"].items()),
    )
    return "\n\n".join([text, *sorted({line["note"] for line in lines if "note" in line})])


def of_family(lines: Sequence[Record], name: str) -> list[Record]:
    return [line for line in lines if line["family"] == name]


def section(name: str, lines: Sequence[Record]) -> list[str]:
    text = [f"## {name}", "", f"{FAMILIES[name].about} C = {lines[-1]['C']:g}, gamma = {lines[-1]['gamma']:.3g}.", ""]
    if any(line["status"] == "ok" for line in lines):
        text += [f"![Accuracy against seconds]({name}.png)", ""]
    for rows in sorted({line["rows"] for line in lines}):
        text += [f"### {name}, {rows} rows", "", *table_of([line for line in lines if line["rows"] == rows])]
    return text


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
        three_digits(line["seconds"]),
        three_digits(line["cpu_seconds"]),
        number(100 * line["accuracy"], ".3f"),
        number(line.get("relative_gap"), ".2g") or "no certificate",
        number(line["peak_bytes"] / MEGABYTE, ".0f"),
    )


def three_digits(seconds: float) -> str:
    return f"{seconds:.3g}" if seconds < 1000 else f"{seconds:.0f}"


def figure(lines: Sequence[Record]) -> Any:
    """Of one family, a panel for each number of rows: test accuracy against seconds."""
    sizes = sorted({line["rows"] for line in lines})
    with plt.rc_context(STYLE):
        size, shared = (4.7 * len(sizes), 3.8), {"sharex": True, "sharey": True}
        drawn, grid = plt.subplots(1, len(sizes), figsize=size, squeeze=False, **shared)
    for axes, rows in zip(grid[0], sizes, strict=True):
        draw_curves(axes, [line for line in lines if line["rows"] == rows], "seconds")
        axes.set(title=f"{rows:,} rows".replace(",", " "), xlabel="fit, seconds")
    low, high = grid[0][0].get_ylim()
    more = max(0.0, LEAST_RANGE - (high - low)) / 2
    grid[0][0].set(ylabel="test accuracy, %", ylim=(low - more, high + more))
    grid[0][0].ticklabel_format(axis="y", useOffset=False)
    curves = {curve.get_label(): curve for axes in grid[0] for curve in axes.get_lines()}
    grid[0][-1].legend(handles=curves.values(), loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False)
    drawn.tight_layout()
    return drawn


def write(lines: Sequence[Record], directory: Path) -> None:
    for name in FAMILIES:
        done = [line for line in of_family(lines, name) if line["status"] == "ok"]
        if done:
            drawn = figure(done)
            drawn.savefig(directory / f"{name}.png", bbox_inches="tight")
            plt.close(drawn)
    (directory / "report.md").write_text(report(lines))


def main(words: list[str] | None = None) -> None:
    parser = parser_of(__doc__, "results/scale/runs.jsonl", WHO, VECTORS)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS))
    perform(parser.parse_args(words), run, write)


if __name__ == "__main__":
    main()
