"""What every solver is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from .._core import Measure
from ..rays import Correction, Move
from ..state import Chooser, Need, State


class Solver(ABC):
    """Chooses the next move from a state. A solver is immutable: what changes during a run belongs to the run."""

    name: ClassVar[str]
    compiled: ClassVar[str | None] = None  # name of the compiled twin of ``choose`` (core/steps)
    stops_at: ClassVar[Measure] = Measure.simplex  # which gap its runs stop at: of the simplex, or primal minus dual
    solves_start: ClassVar[bool] = True  # whether a run begins with the solution on its first vertices
    requires: ClassVar[tuple[tuple[Need, str], ...]] = ()  # of a state, and the way out where it is missing
    takes_whole: ClassVar[bool] = False  # whether problems that fit into memory can be solved in one step
    history: ClassVar[tuple[int, ...]] = ()

    def check(self, state: State) -> None:
        """``ValueError`` if the state does not offer what the solver requires."""
        for need, way_out in self.requires:
            if reason := state.lacks(need):
                raise ValueError(f"solver={self.name!r} requires {need.value}, but {reason}: {way_out}")

    def start_variables(self, state: State, count: int, rng: np.random.Generator) -> np.ndarray:
        """The variables that a run begins with."""
        return state.start_variables(count, rng)

    def chooser(self, history: tuple[int, ...] = ()) -> Chooser:
        """What chooses the moves of one run, after choices of this history; a solver without a history is its own."""
        return self

    def resumed(self, size: int) -> Chooser:
        """The chooser of a run that begins with the solution of a similar problem of this many variables."""
        return self.chooser()

    @abstractmethod
    def choose(self, state: State) -> Move | Correction:
        """The next move."""
