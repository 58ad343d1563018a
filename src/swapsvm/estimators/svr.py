"""Support vector regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..gram import Gram
from ..kernels import Kernel
from ..parameters import check_number
from ..problems import L2SVR
from ..solve import Result
from ..state import Sampling, State
from .machine import KernelMachine
from .prediction import expansion_values
from .subproblems import Subproblem

LARGEST_RATIO = 1e6  # of k(x, x) and 1/C in single precision


class SVR(RegressorMixin, KernelMachine):
    """Kernel support vector regression with squared loss outside of a tube, trained on the simplex and certified.

    The problem solved is, f(x) = w'phi(x) + b being the prediction and s the sample weights,

        min over w, b:  1/2 |w|^2 + 1/2 b^2 + C/2 sum_i s_i max(|y_i - f(x_i)| - epsilon, 0)^2.

    Every fit reports a certificate: this value at the model minus that of its dual, recomputed in double precision.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss. For a linear kernel ``LinearSVR(loss="squared_epsilon_insensitive", C=C/2)`` solves the same
        problem.
    epsilon : float or "auto", default=0.1
        Half the width of the tube, in units of y: smaller residuals cost nothing, and rows inside are no support
        vectors. ``"auto"`` learns it, as Core Vector Regression does: epsilon becomes a variable with the price
        C * mu * sum_i s_i, which makes mu the mean of what residuals exceed the tube by; mu is a tenth of the standard
        deviation of y.
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
        Relative duality gap at which to stop. Test errors are converged well before.
    eps : float, default=0.0
        Absolute duality gap at which to stop as well; the paper's criterion is ``tol=0, eps=1e-6``.
    max_iter : int, default=-1
        Most iterations; -1 for no limit.
    max_time : float, default=None
        Most seconds (certificates not counted).
    start_size : int, default=20
        Number of random rows in the initial subproblem.
    sampling : int or Sampling, default=None
        If given, each iteration looks for the ascent vertex among this many random rows (59 is usual) and its cost does
        not depend on the number of rows; a full pass certifies the end. Not with ``solver="block"``.
    cache_size : float, default=None
        Megabytes for kernel values. By default up to a quarter of the memory and 1 GiB.
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
        far (``stop_reason_`` is ``"callback"``).
        scikit-learn's own callbacks are set by ``set_callbacks``.
    verbose : int, default=0
        1 shows a progress bar on stderr, or lines where there is no terminal or no rich (``swapsvm[demo]``).

    Attributes
    ----------
    n_features_in_, feature_names_in_
        As in scikit-learn.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, fit_status_, shape_fit_
        As in scikit-learn's SVR; ``fit_status_`` is 0 if the fit converged. Equal rows of the same target are merged as
        in ``SVC``, and ``support_`` then lists the first of them only.
    epsilon_ : float
        Half the width of the tube, given or learned.
    dual_gap_, relative_gap_ : float
        The certificate: primal minus dual value, absolute and relative to the dual value. With ``epsilon="auto"`` the
        primal value has the price of ``epsilon_`` in it.
    stop_reason_ : str
        ``"gap"``, or why the fit ended before (see ``Result``), such as ``"max_time"`` or ``"interrupted"``.
    trace_ : structured array
        Records of the run: pair (0), iteration, support, evaluations, kind, seconds, value, gap.
    results_ : list of one Result
        Its weights are those of the rows above the tube, of the rows below, and of the slack vertex.
    n_evaluations_ : int
        Kernel values computed.
    cache_counts_ : dict
        Hits, misses and evictions of cached lines, bytes in use and budget.
    gamma_ : float
        The number that ``gamma`` came to, if the kernel has one.

    Examples
    --------
    >>> import numpy as np
    >>> from swapsvm import SVR
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> model = SVR(C=10, epsilon=0.05).fit(X, y)
    >>> bool(np.abs(model.predict(X) - y).max() < 0.1), model.relative_gap_ <= 0.01, model.stop_reason_
    (True, True, 'gap')
    >>> len(model.support_) < 100  # the others are inside of the tube
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float | str = 0.1,
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
        self.epsilon = epsilon

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if precomputed
            float32 stays float32 (and is about twice as fast); everything else becomes float64. Its values are not
            copied if they need not be converted: do not write into them during the fit.
        y : array of shape (n_samples,)
            Numbers. The bias is regularized, so targets far from zero are better centred.
        sample_weight : array of shape (n_samples,), optional
            A row of weight w counts as w rows, exactly; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        return self._fit_or_forget(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._check_parameters()
        X, y = self._checked_rows(X, y, reset=True, y_numeric=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        kernel = self._make_kernel(X, weights)
        weights = self._merged(X, y, weights)
        rows = np.flatnonzero(weights > 0)
        gram = self._open_gram(kernel, X, [rows])
        subproblem = self._subproblem(len(rows), y.astype(np.float64), weights if (weights != 1).any() else None)
        results = self._solve(gram, [subproblem])
        self._set_model(subproblem.on(gram), results[0])
        self.shape_fit_ = X.shape
        self._set_certificate([subproblem], results)
        self.n_iter_ = results[0].iterations  # type: ignore[assignment]  # a number, as in scikit-learn's SVR
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.epsilon, str) or self.epsilon != "auto":
            allowed = "a finite number, 0 or more, or 'auto'"
            check_number("epsilon", self.epsilon, lambda epsilon: 0 <= epsilon < float("inf"), allowed)

    def _subproblem(self, rows: int, y: np.ndarray, weights: np.ndarray | None) -> Subproblem:
        epsilon = None if isinstance(self.epsilon, str) else float(self.epsilon)
        return Subproblem(
            labels=(),
            rows=rows,
            on=lambda gram: L2SVR.of(gram, y, self.C, epsilon, weights),
            fitted=lambda model, problem, state: model._set_model(problem, state),
        )

    def _value_type(self, kernel: Kernel, X: Any) -> Any:
        """Single precision has no digits for the ridge 1/C beside kernel values that are millions of times larger."""
        chosen = super()._value_type(kernel, X)
        if np.dtype(chosen).itemsize >= X.dtype.itemsize:
            return chosen
        return chosen if self.C * Gram(kernel, X, cache_size=0).diagonal().max() < LARGEST_RATIO else X.dtype

    def _set_model(self, problem: L2SVR, at: Result | State) -> None:
        expansion = problem.model(at.weights, at.value)
        self._set_vectors(problem.gram.X, problem.gram.kernel, expansion.rows)
        self.n_support_ = np.array([len(expansion.rows)], dtype=np.int32)
        self.dual_coef_ = expansion.coef[None, :]
        self.intercept_ = np.array([expansion.intercept])
        learned = isinstance(self.epsilon, str)
        self.epsilon_ = problem.tube(at.weights, at.value, at.gap) if learned else float(self.epsilon)

    def predict(self, X: Any) -> np.ndarray:
        """``sum_i dual_coef_i k(x_i, x) + intercept``, in the precision of the data."""
        return expansion_values(self, self._checked_rows(X))[:, 0]

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, for a linear kernel."""
        check_is_fitted(self)
        if self.kernel != "linear":
            raise AttributeError(f"coef_ is only there for kernel='linear', not for kernel={self.kernel!r}")
        return np.asarray(self.dual_coef_ @ self.support_vectors_)
