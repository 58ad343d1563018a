"""maximize g(a) = -|sum_v a_v z_v|^2 + sum_v a_v c_v over the simplex, z_v the vertices of a hull.

A Gram would hold a column of kernel values for every vertex visited. Here the point z = sum_v a_v z_v is a vector, so
one pass over the points finds the best of all scores z_v'z - c_v/2. Vertices are listed only when needed: a Minkowski
difference has one for each pair of points.

Lengths are in units of ``unit``, so that squares neither overflow nor underflow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

PIECE = 1 << 17  # numbers in one piece of the points: a megabyte, which fits into the cache


class Points:
    """Rows of a matrix, read in pieces as differences from the first row.

    No copy is made, and a large common offset loses no precision. float32 becomes float64 in the pieces.
    """

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows
        self.first = rows[0].astype(np.float64)
        self.count, self.dimension = rows.shape

    def pieces(self, origin: np.ndarray | None = None) -> Iterator[tuple[slice, np.ndarray]]:
        """Consecutive rows minus the origin, by default the first row; the array is reused for the next piece."""
        origin = self.first if origin is None else origin
        step = max(PIECE // self.dimension, 1)
        buffer = np.empty((min(step, self.count), self.dimension))
        for begin in range(0, self.count, step):
            part = slice(begin, min(begin + step, self.count))
            yield part, np.subtract(self.rows[part], origin, out=buffer[: part.stop - begin])

    def along(self, direction: np.ndarray) -> np.ndarray:
        """(x - x_0)'direction of every row x."""
        out = np.empty(self.count)
        for part, differences in self.pieces():
            np.dot(differences, direction, out=out[part])
        return out

    def mean(self, weights: np.ndarray) -> np.ndarray:
        """sum_i a_i x_i for weights of sum 1."""
        some = np.flatnonzero(weights)
        return self.first + weights[some] @ (self.rows[some] - self.first)

    def radius(self, origin: np.ndarray | None = None) -> float:
        """Largest |x - origin|."""
        largest = self.largest(origin)
        return largest * float(np.sqrt(self.squares(largest, origin).max())) if 0 < largest < np.inf else largest

    def largest(self, origin: np.ndarray | None = None) -> float:
        """Largest entry of |x - origin|."""
        with np.errstate(over="ignore"):
            return float(max(np.abs(differences).max() for _, differences in self.pieces(origin)))

    def squares(self, unit: float, origin: np.ndarray | None = None) -> np.ndarray:
        """|x - origin|^2 / unit^2 of every row x."""
        out = np.empty(self.count)
        for part, differences in self.pieces(origin):
            differences /= unit
            np.einsum("ij,ij->i", differences, differences, out=out[part])
        return out


class Hull(ABC):
    """The vertices, by number, and the oracle that finds the best of them."""

    unit: float  # of the order of the longest vertex

    @abstractmethod
    def lowest(self, z: np.ndarray, count: int) -> np.ndarray:
        """Vertices of the lowest scores z_v'z - c_v/2, the lowest first."""

    @abstractmethod
    def vectors(self, vertices: np.ndarray) -> np.ndarray:
        """z_v / unit."""

    def linear(self, vectors: np.ndarray) -> np.ndarray:
        """c_v / unit^2."""
        return np.zeros(len(vectors))


class PointHull(Hull):
    """The hull of the rows of a matrix: z_v = x_v, c = 0."""

    def __init__(self, X: np.ndarray) -> None:
        self.points = Points(X)
        self.unit = _positive(self.points.radius() + _length(self.points.first))

    def lowest(self, z: np.ndarray, count: int) -> np.ndarray:
        return _smallest(self.points.along(z), count)

    def vectors(self, vertices: np.ndarray) -> np.ndarray:
        return self.points.rows[vertices].astype(np.float64) / self.unit


class BallHull(Hull):
    """The hull of the enclosing ball: z_v = x_v - x_0, c_v = |z_v|^2, so that g is the mean of |z_v - z|^2.

    The ball encloses x_0, so |z_v| is at most twice its radius for any offset of the points.
    """

    def __init__(self, X: np.ndarray) -> None:
        self.points = Points(X)
        self.unit = _positive(self.points.largest())
        self.half_squares = self.points.squares(self.unit) / 2

    def lowest(self, z: np.ndarray, count: int) -> np.ndarray:
        scores = self.points.along(z / self.unit)
        return _smallest(np.subtract(scores, self.half_squares, out=scores), count)

    def vectors(self, vertices: np.ndarray) -> np.ndarray:
        return (self.points.rows[vertices] - self.points.first) / self.unit

    def linear(self, vectors: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ij->i", vectors, vectors)


class DifferenceHull(Hull):
    """The Minkowski difference of two hulls: z_ij = p_i - q_j. The oracle looks at p and q one after the other."""

    def __init__(self, P: np.ndarray, Q: np.ndarray) -> None:
        self.p, self.q = Points(P), Points(Q)
        self.unit = _positive(self.p.radius() + self.q.radius() + _length(self.p.first - self.q.first))

    def lowest(self, z: np.ndarray, count: int) -> np.ndarray:
        p, q = _smallest(self.p.along(z), count), _smallest(self.q.along(-z), count)
        rank = np.arange(max(len(p), len(q)))
        return p[rank % len(p)] * self.q.count + q[rank % len(q)]

    def pairs(self, vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """i and j of vertices z_ij."""
        return np.divmod(vertices, self.q.count)

    def vectors(self, vertices: np.ndarray) -> np.ndarray:
        i, j = self.pairs(vertices)
        return (self.p.rows[i].astype(np.float64) - self.q.rows[j]) / self.unit


def _length(x: np.ndarray) -> float:
    largest = float(np.abs(x).max())
    return largest * float(np.linalg.norm(x / largest)) if 0 < largest < np.inf else largest


def _positive(size: float) -> float:
    if not size < 1e300:
        raise ValueError(f"the points are about {size:.3g} apart, beyond what double precision squares: scale them")
    return size if size > 0 else 1.0


def _smallest(scores: np.ndarray, count: int) -> np.ndarray:
    """Indices of the smallest scores, ascending; ties go to the lowest index."""
    if count >= len(scores):
        return np.argsort(scores, kind="stable")
    if count == 1:
        return np.argmin(scores, keepdims=True)
    found = np.sort(np.argpartition(scores, count)[:count])
    return found[np.argsort(scores[found], kind="stable")]
