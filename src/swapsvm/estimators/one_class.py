"""One-class support vector machine."""

from __future__ import annotations

import numpy as np

from ..fitting.subproblems import Detection, Solution
from ..gram import Gram
from ..models import Expansion
from ..problems import OneClass
from .declaration import ModelAttribute, estimator, parameter
from .detector import CONTAMINATION, SLACK, Detector


@estimator
class OneClassSVM(Detector):
    """One-class support vector machine with squared slack, trained on the simplex and certified.

    The problem solved is

        min over w, rho, xi:  |w|^2 - 2 rho + C sum_i s_i xi_i^2,   w'phi(x_i) >= rho - xi_i,

    where s are the sample weights. Its solution is w = sum_i a_i phi(x_i) with weights a_i = C s_i xi_i that sum to 1.
    The score of a row is w'phi(x) = sum_i a_i k(x_i, x), and rows that score less than ``offset_`` are outliers. Every
    fit reports a certificate: the duality gap, recomputed in double precision.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_features_in_, feature_names_in_
        As in scikit-learn.
    support_, support_vectors_, n_support_, dual_coef_
        The rows with a_i > 0, their number, and a, of shape (1, n_SV); it sums to 1. Equal rows are merged as in
        ``SVC``, and ``support_`` then lists only the first of them.
    offset_ : float
        ``decision_function`` is ``score_samples`` minus this.
    intercept_, coef_
        ``-offset_``, and, for a linear kernel, w.
    C_ : float
        The value of C that ``slack`` resolves to.
    primal_value_, dual_value_ : float
        The certificate: P, the primal value of the model, and D, its dual value, both recomputed in double precision,
        rounding included. The optimum lies between them.
    relative_gap_ : float
        (P - D) / |D|.
    simplex_gap_ : float
        The relative gap of the simplex, at which solvers other than "block" stop.
    dual_gap_ : float
        The gap that the solver stopped at, in units of the problem on the simplex, as ``eps`` is.
    stop_reason_, n_iter_, fit_status_, trace_, results_, n_evaluations_, cache_counts_, gamma_
        As in ``SVC``, of one problem.

    See Also
    --------
    SVDD : A ball around the rows. For a kernel with constant k(x, x), such as "rbf", the same model.

    Notes
    -----
    scikit-learn's ``nu`` bounds the part of rows outside from above, and that of support vectors from below; its slack
    is not squared. Here ``slack`` is how far rows fall short on average, not how many; ``contamination`` says how many.

    Examples
    --------
    >>> import numpy as np
    >>> from swapsvm import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = OneClassSVM(contamination=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [4.0, 4.0]])
    array([ 1, -1])
    >>> int((model.predict(X) == -1).sum()), model.relative_gap_ <= 1e-3
    (50, True)
    """

    slack: float = parameter(
        default=0.01,
        kind="float",
        text="""
        Mean slack of the training rows, in units of the mean of k(x, x): at the solution, the mean of xi_i is exactly
        this, whatever the number of rows (C is 1 / (slack * sum_i s_i k(x_i, x_i))). A row has slack if and only if it
        is a support vector. Small values follow the outermost rows, with few support vectors, and are fast; large ones
        lead to a kernel density estimate. 0 allows none.
        """,
        allowed=SLACK,
    )
    contamination: float | str = parameter(
        default="auto",
        kind='"auto" or float in (0, 0.5]',
        text="""
        Where the boundary is. ``"auto"``: at the mean score of the support vectors, weighted by a, which is |w|^2. Rows
        that are not support vectors are inside, and of support vectors those are outside whose slack is above that mean
        of slacks; these are fewer than 1 / sum_i a_i^2. A number puts this part of the training rows outside.
        """,
        allowed=CONTAMINATION,
    )

    intercept_ = ModelAttribute[np.ndarray](lambda model: np.array([model.intercept]))

    _problem = OneClass

    def _solution(self, sub: Detection, gram: Gram, at: Solution) -> tuple[Expansion, float]:
        found = OneClass.of(gram, sub.C, sub.weights).model(at.weights, at.value, at.simplex_gap)
        return Expansion.of(gram.X, gram.kernel, found), -found.intercept

    @property
    def coef_(self) -> np.ndarray:
        """w, for a linear kernel."""
        self._check_linear("coef_")
        return self.model_.linear_coefficients()[None, :]
