"""Checks of claims: comparisons over data sets whose answers may be unknown.

A run that was cut at its limit took at least so long, and says nothing about accuracy or size. So a time is an
interval, an answer is yes, no or unknown, and a verdict is confirmed or not only if no unknown answer could change it.
A data set without runs is unknown, except those that cannot be had everywhere (``ELUSIVE``), which are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from math import inf
from statistics import median
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from .protocol import FRANK_WOLFE, METHODS, PAPER_METHODS
from .statistics import signed_ranks
from .summary import Results

ELUSIVE = ("protein", "kddcup99")
MOST = 0.5  # "most of the time" is more than this part of the sets
ALL = 1.0

Answer = bool | None


class Status(StrEnum):
    """What became of a claim."""

    CONFIRMED = "confirmed"
    NOT_CONFIRMED = "not confirmed"
    NOT_TESTABLE = "not testable here"


MARKS = {  # of the cells of a table
    Status.CONFIRMED: "confirmed",
    Status.NOT_CONFIRMED: "not confirmed",
    Status.NOT_TESTABLE: "not testable",
}


class Verdict(NamedTuple):
    """A status and the numbers behind it."""

    status: Status
    evidence: str


class Interval(NamedTuple):
    """What is known of a number."""

    low: float
    high: float

    def below(self, other: Interval) -> Answer:
        """Whether it is the smaller one."""
        if self.high < other.low:
            return True
        return False if self.low >= other.high else None

    def over(self, other: Interval) -> Interval:
        """The quotient."""
        return Interval(self.low / other.high, self.high / other.low if other.low else inf)


NOT_RUN = Verdict(Status.NOT_TESTABLE, "not enough runs")


def decided(answer: Answer, evidence: str) -> Verdict:
    """The verdict of one answer."""
    status = {True: Status.CONFIRMED, False: Status.NOT_CONFIRMED, None: Status.NOT_TESTABLE}[answer]
    return Verdict(status, evidence)


def held(answers: Sequence[Answer], least: float, what: str, cases: str = "sets") -> Verdict:
    """Whether a claim holds on all (1) or on more than a part of the cases."""
    if not answers:
        return NOT_RUN
    yes, unknown = answers.count(True), answers.count(None)

    def enough(count: int) -> bool:
        return count == len(answers) if least == ALL else count > least * len(answers)

    answer = True if enough(yes) else None if enough(yes + unknown) else False
    note = f" (unknown on {unknown})" if unknown else ""
    return decided(answer, f"{what} on {yes} of {len(answers)} {cases}{note}")


def together(*verdicts: Verdict) -> Verdict:
    """Confirmed if all are; not confirmed if any is not."""
    order = (Status.NOT_CONFIRMED, Status.NOT_TESTABLE, Status.CONFIRMED)
    status = min((verdict.status for verdict in verdicts), key=order.index)
    return Verdict(status, "; ".join(verdict.evidence for verdict in verdicts))


# What is known of runs.


def sets_of(results: Results, data: Iterable[str], experiment: str = "paper") -> list[str]:
    """The sets that a claim is about: all of them, but of the elusive ones only those that were run."""
    present = results.data(experiment)
    return [d for d in data if d in present or d not in ELUSIVE]


def seconds(results: Results, data: str, method: str, experiment: str = "paper") -> Interval | None:
    """The time of a run; None without one."""
    found = results.median(experiment, data, method, "seconds")
    if found is None:
        return None
    return Interval(found, inf if results.cut(experiment, data, method) else found)


def finished(results: Results, data: str, method: str, measure: str, experiment: str = "paper") -> float | None:
    """A measure of a run that was not cut."""
    return None if results.cut(experiment, data, method) else results.median(experiment, data, method, measure)


def faster(results: Results, data: str, first: str, second: str) -> Answer:
    """Whether the first took less time."""
    times = seconds(results, data, first), seconds(results, data, second)
    return None if times[0] is None or times[1] is None else times[0].below(times[1])


def speedup(results: Results, data: str, method: str, base: str = "cvm") -> Interval | None:
    """How many times as fast as the base."""
    own, other = seconds(results, data, method), seconds(results, data, base)
    return None if own is None or other is None else other.over(own)


# Checks of times.


def always_faster(
    results: Results, data: Sequence[str], first: str, second: str, least: float = ALL, slower: bool = False
) -> Verdict:
    """Whether the first is faster (slower) than the second on all sets, or on more than a part of them."""
    quick, slow = (second, first) if slower else (first, second)
    answers = [faster(results, d, quick, slow) for d in sets_of(results, data)]
    word = "slower" if slower else "faster"
    return held(answers, least, f"{METHODS[first]} is {word} than {METHODS[second]}")


def all_faster(
    results: Results, data: Sequence[str], methods: Sequence[str], second: str, least: float = ALL
) -> Verdict:
    """The same for several methods."""
    return together(*(always_faster(results, data, method, second, least) for method in methods))


def known_speedups(results: Results, data: Sequence[str], method: str, base: str) -> list[Interval]:
    """Speed-ups on the sets of a claim; from 0 to infinity where there is no run."""
    found = [speedup(results, d, method, base) for d in sets_of(results, data)]
    return [interval or Interval(0.0, inf) for interval in found]


def median_of(intervals: Sequence[Interval]) -> Interval:
    """What is known of the median."""
    return Interval(median(i.low for i in intervals), median(i.high for i in intervals))


def told(interval: Interval) -> str:
    """An interval in words."""
    if interval.low == interval.high:
        return f"{interval.low:.3g}"
    if interval.high == inf:
        return f"at least {interval.low:.3g}" if interval.low else "unknown"
    return f"at most {interval.high:.3g}" if not interval.low else f"{interval.low:.3g} to {interval.high:.3g}"


def median_speedups(
    results: Results, data: Sequence[str], least: dict[str, float], every: float = 0.0, base: str = "cvm"
) -> Verdict:
    """Whether speed-ups over the base have medians of at least ``least`` and are ``every`` or more on each set."""
    if not sets_of(results, data):
        return NOT_RUN
    parts: list[str] = []
    answers: list[Answer] = []
    for method, wanted in least.items():
        speedups = known_speedups(results, data, method, base)
        middle = median_of(speedups)
        lowest = Interval(min(s.low for s in speedups), min(s.high for s in speedups))
        parts.append(f"{METHODS[method]}: median {told(middle)}, smallest {told(lowest)}")
        sure = middle.low >= wanted and lowest.low >= every
        refuted = middle.high < wanted or lowest.high < every
        answers.append(True if sure else False if refuted else None)
    answer = False if False in answers else None if None in answers else True
    return decided(answer, f"speed-ups over {METHODS[base]}, {'; '.join(parts)}")


def small_speedup(results: Results, data: Sequence[str], method: str, most: float) -> Verdict:
    """Whether the median speed-up over CVM is at most so much."""
    middle = median_of(known_speedups(results, data, method, "cvm"))
    answer = True if middle.high <= most else False if middle.low > most else None
    return decided(answer, f"median speed-up of {METHODS[method]} over CVM: {told(middle)}")


def speedup_grows(results: Results, data: Sequence[str], method: str) -> Verdict:
    """Whether the speed-up over CVM rises with the rows: last above first and 1, rank correlation above a half."""
    found = {d: speedup(results, d, method) for d in sets_of(results, data)}
    first, last = (found[d] or Interval(0.0, inf) for d in (data[0], data[-1]))
    exact = [interval.low for interval in found.values() if interval and interval.low == interval.high]
    correlation = rank_correlation(exact) if len(exact) > 3 else None
    evidence = f"{METHODS[method]}: {told(first)} on {data[0]}, {told(last)} on {data[-1]}"
    if correlation is not None:
        evidence += f", rank correlation {correlation:.2f} on {len(exact)} sets"
    if last.high < max(1.0, first.low) or (correlation is not None and correlation <= MOST):
        return decided(False, evidence)
    sure = last.low > max(1.0, first.high) and correlation is not None
    return decided(True if sure else None, evidence)


def rank_correlation(values: Sequence[float]) -> float:
    """Of values with their order; 0 if they are all the same."""
    return float(spearmanr(values, range(len(values))).statistic) if len(set(values)) > 1 else 0.0


def larger_speedups(results: Results, medium: Sequence[str], large: Sequence[str]) -> Verdict:
    """Whether every method's median speed-up is larger on the large sets than on the medium ones."""
    parts: list[str] = []
    answers: list[Answer] = []
    for m in FRANK_WOLFE:
        low, high = (median_of(known_speedups(results, data, m, "cvm")) for data in (medium, large))
        parts.append(f"{METHODS[m]} {told(low)} and {told(high)}")
        answers.append(low.below(high))
    answer = False if False in answers else None if None in answers else True
    return decided(answer, f"median speed-ups, medium and large: {', '.join(parts)}")


def same_order(results: Results, data: Sequence[str]) -> Verdict:
    """Whether the times of the four methods are within a factor of ten."""
    answers: list[Answer] = []
    for d in sets_of(results, data):
        times = [seconds(results, d, m) or Interval(0.0, inf) for m in FRANK_WOLFE]
        low, high = min(t.high for t in times), max(t.low for t in times)
        answers.append(False if high > 10 * low else True if max(t.high for t in times) < inf else None)
    return held(answers, MOST, "the four methods' times are within a factor of 10")


# Checks of accuracies and sizes.


def differences_below(results: Results, data: Sequence[str], bound: float, least: float) -> Verdict:
    """Whether accuracies are less than a part of CVM's below it."""
    found: dict[tuple[str, str], float | None] = {}
    for d in sets_of(results, data):
        for m in FRANK_WOLFE:
            base, own = (finished(results, d, name, "accuracy") for name in ("cvm", m))
            found[d, m] = None if base is None or own is None else 1 - own / base
    known = {key: value for key, value in found.items() if value is not None}
    if not known:
        return NOT_RUN
    (data_set, method), worst = max(known.items(), key=lambda item: item[1])
    answers = [None if value is None else value < bound for value in found.values()]
    verdict = held(answers, least, f"less than {bound:.1%} below CVM", "runs")
    return verdict._replace(evidence=f"{verdict.evidence}; worst {worst:.2%}: {METHODS[method]} on {data_set}")


def compare(
    results: Results, data: Sequence[str], measure: str, first: str, second: str, least: float, *, equal: bool = True
) -> Verdict:
    """Whether the first's measure is at least (or above) the second's."""
    answers: list[Answer] = []
    for d in sets_of(results, data):
        a, b = (finished(results, d, m, measure) for m in (first, second))
        answers.append(None if a is None or b is None else a >= b if equal else a > b)
    sign = "at least" if equal else "above"
    return held(answers, least, f"{METHODS[first]}'s {measure.replace('_', ' ')} is {sign} {METHODS[second]}'s")


def extreme_of(results: Results, data: Sequence[str], method: str, measure: str, best: bool, least: float) -> Verdict:
    """Whether a method alone has the largest (or smallest) value of the four."""
    answers: list[Answer] = []
    others = [m for m in FRANK_WOLFE if m != method]
    for d in sets_of(results, data):
        own, rest = finished(results, d, method, measure), [finished(results, d, m, measure) for m in others]
        known = [value for value in rest if value is not None]
        if own is None or len(known) < len(rest):
            beaten = own is not None and any(value >= own if best else value <= own for value in known)
            answers.append(False if beaten else None)
        else:
            answers.append(own > max(known) if best else own < min(known))
    word = "highest" if best else "lowest"
    return held(answers, least, f"{METHODS[method]} alone has the {word} {measure.replace('_', ' ')} of the four")


def sizes_similar(results: Results, data: Sequence[str], factor: float) -> Verdict:
    """Whether the largest model of a set is most of the time within a factor of the smallest."""
    answers: list[Answer] = []
    ratios: list[float] = []
    for d in sets_of(results, data):
        sizes = [finished(results, d, m, "model_size") for m in PAPER_METHODS]
        known = [size for size in sizes if size is not None]
        ratio = max(known) / min(known) if known else 1.0
        ratios.append(ratio)
        answers.append(False if ratio > factor else True if len(known) == len(sizes) else None)
    verdict = held(answers, MOST, f"the largest model is at most {factor:g} times the smallest")
    return verdict._replace(evidence=f"{verdict.evidence}; largest ratio {max(ratios, default=1.0):.2f}")


# Both kernels.


def kernels_compared(results: Results, data: Sequence[str], what: str, close: Callable[[str, str], Answer]) -> Verdict:
    """Whether something is most of the time close with both kernels."""
    answers = [close(d, m) for d in sets_of(results, data, "polynomial") for m in FRANK_WOLFE]
    return held(answers, MOST, what, "runs")


def accuracies_close(results: Results, data: Sequence[str], bound: float) -> Verdict:
    """Whether accuracies with the polynomial kernel come within so much of those with the Gaussian one."""

    def close(d: str, m: str) -> Answer:
        gaussian, polynomial = (finished(results, d, m, "accuracy", e) for e in ("paper", "polynomial"))
        return None if gaussian is None or polynomial is None else gaussian - polynomial <= bound

    return kernels_compared(results, data, f"at most {100 * bound:g} points below the Gaussian kernel", close)


def times_close(results: Results, data: Sequence[str]) -> Verdict:
    """Whether times with both kernels are within a factor of ten."""

    def close(d: str, m: str) -> Answer:
        gaussian, polynomial = (seconds(results, d, m, e) for e in ("paper", "polynomial"))
        if gaussian is None or polynomial is None:
            return None
        ratio = polynomial.over(gaussian)
        if ratio.low > 10 or ratio.high < 0.1:
            return False
        return True if ratio.low >= 0.1 and ratio.high <= 10 else None

    return kernels_compared(results, data, "times with both kernels are within a factor of 10", close)


# Significance.


def decided_scores(results: Results, measure: str, first: str, second: str) -> np.ndarray:
    """Rows of two numbers whose order is known: of times, those that intervals decide; else runs that were not cut."""
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
    """The smallest p-value that this many pairs can give."""
    return (2.0 if two_sided else 1.0) / 2**pairs


def significantly_faster(results: Results, first: str, second: str, level: float) -> Verdict:
    """Whether Wilcoxon's test finds the first faster."""
    pairs = decided_scores(results, "seconds", first, second)
    if least_p(len(pairs), two_sided=False) >= level:
        return NOT_RUN
    p = signed_ranks(pairs[:, 0], pairs[:, 1], "less").p
    return decided(p < level, f"{METHODS[first]} faster than {METHODS[second]}: p = {p:.2g} on {len(pairs)} sets")
