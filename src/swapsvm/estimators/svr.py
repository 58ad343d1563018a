"""Support vector regression."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags

from ..arrays import ArrayLike, Matrix, MatrixLike
from ..fitting.budget import check_budget, is_budget
from ..fitting.elsewhere import by_pieces, targets_of
from ..fitting.growing import Batches
from ..fitting.inputs import (
    fitted_kernel,
    merged,
    new_batch,
    new_rows,
    numbers,
    sample_weights,
    training_data,
    unless_ones,
)
from ..fitting.results import Results
from ..fitting.session import Session
from ..fitting.subproblems import Labels, Regression, Solution
from ..gram import Gram
from ..kernels import Kernel
from ..models import Expansion, Outputs
from ..problems import Coefficients
from .base import KernelMachine, appending
from .constraints import COUNT, NOT_NEGATIVE, POSITIVE, Numbers, one_of
from .declaration import ModelAttribute, estimator, parameter
from .scikit import ABSENT, INSTEAD

LARGEST_RATIO = 1e6  # of k(x, x) and 1/C in single precision


@estimator
class SVR(RegressorMixin, KernelMachine):
    """Kernel support vector regression with squared loss outside a tube, trained on the simplex and certified.

    The problem solved is, with the prediction f(x) = w'phi(x) + b and sample weights s,

        min over w, b:  1/2 |w|^2 + 1/2 b^2 + C/2 sum_i s_i max(|y_i - f(x_i)| - epsilon, 0)^2.

    With ``expectile`` other than 0.5, residuals above and below have different weights. Every fit reports a
    certificate: this value at the model minus that of its dual, recomputed in double precision. The bias is
    regularized, so it is better to centre targets that are far from zero.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    model_ : Expansion or Outputs
        The function, or for y of shape (n_samples, n_outputs) those of all outputs over the same support vectors, from
        which these attributes are read. ``dual_coef_`` and ``coef_`` then have a row for each output; ``intercept_``,
        ``n_iter_``, ``epsilon_``, ``primal_value_`` and ``dual_value_`` have an entry for each.
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
        (P - D) / D, the largest of the outputs.
    simplex_gap_ : float
        With a learned tube the relative gap of the simplex, at which solvers other than "block" stop; else the same.
    dual_gap_ : float
        The gap that the solver stopped at, in units of the problem on the simplex, as ``eps`` is.
    stop_reason_ : str
        ``"gap"``, or why the fit ended earlier (see ``Result``), such as ``"max_time"`` or ``"interrupted"``.
    trace_ : structured array
        Records of the run: pair (the output, or 0), iteration, support, evaluations, kind, seconds, value, gap.
    results_ : list of Result
        One per output. Its weights are those of the rows above the tube, of the rows below, and of the slack vertex.
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
        allowed=[POSITIVE],
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
        allowed=[NOT_NEGATIVE, one_of("auto")],
    )
    expectile: float = parameter(
        default=0.5,
        kind="float",
        text="""
        Which conditional expectile to predict, between 0 and 1. Residuals of targets above the prediction count with
        the weight 2 * expectile * C, those below with 2 * (1 - expectile) * C; 0.5 is the symmetric loss. Set
        ``epsilon=0`` for expectiles in the strict sense.
        """,
        allowed=[Numbers(Real, 0, 1, closed="neither")],
    )
    max_vectors: int | None = parameter(
        default=None,
        kind="int",
        text="""
        If given, the model has at most this many support vectors, chosen by a rough fit; their coefficients are the
        best for all rows. As in ``SVC``, and not with ``epsilon="auto"``.
        """,
        allowed=[COUNT, None],
    )

    INSTEAD: ClassVar[Mapping[str, str]] = {
        **INSTEAD,
        "nu": "scikit-learn's NuSVR has it. Use epsilon='auto', which learns the width of the tube",
        "loss": f"{ABSENT}. The loss is squared outside the tube",
    }
    TARGETS: ClassVar[dict[str, bool]] = {"y_numeric": True, "multi_output": True}  # of the validation of y

    dual_coef_ = ModelAttribute[np.ndarray](lambda model: np.atleast_2d(model.coef))
    intercept_ = ModelAttribute[np.ndarray](lambda model: np.atleast_1d(model.intercept))
    n_support_ = ModelAttribute[np.ndarray](lambda model: np.array([len(model.vectors)], dtype=np.int32))

    def _fit(
        self, session: Session, X: MatrixLike | Batches, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> None:
        X, y = training_data(self, X, y, **self.TARGETS)
        targets, weights = numbers(y), sample_weights(sample_weight, X)
        kernel = fitted_kernel(self, X, weights)
        weights = merged(self, X, targets, weights)
        rows = np.flatnonzero(weights > 0)
        gram = session.open_gram(kernel, X, [rows], self.value_type(kernel, X))
        plan = self._plan(targets, len(rows), unless_ones(weights))
        functions, results = self._functions(session, gram, plan)
        self.shape_fit_ = X.shape
        self._set_certificate(plan, results)
        tubes = [sub.tube(gram, result) for sub, result in zip(plan, results, strict=True)]
        if targets.ndim == 1:
            self.set_fitted(model_=Expansion.of(X, kernel, functions[0]), epsilon_=tubes[0])
            self.n_iter_ = results[0].iterations  # type: ignore[assignment]  # a number, as in scikit-learn's SVR
            return
        self.set_fitted(model_=Outputs.of(X, kernel, functions), epsilon_=np.array(tubes))
        self.primal_value_, self.dual_value_ = np.ascontiguousarray(results.bounds.T)

    @appending
    def partial_fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Append a batch of rows to those of earlier calls, and continue from the last solution.

        The model is that of one ``fit`` of all rows, within its certificate. The estimator keeps the rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The new rows.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array of shape (n_samples,), optional
            Their weights.

        Returns
        -------
        self
        """
        return self._grow(new_batch(self, X, y, sample_weight, self._earlier is None))

    def _plan(self, targets: np.ndarray, rows: int, weights: np.ndarray | None) -> list[Regression]:
        """One problem, or one for each output."""
        epsilon = None if isinstance(self.epsilon, str) else float(self.epsilon)

        def of(labels: Labels, y: np.ndarray) -> Regression:
            return Regression(labels, rows, self.C, weights, y, epsilon, float(self.expectile))

        if targets.ndim == 1:
            return [of((), targets)]
        return [of((k,), np.ascontiguousarray(column)) for k, column in enumerate(targets.T)]

    def _functions(self, session: Session, gram: Gram, plan: list[Regression]) -> tuple[list[Coefficients], Results]:
        """The function of each problem, and its certificate."""
        if self.max_vectors is not None and is_budget(self.max_vectors, gram):
            return self._solve_over_few(session, gram, plan, self._attributes, int(self.max_vectors))
        results = self._solve(session, gram, plan, self._attributes)
        return [sub.function(gram, result) for sub, result in zip(plan, results, strict=True)], results

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_settings(self) -> None:
        super()._check_settings()
        check_budget(self)
        if isinstance(self.epsilon, str) and self.max_vectors is not None:
            raise ValueError("max_vectors needs a tube of given width: set epsilon to a number, not to 'auto'")

    def value_type(self, kernel: Kernel, X: Matrix) -> np.dtype:
        """Single precision has no digits for the ridge 1/C beside kernel values that are millions of times larger."""
        chosen = super().value_type(kernel, X)
        if chosen.itemsize >= X.dtype.itemsize:
            return chosen
        largest = 2 * max(self.expectile, 1 - self.expectile) * self.C
        small = largest * Gram(kernel, X, cache_size=0).diagonal().max() < LARGEST_RATIO
        return chosen if small else np.dtype(X.dtype)

    def _attributes(self, sub: Regression, gram: Gram, at: Solution) -> Mapping[str, object]:
        """The model and the tube of a solution."""
        model = Expansion.of(gram.X, gram.kernel, sub.function(gram, at))
        return {"model_": model, "epsilon_": sub.tube(gram, at)}

    @by_pieces
    def predict(self, X: MatrixLike) -> np.ndarray:
        """``sum_i dual_coef_i k(x_i, x) + intercept``, in the precision of the data; a column for each output."""
        rows = new_rows(self, X)
        return self.model_.values(rows, self._threads())

    def score(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """R^2 of the predictions; ``y`` can be left out for shards that have targets."""
        return float(super().score(X, targets_of(X, y), sample_weight))

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, for a linear kernel."""
        self._check_linear("coef_")
        return np.atleast_2d(self.model_.linear_coefficients())
