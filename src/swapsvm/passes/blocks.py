"""Rows that are multiplied with each other block by block: each kernel value is computed once, and used twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations_with_replacement, pairwise

import numpy as np

from .._core import StopToken
from ..arrays import Matrix
from ..columns import is_sparse, stacked
from .verbs import Arithmetic, Stack, mutual_products, own_products

TwoBlocks = tuple[int, int]  # places of blocks in a list; the same twice: one block with itself


@dataclass(frozen=True, eq=False)
class Block:
    """Some of the rows that are multiplied with each other, and their coefficients."""

    rows: np.ndarray
    coef: np.ndarray


@dataclass(frozen=True)
class Meeting:
    """The products of two blocks with each other, or of one with itself; each kernel value is computed once."""

    how: Arithmetic
    exact: bool

    def of(
        self, blocks: Sequence[Matrix], coefs: Sequence[np.ndarray], token: StopToken | None = None
    ) -> tuple[np.ndarray, ...]:
        """The sums of one block, or of two."""
        return next(self.among(stacked(list(blocks)), coefs, [(0, len(blocks) - 1)], token))

    def among(
        self, rows: Matrix, coefs: Sequence[np.ndarray], pairs: Sequence[TwoBlocks], token: StopToken | None = None
    ) -> Iterator[tuple[np.ndarray, ...]]:
        """Those of some pairs of blocks that lie below each other."""
        stack, ends = Stack(None, rows, self.how, token), np.cumsum([0, *map(len, coefs)])
        spans = [stack.rows[first:last] for first, last in pairwise(ends)]
        for one, other in pairs:
            if one == other:
                yield (own_products(stack, spans[one], coefs[one], self.exact),)
            else:
                yield mutual_products(stack, (spans[one], spans[other]), (coefs[one], coefs[other]), self.exact)


class Below:
    """Rows of some blocks and, below them, those of others, which take turns."""

    def __init__(self, rows: Iterator[Matrix], blocks: Sequence[Block], more: int) -> None:
        first, ends = next(rows), np.cumsum([len(block.rows) for block in blocks])
        self._rows, self._sparse = ends[-1], stacked([first, *rows]) if is_sparse(first) else None
        if self._sparse is None:
            self._room = np.empty((self._rows + more, first.shape[1]), first.dtype)
            for end, some in zip(ends, chain([first], rows), strict=True):
                self._room[end - some.shape[0] : end] = some

    @property
    def held(self) -> Matrix:
        """Without others."""
        return self._room[: self._rows] if self._sparse is None else self._sparse

    def over(self, other: Matrix) -> Matrix:
        """With the rows of another block, in the place of those before."""
        if self._sparse is not None:
            return stacked([self._sparse, other])
        end = self._rows + other.shape[0]
        self._room[self._rows : end] = other
        return self._room[:end]


def pairs_of(count: int) -> list[TwoBlocks]:
    """Pairs of this many blocks, each with itself too."""
    return list(combinations_with_replacement(range(count), 2))
