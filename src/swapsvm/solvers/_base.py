"""What every solver is."""

from __future__ import annotations

from typing import ClassVar

from ..geometry import Correction, Move
from ..state import State


class Solver:
    """Chooses the next move from a state."""

    name: ClassVar[str]
    compiled: ClassVar[str | None] = None  # name of the compiled twin of ``choose`` (core/steps)

    def check(self, state: State) -> None:
        """Refuse, with the reason, a problem that the solver is not made for."""

    def choose(self, state: State) -> Move | Correction:
        raise NotImplementedError
