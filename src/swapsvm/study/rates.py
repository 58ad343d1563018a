"""Checks of the paper's analysis: rates of convergence, and iterations against accuracy and rows."""

from __future__ import annotations

import numpy as np

from ..datasets.registry import find_entry
from .evidence import NOT_RUN, Answer, Verdict, combined, decided
from .protocol import EXPERIMENTS, FRANK_WOLFE, GROUPS, METHODS
from .summary import Results

BOUNDED = 1.1  # exponent that counts as 1
CONSTANT = 0.1  # exponent that counts as 0
AWAY = ("mfw", "swap", "swap2")


def iterations_to(results: Results, data: str, method: str, gap: float) -> float | None:
    """Iterations until the gap was at most ``gap``; None if it never was."""
    runs = results.runs("convergence", data, method)
    if not runs:
        return None
    curve = runs[0]["curve"]
    place = int(np.searchsorted(-np.asarray(curve["gap"]), -gap))
    return float(curve["iteration"][place]) if place < len(curve["gap"]) else None


def last_decades(results: Results, data: str, method: str) -> tuple[float, float, float] | None:
    """Iterations until the gap was 100, 10 and 1 times the smallest gap."""
    runs = results.runs("convergence", data, method)
    if not runs:
        return None
    least = min(runs[0]["curve"]["gap"])
    first, second, third = (iterations_to(results, data, method, factor * least) for factor in (100.0, 10.0, 1.0))
    if first is None or second is None or third is None or not first < second < third:
        return None
    return first, second, third


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
    sets = results.data("rows", GROUPS["web"])
    if len(sets) < len(GROUPS["web"]):
        return NOT_RUN
    rows = np.log([find_entry(d).rows for d in sets])
    for m in FRANK_WOLFE:
        steps = [results.median("rows", d, m, "iterations") for d in sets]
        if None in steps:
            return NOT_RUN
        exponent = float(np.polyfit(rows, np.log(np.array(steps, dtype=float)), 1)[0])
        cut = any(results.cut("rows", d, m) for d in sets)
        answers.append(False if exponent >= CONSTANT else None if cut else True)
        parts.append(f"{METHODS[m]} {exponent:.2f} ({steps[0]:.0f} on {sets[0]}, {steps[-1]:.0f} on {sets[-1]})")
    eps = EXPERIMENTS["rows"].settings["eps"]
    text = f"exponent of m in the iterations to a gap of {eps:g}, below {CONSTANT} if constant"
    return decided(combined(answers), f"{text}: {', '.join(parts)}")
