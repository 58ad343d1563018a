"""What a search says if its time was not enough, or some of its fits did not reach their gap."""

from __future__ import annotations

from collections.abc import Sequence

from ..result import warn_user
from ..stopping import ConvergenceWarning
from .scores import MISSED, Fit

Rows = Sequence[list[Fit]]  # the fits of all folds, one row per candidate


def check_scored(fits: Rows, max_time: float | None) -> None:
    """``ValueError`` unless a candidate was scored on all folds."""
    if all(MISSED in row for row in fits):
        raise ValueError(
            f"max_time={max_time!r} seconds were over before a candidate was scored on all {len(fits[0])} folds: raise "
            "max_time, use fewer folds, or search on a sample of the rows"
        )


def warn_of_missing(search: str, fits: Rows, max_time: float | None) -> None:
    """Say how many candidates were scored, if not all."""
    scored = sum(MISSED not in row for row in fits)
    if scored < len(fits):
        warn_user(
            f"{search}: max_time={max_time!r} ended the search when {scored} of {len(fits)} candidates were scored on "
            "all folds. The best of them is chosen; for the others raise max_time.",
            ConvergenceWarning,
        )


def warn_of_gaps(search: str, fits: Rows) -> None:
    """Say how many of the scored fits ended before their gap was reached."""
    made = [fit for row in fits for fit in row if fit is not MISSED]
    short = [fit for fit in made if fit.stop_reason != "gap"]
    if short:
        worst = max(short, key=lambda fit: fit.relative_gap)
        warn_user(
            f"{search}: {len(short)} of {len(made)} fits did not reach the gap; the worst stopped by "
            f"{worst.stop_reason!r} at a relative gap of {worst.relative_gap:.2g}. They are scored as they are; see "
            "cv_results_['max_relative_gap'].",
            ConvergenceWarning,
        )
