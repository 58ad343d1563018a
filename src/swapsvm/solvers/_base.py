"""What every solver is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from ..rays import Correction, Move
from ..state import State


class Solver(ABC):
    """Chooses the next move from a state."""

    name: ClassVar[str]
    compiled: ClassVar[str | None] = None  # name of the compiled twin of ``choose`` (core/steps)

    solves_start: ClassVar[bool] = True  # whether a run begins with the solution on its first vertices
    stage = 0  # how far a run has come, if choices depend on it beside the state

    def check(self, state: State) -> None:  # noqa: B027 - most solvers take every problem
        """Refuse, with the reason, a problem that the solver is not made for."""

    def resume(self, state: State) -> None:  # noqa: B027 - most solvers keep nothing
        """A run goes on from the solution of a problem close by."""

    @abstractmethod
    def choose(self, state: State) -> Move | Correction:
        """The next move."""
