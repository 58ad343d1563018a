"""What reductions of all kinds of models share: the choice of vectors, the best coefficients, the certificate."""

from __future__ import annotations

import copy
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np

from ..estimators import SVC, SVR
from ..fitting.pursuit import Order
from ..gram import Gram
from ..problems import Coefficients
from ..stopping import relative
from .data import ROUNDING, check_semidefinite
from .losses import Loss
from .primal import Minimum, minimize

logger = logging.getLogger(__name__)
Machine = TypeVar("Machine", SVC, SVR)

KEPT = ("shape_fit_", "n_features_in_", "feature_names_in_")  # fitted attributes that a reduction leaves


@dataclass(frozen=True, eq=False)
class Problem:
    """One problem of a fit: its loss, the groups of rows that can be its vectors, and D of the given model."""

    loss: Loss
    groups: Sequence[np.ndarray]
    dual_value: float

    def best(self, gram: Gram, rows: np.ndarray, end: float) -> Minimum:
        """The best function over those of the rows that can be its vectors."""
        own = np.concatenate([np.intersect1d(group, rows) for group in self.groups])
        return minimize(gram, self.loss, own, end)

    def excess(self, value: float) -> float:
        """P / D - 1; of a problem that the function 0 solves at no cost, 0."""
        return value / self.dual_value - 1 if self.dual_value > 0 else relative(value, 0.0)


class Reduction(ABC, Generic[Machine]):
    """Reductions of one model to any number of vectors. The choice of vectors continues where it ended."""

    kept: ClassVar[tuple[str, ...]] = KEPT

    def __init__(self, model: Machine, gram: Gram, problems: Sequence[Problem], order: Order) -> None:
        self.model: Machine = model
        self.gram, self.problems, self.order = gram, problems, order
        self._end = time.perf_counter() + (np.inf if model.max_time is None else model.max_time)

    def to(self, count: int) -> Machine:
        """The model of at most this many vectors."""
        if count >= len(self.model.support_):
            return copy.copy(self.model)
        rows = self.order.first(count, self._end)
        found = [problem.best(self.gram, rows, self._end) for problem in self.problems]
        small = self._model_of(found)
        logger.info("%d of %d vectors, relative gap %.2g", len(rows), len(self.model.support_), small.relative_gap_)
        return small

    def _model_of(self, found: Sequence[Minimum]) -> Machine:
        kept = {name: copy.copy(value) for name, value in vars(self.model).items() if name in self.kept}
        small = type(self.model)(**self.model.get_params(deep=False))
        fitted = self.fitted([minimum.function for minimum in found])
        return small.set_fitted(model_=fitted, **kept, **self.certificate(found))

    @abstractmethod
    def fitted(self, functions: Sequence[Coefficients]) -> object:
        """The ``model_`` of these functions, one for each problem."""

    @abstractmethod
    def unit(self, dual_value: float) -> float:
        """What ``dual_gap_`` is for a relative gap of 1."""

    def certificate(self, found: Sequence[Minimum]) -> Mapping[str, object]:
        """P / D - 1: D bounds the best value of a problem from one side, P from the other."""
        excess = [problem.excess(minimum.value) for problem, minimum in zip(self.problems, found, strict=True)]
        check_semidefinite(min(excess) > -ROUNDING)
        gap = max(excess)
        reached = "gap" if gap <= self.model.tol else "reduced"
        reason = next((m.stop_reason for m in found if m.stop_reason != "gap"), reached)
        duals = [problem.dual_value for problem in self.problems]
        return {
            "relative_gap_": gap,
            "simplex_gap_": np.inf,  # its function is not a sum over a point of the simplex
            "primal_value_": np.array([minimum.value for minimum in found]),
            "dual_value_": np.array(duals),
            "dual_gap_": max(part * self.unit(dual) for part, dual in zip(excess, duals, strict=True)),
            "n_evaluations_": self.gram.evaluations,
            "n_iter_": np.array([minimum.steps for minimum in found], dtype=np.int64),
            "stop_reason_": reason,
            "fit_status_": 0 if reason == "gap" else 1,
        }
