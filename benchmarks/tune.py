"""Choose C and gamma for each data set: ``python -m benchmarks.tune``; writes parameters.toml.

One grid for all: C from 1/4 to 256 by factors of 4, gamma from 1/4 to 16 times scikit-learn's "scale". Both losses have
the same weight: the chosen pair has the best mean of the accuracies, in 3-fold cross-validation on a stratified
sample of the rows, of a hinge SVC (scikit-learn-intelex, or scikit-learn) and of our squared-hinge SVC. Ties go to the
smaller C, then to the smaller gamma.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from .datasets import PARAMETERS, REAL, gamma_scale, load, tuned_parameters
from .solvers import COMPETITORS

COSTS = tuple(4.0**k for k in range(-1, 5))
MULTIPLES = (0.25, 1.0, 4.0, 16.0)
FOLDS = 3
SAMPLE = 4000
LEAST = 2 * FOLDS  # rows of a class
LOSSES = {"hinge": "intelex", "squared_hinge": "block"}


@dataclass(frozen=True)
class Choice:
    """A point of the grid and the number of rows that each loss predicts correctly."""

    C: float
    multiple: float
    right: dict[str, int]

    @property
    def rank(self) -> tuple[float, float, float]:
        return -sum(self.right.values()), self.C, self.multiple


def sample(y: np.ndarray, size: int) -> np.ndarray:
    """Rows of each class in proportion, with a minimum for each class."""
    rng = np.random.default_rng(0)
    chosen = []
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        chosen.append(rows[: max(LEAST, round(size * len(rows) / len(y)))])
    return np.sort(np.concatenate(chosen))


def right_of(solver: str, X: Any, y: np.ndarray, C: float, gamma: float, threads: int) -> int:
    """The number of rows that cross-validation predicts correctly."""
    right = 0
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
        competitor = COMPETITORS[solver](C, gamma, threads)
        competitor.renew()
        competitor.fit(X[train], y[train])
        right += int(np.sum(competitor.predict(X[test]) == y[test]))
    return right


def choices_of(X: Any, y: np.ndarray, scale: float, threads: int) -> list[Choice]:
    choices = []
    for C, multiple in product(COSTS, MULTIPLES):
        solvers = {loss: available(name) for loss, name in LOSSES.items()}
        right = {loss: right_of(name, X, y, C, multiple * scale, threads) for loss, name in solvers.items()}
        choices.append(Choice(C, multiple, right))
    return choices


def available(name: str) -> str:
    return name if COMPETITORS[name].is_installed() else "scikit-learn"


def tuned(name: str, threads: int) -> dict[str, Any]:
    """The entry of parameters.toml."""
    split = load(name)
    scale = gamma_scale(split.X)
    rows = sample(split.y, SAMPLE)
    choices = choices_of(split.X[rows], split.y[rows], scale, threads)
    best = min(choices, key=lambda choice: choice.rank)
    entry: dict[str, Any] = {"C": best.C, "gamma": best.multiple * scale, "gamma_multiple": best.multiple}
    entry |= {f"accuracy_{loss}": round(right / len(rows), 5) for loss, right in best.right.items()}
    return {**entry, "sample": len(rows), **{f"grid_{loss}": grid_of(choices, loss, len(rows)) for loss in LOSSES}}


def grid_of(choices: list[Choice], loss: str, rows: int) -> list[list[float]]:
    """Accuracies: one row for each C, one column for each gamma."""
    return [[round(c.right[loss] / rows, 5) for c in choices if c.C == C] for C in COSTS]


def as_toml(parameters: dict[str, dict[str, Any]]) -> str:
    head = "# Written by `python -m benchmarks.tune`. Grids: a line for each C, a column for each gamma."
    axes = f"# C = {list(COSTS)}; gamma = {list(MULTIPLES)} x scale"
    parts = [f"[{name}]\n" + "".join(f"{k} = {v!r}\n" for k, v in entry.items()) for name, entry in parameters.items()]
    return "\n".join([f"{head}\n{axes}\n", *parts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(REAL), choices=REAL)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    parameters = dict(tuned_parameters()) if PARAMETERS.exists() else {}
    for name in options.data:
        parameters[name] = tuned(name, options.threads)
        print(name, {k: v for k, v in parameters[name].items() if not k.startswith("grid")}, flush=True)
        PARAMETERS.write_text(as_toml({name: parameters[name] for name in REAL if name in parameters}))


if __name__ == "__main__":
    main()
