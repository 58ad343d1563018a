"""The three rays of the simplex from a point a: toward a vertex, away from one, and from one vertex to another.

A ray has a direction, a longest feasible step, and a move for each step along it. Every move has the form
``a <- scale * a + add * e_i - sub * e_j``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from . import _core

KINDS = tuple(_core.move_kinds())


@dataclass(frozen=True, slots=True)
class Move:
    """weights <- scale * weights + add * e_i - sub * e_j; ``drop`` makes weight j exactly zero."""

    kind: str
    scale: float = 1.0
    i: int = -1
    add: float = 0.0
    j: int = -1
    sub: float = 0.0
    drop: bool = False

    @property
    def empty(self) -> bool:
        """Whether nothing changes."""
        return self.add == 0.0 and self.sub == 0.0


@dataclass(frozen=True, slots=True)
class Correction:
    """Weights for the listed variables; those of all others are multiplied by ``scale``."""

    variables: np.ndarray
    weights: np.ndarray
    scale: float = 1.0
    growth: float = 1.0  # of the radius of the simplex; scale and weights already include it
    fused: bool = False  # update the gradient without the cache of columns
    afresh: bool = False  # the gradient is summed from the new weights alone, not in increments
    kind: str = "corrective"
    empty: bool = False
    products: np.ndarray | None = None  # K times the weights, if they are known for all variables
    exact: bool = False  # the products are sums over these weights alone, in double where there is weight
    rounding: float | None = None  # the products are sums of values in memory, which round that much more than others


@dataclass(frozen=True, slots=True)
class Toward:
    """d = e_i - a, steps up to 1."""

    i: int

    def direction(self, a: np.ndarray) -> np.ndarray:
        d = -a
        d[self.i] += 1.0
        return d

    def longest(self, a: np.ndarray) -> float:
        return 1.0

    def move(self, step: float, clipped: bool) -> Move:
        return Move("toward", scale=1.0 - step, i=self.i, add=step)


@dataclass(frozen=True, slots=True)
class Away:
    """d = a - e_j, steps up to a_j / (1 - a_j)."""

    j: int

    def direction(self, a: np.ndarray) -> np.ndarray:
        d = a.copy()
        d[self.j] -= 1.0
        return d

    def longest(self, a: np.ndarray) -> float:
        return a[self.j] / (1.0 - a[self.j]) if a[self.j] < 1.0 else inf

    # differs from [SWAP14]: nothing is added by an away step, and j is dropped at a_j / (1 - a_j), not at a_j
    def move(self, step: float, clipped: bool) -> Move:
        return Move("away", scale=1.0 + step, j=self.j, sub=step, drop=clipped)


@dataclass(frozen=True, slots=True)
class SwapRay:
    """d = e_i - e_j, steps up to a_j."""

    # [SWAP14] Alg. 4 searches [0, 1] and clips the step at a_j <= 1 afterwards.
    # differs from [SWAP14]: its superposition of toward and away step is off by a factor 2 in the step; only the
    # direction matters.
    i: int
    j: int

    def direction(self, a: np.ndarray) -> np.ndarray:
        d = np.zeros_like(a)
        d[self.i] += 1.0
        d[self.j] -= 1.0
        return d

    def longest(self, a: np.ndarray) -> float:
        return float(a[self.j])

    def move(self, step: float, clipped: bool) -> Move:
        kind = "swap-drop" if clipped else "swap-add"
        return Move(kind, i=self.i, add=step, j=self.j, sub=step, drop=clipped)


Ray = Toward | Away | SwapRay


@dataclass(frozen=True, slots=True)
class Search:
    """Result of a line search: feasible step, gain of the best step in [0, 1], and whether the bound ends the step."""

    ray: Ray
    step: float
    gain: float
    clipped: bool

    def move(self) -> Move:
        """The move that takes the step."""
        return self.ray.move(self.step, self.clipped)
