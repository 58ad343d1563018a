"""Checks of claims on rates of convergence, and on significance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ..datasets.registry import find_entry
from .evidence import NOT_RUN, Finding, decided_pairs, least_p
from .interval import INFINITE, NO, UNKNOWN, YES, Answers, all_of, answered
from .protocol import EXPERIMENTS, FRANK_WOLFE, GROUPS, METHODS
from .records import Run
from .statistics import signed_ranks
from .summary import Bounds, Results

BOUNDED = 1.1  # exponent that counts as 1
CONSTANT = 0.1  # exponent that counts as 0
AWAY = ("mfw", "swap", "swap2")


def significantly_faster(results: Results, first: str, second: str, level: float) -> Finding:
    """Whether Wilcoxon's test finds the first faster."""
    pairs = decided_pairs(results, "seconds", first, second)
    answers = np.full(pairs.known.shape[1], UNKNOWN)
    p_values = np.ones(len(answers))
    for place in range(len(answers)):
        a, b = pairs.drawn(place)
        if least_p(len(a), two_sided=False) < level:
            p_values[place] = signed_ranks(a, b, "less").p
            answers[place] = YES if p_values[place] < level else NO
    if answers[0] == UNKNOWN:
        return NOT_RUN
    count = len(pairs.drawn(0)[0])
    return Finding(answers, f"{METHODS[first]} faster than {METHODS[second]}: p = {p_values[0]:.2g} on {count} sets")


def last_decades(run: Run) -> tuple[float, float, float] | None:
    """Iterations until the gap was 100, 10 and 1 times the smallest gap."""
    gaps, iterations = (np.asarray(run["curve"][name], dtype=float) for name in ("gap", "iteration"))
    first, second, third = iterations[np.searchsorted(-gaps, [-factor * gaps.min() for factor in (100.0, 10.0, 1.0)])]
    return (first, second, third) if first < second < third else None


def slowing(run: Run, cut_counts: bool = True) -> Bounds:
    """Iterations of the last tenfold reduction of the gap over those of the one before (1: linear, 10: O(1/k))."""
    decades = last_decades(run)
    if decades is None or (cut_counts and run["measures"]["cut"]):
        return 0.0, INFINITE
    ratio = (decades[2] - decades[1]) / (decades[1] - decades[0])
    return ratio, ratio


def exponent(run: Run) -> Bounds:
    """The exponent of 1/eps in the iterations, over the last hundredfold reduction of the gap."""
    decades = last_decades(run)
    if decades is None:
        return 0.0, INFINITE
    slope = float(np.log10(decades[2] / decades[0])) / 2
    return slope, slope


def linear_rate(results: Results) -> Finding:
    """Whether away and swap steps converge linearly and plain steps do not."""
    data = EXPERIMENTS["convergence"].data
    if not results.data("convergence"):
        return NOT_RUN
    parts: list[str] = []
    answers: list[Answers] = []
    for d in data:
        found = {m: results.derived("convergence", d, m, partial(slowing, cut_counts=m in AWAY)) for m in FRANK_WOLFE}
        answers += [found[m].within(0.0, 3.0) for m in AWAY] + [found["fw"].within(5.0, INFINITE)]
        parts.append(f"{d}: " + ", ".join(f"{METHODS[m]} {ratio}" for m, ratio in found.items()))
    text = "iterations of the last tenfold reduction of the gap over those of the one before (1: linear, 10: O(1/k))"
    return Finding(all_of(answers), f"{text}: {'; '.join(parts)}")


def iterations_bounded(results: Results) -> Finding:
    """Whether iterations grow no faster than 1 / eps over the last hundredfold reduction of the gap."""
    found = {
        (d, m): results.derived("convergence", d, m, exponent)
        for d in EXPERIMENTS["convergence"].data
        for m in FRANK_WOLFE
    }
    answer = all_of([slope.within(0.0, BOUNDED) for slope in found.values()])
    parts = [f"{METHODS[m]} {slope} on {d}" for (d, m), slope in found.items()]
    text = f"exponent of 1/eps in the iterations to a gap of eps, at most {BOUNDED} if bounded"
    return Finding(answer, f"{text}: {', '.join(parts)}")


def rows_do_not_matter(results: Results) -> Finding:
    """Whether iterations to a fixed gap do not grow with the rows; those of a cut run are a lower bound."""
    sets = results.data("rows")
    if len(sets) < len(GROUPS["web"]):
        return NOT_RUN
    rows = np.log([find_entry(d).rows for d in sets])
    parts: list[str] = []
    answers: list[Answers] = []
    for m in FRANK_WOLFE:
        steps = [results.bounds(d, m, "iterations", "rows") for d in sets]
        least = np.array([step.low for step in steps])
        if not least.all():
            return NOT_RUN
        slope = np.polyfit(rows, np.log(least), 1)[0]
        bounded = np.array(
            [step.low < step.high for step in steps]
        )  # larger numbers raise the slope on large sets only
        raised = bounded[rows > rows.mean()].any(axis=0)
        lowered = bounded[rows <= rows.mean()].any(axis=0)
        answers.append(answered((slope < CONSTANT) & ~raised, (slope >= CONSTANT) & ~lowered))
        parts.append(f"{METHODS[m]} {slope[0]:.2f} ({steps[0]} on {sets[0]}, {steps[-1]} on {sets[-1]})")
    eps = EXPERIMENTS["rows"].settings["eps"]
    text = f"exponent of m in the iterations to a gap of {eps:g}, below {CONSTANT} if constant"
    return Finding(all_of(answers), f"{text}: {', '.join(parts)}")


def growth(results: Results, experiment: str, data: Sequence[str], method: str) -> tuple[float | None, int]:
    """The exponent of m in the median time of finished runs, and the number of their sets."""
    finished = [d for d in data if not results.cut(experiment, d, method)]
    medians = {d: results.median(experiment, d, method, "seconds") for d in finished}
    times = {d: seconds for d, seconds in medians.items() if seconds}
    if len(times) < 3:
        return None, len(times)
    slope = np.polyfit(np.log([find_entry(d).rows for d in times]), np.log(list(times.values())), 1)[0]
    return float(slope), len(times)
