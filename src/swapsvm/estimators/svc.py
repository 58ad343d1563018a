"""Support vector classification."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..kernels import Kernel
from ..problems import L2SVC, Expansion
from ..state import Sampling, State
from .machine import KernelMachine
from .prediction import certain_decisions, kernel_decisions, linear_coefficients, one_versus_rest
from .separation import Inseparable, check_separable
from .subproblems import Pair, Subproblem


class SVC(ClassifierMixin, KernelMachine):
    """Kernel support vector classifier with squared hinge loss, trained on the simplex and certified.

    The problem solved, for each pair of classes, is the L2-SVM with a regularized bias,

        min over w, b, xi:  1/2 |w|^2 + 1/2 b^2 + C/2 sum_i s_i xi_i^2,   y_i (w'phi(x_i) + b) >= 1 - xi_i,

    s being the sample weights. Every fit reports a certificate: the duality gap, recomputed in double precision.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss. ``LinearSVC(loss="squared_hinge", C=C/2)`` solves the same problem for a linear kernel.
        ``inf`` is the hard margin: no row may be on the wrong side of it, and classes that no hyperplane separates are
        refused with a proof (``NotSeparableError``). Weights of rows then have no effect, unless they are 0.
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
        Number of random rows in the initial subproblem.
    sampling : int or Sampling, default=None
        If given, each iteration looks for the ascent vertex among this many random rows (59 is usual) and its cost does
        not depend on the number of rows; a full pass certifies the end. Not with ``solver="block"``.
    cache_size : float, default=None
        Megabytes for kernel values. By default up to a quarter of the memory and 1 GiB.
    class_weight : dict or "balanced", default=None
        Multiplies the sample weights of each class.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Shape of ``decision_function`` for more than two classes.
    warm_start : bool, default=False
        The next fit goes on from this one. With the same data, parameters of the problem and solver it continues
        exactly, as if it had never ended: limits count anew, ``n_iter_`` and ``trace_`` go on. Else, with another C,
        other weights or more rows, it starts from this solution; rows are known by their place, new ones enter with
        weight 0. The kernel cache is kept for the same rows.
    checkpoint : str, path or Checkpoint, default=None
        A file in which the fit is kept, every 60 seconds and at its end. A fit that finds one goes on from there; one
        of other data or parameters is refused. Certificates are never read, but computed.
    n_jobs : int, default=None
        Threads. By default OMP_NUM_THREADS, or all processors that the process may use.
    random_state : int, RandomState or None, default=0
        Chooses the rows of the start, and samples. None takes others each time.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does: raise ``KeyboardInterrupt`` and leave the estimator unfitted, or end the fit with the model so
        far, which is feasible and certified (``stop_reason_`` is ``"interrupted"``). A second Ctrl-C raises.
    callbacks : callable or list of callables, default=None
        Called about twenty times a second with a ``FitProgress``; one that returns False ends the fit with the model so
        far (``stop_reason_`` is ``"callback"``). Pairs of classes that are fitted side by side call in turn.
        scikit-learn's own callbacks are set by ``set_callbacks``.
    verbose : int, default=0
        1 shows a progress bar on stderr, or lines where there is no terminal or no rich (``swapsvm[demo]``).

    Attributes
    ----------
    classes_, class_weight_, n_features_in_, feature_names_in_
        As in scikit-learn.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, fit_status_, shape_fit_
        As in scikit-learn's SVC. ``n_iter_`` has one entry per pair of classes; ``fit_status_`` is 0 if all converged.
        Where rows are merged (see Notes), ``support_`` lists the first of equal rows only.
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

    Notes
    -----
    Of 1024 rows or more, equal rows of one class are merged into the first of them, which gets the weight of all, if
    that saves about a tenth of the rows or more. This is exact: the decision function and its certificate are those of
    the rows as given, among which a merged coefficient is shared out equally. Rows are not merged for
    ``kernel="precomputed"``, for functions, and for other solvers than "block".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from swapsvm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(C=16).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.relative_gap_ <= 0.01, model.stop_reason_
    (True, True, 'gap')
    """

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
        checkpoint: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        on_interrupt: str = "raise",
        callbacks: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            C=C,
            kernel=kernel,
            degree=degree,
            gamma=gamma,
            coef0=coef0,
            solver=solver,
            tol=tol,
            eps=eps,
            max_iter=max_iter,
            max_time=max_time,
            start_size=start_size,
            sampling=sampling,
            cache_size=cache_size,
            warm_start=warm_start,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
            on_interrupt=on_interrupt,
            callbacks=callbacks,
            verbose=verbose,
        )
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape

    _hard_margin = True

    # ---- fit ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            float32 stays float32 (and is about twice as fast); everything else becomes float64. Its values are not
            copied if they need not be converted: do not write into them during the fit.
        y : array of shape (n_samples,)
            Labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            A row of weight w counts as w rows, exactly; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        return self._fit_or_forget(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._check_parameters()
        X, y = self._checked_rows(X, y, reset=True)
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        weights, class_weight = self._row_weights(X, labels, classes, sample_weight)
        kernel = self._make_kernel(X, weights)
        weights = self._merged(X, labels, weights)
        groups = [np.flatnonzero((labels == c) & (weights > 0)) for c in range(len(classes))]
        present = [c for c, rows in enumerate(groups) if len(rows)]
        if len(present) < 2:
            raise ValueError(f"at least two classes with positive weight are needed; got {len(present)} class")
        pairs = list(combinations(present, 2))
        subproblems = self._subproblems(pairs, groups, classes, weights)
        gram = self._open_gram(kernel, X, groups)
        results = self._solve(gram, subproblems)
        if np.isinf(self.C):
            for sub, result in zip(subproblems, results, strict=True):
                check_separable(sub, sub.on(gram), result)
        expansions = [sub.on(gram).model(r.weights, r.value) for sub, r in zip(subproblems, results, strict=True)]
        self._set_model(X, kernel, groups, dict(zip(pairs, expansions, strict=True)))
        self.classes_, self.class_weight_ = classes, class_weight
        self.shape_fit_ = X.shape
        self._present = present
        self._set_certificate(subproblems, results)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(f"decision_function_shape={self.decision_function_shape!r} must be 'ovr' or 'ovo'")

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

    def _subproblems(
        self, pairs: Sequence[Pair], groups: list[np.ndarray], classes: np.ndarray, weights: np.ndarray
    ) -> list[Subproblem]:
        row_weights = weights if (weights != 1).any() else None

        def of(pair: Pair) -> Subproblem:
            positive, negative = pair if len(groups) > 2 else pair[::-1]  # as scikit-learn: classes_[1] is positive
            return Subproblem(
                labels=tuple(classes[list(pair)].tolist()),
                rows=sum(len(groups[c]) for c in pair),
                on=lambda gram: L2SVC.of(gram, positive, negative, self.C, row_weights),
                fitted=lambda model, problem, state: model._set_pair(
                    [groups[c] for c in pair], classes[list(pair)], problem, state
                ),
                stop=Inseparable.of if np.isinf(self.C) else None,
            )

        return [of(pair) for pair in pairs]

    def _set_pair(self, groups: list[np.ndarray], classes: np.ndarray, problem: L2SVC, state: State) -> None:
        """The model of one pair of classes, of which ``classes_[1]`` is positive."""
        expansion = problem.model(state.weights, state.value)
        sign = 1.0 if problem.rows[0] in groups[1] else -1.0
        turned = Expansion(expansion.rows, sign * expansion.coef, sign * expansion.intercept)
        self._set_model(problem.gram.X, problem.gram.kernel, groups, {(0, 1): turned})
        self.classes_, self._present = classes, [0, 1]

    def _set_model(self, X: Any, kernel: Kernel, groups: list[np.ndarray], expansions: dict[Pair, Expansion]) -> None:
        """Support vectors by class and, within one, by row; coefficients in LIBSVM's layout."""
        used = np.zeros(X.shape[0], dtype=bool)
        for expansion in expansions.values():
            used[expansion.rows] = True
        by_class = [rows[used[rows]] for rows in groups]
        self._set_vectors(X, kernel, np.concatenate(by_class))
        if np.isinf(self.C):  # decisions in single precision could put a row on the wrong side of a small margin
            self.support_vectors_ = self.support_vectors_.astype(np.float64)
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

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, for a linear kernel: one row per pair of classes."""
        check_is_fitted(self)
        if self.kernel != "linear":
            raise AttributeError(f"coef_ is only there for kernel='linear', not for kernel={self.kernel!r}")
        return linear_coefficients(self)
