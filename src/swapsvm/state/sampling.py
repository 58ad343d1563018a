"""How the toward vertex is sampled, and when samples without a violator end a run."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from .._core import SampledState32, SampledState64
from ..parameters import check_number

LOOKS = 64  # most samples that are drawn between two looks at the stop rules


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
    first_level : float, optional
        Let the tolerance fall in levels: it begins at this absolute gap and is halved, down to that of the run, each
        time ``trusted`` samples in a row (one by default) show no violator of it. Each level begins with a new sample.
    balanced : bool, default=False
        The classes of the pair take turns in a sample, whatever their sizes.
    outside_active : bool, default=False
        Only inactive variables are drawn. Without ``with_active``, this suits corrective steps alone: other solvers
        could not give an active variable more weight.

    Examples
    --------
    The samples of Core Vector Machines as their authors' program draws them, and a tolerance that falls in levels:

    >>> from swapsvm import Sampling
    >>> Sampling(60, with_active=False, trusted=1, first_level=0.01, balanced=True, outside_active=True).size
    60
    """

    size: int = 59
    with_active: bool = True
    trusted: int | None = None
    first_level: float | None = None
    balanced: bool = False
    outside_active: bool = False

    def __post_init__(self) -> None:
        if int(self.size) != self.size or self.size < 1:
            raise ValueError(f"sampling={self.size!r} must be a positive integer, or None to look at every row")
        if self.trusted is not None and self.trusted < 1:
            raise ValueError(f"trusted={self.trusted!r} must be a positive number of samples, or None")
        if self.first_level is not None:
            check_number("first_level", self.first_level, lambda gap: 0 < gap < inf, "a positive number, or None")


class SampleLooks:
    """Draws further samples once one shows no violator, and decides when that is enough to end the moves."""

    def __init__(self, sampling: Sampling | None) -> None:
        self._trusted = sampling.trusted if sampling else None
        self._first_level = (sampling and sampling.first_level) or 0.0
        self.patience, self.empty = 1, 0  # empty samples in a row before a full pass, and so far
        self.level = 0  # number of times that the tolerance was halved

    @property
    def tolerance(self) -> float:
        """The gap of the present level."""
        return self._first_level * 0.5**self.level

    def claim(self, core: SampledState32 | SampledState64, target: float) -> str | None:
        """The reason to end the moves, or None if a violator was found or more samples have to be drawn."""
        for _ in range(LOOKS):
            self.empty += 1
            if self.empty >= self._needed(target):
                self.empty = 0
                if self.tolerance <= target:
                    return self._end()
                self.level += 1
            core.look()
            if core.gap > max(self.tolerance, target):
                self.empty = 0
                return None
        return None

    def _needed(self, target: float) -> int:
        """Empty samples in a row that end the level."""
        return self._trusted or (self.patience if self.tolerance <= target else 1)

    def _end(self) -> str:
        self.patience = min(2 * self.patience, LOOKS)  # if the full pass finds a violator, the next is later
        return "unconfirmed" if self._trusted is None else "sample"
