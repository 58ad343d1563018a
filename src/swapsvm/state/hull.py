"""The state of a run on a hull: vertices are listed while they are active or among the best to enter.

A variable is a position in the list, which is rebuilt after each move. The oracle's best vertices are always on
it, so the verbs see the same toward vertex and the same gap as if every vertex were listed.
"""

from __future__ import annotations

import numpy as np

from ..gram import Gram
from ..kernels import Precomputed
from ..problems import Quadratic
from ..problems.hull import Hull
from ..rays import Ray, Search
from ._base import Need, State
from .concave import GradientState
from .kernel import KernelState

NEWCOMERS = 64  # vertices of lowest score that each pass over the points adds to the list


class HullState(GradientState):
    """Weights on the listed vertices of a hull. Lengths are in the hull's unit."""

    def __init__(self, hull: Hull, vertices: np.ndarray) -> None:
        self.problem = hull
        self.vertices = vertices
        self.vectors = hull.vectors(vertices)
        self.weights = np.zeros(len(vertices))
        self.evaluations = 0
        self._forget_progress()

    @property
    def size(self) -> int:  # type: ignore[override]  # changes with the list
        """Number of listed vertices."""
        return len(self.weights)

    @property
    def scale(self) -> float:  # type: ignore[override]  # follows from the value
        return abs(self.value)

    def second_order_away(self, i: int) -> int:
        """[SWAP14] Alg. 5: argmax of (grad_i - grad_j)^2 / |z_i - z_j|^2 over active j."""
        j = self.support
        rise = np.maximum(self.gradient[i] - self.gradient[j], 0.0)
        apart = ((self.vectors[j] - self.vectors[i]) ** 2).sum(axis=1)
        gains = np.divide(rise**2, apart, out=np.where(rise > 0, np.inf, 0.0), where=apart > 0)
        return int(j[np.argmax(gains)]) if gains.any() else self.away()

    def search(self, ray: Ray) -> Search:
        """g(a + t d) = g(a) + t grad'd - t^2 |sum_v d_v z_v|^2."""
        direction, longest = ray.direction(self.weights), ray.longest(self.weights)
        slope = float(self.gradient @ direction)
        if not slope > 0 or not longest < np.inf:
            return Search(ray, 0.0, 0.0, False)
        change = direction @ self.vectors
        curvature = 2.0 * float(change @ change)
        best = slope / curvature if curvature > 0 else np.inf
        compared = min(best, 1.0)
        return Search(ray, min(best, longest), compared * (slope - compared * curvature / 2), best >= longest)

    def snapshot(self) -> dict[str, np.ndarray]:
        return {**super().snapshot(), "vertices": self.vertices.copy()}

    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        self.vertices = snapshot["vertices"].copy()
        self.vectors = self.problem.vectors(self.vertices)
        super().restore(snapshot)

    def face(self, variables: np.ndarray) -> State:
        vectors = self.vectors[variables]
        gram = Gram(Precomputed(), vectors @ vectors.T, cache_size=0, checked=False)
        return self._placed(KernelState(Quadratic(gram, linear=self.problem.linear(vectors))), self.weights[variables])

    def lacks(self, need: Need) -> str:
        return "" if need is Need.EVERY_ROW else "the vertices of a hull are not listed"

    def _evaluate(self) -> None:
        self.evaluations += 1
        active = self.support
        self.point = self.weights[active] @ self.vectors[active]
        newcomers = np.setdiff1d(self.problem.lowest(self.point, NEWCOMERS), self.vertices[active])
        self.vertices = np.concatenate([self.vertices[active], newcomers])
        self.vectors = np.concatenate([self.vectors[active], self.problem.vectors(newcomers)])
        self.weights = np.concatenate([self.weights[active], np.zeros(len(newcomers))])
        linear = self.problem.linear(self.vectors)
        self.gradient = linear - 2.0 * (self.vectors @ self.point)
        self.value = float(self.weights @ linear - self.point @ self.point)
        self.gap = float(self.gradient.max() - self.weights @ self.gradient)
        self.gap_floor = 8 * np.finfo(np.float64).eps * max(float(np.abs(self.gradient).max()), abs(self.value))
