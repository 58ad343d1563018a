"""k(x, z) = exp(-gamma |x - z|_1)."""

from dataclasses import dataclass

from ._base import Kernel, check_positive


@dataclass(frozen=True)
class Laplacian(Kernel):
    """k(x, z) = exp(-gamma |x - z|_1)."""

    gamma: float = 1.0

    name = "laplacian"

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)
