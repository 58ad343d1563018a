"""Findings on claims about runs, and the verdicts that follow from them.

A verdict is confirmed or not confirmed only if no unknown number could change it, and if it stays the same when the
seeds are resampled. A data set without runs is unknown; those that are hard to obtain (``ELUSIVE``) are omitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from .bootstrap import RESAMPLES, STABLE, agreement
from .interval import UNKNOWN, YES, Answers, Interval, all_of, more_than
from .records import Measure
from .summary import Results

ELUSIVE = ("protein", "kddcup99")
MOST = 0.5  # "most of the time" means more than this share of the sets
ALL = 1.0


class Status(StrEnum):
    """The verdict on a claim or a test."""

    CONFIRMED = "confirmed"
    DEPENDS = "depends on the stop rule"
    NOT_CONFIRMED = "not confirmed"
    NOT_REJECTED = "not rejected"  # of tests only: a hypothesis that the paper keeps, too
    UNDECIDED = "not decided"


class Finding(NamedTuple):
    """The answer for the runs as they are and for each resample of the seeds, and the numbers behind it."""

    answers: Answers
    evidence: str


class Verdict(NamedTuple):
    """A status, the numbers behind it, and the share of the resamples that agree with it."""

    status: Status
    evidence: str
    agree: float = 1.0


NOT_RUN = Finding(np.full(RESAMPLES + 1, UNKNOWN), "not enough runs")


def verdict_of(finding: Finding, yes: Status = Status.CONFIRMED, no: Status = Status.NOT_CONFIRMED) -> Verdict:
    """The verdict that follows from a finding."""
    answer, agree = finding.answers[0], agreement(finding.answers)
    if answer == UNKNOWN:
        return Verdict(Status.UNDECIDED, finding.evidence)
    if agree < STABLE:
        said = "yes" if answer == YES else "no"
        doubt = f"{said}, but only {agree:.1%} of the resamples of the seeds agree"
        return Verdict(Status.UNDECIDED, f"{finding.evidence}; {doubt}", agree)
    return Verdict(yes if answer == YES else no, finding.evidence, agree)


def over_rules(statuses: Sequence[Status]) -> Status:
    """The verdict over all stop rules: one that all share, or that it depends on the rule."""
    decided = set(statuses) - {Status.UNDECIDED}
    if len(decided) > 1:
        return Status.DEPENDS
    return decided.pop() if decided and Status.UNDECIDED not in statuses else Status.UNDECIDED


def held(answers: Sequence[Answers], least: float, what: str, cases: str = "sets") -> Finding:
    """Whether a claim holds in all cases (``least`` = 1) or in more than this share of them."""
    if not answers:
        return NOT_RUN
    now = [answer[0] for answer in answers]
    unknown = now.count(UNKNOWN)
    note = f" (unknown on {unknown})" if unknown else ""
    return Finding(more_than(least, answers), f"{what} on {now.count(YES)} of {len(now)} {cases}{note}")


def together(findings: Iterable[Finding]) -> Finding:
    """Yes if all findings are; no if any is not."""
    answers, evidence = zip(*findings, strict=True)
    return Finding(all_of(answers), "; ".join(evidence))


def sets_of(results: Results, data: Iterable[str], experiment: str | None = None) -> list[str]:
    """The data sets of a claim, without elusive ones that were not run."""
    present = results.data(experiment or results.rule)
    return [d for d in data if d in present or d not in ELUSIVE]


class Pairs(NamedTuple):
    """Numbers of two methods on data sets, one column per resample; ``known`` marks those whose order is known."""

    first: np.ndarray
    second: np.ndarray
    known: np.ndarray

    def drawn(self, place: int) -> tuple[np.ndarray, np.ndarray]:
        """The known pairs of the runs as they are (0) or of a resample."""
        rows = self.known[:, place]
        return self.first[rows, place], self.second[rows, place]


def decided_pairs(results: Results, measure: Measure, first: str, second: str) -> Pairs:
    """Numbers whose order is known: times that their intervals decide, or measures of finished runs."""
    intervals = [[results.bounds(d, m, measure) for m in (first, second)] for d in results.data(results.rule)]
    known = [order_known(measure, a, b) for a, b in intervals]
    shape = (-1, RESAMPLES + 1)
    columns = ([a.low for a, _ in intervals], [b.low for _, b in intervals])
    low, high = (np.array(column, dtype=float).reshape(shape) for column in columns)
    return Pairs(low, high, np.array(known, dtype=bool).reshape(shape))


def order_known(measure: Measure, first: Interval, second: Interval) -> np.ndarray:
    """Whether two numbers can be ranked: cut runs by their lower bounds of time, if those decide."""
    if measure == "seconds":
        return first.below(second) != UNKNOWN
    return (first.low == first.high) & (second.low == second.high)


def least_p(pairs: int, two_sided: bool) -> float:
    """The smallest p-value possible with this many pairs."""
    return (2.0 if two_sided else 1.0) / 2**pairs
