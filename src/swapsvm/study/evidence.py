"""Verdicts on claims about runs.

A verdict is confirmed or not confirmed only if no unknown answer could change it. A data set without runs is unknown;
those that are hard to obtain (``ELUSIVE``) are omitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from .records import Measure
from .summary import Answer, Results

ELUSIVE = ("protein", "kddcup99")
MOST = 0.5  # "most of the time" means more than this share of the sets
ALL = 1.0


class Status(StrEnum):
    """The verdict on a claim."""

    CONFIRMED = "confirmed"
    NOT_CONFIRMED = "not confirmed"
    NOT_TESTABLE = "not testable here"

    @property
    def mark(self) -> str:
        """The mark in a cell of a table."""
        return self.removesuffix(" here")


class Verdict(NamedTuple):
    """A status and the numbers behind it."""

    status: Status
    evidence: str


NOT_RUN = Verdict(Status.NOT_TESTABLE, "not enough runs")


def decided(answer: Answer, evidence: str) -> Verdict:
    """The verdict for one answer."""
    status = {True: Status.CONFIRMED, False: Status.NOT_CONFIRMED, None: Status.NOT_TESTABLE}[answer]
    return Verdict(status, evidence)


def held(answers: Sequence[Answer], least: float, what: str, cases: str = "sets") -> Verdict:
    """Whether a claim holds in all cases (``least`` = 1) or in more than this share of them."""
    if not answers:
        return NOT_RUN
    yes, unknown = answers.count(True), answers.count(None)

    def enough(count: int) -> bool:
        return count == len(answers) if least == ALL else count > least * len(answers)

    answer = True if enough(yes) else None if enough(yes + unknown) else False
    note = f" (unknown on {unknown})" if unknown else ""
    return decided(answer, f"{what} on {yes} of {len(answers)} {cases}{note}")


def combined(answers: Sequence[Answer]) -> Answer:
    """No if any answer is no; otherwise unknown if any is unknown."""
    return False if False in answers else None if None in answers else True


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Confirmed if all verdicts are; not confirmed if any is not."""
    order = (Status.NOT_CONFIRMED, Status.NOT_TESTABLE, Status.CONFIRMED)
    statuses, evidence = zip(*verdicts, strict=True)
    return Verdict(min(statuses, key=order.index), "; ".join(evidence))


def sets_of(results: Results, data: Iterable[str], experiment: str = "paper") -> list[str]:
    """The data sets of a claim, without elusive ones that were not run."""
    present = results.data(experiment)
    return [d for d in data if d in present or d not in ELUSIVE]


def decided_scores(results: Results, measure: Measure, first: str, second: str) -> np.ndarray:
    """Rows of two numbers whose order is known: times that their intervals decide, or measures of finished runs."""
    pairs: list[tuple[float | None, ...]]
    if measure == "seconds":
        times = [(results.seconds(d, first), results.seconds(d, second)) for d in results.data("paper")]
        pairs = [(a.low, b.low) for a, b in times if a.below(b) is not None]
    else:
        values = [tuple(results.finished(d, m, measure) for m in (first, second)) for d in results.data("paper")]
        pairs = [pair for pair in values if None not in pair]
    return np.array(pairs, dtype=float).reshape(-1, 2)


def least_p(pairs: int, two_sided: bool) -> float:
    """The smallest p-value possible with this many pairs."""
    return (2.0 if two_sided else 1.0) / 2**pairs
