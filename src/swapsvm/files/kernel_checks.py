"""Whether the kernel of a model can be computed, and is the one that its parameter stands for.

A parameter is a name, or a kernel whose gamma can be a rule and whose columns can be names: a fit makes them numbers.
"""

from __future__ import annotations

from dataclasses import replace

from ..container import require
from ..estimators.base import KernelMachine
from ..kernels import KERNELS, Function, Kernel, Laplacian, Poly, Precomputed, Rbf, Sigmoid, Sum, are_positions

WITH_GAMMA = (Rbf, Laplacian, Poly, Sigmoid)


def is_function(kernel: object) -> bool:
    """Whether this is a Python function, which a file cannot hold."""
    return isinstance(kernel, Function) or (callable(kernel) and not isinstance(kernel, Kernel))


def check_parameter(kernel: object) -> None:
    """Raise ``ValueError`` unless a file can hold this parameter of an estimator."""
    if is_function(kernel):
        raise ValueError("a kernel that is a Python function cannot be saved: use one with a name, or pickle the model")
    if isinstance(kernel, Kernel):
        require(not isinstance(kernel, Precomputed), f"kernel={kernel!r}: write kernel='precomputed'")
        _check_types(kernel)


def _check_types(kernel: Kernel) -> None:
    """Derived types would come back as the type that they are derived from."""
    known = (*KERNELS.values(), Sum)
    for part in (kernel, *_kernels_in(kernel)):
        message = f"the kernel {part!r} cannot be saved: use one of swapsvm.kernels, or pickle the model"
        require(type(part) in known, message)


def check_fitted_kernel(model: KernelMachine) -> None:
    """Raise ``ValueError`` unless the core can compute the kernel of the model, and its parameter stands for it."""
    kernel, wanted = model.model_.vectors.kernel, model.kernel
    _check_types(kernel)
    stands = wanted == kernel.name if isinstance(wanted, str) else _is_fit_of(wanted, kernel, model)
    require(stands, f"its parameter kernel={wanted!r} is not the kernel of its fit")
    for part in _kernels_in(kernel):
        if not isinstance(part, Precomputed):
            part.spec()  # the core checks types and ranges


def _kernels_in(kernel: Kernel) -> list[Kernel]:
    return [part for part, _ in kernel.terms] if isinstance(kernel, Sum) else [kernel]


def _is_fit_of(wanted: object, kernel: Kernel, model: KernelMachine) -> bool:
    if isinstance(wanted, Sum) and isinstance(kernel, Sum):
        pairs = list(zip(wanted.terms, kernel.terms, strict=False))
        same = wanted.weights == kernel.weights and len(wanted.terms) == len(kernel.terms)
        names, count = getattr(model, "feature_names_in_", None), model.n_features_in_
        columns = (are_positions(places, chosen, count, names) for (_, chosen), (_, places) in pairs)
        return same and all(columns) and all(_is_with_rule(one, other) for (one, _), (other, _) in pairs)
    return _is_with_rule(wanted, kernel)


def _is_with_rule(wanted: object, kernel: Kernel) -> bool:
    """Whether they are equal, apart from a rule in place of gamma."""
    if isinstance(wanted, WITH_GAMMA) and isinstance(kernel, WITH_GAMMA) and isinstance(wanted.gamma, str):
        return wanted == replace(kernel, gamma=wanted.gamma)
    return wanted == kernel
