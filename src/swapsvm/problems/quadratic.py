"""maximize g(a) = -a'Qa + c'a over the simplex, Q made of kernel values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from ..arrays import ArrayLike
from ..gram import Gram
from ..kernels import Function, Precomputed
from .program import Program


@dataclass(frozen=True, eq=False)
class Quadratic:
    """A quadratic with Q_uv = s_u s_v (k(x_u, x_v) + bias) + [u == v] ridge_u.

    Parameters
    ----------
    gram : Gram
        The kernel values.
    segments : sequence of (group, sign)
        The variables: one for each row of each segment's group, with that sign s. By default the first group with +1.
        Segments may share a group, and then its kernel values. Sign 0 is one variable, the slack vertex: zero row and
        column of Q.
    ridge : float or array
        One number, or one per variable.
    linear : array, optional
        c, one number per variable.
    bias : float
        A constant added to every kernel value.
    radius : float, optional
        The simplex stands for b = radius * a >= 0: weights sum to the radius, and value and gap are those of
        c'b - b'Qb / 2, c being ``radius * linear / 2``.
    grows : bool
        b >= 0 is all that is asked. ``radius`` is then a bound on the sum of b; a state works with as much of it as it
        needs (it takes a slack vertex), and the gap is that of the problem without it, for which every ridge is
        positive but that of the slack.
    """

    kind: ClassVar[str] = "quadratic"
    samples: ClassVar[bool] = True  # whether a state can draw samples of its gradient
    gram: Gram
    segments: Sequence[tuple[int, float]] = ((0, 1.0),)
    ridge: float | np.ndarray = 0.0
    linear: np.ndarray | None = None
    bias: float = 0.0
    radius: float | None = None
    grows: bool = False

    @classmethod
    def of_matrix(cls, Q: ArrayLike, linear: np.ndarray | None = None) -> Quadratic:
        """The problem of a given symmetric matrix Q."""
        return cls(Gram(Precomputed(), np.asarray(Q, dtype=np.float64), cache_size=0), linear=linear)

    @cached_property
    def size(self) -> int:
        """Number of variables."""
        return sum(len(rows) for rows in self._segment_rows())

    @property
    def largest_value(self) -> float:
        """A bound on the maximum that costs nothing: a'Qa >= a'Da >= 1 / sum(1 / ridge) for every a of the simplex.

        Infinite unless the kernel is known to be positive semidefinite and nothing else is in g.
        """
        ridge, kernel = np.asarray(self.ridge, dtype=np.float64), self.gram.kernel
        plain = self.linear is None and self.radius is None and self.bias >= 0 and all(s != 0 for _, s in self.segments)
        known = kernel.positive and not isinstance(kernel, Precomputed | Function)
        if not (plain and known and (ridge > 0).all()):
            return np.inf
        with np.errstate(over="ignore"):  # of a ridge close to 0: the bound is then 0, which holds
            total = self.size / ridge if ridge.ndim == 0 else np.sum(1 / ridge)
        return -float(1 / total) * (1 - 1e-9)  # rounding is far below that

    @cached_property
    def rows(self) -> np.ndarray:
        """The row of the data that each variable stands for."""
        return np.concatenate(self._segment_rows())

    @cached_property
    def signs(self) -> np.ndarray:
        """The sign of each variable."""
        sizes = [len(rows) for rows in self._segment_rows()]
        return np.repeat([sign for _, sign in self.segments], sizes)

    def _segment_rows(self) -> list[np.ndarray]:
        rows = [(self.gram.groups[group], sign) for group, sign in self.segments]
        return [group if sign else group[:1] for group, sign in rows]

    def restricted(self, variables: np.ndarray, kernel_values: np.ndarray) -> Quadratic:
        """The problem on the face of these variables (ascending), whose kernel values are given."""
        ends = np.cumsum([len(rows) for rows in self._segment_rows()])
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
            radius=self.radius,
            grows=self.grows,
        )

    def linear_term(self) -> np.ndarray:
        """c, also if it is 0."""
        return np.zeros(self.size) if self.linear is None else np.asarray(self.linear, np.float64)

    def program(self, kernel_values: np.ndarray) -> Program:
        """The problem as a dense program, in b itself if b >= 0 is the only constraint, else in a."""
        ridge = np.broadcast_to(np.asarray(self.ridge, np.float64), self.size)
        with np.errstate(invalid="ignore"):  # the run reports values out of range
            Q = (kernel_values + self.bias) * self.signs * self.signs[:, None] + np.diag(ridge)
        p = self.linear_term() / 2
        slack = int(np.flatnonzero(self.signs == 0)[0]) if (self.signs == 0).any() else -1
        return Program(Q, p * (self.radius or 1.0) if self.grows else p, ridge, slack, self.grows)

    def in_double(self) -> Quadratic:
        """The same problem with kernel values in double."""
        return replace(self, gram=self.gram.in_double())

    def start_variables(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random variables on whose face a run starts: the same number from each segment, as far as they go."""
        sizes = np.array([len(rows) for rows in self._segment_rows()])
        offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        share = -(-count // len(sizes))
        picks = [o + rng.choice(n, size=min(n, share), replace=False) for o, n in zip(offsets, sizes, strict=True)]
        return np.sort(np.concatenate(picks))

    def start_weights(self, variables: np.ndarray) -> np.ndarray:
        """Weights of a run that does not solve the problem on its first variables."""
        return np.ones(len(variables))

    def sample_order(self, rng: np.random.Generator) -> np.ndarray:
        """All variables so that the first ones, however many, are a sample of the data."""
        return rng.permutation(self.size)
