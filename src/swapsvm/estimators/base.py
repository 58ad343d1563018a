"""What all kernel estimators share: their parameters, the frame of a fit, the certificate."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from os import PathLike
from typing import Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..arrays import ArrayLike, KernelFunction, Matrix, MatrixLike
from ..fitting.budget import Fitted, fit_over_few
from ..fitting.callbacks import CallbackSupportMixin, Tasks, with_callbacks
from ..fitting.checkpoint import Checkpoint
from ..fitting.continuation import Kept
from ..fitting.diagnosis import total_weight, warn_of_scaling
from ..fitting.growing import Batches
from ..fitting.inputs import value_type
from ..fitting.progress import Callback
from ..fitting.results import Results
from ..fitting.session import Reader, Session
from ..fitting.subproblems import Subproblem
from ..fitting.workers import Planned, thread_limit
from ..gram import Gram
from ..kernels import GAMMA_RULES, KERNELS, Kernel
from ..problems import Coefficients
from ..result import Result, warn_not_converged
from ..solvers import SOLVERS
from ..state import Sampling
from ..trace import RECORD
from .constraints import (
    COUNT,
    FINITE,
    MINUS_ONE,
    NOT_NEGATIVE,
    POSITIVE,
    POSITIVE_OR_INF,
    TRUE_OR_FALSE,
    count_up_to,
    key_of,
    one_of,
)
from .declaration import ModelAttribute, check_declared, estimator, parameter
from .scikit import ScikitEstimator

Method = TypeVar("Method")
EXPECTED = ("max_vectors", "gap")  # reasons to stop that are no failure to converge


@estimator
class KernelMachine(CallbackSupportMixin, ScikitEstimator, ABC):
    """An estimator whose fit solves one or several problems over one Gram.

    A subclass gives ``_fit``, which validates its input, plans its problems, calls ``_solve`` and reads its model,
    ``model_``, from the results.
    """

    kernel: str | KernelFunction = parameter(
        default="rbf",
        kind='{"linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"} or callable',
        text="""
        A callable takes two blocks of rows and returns the block of their kernel values. A kernel object of
        ``swapsvm.kernels``, such as a ``Sum`` over groups of columns, comes with its own parameters.
        """,
        allowed=[key_of(KERNELS), callable],
    )
    degree: int = parameter(
        default=3, kind="int", text="Degree of the polynomial kernel.", allowed=[count_up_to(2**31 - 1)]
    )
    gamma: float | str = parameter(
        default="scale",
        kind='{"scale", "auto", "mean_sq_dist", "cvm"} or float',
        text="""
        ``"scale"`` is 1 / (n_features * X.var()), ``"auto"`` is 1 / n_features, ``"mean_sq_dist"`` is 1 / (2 * mean
        squared distance of the rows) (1 / mean for "poly"), ``"cvm"`` is 2 / mean on a sample.
        """,
        allowed=[one_of(*GAMMA_RULES), POSITIVE],
    )
    coef0: float = parameter(
        default=0.0,
        kind="float",
        text="Constant term of the polynomial and the sigmoid kernel.",
        allowed=[FINITE],
    )
    solver: str = parameter(
        default="block",
        kind='{"fw", "mfw", "swap", "swap2", "pairwise", "blended", "lazified", "fcfw", "cvm", "block"}',
        text="""
        Frank-Wolfe, modified Frank-Wolfe (away steps), SWAP, second-order SWAP, pairwise, blended pairwise and
        lazified steps, fully corrective Frank-Wolfe, Core Vector Machine (constant kernel diagonal only), and blocks of
        swaps, which move many vertices at a time. All solve the same problem to the same gap; blocks are by far the
        fastest.
        """,
        allowed=[key_of(SOLVERS)],
    )
    tol: float = parameter(
        default=1e-3,
        kind="float",
        text="""
        Relative duality gap at which to stop: P / D - 1 for ``solver="block"``, where P is the primal value of the
        model and D the dual value, a lower bound of the optimum. The other solvers stop at the gap of the simplex, as
        in the paper, which is larger for the same model.
        """,
        allowed=[NOT_NEGATIVE],
    )
    eps: float = parameter(
        default=0.0,
        kind="float",
        text="""
        Absolute duality gap at which to stop as well, in units of the problem on the simplex (``dual_gap_``); the
        paper's criterion is ``tol=0, eps=1e-6`` with one of its solvers.
        """,
        allowed=[NOT_NEGATIVE],
    )
    max_iter: int = parameter(
        default=-1,
        kind="int",
        text="Largest number of iterations for each problem; -1 for no limit.",
        allowed=[COUNT, MINUS_ONE],
    )
    max_time: float | None = parameter(
        default=None,
        kind="float",
        text="""
        Largest number of seconds for the whole fit, certificates included: moves end in time for them. With several
        classes a pair is stopped at twice its share of the seconds that are left.
        """,
        allowed=[POSITIVE_OR_INF, None],
    )
    start_size: int = parameter(
        default=20, kind="int", text="Number of random rows in the initial subproblem.", allowed=[COUNT]
    )
    sampling: int | Sampling | None = parameter(
        default=None,
        kind="int or Sampling",
        text="""
        If given, each iteration looks for the ascent vertex among this many random rows (59 is usual), and its cost
        does not depend on the number of rows; a full pass certifies the end. Not available with ``solver="block"``.
        """,
        allowed=[COUNT, Sampling, None],
    )
    cache_size: float | None = parameter(
        default=None,
        kind="float",
        text="Megabytes for kernel values. By default up to a quarter of the memory and 1 GiB.",
        allowed=[NOT_NEGATIVE, None],
    )
    warm_start: bool = parameter(
        default=False,
        kind="bool",
        text="""
        Continue from the last fit. With the same data, parameters of the problem and solver, the next fit continues
        exactly, as if the last one had never ended: limits count anew, ``n_iter_`` and ``trace_`` go on. With another
        C, other weights or more rows it starts from the last solution; rows are matched by position, and new rows
        start with weight 0. The kernel cache is kept as long as the rows are the same.
        """,
        allowed=[TRUE_OR_FALSE],
    )
    checkpoint: str | PathLike[str] | Checkpoint | None = parameter(
        default=None,
        kind="str, path or Checkpoint",
        text="""
        A file in which the fit is saved every 60 seconds and at its end. If the file exists, the fit continues from it;
        a file of other data or parameters is refused. Certificates are always recomputed.
        """,
        allowed=[str, PathLike, Checkpoint, None],
    )
    n_jobs: int | None = parameter(
        default=None,
        kind="int",
        text="Number of threads. By default OMP_NUM_THREADS, or all processors that the process may use.",
        allowed=[COUNT, MINUS_ONE, None],
    )
    random_state: int | np.random.RandomState | None = parameter(
        default=0,
        kind="int, RandomState or None",
        text="Seed of the initial rows and of samples. None draws a fresh seed for each fit.",
        allowed=["random_state"],
    )
    on_interrupt: str = parameter(
        default="raise",
        kind='{"raise", "keep"}',
        text="""
        What Ctrl-C does: raise ``KeyboardInterrupt`` and leave the estimator unfitted, or end the fit with the present
        model, which is feasible and certified (``stop_reason_`` is ``"interrupted"``). A second Ctrl-C raises.
        """,
        allowed=[one_of("raise", "keep")],
    )
    callbacks: Callback | Iterable[Callback] | None = parameter(
        default=None,
        kind="callable or list of callables",
        text="""
        Called about twenty times a second with a ``FitProgress``. If one returns False, the fit ends with the present
        model (``stop_reason_`` is ``"callback"``). Pairs of classes that are fitted side by side call in turn.
        scikit-learn's own callbacks are set by ``set_callbacks``.
        """,
        allowed=[callable, Iterable, None],
    )
    verbose: int = parameter(
        default=0,
        kind="int",
        text="1 shows a progress bar on stderr, or lines if there is no terminal or no rich (``pip install rich``).",
        allowed=["verbose"],
    )

    _clock = staticmethod(time.perf_counter)  # of max_time and of the trace

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @abstractmethod
    def _fit(
        self, session: Session, X: MatrixLike | Batches, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> None:
        """Validate, solve, and read the model."""

    @with_callbacks
    def fit(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Train. An error or an interrupt leaves the estimator unfitted.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            float32 stays float32 (and is about twice as fast); everything else becomes float64. Values that need no
            conversion are not copied: do not write into them during the fit.
        y : array of shape (n_samples,)
            Labels of any kind for a classifier, numbers for a regression, of which ``SVR`` also takes several for each
            row, shape (n_samples, n_outputs); detectors of outliers ignore it.
        sample_weight : array of shape (n_samples,), optional
            A row of weight w counts exactly as w rows; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        self.__dict__.pop("_batches", None)
        return self._train(X, y, sample_weight)

    def _grow(self, batch: Batches) -> Self:
        """Train on all rows of earlier batches and of this one, from the last solution."""
        before = self._earlier
        grown = batch if before is None else before.and_then(batch)
        self._train(grown.rows, grown.y, grown.weights, grown)
        self._batches = grown
        return self

    @property
    def _earlier(self) -> Batches | None:
        """The batches of earlier calls of ``partial_fit``."""
        before: Batches | None = vars(self).get("_batches")
        return before

    def _train(
        self, X: MatrixLike, y: ArrayLike | None, sample_weight: ArrayLike | None, batches: Batches | None = None
    ) -> Self:
        """A fit from its checks to its end; ``batches`` are these rows if they will grow."""
        watched = hasattr(self, "_skl_callbacks")
        tasks = Tasks(self, self._init_callback_context, X, y, sample_weight) if watched else None
        try:
            self._check_settings()
            kept, grows = getattr(self, "_kept", None), batches is not None
            session = Session(self, clock=self._clock, tasks=tasks, kept=kept, grows=grows)
            if tasks:
                forget_fit(self)  # copies that callbacks see have nothing of the last fit
            self._fit(session, X if batches is None else batches, y, sample_weight)
            if tasks:
                tasks.end()
            return self
        except BaseException:
            forget_fit(self)
            raise

    def _solve(self, session: Session, gram: Gram, plan: Sequence[Planned], read: Reader[Planned]) -> Results:
        """Run each problem to its certified end."""
        self._warn_of_scaling(gram, plan)
        results = session.solve(gram, plan, read, type(self).__name__)
        self.cache_counts_ = session.cache_counts
        self._kept: Kept | None = session.kept
        return results

    def _solve_over_few(
        self, session: Session, gram: Gram, plan: Sequence[Fitted], read: Reader[Fitted], count: int
    ) -> tuple[list[Coefficients], Results]:
        """The functions of all problems over at most ``count`` vectors."""
        self._warn_of_scaling(gram, plan)
        functions, results = fit_over_few(session, gram, plan, read, count=count, estimator=type(self).__name__)
        self.cache_counts_, self._kept = session.cache_counts, None
        return functions, Results.of(results)

    def _warn_of_scaling(self, gram: Gram, plan: Sequence[Subproblem]) -> None:
        names = getattr(self, "feature_names_in_", None)
        warn_of_scaling(gram, lambda: total_weight(sub.on(gram) for sub in plan), names)

    def value_type(self, kernel: Kernel, X: Matrix) -> np.dtype:
        """The type of kernel values."""
        return value_type(self, kernel, X)

    def set_fitted(self, **attributes: object) -> Self:
        """Give the estimator fitted attributes, such as ``model_``, that come from elsewhere than ``fit``."""
        for name, value in attributes.items():
            setattr(self, name, value)
        return self

    def _set_certificate(self, plan: Sequence[Subproblem], results: Results) -> None:
        self._results_ = results
        self.n_iter_ = results.column("iterations").astype(np.int64)
        self.dual_gap_ = max(0.0, *results.column("gap").tolist())  # below zero it is rounding
        self.relative_gap_ = max(results.relative("primal_gap"))
        self.simplex_gap_ = max(results.relative("simplex_gap"))
        self.primal_value_: float | np.ndarray
        self.dual_value_: float | np.ndarray
        self.primal_value_, self.dual_value_ = results.bounds[0].tolist()
        reasons = results.stop_reasons
        self.stop_reason_ = min(reasons, key=lambda reason: EXPECTED.index(reason) if reason in EXPECTED else -1)
        self.fit_status_ = 0 if self.stop_reason_ in EXPECTED else 1
        for name in ("trace_", "results_"):  # of the last fit
            self.__dict__.pop(name, None)
        self.n_evaluations_ = int(results.column("evaluations").sum())
        for place, reason in enumerate(reasons):
            if reason not in EXPECTED:
                warn_not_converged(results[place], f"{type(self).__name__}, {plan[place].name},")
                break

    def check_parameters(self) -> None:
        """``ValueError`` if a parameter is out of its range. ``fit`` does this first."""
        self._check_settings()
        Session(self)

    def _check_settings(self) -> None:
        """Each parameter by its declaration; estimators add what must not be combined."""
        check_declared(self)

    @cached_property
    def results_(self) -> list[Result]:
        """The results of all runs, made when they are first asked for."""
        return list(self._results_)

    @cached_property
    def trace_(self) -> np.ndarray:
        """The records of all runs, joined when they are first asked for."""
        return _joined_traces(self.results_)

    support_ = ModelAttribute[np.ndarray](lambda model: model.vectors.support)
    support_vectors_ = ModelAttribute[Matrix](lambda model: model.vectors.rows)

    @property
    def gamma_(self) -> float:
        """The resolved value of ``gamma``, if the kernel has one."""
        kernel = self._fitted_kernel()
        if "gamma" not in kernel.parameter_names():
            raise AttributeError(f"gamma_ is not available: the kernel {kernel.name!r} has no gamma")
        return float(getattr(kernel, "gamma"))  # noqa: B009 - not every kernel has one

    def _fitted_kernel(self) -> Kernel:
        check_is_fitted(self)
        kernel: Kernel = self.model_.vectors.kernel
        return kernel

    def _check_linear(self, name: str) -> None:
        kernel = self._fitted_kernel().name
        if kernel != "linear":
            raise AttributeError(f"{name} is only available with kernel='linear', not with kernel={kernel!r}")

    def _threads(self) -> int:
        return thread_limit(self.n_jobs) or 0

    def __getstate__(self) -> dict[str, object]:
        state: dict[str, object] = dict(super().__getstate__())
        state.pop("_kept", None)  # the kernel cache does not travel
        if state.pop("_results_", None) is not None:
            state["results_"] = self.results_
        return state


def appending(method: Method) -> Method:
    """``partial_fit``, which a model does not have if its rows are not known."""
    decorated: Method = available_if(_can_grow)(with_callbacks(method))
    return decorated


def _can_grow(estimator: object) -> bool:
    known = "_batches" in vars(estimator) or "model_" not in vars(estimator)
    if not known:
        raise AttributeError(
            "this model does not know its training rows: only partial_fit keeps them. Call partial_fit from the first "
            "batch on, or fit all rows with warm_start=True"
        )
    return known


def forget_fit(estimator: BaseEstimator) -> None:
    """Remove every fitted attribute: an error must leave neither half a model nor the model of other data."""
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("__")]:
        delattr(estimator, name)


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
