"""Asymmetric squared loss in SVR, compared with SciPy, NumPy and a quadratic program."""

import numpy as np
import pytest
import scipy.sparse as sp
from qpsolvers import solve_qp
from scipy.optimize import minimize
from scipy.stats import expectile
from sklearn.metrics import make_scorer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from swapsvm import SVR, SVRCV
from swapsvm.solvers import SOLVERS

TAUS = [0.1, 0.5, 0.8]


def data(m=120, seed=0):
    """Noise whose spread grows along the first column."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(m, 3))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + (0.3 + 0.2 * X[:, 0]) * rng.standard_gamma(2.0, size=m)


def asymmetric_loss(residuals, tau, width=0.0):
    """2 |tau - [r < 0]| max(|r| - width, 0)^2, which is the square for tau = 1/2."""
    return 2 * np.where(residuals > 0, tau, 1 - tau) * np.maximum(np.abs(residuals) - width, 0.0) ** 2


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("width", [0.0, 0.2])
def test_a_linear_fit_is_what_scipy_minimizes(tau, width):
    X, y = data()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))

    def primal(v):
        return (v @ v + 3.0 * weights @ asymmetric_loss(y - X @ v[:3] - v[3], tau, width)) / 2

    best = minimize(primal, np.zeros(4), method="BFGS", options={"gtol": 1e-8})
    found = SVR(kernel="linear", C=3.0, epsilon=width, expectile=tau, tol=1e-10).fit(X, y, weights)
    np.testing.assert_allclose(found.coef_[0], best.x[:3], atol=1e-5)
    np.testing.assert_allclose(found.intercept_, best.x[3:], atol=1e-5)
    assert found.dual_value_ * (1 - 1e-9) <= best.fun <= found.primal_value_ * (1 + 1e-6)


@pytest.mark.parametrize("tau", TAUS)
def test_a_constant_fit_is_the_expectile_of_the_targets(tau):
    _, y = data()
    found = SVR(kernel="linear", C=1e4, epsilon=0.0, expectile=tau, tol=1e-6).fit(np.zeros((len(y), 1)), y)
    assert found.predict([[0.0]])[0] == pytest.approx(expectile(y, tau), rel=2e-3)


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in ("fw", "cvm")])
@pytest.mark.parametrize("tau", [0.2, 0.9])
def test_certificates_bound_the_optimum_of_a_quadratic_program(solver, tau):
    X, y = data(40)
    K, C, width = rbf_kernel(X, gamma=0.5) + 1, 5.0, 0.1
    costs = np.repeat([2 * tau * C, 2 * (1 - tau) * C], 40)
    Q, c = np.block([[K, -K], [-K, K]]) + np.diag(1 / costs), np.concatenate([y, -y]) - width
    tight = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    b = np.maximum(solve_qp(sp.csc_matrix(Q), -c, lb=np.zeros(80), solver="clarabel", **tight), 0.0)
    best = float(c @ b - b @ Q @ b / 2)
    model = SVR(C=C, gamma=0.5, epsilon=width, expectile=tau, tol=1e-6, solver=solver).fit(X, y)
    assert model.dual_value_ <= best * (1 + 1e-9) and best * (1 - 1e-9) <= model.primal_value_
    assert model.primal_value_ - model.dual_value_ <= 1e-6 * model.dual_value_ * (1 + 1e-6)
    np.testing.assert_allclose(model.predict(X), K @ (b[:40] - b[40:]), atol=1e-2)


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_fits_are_certified_with_the_same_bits_on_two_threads(store, dtype):
    X, y = data(1500)
    given = store(X.astype(dtype))
    one, two = (SVR(C=4.0, gamma=0.3, expectile=0.9, n_jobs=n).fit(given, y) for n in (1, 2))
    np.testing.assert_array_equal(one.predict(given), two.predict(given))
    assert one.relative_gap_ <= 1e-3
    K = rbf_kernel(X, gamma=0.3) + 1
    u = np.zeros(1500)
    u[one.support_] = one.dual_coef_[0]
    primal = (u @ K @ u + 4.0 * asymmetric_loss(y - K @ u, 0.9, 0.1).sum()) / 2
    dual = y @ u - 0.1 * np.abs(u).sum() - u @ K @ u / 2 - (u**2 / np.where(u > 0, 14.4, 1.6)).sum()
    assert one.primal_value_ == pytest.approx(primal, rel=1e-5)
    assert one.dual_value_ == pytest.approx(dual, rel=1e-3)  # the model drops what both signs of a row share


def test_predictions_grow_with_the_expectile_and_balance_the_residuals():
    X, y = data(400)
    models = [SVR(C=50.0, gamma=0.3, epsilon=0.0, expectile=tau, tol=1e-6).fit(X, y) for tau in (0.05, 0.3, 0.7, 0.95)]
    predictions = np.array([model.predict(X) for model in models])
    assert (np.diff(predictions.mean(axis=1)) > 0.1).all()
    assert (np.diff(predictions, axis=0) > 0).mean() > 0.95  # fits of their own can cross
    residuals = y - predictions[3]
    assert 0.95 * residuals[residuals > 0].sum() == pytest.approx(-0.05 * residuals[residuals < 0].sum(), rel=0.05)


@pytest.mark.parametrize("width", [0.1, "auto"])
def test_turned_targets_have_the_opposite_expectile(width):
    X, y = data()
    above = SVR(epsilon=width, expectile=0.8, tol=1e-8).fit(X, y)
    below = SVR(epsilon=width, expectile=0.2, tol=1e-8).fit(X, -y)
    np.testing.assert_allclose(above.predict(X), -below.predict(X), atol=1e-4)
    assert above.epsilon_ == pytest.approx(below.epsilon_, abs=1e-4)


@pytest.mark.parametrize("width", [0.0, "auto"])
def test_weights_are_repetitions(width):
    X, y = data(40)
    times = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = SVR(epsilon=width, expectile=0.7, tol=1e-8).fit(X, y, times)
    repeated = SVR(epsilon=width, expectile=0.7, tol=1e-8).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5)


def test_few_vectors_and_warm_starts_take_it():
    X, y = data(300)
    few = SVR(expectile=0.9, max_vectors=30, C=2.0).fit(X, y)
    best = SVR(expectile=0.9, C=2.0, tol=1e-6).fit(X, y)
    assert len(few.support_) <= 30
    assert few.dual_value_ <= best.primal_value_ and best.dual_value_ <= few.primal_value_
    warm = SVR(expectile=0.1, C=2.0, tol=1e-6, warm_start=True).fit(X, y)
    warm.set_params(expectile=0.9).fit(X, y)
    np.testing.assert_allclose(warm.predict(X), best.predict(X), atol=1e-3)


def test_a_search_has_the_scores_of_a_grid():
    X, y = data(200)
    scoring = make_scorer(lambda y, f: -asymmetric_loss(y - f, 0.8).mean())
    Cs, widths = [0.5, 8.0], [0.0, "auto"]
    search = SVRCV(Cs=Cs, gammas=[0.3], epsilons=widths, expectile=0.8, tol=1e-6, cv=3, scoring=scoring).fit(X, y)
    grid = {"C": Cs, "epsilon": widths}
    judge = GridSearchCV(SVR(gamma=0.3, expectile=0.8, tol=1e-6), grid, cv=3, scoring=scoring).fit(X, y)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], judge.cv_results_["mean_test_score"], rtol=1e-3)
    assert search.best_estimator_.expectile == 0.8


@pytest.mark.parametrize("tau", [0, 1, -0.5, np.nan, "a", None])
def test_values_out_of_range_are_refused(tau):
    with pytest.raises(ValueError, match="expectile"):
        SVR(expectile=tau).fit(*data(20))
