"""What the detectors of outliers share: the slack, the fit of one problem, the level of the scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import _check_sample_weight

from ..gram import Gram
from ..parameters import check_number
from ..problems import Ball, OneClass
from ..solve import Result
from ..state import Sampling, State
from .machine import KernelMachine
from .prediction import kernel_sums
from .subproblems import Subproblem

ROUNDING = 64  # times the precision of the rows, in units of k(x, x): a point on the boundary counts as inside
LEAST_LENGTH = 1e-250  # of a mean k(x, x) other than 0: 1 / C is a hundredth of its part per row


class Detector(OutlierMixin, KernelMachine):
    """Weights a_i of the training rows on the simplex, a score made of sum_i a_i k(x_i, x), and an offset."""

    _problem: ClassVar[type[OneClass] | type[Ball]]

    def __init__(
        self,
        *,
        slack: float = 0.01,
        contamination: float | str = "auto",
        kernel: str | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        solver: str = "block",
        tol: float = 1e-3,
        eps: float = 0.0,
        max_iter: int = -1,
        max_time: float | None = None,
        start_size: int = 20,
        sampling: int | Sampling | None = None,
        cache_size: float | None = None,
        warm_start: bool = False,
        checkpoint: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        on_interrupt: str = "raise",
        callbacks: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            kernel=kernel,
            degree=degree,
            gamma=gamma,
            coef0=coef0,
            solver=solver,
            tol=tol,
            eps=eps,
            max_iter=max_iter,
            max_time=max_time,
            start_size=start_size,
            sampling=sampling,
            cache_size=cache_size,
            warm_start=warm_start,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
            on_interrupt=on_interrupt,
            callbacks=callbacks,
            verbose=verbose,
        )
        self.slack = slack
        self.contamination = contamination

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            float32 stays float32 (and is about twice as fast); everything else becomes float64. Its values are not
            copied if they need not be converted: do not write into them during the fit.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            A row of weight w counts as w rows, exactly; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        return self._fit_or_forget(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._check_parameters()
        X = self._checked_rows(X, reset=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("sample_weight is zero for every row: at least one must be positive")
        kernel = self._make_kernel(X, weights)
        weights = self._merged(X, np.zeros(X.shape[0]), weights)
        rows = np.flatnonzero(weights)
        gram = self._open_gram(kernel, X, [rows])
        only = self._subproblem(gram, rows, weights)
        results = self._solve(gram, [only])
        self._read(only.on(gram), results[0], weights)
        self._set_certificate([only], results)
        return self

    def _subproblem(self, gram: Gram, rows: np.ndarray, weights: np.ndarray) -> Subproblem:
        total = float(self.slack * self._mean_length(gram, weights) * weights.sum())
        self.C_ = C = 1.0 / total if total > 0 else float("inf")
        counted = weights if (weights != 1).any() else None
        return Subproblem(
            labels=(),
            rows=len(rows),
            on=lambda gram: self._problem.of(gram, C, counted),
            fitted=lambda model, problem, state: model._read(problem, state, weights),
        )

    def _read(self, problem: OneClass | Ball, found: Result | State, weights: np.ndarray) -> None:
        """The model of a run that has ended, or of one that a callback looks at."""
        gram = problem.gram
        model = problem.model(found.weights, found.value, found.gap)
        self._set_vectors(gram.X, gram.kernel, model.rows)
        self.n_support_ = np.array([len(model.rows)], dtype=np.int32)
        self.dual_coef_ = model.coef[None, :]
        level = self._level(gram, model)
        if self.contamination != "auto":
            rows = gram.groups[0]
            level = weighted_quantile(self._scores(gram.X)[rows], weights[rows], float(self.contamination))
        rounding = ROUNDING * np.finfo(gram.X.dtype).eps * self._mean_length(gram, weights)
        self._set_offset(float(level - rounding))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("slack", self.slack, lambda slack: 0 <= slack < float("inf"), "a finite number, 0 or more")
        if not isinstance(self.contamination, str) or self.contamination != "auto":
            allowed = "'auto' or a number in (0, 0.5]"
            check_number("contamination", self.contamination, lambda part: 0 < part <= 0.5, allowed)

    def _mean_length(self, gram: Gram, weights: np.ndarray) -> float:
        """The mean of k(x, x), the unit of the slack."""
        mean = float(np.average(gram.diagonal(), weights=weights))
        if mean < 0:
            raise ValueError(
                f"the mean of k(x, x) is {mean:.3g}: the kernel is not positive semidefinite on these rows"
            )
        if mean and not LEAST_LENGTH < mean < 1 / LEAST_LENGTH:
            raise ValueError(f"the mean of k(x, x) is {mean:.3g}, out of the range of what is computed: scale the data")
        return mean or 1.0

    @abstractmethod
    def _level(self, gram: Gram, model: Any) -> float:
        """The score of the boundary, by the solution itself."""

    @abstractmethod
    def _scores(self, X: Any) -> np.ndarray:
        """Scores of rows that are checked."""

    def _set_offset(self, offset: float) -> None:
        self.offset_ = offset

    def score_samples(self, X: Any) -> np.ndarray:
        """How typical each row is: the larger, the more so.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._scores(self._checked_rows(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """``score_samples(X) - offset_``: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """1 for rows inside of the boundary or on it, -1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def _sums(self, X: Any) -> np.ndarray:
        """sum_i a_i k(x_i, x)."""
        return kernel_sums(self, X)[:, 0].astype(np.float64)

    def _center(self) -> np.ndarray:
        """sum_i a_i x_i."""
        return np.asarray(self.support_vectors_.T @ self.dual_coef_[0])


def weighted_quantile(scores: np.ndarray, weights: np.ndarray, part: float) -> float:
    """The lowest score such that all below it have at most this part of the weight."""
    order = np.argsort(scores, kind="stable")
    below = np.cumsum(weights[order])
    first = np.searchsorted(below, part * below[-1] * (1 + 1e-12), side="right")  # 0.29 * 100 is a little less than 29
    return float(scores[order[min(first, len(order) - 1)]])
