"""Support vector classification."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import combinations
from typing import Any, Self

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..gram import Gram
from ..kernels import KERNELS, Function, Kernel, Laplacian, Precomputed, Rbf, make_kernel, resolve_gamma
from ..problems import L2SVC, Expansion
from ..solve import Result, Run, warn_not_converged
from ..solvers import make_solver
from ..state import Sampling, open_state
from ..stopping import make_stop
from ..trace import RECORD
from .interrupts import Interrupts
from .observing import Observers
from .pairs import Cancelled, Pair, SharedTime, fit_pairs, workers_for
from .prediction import certain_decisions, kernel_decisions, linear_coefficients, one_versus_rest

LARGEST_DOUBLE = 1024  # rows of data that the block engine takes in double from the start
LEAST_SINGLE_TOL = 1e-4  # below this relative gap it does so as well
MOST_THREADS = 1024  # results do not depend on it, and a system that cannot start more ends the process
SMALL = 128  # rows: such a problem is solved to the limit of double precision in milliseconds


class SVC(ClassifierMixin, BaseEstimator):
    """Kernel support vector classifier with squared hinge loss, trained on the simplex and certified.

    The problem solved, for each pair of classes, is the L2-SVM with a regularized bias,

        min over w, b, xi:  1/2 |w|^2 + 1/2 b^2 + C/2 sum_i s_i xi_i^2,   y_i (w'phi(x_i) + b) >= 1 - xi_i,

    s being the sample weights. Every fit reports a certificate: the duality gap, recomputed in double precision.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss. ``LinearSVC(loss="squared_hinge", C=C/2)`` solves the same problem for a linear kernel.
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"} or callable, default="rbf"
        A callable gets two blocks of rows and returns the block of kernel values.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto", "mean_sq_dist", "cvm"} or float, default="scale"
        ``"scale"`` is 1 / (n_features * X.var()), ``"auto"`` is 1 / n_features, ``"mean_sq_dist"`` is 1 / (2 * mean
        squared distance of the rows) (1 / mean for "poly"), ``"cvm"`` is 2 / mean on a sample.
    coef0 : float, default=0.0
        Of the polynomial and the sigmoid kernel.
    solver : {"fw", "mfw", "swap", "swap2", "fcfw", "cvm", "block"}, default="block"
        Frank-Wolfe, modified Frank-Wolfe (away steps), SWAP, second-order SWAP, fully corrective Frank-Wolfe, Core
        Vector Machine (constant kernel diagonal only), and blocks of swaps, which move many vertices at a time. All
        solve the same problem to the same gap; blocks are the fastest by far.
    tol : float, default=1e-2
        Relative duality gap at which to stop. Test accuracy is converged well before (see benchmarks/tolerance.py).
    eps : float, default=0.0
        Absolute duality gap at which to stop as well; the paper's criterion is ``tol=0, eps=1e-6``.
    max_iter : int, default=-1
        Most iterations for each pair of classes; -1 for no limit.
    max_time : float, default=None
        Most seconds for the whole fit (certificates not counted). With several classes a pair is stopped at twice its
        share of the seconds that are left.
    start_size : int, default=20
        A run starts from the solution on so many random rows.
    sampling : int or Sampling, default=None
        If given, each iteration looks for the ascent vertex among so many random rows (59 is usual) and its cost does
        not depend on the number of rows; a full pass certifies the end. Not with ``solver="block"``.
    cache_size : float, default=None
        Megabytes for kernel values. By default up to a quarter of the memory and 1 GiB.
    class_weight : dict or "balanced", default=None
        Multiplies the sample weights of each class.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Shape of ``decision_function`` for more than two classes.
    warm_start : bool, default=False
        Keep the solution and, for the same rows, the kernel cache; the next fit continues from them.
    n_jobs : int, default=None
        Threads. By default all that OpenMP grants (OMP_NUM_THREADS, CPU affinity).
    random_state : int, RandomState or None, default=0
        Chooses the rows of the start, and samples. None takes others each time.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does: raise ``KeyboardInterrupt`` and leave the estimator unfitted, or end the fit with the model so
        far, which is feasible and certified (``stop_reason_`` is ``"interrupted"``). A second Ctrl-C raises.
    callbacks : callable or list of callables, default=None
        Called about twenty times a second with a ``FitProgress``; one that returns False ends the fit with the model so
        far (``stop_reason_`` is ``"callback"``). Pairs of classes that are fitted side by side call in turn.
    verbose : int, default=0
        1 shows a progress bar on stderr, or lines where there is no terminal or no rich (``swapsvm[demo]``).

    Attributes
    ----------
    classes_, class_weight_, n_features_in_, feature_names_in_
        As in scikit-learn.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, fit_status_, shape_fit_
        As in scikit-learn's SVC. ``n_iter_`` has one entry per pair of classes; ``fit_status_`` is 0 if all converged.
    dual_gap_, relative_gap_ : float
        The certificate: the largest gap of the pairs, absolute and relative to the dual value.
    stop_reason_ : str
        ``"gap"``, or the reason of the first pair that ended otherwise (see ``Result``), such as ``"max_time"`` or
        ``"interrupted"``.
    trace_ : structured array
        Records of the run: pair, iteration, support, evaluations, kind, seconds, value, gap.
    results_ : list of Result
        One per pair of classes.
    n_evaluations_ : int
        Kernel values computed.
    cache_counts_ : dict
        Hits, misses and evictions of cached lines, bytes in use and budget.
    gamma_ : float
        The number that ``gamma`` came to, if the kernel has one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from swapsvm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(C=16).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.relative_gap_ <= 0.01, model.stop_reason_
    (True, True, 'gap')
    """

    _clock = staticmethod(time.perf_counter)  # of max_time and of the trace

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str | Callable[..., Any] = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        solver: str = "block",
        tol: float = 1e-2,
        eps: float = 0.0,
        max_iter: int = -1,
        max_time: float | None = None,
        start_size: int = 20,
        sampling: int | Sampling | None = None,
        cache_size: float | None = None,
        class_weight: dict[Any, float] | str | None = None,
        decision_function_shape: str = "ovr",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
        on_interrupt: str = "raise",
        callbacks: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
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
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.warm_start = warm_start
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            float32 stays float32 (and is about twice as fast); everything else becomes float64.
        y : array of shape (n_samples,)
            Labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            A row of weight w counts as w rows, exactly; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        try:
            return self._fit(X, y, sample_weight)
        except BaseException:
            forget_fit(self)
            raise

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        check_classification_targets(y)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"a precomputed kernel matrix is square (n_samples x n_samples); X has shape {X.shape}")
        classes, labels = np.unique(y, return_inverse=True)
        weights, class_weight = self._row_weights(X, labels, classes, sample_weight)
        kernel = self._kernel(X, weights)
        groups = [np.flatnonzero((labels == c) & (weights > 0)) for c in range(len(classes))]
        present = [c for c, rows in enumerate(groups) if len(rows)]
        if len(present) < 2:
            raise ValueError(f"at least two classes with positive weight are needed; got {len(present)} class")
        gram, started = self._warm(kernel, X, groups)
        results, expansions = self._fit_pairs(gram, groups, present, weights, started, classes)
        self._set_model(X, kernel, groups, expansions)
        self._set_certificate(results)
        self.classes_, self.class_weight_ = classes, class_weight
        self.shape_fit_ = X.shape
        self._present = present
        self._keep(X, gram, groups, results)
        for pair, result in results.items():
            if not result.converged:
                warn_not_converged(result, f"SVC, classes {classes[pair[0]]!r} and {classes[pair[1]]!r},", stacklevel=4)
                break
        return self

    def _check_parameters(self) -> None:
        if not 0 < self.C < float("inf"):
            raise ValueError(f"C={self.C!r} must be a positive finite number")
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(f"decision_function_shape={self.decision_function_shape!r} must be 'ovr' or 'ovo'")
        if self.n_jobs is not None and (int(self.n_jobs) != self.n_jobs or self.n_jobs == 0 or self.n_jobs < -1):
            raise ValueError(f"n_jobs={self.n_jobs!r} must be a number of threads, or None or -1 for all")
        Interrupts(self.on_interrupt)
        Observers(self.callbacks, self.verbose, 1)
        make_solver(self.solver)
        make_stop(self.tol, self.eps, self.max_iter, self.max_time)

    def _row_weights(
        self, X: Any, labels: np.ndarray, classes: np.ndarray, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            counts = np.bincount(labels, weights=weights, minlength=len(classes))
            class_weight = np.divide(weights.sum(), len(classes) * counts, out=np.ones(len(classes)), where=counts > 0)
        else:
            class_weight = compute_class_weight(self.class_weight, classes=classes, y=classes[labels])
        if not (np.isfinite(class_weight).all() and (class_weight >= 0).all()):
            raise ValueError(f"class_weight={self.class_weight!r} must give finite numbers, none negative")
        return weights * class_weight[labels], class_weight

    def _kernel(self, X: Any, weights: np.ndarray) -> Kernel:
        gamma: float = 1.0
        if isinstance(self.kernel, str) and self.kernel in KERNELS:
            cls = KERNELS[self.kernel]
            if "gamma" in cls.parameter_names():
                gamma = resolve_gamma(self.gamma, cls, X, weights if (weights != 1).any() else None)
        return make_kernel(self.kernel, gamma=gamma, coef0=self.coef0, degree=self.degree)

    def _fit_pairs(
        self,
        gram: Gram,
        groups: list[np.ndarray],
        present: list[int],
        weights: np.ndarray,
        started: dict[Pair, np.ndarray],
        classes: np.ndarray,
    ) -> tuple[dict[Pair, Result], dict[Pair, Expansion]]:
        random = check_random_state(self.random_state)
        row_weights = weights if (weights != 1).any() else None
        stop = make_stop(self.tol, self.eps, self.max_iter, None)
        pairs = list(combinations(present, 2))
        workers = 1 if self.warm_start else workers_for(gram, pairs, self._threads())  # a kept cache serves all pairs
        rows = {(a, b): len(groups[a]) + len(groups[b]) for a, b in pairs}
        interrupts = Interrupts(self.on_interrupt)
        observers = Observers(self.callbacks, self.verbose, len(pairs))
        time_left = SharedTime(self.max_time, rows, workers, self._clock)
        seeds = {pair: random.randint(2**31) for pair in pairs}

        def fit(gram: Gram, pair: Pair, cancelled: Cancelled) -> tuple[Result, Expansion]:
            rng = np.random.default_rng(seeds[pair])
            positive, negative = pair if len(groups) > 2 else pair[::-1]  # as scikit-learn: classes_[1] is positive
            problem = L2SVC.of(gram, positive, negative, self.C, row_weights)
            state = open_state(problem, sampling=self.sampling, seed=int(rng.integers(2**63)))
            rules = stop | time_left.share(pair) | cancelled | interrupts | observers
            labels = (classes[pair[0]], classes[pair[1]])
            watched = observers.watch(labels, rules.target) if observers.wanted else None
            run = Run(state, make_solver(self.solver), rules, watched, self._clock)
            run.begin(started.get(pair), self.start_size, rng)
            result = run.finish(exact_below=SMALL)
            observers.finished(labels, result)
            return result, problem.model(result.weights, result.value)

        with interrupts, observers:
            found, self.cache_counts_ = fit_pairs(gram, pairs, workers, fit)
        return {pair: found[pair][0] for pair in pairs}, {pair: found[pair][1] for pair in pairs}

    def _threads(self) -> int | None:
        return None if self.n_jobs is None or self.n_jobs < 0 else min(int(self.n_jobs), MOST_THREADS)

    def _value_type(self, kernel: Kernel, X: Any) -> Any:
        """Kernel values in single precision where they resolve the gap; certificates are in double in any case."""
        single = self.solver == "block" and self.tol >= LEAST_SINGLE_TOL and X.shape[0] > LARGEST_DOUBLE
        if not single or isinstance(kernel, Precomputed | Function) or not _fits_single(kernel, X):
            return X.dtype
        return np.float32

    def _set_model(self, X: Any, kernel: Kernel, groups: list[np.ndarray], expansions: dict[Pair, Expansion]) -> None:
        """Support vectors by class and, within one, by row; coefficients in LIBSVM's layout."""
        used = np.unique(np.concatenate([e.rows for e in expansions.values()]))
        by_class = [np.intersect1d(rows, used) for rows in groups]
        self.support_ = np.concatenate(by_class).astype(np.int32)
        self.n_support_ = np.array([len(rows) for rows in by_class], dtype=np.int32)
        place = np.full(X.shape[0], -1)
        place[self.support_] = np.arange(len(self.support_))
        owner = np.repeat(np.arange(len(groups)), self.n_support_)
        n_classes = len(groups)
        pairs = list(combinations(range(n_classes), 2))
        self.dual_coef_ = np.zeros((max(n_classes - 1, 1), len(self.support_)))
        self.intercept_ = np.zeros(len(pairs))
        for index, (a, b) in enumerate(pairs):
            if (a, b) not in expansions:
                continue
            expansion = expansions[a, b]
            at = place[expansion.rows]
            self.dual_coef_[np.where(owner[at] == a, b - 1, a) if n_classes > 2 else 0, at] = expansion.coef
            self.intercept_[index] = expansion.intercept
        self.support_vectors_ = np.empty((0, 0)) if self.kernel == "precomputed" else X[self.support_]
        self._fitted_kernel = kernel
        if "gamma" in kernel.parameter_names():
            self.gamma_ = kernel.gamma  # type: ignore[attr-defined]

    def _set_certificate(self, results: dict[Pair, Result]) -> None:
        ordered = list(results.values())
        self.results_ = ordered
        self.n_iter_ = np.array([r.iterations for r in ordered], dtype=np.int64)
        self.dual_gap_ = max(r.gap for r in ordered)
        self.relative_gap_ = max(r.relative_gap for r in ordered)
        self.stop_reason_ = next((r.stop_reason for r in ordered if not r.converged), "gap")
        self.fit_status_ = 0 if self.stop_reason_ == "gap" else 1
        self.trace_ = _joined_traces(ordered)
        self.n_evaluations_ = sum(r.evaluations for r in ordered)

    # ---- warm start -------------------------------------------------------------------------------------------

    def _warm(self, kernel: Kernel, X: Any, groups: list[np.ndarray]) -> tuple[Gram, dict[Pair, np.ndarray]]:
        """The Gram and the weights of the last fit as far as they fit this one, else new ones."""
        kept = getattr(self, "_kept", None) if self.warm_start else None
        same_rows = (
            kept is not None
            and len(kept["groups"]) == len(groups)
            and all(np.array_equal(a, b) for a, b in zip(kept["groups"], groups, strict=True))
        )
        started = kept["weights"] if kept is not None and same_rows else {}
        same_settings = kept is not None and kept["settings"] == (
            kernel,
            self._value_type(kernel, X),
            self.cache_size,
            self.n_jobs,
        )
        # Neither these rows nor those that the Gram refers to may have changed since.
        if kept and same_rows and same_settings and kept["rows"] == joblib.hash(X) == joblib.hash(kept["gram"].X):
            return kept["gram"], started
        options: dict[str, Any] = {"cache_size": self.cache_size, "n_threads": self._threads()}
        return Gram(kernel, X, groups=groups, dtype=self._value_type(kernel, X), **options), started

    def _keep(self, X: Any, gram: Gram, groups: list[np.ndarray], results: dict[Pair, Result]) -> None:
        if not self.warm_start:
            self.__dict__.pop("_kept", None)
            return
        weights = {pair: result.weights for pair, result in results.items()}
        settings = (gram.kernel, self._value_type(gram.kernel, X), self.cache_size, self.n_jobs)
        rows = joblib.hash(X)
        self._kept = {"gram": gram, "rows": rows, "settings": settings, "groups": groups, "weights": weights}

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_kept", None)  # the kernel cache does not travel
        return state

    # ---- prediction -------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distances in units of the margin.

        Two classes: shape (n_samples,), positive for ``classes_[1]``. More: one column per class (``"ovr"``: votes,
        ties broken by summed decision values) or per pair of classes (``"ovo"``: positive for the first of the pair).
        """
        decisions = kernel_decisions(self, self._checked_rows(X))
        if len(self.classes_) == 2:
            return decisions[:, 0]
        return (
            decisions
            if self.decision_function_shape == "ovo"
            else one_versus_rest(decisions, len(self.classes_), self._present)
        )

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row; with more than two classes by votes of the pairs, ties by summed decision values."""
        decisions = certain_decisions(self, self._checked_rows(X))
        if len(self.classes_) == 2:
            return self.classes_[(decisions[:, 0] > 0).astype(int)]
        return self.classes_[np.argmax(one_versus_rest(decisions, len(self.classes_), self._present), axis=1)]

    def _checked_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, for a linear kernel: one row per pair of classes."""
        check_is_fitted(self)
        if self.kernel != "linear":
            raise AttributeError(f"coef_ is only there for kernel='linear', not for kernel={self.kernel!r}")
        return linear_coefficients(self)


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
    return max(abs(gamma), abs(square)) < 30 and (power < 35 or isinstance(kernel, Rbf | Laplacian))


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
