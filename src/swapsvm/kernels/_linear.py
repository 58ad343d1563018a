"""k(x, z) = x'z."""

from dataclasses import dataclass

from ._base import Kernel


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = x'z."""

    name = "linear"
