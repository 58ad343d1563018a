"""What an estimator remembers of a fit, so that another one goes on from there: in memory, or in a file.

A run goes on exactly where it stood if its problem and its solver are the same. If only the rows, their labels or C
have changed, its weights are where the next run starts; new rows have none.
"""

from __future__ import annotations

import hashlib
import math
import os
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..container import Format, faults_named, opened, require
from ..gram import Gram
from ..kernels import Function, Kernel
from ..problems import Quadratic
from ..rays import KINDS
from ..solve import Memory, Run, warn_user
from ..state import State
from ..stopping import Progress
from ..trace import RAW, Trace
from ..writing import PathLike, check_writable_file
from .subproblems import Subproblem

CHECKPOINT = Format(b"\x89swapchk\r\n\x1a\n", 1, "a checkpoint written by swapsvm")
NUMBERS = ("stage", "iteration", "seconds", "evaluations", "certified", "fruitless", "in_double")  # of a Memory
SNAPSHOT = ("active", "slots", "kept", "weights", "h", "numbers", "counts", "looks")  # of a state
PROBES = 16  # rows on which a function is known by its values


@dataclass(frozen=True)
class Checkpoint:
    """Where to keep a fit on disk, and how often to bring that up to date.

    Parameters
    ----------
    path : str or path
        The file. It is replaced as a whole, so that there is always a complete one.
    seconds : float, default=60
        Between two writes.
    """

    path: PathLike
    seconds: float = 60.0

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike):
            raise ValueError(f"checkpoint={self.path!r} must be the path of a file")
        if not isinstance(self.seconds, Real) or not 0 <= self.seconds < math.inf:
            raise ValueError(f"seconds={self.seconds!r} between two checkpoints must be a finite number, 0 or more")


@dataclass(frozen=True)
class Kept:
    """The Gram of the last fit, how it was made, and where each run of it stands."""

    gram: Gram
    settings: Any
    solver: Any
    runs: dict[tuple[Any, ...], tuple[State, Memory]] = field(default_factory=dict)

    def serves(self, X: Any, settings: Any) -> bool:
        """Whether the Gram is the one of these rows; neither they nor those that it refers to may have changed."""
        return bool(self.settings == settings) and fingerprint(X) == fingerprint(self.gram.X) == self.settings[-1]

    def exactly(self, sub: Subproblem, problem: Quadratic, solver: Any) -> tuple[State, Memory] | None:
        """The run of the same problem with the same solver."""
        state, memory = self.runs.get(sub.labels, (None, None))
        if state is None or memory is None or self.solver != solver or problem.gram is not self.gram:
            return None
        return (state, memory) if described(state.problem) == described(problem) else None  # type: ignore[attr-defined]

    def weights(self, sub: Subproblem, problem: Quadratic) -> np.ndarray | None:
        """Weights for the rows that are still there with the same sign."""
        if sub.labels not in self.runs:
            return None
        state = self.runs[sub.labels][0]
        start = _carried(state, problem, 1)
        if problem.linear is None and not start.any():  # Q is the same with all signs turned: two classes, then three
            start = _carried(state, problem, -1)
        return start if start.any() else None


def _carried(state: State, problem: Quadratic, turn: int) -> np.ndarray:
    """Weights of a state for the variables of a problem of the same row, and of the same sign or the other one."""
    before = _places(state.problem, turn)  # type: ignore[attr-defined]
    _, here, there = np.intersect1d(_places(problem, 1), before, assume_unique=True, return_indices=True)
    start = np.zeros(problem.size)
    start[here] = state.weights[there]
    return start


def _places(problem: Quadratic, turn: int) -> np.ndarray:
    """A number for the row and the sign of each variable."""
    return 3 * problem.rows.astype(np.int64) + turn * problem.signs.astype(np.int64) + 1


def fingerprint(*values: Any) -> str:
    """The same for equal numbers, shapes and texts, wherever they are."""
    digest = hashlib.sha256()
    for value in values:
        if sp.issparse(value):
            digest.update(fingerprint(value.shape, value.data, value.indices, value.indptr).encode())
            continue
        array = np.ascontiguousarray(value) if isinstance(value, np.ndarray) else None
        digest.update(repr(value if array is None else (array.dtype.str, array.shape)).encode())
        if array is not None:
            digest.update(array.reshape(-1).view(np.uint8).data if array.nbytes else b"")
    return digest.hexdigest()


def kernel_identity(kernel: Kernel, X: Any) -> str:
    """A kernel in words. A function is known by its values on a few rows: it may change, or lie elsewhere next time."""
    if not isinstance(kernel, Function):
        return repr(kernel)
    some = X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], PROBES)).astype(np.intp)]
    return f"function {fingerprint(kernel.block(some, some, np.float64).astype(np.float32))}"


def check_writable(path: PathLike) -> None:
    """An ``OSError`` or ``ValueError`` that says why, if no checkpoint can be kept there."""
    try:
        check_writable_file(path)
    except OSError as error:
        raise type(error)(f"checkpoint={error}") from None
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"checkpoint={str(path)!r} is a device or a pipe, which cannot be read again: name a file")


def described(problem: Quadratic) -> str:
    """A fingerprint of all of a problem but its kernel values."""
    linear = np.empty(0) if problem.linear is None else np.asarray(problem.linear, np.float64)
    ridge = np.asarray(problem.ridge, np.float64)
    shape = list(problem.segments), problem.radius, problem.grows
    return fingerprint(shape, *problem.gram.groups, ridge, linear, float(problem.bias))


class CheckpointFile:
    """The runs of a fit in a file. It holds where runs stand, never a certificate: that is always computed."""

    def __init__(self, checkpoint: Checkpoint, identity: dict[str, str], subproblems: Sequence[Subproblem]) -> None:
        self._checkpoint, self._identity = checkpoint, identity
        self._place = {sub.labels: place for place, sub in enumerate(subproblems)}
        self._memories: dict[int, Memory] = {}
        self._lock, self._written = threading.Lock(), time.monotonic()
        check_writable(checkpoint.path)  # now, not after the first minute of work
        if Path(checkpoint.path).exists():
            with opened(checkpoint.path) as file:
                self._memories = self._read(*CHECKPOINT.read(file))

    def go_on(self, sub: Subproblem, run: Run) -> bool:
        """Let a run go on from where it stood, if the file has it."""
        memory = self._memories.get(self._place[sub.labels])
        if memory is None:
            return False
        with faults_named(self._checkpoint.path):
            run.go_on(memory)
            require(not np.isnan([run.state.value, run.state.gap]).any(), "its numbers are not those of a run")
        return True

    def note(self, sub: Subproblem, run: Run, progress: Progress) -> None:
        """Bring the file up to date, if it is time."""
        if time.monotonic() - self._written < self._checkpoint.seconds:
            return
        with self._lock:
            self._memories[self._place[sub.labels]] = run.remember()
            self._write()

    def ended(self, sub: Subproblem, run: Run) -> None:
        """Note a run that is over, for the next write."""
        with self._lock:
            if run.memory is not None:
                self._memories[self._place[sub.labels]] = run.memory

    def close(self) -> None:
        """Write what is known."""
        with self._lock:
            if self._memories:
                self._write()

    def _write(self) -> None:
        header: dict[str, Any] = {"identity": self._identity, "runs": {}}
        arrays: dict[str, np.ndarray] = {}
        for place, memory in self._memories.items():
            header["runs"][str(place)] = _header_of(memory)
            stored = {**memory.state, "trace": memory.trace.raw().view(np.float64)}
            arrays |= {f"{place}/{name}": values for name, values in stored.items()}
        try:
            CHECKPOINT.write(self._checkpoint.path, header, arrays)
        except OSError as error:  # such as a full disk: the fit is worth more than its copy
            warn_user(f"this checkpoint could not be written, and the fit goes on: {error}", RuntimeWarning)
        self._written = time.monotonic()

    def _read(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[int, Memory]:
        others = [name for name, value in self._identity.items() if header["identity"].get(name) != value]
        require(
            not others,
            f"this checkpoint is of another fit: {', '.join(others)} differ. Remove it, or name another file",
        )
        runs = {int(place): entry for place, entry in header["runs"].items()}
        require(set(runs) <= set(self._place.values()), "it has a run of no problem of this fit")
        parts = {place: _arrays_of(place, arrays) for place in runs}
        return {place: _memory(entry, parts[place]) for place, entry in runs.items()}


def _header_of(memory: Memory) -> dict[str, Any]:
    numbers = {name: getattr(memory, name) for name in NUMBERS}
    numbers["certified"] = None if math.isinf(memory.certified) else memory.certified  # JSON has no infinity
    return {**numbers, "kinds": dict(memory.trace.kinds), "memory_pays": memory.trace.memory_pays}


def _arrays_of(place: int, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    names = (*SNAPSHOT, "trace")
    return {name: arrays[f"{place}/{name}"] for name in names}


def _are_counts(values: Any) -> bool:
    return all(type(count) is int and 0 <= count < 2**62 for count in values)


def _memory(entry: dict[str, Any], arrays: dict[str, np.ndarray]) -> Memory:
    """A memory from a file: numbers are checked here, arrays by the core when they are put back."""
    counts = [entry[name] for name in ("stage", "iteration", "evaluations", "fruitless")]
    require(_are_counts(counts), "its counts are not integers")
    looks = arrays["looks"].tolist()
    require(len(looks) == 2 and _are_counts(looks), "its looks are not two integers")
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
    numbers = {name: entry[name] for name in NUMBERS if name != "certified"}
    return Memory(state=arrays, trace=trace, certified=certified, **numbers)
