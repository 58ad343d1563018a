"""What a run did: one record now and then, and exact counts of the steps by kind."""

from __future__ import annotations

from collections import Counter

import numpy as np

from .rays import KINDS

# As the core writes it (core/run.hpp, Record): kind is an index into KINDS.
RAW = np.dtype(
    [
        ("iteration", np.int64),
        ("support", np.int64),
        ("evaluations", np.int64),
        ("kind", np.int64),
        ("seconds", np.float64),
        ("value", np.float64),
        ("gap", np.float64),
    ]
)
RECORD = np.dtype([(name, "U10" if name == "kind" else RAW[name]) for name in RAW.names or ()])


def is_recorded(iteration: int) -> bool:
    """The first 1024 iterations, then 512 of every octave: a long run stays readable at every scale, and short."""
    stride = 1 << max(iteration.bit_length() - 10, 0)
    return iteration % stride == 0


class Trace:
    """Records of a run.

    ``array()`` gives them as a structured array with fields iteration, support, evaluations, kind, seconds, value and
    gap: ``plt.semilogy(t["evaluations"], t["gap"])``. ``kinds`` counts all steps, recorded or not. ``memory_pays`` says
    whether kernel values were found worth keeping between sweeps (see ``Gram.memory_pays``).
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
