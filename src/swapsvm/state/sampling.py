"""Sampled toward vertices: how many variables a sample has, and when samples without a violator end a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

LOOKS = 64  # most samples that are drawn between two looks at the stop rules
NO_LOOKS = (1, 0)  # in snapshots of states that do not sample


@dataclass(frozen=True)
class Sampling:
    """How to look for the toward vertex among a few random variables.

    Parameters
    ----------
    size : int, default=59
        Variables in a sample; 59 contain one of the best 5 % with probability 0.95.
    with_active : bool, default=True
        The active variables are candidates too, which costs nothing. False is [SWAP14].
    trusted : int, optional
        Number of samples in a row without a violator that end the run (``stop_reason`` ``"sample"``), as in [SWAP14];
        the gap reported is then the certified one, which may be large. By default only a full pass ends it.
    """

    size: int = 59
    with_active: bool = True
    trusted: int | None = None

    def __post_init__(self) -> None:
        if int(self.size) != self.size or self.size < 1:
            raise ValueError(f"sampling={self.size!r} must be a positive integer, or None to look at every row")
        if self.trusted is not None and self.trusted < 1:
            raise ValueError(f"trusted={self.trusted!r} must be a positive number of samples, or None")


class Sampler(Protocol):
    """The compiled state, which draws samples."""

    @property
    def gap(self) -> float: ...

    def look(self) -> None: ...


class SampleLooks:
    """Draws further samples once one shows no violator, and decides when that is enough to end the moves."""

    def __init__(self, trusted: int | None) -> None:
        self._trusted = trusted
        self._patience, self._empty = NO_LOOKS  # empty samples in a row before a full pass, and so far

    def claim(self, sampler: Sampler, target: float) -> str | None:
        """The reason to end the moves, or None if a violator was found or more samples have to be drawn."""
        needed = self._trusted or self._patience
        for _ in range(LOOKS):
            self._empty += 1
            if self._empty >= needed:
                self._empty = 0
                self._patience = min(2 * self._patience, LOOKS)  # if the full pass finds a violator, the next is later
                return "unconfirmed" if self._trusted is None else "sample"
            sampler.look()
            if sampler.gap > target:
                self._empty = 0
                return None
        return None

    def counts(self) -> np.ndarray:
        """What ``restore`` needs."""
        return np.array([self._patience, self._empty])

    def restore(self, counts: np.ndarray) -> None:
        """Return to earlier counts."""
        self._patience, self._empty = counts.tolist()
