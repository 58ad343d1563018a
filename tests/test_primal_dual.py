"""P and D of every estimator, recomputed in NumPy from public attributes, compared with exact quadratic programs."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_iris

from swapsvm import SVC, SVCCV, SVDD, SVR, ConvergenceWarning, Gram, OneClassSVM, _core, maximize
from swapsvm.kernels import Rbf
from swapsvm.problems import L2SVC, Concave
from swapsvm.run import Run
from swapsvm.solvers import SOLVERS

from . import reference
from .cases import overlapping_rows

X = overlapping_rows(60)
Y = np.arange(len(X)) // 60
TARGETS = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=len(X))
WEIGHTS = np.random.default_rng(0).uniform(0.2, 3.0, size=len(X))
ROUNDING = 1e-9  # relative


def cosine(A, B):
    return (A @ B.T) / np.outer(np.linalg.norm(A, axis=1), np.linalg.norm(B, axis=1))


KERNELS = {
    "linear": ({"kernel": "linear"}, lambda A, B: A @ B.T),
    "rbf": (
        {"kernel": "rbf", "gamma": 0.3},
        lambda A, B: np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(axis=2)),
    ),
    "poly": ({"kernel": "poly", "gamma": 0.5, "coef0": 1.0, "degree": 2}, lambda A, B: (0.5 * A @ B.T + 1) ** 2),
    "laplacian": (
        {"kernel": "laplacian", "gamma": 0.3},
        lambda A, B: np.exp(-0.3 * np.abs(A[:, None] - B[None]).sum(axis=2)),
    ),
    "callable": ({"kernel": cosine}, cosine),
    "precomputed": (
        {"kernel": "precomputed"},
        lambda A, B: np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(axis=2)),
    ),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
weighted = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
some_solvers = pytest.mark.parametrize("solver", ["block", "swap2"])


def given_rows(kernel, rows):
    return KERNELS[kernel][1](rows, rows) if kernel == "precomputed" else rows


def spread(model, count):
    """``dual_coef_`` of two classes, or of a regression, as one number for each row."""
    coef = np.zeros(count)
    coef[model.support_] = model.dual_coef_[0]
    return coef


def least_over(function, low, high):
    """The minimum of a convex function of one number."""
    found = minimize_scalar(function, bounds=(low, high), method="bounded", options={"xatol": 1e-13 * abs(high)})
    return min(found.fun, function(low), function(high))


def svm_values(K, y, coef, C, s):
    """P of the best multiple of the function sum_j coef_j (k(x_j, x) + 1), and D of its coefficients."""
    decisions = (K + 1) @ coef
    norm = coef @ decisions
    dual = np.abs(coef).sum() - norm / 2 - (coef**2 / (C * s)).sum() / 2

    def primal(t):
        return t**2 * norm / 2 + C / 2 * (s * np.maximum(0, 1 - t * y * decisions) ** 2).sum()

    return least_over(primal, 0.0, 100.0), dual


def assert_between(model, primal, dual, rounding=ROUNDING):
    """Reported values are bounds, and sharp ones."""
    size = max(abs(primal), abs(dual))
    assert model.primal_value_ >= primal - rounding * size
    assert model.primal_value_ <= primal + (2e-3 * (primal - dual) + 10 * rounding * size)
    assert model.dual_value_ <= dual + rounding * size
    assert model.dual_value_ >= dual - 10 * rounding * size


# ---- every estimator, kernel and weight -----------------------------------------------------------------------------


@some_solvers
@weighted
@every_kernel
def test_svc(kernel, weights, solver):
    options, k = KERNELS[kernel]
    model = SVC(C=4.0, tol=0.05, solver=solver, **options).fit(given_rows(kernel, X), Y, sample_weight=weights)
    s, y = np.ones(len(X)) if weights is None else weights, np.where(Y == 1, 1.0, -1.0)
    primal, dual = svm_values(k(X, X), y, spread(model, len(X)), 4.0, s)
    assert model.primal_value_.shape == model.dual_value_.shape == (1,)
    assert_between(model, primal, dual)
    assert model.relative_gap_ == pytest.approx(model.primal_value_[0] / model.dual_value_[0] - 1, rel=1e-9, abs=1e-13)
    assert model.relative_gap_ >= primal / dual - 1 - ROUNDING
    assert (model.relative_gap_ if solver == "block" else model.simplex_gap_) <= 0.05


@weighted
@every_kernel
def test_svc_of_several_classes(kernel, weights):
    rows, labels = load_iris(return_X_y=True)
    s = np.ones(len(rows)) if weights is None else np.random.default_rng(2).uniform(0.2, 3.0, size=len(rows))
    options, k = KERNELS[kernel]
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    data = k(rows, rows) if kernel == "precomputed" else rows
    model = SVC(C=1.0, tol=0.05, **options).fit(data, labels, sample_weight=None if weights is None else s)
    assert model.primal_value_.shape == model.dual_value_.shape == (3,)
    for place, pair in enumerate([(0, 1), (0, 2), (1, 2)]):
        own = np.flatnonzero(np.isin(labels, pair))
        coef = model.results_[place].weights / -model.results_[place].value  # by class, the first of the pair first
        order = np.concatenate([np.flatnonzero(labels == c) for c in pair])
        by_row = np.zeros(len(rows))
        by_row[order] = coef * np.where(labels[order] == pair[0], 1.0, -1.0)
        y = np.where(labels[own] == pair[0], 1.0, -1.0)
        primal, dual = svm_values(k(rows[own], rows[own]), y, by_row[own], 1.0, s[own])
        assert model.primal_value_[place] == pytest.approx(primal, rel=1e-4)
        assert model.primal_value_[place] >= primal * (1 - ROUNDING)
        assert model.dual_value_[place] == pytest.approx(dual, rel=1e-9)
    assert model.relative_gap_ == pytest.approx((model.primal_value_ / model.dual_value_ - 1).max(), abs=1e-13)


@some_solvers
@pytest.mark.parametrize("epsilon", [0.05, "auto"])
@weighted
@every_kernel
def test_svr(kernel, weights, epsilon, solver):
    options, k = KERNELS[kernel]
    model = SVR(C=2.0, tol=0.05, epsilon=epsilon, solver=solver, **options)
    model.fit(given_rows(kernel, X), TARGETS, sample_weight=weights)
    s = np.ones(len(X)) if weights is None else weights
    coef, K = spread(model, len(X)), k(X, X) + 1
    spread_of_y = np.sqrt(np.average((TARGETS - np.average(TARGETS, weights=s)) ** 2, weights=s))
    price = 0.1 * spread_of_y * 2.0 * s.sum() if epsilon == "auto" else 0.0
    missed = np.maximum(np.abs(TARGETS - K @ coef) - model.epsilon_, 0)
    primal = coef @ K @ coef / 2 + (s * missed**2).sum() + price * model.epsilon_
    assert isinstance(model.primal_value_, float)
    assert model.primal_value_ == pytest.approx(primal, rel=1e-6)
    assert model.primal_value_ >= primal * (1 - ROUNDING)
    dual = coef @ TARGETS - coef @ K @ coef / 2 - (coef**2 / (2.0 * s)).sum() / 2
    if epsilon != "auto":  # both signs of a row have weight only by rounding
        dual -= epsilon * np.abs(coef).sum()
    assert model.dual_value_ <= dual * (1 + 1e-6)
    expected = (model.primal_value_ - model.dual_value_) / model.dual_value_
    assert model.relative_gap_ == pytest.approx(expected, rel=1e-6, abs=1e-9)


@some_solvers
@pytest.mark.parametrize("slack", [0.0, 0.01])
@weighted
@every_kernel
@pytest.mark.parametrize("Detector", [OneClassSVM, SVDD])
def test_detectors(Detector, kernel, weights, slack, solver):
    options, k = KERNELS[kernel]
    rows = X + 4.0  # the origin is outside of their hull
    model = Detector(slack=slack, tol=0.02, solver=solver, **options)
    model.fit(given_rows(kernel, rows), sample_weight=weights)
    s, K, a = np.ones(len(X)) if weights is None else weights, k(rows, rows), spread(model, len(X))
    ridge = np.zeros(len(X)) if slack == 0 else 1 / (model.C_ * s)
    c = np.diag(K) if Detector is SVDD else None
    Q = K + np.diag(ridge)
    dual = reference.value(Q, a, c)
    primal = dual + reference.primal_gap(Q, a, ridge, c)
    assert_between(model, primal, dual, 1e-8)
    if Detector is OneClassSVM:
        expected = (model.primal_value_ - model.dual_value_) / abs(model.dual_value_)
        assert model.relative_gap_ == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert (model.relative_gap_ if solver == "block" else model.simplex_gap_) <= 0.02


def test_the_model_that_a_search_refits_has_both_values():
    search = SVCCV(Cs=[1.0, 4.0], gammas=[0.3], cv=3, tol=1e-2).fit(X, Y)
    best = search.best_estimator_
    y = np.where(Y == 1, 1.0, -1.0)
    K = KERNELS["rbf"][1](X, X)
    primal, dual = svm_values(K, y, spread(best, len(X)), best.C, np.ones(len(X)))
    assert_between(best, primal, dual)
    assert search.cv_results_["max_relative_gap"].max() <= 1e-2


# ---- which gap stops a run ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "fw"])
def test_the_solver_declares_the_gap_that_it_stops_at(solver):
    model = SVC(C=4.0, gamma=0.3, tol=1e-3, solver=solver).fit(X, Y)
    result = model.results_[0]
    by_primal = solver == "block"
    assert result.gap == (result.primal_gap if by_primal else result.simplex_gap)
    assert result.relative_gap == (model.relative_gap_ if by_primal else model.simplex_gap_) <= 1e-3


def test_a_general_concave_problem_has_no_primal():
    b = np.array([0.2, 0.5, 0.3])
    g = Concave(value=lambda a: -((a - b) ** 2).sum(), gradient=lambda a: -2 * (a - b), size=3)
    result = maximize(g, "block", tol=1e-9)
    assert np.isnan([result.primal_value, result.dual_value, result.primal_gap]).all()
    assert result.gap == result.simplex_gap


def test_the_certificate_does_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40_000, 3))
    y = np.where(rows[:, 0] + 0.5 * rng.normal(size=len(rows)) > 0, 1, -1)
    one, two = (SVC(C=0.1, gamma=0.5, max_iter=3, n_jobs=jobs) for jobs in (1, 2))
    with pytest.warns(ConvergenceWarning):
        one.fit(rows, y), two.fit(rows, y)
    assert np.array_equal(one.primal_value_, two.primal_value_)
    assert (one.relative_gap_, one.dual_gap_) == (two.relative_gap_, two.dual_gap_)


def test_without_slack_p_is_that_of_the_hard_margin():
    apart = np.vstack([X[:60], X[:60]]) + np.outer(2.0 * Y - 1, [3.0, 0.0, 0.0])
    model = SVC(C=np.inf, kernel="linear", tol=1e-2).fit(apart, Y)
    coef, y = spread(model, len(apart)), np.where(Y == 1, 1.0, -1.0)
    decisions = (apart @ apart.T + 1) @ coef
    margin, norm = (y * decisions).min(), coef @ decisions
    assert model.primal_value_[0] == pytest.approx(norm / (2 * margin**2), rel=1e-9)
    assert model.dual_value_[0] == pytest.approx(np.abs(coef).sum() - norm / 2, rel=1e-9)
    assert model.relative_gap_ <= 1e-2


@pytest.mark.parametrize("solver", ["block", "swap2"])
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_bounds_hold_without_a_pass_over_all_rows(limit, solver, monkeypatch):
    problem = L2SVC.of(Gram(Rbf(0.3), X, groups=[np.arange(60), np.arange(60, 120)]), 0, 1, 4.0)
    best = maximize(problem, "block", tol=1e-9)
    monkeypatch.setattr(Run, "_certify", lambda self: False)
    with pytest.warns(ConvergenceWarning, match="without a pass"):
        cut = maximize(problem, solver, tol=1e-9, max_iter=limit)
    assert not cut.full_pass
    assert cut.primal_value >= best.dual_value and cut.dual_value <= best.primal_value
    assert cut.relative_primal_gap >= cut.primal_value / cut.dual_value - 1 - 1e-12


# ---- hostile cases --------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**31),
    log_C=st.floats(-6, 9),
    log_gamma=st.floats(-8, 8),
    log_ratio=st.floats(0, 12),
    repeated=st.booleans(),
    contradicting=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
    solver=st.sampled_from(["block", "swap2"]),
    tol=st.sampled_from([0.3, 1e-2, 1e-4]),
)
def test_the_optimum_is_between_p_and_d(seed, log_C, log_gamma, log_ratio, repeated, contradicting, dtype, solver, tol):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(24, 3)).astype(dtype)
    if repeated:
        rows = rows[rng.integers(0, 8, size=24)]
    labels = np.arange(24) % 2 if contradicting else (rows[:, 0] > np.median(rows[:, 0])).astype(int)
    labels[:2] = 0, 1
    s, C, gamma = 10.0 ** rng.uniform(-log_ratio / 2, log_ratio / 2, size=24), 10.0**log_C, 10.0**log_gamma
    model = SVC(C=C, gamma=gamma, tol=tol, solver=solver, max_iter=20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, labels, sample_weight=s)
    rows = rows.astype(np.float64)
    K = np.exp(-gamma * ((rows[:, None] - rows[None]) ** 2).sum(axis=2))
    y = np.where(labels == 1, 1.0, -1.0)
    primal, dual = svm_values(K, y, spread(model, 24), C, s)
    optimum = svm_optimum(K, y, C, s)
    (reported,), (lower,) = model.primal_value_, model.dual_value_
    slack = 1e-7 * optimum[1]  # of the judges
    assert reported >= optimum[0] - slack
    assert lower <= optimum[1] + slack
    assert lower <= dual + slack and reported >= primal - slack
    assert model.relative_gap_ >= primal / dual - 1 - 1e-7
    if model.stop_reason_ == "gap":
        assert (model.relative_gap_ if solver == "block" else model.simplex_gap_) <= tol


def svm_optimum(K, y, C, s):
    """Bounds on the optimum, from below and from above: D and P of an almost exact solution."""
    Q = reference.l2_svm_matrix(K, y, C, s)
    a = nonnegative_least(Q)
    f = a @ Q @ a
    return svm_values(K, y, a * y / f, C, s)[::-1]


def nonnegative_least(Q):
    """argmin a'Qa on the simplex by active sets: b = argmax 1'b - b'Qb/2 over b >= 0, variable by variable, exactly."""
    scale = 1 / np.sqrt(np.diag(Q))
    M, p = Q * np.outer(scale, scale), scale
    b = np.zeros(len(Q))
    for _ in range(200):
        for i in range(len(Q)):
            b[i] = max(0.0, b[i] + p[i] - M[i] @ b)
        face = b > 0
        x = np.zeros(len(Q))
        x[face] = np.linalg.lstsq(M[np.ix_(face, face)], p[face], rcond=None)[0]
        if (x >= 0).all() and (p - M @ x <= 1e-12 * p).all():
            b = x
            break
    a = scale * b
    return a / a.sum()


@pytest.fixture
def every_level():
    before = _core.simd_level()
    yield _core.simd_levels()
    _core.select_simd(before)


@pytest.mark.parametrize("count", [1, 3, 4, 7, 8, 9, 20])
@weighted
def test_the_primal_value_is_the_same_in_vectors_of_every_width(count, weights, every_level):
    """Far from the solution, and with rows that fill no vector."""
    some = np.concatenate([np.arange(count), 60 + np.arange(count)])
    found = []
    for level in every_level:
        _core.select_simd(level)
        model = SVC(solver="swap2", max_iter=2, gamma=0.3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X[some], Y[some], None if weights is None else weights[some])
        found.append(float(model.primal_value_[0]))
    np.testing.assert_allclose(found, found[0], rtol=1e-5)  # the steps to the best level end at a tolerance
