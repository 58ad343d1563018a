"""Lazified blended pairwise steps: the toward vertex is only asked for where active vertices do not keep a promise.

G. Braun, S. Pokutta and D. Zink: Lazifying conditional gradient algorithms. ICML 2017 (the weak separation oracle);
K. Tsuji, K. Tanaka and S. Pokutta, ICML 2022, Alg. 3 (lazified blended pairwise steps).

A promise stands for the slope of the toward step. A swap of two active vertices whose slope is at least the promise is
taken without a look at any other vertex; otherwise the toward step is taken if its slope is at least half the promise,
and if it is not, the promise is halved.

Lazy steps save calls of an expensive oracle. A state here knows the gradient of every variable after each move, because
the stop rule looks at the gap, so that they save no kernel values: the number of steps is what can be compared.
"""

from __future__ import annotations

from math import ldexp

from ..rays import Move, SwapRay, Toward
from ..state import Chooser, State
from ._base import Solver

PART = 2.0  # a toward step is taken if its slope is at least the promise over this (J of the paper)
LARGEST = 1023  # exponent of a double


class Lazified(Solver):
    """A swap of two active vertices as long as its slope is what was promised, else a toward step."""

    name = "lazified"

    def chooser(self, history: tuple[int, ...] = ()) -> Chooser:
        return Promise(*history)

    def choose(self, state: State) -> Move:
        """The first move of a run."""
        return Promise().choose(state)


class Promise:
    """The moves of one run. The promise is a power of two, so that the count of halvings describes it exactly."""

    compiled = None

    def __init__(self, halvings: int = 0) -> None:
        self._halvings = halvings  # of 2^LARGEST, which promises too much: the first move finds half of its slope

    @property
    def history(self) -> tuple[int, ...]:
        return (self._halvings,)

    def choose(self, state: State) -> Move:
        toward, slope = state.search(Toward(state.toward())), state.toward_slope
        if not slope > 0:  # rounding: the step is empty
            return toward.move()
        inside, j = state.active_toward(), state.away()
        self._lower_to(max(state.swap_slope(inside, j), PART * slope))
        if state.swap_slope(inside, j) >= self._promise:
            return state.search(SwapRay(inside, j)).move()
        return toward.move()

    @property
    def _promise(self) -> float:
        return ldexp(1.0, LARGEST - self._halvings)

    def _lower_to(self, slope: float) -> None:
        while slope < self._promise:
            self._halvings += 1
