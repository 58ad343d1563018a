"""k(x, z) = (gamma x'z + coef0)^degree."""

from dataclasses import dataclass
from math import inf

from ..parameters import check_integer, check_number
from ._base import Kernel, check_positive


@dataclass(frozen=True)
class Poly(Kernel):
    """k(x, z) = (gamma x'z + coef0)^degree; ``degree=2, coef0=0`` is the homogeneous kernel of [SWAP14]."""

    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3

    name = "poly"
    gamma_over_mean = 1.0  # [SWAP14], "Experiments with Non-Normalized Kernels"

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)
        allowed = "finite and not negative: the kernel is not positive otherwise"
        check_number("coef0", self.coef0, lambda number: 0 <= number < inf, allowed)
        check_integer("degree", self.degree, lambda number: 1 <= number < 2**31, "an integer from 1 to 2**31 - 1")
        object.__setattr__(self, "degree", int(self.degree))
