"""What a search says if its time was not enough, or some of its fits did not reach their gap."""

from __future__ import annotations

from collections.abc import Sequence

from ..result import warn_user
from ..stopping import ConvergenceWarning
from .scores import Fit

Rows = Sequence[list[Fit]]  # the fits of all folds, one row per candidate


def check_scored(fits: Rows, max_time: float | None) -> None:
    """Raise unless a candidate was scored on all folds."""
    if all(_is_short(row) for row in fits):
        if _was_interrupted(fits):
            raise KeyboardInterrupt("interrupted before a candidate was scored on all folds")
        raise ValueError(
            f"max_time={max_time!r} seconds were over before a candidate was scored on all {len(fits[0])} folds: raise "
            "max_time, use fewer folds, or search on a sample of the rows"
        )


def warn_of_missing(search: str, fits: Rows, max_time: float | None) -> None:
    """Say how many candidates were scored, if not all."""
    scored = sum(not _is_short(row) for row in fits)
    if scored == len(fits):
        return
    by, others = ("Ctrl-C", "search again") if _was_interrupted(fits) else (f"max_time={max_time!r}", "raise max_time")
    warn_user(
        f"{search}: {by} ended the search when {scored} of {len(fits)} candidates were scored on "
        f"all folds. The best of them is chosen; for the others {others}.",
        ConvergenceWarning,
    )


def _is_short(row: list[Fit]) -> bool:
    return any(fit.missed for fit in row)


def _was_interrupted(fits: Rows) -> bool:
    return any(fit.missed and fit.stop_reason == "interrupted" for row in fits for fit in row)


def warn_of_gaps(search: str, fits: Rows) -> None:
    """Say how many of the scored fits ended before their gap was reached."""
    made = [fit for row in fits for fit in row if not fit.missed]
    short = [fit for fit in made if fit.stop_reason != "gap"]
    if short:
        worst = max(short, key=lambda fit: fit.relative_gap)
        warn_user(
            f"{search}: {len(short)} of {len(made)} fits did not reach the gap; the worst stopped by "
            f"{worst.stop_reason!r} at a relative gap of {worst.relative_gap:.2g}. They are scored as they are; see "
            "cv_results_['max_relative_gap'].",
            ConvergenceWarning,
        )
