"""The state of a log determinant: line searches in closed form, moves as changes of low rank."""

from __future__ import annotations

from math import isnan

import numpy as np

from ..problems.log_determinant import EPSILON, LogDeterminant, Moments
from ..rays import Away, Move, Ray, Search, SwapRay, Toward
from ._base import Need
from .concave import ConcaveState

REFRESH = 64  # moves after which moments are computed from scratch: changes of low rank add up rounding


class LogDeterminantState(ConcaveState):
    """The state of log det M(a): its line searches are closed forms, and a move is a change of M of rank one or two."""

    problem: LogDeterminant
    moments: Moments
    _unrefreshed: int  # moves since all was computed from scratch

    @property
    def scale(self) -> float:  # type: ignore[override]
        """n: the zero of g is that of the units of the points, and gap / n is a ratio of leverages."""
        return float(self.problem.dimension)

    def search(self, ray: Ray) -> Search:
        match ray:
            case Toward(i):
                step, gain = self.moments.toward(i)
            case Away(j):
                step, gain = self.moments.away(j)
            case SwapRay(i, j):
                step, gain = map(float, self.moments.swap(i, j))
        longest = ray.longest(self.weights)
        if not step > 0 or not longest < np.inf:
            return Search(ray, 0.0, 0.0, False)
        return Search(ray, float(min(step, longest)), gain, bool(step >= longest))

    def second_order_away(self, i: int) -> int:
        """By the gain itself."""
        j = self.support
        j = j[self.gradient[j] < self.gradient[i]]
        return int(j[np.argmax(self.moments.swap(i, j)[1])]) if len(j) else self.away()

    def snapshot(self) -> dict[str, np.ndarray]:
        held = self.moments
        numbers = np.array([held.log_det, self._unrefreshed])
        return {
            **super().snapshot(),
            "inverse": held.inverse.copy(),
            "leverage": held.leverage.copy(),
            "numbers": numbers,
        }

    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        super().restore(snapshot)
        self.moments.inverse, self.moments.leverage = snapshot["inverse"].copy(), snapshot["leverage"].copy()
        self.moments.log_det, unrefreshed = snapshot["numbers"].tolist()
        self._unrefreshed = int(unrefreshed)
        self._read()

    def lacks(self, need: Need) -> str:
        return "" if need is Need.EVERY_ROW else "a log determinant is no enclosing ball"

    def _follow(self, move: Move) -> None:
        self._unrefreshed += 1
        if self._unrefreshed >= REFRESH or move.scale <= 0:
            self._evaluate()
        else:
            changes = [(move.i, move.add), (move.j, -move.sub)]
            self.moments.move(move.scale, [k for k, change in changes if change], [c for _, c in changes if c])
            self._evaluate() if isnan(self.moments.log_det) else self._read()

    def _evaluate(self) -> None:
        self._unrefreshed = 0
        try:
            self.moments = Moments(self.problem.rows, self.weights)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"the points of positive weight do not span all {self.problem.dimension} dimensions: "
                "start from weights of points that do"
            ) from None
        self._read()

    def _read(self) -> None:
        self.evaluations += 1
        self.value, self.gradient = self.moments.log_det + self.problem.offset, self.moments.leverage
        highest = float(self.gradient.max())
        self.gap = highest - float(self.weights @ self.gradient)
        self.gap_floor = 8 * EPSILON * highest
