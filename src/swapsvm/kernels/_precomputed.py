"""Kernel values given as a matrix."""

from dataclasses import dataclass

from ._base import Kernel


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The data are the Gram matrix itself."""

    name = "precomputed"
