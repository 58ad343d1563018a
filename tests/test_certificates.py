"""Certificates are upper bounds, rounding included: judged in extended precision by the code of the campaign."""

import numpy as np
import pytest
import scipy.sparse as sp
from campaign.certificates import judge
from campaign.problems import Problem
from sklearn.exceptions import ConvergenceWarning

from swapsvm import SVC
from swapsvm.kernels import Rbf, resolve_gamma

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(300, 5))
SIDES = (ROWS[:, 0] + RNG.normal(size=300) > 0).astype(int)
FAR = ROWS + 1e7
ID_COLUMN = np.column_stack([np.full(300, 1e8), ROWS * (RNG.random((300, 5)) < 0.3)])
STORAGES = [np.asarray, sp.csr_array]


def held(estimator, parameters, X, y=None, weights=None):
    problem = Problem(estimator, {"tol": 1e-2, "n_jobs": 1, **parameters}, X, y, weights)
    model = problem.model
    with np.errstate(all="ignore"):
        model.fit(*((X,) if y is None else (X, y)), sample_weight=weights)
    return judge(problem, model), model


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("X", [FAR, ID_COLUMN], ids=["far from the origin", "one column of large numbers"])
def test_distances_of_rows_far_from_the_origin(storage, kernel, X):
    outcome, model = held("SVC", {"kernel": kernel, "gamma": 0.2, "C": 10.0}, storage(X), SIDES)
    assert outcome.verdict == "held" and model.stop_reason_ == "gap"
    dense = SVC(kernel=kernel, gamma=0.2, C=10.0).fit(X, SIDES)
    np.testing.assert_allclose(model.decision_function(storage(X)), dense.decision_function(X), atol=1e-6)


def test_sparse_rows_far_from_the_origin_have_the_gamma_of_dense_ones():
    for rule in ("scale", "mean_sq_dist"):
        for weights in (None, RNG.uniform(0.5, 2.0, size=300)):
            expected = resolve_gamma(rule, Rbf, FAR, weights)
            assert resolve_gamma(rule, Rbf, sp.csr_array(FAR), weights) == pytest.approx(expected, rel=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        ("SVC", {"kernel": "linear", "C": 1e2}),
        ("SVC", {"kernel": "poly", "gamma": 1e-2, "coef0": 1.0, "degree": 4, "C": 1e-3}),
        ("SVC", {"kernel": "rbf", "gamma": 1e-8, "C": 1e9, "tol": 1e-6}),
        ("SVR", {"kernel": "rbf", "gamma": 1e-6, "C": 1e8, "epsilon": 0.0}),
        ("OneClassSVM", {"kernel": "poly", "gamma": 10.0, "coef0": 0.0, "degree": 3, "slack": 1e-6}),
        ("SVDD", {"kernel": "linear", "slack": 1e-3}),
    ],
)
def test_problems_that_rounding_decides(estimator, parameters, storage, dtype):
    X = (1e3 * ROWS[:120]).astype(dtype)
    y = {"SVC": SIDES[:120], "SVR": ROWS[:120, 1]}.get(estimator)
    outcome, model = held(estimator, parameters, storage(X), y, RNG.uniform(1e-3, 1e3, size=120))
    assert outcome.verdict == "held", outcome
    assert model.relative_gap_ <= parameters.get("tol", 1e-2) or model.stop_reason_ != "gap"


def test_a_gap_that_rounding_hides_ends_as_precision():
    X = np.concatenate([ROWS[:50], ROWS[:50]])
    y = np.repeat([0, 1], 50)
    with pytest.warns(ConvergenceWarning, match="precision"):
        model = SVC(C=1e14, gamma=0.1, tol=1e-8).fit(X, y)
    assert model.relative_gap_ > 1e-8
