"""k(x, z) = tanh(gamma x'z + coef0)."""

from dataclasses import dataclass
from math import isfinite

from ..parameters import check_number
from ._base import Kernel, check_positive


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """k(x, z) = tanh(gamma x'z + coef0). Not positive semidefinite in general: the gap then bounds nothing."""

    gamma: float = 1.0
    coef0: float = 0.0

    name = "sigmoid"
    positive = False

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)
        check_number("coef0", self.coef0, isfinite, "a finite number")
