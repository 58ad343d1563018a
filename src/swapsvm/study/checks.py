"""Checks of claims: comparisons of runs over data sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from scipy.stats import spearmanr

from .evidence import (
    ALL,
    MOST,
    NOT_RUN,
    Answer,
    Interval,
    Verdict,
    combined,
    decided,
    decided_scores,
    faster,
    finished,
    held,
    known_speedups,
    least_p,
    median_of,
    seconds,
    sets_of,
    speedup,
    together,
    told,
)
from .protocol import FRANK_WOLFE, METHODS, PAPER_METHODS
from .records import Measure
from .statistics import signed_ranks
from .summary import Results

# ---- times ------------------------------------------------------------------------------------------------------


def always_faster(
    results: Results, data: Sequence[str], first: str, second: str, least: float = ALL, slower: bool = False
) -> Verdict:
    """Whether the first is faster (or slower) than the second on all sets, or on more than this share of them."""
    quick, slow = (second, first) if slower else (first, second)
    answers = [faster(results, d, quick, slow) for d in sets_of(results, data)]
    word = "slower" if slower else "faster"
    return held(answers, least, f"{METHODS[first]} is {word} than {METHODS[second]}")


def all_faster(
    results: Results, data: Sequence[str], methods: Sequence[str], second: str, least: float = ALL
) -> Verdict:
    """Whether all methods are faster than the second."""
    return together(*(always_faster(results, data, method, second, least) for method in methods))


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
    return decided(combined(answers), f"speed-ups over {METHODS[base]}, {'; '.join(parts)}")


def small_speedup(results: Results, data: Sequence[str], method: str, most: float) -> Verdict:
    """Whether the median speed-up over CVM is at most ``most``."""
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
    """Rank correlation of values with their order; 0 if all are equal."""
    return float(spearmanr(values, range(len(values))).statistic) if len(set(values)) > 1 else 0.0


def larger_speedups(results: Results, medium: Sequence[str], large: Sequence[str]) -> Verdict:
    """Whether every method's median speed-up is larger on the large sets than on the medium ones."""
    parts: list[str] = []
    answers: list[Answer] = []
    for m in FRANK_WOLFE:
        low, high = (median_of(known_speedups(results, data, m, "cvm")) for data in (medium, large))
        parts.append(f"{METHODS[m]} {told(low)} and {told(high)}")
        answers.append(low.below(high))
    return decided(combined(answers), f"median speed-ups, medium and large: {', '.join(parts)}")


def same_order(results: Results, data: Sequence[str]) -> Verdict:
    """Whether the times of the four methods are within a factor of ten."""
    answers: list[Answer] = []
    for d in sets_of(results, data):
        times = [seconds(results, d, m) or Interval(0.0, inf) for m in FRANK_WOLFE]
        low, high = min(t.high for t in times), max(t.low for t in times)
        answers.append(False if high > 10 * low else True if max(t.high for t in times) < inf else None)
    return held(answers, MOST, "the four methods' times are within a factor of 10")


# ---- accuracies and sizes ---------------------------------------------------------------------------------------


def differences_below(results: Results, data: Sequence[str], bound: float, least: float) -> Verdict:
    """Whether accuracies are less than this share of CVM's below it."""
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
    return Verdict(verdict.status, f"{verdict.evidence}; worst {worst:.2%}: {METHODS[method]} on {data_set}")


def compare(
    results: Results,
    data: Sequence[str],
    measure: Measure,
    first: str,
    second: str,
    least: float,
    *,
    equal: bool = True,
) -> Verdict:
    """Whether the first's measure is at least (or above) the second's."""
    answers: list[Answer] = []
    for d in sets_of(results, data):
        a, b = (finished(results, d, m, measure) for m in (first, second))
        answers.append(None if a is None or b is None else a >= b if equal else a > b)
    sign = "at least" if equal else "above"
    return held(answers, least, f"{METHODS[first]}'s {measure.replace('_', ' ')} is {sign} {METHODS[second]}'s")


def extreme_of(
    results: Results, data: Sequence[str], method: str, measure: Measure, best: bool, least: float
) -> Verdict:
    """Whether one method alone has the largest (or smallest) value of the four."""
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
    """Whether on most sets the largest model is within a factor of the smallest."""
    answers: list[Answer] = []
    ratios: list[float] = []
    for d in sets_of(results, data):
        sizes = [finished(results, d, m, "model_size") for m in PAPER_METHODS]
        known = [size for size in sizes if size is not None]
        ratio = max(known) / min(known) if known else 1.0
        ratios.append(ratio)
        answers.append(False if ratio > factor else True if len(known) == len(sizes) else None)
    verdict = held(answers, MOST, f"the largest model is at most {factor:g} times the smallest")
    return Verdict(verdict.status, f"{verdict.evidence}; largest ratio {max(ratios, default=1.0):.2f}")


# ---- both kernels -----------------------------------------------------------------------------------------------


def kernels_compared(results: Results, data: Sequence[str], what: str, close: Callable[[str, str], Answer]) -> Verdict:
    """Whether most runs with both kernels are close."""
    answers = [close(d, m) for d in sets_of(results, data, "polynomial") for m in FRANK_WOLFE]
    return held(answers, MOST, what, "runs")


def accuracies_close(results: Results, data: Sequence[str], bound: float) -> Verdict:
    """Whether accuracies with the polynomial kernel are at most ``bound`` below those with the Gaussian kernel."""

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


# ---- significance -----------------------------------------------------------------------------------------------


def significantly_faster(results: Results, first: str, second: str, level: float) -> Verdict:
    """Whether Wilcoxon's test finds the first faster."""
    pairs = decided_scores(results, "seconds", first, second)
    if least_p(len(pairs), two_sided=False) >= level:
        return NOT_RUN
    p = signed_ranks(pairs[:, 0], pairs[:, 1], "less").p
    return decided(p < level, f"{METHODS[first]} faster than {METHODS[second]}: p = {p:.2g} on {len(pairs)} sets")
