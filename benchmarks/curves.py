"""Curves of the contenders, labelled by their number of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swapsvm.study.records import Record

from .contenders import WITHOUT_LIMIT
from .style import plain_numbers

LOOKS = {
    "SVC": ("#D55E00", "*"),
    "SVC(max_vectors)": ("#D55E00", "o"),
    "reduce_support": ("#CC79A7", "D"),
    "Nystroem + LinearSVC": ("#0072B2", "s"),
    "Nystroem + SGD": ("#009E73", "^"),
    "intelex": ("#444444", "P"),
}


def draw_curves(axes: Any, lines: Sequence[Record], across: str, up: str = "accuracy", factor: float = 100.0) -> None:
    """A curve for each contender, its points labelled by the number of vectors."""
    for contender in dict.fromkeys(line["contender"] for line in lines):
        some = sorted((line for line in lines if line["contender"] == contender), key=lambda line: line["vectors"] or 0)
        some = [line for line in some if line.get(up) is not None and line.get(across)]
        colour, marker = LOOKS[contender]
        x, y = [line[across] for line in some], [factor * line[up] for line in some]
        size = 11 if contender in WITHOUT_LIMIT else 5.5
        axes.plot(x, y, marker=marker, color=colour, markersize=size, linewidth=1.4, label=contender)
        for line in (some[0], some[-1]) if across == "seconds" and len(some) > 1 else ():
            place = (line[across], factor * line[up])
            axes.annotate(
                line["vectors"], place, (0, -11), textcoords="offset points", color=colour, size=7.5, ha="center"
            )
    axes.set_xscale("log")
    plain_numbers(axes.xaxis)
