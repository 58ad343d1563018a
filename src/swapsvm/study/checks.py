"""Checks of claims: comparisons of runs over data sets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from .evidence import ALL, MOST, NOT_RUN, Finding, held, sets_of, together
from .interval import INFINITE, NO, UNKNOWN, YES, Answers, Interval, all_of
from .protocol import FRANK_WOLFE, METHODS, PAPER_METHODS, POLYNOMIAL_RULE
from .records import Measure
from .summary import Results

RISING = 0.75  # of all pairs of data sets; Kendall's rank correlation is then above 1/2


def always_faster(
    results: Results,
    data: Sequence[str],
    first: str,
    second: str,
    least: float = ALL,
    *,
    slower: bool = False,
    factor: float = 1.0,
) -> Finding:
    """Whether the first takes less time than the second, or than ``factor`` times the second's, on enough sets."""
    quick, slow = (second, first) if slower else (first, second)
    answers = [results.seconds(d, quick).below(results.seconds(d, slow).times(factor)) for d in sets_of(results, data)]
    word = "slower than" if slower else "faster than" if factor == 1.0 else f"faster than {factor:g} times"
    return held(answers, least, f"{METHODS[first]} is {word} {METHODS[second]}")


def all_faster(
    results: Results, data: Sequence[str], methods: Sequence[str], second: str, least: float = ALL, factor: float = 1.0
) -> Finding:
    """Whether all methods are faster than the second, or than ``factor`` times its time."""
    return together(always_faster(results, data, method, second, least, factor=factor) for method in methods)


def speedups(results: Results, data: Sequence[str], method: str, base: str = "cvm") -> list[Interval]:
    """The speed-ups of a method on the sets of a claim."""
    return [results.speedup(d, method, base) for d in sets_of(results, data)]


def median_speedups(
    results: Results, data: Sequence[str], least: dict[str, float], every: float = 0.0, base: str = "cvm"
) -> Finding:
    """Whether speed-ups over the base have medians of at least ``least`` and are ``every`` or more on each set."""
    parts: list[str] = []
    answers: list[Answers] = []
    for method, wanted in least.items():
        found = speedups(results, data, method, base)
        if not found:
            return NOT_RUN
        middle, lowest = Interval.of(np.median, found), Interval.of(np.min, found)
        parts.append(f"{METHODS[method]}: median {middle}, smallest {lowest}")
        answers += [middle.within(wanted, INFINITE), lowest.within(every, INFINITE)]
    return Finding(all_of(answers), f"speed-ups over {METHODS[base]}, {'; '.join(parts)}")


def small_gain(results: Results, data: Sequence[str], method: str, most: float) -> Finding:
    """Whether the median speed-up over CVM is a gain, and at most ``most``."""
    middle = Interval.of(np.median, speedups(results, data, method))
    remark = ": a loss, not a small gain" if middle.high[0] < 1.0 else ""
    evidence = f"median speed-up of {METHODS[method]} over CVM: {middle}{remark}"
    return Finding(middle.within(1.0, most), evidence)


def largest_speedup(results: Results, data: Sequence[str], method: str, most: float, where: str) -> Finding:
    """Whether the largest speed-up over CVM is at most ``most`` and on the set ``where``."""
    found = {d: results.speedup(d, method) for d in sets_of(results, data)}
    largest = Interval.of(np.max, list(found.values()))
    others = Interval.of(np.max, [speedup for d, speedup in found.items() if d != where])
    answer = all_of([largest.within(0.0, most), others.below(found[where])])
    evidence = f"largest speed-up of {METHODS[method]} over CVM: {largest}; {found[where]} on {where}"
    return Finding(answer, evidence)


def speedup_grows(results: Results, data: Sequence[str], method: str) -> Finding:
    """Whether the speed-up over CVM rises with the rows: last above first and 1, and rising in most pairs of sets."""
    found = [results.speedup(d, method) for d in data]
    first, last = found[0], found[-1]
    rising = [small.below(large) for small, large in combinations(found, 2)]
    steps = held(rising, RISING, "the larger set has the larger speed-up", "pairs of sets")
    answer = all_of([first.below(last), last.within(1.0, INFINITE), steps.answers])
    return Finding(
        answer, f"{METHODS[method]}: {first} on {data[0]}, {last} on {data[-1]}; {steps.evidence}, needed {RISING:.0%}"
    )


def larger_speedups(results: Results, medium: Sequence[str], large: Sequence[str]) -> Finding:
    """Whether every method's median speed-up is larger on the large sets than on the medium ones."""
    medians = {m: [Interval.of(np.median, speedups(results, d, m)) for d in (medium, large)] for m in FRANK_WOLFE}
    parts = [f"{METHODS[m]} {low} and {high}" for m, (low, high) in medians.items()]
    answer = all_of([low.below(high) for low, high in medians.values()])
    return Finding(answer, f"median speed-ups, medium and large: {', '.join(parts)}")


def often_much_faster(results: Results, data: Sequence[str], first: str, second: str, often: float) -> Finding:
    """Whether the first is 10 times as fast in more than this share of the sets, and 100 times at least once."""
    found = speedups(results, data, first, second)
    tenfold, hundredfold = ([s.within(least, INFINITE) for s in found] for least in (10.0, 100.0))
    often_enough = held(tenfold, often, f"{METHODS[first]} is at least 10 times as fast as {METHODS[second]}")
    once = np.max(hundredfold, axis=0)
    largest = Interval.of(np.max, found)
    return Finding(all_of([often_enough.answers, once]), f"{often_enough.evidence}; largest ratio {largest}")


def smaller_advantage(results: Results, data: Sequence[str], first: str, second: str) -> Finding:
    """Whether the first's largest speed-up over the second is above the second's over the first."""
    own, other = (Interval.of(np.max, speedups(results, data, *pair)) for pair in ((first, second), (second, first)))
    names = METHODS[first], METHODS[second]
    evidence = f"largest ratios: {names[0]} {own} times as fast as {names[1]}, {names[1]} {other} times as {names[0]}"
    return Finding(other.below(own), evidence)


def same_order(results: Results, data: Sequence[str]) -> Finding:
    """Whether the times of the four methods are within a factor of ten."""
    times = [[results.seconds(d, m) for m in FRANK_WOLFE] for d in sets_of(results, data)]
    answers = [Interval.of(np.max, four).over(Interval.of(np.min, four)).within(0.0, 10.0) for four in times]
    return held(answers, MOST, "the four methods' times are within a factor of 10")


def differences_below(results: Results, data: Sequence[str], bound: float, least: float) -> Finding:
    """Whether accuracies are less than this share of CVM's below it."""
    losses = {(d, m): results.loss(d, m) for d in sets_of(results, data) for m in FRANK_WOLFE}
    known = {key: float(loss.low[0]) for key, loss in losses.items() if loss.exact}
    if not known:
        return NOT_RUN
    (data_set, method), worst = max(known.items(), key=lambda item: item[1])
    answers = [np.where(loss.high < bound, YES, np.where(loss.low >= bound, NO, UNKNOWN)) for loss in losses.values()]
    found = held(answers, least, f"less than {bound:.1%} below CVM", "runs")
    return Finding(found.answers, f"{found.evidence}; worst {worst:.2%}: {METHODS[method]} on {data_set}")


def compare(
    results: Results, data: Sequence[str], measure: Measure, first: str, second: str, least: float, equal: bool = True
) -> Finding:
    """Whether the first's measure is at least (or above) the second's."""
    pairs = [[results.bounds(d, m, measure) for m in (first, second)] for d in sets_of(results, data)]
    answers = [a.at_least(b) if equal else b.below(a) for a, b in pairs]
    sign = "at least" if equal else "above"
    return held(answers, least, f"{METHODS[first]}'s {measure.replace('_', ' ')} is {sign} {METHODS[second]}'s")


def as_accurate(results: Results, data: Sequence[str], first: str, second: str, slack: float) -> Finding:
    """Whether the first's accuracy is on most sets at most this share below the second's."""
    ratios = [
        results.bounds(d, first, "accuracy").over(results.bounds(d, second, "accuracy")) for d in sets_of(results, data)
    ]
    answers = [ratio.within(1.0 - slack, INFINITE) for ratio in ratios]
    return held(answers, MOST, f"{METHODS[first]}'s accuracy is at most {slack:.1%} below {METHODS[second]}'s")


def closest_to_best(results: Results, data: Sequence[str], methods: Sequence[str]) -> Finding:
    """Whether on most sets one of these methods is the most accurate of the four."""
    others = [m for m in FRANK_WOLFE if m not in methods]

    def best(d: str, among: Sequence[str]) -> Interval:
        return Interval.of(np.max, [results.bounds(d, m, "accuracy") for m in among])

    answers = [best(d, methods).at_least(best(d, others)) for d in sets_of(results, data)]
    names = " or ".join(METHODS[m] for m in methods)
    return held(answers, MOST, f"{names} is the closest of the four to the best accuracy")


def extreme_of(
    results: Results, data: Sequence[str], method: str, measure: Measure, best: bool, least: float
) -> Finding:
    """Whether one method alone has the largest (or smallest) value of the four."""
    answers: list[Answers] = []
    for d in sets_of(results, data):
        own = results.bounds(d, method, measure)
        others = [results.bounds(d, m, measure) for m in FRANK_WOLFE if m != method]
        answers.append(all_of([other.below(own) if best else own.below(other) for other in others]))
    word = "highest" if best else "lowest"
    return held(answers, least, f"{METHODS[method]} alone has the {word} {measure.replace('_', ' ')} of the four")


def sizes_similar(results: Results, data: Sequence[str], factor: float) -> Finding:
    """Whether on most sets the largest model is within a factor of the smallest."""
    sizes = [[results.bounds(d, m, "model_size") for m in PAPER_METHODS] for d in sets_of(results, data)]
    answers = [all_of([within_factor(a, b, factor) for a, b in combinations(five, 2)]) for five in sizes]
    known = [Interval.of(np.max, five).over(Interval.of(np.min, five)) for five in sizes]
    ratios = [float(ratio.low[0]) for ratio in known if ratio.exact]
    found = held(answers, MOST, f"the largest model is at most {factor:g} times the smallest")
    return Finding(found.answers, f"{found.evidence}; largest ratio {max(ratios, default=1.0):.2f}")


def within_factor(first: Interval, second: Interval, factor: float) -> Answers:
    """Whether two numbers differ at most by a factor."""
    return first.over(second).within(1.0 / factor, factor)


def share_stays(results: Results, data: Sequence[str], method: str, least: float) -> Finding:
    """Whether the model's share of the rows is on the last set at least this part of that on the first."""
    first, last = (results.share(d, method) for d in (data[0], data[-1]))
    evidence = (
        f"{METHODS[method]} keeps {first.times(100)} % of the rows on {data[0]}, {last.times(100)} % on {data[-1]}"
    )
    return Finding(last.over(first).within(least, INFINITE), evidence)


def accuracies_close(results: Results, data: Sequence[str], bound: float) -> Finding:
    """Whether accuracies with the polynomial kernel are at most ``bound`` below those with the Gaussian kernel."""
    answers = []
    for d in sets_of(results, data, "polynomial"):
        for m in FRANK_WOLFE:
            polynomial, gaussian = (
                results.bounds(d, m, "accuracy", experiment) for experiment in ("polynomial", POLYNOMIAL_RULE)
            )
            near = Interval(polynomial.low + bound, polynomial.high + bound)
            answers.append(near.at_least(gaussian))
    return held(answers, MOST, f"at most {100 * bound:g} points below the Gaussian kernel", "runs")


def times_close(results: Results, data: Sequence[str]) -> Finding:
    """Whether times with both kernels are within a factor of ten."""
    answers = [
        within_factor(results.seconds(d, m, "polynomial"), results.seconds(d, m, POLYNOMIAL_RULE), 10.0)
        for d in sets_of(results, data, "polynomial")
        for m in FRANK_WOLFE
    ]
    return held(answers, MOST, "times with both kernels are within a factor of 10", "runs")
