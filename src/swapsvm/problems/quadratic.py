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

EPSILON = float(np.finfo(np.float64).eps)
ROUNDING = 4 * EPSILON


@dataclass(frozen=True)
class Candidate:
    """A feasible x, its gap and value, and whether its signs are those of a solution up to rounding."""

    x: np.ndarray
    gap: float
    value: float
    solved: bool = False


@dataclass(frozen=True)
class Program:
    """min x'Qx / 2 - p'x over x >= 0. The sum of x is 1, with a slack vertex at most 1, or, if it ``grows``, any."""

    Q: np.ndarray
    p: np.ndarray
    ridge: np.ndarray
    slack: int = -1
    grows: bool = False

    def candidate(self, x: np.ndarray) -> Candidate:
        """The feasible point next to x: negative weights are rounding, or a failure."""
        x = np.maximum(x, 0.0)
        if not self.grows:
            x /= x.sum()
        score = self.Q @ x - self.p
        return Candidate(x, self._gap(x, score), float(self.p @ x - x @ score))

    def _gap(self, x: np.ndarray, score: np.ndarray) -> float:
        if not self.grows:
            return float(2 * (x @ score - score.min()))
        own = np.arange(len(x)) != self.slack  # which has no ridge
        x, score, ridge = x[own], score[own], self.ridge[own]
        excess = np.where(score < ridge * x, score**2 / ridge, x * (2 * score - ridge * x))  # as in core/move.hpp
        return float(excess.sum())

    @cached_property
    def _lengths(self) -> np.ndarray:
        return np.sqrt(np.maximum(np.diagonal(self.Q), 0.0))

    def size(self, x: np.ndarray) -> np.ndarray:
        """A bound of |Q||x| + |p|, what scores are sums of: |Q_ij| <= sqrt(Q_ii Q_jj)."""
        return self._lengths * (self._lengths @ np.abs(x)) + np.abs(self.p)

    def rounding(self, x: np.ndarray) -> float:
        """Of the value."""
        return ROUNDING * float(x @ self.size(x))


@dataclass(frozen=True)
class Coefficients:
    """The function sum_r coef_r k(x_r, x) + intercept; r runs over the listed rows of the data."""

    rows: np.ndarray
    coef: np.ndarray
    intercept: float

    def alone(self) -> Family:
        """A family of this function only."""
        return Family(self.rows, self.coef[None, :], np.array([self.intercept]))


@dataclass(frozen=True, eq=False)
class Family:
    """Several such functions over the same rows, such as the solutions of a problem along C."""

    rows: np.ndarray
    coef: np.ndarray  # (functions, rows)
    intercept: np.ndarray

    @classmethod
    def of(cls, functions: Sequence[Coefficients]) -> Family:
        """These functions over all rows that any of them uses."""
        rows = np.unique(np.concatenate([function.rows for function in functions]))
        coef = np.zeros((len(functions), len(rows)))
        for own, function in zip(coef, functions, strict=True):
            own[rows.searchsorted(function.rows)] = function.coef
        return cls(rows, coef, np.array([function.intercept for function in functions]))

    def __len__(self) -> int:
        return len(self.coef)

    def at(self, number: int) -> Coefficients:
        """One of the functions, over the rows that it uses."""
        (used,) = self.coef[number].nonzero()
        return Coefficients(self.rows[used], self.coef[number, used], float(self.intercept[number]))

    def part(self, some: slice) -> Family:
        """Some of the functions, over the same rows."""
        return Family(self.rows, self.coef[some], self.intercept[some])


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
        b >= 0 is the only constraint. ``radius`` is then a bound on the sum of b. A state uses as much of it as it
        needs, which requires a slack vertex. The gap is that of the problem without a radius; all ridges except that
        of the slack must be positive.
    """

    kind: ClassVar[str] = "quadratic"
    samples: ClassVar[bool] = True  # whether a state can draw samples of its gradient
    scales: ClassVar[bool] = False  # whether it is the dual of an SVM, whose primal has no offset (core/primal.hpp)
    reads_products: ClassVar[bool] = False  # whether its model depends on K a of all rows
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
        return sum(self._sizes)

    @property
    def largest_value(self) -> float:
        """A cheap bound on the maximum: a'Qa >= a'Da >= 1 / sum(1 / ridge) for every a of the simplex.

        Infinite unless the kernel is known to be positive semidefinite and g has no other terms.
        """
        ridge = np.asarray(self.ridge, dtype=np.float64)
        plain = self.linear is None and self.radius is None and self.bias >= 0 and all(s != 0 for _, s in self.segments)
        if not (plain and self.definite and (ridge > 0).all()):
            return np.inf
        with np.errstate(over="ignore"):  # of a ridge close to 0: the bound is then 0, which holds
            total = self.size / ridge if ridge.ndim == 0 else np.sum(1 / ridge)
        return -float(1 / total) * (1 - 1e-9)  # far more than rounding

    @property
    def definite(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        return self.gram.kernel.positive and not isinstance(self.gram.kernel, Precomputed | Function)

    @cached_property
    def smooth(self) -> bool:
        """Whether it is max target'b - b'Qb / 2 over b >= 0 up to a scale, with a ridge, so that surrogates suit it."""
        ridge = np.broadcast_to(np.asarray(self.ridge, np.float64), self.size)[self.signs != 0]
        linear = self.linear_term()
        free = self.grows or (self.radius is None and bool((linear == linear[0]).all()))
        return free and self.definite and self.bias >= 0 and bool((ridge > 0).all())

    @cached_property
    def rows(self) -> np.ndarray:
        """The row of the data that each variable stands for."""
        return np.concatenate(self._segment_rows())

    @cached_property
    def signs(self) -> np.ndarray:
        """The sign of each variable."""
        signs = [sign for _, sign in self.segments]
        return np.array(signs, np.float64).repeat(self._sizes)

    @cached_property
    def _sizes(self) -> list[int]:
        return [len(rows) for rows in self._segment_rows()]

    def _segment_rows(self) -> list[np.ndarray]:
        rows = [(self.gram.groups[group], sign) for group, sign in self.segments]
        return [group if sign else group[:1] for group, sign in rows]

    def restricted(self, variables: np.ndarray, kernel_values: np.ndarray) -> Quadratic:
        """The problem on the face of these variables (ascending), whose kernel values are given."""
        cuts = np.searchsorted(variables, np.cumsum([0, *self._sizes]))
        ranges = zip(self.segments, cuts, cuts[1:], strict=False)
        parts = [(sign, np.arange(a, b)) for (_, sign), a, b in ranges if a < b]
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

    def bounds(self, value: float, gap: float, rounding: float) -> tuple[float, float]:
        """Primal value, from above, and dual value, from below, where a certified ``gap`` is primal minus dual.

        ``rounding`` is how far the value can be off.
        """
        return value + gap, value - rounding

    def primal_gap_of(self, below: float, scale: float) -> float:
        """Primal minus dual that follows from a bound on max g - g at a point of this scale."""
        return below

    def in_double(self) -> Quadratic:
        """The same problem with kernel values in double."""
        return replace(self, gram=self.gram.in_double())

    def without_opposites(self, weights: np.ndarray) -> np.ndarray:
        """These weights less what two variables of one row, of opposite signs, share; no product changes."""
        return weights

    def start_variables(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random variables on whose face a run starts: the same number from each segment, if it has as many."""
        offsets, share = np.cumsum([0, *self._sizes]), -(-count // len(self._sizes))
        segments = zip(offsets, self._sizes, strict=False)
        picks = [offset + rng.choice(n, size=min(n, share), replace=False) for offset, n in segments]
        return np.sort(np.concatenate(picks))

    def start_weights(self, variables: np.ndarray) -> np.ndarray:
        """Weights of a run that does not solve the problem on its first variables."""
        return np.ones(len(variables))

    def start_from(self, weights: np.ndarray) -> np.ndarray:
        """Weights to start with, from those of the same problem with another ridge and radius."""
        return weights

    def sample_order(self, rng: np.random.Generator) -> np.ndarray:
        """All variables in an order whose beginnings, however long, are samples of the data."""
        return rng.permutation(self.size)
