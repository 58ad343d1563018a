"""What all kernel estimators share: kernel and Gram, the runs of a fit, warm starts, the certificate."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ..gram import Gram
from ..kernels import KERNELS, Function, Kernel, Laplacian, Precomputed, Rbf, make_kernel, resolve_gamma
from ..parameters import check_integer, check_number
from ..solve import Result, Run, warn_not_converged
from ..solvers import make_solver
from ..state import Sampling
from ..stopping import make_stop
from ..trace import RECORD
from .diagnosis import total_weight, warn_of_scaling
from .duplicates import merged_weights
from .fitting import Fitting
from .interrupts import Interrupts
from .memory import Checkpoint, CheckpointFile, Kept, described, fingerprint, kernel_identity
from .observing import Observers
from .subproblems import Subproblem
from .tasks import CallbackSupportMixin, Tasks, with_callbacks

LARGEST_DOUBLE = 1024  # rows of data that the block engine takes in double from the start
LEAST_SINGLE_TOL = 1e-4  # below this relative gap it does so as well
MOST_THREADS = 1024  # results do not depend on it, and a system that cannot start more ends the process


class KernelMachine(CallbackSupportMixin, BaseEstimator, ABC):
    """An estimator whose fit solves one or several problems over one Gram.

    A subclass gives ``_fit``, which validates, makes the ``Subproblem``s, calls ``_solve`` and reads its model from the
    results.
    """

    _clock = staticmethod(time.perf_counter)  # of max_time and of the trace
    _hard_margin = False  # whether C may be inf

    def __init__(
        self,
        *,
        C: float | None = None,
        kernel: str | Callable[..., Any],
        degree: int,
        gamma: float | str,
        coef0: float,
        solver: str,
        tol: float,
        eps: float,
        max_iter: int,
        max_time: float | None,
        start_size: int,
        sampling: int | Sampling | None,
        cache_size: float | None,
        warm_start: bool,
        checkpoint: Any,
        n_jobs: int | None,
        random_state: Any,
        on_interrupt: str,
        callbacks: Any,
        verbose: int,
    ) -> None:
        self.C: Any = C  # of those that have it
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.solver = solver
        self.tol = tol
        self.eps = eps
        self.max_iter = max_iter
        self.max_time = max_time
        self.start_size = start_size
        self.sampling = sampling
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.on_interrupt = on_interrupt
        self.callbacks = callbacks
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # ---- fit ------------------------------------------------------------------------------------------------

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Validate, solve, and read the model."""

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit_or_forget(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """``_fit``, which leaves an unfitted estimator behind an error or an interrupt."""
        self._began = self._clock()
        self._tasks = Tasks(self, X, y, sample_weight) if hasattr(self, "_skl_callbacks") else None
        try:
            if self._tasks:
                forget_fit(self)  # copies that callbacks see have nothing of the last fit
            self._fit(X, y, sample_weight)
            if self._tasks:
                self._tasks.end()
            return self
        except BaseException:
            forget_fit(self)
            raise
        finally:
            del self._tasks, self._began

    def _check_parameters(self) -> None:
        self._check_numbers()
        Interrupts(self.on_interrupt)
        Observers(self.callbacks, self.verbose, 1)
        if self.checkpoint is not None:
            as_checkpoint(self.checkpoint)
        make_solver(self.solver)
        make_stop(self.tol, self.eps, self.max_iter, self.max_time)

    def _check_numbers(self) -> None:
        """Those that no part of the fit checks itself: kernels check theirs, stop rules theirs."""
        if "C" in self.get_params(deep=False):
            allowed = f"a positive finite number{', or inf' if self._hard_margin else ''}"
            check_number("C", self.C, lambda C: 0 < C < np.inf or (self._hard_margin and C > 0), allowed)
        check_integer("start_size", self.start_size, lambda size: size >= 1, "a positive integer")
        if self.n_jobs is not None:
            allowed = "a number of threads, or None or -1 for all"
            check_integer("n_jobs", self.n_jobs, lambda count: count >= 1 or count == -1, allowed)
        if self.sampling is not None and not isinstance(self.sampling, Sampling):
            allowed = "a positive integer, or None to look at every row"
            check_integer("sampling", self.sampling, lambda size: size >= 1, allowed)
        if self.cache_size is not None:
            allowed = "a number of megabytes, 0 or more"
            check_number("cache_size", self.cache_size, lambda size: 0 <= size < np.inf, allowed)

    def _checked_rows(self, X: Any, y: Any = "no_validation", *, reset: bool = False, y_numeric: bool = False) -> Any:
        """X, or X and y, as the core takes them; to predict (``reset=False``) only by a fitted estimator."""
        if not reset:
            check_is_fitted(self)
        options: dict[str, Any] = {"y_numeric": True} if y_numeric else {}
        found = validate_data(
            self, X, y, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", **options
        )
        rows = found[0] if isinstance(found, tuple) else found
        if reset and self.kernel == "precomputed" and rows.shape[0] != rows.shape[1]:
            raise ValueError(f"a precomputed kernel matrix is square (n_samples x n_samples); X has shape {rows.shape}")
        if reset and sp.issparse(rows):
            rows = with_own_structure(rows)
        return (rows, found[1]) if isinstance(found, tuple) else rows

    def _make_kernel(self, X: Any, weights: np.ndarray) -> Kernel:
        gamma: float = 1.0
        if isinstance(self.kernel, str) and self.kernel in KERNELS:
            cls = KERNELS[self.kernel]
            if "gamma" in cls.parameter_names():
                gamma = resolve_gamma(self.gamma, cls, X, weights if (weights != 1).any() else None)
        kernel = make_kernel(self.kernel, gamma=gamma, coef0=self.coef0, degree=self.degree)
        if isinstance(kernel, Function):
            kernel.check_symmetric(X)
        return kernel

    def _merged(self, X: Any, keys: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Weights with those of equal rows added up. The paper's solvers get the problem as it is given."""
        mergeable = self.solver == "block" and isinstance(self.kernel, str) and self.kernel != "precomputed"
        return merged_weights(X, keys, weights) if mergeable else weights

    def _solve(self, gram: Gram, subproblems: Sequence[Subproblem]) -> list[Result]:
        """Run each problem to its certified end."""
        problems = (sub.on(gram) for sub in subproblems)
        warn_of_scaling(gram, lambda: total_weight(problems), getattr(self, "feature_names_in_", None))
        kept: Kept | None = getattr(self, "_kept", None) if self.warm_start else None
        fitting = Fitting(self, subproblems, kept, self._checkpoint_file(gram, subproblems))
        if self._tasks:
            self._tasks.begin(subproblems)
        results, self.cache_counts_ = fitting.solve(gram)
        self._keep(gram, fitting.ended)
        return results

    def _threads(self) -> int | None:
        return None if self.n_jobs is None or self.n_jobs < 0 else min(int(self.n_jobs), MOST_THREADS)

    def _value_type(self, kernel: Kernel, X: Any) -> Any:
        """Kernel values in single precision where they resolve the gap; certificates are in double in any case.

        Without a ridge their rounding would decide whether classes are separable.
        """
        if self._hard_margin and np.isinf(self.C):
            return np.float64
        if self.solver == "block" and self.tol < LEAST_SINGLE_TOL and not isinstance(kernel, Precomputed):
            return np.float64  # blocks that single precision cannot solve any further take long to find that out
        single = self.solver == "block" and X.shape[0] > LARGEST_DOUBLE
        if not single or isinstance(kernel, Precomputed | Function) or not _fits_single(kernel, X):
            return X.dtype
        return np.float32

    def _set_vectors(self, X: Any, kernel: Kernel, support: np.ndarray) -> None:
        """Support vectors, and the kernel that goes with them."""
        self.support_ = support.astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if self.kernel == "precomputed" else X[support]
        self._fitted_kernel = kernel
        if "gamma" in kernel.parameter_names():
            self.gamma_ = kernel.gamma  # type: ignore[attr-defined]

    def _set_certificate(self, subproblems: Sequence[Subproblem], results: list[Result]) -> None:
        self.results_ = results
        self.n_iter_ = np.array([r.iterations for r in results], dtype=np.int64)
        self.dual_gap_ = max(0.0, *(r.gap for r in results))  # below zero it is rounding
        self.relative_gap_ = max(r.relative_gap for r in results)
        self.stop_reason_ = next((r.stop_reason for r in results if not r.converged), "gap")
        self.fit_status_ = 0 if self.stop_reason_ == "gap" else 1
        self.trace_ = _joined_traces(results)
        self.n_evaluations_ = sum(r.evaluations for r in results)
        for sub, result in zip(subproblems, results, strict=True):
            if not result.converged:
                warn_not_converged(result, f"{type(self).__name__}, {sub.name},")
                break

    # ---- going on ---------------------------------------------------------------------------------------------

    def _open_gram(self, kernel: Kernel, X: Any, groups: list[np.ndarray]) -> Gram:
        """The Gram of the last fit if it is the same, else a new one."""
        kept: Kept | None = getattr(self, "_kept", None) if self.warm_start else None
        if kept is not None and kept.serves(X, self._gram_settings(kernel, X, groups)):
            return kept.gram
        options: dict[str, Any] = {"cache_size": self.cache_size, "n_threads": self._threads()}
        return Gram(kernel, X, groups=groups, dtype=self._value_type(kernel, X), **options)

    def _gram_settings(self, kernel: Kernel, X: Any, groups: list[np.ndarray]) -> Any:
        settings = (
            kernel,
            np.dtype(self._value_type(kernel, X)),
            self.cache_size,
            self.n_jobs,
            kernel_identity(kernel, X),
        )
        return (*settings, fingerprint(*(rows.astype(np.int32) for rows in groups)), fingerprint(X))

    def _solver_settings(self) -> Any:
        return self.solver, self.sampling

    def _keep(self, gram: Gram, ended: dict[tuple[Any, ...], Run]) -> None:
        self.__dict__.pop("_kept", None)
        if self.warm_start:
            runs = {labels: (run.state, run.memory) for labels, run in ended.items() if run.memory is not None}
            settings = self._gram_settings(gram.kernel, gram.X, gram.groups)
            self._kept = Kept(gram, settings, self._solver_settings(), runs)

    def _checkpoint_file(self, gram: Gram, subproblems: Sequence[Subproblem]) -> CheckpointFile | None:
        if self.checkpoint is None:
            return None
        identity = {
            "estimator": type(self).__name__,
            "rows": fingerprint(gram.X),
            "kernel": kernel_identity(gram.kernel, gram.X),
            "precision of kernel values": str(gram.dtype),
            "solver": repr(self._solver_settings()),
            "C": repr(self.C and float(self.C)),
            "labels or weights": fingerprint(*(described(sub.on(gram)) for sub in subproblems)),
        }
        return CheckpointFile(as_checkpoint(self.checkpoint), identity, subproblems)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_kept", None)  # the kernel cache does not travel
        state.pop("_tasks", None)  # nor do the rows of a fit
        state.pop("_began", None)
        return state


def as_checkpoint(checkpoint: Any) -> Checkpoint:
    """A checkpoint that may be given by its path alone."""
    return checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)


def with_own_structure(X: Any) -> Any:
    """CSR rows with the same values and copies of ``indices`` and ``indptr``.

    The core follows these without looking at them again, and callbacks that write into X run during the fit.
    """
    if not X.has_canonical_format:  # SciPy subtracts such rows in arrays as long as they are wide
        X = X.copy()
        X.sum_duplicates()
        return X
    return type(X)((X.data, X.indices.copy(), X.indptr.copy()), shape=X.shape)


def forget_fit(estimator: BaseEstimator) -> None:
    """Leave no half of a model, nor the model of other data, behind an error or an interrupt."""
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("__")]:
        delattr(estimator, name)


def _fits_single(kernel: Kernel, X: Any) -> bool:
    """Whether squares, products and kernel values stay well within the range of float32."""
    entries = X.data if sp.issparse(X) else X
    largest = max(float(entries.max(initial=0.0)), -float(entries.min(initial=0.0)))
    if largest == 0:
        return True
    gamma, coef0 = math.log10(getattr(kernel, "gamma", 1.0)), abs(getattr(kernel, "coef0", 0.0))
    square = math.log10(X.shape[1]) + 2 * math.log10(largest)
    power = max(getattr(kernel, "degree", 1), 1) * max(gamma + square, math.log10(1 + coef0))
    in_range = max(abs(gamma), abs(square)) < 30 and (power < 35 or isinstance(kernel, Rbf | Laplacian))
    return in_range and not (sp.issparse(X) and _loses_digits(kernel, X))


def _loses_digits(kernel: Kernel, X: Any) -> bool:
    """Whether distances of sparse rows, which come from their norms, could have too few digits in single precision."""
    if not isinstance(kernel, Rbf | Laplacian):
        return False
    power = 2 if isinstance(kernel, Rbf) else 1
    entries = np.diff(X.indptr)
    owner = np.repeat(np.arange(X.shape[0]), entries)
    largest = np.bincount(owner, np.abs(X.data.astype(np.float64)) ** power, minlength=1).max()
    return bool(kernel.gamma * 4 * largest * entries.max(initial=0) * np.finfo(np.float32).eps > 0.1)


def _joined_traces(results: list[Result]) -> np.ndarray:
    parts = []
    for pair, result in enumerate(results):
        records = result.trace.array()
        part = np.empty(len(records), [("pair", np.int64), *RECORD.descr])
        part["pair"] = pair
        for name in RECORD.names or ():
            part[name] = records[name]
        parts.append(part)
    return np.concatenate(parts)
