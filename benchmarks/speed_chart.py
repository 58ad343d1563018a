"""The chart of README.md and of the first page: ``python -m benchmarks.speed_chart RESULTS --write FILE``.

Sets that no development run used, one row for each kind of data: how many times the time of swapsvm a peer took.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, NullLocator

from swapsvm.study import records as raw
from swapsvm.study.records import Record

from .kind_sections import PEERS, View, held_back_view, title
from .style import COLOURS, MARKERS, STYLE, plain_numbers
from .summary import geometric_mean

TICKS = (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
NAMES = {"intelex": "scikit-learn-intelex"}
LANES = {"intelex": -0.14, "scikit-learn": 0.0, "libsvm": 0.14}
LOOK: dict[str, Any] = {"linestyle": "none", "markersize": 8, "markeredgecolor": "white", "markeredgewidth": 0.8}


def speed_chart(records: Sequence[Record]) -> Any:
    """A row for each kind and one for all sets, a mark for the geometric mean of each peer."""
    view = held_back_view(records)
    if not view.kinds():
        raise ValueError("no lines of the suite held-back: python -m benchmarks.run --suites held-back")
    rows = [(f"{kind.name} ({len(sets)})", sets) for kind, sets in view.kinds()]
    rows.append((f"all sets ({sum(len(sets) for _, sets in rows)})", [data for _, sets in rows for data in sets]))
    with plt.rc_context({**STYLE, "svg.fonttype": "path", "svg.hashsalt": "swapsvm"}):
        figure, axes = plt.subplots(figsize=(6.4, 0.3 * len(rows) + 1.2), layout="constrained")
    for place, (_, sets) in enumerate(rows):
        draw_row(axes, view, sets, place, named=place == len(rows) - 1)
    finish(axes, [name for name, _ in rows])
    return figure


def draw_row(axes: Any, view: View, sets: Sequence[str], place: int, named: bool) -> None:
    """The geometric means of the peers; ``named``: for the legend, which has their numbers."""
    ratios = {peer: view.ratios(sets, peer) for peer in PEERS}
    means = {peer: geometric_mean(found) for peer, found in ratios.items() if found}
    axes.plot([min(means.values()), max(means.values())], [place] * 2, color="#CCCCCC", linewidth=2, zorder=1)
    for peer, mean in means.items():
        label = f"{NAMES.get(peer, title(peer))} ({mean:.1f})" if named else None
        axes.plot([mean], [place + LANES[peer]], MARKERS[peer], **LOOK, color=COLOURS[peer], label=label)


def finish(axes: Any, names: Sequence[str]) -> None:
    axes.set_xscale("log")
    axes.relim()
    axes.autoscale(axis="x")
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.5), high)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.axhline(len(names) - 1.5, color="#888888", linewidth=0.8)
    axes.axvspan(axes.get_xlim()[0], 1, color="#D55E00", alpha=0.07, zorder=0, linewidth=0)
    axes.axvline(1, color="#444444", linewidth=1.3)
    plain_numbers(axes.xaxis)
    axes.xaxis.set_major_locator(FixedLocator(TICKS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("fit time of the other package / fit time of swapsvm")
    place = axes.get_xaxis_transform()
    for x, text, side in ((0.95, "slower", "right"), (1.05, "swapsvm is faster", "left")):
        axes.text(x, 1.01, text, transform=place, ha=side, va="bottom", size=9, color="#444444")
    axes.figure.legend(loc="outside upper center", ncols=len(PEERS), frameon=False, handletextpad=0.1)


def chart_of(path: Path) -> Any:
    """The chart of a file of results."""
    return speed_chart(list(raw.read(path)))


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="JSON lines of benchmarks.run")
    parser.add_argument("--write", type=Path, required=True, help="file of the chart, such as speed.svg")
    options = parser.parse_args(words)
    try:
        figure = chart_of(options.results)
    except ValueError as error:
        parser.error(str(error))
    metadata = {"Date": None} if options.write.suffix == ".svg" else {}
    figure.savefig(options.write, facecolor="white", metadata=metadata)


if __name__ == "__main__":
    main()
