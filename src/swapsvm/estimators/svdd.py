"""Support vector data description: a ball around the data."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..arrays import Matrix
from ..columns import without_empty_columns
from ..fitting.subproblems import Detection, Solution
from ..gram import Gram
from ..kernels import Linear
from ..models import Center, Vectors
from ..problems import Ball
from .declaration import ModelAttribute, estimator, parameter
from .detector import CONTAMINATION, SLACK, Detector

LEAST_SPREAD = 1e-10  # of the squared length of rows: five digits of their distances are left


@estimator
class SVDD(Detector):
    """Support vector data description: the smallest ball around the rows, in the feature space of a kernel.

    Slack is squared; the ball is trained on the simplex and certified. The problem solved is

        min over c, r, xi:  r + C/4 sum_i s_i xi_i^2,   |phi(x_i) - c|^2 <= r + xi_i,

    where s are the sample weights. Its center is c = sum_i a_i phi(x_i), and the weights a_i = C s_i xi_i / 2 sum to 1.
    The score of a row is minus its squared distance from the center; rows farther away than ``radius_`` are outliers.
    Every fit reports a certificate: the duality gap, recomputed in double precision.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_, feature_names_in_
        As in scikit-learn.
    radius_ : float
        Radius of the boundary: ``decision_function`` is its square minus the squared distance from the center.
    offset_ : float
        ``-radius_**2``: ``decision_function`` is ``score_samples`` minus this.
    support_, support_vectors_, n_support_, dual_coef_
        The center: the rows with a_i > 0, their number, and a, of shape (1, n_SV); it sums to 1. Equal rows are
        merged as in ``SVC``, and ``support_`` then lists only the first of them.
    squared_norm_ : float
        |c|^2.
    center_ : array of shape (n_features,)
        The center, for a linear kernel.
    C_ : float
        The value of C that ``slack`` resolves to.
    primal_value_, dual_value_ : float
        The certificate: P, the primal value of the model, and D, its dual value, both recomputed in double precision,
        rounding included. The optimum lies between them.
    relative_gap_ : float
        P - D, relative to the larger of |D| and its part of slack.
    simplex_gap_ : float
        The relative gap of the simplex, at which solvers other than "block" stop.
    dual_gap_ : float
        The gap that the solver stopped at, in units of the problem on the simplex, as ``eps`` is.
    stop_reason_, n_iter_, fit_status_, trace_, results_, n_evaluations_, cache_counts_, gamma_
        As in ``SVC``, of one problem.

    See Also
    --------
    OneClassSVM : For a kernel with constant k(x, x), such as "rbf", the same model; its scores have another scale.

    Notes
    -----
    A precomputed matrix needs a constant diagonal, because new rows do not contain k(x, x).

    Examples
    --------
    >>> import numpy as np
    >>> from swapsvm import SVDD
    >>> corners = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0], [1.0, 1.5]])
    >>> ball = SVDD(kernel="linear", slack=0).fit(corners)
    >>> ball.center_.round(6), round(ball.radius_**2, 6)
    (array([1., 1.]), 2.0)
    >>> ball.predict([[1.0, 1.0], [3.0, 3.0]])
    array([ 1, -1])
    """

    slack: float = parameter(
        default=0.01,
        kind="float",
        text="""
        Half of the mean slack of the training rows, in units of the mean of k(x, x): at the solution, the mean of xi_i
        is exactly twice this, whatever the number of rows (C is 1 / (slack * sum_i s_i k(x_i, x_i)), as in
        ``OneClassSVM``). A row has slack if and only if it is a support vector. 0 is the minimum enclosing ball; large
        values lead to the ball around the mean.
        """,
        allowed=SLACK,
    )
    contamination: float | str = parameter(
        default="auto",
        kind='"auto" or float in (0, 0.5]',
        text="""
        Where the boundary is. ``"auto"``: at the mean squared distance of the support vectors, weighted by a. Rows that
        are not support vectors are inside, and of support vectors those are outside whose slack is above that mean of
        slacks; these are fewer than 1 / sum_i a_i^2. A number puts this part of the training rows outside.
        """,
        allowed=CONTAMINATION,
    )

    squared_norm_ = ModelAttribute[float](lambda model: model.squared_norm)

    _problem = Ball

    def _mean_length(self, gram: Gram, weights: np.ndarray) -> float:
        length = super()._mean_length(gram, weights)
        if isinstance(gram.kernel, Linear):
            check_resolved(gram.X[weights > 0], weights[weights > 0], length)
        return length

    def _solution(self, sub: Detection, gram: Gram, at: Solution) -> tuple[Center, float]:
        found = Ball.of(gram, sub.C, sub.weights).model(at.weights, at.value, at.simplex_gap)
        length = constant_diagonal(gram) if self.kernel == "precomputed" else None
        vectors = Vectors.of(gram.X, gram.kernel, found.rows)
        center = Center(vectors, found.coef, squared_norm=found.squared_norm, length=length)
        return center, -found.squared_radius

    @property
    def radius_(self) -> float:
        """The radius of the boundary."""
        check_is_fitted(self)
        return float(np.sqrt(max(-self.offset_, 0.0)))

    @property
    def center_(self) -> np.ndarray:
        """The center, for a linear kernel."""
        self._check_linear("center_")
        return self.model_.linear_coefficients()


def check_resolved(X: Matrix, weights: np.ndarray, length: float) -> None:
    """``ValueError`` if |x - z|^2 = x'x - 2 x'z + z'z has no digits left: the ball would consist of rounding."""
    (X,) = without_empty_columns(X)
    center = np.asarray(X.T @ (weights / weights.sum())).ravel()
    spread = max(length - float(center @ center), 0.0)
    lowest, highest = (np.asarray(end.todense() if sp.issparse(end) else end) for end in (X.min(axis=0), X.max(axis=0)))
    if spread < LEAST_SPREAD * length and (highest > lowest).any():
        raise ValueError(
            f"the rows are {np.sqrt(length):.2g} from the origin, but close to each other: rounding of their products "
            "swamps their distances. Subtract the mean first, as StandardScaler does"
        )


def constant_diagonal(gram: Gram) -> float:
    """k(x, x), if it is the same for all rows."""
    rows = gram.diagonal()[gram.groups[0]]
    if np.ptp(rows) > 1e-6 * np.abs(rows).max():
        raise ValueError(
            f"k(x, x) ranges from {rows.min():.6g} to {rows.max():.6g}: a precomputed matrix does not have it for "
            "new rows unless it is constant. Give the kernel by name or as a function, or scale K to k(x, x) = 1"
        )
    return float(rows.mean())
