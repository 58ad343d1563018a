"""The solvers: each only chooses a move. ``SOLVERS`` is the registry that everything else reads."""

from __future__ import annotations

from ._base import Solver
from .blended import BlendedPairwise
from .block import Block
from .frank_wolfe import FrankWolfe, ModifiedFrankWolfe
from .fully_corrective import CoreVector, FullyCorrective
from .lazified import Lazified
from .pairwise import Pairwise
from .swap import SecondOrderSwap, Swap

SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver
    for solver in (
        FrankWolfe,
        ModifiedFrankWolfe,
        Swap,
        SecondOrderSwap,
        Pairwise,
        BlendedPairwise,
        Lazified,
        FullyCorrective,
        CoreVector,
        Block,
    )
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
    "BlendedPairwise",
    "Block",
    "CoreVector",
    "FrankWolfe",
    "FullyCorrective",
    "Lazified",
    "ModifiedFrankWolfe",
    "Pairwise",
    "SecondOrderSwap",
    "Solver",
    "Swap",
    "make_solver",
]
