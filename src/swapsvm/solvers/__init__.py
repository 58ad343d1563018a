"""The solvers: each only chooses a move. ``SOLVERS`` is the registry that everything else reads."""

from __future__ import annotations

from ._base import Solver
from .block import Block
from .core_vector import CoreVector
from .frank_wolfe import FrankWolfe
from .fully_corrective import FullyCorrective
from .modified_frank_wolfe import ModifiedFrankWolfe
from .second_order_swap import SecondOrderSwap
from .swap import Swap

SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver
    for solver in (FrankWolfe, ModifiedFrankWolfe, Swap, SecondOrderSwap, FullyCorrective, CoreVector, Block)
}


def make_solver(solver: str | Solver) -> Solver:
    """The solver of that name."""
    if isinstance(solver, Solver):
        return solver
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is unknown: use one of {list(SOLVERS)}")
    return SOLVERS[solver]()


__all__ = [
    "SOLVERS",
    "Block",
    "CoreVector",
    "FrankWolfe",
    "FullyCorrective",
    "ModifiedFrankWolfe",
    "SecondOrderSwap",
    "Solver",
    "Swap",
    "make_solver",
]
