"""Kernel values of rows that lie elsewhere, as a compiled Gram asks for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._core import StopToken
from ..kernels import Laplacian, Linear, Rbf, Sum
from . import verbs
from .blocks import Meeting
from .sharded import ShardedRows, Work
from .verbs import Arithmetic, Stack

UNIT = float(np.finfo(np.float64).eps)
LEAST_SYMMETRIC, NEVER = 1 << 13, 1 << 62  # rows; fewer take less time than another pass
MAP = 8.0  # operations of exp and its like, as in the core


class KernelPasses:
    """Blocks, products and bounds between rows that lie elsewhere."""

    def __init__(self, X: ShardedRows, how: Arithmetic) -> None:
        self._X, self._how = X, how

    @property
    def work(self) -> float:
        """Operations per kernel value, roughly."""
        X = self._X
        return MAP + (2.0 * X.look.entries / (len(X) + 1) if X.is_sparse else X.shape[1])

    def diagonal(self) -> np.ndarray:
        """k(x, x) of every row."""
        if isinstance(self._how.kernel, Rbf | Laplacian):
            return np.ones(len(self._X))
        return np.concatenate([np.zeros(0), *self._X.each_row(Work(verbs.diagonals, self._how, None, ()))])

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Kernel values of rows and columns."""
        return self._block(rows, columns, self._how)

    def exact_block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The same in double."""
        return self._block(rows, columns, replace(self._how, single=False))

    def _block(self, rows: np.ndarray, columns: np.ndarray, how: Arithmetic) -> np.ndarray:
        if len(rows) < len(columns):
            return np.ascontiguousarray(self._block(columns, rows, how).T)
        out = np.empty((len(rows), len(columns)), np.float32 if how.single else np.float64)
        vectors = self._X[columns]
        if self._X.is_little(len(rows), len(columns)):
            return verbs.values(Stack(vectors, self._X[rows], how))
        for places, found in self._X.each(Work(verbs.values, how, vectors, ()), rows):
            out[places] = found
        return out

    def product(
        self, rows: np.ndarray, vectors: np.ndarray, coef: np.ndarray, exact: bool, token: StopToken | None
    ) -> np.ndarray:
        """sum_c coef_c k(x, z_c) for each of the rows."""
        little = self._X.is_little(len(rows), len(vectors))
        return self._sums(verbs.products, rows, vectors, (coef, exact), little, token)

    @property
    def least_symmetric(self) -> int:
        """Number of rows whose products with themselves are made by ``symmetric``.

        Products of a linear kernel are made through w, and need no kernel values.
        """
        return NEVER if isinstance(self._how.kernel, Linear | Sum) else LEAST_SYMMETRIC

    def symmetric(
        self, rows: np.ndarray, vectors: np.ndarray, coef: np.ndarray, exact: bool, token: StopToken | None
    ) -> np.ndarray:
        """The product of rows with themselves (``vectors`` are the same): each kernel value is computed once."""
        order = np.argsort(rows, kind="stable")
        blocks = self._X.blocks(rows[order], coef[order])
        sums = [np.zeros(len(block.rows)) for block in blocks]
        for pair, parts in self._X.meet(Meeting(self._how, exact), blocks, token):
            for place, part in zip(pair, parts, strict=False):
                sums[place] += part
        out = np.empty(len(rows))
        out[order] = np.concatenate(sums)
        return out

    def rounding(
        self, rows: np.ndarray, vectors: np.ndarray, coef: np.ndarray, exact: bool, token: StopToken | None
    ) -> np.ndarray:
        """Bounds on the rounding of a product, which adds up the sums over parts of the vectors."""
        little = self._X.is_little(len(rows), 1)  # they take the norms of the vectors, not kernel values
        found = self._sums(verbs.bounds, rows, vectors, (coef, exact), little, token)
        parts = len(list(self._X.affordable(vectors)))
        if parts == 1:
            return found
        largest = max(1.0, float(np.abs(self.diagonal()).max()))  # of |k|, as |k(x, z)|^2 <= k(x, x) k(z, z)
        return found * (1 + 2 * parts * UNIT) + 2 * parts * UNIT * largest * float(np.abs(coef).sum())

    def _sums(
        self,
        verb: verbs.SumsVerb,
        rows: np.ndarray,
        vectors: np.ndarray,
        terms: tuple[np.ndarray, bool],
        little: bool,
        token: StopToken | None,
    ) -> np.ndarray:
        (coef, exact), out = terms, np.zeros(len(rows))
        for some in self._X.affordable(vectors):
            own, shared = self._X[vectors[some]], (coef[some], exact)
            if little:
                out += verb(Stack(own, self._X[rows], self._how, token), *shared)
                continue
            for places, found in self._X.each(Work(verb, self._how, own, shared), rows, token=token):
                out[places] += found
        return out
