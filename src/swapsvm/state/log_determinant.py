"""The state of a log determinant: line searches in closed form, moves as low-rank updates."""

from __future__ import annotations

from math import isnan
from operator import attrgetter

import numpy as np

from ..problems.log_determinant import EPSILON, LogDeterminant, Moments
from ..rays import Away, Move, Ray, Search, SwapRay, Toward
from ._base import Need
from .concave import ConcaveState

REFRESH = 64  # moves after which moments are recomputed: low-rank updates accumulate rounding


class LogDeterminantState(ConcaveState):
    """The state of log det M(a): line searches are closed forms, and a move is an update of M of rank one or two."""

    problem: LogDeterminant
    moments: Moments
    start_variables = property(attrgetter("problem.start_variables"))
    _unrefreshed: int  # moves since the moments were computed from scratch

    @property
    def scale(self) -> float:  # type: ignore[override]  # fixed
        """n: g changes by a constant with the units of the points, while gap / n is a ratio of leverages."""
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
        """The active vertex whose swap gains most, by the gain itself."""
        j = self.support
        j = j[self.gradient[j] < self.gradient[i]]
        return int(j[np.argmax(self.moments.swap(i, j)[1])]) if len(j) else self.away()

    def snapshot(self) -> dict[str, np.ndarray]:
        held, arrays = self.moments, super().snapshot()
        arrays |= {"inverse": held.inverse.copy(), "leverage": held.leverage.copy(), "log_det": np.array(held.log_det)}
        return {**arrays, "unrefreshed": np.array(self._unrefreshed)}

    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        super().restore(snapshot)
        self.moments.inverse, self.moments.leverage = snapshot["inverse"].copy(), snapshot["leverage"].copy()
        self.moments.log_det, self._unrefreshed = float(snapshot["log_det"]), int(snapshot["unrefreshed"])
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
