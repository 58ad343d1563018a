"""What a run did, in records of selected iterations and exact counts of steps, and where it stands."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from . import _core
from .rays import KINDS

RAW = np.dtype(_core.record_layout())  # as the core writes it: kind is an index into KINDS
RECORD = np.dtype([(name, "U10" if name == "kind" else RAW[name]) for name in RAW.names or ()])


class Trace:
    """Records of a run.

    ``array()`` gives them as a structured array with fields iteration, support, evaluations, kind, seconds, value and
    gap: ``plt.semilogy(t["evaluations"], t["gap"])``. ``kinds`` counts all steps, recorded or not. ``memory_pays`` says
    whether kernel values are kept between sweeps (see ``Gram.memory_pays``).
    """

    def __init__(self, memory_pays: bool = False) -> None:
        self.kinds: Counter[str] = Counter()
        self.memory_pays = memory_pays
        self._records: list[np.ndarray] = []

    def copy(self) -> Trace:
        """An independent copy."""
        copied = Trace(self.memory_pays)
        copied.kinds, copied._records = self.kinds.copy(), list(self._records)
        return copied

    def append(self, records: np.ndarray) -> None:
        """Add raw records."""
        self._records.append(records)

    def add(self, records: np.ndarray, kinds: Counter[str], began: float, ended: float, evaluations: int) -> None:
        """Add what a block of moves did between two times of the run's clock, after this many earlier evaluations."""
        records = records.copy()
        took = records["seconds"].max(initial=0.0)  # by the wall clock, which may be faster than the run's
        records["seconds"] *= min(1.0, (ended - began) / took) if took > 0 else 1.0
        records["seconds"] += began
        records["evaluations"] += evaluations
        self._records.append(records)
        self.kinds.update(kinds)

    def raw(self) -> np.ndarray:
        """The records as the core writes them."""
        return np.concatenate(self._records) if self._records else np.empty(0, RAW)

    def array(self) -> np.ndarray:
        """The records with the names of the steps."""
        raw = self.raw()
        named = np.empty(len(raw), RECORD)
        for name in RAW.names or ():
            named[name] = np.array(KINDS)[raw["kind"]] if name == "kind" else raw[name]
        return named


@dataclass(frozen=True)
class Standing:
    """All that the next moves of a run depend on, except kernel values, and its counts so far."""

    state: dict[str, np.ndarray]
    in_double: bool  # whether the run has gone on to kernel values in double
    history: tuple[int, ...]  # of the solver's choices
    iteration: int
    seconds: float
    evaluations: int
    certified: float  # the gap of the last certificate that made progress
    fruitless: int  # certificates since
    trace: Trace
