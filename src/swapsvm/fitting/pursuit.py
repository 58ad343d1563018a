"""Chooses support vectors one after the other: each explains the decision functions best.

Orthogonal matching pursuit in the kernel's space. The functions w_o = sum_j coef_jo phi(x_j) are given; when F has been
chosen, r_o is what is left of w_o orthogonal to the span of F, and the next vector is the one whose own part orthogonal
to F takes most of it away,

    argmax_j  sum_o r_o(x_j)^2 / d_j,    d_j = squared distance of phi(x_j) from the span of F.

Both follow from one row of a pivoted Cholesky factor for each choice: n kernel values and n |F| products.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from ..gram import Gram

DEPENDENT = 1e-10  # part of k(x, x) that is left of a vector below which the chosen ones span it
EXPLAINED = 1e-15  # part of the squared length of the functions that is rounding
BLOCK_VALUES = 1 << 22  # kernel values held at a time


class Pursuit:
    """The vectors of one group: rows of the data, and functions that are sums over them.

    The functions are a table (rows, outputs) of coefficients. If not all of the rows are ``candidates``, those are.
    """

    def __init__(
        self, gram: Gram, rows: np.ndarray, coefficients: np.ndarray, candidates: np.ndarray | None = None
    ) -> None:
        self._gram, self.rows = gram, rows if candidates is None else candidates
        self._left = products(gram, self.rows, rows, coefficients)  # r_o(x_j)
        self._diagonal = gram.diagonal()[self.rows]
        self._distance = self._diagonal.copy()
        self._factor = np.empty((0, len(self.rows)))
        self.chosen: list[int] = []
        self._least = EXPLAINED * float((coefficients * self._left).sum()) if candidates is None else 0.0
        self._look()
        self._least = self._least or EXPLAINED * self.gain  # of the first one, if only some of the rows are known

    def _look(self) -> None:
        free = self._distance > DEPENDENT * self._diagonal
        gains = np.zeros(len(self.rows))
        gains[free] = (self._left[free] ** 2).sum(axis=1) / self._distance[free]
        self._next = int(np.argmax(gains))
        self.gain = float(gains[self._next])
        if not self.gain > self._least:
            self.gain = 0.0

    def choose(self) -> int:
        """Take the next vector and give its row."""
        best, done = self._next, len(self.chosen)
        if done == len(self._factor):  # room for twice as many
            self._factor = np.concatenate([self._factor, np.empty((max(done, 16), len(self.rows)))])
        root = np.sqrt(self._distance[best])
        before = self._factor[:done]
        line = (self._gram.block(self.rows, self.rows[[best]])[:, 0] - before[:, best] @ before) / root
        self._factor[done] = line
        self._left -= np.outer(line, self._left[best] / root)
        self._distance = self._distance - line**2
        self._distance[best] = 0.0
        self.chosen.append(best)
        self._look()
        return int(self.rows[best])


class Order:
    """Rows of several groups in the order of their gains. The first of them do not depend on how many are asked for.

    ``fair`` begins with the best row of each group.
    """

    def __init__(self, groups: Sequence[Pursuit], fair: bool = False) -> None:
        self._groups = groups
        firsts = [group.choose() if group.gain else int(group.rows[0]) for group in groups] if fair else []
        self._rows = np.array(firsts, np.int64)

    def first(self, count: int, end: float = np.inf) -> np.ndarray:
        """This many rows, or fewer if they explain everything or the time ``end`` has come, but at least one."""
        found = self._rows.tolist()
        while len(found) < count and not (found and time.perf_counter() > end):
            best = max(self._groups, key=lambda group: group.gain)
            if best.gain == 0.0:
                found = found or [int(best.rows[0])]
                break
            found.append(best.choose())
        self._rows = np.array(found, np.int64)
        return self._rows[:count]


def products(gram: Gram, rows: np.ndarray, columns: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Kernel values of rows against columns times coefficients: in one pass, or, of a table, a few rows at a time."""
    if coefficients.size == len(columns) > 0:
        left, right = (np.ascontiguousarray(index, np.int32) for index in (rows, columns))
        sums = np.asarray(gram.core.own_product(left, right, np.ravel(coefficients), True))
        return sums.reshape(-1, *coefficients.shape[1:])
    step = max(BLOCK_VALUES // max(len(columns), 1), 1)
    parts = [gram.block(rows[first : first + step], columns) @ coefficients for first in range(0, len(rows), step)]
    return np.concatenate(parts) if parts else np.zeros((0, *coefficients.shape[1:]))
