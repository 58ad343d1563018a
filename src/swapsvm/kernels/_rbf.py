"""k(x, z) = exp(-gamma |x - z|^2)."""

from dataclasses import dataclass

from ._base import Kernel, check_positive


@dataclass(frozen=True)
class Rbf(Kernel):
    """k(x, z) = exp(-gamma |x - z|^2); [SWAP14] writes gamma = 1 / (2 sigma^2)."""

    gamma: float = 1.0

    name = "rbf"

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)
