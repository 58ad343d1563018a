"""What a pass does with a piece of the rows: pure functions, which can be sent to another machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cython_blas

from .. import _core
from .._core import StopToken
from ..arrays import Matrix
from ..columns import stacked, without_empty_columns
from ..kernels import Kernel, Sum
from ..rows import as_rows


@dataclass(frozen=True)
class Arithmetic:
    """A kernel, the precision of its values, and the number of threads that compute them (0: all processors).

    ``beyond`` are the largest norms of all rows, which decide how distances are computed: in the same way in each
    piece, so that the bounds on rounding hold and results do not depend on the cut.
    """

    kernel: Kernel
    single: bool
    threads: int = 0
    beyond: tuple[float, float, int] = (0.0, 0.0, 0)  # |x|^2, |x|_1, entries


class Stack:
    """Vectors and, below them, a piece of the rows: one matrix, between whose parts kernel values are computed."""

    def __init__(self, vectors: Matrix | None, rows: Matrix, how: Arithmetic, token: StopToken | None = None) -> None:
        matrix = rows if vectors is None else stacked([vectors, rows])
        count, self.token = matrix.shape[0] - rows.shape[0], token
        every = np.arange(matrix.shape[0], dtype=np.int32)
        self.vectors, self.rows = every[:count], every[count:]
        gram = _core.Gram32 if how.single else _core.Gram64
        if isinstance(how.kernel, Sum):
            self.gram = gram.from_terms(how.kernel.compiled(matrix), [every], 0, how.threads)
        else:
            rows = as_rows(*without_empty_columns(matrix), finite=True)
            self.gram = gram.from_rows(rows, how.kernel.spec(), [every], 0, how.threads, how.beyond)

    def features(self, factor: np.ndarray, bias: float) -> _core.Features:
        """Those of the rows, with the vectors as landmarks and L of their kernel values."""
        solve = cython_blas.__pyx_capi__["strsm"]
        return _core.features(self.gram, self.rows, self.vectors, factor, bias, solve, self.token)

    def columns(self, bias: float) -> _core.KernelColumns32 | _core.KernelColumns64:
        """The kernel values of the rows with the vectors as a matrix to multiply with."""
        return _core.kernel_columns(self.gram, self.rows, self.vectors, bias, self.token)


@dataclass(frozen=True, eq=False)
class KeptColumns:
    """Kernel values that were computed before, in the place of a stack: products with them have the same bits."""

    numbers: np.ndarray
    count: int
    threads: int

    def columns(self, bias: float) -> _core.GivenColumns:
        """The matrix to multiply with, which has the bias."""
        return _core.GivenColumns(self.numbers, self.count, self.threads)


ColumnsVerb = Callable[..., np.ndarray]
SumsVerb = Callable[[Stack, np.ndarray, bool], np.ndarray]


def products(stack: Stack, coef: np.ndarray, exact: bool) -> np.ndarray:
    """sum_c coef_c k(x, z_c) for each row x."""
    return np.asarray(stack.gram.own_product(stack.rows, stack.vectors, coef, exact, stack.token))


def own_products(stack: Stack, rows: np.ndarray, coef: np.ndarray, exact: bool) -> np.ndarray:
    """The same of some rows with themselves."""
    return np.asarray(stack.gram.own_product(rows, rows, coef, exact, stack.token))


def mutual_products(
    stack: Stack, rows: tuple[np.ndarray, np.ndarray], coefs: tuple[np.ndarray, np.ndarray], exact: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Of some rows with others, and of these with the first."""
    return stack.gram.mutual_product(*rows, *coefs, exact, stack.token)


def bounds(stack: Stack, coef: np.ndarray, exact: bool) -> np.ndarray:
    """What rounding does to these sums at most."""
    return np.asarray(stack.gram.own_rounding(stack.rows, stack.vectors, coef, exact))


def values(stack: Stack) -> np.ndarray:
    """k(x, z) for each row x and each vector z."""
    return np.asarray(stack.gram.block(stack.rows, stack.vectors))


def diagonals(stack: Stack) -> np.ndarray:
    """k(x, x) of each row."""
    return np.asarray(stack.gram.diagonal())[stack.rows]


def residuals(stack: Stack, factor: np.ndarray, bias: float, together: int) -> np.ndarray:
    """What landmarks leave out of k(x, x), for this many rows at a time."""
    rows, found = stack.rows, []
    for first in range(0, len(rows), together):
        stack.rows = rows[first : first + together]
        found.append(np.asarray(stack.features(factor, bias).residual))
    return np.concatenate(found)


def column_numbers(stack: Stack, bias: float) -> np.ndarray:
    """A itself, the kernel values of the rows and the vectors, for ``KeptColumns``."""
    return np.asarray(stack.columns(bias).numbers())


def column_products(stack: Stack | KeptColumns, v: np.ndarray, bias: float) -> np.ndarray:
    """A v, with A the kernel values of the rows and the vectors."""
    return np.asarray(stack.columns(bias).product(v))


def column_sums(stack: Stack | KeptColumns, bias: float, w: np.ndarray) -> np.ndarray:
    """A'w."""
    return np.asarray(stack.columns(bias).transposed(w))


def quadratic_sums(stack: Stack | KeptColumns, v: np.ndarray, bias: float, w: np.ndarray) -> np.ndarray:
    """A' diag(w) A v."""
    return np.asarray(stack.columns(bias).quadratic(w, v))
