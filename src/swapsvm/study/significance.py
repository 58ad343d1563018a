"""The significance tests of the paper on our results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .bootstrap import RESAMPLES
from .evidence import Finding, Status, Verdict, decided_pairs, least_p, over_rules, verdict_of
from .interval import NO, UNKNOWN, YES
from .paper import PublishedTest, published_statistics
from .power import power
from .protocol import METHODS
from .records import Measure
from .statistics import SignedRanks, signed_ranks
from .summary import Results

KEYS = {name: key for key, name in METHODS.items()}


@dataclass(frozen=True)
class Compared:
    """One of the paper's tests under one rule; ``ours`` is None if there are no pairs to compare."""

    first: np.ndarray
    second: np.ndarray
    ours: SignedRanks | None
    power: float
    verdict: Verdict


@dataclass(frozen=True)
class ComparedTest:
    """One of the paper's tests, under each rule and over all of them."""

    published: PublishedTest
    by_rule: dict[str, Compared]

    @property
    def status(self) -> Status:
        """The verdict over all rules."""
        return over_rules([test.verdict.status for test in self.by_rule.values()])


def compared_tests(results: Results) -> list[ComparedTest]:
    """The paper's tests on our results."""
    return [
        ComparedTest(test, {rule: compared(test, results.under(rule)) for rule in results.rules()})
        for test in published_statistics().tests
    ]


def compared(test: PublishedTest, results: Results) -> Compared:
    """One test under one rule: its conclusion counts if the resamples of the seeds agree."""
    level = published_statistics().level
    measure: Measure = "seconds" if test.measure == "time" else "accuracy"
    pairs = decided_pairs(results, measure, KEYS[test.first], KEYS[test.second])
    answers = np.array([concluded(test, *pairs.drawn(place)) for place in range(RESAMPLES + 1)])
    first, second = pairs.drawn(0)
    ours = signed_ranks(first, second, test.direction) if len(first) else None
    agreed = Status.CONFIRMED if test.rejected else Status.NOT_REJECTED
    chance = power(len(first), level, test.direction) if ours else 0.0
    return Compared(first, second, ours, chance, verdict_of(Finding(answers, f"{len(first)} sets"), agreed))


def concluded(test: PublishedTest, first: np.ndarray, second: np.ndarray) -> float:
    """Whether the conclusion is the paper's. A hypothesis is kept only if neither direction is significant."""
    level = published_statistics().level
    if not len(first) or least_p(len(first), test.direction == "two-sided") >= level:
        return UNKNOWN  # no outcome could be significant
    p = signed_ranks(first, second, test.direction).p
    if test.rejected:
        return YES if p < level else NO
    return YES if min(p, signed_ranks(first, second).p) >= level else NO


def ranked_scores(results: Results, experiment: str, measure: Measure, methods: Sequence[str]) -> np.ndarray:
    """Scores to rank: times, where those that only have a lower bound are last, or accuracies of sets without cuts."""
    data, scores = results.scores(experiment, measure, methods)
    exact = [[results.bounds(d, m, measure, experiment).exact for m in methods] for d in data]
    known = np.array(exact, dtype=bool).reshape(scores.shape)
    if measure == "accuracy":
        return scores[known.all(axis=1)]
    return np.where(known, scores, scores.max(axis=1, keepdims=True, initial=0.0))
