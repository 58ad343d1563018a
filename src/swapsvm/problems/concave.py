"""maximize g(a) over the simplex, g any concave function given by its value and its gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..parameters import check_integer


@dataclass(frozen=True)
class Concave:
    """A user's own concave g.

    Parameters
    ----------
    value : callable
        ``value(a) -> float``.
    gradient : callable
        ``gradient(a) -> array of size m``.
    size : int
        Number of variables m.
    hessian : callable, optional
        ``hessian(a, i, j) -> array``: the second derivatives at the pairs (i[k], j[k]) of two index arrays of equal
        length. SWAP-2o chooses its away vertex with them; without them it chooses as SWAP does.
    """

    kind: ClassVar[str] = "concave"
    samples: ClassVar[bool] = False
    value: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    size: int
    hessian: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None = None

    def __post_init__(self) -> None:
        check_integer("size", self.size, lambda size: size >= 1, "a positive integer: the number of variables")

    def restricted(self, variables: np.ndarray) -> Concave:
        """The same g on the face of the listed variables."""

        def lift(b: np.ndarray) -> np.ndarray:
            a = np.zeros(self.size)
            a[variables] = b
            return a

        hessian = self.hessian
        return Concave(
            value=lambda b: self.value(lift(b)),
            gradient=lambda b: np.asarray(self.gradient(lift(b)))[variables],
            size=len(variables),
            hessian=hessian and (lambda b, i, j: hessian(lift(b), variables[i], variables[j])),
        )
