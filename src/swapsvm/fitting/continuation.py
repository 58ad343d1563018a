"""What a fit leaves behind for the next one, which continues from there.

A run continues exactly where it stood if its problem and its solver are the same. If only the rows, their labels or C
have changed, the next run starts from its weights; new rows start with weight 0.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from ..arrays import CsrMatrix, Matrix
from ..gram import Gram
from ..kernels import Function, Kernel
from ..passes import is_sharded
from ..problems import Quadratic
from ..state import Sampling, State
from ..trace import Standing
from .subproblems import Labels, Subproblem

PROBES = 16  # rows on which the values of a kernel function identify it

SolverSettings = tuple[str, int | Sampling | None]
GramIdentity = tuple[object, ...]  # what a Gram was made from; its rows come last


@dataclass(frozen=True)
class KeptRun:
    """A run that has ended: its problem, its state, and where it stood before its last certificate."""

    problem: Quadratic
    state: State
    standing: Standing


@dataclass(frozen=True)
class Kept:
    """The Gram of the last fit, what it was made from, and where each of its runs stands."""

    gram: Gram
    identity: GramIdentity
    solver: SolverSettings
    runs: dict[Labels, KeptRun]

    def serves(self, identity: GramIdentity) -> bool:
        """Whether the Gram still is the one of this identity: the rows it refers to must not have been changed."""
        return self.identity == identity and fingerprint(self.gram.X) == identity[-1]

    def exactly(self, sub: Subproblem, problem: Quadratic, solver: SolverSettings) -> KeptRun | None:
        """The run of the same problem with the same solver."""
        found = self.runs.get(sub.labels)
        if found is None or self.solver != solver or problem.gram is not self.gram:
            return None
        return found if problem_fingerprint(found.problem) == problem_fingerprint(problem) else None

    def weights(self, sub: Subproblem, problem: Quadratic) -> np.ndarray | None:
        """Weights for the rows that are still there with the same sign."""
        if sub.labels not in self.runs:
            return None
        run = self.runs[sub.labels]
        start = _carried(run, problem, 1)
        if problem.linear is None and not start.any():  # Q is the same with all signs turned: two classes, then three
            start = _carried(run, problem, -1)
        return start if start.any() else None


def _carried(run: KeptRun, problem: Quadratic, turn: int) -> np.ndarray:
    """Weights of a run for the variables of a problem that have the same row and the same, or the opposite, sign."""
    before = _places(run.problem, turn)
    _, here, there = np.intersect1d(_places(problem, 1), before, assume_unique=True, return_indices=True)
    start = np.zeros(problem.size)
    start[here] = run.state.weights[there]
    return start


def _places(problem: Quadratic, turn: int) -> np.ndarray:
    """A number for the row and the sign of each variable."""
    return 3 * problem.rows.astype(np.int64) + turn * problem.signs.astype(np.int64) + 1


def fingerprint(*values: object) -> str:
    """A digest of numbers, shapes and texts: equal for equal values."""
    digest = hashlib.sha256()
    for value in values:
        if isinstance(value, CsrMatrix):
            digest.update(fingerprint(value.shape, value.data, value.indices, value.indptr).encode())
            continue
        if is_sharded(value):
            digest.update(repr((value.shape, value.dtype.str, value.look.digest)).encode())
            continue
        array = np.ascontiguousarray(value) if isinstance(value, np.ndarray) else None
        digest.update(repr(value if array is None else (array.dtype.str, array.shape)).encode())
        if array is not None:
            digest.update(array.reshape(-1).view(np.uint8).data if array.nbytes else b"")
    return digest.hexdigest()


def kernel_identity(kernel: Kernel, X: Matrix) -> str:
    """A kernel as text. A function is identified by its values on a few rows: its address may change."""
    if not isinstance(kernel, Function):
        return repr(kernel)
    some = X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], PROBES)).astype(np.intp)]
    return f"function {fingerprint(kernel.block(some, some, np.float64).astype(np.float32))}"


def problem_fingerprint(problem: Quadratic) -> str:
    """A digest of a problem without its kernel values."""
    linear = np.empty(0) if problem.linear is None else np.asarray(problem.linear, np.float64)
    ridge = np.asarray(problem.ridge, np.float64)
    shape = list(problem.segments), problem.radius, problem.grows
    return fingerprint(shape, *problem.gram.groups, ridge, linear, float(problem.bias))
