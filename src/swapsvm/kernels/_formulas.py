"""What every kernel is, and the kernels that are formulas of two rows."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf, isfinite
from typing import ClassVar

import numpy as np

from .. import _core
from ..arrays import Matrix, MatrixLike
from ..columns import is_sparse, stacked, without_empty_columns
from ..parameters import check_integer, check_number
from ..rows import as_rows

GAMMA_RULES = ("scale", "auto", "mean_sq_dist", "cvm")


@dataclass(frozen=True)
class Kernel:
    """A symmetric function of two rows.

    ``kernel(X, Z)`` is the matrix of its values for the rows of X and those of Z.
    """

    name: ClassVar[str]
    gamma_over_mean: ClassVar[float] = 0.5  # gamma="mean_sq_dist" is this over the mean squared distance

    @classmethod
    def parameter_names(cls) -> list[str]:
        return [field.name for field in fields(cls)]

    @property
    def positive(self) -> bool:
        """Whether every Gram matrix is positive semidefinite."""
        return True

    def __call__(self, X: MatrixLike, Z: MatrixLike | None = None) -> np.ndarray:
        """k(x, z) of every row x of X and z of Z, by default those of X too; in double."""
        left, right = (rows if is_sparse(rows) else np.asarray(rows) for rows in (X, X if Z is None else Z))
        return self.values(left, right)

    def values(self, X: Matrix, Z: Matrix) -> np.ndarray:
        """The same of matrices."""
        (both,) = without_empty_columns(stacked([X, Z]))
        every = np.arange(both.shape[0], dtype=np.int32)
        gram = _core.Gram64.from_rows(as_rows(both), self.spec(), [every], 0, 0)
        return np.asarray(gram.block(every[: X.shape[0]], every[X.shape[0] :]))

    def spec(self) -> _core.KernelSpec:
        """The compiled form of a kernel on features."""
        parameters = {name: getattr(self, name) for name in self.parameter_names()}
        return _core.KernelSpec(getattr(_core.KernelKind, self.name), **parameters)


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = x'z."""

    name = "linear"


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The data are the Gram matrix itself."""

    name = "precomputed"


@dataclass(frozen=True)
class Scaled(Kernel):
    """A kernel of a product or a distance times gamma."""

    gamma: float | str = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.gamma, str) or self.gamma not in GAMMA_RULES:
            allowed = f"a positive finite number or one of {list(GAMMA_RULES)}"
            check_number("gamma", self.gamma, lambda number: 0 < number < inf, allowed)

    def spec(self) -> _core.KernelSpec:
        if isinstance(self.gamma, str):
            raise ValueError(f"gamma={self.gamma!r} is a rule that needs data: use a number, or fit an estimator")
        return super().spec()


@dataclass(frozen=True)
class Rbf(Scaled):
    """k(x, z) = exp(-gamma |x - z|^2); [SWAP14] writes gamma = 1 / (2 sigma^2)."""

    name = "rbf"


@dataclass(frozen=True)
class Laplacian(Scaled):
    """k(x, z) = exp(-gamma |x - z|_1)."""

    name = "laplacian"


@dataclass(frozen=True)
class Poly(Scaled):
    """k(x, z) = (gamma x'z + coef0)^degree; ``degree=2, coef0=0`` is the homogeneous kernel of [SWAP14]."""

    coef0: float = 0.0
    degree: int = 3

    name = "poly"
    gamma_over_mean = 1.0  # [SWAP14], "Experiments with Non-Normalized Kernels"

    def __post_init__(self) -> None:
        super().__post_init__()
        allowed = "finite and not negative: the kernel is not positive otherwise"
        check_number("coef0", self.coef0, lambda number: 0 <= number < inf, allowed)
        check_integer("degree", self.degree, lambda number: 1 <= number < 2**31, "an integer from 1 to 2**31 - 1")
        object.__setattr__(self, "degree", int(self.degree))


@dataclass(frozen=True)
class Sigmoid(Scaled):
    """k(x, z) = tanh(gamma x'z + coef0). Not positive semidefinite in general: the gap then bounds nothing."""

    coef0: float = 0.0

    name = "sigmoid"

    @property
    def positive(self) -> bool:
        return False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("coef0", self.coef0, isfinite, "a finite number")
