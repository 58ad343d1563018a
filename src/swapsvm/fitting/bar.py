"""The progress bar of a fit, drawn by rich (the extra ``swapsvm[demo]``)."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn


class Bar:
    """One bar for all problems, with the numbers of the running one beside it."""

    def __init__(self, total: int) -> None:
        columns = (TextColumn("{task.fields[place]}"), BarColumn(), TextColumn("{task.description}"))
        self._bars = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar = self._bars.add_task("starting", total=total, place="")

    def __enter__(self) -> Self:
        self._bars.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.__exit__(None, None, None)

    def __call__(self, place: str, done: float, text: str) -> None:
        self._bars.update(self._bar, completed=done, description=text, place=place)
