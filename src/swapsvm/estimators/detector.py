"""What the detectors of outliers share: the slack, the fit of one problem, the level of the scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar, Self

import numpy as np
from sklearn.base import OutlierMixin

from ..arrays import ArrayLike, MatrixLike
from ..fitting.elsewhere import by_pieces
from ..fitting.growing import Batches
from ..fitting.inputs import fitted_kernel, merged, new_batch, new_rows, sample_weights, training_rows, unless_ones
from ..fitting.results import Results
from ..fitting.session import Session
from ..fitting.subproblems import Detection, Solution
from ..gram import Gram
from ..models import Expansion
from ..passes import is_sharded
from ..problems import Ball, OneClass
from ..state import Products
from .base import KernelMachine, appending
from .constraints import NOT_NEGATIVE, at_most, one_of
from .declaration import ModelAttribute, estimator, parameter
from .scikit import INSTEAD

ROUNDING = 64  # times the precision of the rows, in units of k(x, x): a point on the boundary counts as inside
SLACK, CONTAMINATION = [NOT_NEGATIVE], [one_of("auto"), at_most(0.5)]
LEAST_LENGTH = 1e-250  # of a mean k(x, x) other than 0: 1 / C is a hundredth of its part per row


@estimator
class Detector(OutlierMixin, KernelMachine):
    """Weights a_i of the training rows on the simplex, a score made of sum_i a_i k(x_i, x), and an offset."""

    slack: float = parameter(default=0.01, kind="float", text="Mean slack of the training rows.", allowed=SLACK)
    contamination: float | str = parameter(
        default="auto", kind='"auto" or float in (0, 0.5]', text="Where the boundary is.", allowed=CONTAMINATION
    )
    tol: float = parameter(
        default=1e-3,
        kind="float",
        text="""
        Duality gap at which to stop, relative to the dual value: primal minus dual for ``solver="block"``, the gap of
        the simplex for the others.
        """,
        allowed=[NOT_NEGATIVE],
    )

    INSTEAD: ClassVar[Mapping[str, str]] = {
        **INSTEAD,
        "nu": "use contamination for the share of rows outside, as contamination=0.1 for nu=0.1, and slack for how "
        "smooth the boundary is",
    }

    dual_coef_ = ModelAttribute[np.ndarray](lambda model: model.coef[None, :])
    n_support_ = ModelAttribute[np.ndarray](lambda model: np.array([len(model.vectors)], dtype=np.int32))

    _problem: ClassVar[type[OneClass] | type[Ball]]

    def _fit(
        self, session: Session, X: MatrixLike | Batches, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> None:
        X = training_rows(self, X)
        weights = sample_weights(sample_weight, X)
        if not weights.any():
            raise ValueError("sample_weight is zero for every row: at least one must be positive")
        kernel = fitted_kernel(self, X, weights)
        weights = merged(self, X, np.zeros(X.shape[0]), weights)
        rows = np.flatnonzero(weights)
        gram = session.open_gram(kernel, X, [rows], self.value_type(kernel, X))
        length = self._mean_length(gram, weights)
        total = float(self.slack * length * weights.sum())
        self.C_ = 1.0 / total if total > 0 else float("inf")
        only = Detection((), len(rows), self.C_, unless_ones(weights), self._problem, length)
        results = self._solve(session, gram, [only], self._attributes)
        self.set_fitted(**self._attributes(only, gram, results[0]))
        self._set_certificate([only], Results.of([replace(result, known_products=None) for result in results]))

    @appending
    def partial_fit(self, X: MatrixLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Append a batch of rows to those of earlier calls, and continue from the last solution.

        The model is that of one ``fit`` of all rows, within its certificate. The estimator keeps the rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The new rows.
        y : ignored
            As in scikit-learn.
        sample_weight : array of shape (n_samples,), optional
            Their weights.

        Returns
        -------
        self
        """
        return self._grow(new_batch(self, X, None, sample_weight, self._earlier is None))

    def _attributes(self, sub: Detection, gram: Gram, at: Solution) -> Mapping[str, object]:
        """The model and the boundary of a solution."""
        model, level = self._solution(sub, gram, at)
        rounding = float(ROUNDING * np.finfo(gram.X.dtype).eps * sub.length)
        if self.contamination != "auto":
            weights = np.ones(gram.size) if sub.weights is None else sub.weights
            scores = self._training_scores(model, gram, at.known_products, weights, rounding)
            level = weighted_quantile(scores, weights[gram.groups[0]], float(self.contamination))
        offset = float(level - rounding)
        return {"model_": replace(model, intercept=-offset), "offset_": offset}

    def _training_scores(
        self, model: Expansion, gram: Gram, known: Products | None, weights: np.ndarray, rounding: float
    ) -> np.ndarray:
        """The scores of the rows with weight.

        A pass over all of them can take longer than the fit. Where the solution knows its products, only scores that
        may be the level are computed; the others are as good as needed to be on its right side.
        """
        rows = gram.groups[0]
        if is_sharded(gram.X):
            return gram.X.map(partial(model.scores, threads=self._threads()))[rows]
        if known is None:
            return model.scores(gram.X[rows], self._threads())
        scores = model.scores_of(gram.X[rows], known.values)
        level = weighted_quantile(scores, weights[rows], float(self.contamination))
        near = np.abs(scores - level) <= 2 * (2 * known.rounding + rounding)  # a ball doubles products
        scores[near] = model.scores(gram.X[rows[near]], self._threads())
        return scores

    @abstractmethod
    def _solution(self, sub: Detection, gram: Gram, at: Solution) -> tuple[Expansion, float]:
        """The model, and the score of the boundary by the solution itself."""

    def _mean_length(self, gram: Gram, weights: np.ndarray) -> float:
        """The mean of k(x, x), the unit of the slack."""
        mean = float(np.average(gram.diagonal(), weights=weights))
        if mean < 0:
            raise ValueError(
                f"the mean of k(x, x) is {mean:.3g}: the kernel is not positive semidefinite on these rows"
            )
        if mean and not LEAST_LENGTH < mean < 1 / LEAST_LENGTH:
            raise ValueError(f"the mean of k(x, x) is {mean:.3g}, outside the supported range: scale the data")
        return mean or 1.0

    @by_pieces
    def score_samples(self, X: MatrixLike) -> np.ndarray:
        """How typical each row is: higher scores are more typical.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        rows = new_rows(self, X)
        return self.model_.scores(rows, self._threads())

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """``score_samples(X) - offset_``: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: MatrixLike) -> np.ndarray:
        """1 for rows inside the boundary or on it, -1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1)


def weighted_quantile(scores: np.ndarray, weights: np.ndarray, part: float) -> float:
    """The lowest score such that all below it have at most this part of the weight."""
    order = np.argsort(scores, kind="stable")
    below = np.cumsum(weights[order])
    first = np.searchsorted(below, part * below[-1] * (1 + 1e-12), side="right")  # 0.29 * 100 is a little less than 29
    return float(scores[order[min(first, len(order) - 1)]])
