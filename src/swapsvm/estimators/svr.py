"""Support vector regression."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sklearn.base import RegressorMixin

from ..arrays import ArrayLike, Matrix, MatrixLike
from ..fitting.budget import check_budget, is_budget
from ..fitting.elsewhere import by_pieces, targets_of
from ..fitting.inputs import fitted_kernel, merged, new_rows, sample_weights, training_data, unless_ones
from ..fitting.session import Session
from ..fitting.subproblems import Regression, Solution
from ..gram import Gram
from ..kernels import Kernel
from ..models import Expansion
from ..parameters import check_number
from .base import KernelMachine
from .declaration import ModelAttribute, estimator, parameter

LARGEST_RATIO = 1e6  # of k(x, x) and 1/C in single precision


@estimator
class SVR(RegressorMixin, KernelMachine):
    """Kernel support vector regression with squared loss outside a tube, trained on the simplex and certified.

    The problem solved is, with the prediction f(x) = w'phi(x) + b and sample weights s,

        min over w, b:  1/2 |w|^2 + 1/2 b^2 + C/2 sum_i s_i max(|y_i - f(x_i)| - epsilon, 0)^2.

    Every fit reports a certificate: this value at the model minus that of its dual, recomputed in double precision. The
    bias is regularized, so it is better to centre targets that are far from zero.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_, feature_names_in_
        As in scikit-learn.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, fit_status_, shape_fit_
        As in scikit-learn's SVR; ``fit_status_`` is 0 if the fit converged. Equal rows of the same target are merged as
        in ``SVC``, and ``support_`` then lists only the first of them.
    epsilon_ : float
        Half the width of the tube, as given or learned.
    primal_value_, dual_value_ : float
        The certificate: P, the primal value of the model, and D, its dual value, both recomputed in double precision,
        rounding included. The optimum lies between them. With ``epsilon="auto"`` P includes the price of ``epsilon_``.
    relative_gap_ : float
        (P - D) / D.
    simplex_gap_ : float
        With a learned tube the relative gap of the simplex, at which solvers other than "block" stop; else the same.
    dual_gap_ : float
        The gap that the solver stopped at, in units of the problem on the simplex, as ``eps`` is.
    stop_reason_ : str
        ``"gap"``, or why the fit ended earlier (see ``Result``), such as ``"max_time"`` or ``"interrupted"``.
    trace_ : structured array
        Records of the run: pair (0), iteration, support, evaluations, kind, seconds, value, gap.
    results_ : list of one Result
        Its weights are those of the rows above the tube, of the rows below, and of the slack vertex.
    n_evaluations_ : int
        Kernel values computed.
    cache_counts_ : dict
        Hits, misses and evictions of cached lines, bytes in use and budget.
    gamma_ : float
        The resolved value of ``gamma``, if the kernel has one.

    Examples
    --------
    >>> import numpy as np
    >>> from swapsvm import SVR
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> model = SVR(C=10, epsilon=0.05).fit(X, y)
    >>> bool(np.abs(model.predict(X) - y).max() < 0.1), model.relative_gap_ <= 0.01, model.stop_reason_
    (True, True, 'gap')
    >>> len(model.support_) < 100  # the others are inside the tube
    True
    """

    C: float = parameter(
        default=1.0,
        kind="float",
        text="""
        Weight of the loss. For a linear kernel ``LinearSVR(loss="squared_epsilon_insensitive", C=C/2)`` solves the same
        problem.
        """,
    )
    epsilon: float | str = parameter(
        default=0.1,
        kind='float or "auto"',
        text="""
        Half the width of the tube, in units of y: smaller residuals cost nothing, and rows inside the tube are not
        support vectors. ``"auto"`` learns it, as Core Vector Regression does: epsilon becomes a variable with the price
        C * mu * sum_i s_i, which makes mu the mean by which residuals exceed the tube; mu is a tenth of the standard
        deviation of y.
        """,
    )
    max_vectors: int | None = parameter(
        default=None,
        kind="int",
        text="""
        If given, the model has at most this many support vectors, chosen by a rough fit; their coefficients are the
        best for all rows. As in ``SVC``, and not with ``epsilon="auto"``.
        """,
    )

    dual_coef_ = ModelAttribute[np.ndarray](lambda model: model.coef[None, :])
    intercept_ = ModelAttribute[np.ndarray](lambda model: np.array([model.intercept]))
    n_support_ = ModelAttribute[np.ndarray](lambda model: np.array([len(model.vectors)], dtype=np.int32))

    def _fit(self, session: Session, X: MatrixLike, y: ArrayLike | None, sample_weight: ArrayLike | None) -> None:
        X, y = training_data(self, X, y, y_numeric=True)
        weights = sample_weights(sample_weight, X)
        kernel = fitted_kernel(self, X, weights)
        weights = merged(self, X, y, weights)
        rows = np.flatnonzero(weights > 0)
        gram = session.open_gram(kernel, X, [rows], self.value_type(kernel, X))
        epsilon = None if isinstance(self.epsilon, str) else float(self.epsilon)
        only = Regression((), len(rows), self.C, unless_ones(weights), y.astype(np.float64), epsilon)
        if self.max_vectors is not None and is_budget(self.max_vectors, gram):
            count = int(self.max_vectors)
            (function,), results = self._solve_over_few(session, gram, [only], self._attributes, count)
            self.set_fitted(model_=Expansion.of(X, kernel, function), epsilon_=epsilon)
        else:
            results = self._solve(session, gram, [only], self._attributes)
            self.set_fitted(**self._attributes(only, gram, results[0]))
        self.shape_fit_ = X.shape
        self._set_certificate([only], results)
        self.n_iter_ = results[0].iterations  # type: ignore[assignment]  # a number, as in scikit-learn's SVR

    def _check_numbers(self) -> None:
        super()._check_numbers()
        check_budget(self)
        check_number("C", self.C, lambda C: 0 < C < np.inf, "a positive finite number")
        if not isinstance(self.epsilon, str) or self.epsilon != "auto":
            allowed = "a finite number, 0 or more, or 'auto'"
            check_number("epsilon", self.epsilon, lambda epsilon: 0 <= epsilon < float("inf"), allowed)
        elif self.max_vectors is not None:
            raise ValueError("max_vectors needs a tube of given width: set epsilon to a number, not to 'auto'")

    def value_type(self, kernel: Kernel, X: Matrix) -> np.dtype:
        """Single precision has no digits for the ridge 1/C beside kernel values that are millions of times larger."""
        chosen = super().value_type(kernel, X)
        if chosen.itemsize >= X.dtype.itemsize:
            return chosen
        small = self.C * Gram(kernel, X, cache_size=0).diagonal().max() < LARGEST_RATIO
        return chosen if small else np.dtype(X.dtype)

    def _attributes(self, sub: Regression, gram: Gram, at: Solution) -> Mapping[str, object]:
        """The model and the tube of a solution."""
        problem = sub.on(gram)
        learned = problem.tube(at.level) if sub.epsilon is None else sub.epsilon
        model = Expansion.of(gram.X, gram.kernel, problem.model(at.weights, at.value))
        return {"model_": model, "epsilon_": learned}

    @by_pieces
    def predict(self, X: MatrixLike) -> np.ndarray:
        """``sum_i dual_coef_i k(x_i, x) + intercept``, in the precision of the data."""
        rows = new_rows(self, X)
        return self.model_.values(rows, self._threads())

    def score(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """R^2 of the predictions; ``y`` can be left out for shards that have targets."""
        return float(super().score(X, targets_of(X, y), sample_weight))

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, for a linear kernel."""
        self._check_linear("coef_")
        return self.model_.linear_coefficients()[None, :]
