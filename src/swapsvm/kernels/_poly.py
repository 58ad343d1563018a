"""k(x, z) = (gamma x'z + coef0)^degree."""

from dataclasses import dataclass
from math import isfinite

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
        if not isfinite(self.coef0) or self.coef0 < 0:
            raise ValueError(
                f"coef0={self.coef0!r} must be finite and not negative: the kernel is not positive otherwise"
            )
        if self.degree != int(self.degree) or self.degree < 1:
            raise ValueError(f"degree={self.degree!r} must be a positive integer")
        object.__setattr__(self, "degree", int(self.degree))
