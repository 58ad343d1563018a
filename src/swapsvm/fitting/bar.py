"""The progress bar of a fit, drawn by rich (the extra ``swapsvm[demo]``)."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from .progress import FitProgress, format_progress


class Bar:
    """One bar for all pairs, with the progress of the running pair beside it."""

    def __init__(self, pairs: int) -> None:
        columns = (
            TextColumn("pair {task.fields[pair]} of {task.total:.0f}"),
            BarColumn(),
            TextColumn("{task.description}"),
        )
        self._bars = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar = self._bars.add_task("starting", total=pairs, pair=1)

    def __enter__(self) -> Self:
        self._bars.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.__exit__(None, None, None)

    def __call__(self, progress: FitProgress) -> None:
        done, text = progress.pairs_done, format_progress(progress)
        self._bars.update(self._bar, completed=done + progress.part, description=text, pair=done + 1)
