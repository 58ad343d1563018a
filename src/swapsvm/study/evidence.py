"""What is known of runs, and verdicts on claims about them.

A run that was cut at its limit took at least that long, and says nothing about accuracy or size. So a time is an
interval, an answer is yes, no or unknown, and a verdict is confirmed or not confirmed only if no unknown answer could
change it. A data set without runs is unknown; those that are hard to obtain (``ELUSIVE``) are omitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import inf
from statistics import median
from typing import NamedTuple

import numpy as np

from .records import Measure
from .summary import Results

ELUSIVE = ("protein", "kddcup99")
MOST = 0.5  # "most of the time" means more than this share of the sets
ALL = 1.0

Answer = bool | None


class Status(StrEnum):
    """The verdict on a claim."""

    CONFIRMED = "confirmed"
    NOT_CONFIRMED = "not confirmed"
    NOT_TESTABLE = "not testable here"


MARKS = {  # in the cells of a table
    Status.CONFIRMED: "confirmed",
    Status.NOT_CONFIRMED: "not confirmed",
    Status.NOT_TESTABLE: "not testable",
}


class Verdict(NamedTuple):
    """A status and the numbers behind it."""

    status: Status
    evidence: str


class Interval(NamedTuple):
    """The bounds that are known for a number."""

    low: float
    high: float

    def below(self, other: Interval) -> Answer:
        """Whether this number is smaller than the other."""
        if self.high < other.low:
            return True
        return False if self.low >= other.high else None

    def over(self, other: Interval) -> Interval:
        """The bounds of the quotient."""
        return Interval(self.low / other.high, self.high / other.low if other.low else inf)


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


def together(*verdicts: Verdict) -> Verdict:
    """Confirmed if all verdicts are; not confirmed if any is not."""
    order = (Status.NOT_CONFIRMED, Status.NOT_TESTABLE, Status.CONFIRMED)
    status = min((verdict.status for verdict in verdicts), key=order.index)
    return Verdict(status, "; ".join(verdict.evidence for verdict in verdicts))


def sets_of(results: Results, data: Iterable[str], experiment: str = "paper") -> list[str]:
    """The data sets of a claim, without elusive ones that were not run."""
    present = results.data(experiment)
    return [d for d in data if d in present or d not in ELUSIVE]


def seconds(results: Results, data: str, method: str, experiment: str = "paper") -> Interval | None:
    """The time of a run; None if there is none."""
    found = results.median(experiment, data, method, "seconds")
    if found is None:
        return None
    return Interval(found, inf if results.cut(experiment, data, method) else found)


def finished(results: Results, data: str, method: str, measure: Measure, experiment: str = "paper") -> float | None:
    """A measure of a run; None if it was cut or never made."""
    return None if results.cut(experiment, data, method) else results.median(experiment, data, method, measure)


def faster(results: Results, data: str, first: str, second: str) -> Answer:
    """Whether the first took less time."""
    times = seconds(results, data, first), seconds(results, data, second)
    return None if times[0] is None or times[1] is None else times[0].below(times[1])


def speedup(results: Results, data: str, method: str, base: str = "cvm") -> Interval | None:
    """How many times as fast as the base."""
    own, other = seconds(results, data, method), seconds(results, data, base)
    return None if own is None or other is None else other.over(own)


def known_speedups(results: Results, data: Sequence[str], method: str, base: str) -> list[Interval]:
    """Speed-ups on the sets of a claim; from 0 to infinity if there is no run."""
    found = [speedup(results, d, method, base) for d in sets_of(results, data)]
    return [interval or Interval(0.0, inf) for interval in found]


def median_of(intervals: Sequence[Interval]) -> Interval:
    """The bounds of the median."""
    return Interval(median(i.low for i in intervals), median(i.high for i in intervals))


def told(interval: Interval) -> str:
    """An interval in words."""
    if interval.low == interval.high:
        return f"{interval.low:.3g}"
    if interval.high == inf:
        return f"at least {interval.low:.3g}" if interval.low else "unknown"
    return f"at most {interval.high:.3g}" if not interval.low else f"{interval.low:.3g} to {interval.high:.3g}"


def decided_scores(results: Results, measure: Measure, first: str, second: str) -> np.ndarray:
    """Rows of two numbers whose order is known: times that their intervals decide, or measures of finished runs."""
    pairs: list[tuple[float, float]] = []
    for d in results.data("paper"):
        if measure == "seconds":
            a, b = seconds(results, d, first), seconds(results, d, second)
            if a is not None and b is not None and a.below(b) is not None:
                pairs.append((a.low, b.low))
        else:
            x, y = (finished(results, d, m, measure) for m in (first, second))
            if x is not None and y is not None:
                pairs.append((x, y))
    return np.array(pairs, dtype=float).reshape(-1, 2)


def least_p(pairs: int, two_sided: bool) -> float:
    """The smallest p-value possible with this many pairs."""
    return (2.0 if two_sided else 1.0) / 2**pairs
