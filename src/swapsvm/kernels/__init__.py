"""Kernels: k(x, z) as a function of the dot product, the squared distance or the absolute distance of two rows.

``Sum`` adds kernels over groups of columns.

``KERNELS`` is the registry that the estimators, the contract tests and the documentation read.
"""

from __future__ import annotations

from ..arrays import KernelFunction
from ._bandwidth import mean_squared_distance, resolve_gamma
from ._formulas import GAMMA_RULES, Kernel, Laplacian, Linear, Poly, Precomputed, Rbf, Sigmoid
from ._function import Function
from ._sum import Sum, are_positions, resolved

KERNELS: dict[str, type[Kernel]] = {k.name: k for k in (Linear, Rbf, Poly, Sigmoid, Laplacian, Precomputed)}


def make_kernel(kernel: str | KernelFunction, **parameters: float) -> Kernel:
    """The kernel of that name, with the parameters (gamma, coef0, degree) that apply to it; a kernel is itself."""
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Function(kernel)
    if kernel not in KERNELS:
        raise ValueError(f"kernel={kernel!r} is unknown: use a callable or one of {sorted(KERNELS)}")
    cls = KERNELS[kernel]
    return cls(**{name: value for name, value in parameters.items() if name in cls.parameter_names()})


__all__ = [
    "GAMMA_RULES",
    "KERNELS",
    "Function",
    "Kernel",
    "Laplacian",
    "Linear",
    "Poly",
    "Precomputed",
    "Rbf",
    "Sigmoid",
    "Sum",
    "are_positions",
    "make_kernel",
    "mean_squared_distance",
    "resolve_gamma",
    "resolved",
]
