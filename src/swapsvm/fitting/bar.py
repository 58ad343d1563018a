"""The progress bar of a fit, drawn by rich, which not everybody has."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

BESIDE = 20  # characters of the bar and the spaces, at least


class Bar:
    """One bar for all problems, with the numbers of the running one beside it. Its last state stays on the screen.

    A thread of rich redraws it ten times a second: the spinner turns even while a computation reports nothing.
    """

    def __init__(self, total: int) -> None:
        spinner = SpinnerColumn("line", finished_text=" ")
        columns = (TextColumn("{task.fields[place]}"), spinner, BarColumn(), TextColumn("{task.description}"))
        self._bars = Progress(*columns, console=Console(stderr=True))
        self._bar = self._bars.add_task("starting", total=total, place="")

    def __enter__(self) -> Self:
        self._bars.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.__exit__(None, None, None)

    def __call__(self, place: str, done: float, text: str) -> None:
        room = self._bars.console.width - len(place) - BESIDE
        self._bars.update(self._bar, completed=done, description=shortened(text, room), place=place)


def shortened(text: str, width: int) -> str:
    """As many of the numbers as fit, the first ones first."""
    while len(text) > width and ", " in text:
        text = text.rpartition(", ")[0]
    return text
