"""The models of a search, scored on the rows held out.

All models along C of one fold are over nearly the same support vectors. Where the score is the accuracy, they are
evaluated together: kernel values with the rows held out are computed once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..estimators import SVC, SVR
from ..models import Name
from .layout import Path
from .paths import Paths, Points
from .scores import Fit
from .targets import HeldOut

MOST_COEFFICIENTS = 1 << 22  # of models that are evaluated together
MOST_LINES = 144  # of their coefficients: with more, decision values leave the cache, which takes longer than it saves

Scorer = Callable[..., float]  # of scikit-learn: model, rows, targets, sample_weight
Solved = Mapping[Name, Points]  # the solutions that models along C consist of


@dataclass(frozen=True, eq=False)
class Scoring:
    """How a search scores. ``weights`` are those of all rows, if they count; ``model`` makes an unfitted estimator."""

    paths: Paths
    y: np.ndarray
    weights: np.ndarray | None
    model: Callable[..., SVC | SVR]
    scorer: Scorer
    by_accuracy: bool

    def fits(self, kernel: int, path: Path, solved: Solved) -> Iterator[list[Fit]]:
        """The fits along C, in the order of the path, as far as all problems have come; some of them at a time."""
        count = min(map(len, solved.values()))
        step = self._at_a_time if self.by_accuracy else 1
        for first in range(0, count, step):
            began = time.perf_counter()
            part = {name: points.part(slice(first, min(first + step, count))) for name, points in solved.items()}
            scores = self._scores(kernel, path, part, first)
            yield _fits_of(scores, part, (time.perf_counter() - began) / len(scores))

    @property
    def _at_a_time(self) -> int:
        """Coefficients of a model are one line for each class."""
        lines = len(self.paths.targets.rows)
        return max(min(MOST_LINES // lines, MOST_COEFFICIENTS // (lines * self.paths.X.shape[0])), 1)

    def _scores(self, kernel: int, path: Path, solved: Solved, first: int) -> list[float]:
        paths, targets, test = self.paths, self.paths.targets, self.paths.folds[path.fold].test
        held_out = HeldOut(test, None if self.weights is None else self.weights[test])
        training = paths.X, paths.kernels[kernel], paths.groups(path.fold)
        families = {name: points.functions for name, points in solved.items()}
        scores = targets.accuracies(*training, families, held_out) if self.by_accuracy else None
        if scores is not None:
            return scores
        found = []
        for number in range(min(map(len, families.values()))):
            functions = {name: family.at(number) for name, family in families.items()}
            settings = {"C": paths.Cs[paths.order[first + number]], **targets.variants[path.variant]}
            found.append(self._score(settings, targets.fitted(*training, functions), held_out))
        return found

    def _score(self, settings: Mapping[str, object], fitted: Mapping[str, object], held_out: HeldOut) -> float:
        """Of an estimator with these settings and fitted attributes."""
        X, rows = self.paths.X, held_out.rows
        model = self.model(n_jobs=1, **settings)
        model.set_fitted(n_features_in_=X.shape[1], **fitted)
        options = {} if held_out.weights is None else {"sample_weight": held_out.weights}
        return float(self.scorer(model, X[rows], self.y[rows], **options))


def _fits_of(scores: list[float], solved: Solved, score_seconds: float) -> list[Fit]:
    """One for each score; of all problems the seconds count together, and the worst gap."""
    found = list(solved.values())
    seconds = np.sum([points.seconds for points in found], axis=0)
    gaps = np.max([points.relative_gaps for points in found], axis=0)
    reasons = [_first_other_than_gap(own) for own in zip(*(points.stop_reasons for points in found), strict=True)]
    whole = zip(scores, seconds, gaps, reasons, strict=True)
    return [Fit(score, float(took), score_seconds, float(gap), reason) for score, took, gap, reason in whole]


def _first_other_than_gap(reasons: Sequence[str]) -> str:
    return next((reason for reason in reasons if reason != "gap"), "gap")
