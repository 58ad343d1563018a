"""maximize g(a) = -a'Qa + c'a over the simplex, Q made of kernel values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..gram import Gram
from ..kernels import Precomputed


@dataclass(frozen=True, eq=False)
class Quadratic:
    """A quadratic with Q_uv = s_u s_v (k(x_u, x_v) + bias) + [u == v] ridge_u.

    Parameters
    ----------
    gram : Gram
        The kernel values.
    segments : sequence of (group, sign)
        The variables: one for each row of each segment's group, with that sign s. By default the first group with +1.
    ridge : float or array
        One number, or one per variable.
    linear : array, optional
        c, one number per variable.
    bias : float
        A constant added to every kernel value.
    """

    gram: Gram
    segments: Sequence[tuple[int, float]] = ((0, 1.0),)
    ridge: Any = 0.0
    linear: Any = None
    bias: float = 0.0

    @classmethod
    def of_matrix(cls, Q: Any, linear: Any = None) -> Quadratic:
        """The problem of a given symmetric matrix Q."""
        return cls(Gram(Precomputed(), np.asarray(Q, dtype=np.float64), cache_size=0), linear=linear)

    @cached_property
    def size(self) -> int:
        """Number of variables."""
        return sum(len(self.gram.groups[group]) for group, _ in self.segments)

    @cached_property
    def rows(self) -> np.ndarray:
        """The row of the data that each variable stands for."""
        return np.concatenate([self.gram.groups[group] for group, _ in self.segments])

    @cached_property
    def signs(self) -> np.ndarray:
        """The sign of each variable."""
        return np.concatenate([np.full(len(self.gram.groups[group]), sign) for group, sign in self.segments])

    def restricted(self, variables: np.ndarray, kernel_values: np.ndarray) -> Quadratic:
        """The problem on the face of these variables (ascending), whose kernel values are given."""
        ends = np.cumsum([len(self.gram.groups[group]) for group, _ in self.segments])
        cuts = np.searchsorted(variables, np.concatenate([[0], ends]))
        parts = [
            (sign, np.arange(a, b)) for (_, sign), a, b in zip(self.segments, cuts, cuts[1:], strict=False) if a < b
        ]
        gram = Gram(Precomputed(), kernel_values, groups=[rows for _, rows in parts], cache_size=0, checked=False)
        ridge = np.asarray(self.ridge)
        return Quadratic(
            gram,
            [(k, sign) for k, (sign, _) in enumerate(parts)],
            ridge=ridge[variables] if ridge.ndim else ridge,
            linear=None if self.linear is None else np.asarray(self.linear)[variables],
            bias=self.bias,
        )

    def in_double(self) -> Quadratic:
        """The same problem with kernel values in double."""
        return Quadratic(self.gram.in_double(), self.segments, self.ridge, self.linear, self.bias)

    def start_variables(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random variables on whose face a run starts: the same number from each segment, as far as they go."""
        sizes = np.array([len(self.gram.groups[group]) for group, _ in self.segments])
        offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        share = -(-count // len(sizes))
        picks = [o + rng.choice(n, size=min(n, share), replace=False) for o, n in zip(offsets, sizes, strict=True)]
        return np.sort(np.concatenate(picks))
