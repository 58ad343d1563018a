"""What [SWAP14] claims about its experiments, each with the check that says whether it holds here.

A check gets the results and gives a verdict and the numbers behind it. Where one of two runs was cut at its time limit
it is the slower one; where both were, nothing is known about that set: such a claim can be refuted by other sets, but
it is not confirmed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from statistics import median
from typing import NamedTuple

import numpy as np

from ..datasets.registry import find_entry
from .protocol import EXPERIMENTS, FRANK_WOLFE, GROUPS, METHODS, PAPER_METHODS
from .summary import Results

WEB, ADULT, MEDIUM, LARGE = (GROUPS[name] for name in ("web", "adult", "medium", "large"))
MOST = 0.5  # "most of the time" is more than this part of the sets
BOUNDED = 1.1  # exponent that counts as 1
AWAY = ("mfw", "swap", "swap2")


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


Check = Callable[[Results], Verdict]


@dataclass(frozen=True)
class Claim:
    """One claim: the part of the paper it is from, what it says, and how it is checked."""

    section: str
    text: str
    check: Check


NOT_RUN = Verdict(Status.NOT_TESTABLE, "not enough runs")


def held(answers: Sequence[bool | None], least: float, what: str) -> Verdict:
    """Whether a claim holds on at least (1.0) or more than (less) a part of the sets; None is an unknown answer."""
    if not answers:
        return NOT_RUN
    yes, unknown = answers.count(True), answers.count(None)
    evidence = f"{what} on {yes} of {len(answers)} sets" + (f" (unknown on {unknown})" if unknown else "")

    def enough(count: int) -> bool:
        return count == len(answers) if least == 1 else count > least * len(answers)

    if enough(yes):
        return Verdict(Status.CONFIRMED, evidence)
    return Verdict(Status.NOT_TESTABLE if enough(yes + unknown) else Status.NOT_CONFIRMED, evidence)


def both(first: Verdict, *others: Verdict) -> Verdict:
    """Confirmed if all are; not confirmed if any is not."""
    verdicts = (first, *others)
    order = (Status.NOT_CONFIRMED, Status.NOT_TESTABLE, Status.CONFIRMED)
    status = min((verdict.status for verdict in verdicts), key=order.index)
    return Verdict(status, "; ".join(verdict.evidence for verdict in verdicts))


def judged(holds: bool, evidence: str) -> Verdict:
    """Yes or no."""
    return Verdict(Status.CONFIRMED if holds else Status.NOT_CONFIRMED, evidence)


# ---- comparisons on one data set ----------------------------------------------------------------------------------


def faster(results: Results, data: str, first: str, second: str, experiment: str = "paper") -> bool | None:
    """Whether the first took less time; None if both were cut."""
    cuts = [results.cut(experiment, data, method) for method in (first, second)]
    if all(cuts):
        return None
    return value(results, data, first, "seconds", experiment) < value(results, data, second, "seconds", experiment)


def value(results: Results, data: str, method: str, measure: str, experiment: str = "paper") -> float:
    """A median that is known to exist."""
    found = results.median(experiment, data, method, measure)
    if found is None:
        raise LookupError(f"no run of {method} on {data} in {experiment}")
    return found


def speedup(results: Results, data: str, method: str) -> float:
    """Over CVM; a lower bound if CVM was cut, an upper one if the method was."""
    return value(results, data, "cvm", "seconds") / value(results, data, method, "seconds")


def available(results: Results, data: Iterable[str], methods: Sequence[str], experiment: str = "paper") -> list[str]:
    """Sets on which all these methods ran."""
    return [d for d in data if all(results.runs(experiment, d, m) for m in methods)]


# ---- checks -----------------------------------------------------------------------------------------------------


def always_faster(
    results: Results, data: Sequence[str], first: str, second: str, least: float = 1.0, slower: bool = False
) -> Verdict:
    """Whether the first is faster (slower) than the second on all sets, or on more than a part of them."""
    sets = available(results, data, (first, second))
    quick, slow = (second, first) if slower else (first, second)
    answers = [faster(results, d, quick, slow) for d in sets]
    word = "slower" if slower else "faster"
    return held(answers, least, f"{METHODS[first]} is {word} than {METHODS[second]}")


def all_faster(
    results: Results, data: Sequence[str], methods: Sequence[str], second: str, least: float = 1.0
) -> Verdict:
    """The same for several methods."""
    first, *others = [always_faster(results, data, method, second, least) for method in methods]
    return both(first, *others)


def median_speedups(results: Results, data: Sequence[str], least: dict[str, float], every: float = 0.0) -> Verdict:
    """Whether speed-ups over CVM have medians of at least ``least`` and are ``every`` or more on each set."""
    sets = available(results, data, ("cvm", *least))
    if not sets:
        return NOT_RUN
    exact = [d for d in sets if not results.cut("paper", d, "cvm")]  # on the others speed-ups are lower bounds
    parts, holds, refuted = [], True, False
    for method, wanted in least.items():
        speedups = {d: speedup(results, d, method) for d in sets}
        low, middle, high = min(speedups.values()), median(speedups.values()), max(speedups.values())
        parts.append(f"{METHODS[method]}: median {middle:.3g}, from {low:.3g} to {high:.3g}")
        holds = holds and middle >= wanted and low >= every
        refuted = refuted or any(speedups[d] < every for d in exact) or (exact == sets and middle < wanted)
    status = Status.CONFIRMED if holds else Status.NOT_CONFIRMED if refuted else Status.NOT_TESTABLE
    return Verdict(status, "speed-ups over CVM, " + "; ".join(parts) + cut_note(results, sets, ("cvm", *least)))


def cut_note(results: Results, sets: Sequence[str], methods: Sequence[str]) -> str:
    """Says that times are bounds only."""
    counts = {m: sum(results.cut("paper", d, m) for d in sets) for m in methods}
    told = [f"{METHODS[m]} on {count} of {len(sets)} sets" for m, count in counts.items() if count]
    return f" (cut: {', '.join(told)})" if told else ""


def speedup_grows(results: Results, data: Sequence[str], method: str) -> Verdict:
    """Whether the speed-up over CVM rises with the rows: rank correlation above one half, last above first."""
    sets = available(results, data, ("cvm", method))
    if len(sets) < 4:
        return NOT_RUN
    speedups = [speedup(results, d, method) for d in sets]
    ranks = np.argsort(np.argsort(speedups))
    correlation = float(np.corrcoef(ranks, np.arange(len(sets)))[0, 1])
    text = f"{METHODS[method]}: {speedups[0]:.3g} on {sets[0]}, {speedups[-1]:.3g} on {sets[-1]}, rank correlation"
    holds = correlation > 0.5 and speedups[-1] > speedups[0]
    return judged(holds, f"{text} {correlation:.2f}{cut_note(results, sets, ('cvm', method))}")


def differences_below(results: Results, data: Sequence[str], bound: float, least: float) -> Verdict:
    """Whether accuracies are less than a part of CVM's below it."""
    pairs = [(d, m) for m in FRANK_WOLFE for d in available(results, data, ("cvm", m))]
    if not pairs:
        return NOT_RUN
    found = {(d, m): 1 - value(results, d, m, "accuracy") / value(results, d, "cvm", "accuracy") for d, m in pairs}
    (data_set, method), worst = max(found.items(), key=lambda item: item[1])
    share = float(np.mean([difference < bound for difference in found.values()]))
    evidence = (
        f"below {bound:.1%} in {share:.0%} of {len(found)} cases; worst {worst:.2%}: {METHODS[method]} on {data_set}"
    )
    return judged(share == 1 if least == 1 else share > least, evidence)


def compare(
    results: Results, data: Sequence[str], measure: str, first: str, second: str, least: float, *, equal: bool = True
) -> Verdict:
    """Whether the first's measure is at least (above) the second's."""
    sets = available(results, data, (first, second))
    pairs = [(value(results, d, first, measure), value(results, d, second, measure)) for d in sets]
    answers: list[bool | None] = [a >= b if equal else a > b for a, b in pairs]
    sign = "at least" if equal else "above"
    return held(answers, least, f"{METHODS[first]}'s {measure.replace('_', ' ')} is {sign} {METHODS[second]}'s")


def extreme_of(results: Results, data: Sequence[str], method: str, measure: str, best: bool, least: float) -> Verdict:
    """Whether a method has the largest (or smallest) value among the four, ties included."""
    sets = available(results, data, FRANK_WOLFE)
    answers: list[bool | None] = []
    for d in sets:
        values = [value(results, d, m, measure) for m in FRANK_WOLFE]
        answers.append(value(results, d, method, measure) == (max(values) if best else min(values)))
    word = "highest" if best else "lowest"
    return held(answers, least, f"{METHODS[method]} has the {word} {measure.replace('_', ' ')} of the four")


def sizes_similar(results: Results, data: Sequence[str], factor: float) -> Verdict:
    """Whether no model is more than a factor larger than another one of the same set."""
    sets = available(results, data, PAPER_METHODS)
    ratios = {}
    for d in sets:
        sizes = [value(results, d, m, "model_size") for m in PAPER_METHODS]
        ratios[d] = max(sizes) / min(sizes)
    if not ratios:
        return NOT_RUN
    worst = max(ratios, key=lambda d: ratios[d])
    median_ratio = median(ratios.values())
    evidence = f"largest / smallest model: median {median_ratio:.2f}, at most {ratios[worst]:.2f} ({worst})"
    return judged(median_ratio <= factor, f"{evidence}; similar if the median is at most {factor:g}")


def same_order(results: Results, data: Sequence[str]) -> Verdict:
    """Whether the times of the four methods are within a factor of ten."""
    sets = available(results, data, FRANK_WOLFE)
    answers: list[bool | None] = []
    for d in sets:
        times = [value(results, d, m, "seconds") for m in FRANK_WOLFE]
        uncertain = any(results.cut("paper", d, m) for m in FRANK_WOLFE)
        answers.append(False if max(times) > 10 * min(times) else None if uncertain else True)
    return held(answers, MOST, "the four methods' times are within a factor of 10")


def larger_speedups(results: Results) -> Verdict:
    """Whether the median speed-up is larger on the large sets than on the medium ones."""
    medium = available(results, MEDIUM, PAPER_METHODS)
    large = available(results, LARGE, PAPER_METHODS)
    if not medium or not large:
        return NOT_RUN
    parts, holds = [], True
    for m in FRANK_WOLFE:
        low, high = (median(speedup(results, d, m) for d in sets) for sets in (medium, large))
        parts.append(f"{METHODS[m]} {low:.3g} and {high:.3g}")
        holds = holds and high > low
    note = cut_note(results, [*medium, *large], PAPER_METHODS)
    return judged(holds, f"median speed-ups, medium and large: {', '.join(parts)}{note}")


def polynomial_accuracy(results: Results, bound: float) -> Verdict:
    """Whether accuracies with the polynomial kernel come within so much of those with the Gaussian one."""
    sets = available(results, EXPERIMENTS["polynomial"].data, FRANK_WOLFE, "polynomial")
    answers: list[bool | None] = []
    worst = 0.0
    for d in available(results, sets, FRANK_WOLFE):
        for m in FRANK_WOLFE:
            lost = value(results, d, m, "accuracy") - value(results, d, m, "accuracy", "polynomial")
            worst = max(worst, lost)
            answers.append(lost <= bound)
    verdict = held(answers, MOST, f"at most {bound:.1%} less accurate than with the Gaussian kernel")
    return verdict._replace(evidence=verdict.evidence.replace("sets", "runs") + f"; at most {worst:.2%} less")


def polynomial_times(results: Results) -> Verdict:
    """Whether times with both kernels are within a factor of ten."""
    sets = available(results, EXPERIMENTS["polynomial"].data, FRANK_WOLFE, "polynomial")
    answers: list[bool | None] = []
    for d in available(results, sets, FRANK_WOLFE):
        for m in FRANK_WOLFE:
            if results.cut("paper", d, m) or results.cut("polynomial", d, m):
                answers.append(None)
                continue
            ratio = value(results, d, m, "seconds", "polynomial") / value(results, d, m, "seconds")
            answers.append(0.1 <= ratio <= 10)
    verdict = held(answers, MOST, "times with both kernels are within a factor of 10")
    return verdict._replace(evidence=verdict.evidence.replace("sets", "runs"))


# ---- theory -----------------------------------------------------------------------------------------------------


def iterations_to(results: Results, data: str, method: str, gap: float) -> float | None:
    """Iterations until the gap was so small; None if it never was."""
    runs = results.runs("convergence", data, method)
    if not runs:
        return None
    curve = runs[0]["curve"]
    place = int(np.searchsorted(-np.asarray(curve["gap"]), -gap))
    return float(curve["iteration"][place]) if place < len(curve["gap"]) else None


def tenth_costs(results: Results, data: str, method: str) -> float | None:
    """Iterations of the last tenfold reduction of the gap over those of the one before: 1 if linear, 10 if like 1/k."""
    runs = results.runs("convergence", data, method)
    if not runs:
        return None
    least = min(runs[0]["curve"]["gap"])
    found = [iterations_to(results, data, method, factor * least) for factor in (100.0, 10.0, 1.0)]
    if any(k is None for k in found):
        return None
    first, second, third = (float(k or 0) for k in found)
    return (third - second) / (second - first) if second > first else None


def linear_rate(results: Results) -> Verdict:
    """Whether away and swap steps converge linearly and plain steps do not."""
    parts, holds = [], True
    for d in EXPERIMENTS["convergence"].data:
        ratios = {m: tenth_costs(results, d, m) for m in FRANK_WOLFE}
        if any(ratio is None for ratio in ratios.values()):
            continue
        known = {m: float(ratio or 0) for m, ratio in ratios.items()}
        parts.append(f"{d}: " + ", ".join(f"{METHODS[m]} {ratio:.2g}" for m, ratio in known.items()))
        holds = holds and all(known[m] < 3 for m in AWAY) and known["fw"] > 5
    if not parts:
        return NOT_RUN
    text = "iterations of the last tenfold reduction of the gap over those of the one before (1: linear, 10: O(1/k))"
    return judged(holds, f"{text}: {'; '.join(parts)}")


def iterations_bounded(results: Results) -> Verdict:
    """Whether iterations grow no faster than 1 / eps over the last hundredfold reduction of the gap."""
    parts, holds = [], True
    for d in EXPERIMENTS["convergence"].data:
        for m in FRANK_WOLFE:
            runs = results.runs("convergence", d, m)
            least = min(runs[0]["curve"]["gap"]) if runs else 0.0
            first, last = (iterations_to(results, d, m, factor * least) for factor in (100.0, 1.0))
            if first is None or last is None:
                continue
            exponent = float(np.log10(last / first)) / 2
            parts.append(f"{METHODS[m]} {exponent:.2f} on {d}")
            holds = holds and exponent <= BOUNDED
    if not parts:
        return NOT_RUN
    text = "exponent of 1/eps in the iterations to a gap of eps, over the last hundredfold reduction"
    return judged(holds, f"{text}: {', '.join(parts)}; bounded if at most {BOUNDED}")


def rows_do_not_matter(results: Results) -> Verdict:
    """Whether iterations to a fixed gap do not grow with the rows: exponents below one tenth."""
    parts, holds = [], True
    for m in FRANK_WOLFE:
        sets = [d for d in available(results, WEB, (m,), "rows") if not results.cut("rows", d, m)]
        if len(sets) < 4:
            continue
        rows, steps = [find_entry(d).rows for d in sets], [value(results, d, m, "iterations", "rows") for d in sets]
        slope = float(np.polyfit(np.log(rows), np.log(steps), 1)[0])
        parts.append(f"{METHODS[m]} {slope:.2f} ({steps[0]:.0f} on {sets[0]}, {steps[-1]:.0f} on {sets[-1]})")
        holds = holds and slope < 0.1
    if not parts:
        return NOT_RUN
    eps = EXPERIMENTS["rows"].settings["eps"]
    return judged(holds, f"exponent of m in the iterations to an absolute gap of {eps:g}: {', '.join(parts)}")


def missing(results: Results, data: str) -> Verdict:
    """Of a set that has no runs."""
    if results.runs("paper", data, "cvm"):
        raise NotImplementedError(f"{data} has runs now: write its checks")
    return Verdict(Status.NOT_TESTABLE, f"{data} could not be had")


THREE = ("swap", "mfw", "swap2")
PROPOSED = ("swap", "swap2")

CLAIMS = (
    Claim(
        "Web",
        "Each Frank-Wolfe method is faster than CVM on all 8 sets.",
        partial(all_faster, data=WEB, methods=FRANK_WOLFE, second="cvm"),
    ),
    Claim(
        "Web", "MFW is always slower than FW.", partial(always_faster, data=WEB, first="mfw", second="fw", slower=True)
    ),
    Claim("Web", "SWAP is faster than MFW on all sets.", partial(always_faster, data=WEB, first="swap", second="mfw")),
    Claim(
        "Web",
        "SWAP-2o is faster than MFW on 6 of the 8 sets.",
        partial(always_faster, data=WEB, first="swap2", second="mfw", least=MOST),
    ),
    Claim(
        "Web",
        "The speed-up of FW over CVM grows with the rows, from 12.6 to 106.",
        partial(speedup_grows, data=WEB, method="fw"),
    ),
    Claim(
        "Web",
        "SWAP is about 250 times as fast as CVM on the largest set (here: at least 10 times).",
        partial(median_speedups, data=("w8a",), least={"swap": 10.0}),
    ),
    Claim(
        "Web",
        "SWAP-2o is not faster than SWAP in this series.",
        partial(always_faster, data=WEB, first="swap2", second="swap", least=MOST, slower=True),
    ),
    Claim(
        "Web",
        "Accuracies are most of the time less than 0.5 % below CVM's.",
        partial(differences_below, data=WEB, bound=0.005, least=MOST),
    ),
    Claim(
        "Web",
        "FW is the least accurate of the four Frank-Wolfe methods.",
        partial(extreme_of, data=WEB, method="fw", measure="accuracy", best=False, least=MOST),
    ),
    Claim(
        "Web",
        "SWAP-2o is very often the most accurate of the four.",
        partial(extreme_of, data=WEB, method="swap2", measure="accuracy", best=True, least=MOST),
    ),
    Claim(
        "Web",
        "CVM's models are larger than those of the proposed methods.",
        lambda r: both(*(compare(r, WEB, "model_size", "cvm", m, 1.0, equal=False) for m in PROPOSED)),
    ),
    Claim(
        "Adult",
        "SWAP, MFW and SWAP-2o are always faster than CVM.",
        partial(all_faster, data=ADULT, methods=THREE, second="cvm"),
    ),
    Claim(
        "Adult",
        "SWAP and SWAP-2o are always more than 10 times as fast as CVM (medians 15.5 and 20.5).",
        partial(median_speedups, data=ADULT, least={"swap": 10.0, "swap2": 10.0}, every=10.0),
    ),
    Claim("Adult", "MFW is always faster than FW.", partial(always_faster, data=ADULT, first="mfw", second="fw")),
    Claim(
        "Adult",
        "SWAP and SWAP-2o are always faster than FW.",
        partial(all_faster, data=ADULT, methods=PROPOSED, second="fw"),
    ),
    Claim(
        "Adult",
        "SWAP and SWAP-2o are always faster than MFW.",
        partial(all_faster, data=ADULT, methods=PROPOSED, second="mfw"),
    ),
    Claim(
        "Adult",
        "Most of the time the Frank-Wolfe methods are at least as accurate as CVM.",
        lambda r: both(*(compare(r, ADULT, "accuracy", m, "cvm", MOST) for m in FRANK_WOLFE)),
    ),
    Claim(
        "Adult",
        "SWAP is always at least as accurate as FW.",
        partial(compare, data=ADULT, measure="accuracy", first="swap", second="fw", least=1.0),
    ),
    Claim("Adult", "The sizes of the models are quite similar.", partial(sizes_similar, data=ADULT, factor=1.2)),
    Claim(
        "Medium and large",
        "Accuracies are always less than 2 % below CVM's.",
        partial(differences_below, data=(*MEDIUM, *LARGE), bound=0.02, least=1.0),
    ),
    Claim(
        "Medium and large",
        "The Frank-Wolfe methods are most of the time faster than CVM.",
        partial(all_faster, data=(*MEDIUM, *LARGE), methods=FRANK_WOLFE, second="cvm", least=MOST),
    ),
    Claim(
        "Medium and large",
        "On medium sets all four have times of the same order of magnitude.",
        partial(same_order, data=MEDIUM),
    ),
    Claim(
        "Medium and large",
        "Speed-ups over CVM are larger on the large sets (medians 27.3, 15.0, 30.7, 29.5).",
        larger_speedups,
    ),
    Claim(
        "Medium and large",
        "SWAP is faster than MFW on most of the large sets (4 of 5).",
        partial(always_faster, data=LARGE, first="swap", second="mfw", least=MOST),
    ),
    Claim(
        "Medium and large",
        "SWAP-2o is faster than MFW on most of the large sets (4 of 5).",
        partial(always_faster, data=LARGE, first="swap2", second="mfw", least=MOST),
    ),
    Claim(
        "Medium and large",
        "There are no significant differences among the sizes of the models.",
        partial(sizes_similar, data=(*MEDIUM, *LARGE), factor=1.2),
    ),
    Claim(
        "Protein",
        "FW, MFW, SWAP and SWAP-2o are 20.8, 123.5, 157.3 and 358 times as fast as CVM.",
        partial(missing, data="protein"),
    ),
    Claim(
        "Polynomial kernel",
        "Accuracies are comparable to those with the Gaussian kernel (here: at most 2 points lower).",
        partial(polynomial_accuracy, bound=0.02),
    ),
    Claim(
        "Polynomial kernel",
        "Training times are comparable to those with the Gaussian kernel (here: within a factor of 10).",
        polynomial_times,
    ),
    Claim("Analysis", "MFW, SWAP and SWAP-2o converge linearly, FW like 1/k.", linear_rate),
    Claim("Analysis", "A gap of eps is reached in O(1/eps) iterations.", iterations_bounded),
    Claim("Analysis", "The number of iterations does not depend on the number of rows.", rows_do_not_matter),
)


def check_all(results: Results) -> list[tuple[Claim, Verdict]]:
    """All claims and their verdicts."""
    return [(claim, claim.check(results)) for claim in CLAIMS]
