"""Choose C and gamma of the kinds, for both losses together and for each alone: ``python -m benchmarks.kinds.tune``.

One grid for all: C from 1/4 to 1024 by factors of 4, gamma from 1/16 to 16 times scikit-learn's "scale". 3-fold
cross-validation on a stratified sample of about 3000 training rows, hinge loss by scikit-learn-intelex (above 15
classes, where it predicts slowly, by scikit-learn with a precomputed kernel) and squared hinge by ours. Ties go to the
smaller C, then to the smaller gamma. kinds.toml keeps the whole grid. Sets in the file are not tuned again unless they
are named.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from .. import datasets
from ..tune import FOLDS, LEAST, Choice, available, right_of, sample
from . import parameters
from .listing import DEVELOPMENT, HELD_BACK
from .names import family
from .parameters import LOSSES

COSTS = tuple(4.0**k for k in range(-1, 6))
MULTIPLES = tuple(4.0**k for k in range(-2, 3))
SAMPLE = 3000
MANY_CLASSES = 15
SOLVERS = {"hinge": "intelex", "squared_hinge": "block"}


class Precomputed:
    """Hinge loss with kernel values from distances that are computed once: what counts with many classes."""

    def __init__(self, X: Any, y: np.ndarray) -> None:
        self.distances, self.y = euclidean_distances(X, squared=True), y

    def right(self, C: float, gamma: float) -> int:
        """The number of rows that cross-validation predicts correctly, with the folds of ``right_of``."""
        K, y, right = np.exp(-gamma * self.distances), self.y, 0
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
            model = SVC(C=C, kernel="precomputed").fit(K[np.ix_(train, train)], y[train])
            right += int(np.sum(model.predict(K[np.ix_(test, train)]) == y[test]))
        return right


def counter_of(loss: str, X: Any, y: np.ndarray, threads: int) -> Callable[[float, float], int]:
    """Correctly predicted rows as a function of C and gamma."""
    if loss == "hinge" and len(np.unique(y)) > MANY_CLASSES:
        return Precomputed(X, y).right
    return lambda C, gamma: right_of(available(SOLVERS[loss]), X, y, C, gamma, threads)


def large_enough(y: np.ndarray) -> np.ndarray:
    """Rows of classes that cross-validation can divide."""
    labels, counts = np.unique(y, return_counts=True)
    return np.flatnonzero(np.isin(y, labels[counts >= LEAST]))


def choices_of(X: Any, y: np.ndarray, scale: float, threads: int) -> list[Choice]:
    counters = {loss: counter_of(loss, X, y, threads) for loss in LOSSES}
    return [
        Choice(C, multiple, {loss: right(C, multiple * scale) for loss, right in counters.items()})
        for C, multiple in product(COSTS, MULTIPLES)
    ]


def best_for(choices: Sequence[Choice], right: Callable[[Choice], int]) -> Choice:
    return min(choices, key=lambda choice: (-right(choice), choice.C, choice.multiple))


def part_of(choice: Choice, scale: float, rows: int, losses: Sequence[str]) -> dict[str, Any]:
    """A chosen pair, its accuracies, and whether it lies at the border of the grid."""
    border = choice.C in (COSTS[0], COSTS[-1]) or choice.multiple in (MULTIPLES[0], MULTIPLES[-1])
    pair = {"C": choice.C, "gamma": choice.multiple * scale, "gamma_multiple": choice.multiple}
    accuracies = {f"accuracy_{loss}": round(choice.right[loss] / rows, 5) for loss in losses}
    return {**pair, **accuracies, "at_border": border}


def entry_of(choices: Sequence[Choice], scale: float, rows: int) -> dict[str, Any]:
    both = best_for(choices, lambda choice: sum(choice.right.values()))
    entry: dict[str, Any] = {"sample": rows, "common": part_of(both, scale, rows, LOSSES)}
    for loss in LOSSES:
        own = best_for(choices, lambda choice, loss=loss: choice.right[loss])
        grid = [[round(c.right[loss] / rows, 5) for c in choices if c.C == C] for C in COSTS]
        entry[loss] = {**part_of(own, scale, rows, [loss]), "grid": grid}
    return entry


def tuned(name: str, threads: int, size: int = SAMPLE) -> dict[str, Any]:
    """The entry of kinds.toml."""
    split = datasets.load(name)
    scale = datasets.gamma_scale(split.X)
    rows = sample(split.y, size)
    rows = rows[large_enough(split.y[rows])]
    choices = choices_of(split.X[rows], split.y[rows], scale, threads)
    return {"gamma_scale": scale, **entry_of(choices, scale, len(rows))}


# ---- the file -------------------------------------------------------------------------------------------------


def as_toml(entries: dict[str, dict[str, Any]]) -> str:
    head = "# Written by `python -m benchmarks.kinds.tune`. Grids: a line for each C, a column for each gamma."
    axes = f"# C = {list(COSTS)}; gamma = {list(MULTIPLES)} x gamma_scale"
    return "\n\n".join([f"{head}\n{axes}", *(table_of(name, entries[name]) for name in sorted(entries))]) + "\n"


def table_of(name: str, entry: dict[str, Any]) -> str:
    parts = {key: value for key, value in entry.items() if isinstance(value, dict)}
    lines = [f'["{name}"]', *(f"{key} = {literal(value)}" for key, value in entry.items() if key not in parts)]
    for part, values in parts.items():
        lines += [f'["{name}".{part}]', *(f"{key} = {literal(value)}" for key, value in values.items())]
    return "\n".join(lines)


def literal(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def chosen(options: argparse.Namespace) -> list[str]:
    """One set of each family, without those in the file unless they are named."""
    if options.data:
        return options.data
    names = HELD_BACK if options.held_back else DEVELOPMENT
    first = {family(name): name for name in reversed(names)}
    return [name for name in names if first[family(name)] == name and family(name) not in parameters.stored()]


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", help="these sets, again; by default all of development without an entry")
    parser.add_argument("--held-back", action="store_true", help="the held-back sets: only before they are measured")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="training rows")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(words)
    if not options.held_back and set(options.data or ()) & set(HELD_BACK):
        parser.error("held-back sets are tuned only with --held-back")
    return options


def main(words: list[str] | None = None) -> None:
    options = arguments(words)
    warnings.simplefilter("ignore")
    for name in chosen(options):
        began = time.perf_counter()
        try:
            entry = tuned(name, options.threads, options.sample)
        except OSError as error:
            print(f"{name} is skipped: {error}", flush=True)
            continue
        write({**parameters.stored(), family(name): entry})
        pairs = {key: (entry[key]["C"], entry[key]["gamma_multiple"]) for key in ("common", *LOSSES)}
        print(f"{family(name)}: {pairs}, {time.perf_counter() - began:.0f} s", flush=True)


def write(entries: dict[str, Any]) -> None:
    """Replace the file in one step: an interrupted run leaves it whole."""
    draft = parameters.PATH.with_suffix(".draft")
    draft.write_text(as_toml(entries))
    os.replace(draft, parameters.PATH)


if __name__ == "__main__":
    main()
