"""The runs of a fit in a file, so that another process can continue it."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from .._core import snapshot_fields
from ..container import Format, faults_named, opened, require
from ..rays import KINDS
from ..result import warn_user
from ..run import Observer, Run
from ..trace import RAW, Standing, Trace
from ..writing import PathLike, check_writable_file
from .subproblems import Subproblem

CHECKPOINT = Format(b"\x89swapchk\r\n\x1a\n", 4, "a checkpoint written by swapsvm")
NUMBERS = ("history", "iteration", "seconds", "evaluations", "certified", "fruitless", "in_double")  # of a Standing
LOOKS = ("patience", "empty_samples", "sampling_level")  # of a state that samples
SNAPSHOT = (*snapshot_fields(), *LOOKS)  # of a state


@dataclass(frozen=True)
class Checkpoint:
    """Where to save the state of a fit, and how often.

    Parameters
    ----------
    path : str or path
        The file. It is replaced atomically, so that a complete one exists at any time.
    seconds : float, default=60
        Time between two writes.
    """

    path: PathLike
    seconds: float = 60.0

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike):
            raise ValueError(f"checkpoint={self.path!r} must be the path of a file")
        if not isinstance(self.seconds, Real) or not 0 <= self.seconds < math.inf:
            raise ValueError(f"seconds={self.seconds!r} between two checkpoints must be a finite number, 0 or more")


def as_checkpoint(checkpoint: PathLike | Checkpoint) -> Checkpoint:
    """A checkpoint, which may be given by its path alone."""
    return checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)


def check_writable(path: PathLike) -> None:
    """Raise an ``OSError`` or ``ValueError`` that names the reason if no checkpoint can be written there."""
    try:
        check_writable_file(path)
    except OSError as error:
        raise type(error)(f"checkpoint={error}") from None
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"checkpoint={str(path)!r} is a device or a pipe, which cannot be read again: name a file")


class CheckpointFile:
    """The runs of a fit in a file. It holds where runs stand. Certificates are always recomputed."""

    def __init__(self, checkpoint: Checkpoint, identity: dict[str, str], subproblems: Sequence[Subproblem]) -> None:
        self._checkpoint, self._identity = checkpoint, identity
        self._place = {sub.labels: place for place, sub in enumerate(subproblems)}
        self._standings: dict[int, Standing] = {}
        self._lock, self._written = threading.Lock(), time.monotonic()
        check_writable(checkpoint.path)  # now, not after the first minute of work
        if Path(checkpoint.path).exists():
            with opened(checkpoint.path) as file:
                self._standings = self._read(*CHECKPOINT.read(file))

    def go_on(self, sub: Subproblem, run: Run) -> bool:
        """Continue a run from where it stood, if the file has it."""
        standing = self._standings.get(self._place[sub.labels])
        if standing is None:
            return False
        with faults_named(self._checkpoint.path):
            run.go_on(standing)
            require(not np.isnan([run.state.value, run.state.gap]).any(), "its numbers are not those of a run")
        return True

    def observers(self, sub: Subproblem) -> list[Observer]:
        """Who writes the file while a run continues."""
        return [CheckpointWriter(self, sub)]

    def note(self, sub: Subproblem, run: Run) -> None:
        """Write the file if the last write was long enough ago."""
        if time.monotonic() - self._written < self._checkpoint.seconds:
            return
        with self._lock:
            self._standings[self._place[sub.labels]] = run.standing()
            self._write()

    def ended(self, sub: Subproblem, run: Run) -> None:
        """Note a run that has ended for the next write."""
        with self._lock:
            if run.last_standing is not None:
                self._standings[self._place[sub.labels]] = run.last_standing

    def close(self) -> None:
        """Write where all runs stand."""
        with self._lock:
            if self._standings:
                self._write()

    def _write(self) -> None:
        header: dict[str, Any] = {"identity": self._identity, "runs": {}}
        arrays: dict[str, np.ndarray] = {}
        for place, standing in self._standings.items():
            header["runs"][str(place)] = _header_of(standing)
            stored = {**standing.state, "trace": standing.trace.raw().view(np.float64)}
            arrays |= {f"{place}/{name}": values for name, values in stored.items()}
        try:
            CHECKPOINT.write(self._checkpoint.path, header, arrays)
        except OSError as error:  # such as a full disk: the fit is worth more than its checkpoint
            warn_user(f"this checkpoint could not be written; the fit continues: {error}", RuntimeWarning)
        self._written = time.monotonic()

    def _read(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[int, Standing]:
        others = [name for name, value in self._identity.items() if header["identity"].get(name) != value]
        require(
            not others,
            f"this checkpoint is of another fit: {', '.join(others)} differ. Remove it, or name another file",
        )
        runs = {int(place): entry for place, entry in header["runs"].items()}
        require(set(runs) <= set(self._place.values()), "it has a run of a problem that this fit does not have")
        parts = {place: _arrays_of(place, arrays) for place in runs}
        return {place: _standing(entry, parts[place]) for place, entry in runs.items()}


class CheckpointWriter:
    """Brings a checkpoint file up to date during one of its runs."""

    next_gap = 0.0

    def __init__(self, file: CheckpointFile, sub: Subproblem) -> None:
        self._file, self._sub = file, sub

    def look(self, run: Run) -> bool:
        self._file.note(self._sub, run)
        return True


def _header_of(standing: Standing) -> dict[str, Any]:
    numbers = {name: getattr(standing, name) for name in NUMBERS}
    numbers["certified"] = None if math.isinf(standing.certified) else standing.certified  # JSON has no infinity
    return {**numbers, "kinds": dict(standing.trace.kinds), "memory_pays": standing.trace.memory_pays}


def _arrays_of(place: int, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    names = (*SNAPSHOT, "trace")
    return {name: arrays[f"{place}/{name}"] for name in names}


def _are_counts(values: Iterable[object]) -> bool:
    return all(type(count) is int and 0 <= count < 2**62 for count in values)


def _standing(entry: dict[str, Any], arrays: dict[str, np.ndarray]) -> Standing:
    """A standing from a file. Its numbers are checked here, its arrays by the core when they are restored."""
    counts = [entry[name] for name in ("iteration", "evaluations", "fruitless")]
    require(isinstance(entry["history"], list), "its history is not a list")
    require(_are_counts([*counts, *entry["history"]]), "its counts are not integers")
    looks = [arrays[name].tolist() for name in LOOKS]
    require(
        all(isinstance(look, list) and len(look) == 1 and _are_counts(look) for look in looks),
        "its counts of samples are not integers",
    )
    require(isinstance(entry["seconds"], float) and 0 <= entry["seconds"] < math.inf, "its seconds are not a number")
    trace = Trace(bool(entry["memory_pays"]))
    raw = arrays.pop("trace")
    require(raw.dtype == np.float64 and raw.nbytes % RAW.itemsize == 0, "its trace is damaged")
    records = raw.reshape(-1).view(RAW)
    require(((records["kind"] >= 0) & (records["kind"] < len(KINDS))).all(), "its trace has unknown steps")
    trace.append(records)
    trace.kinds = Counter({kind: int(entry["kinds"].get(kind, 0)) for kind in KINDS if entry["kinds"].get(kind)})
    certified = math.inf if entry["certified"] is None else float(entry["certified"])
    require(certified >= 0, "its certified gap is not a number")
    numbers = {name: entry[name] for name in NUMBERS if name not in ("certified", "history")}
    return Standing(state=arrays, trace=trace, certified=certified, history=tuple(entry["history"]), **numbers)
