"""What every kernel is."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from .. import _core
from ..parameters import check_number


@dataclass(frozen=True)
class Kernel:
    """A symmetric function of two rows."""

    name: ClassVar[str]
    positive: ClassVar[bool] = True  # every Gram matrix is positive semidefinite
    gamma_over_mean: ClassVar[float] = 0.5  # gamma="mean_sq_dist" is this over the mean squared distance

    @classmethod
    def parameter_names(cls) -> list[str]:
        return [field.name for field in fields(cls)]

    def spec(self) -> _core.KernelSpec:
        """The compiled form of a kernel on features."""
        parameters = {name: getattr(self, name) for name in self.parameter_names()}
        return _core.KernelSpec(getattr(_core.KernelKind, self.name), **parameters)


def check_positive(name: str, value: float) -> None:
    """Refuse what is not a positive finite number (NaN included)."""
    check_number(name, value, lambda number: 0 < number < float("inf"), "a positive finite number")
