"""Checks of claims: comparisons of runs over data sets, and rates of convergence."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from operator import ge, gt, lt
from statistics import median

import numpy as np
from scipy.stats import spearmanr

from ..datasets.registry import find_entry
from .evidence import ALL, MOST, NOT_RUN, Verdict, combined, decided, decided_scores, held, least_p, sets_of, together
from .protocol import EXPERIMENTS, FRANK_WOLFE, GROUPS, METHODS, PAPER_METHODS
from .records import Measure
from .statistics import signed_ranks
from .summary import Answer, Interval, Results, if_known

BOUNDED = 1.1  # exponent that counts as 1
CONSTANT = 0.1  # exponent that counts as 0
AWAY = ("mfw", "swap", "swap2")


def always_faster(
    results: Results, data: Sequence[str], first: str, second: str, least: float = ALL, slower: bool = False
) -> Verdict:
    """Whether the first is faster (or slower) than the second on all sets, or on more than this share of them."""
    quick, slow = (second, first) if slower else (first, second)
    answers = [results.seconds(d, quick).below(results.seconds(d, slow)) for d in sets_of(results, data)]
    return held(answers, least, f"{METHODS[first]} is {'slower' if slower else 'faster'} than {METHODS[second]}")


def all_faster(
    results: Results, data: Sequence[str], methods: Sequence[str], second: str, least: float = ALL
) -> Verdict:
    """Whether all methods are faster than the second."""
    return together(always_faster(results, data, method, second, least) for method in methods)


def median_speedup(results: Results, data: Sequence[str], method: str) -> Interval:
    """The median of the speed-ups over CVM."""
    return Interval.of(median, [results.speedup(d, method) for d in sets_of(results, data)])


def median_speedups(
    results: Results, data: Sequence[str], least: dict[str, float], every: float = 0.0, base: str = "cvm"
) -> Verdict:
    """Whether speed-ups over the base have medians of at least ``least`` and are ``every`` or more on each set."""
    parts: list[str] = []
    answers: list[Answer] = []
    for method, wanted in least.items():
        speedups = [results.speedup(d, method, base) for d in sets_of(results, data)]
        if not speedups:
            return NOT_RUN
        middle, lowest = Interval.of(median, speedups), Interval.of(min, speedups)
        parts.append(f"{METHODS[method]}: median {middle}, smallest {lowest}")
        answers += [middle.within(wanted, inf), lowest.within(every, inf)]
    return decided(combined(answers), f"speed-ups over {METHODS[base]}, {'; '.join(parts)}")


def small_speedup(results: Results, data: Sequence[str], method: str, most: float) -> Verdict:
    """Whether the median speed-up over CVM is at most ``most``."""
    middle = median_speedup(results, data, method)
    return decided(middle.within(0.0, most), f"median speed-up of {METHODS[method]} over CVM: {middle}")


def speedup_grows(results: Results, data: Sequence[str], method: str) -> Verdict:
    """Whether the speed-up over CVM rises with the rows: last above first and 1, rank correlation above a half."""
    found = [results.speedup(d, method) for d in data]
    first, last = found[0], found[-1]
    exact = [interval.low for interval in found if interval.low == interval.high]
    evidence = f"{METHODS[method]}: {first} on {data[0]}, {last} on {data[-1]}"
    rising: Answer = None
    if len(exact) > 3:
        correlation = float(spearmanr(exact, range(len(exact))).statistic) if len(set(exact)) > 1 else 0.0
        evidence += f", rank correlation {correlation:.2f} on {len(exact)} sets"
        rising = correlation > MOST
    above = False if last.high < max(1.0, first.low) else True if last.low > max(1.0, first.high) else None
    return decided(combined([above, rising]), evidence)


def larger_speedups(results: Results, medium: Sequence[str], large: Sequence[str]) -> Verdict:
    """Whether every method's median speed-up is larger on the large sets than on the medium ones."""
    medians = {m: [median_speedup(results, data, m) for data in (medium, large)] for m in FRANK_WOLFE}
    parts = [f"{METHODS[m]} {low} and {high}" for m, (low, high) in medians.items()]
    answer = combined([low.below(high) for low, high in medians.values()])
    return decided(answer, f"median speed-ups, medium and large: {', '.join(parts)}")


def same_order(results: Results, data: Sequence[str]) -> Verdict:
    """Whether the times of the four methods are within a factor of ten."""
    times = [[results.seconds(d, m) for m in FRANK_WOLFE] for d in sets_of(results, data)]
    answers = [Interval.of(max, four).over(Interval.of(min, four)).within(0.0, 10.0) for four in times]
    return held(answers, MOST, "the four methods' times are within a factor of 10")


def differences_below(results: Results, data: Sequence[str], bound: float, least: float) -> Verdict:
    """Whether accuracies are less than this share of CVM's below it."""
    losses = {(d, m): results.loss(d, m) for d in sets_of(results, data) for m in FRANK_WOLFE}
    known = {key: loss for key, loss in losses.items() if loss is not None}
    if not known:
        return NOT_RUN
    (data_set, method), worst = max(known.items(), key=lambda item: item[1])
    answers = [None if loss is None else loss < bound for loss in losses.values()]
    verdict = held(answers, least, f"less than {bound:.1%} below CVM", "runs")
    return Verdict(verdict.status, f"{verdict.evidence}; worst {worst:.2%}: {METHODS[method]} on {data_set}")


def compare(
    results: Results, data: Sequence[str], measure: Measure, first: str, second: str, least: float, equal: bool = True
) -> Verdict:
    """Whether the first's measure is at least (or above) the second's."""
    pairs = [[results.finished(d, m, measure) for m in (first, second)] for d in sets_of(results, data)]
    answers = [if_known(ge if equal else gt, *pair) for pair in pairs]
    sign = "at least" if equal else "above"
    return held(answers, least, f"{METHODS[first]}'s {measure.replace('_', ' ')} is {sign} {METHODS[second]}'s")


def extreme_of(
    results: Results, data: Sequence[str], method: str, measure: Measure, best: bool, least: float
) -> Verdict:
    """Whether one method alone has the largest (or smallest) value of the four."""
    answers: list[Answer] = []
    for d in sets_of(results, data):
        own = results.finished(d, method, measure)
        others = [results.finished(d, m, measure) for m in FRANK_WOLFE if m != method]
        answers.append(combined([if_known(lt if best else gt, other, own) for other in others]))
    word = "highest" if best else "lowest"
    return held(answers, least, f"{METHODS[method]} alone has the {word} {measure.replace('_', ' ')} of the four")


def sizes_similar(results: Results, data: Sequence[str], factor: float) -> Verdict:
    """Whether on most sets the largest model is within a factor of the smallest."""
    answers: list[Answer] = []
    ratios: list[float] = []
    for d in sets_of(results, data):
        sizes = [results.finished(d, m, "model_size") for m in PAPER_METHODS]
        known = [size for size in sizes if size is not None]
        ratios.append(max(known) / min(known) if known else 1.0)
        answers.append(False if ratios[-1] > factor else None if None in sizes else True)
    verdict = held(answers, MOST, f"the largest model is at most {factor:g} times the smallest")
    return Verdict(verdict.status, f"{verdict.evidence}; largest ratio {max(ratios, default=1.0):.2f}")


def accuracies_close(results: Results, data: Sequence[str], bound: float) -> Verdict:
    """Whether accuracies with the polynomial kernel are at most ``bound`` below those with the Gaussian kernel."""

    def close(gaussian: float, polynomial: float) -> bool:
        return gaussian - polynomial <= bound

    answers = [
        if_known(close, *(results.finished(d, m, "accuracy", kernel) for kernel in ("paper", "polynomial")))
        for d in sets_of(results, data, "polynomial")
        for m in FRANK_WOLFE
    ]
    return held(answers, MOST, f"at most {100 * bound:g} points below the Gaussian kernel", "runs")


def times_close(results: Results, data: Sequence[str]) -> Verdict:
    """Whether times with both kernels are within a factor of ten."""
    answers = [
        results.seconds(d, m, "polynomial").over(results.seconds(d, m)).within(0.1, 10.0)
        for d in sets_of(results, data, "polynomial")
        for m in FRANK_WOLFE
    ]
    return held(answers, MOST, "times with both kernels are within a factor of 10", "runs")


def significantly_faster(results: Results, first: str, second: str, level: float) -> Verdict:
    """Whether Wilcoxon's test finds the first faster."""
    pairs = decided_scores(results, "seconds", first, second)
    if least_p(len(pairs), two_sided=False) >= level:
        return NOT_RUN
    p = signed_ranks(pairs[:, 0], pairs[:, 1], "less").p
    return decided(p < level, f"{METHODS[first]} faster than {METHODS[second]}: p = {p:.2g} on {len(pairs)} sets")


def last_decades(results: Results, data: str, method: str) -> tuple[float, float, float] | None:
    """Iterations until the gap was 100, 10 and 1 times the smallest gap."""
    runs = results.runs("convergence", data, method)
    if not runs:
        return None
    gaps, iterations = (np.asarray(runs[0]["curve"][name], dtype=float) for name in ("gap", "iteration"))
    first, second, third = iterations[np.searchsorted(-gaps, [-factor * gaps.min() for factor in (100.0, 10.0, 1.0)])]
    return (first, second, third) if first < second < third else None


def linear_rate(results: Results) -> Verdict:
    """Whether away and swap steps converge linearly and plain steps do not."""
    parts: list[str] = []
    answers: list[Answer] = []
    for d in EXPERIMENTS["convergence"].data:
        decades = {m: last_decades(results, d, m) for m in FRANK_WOLFE}
        known = {m: (k[2] - k[1]) / (k[1] - k[0]) for m, k in decades.items() if k}
        if len(known) < len(decades) or any(results.cut("convergence", d, m) for m in AWAY):
            answers.append(None)
        else:
            answers.append(all(known[m] < 3 for m in AWAY) and known["fw"] > 5)
        parts.append(f"{d}: " + ", ".join(f"{METHODS[m]} {ratio:.2g}" for m, ratio in known.items()))
    if not any(results.runs("convergence", d, "fw") for d in EXPERIMENTS["convergence"].data):
        return NOT_RUN
    text = "iterations of the last tenfold reduction of the gap over those of the one before (1: linear, 10: O(1/k))"
    return decided(combined(answers), f"{text}: {'; '.join(parts)}")


def iterations_bounded(results: Results) -> Verdict:
    """Whether iterations grow no faster than 1 / eps over the last hundredfold reduction of the gap."""
    parts: list[str] = []
    answers: list[Answer] = []
    for d in EXPERIMENTS["convergence"].data:
        for m in FRANK_WOLFE:
            decades = last_decades(results, d, m)
            exponent = float(np.log10(decades[2] / decades[0])) / 2 if decades else None
            answers.append(None if exponent is None else exponent <= BOUNDED)
            parts.append(f"{METHODS[m]} {'unknown' if exponent is None else f'{exponent:.2f}'} on {d}")
    text = f"exponent of 1/eps in the iterations to a gap of eps, at most {BOUNDED} if bounded"
    return decided(combined(answers), f"{text}: {', '.join(parts)}")


def rows_do_not_matter(results: Results) -> Verdict:
    """Whether iterations to a fixed gap do not grow with the rows; those of a cut run are a lower bound."""
    parts: list[str] = []
    answers: list[Answer] = []
    sets, steps = results.scores("rows", "iterations", FRANK_WOLFE)
    if len(sets) < len(GROUPS["web"]):
        return NOT_RUN
    rows = np.log([find_entry(d).rows for d in sets])
    for m, own in zip(FRANK_WOLFE, steps.T, strict=True):
        exponent = float(np.polyfit(rows, np.log(own), 1)[0])
        cut = any(results.cut("rows", d, m) for d in sets)
        answers.append(False if exponent >= CONSTANT else None if cut else True)
        parts.append(f"{METHODS[m]} {exponent:.2f} ({own[0]:.0f} on {sets[0]}, {own[-1]:.0f} on {sets[-1]})")
    eps = EXPERIMENTS["rows"].settings["eps"]
    text = f"exponent of m in the iterations to a gap of {eps:g}, below {CONSTANT} if constant"
    return decided(combined(answers), f"{text}: {', '.join(parts)}")
