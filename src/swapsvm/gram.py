"""Kernel values of one data set behind a cache with a budget of bytes.

A cached line holds plain values of one row against one group of rows (a class), without labels, bias or ridge. One
Gram therefore serves every class pair, every C and every later fit on the same rows.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from . import _core
from .arrays import ArrayLike, Matrix
from .columns import is_sparse, without_empty_columns
from .kernels import Function, Kernel, Precomputed, Sum, resolved
from .passes import Arithmetic, KernelPasses, ShardedRows, is_sharded
from .rows import Rows, as_rows

CoreGram: TypeAlias = _core.Gram32 | _core.Gram64
Dots: TypeAlias = _core.Dots32 | _core.Dots64

LARGEST_AUTOMATIC_CACHE = 1 << 30
LARGEST_WHOLE = 4096  # rows of a problem that is solved with all its kernel values in memory, if they fit
LEAST_SET, LEAST_SET_OF_PASSES = 512.0, 1280.0  # variables of a working set, for which there is always room
MOST_BYTES = 1 << 62  # the largest budget that the core accepts


def automatic_cache_bytes(rows: int, itemsize: int, count: int = 1) -> int:
    """Bytes for all values, but at most 1 GiB and a quarter of the memory divided among ``count`` Grams."""
    return min(rows * (rows * itemsize + 256), largest_automatic_cache(count))


def largest_automatic_cache(count: int = 1) -> int:
    """1 GiB, or a quarter of the memory divided among ``count`` Grams if that is less."""
    try:  # all memory, not what is free: results must not depend on the load of the machine
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        memory = 4 * LARGEST_AUTOMATIC_CACHE
    return int(min(memory // 4 // count, LARGEST_AUTOMATIC_CACHE))


class Gram:
    """Kernel and rows, with a cache.

    Parameters
    ----------
    kernel : Kernel
        With ``Precomputed``, X is the Gram matrix. A rule for gamma is applied to X.
    X : array, CSR matrix or ShardedRows of float32 or float64
        Kept by reference.
    groups : sequence of index arrays, optional
        A partition of (some of) the rows; a cached line covers one group. By default one group of all rows.
    cache_size : float, optional
        In megabytes. By default room for all values, but at most a quarter of the memory and 1 GiB.
    n_threads : int, optional
        By default OMP_NUM_THREADS, or all processors available to the process.
    dtype : numpy dtype, optional
        Of the kernel values; by default that of X. Certificates are computed in double in any case.
    checked : bool
        Whether to check that a precomputed matrix is symmetric.
    dots : Dots32 or Dots64, optional
        The dot products of the rows in this type, from which kernel values are then made.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Matrix | ShardedRows,
        *,
        groups: Sequence[ArrayLike] | None = None,
        cache_size: float | None = None,
        n_threads: int | None = None,
        dtype: DTypeLike | None = None,
        checked: bool = True,
        dots: Dots | None = None,
    ) -> None:
        self.kernel = resolved(kernel, X)
        self.X = X
        self.groups = [np.ascontiguousarray(g, np.int32) for g in (groups or [np.arange(X.shape[0])])]
        self.single = np.dtype(X.dtype if dtype is None else dtype) == np.float32
        self.dtype = np.dtype(np.float32 if self.single else np.float64)
        self._checked, self._cache_size, self._n_threads, self._dots = checked, cache_size, n_threads, dots
        if cache_size is not None and not 0 <= cache_size < float("inf"):
            raise ValueError(f"cache_size={cache_size!r} must be a number of megabytes, 0 or more")
        budget = self._automatic_bytes() if cache_size is None else cache_size * 2**20
        self.core = self._open(int(min(budget, MOST_BYTES)), n_threads or 0)
        self.refinable = self.single and not isinstance(kernel, Precomputed)  # double would be more exact

    def _automatic_bytes(self) -> int:
        found = automatic_cache_bytes(self.X.shape[0], self.dtype.itemsize)
        return min(found, self.X.room // 2) if is_sharded(self.X) else found

    def _open(self, budget: int, threads: int) -> CoreGram:
        cls = _core.Gram32 if self.single else _core.Gram64
        if isinstance(self.kernel, Precomputed):
            matrix = _checked_matrix(self.X, self.dtype) if self._checked else np.ascontiguousarray(self.X, self.dtype)
            return cls.from_matrix(matrix, self.groups, budget, threads)
        if isinstance(self.kernel, Function):
            kernel, X, dtype = self.kernel, self.X, self.dtype  # not self: the reference cycle would never be freed
            rest = _function_diagonal(kernel, X), self.groups, budget, threads
            return cls.from_function(lambda i, j: kernel.block(X[i], X[j], dtype), *rest)
        if is_sharded(self.X):
            return self._open_passes(self.X, budget, threads)
        if isinstance(self.kernel, Sum):
            return cls.from_terms(self.kernel.compiled(self.X), self.groups, budget, threads)
        if self._dots is not None:
            return cls.from_dots(self._dots, self._rows(), self.kernel.spec(), self.groups, budget, threads)  # type: ignore[arg-type]  # of one type
        return cls.from_rows(self._rows(), self.kernel.spec(), self.groups, budget, threads)

    def _open_passes(self, X: ShardedRows, budget: int, threads: int) -> CoreGram:
        cls = _core.Gram32 if self.single else _core.Gram64
        passes = KernelPasses(X, self.arithmetic)
        verbs = passes.block, passes.exact_block, passes.product, passes.rounding, passes.symmetric
        return cls.from_passes(
            *verbs, passes.least_symmetric, passes.diagonal(), passes.work, self.groups, budget, threads
        )

    @property
    def arithmetic(self) -> Arithmetic:
        """How passes over rows elsewhere compute kernel values."""
        beyond = self.X.look.norms if is_sharded(self.X) else (0.0, 0.0, 0)
        return Arithmetic(self.kernel, self.single, self._n_threads or 0, beyond)

    def _rows(self) -> Rows:
        return as_rows(*without_empty_columns(self.X))

    def takes_dots(self, dtype: np.dtype) -> bool:
        """Whether dot products of this type fit into the budget and give kernel values of enough digits."""
        if isinstance(self.kernel, Precomputed | Function | Sum) or is_sharded(self.X):
            return False
        fits = self._bytes_beside(dtype) >= 0
        return fits and self._dots_of(dtype).suffice(self._rows(), self.kernel.spec())

    def _bytes_beside(self, dtype: np.dtype) -> float:
        """What dot products of this type would leave of the largest budget."""
        most = largest_automatic_cache() if self._cache_size is None else self._cache_size * 2**20
        return most - dtype.itemsize * self.size * (self.size + 1) // 2  # a triangle

    def with_dots(self, dtype: np.dtype, token: _core.StopToken | None = None) -> Gram:
        """The same Gram with the dot products of all rows in memory, which are a part of its budget.

        Kernel values have the type of the dot products.
        """
        dots = self._dots_of(dtype).of(self._rows(), self._by_group(), self._n_threads or 0, token)
        megabytes = max(self._bytes_beside(dtype), 0.0) / 2**20
        return self._again(megabytes, self._n_threads, dtype, checked=False, dots=dots)

    def _by_group(self) -> np.ndarray:
        """All rows, group by group, then those that are in no group."""
        grouped = np.concatenate(self.groups)
        return np.concatenate([grouped, np.setdiff1d(np.arange(self.size, dtype=np.int32), grouped)])

    @staticmethod
    def _dots_of(dtype: np.dtype) -> type[_core.Dots32] | type[_core.Dots64]:
        return _core.Dots32 if dtype == np.float32 else _core.Dots64

    def in_double(self) -> Gram:
        """The same Gram with kernel values computed in double; its cache starts empty."""
        return self._again(self._cache_size, self._n_threads, np.float64, checked=True)

    def share(self, count: int) -> Gram:
        """A Gram over the same rows for one of ``count`` threads, with its part of the budget."""
        return self._again(self.core.cache_budget / count / 2**20, 1, self.dtype, checked=False, dots=self._dots)

    def _again(
        self, megabytes: float | None, threads: int | None, dtype: DTypeLike, checked: bool, dots: Dots | None = None
    ) -> Gram:
        kernel, X, groups = self.kernel, self.X, self.groups
        return Gram(
            kernel, X, groups=groups, cache_size=megabytes, n_threads=threads, dtype=dtype, checked=checked, dots=dots
        )

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.core.size)

    @property
    def largest_face(self) -> float:
        """Largest number of variables whose kernel matrix fits into the cache; half of it may be reserved for lines."""
        budget = self.core.cache_budget / (2 if self.core.memory_pays else 1)
        least = LEAST_SET_OF_PASSES if is_sharded(self.X) else LEAST_SET
        return max(least, math.sqrt(budget / self.dtype.itemsize))

    @property
    def largest_whole(self) -> int:
        """Largest number of rows of a problem that is solved with all its kernel values in memory."""
        if is_sharded(self.X):
            return 0
        spared = isinstance(self.kernel, Function) or self.core.linear_columns > 0  # values are dear, or not needed
        room = 0.0 if spared else math.sqrt(self.core.cache_budget / self.dtype.itemsize)
        return int(min(LARGEST_WHOLE, max(512.0, room)))

    @property
    def memory_pays(self) -> bool:
        """Whether the block engine keeps lines: reading a value is cheaper than computing it again, and there is room.

        A cost model decides: it pays from about a hundred features on, and for every function.
        """
        return bool(self.core.memory_pays)

    def expect(self, rows: np.ndarray) -> None:
        """Bring rows that lie elsewhere and will be needed soon, in one request."""
        if is_sharded(self.X):
            self.X.expect(rows)

    def diagonal(self) -> np.ndarray:
        """k(x, x) of every row, in double."""
        return np.asarray(self.core.diagonal())

    def block(self, rows: ArrayLike, columns: ArrayLike) -> np.ndarray:
        """Kernel values of these rows against these columns, not cached."""
        i, j = np.ascontiguousarray(rows, np.int32), np.ascontiguousarray(columns, np.int32)
        return np.asarray(self.core.block(i, j))

    @property
    def evaluations(self) -> int:
        """Kernel values computed so far."""
        return int(self.core.evaluations)

    @property
    def cache_counts(self) -> dict[str, int]:
        """Hits, misses and evictions of lines, bytes in use and budget."""
        names = ("hits", "misses", "evictions", "bytes", "budget")
        return {name: getattr(self.core, f"cache_{name}") for name in names}


def _checked_matrix(K: Matrix, dtype: np.dtype) -> np.ndarray:
    shape = getattr(K, "shape", None)
    if is_sparse(K) or shape is None or len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"a precomputed kernel is a dense square matrix of values; got shape {shape}")
    values = np.ascontiguousarray(K, dtype=dtype)
    scale = np.abs(values).max(initial=0.0)
    for first in range(0, len(values), 1024):
        part = slice(first, first + 1024)
        if not np.allclose(values[part], values[:, part].T, rtol=1e-4, atol=1e-6 * scale):
            raise ValueError(
                "a precomputed kernel matrix must be symmetric; if rounding is the cause, use (K + K.T) / 2"
            )
    return values


def _function_diagonal(kernel: Function, X: Matrix) -> np.ndarray:
    block = 32  # few calls, and few values off the diagonal
    parts = [X[first : first + block] for first in range(0, X.shape[0], block)]
    return np.concatenate([np.diagonal(kernel.block(part, part, np.float64)) for part in parts])
