"""Certificates of fits that end at any moment hold: P >= D with the optimum between them, in extended precision."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swapsvm import SVC, SVDD, SVR, OneClassSVM
from swapsvm.run import Run
from swapsvm.timing import Timer

EXTENDED = np.longdouble
pytestmark = pytest.mark.skipif(np.finfo(EXTENDED).eps > 1e-18, reason="a long double has no more digits than a double")
EXACT = 1e-13  # of the judges, and of numbers that are returned in double


def squares(X):
    return ((X[:, None] - X[None]) ** 2).sum(axis=2)


def absolutes(X):
    return np.abs(X[:, None] - X[None]).sum(axis=2)


KERNELS = {
    "rbf": lambda X, gamma: np.exp(-gamma * squares(X)),
    "laplacian": lambda X, gamma: np.exp(-gamma * absolutes(X)),
    "poly": lambda X, gamma: (gamma * (X @ X.T) + 1) ** 2,
    "linear": lambda X, gamma: X @ X.T,
}


def kernel_matrix(kernel, X, gamma):
    return KERNELS[kernel](X.astype(EXTENDED), EXTENDED(gamma))


def coefficients(model, count):
    coef = np.zeros(count, EXTENDED)
    coef[model.support_] = np.ravel(model.dual_coef_)
    return coef


def lowest(function, low, high):
    """The minimum of a convex function, by thirds."""
    for _ in range(120):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if function(a) < function(b) else (a, high)
    return function((low + high) / 2)


def svc_values(model, K, y, s):
    """P of the best multiple of the decision function, and D of the best multiple of its coefficients."""
    coef, cost = coefficients(model, len(K)), model.C * s.astype(EXTENDED)
    margins = np.where(y, 1, -1) * (K @ coef + coef.sum())
    norm = coef @ (K @ coef) + coef.sum() ** 2
    multiple, before = EXTENDED(0), None
    for _ in range(200):  # Newton's method on a piecewise quadratic
        below = multiple * margins < 1
        curvature = norm + (cost * margins**2)[below].sum()
        multiple, before = max((cost * margins)[below].sum() / curvature, 0) if curvature > 0 else multiple, multiple
        if multiple == before:
            break

    def primal(t):
        return (t**2 * norm + (cost * np.maximum(1 - t * margins, 0) ** 2).sum()) / 2

    best = min(primal(multiple), lowest(primal, EXTENDED(0), 2 * multiple + (multiple == 0)))
    return best, np.abs(coef).sum() ** 2 / (2 * (norm + (coef**2 / cost).sum()))


def svr_values(model, K, y, s):
    coef, cost = coefficients(model, len(K)), model.C * s.astype(EXTENDED)
    above, below = 2 * model.expectile * cost, 2 * (1 - model.expectile) * cost
    found = K @ coef + coef.sum()
    missed, norm = y.astype(EXTENDED) - found, coef @ found
    losses = above * np.maximum(missed - model.epsilon, 0) ** 2 + below * np.maximum(-missed - model.epsilon, 0) ** 2
    ridge = np.maximum(coef, 0) ** 2 / above + np.minimum(coef, 0) ** 2 / below
    dual = coef @ y - model.epsilon * np.abs(coef).sum() - (norm + ridge.sum()) / 2
    return (norm + losses.sum()) / 2, dual


def one_class_values(model, K, y, s):
    a, cost = coefficients(model, len(K)), model.C_ * s.astype(EXTENDED)
    a /= a.sum()
    scores, norm = K @ a, a @ K @ a

    def primal(rho):
        return norm - 2 * rho + (cost * np.maximum(rho - scores, 0) ** 2).sum()

    return lowest(primal, scores.min(), scores.max() + 1 / cost.sum()), -norm - (a**2 / cost).sum()


def ball_values(model, K, y, s):
    a, cost = coefficients(model, len(K)), model.C_ * s.astype(EXTENDED)
    a /= a.sum()
    distances = np.diag(K) - 2 * K @ a + a @ K @ a

    def primal(r):
        return r + (cost * np.maximum(distances - r, 0) ** 2).sum() / 4

    dual = a @ np.diag(K) - a @ K @ a - (a**2 / cost).sum()
    return lowest(primal, distances.min() - 2 / cost.sum(), distances.max()), dual


JUDGES = {SVC: svc_values, SVR: svr_values, OneClassSVM: one_class_values, SVDD: ball_values}


class Endings:
    """Cuts runs short: certificates are left out or stopped, and so are moves and final answers."""

    def __init__(self, seed, monkeypatch):
        self.random = np.random.default_rng(seed)
        self.parts = dict(zip(("left out", "stopped", "moves"), self.random.choice([0, 0.3, 1], 3), strict=True))
        certify = Run._certify
        monkeypatch.setattr(Run, "_certify", lambda run: not self.occurs("left out") and certify(run))
        self.cut(monkeypatch, "grant_certificate", "stopped")
        self.cut(monkeypatch, "grant_answer", "stopped")
        self.cut(monkeypatch, "has_time_for_moves", "moves")

    def occurs(self, ending):
        return self.random.random() < self.parts[ending]

    def cut(self, monkeypatch, name, ending):
        """A computation gets a few microseconds; an answer that nothing may stop is left alone."""
        granted = getattr(Timer, name)

        def cut_short(timer, *arguments, **options):
            found = granted(timer, *arguments, **options)
            if not options.get("forever") and self.occurs(ending):
                timer.token.set_seconds_left(10.0 ** self.random.uniform(-6.5, -3))
            return found

        monkeypatch.setattr(Timer, name, cut_short)

    def options(self):
        limits = {"max_iter": int(self.random.choice([1, 2, 3, 5, 10, 100])), "max_time": 0.2}
        if self.random.random() < 0.5:
            looks = iter(range(int(self.random.integers(1, 5))))
            limits = {"callbacks": [lambda progress: next(looks, None) is not None], "max_time": 0.2}
        return {"tol": 10.0 ** self.random.uniform(-6, -1), **limits}


def fitted(model, X, y, s):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, sample_weight=s) if y is None else model.fit(X, y, sample_weight=s)


@settings(deadline=None, max_examples=60)
@given(
    Estimator=st.sampled_from(list(JUDGES)),
    kernel=st.sampled_from(list(KERNELS)),
    solver=st.sampled_from(["block", "block", "swap", "swap2"]),
    dtype=st.sampled_from([np.float32, np.float64]),
    count=st.sampled_from([12, 40, 150, 300]),
    log_C=st.floats(-6, 9),
    log_gamma=st.floats(-8, 8),
    log_ratio=st.sampled_from([0, 12]),
    repeated=st.booleans(),
    expectile=st.sampled_from([0.5, 0.1]),
    seed=st.integers(0, 2**31),
)
def test_the_optimum_is_between_p_and_d_whenever_a_fit_ends(
    Estimator, kernel, solver, dtype, count, log_C, log_gamma, log_ratio, repeated, expectile, seed
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 2)).astype(dtype)
    X = X[rng.integers(0, 1 + count // 3, size=count)] if repeated else X
    y = np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=count)
    s = 10.0 ** rng.uniform(-log_ratio / 2, log_ratio / 2, size=count)
    gamma = 10.0 ** (log_gamma if kernel in ("rbf", "laplacian") else log_gamma / 4)
    options = {"kernel": kernel, "gamma": gamma, "coef0": 1, "degree": 2, "solver": solver}
    y = {SVC: y > np.median(y), SVR: y}.get(Estimator)
    options |= {"C": 10.0**log_C} if y is not None else {"slack": 10.0 ** (log_C / 4)}
    options |= {"expectile": expectile} if Estimator is SVR else {}
    K, found = kernel_matrix(kernel, X, gamma), []
    with pytest.MonkeyPatch.context() as monkeypatch:
        endings = Endings(seed, monkeypatch)
        for _ in range(2):
            model = fitted(Estimator(**options, **endings.options()), X, y, s)
            found.append((model, *JUDGES[Estimator](model, K, y, s)))
    model = fitted(Estimator(**options, tol=1e-6, max_time=0.2), X, y, s)
    found.append((model, *JUDGES[Estimator](model, K, y, s)))
    least, most = max(dual for *_, dual in found), min(primal for _, primal, _ in found)  # around the optimum
    for model, primal, dual in found:
        upper, lower = np.ravel(model.primal_value_)[0], np.ravel(model.dual_value_)[0]
        rounding = EXACT * max(abs(primal), abs(dual))
        assert upper >= lower
        assert upper >= least - EXACT * abs(least) and lower <= most + EXACT * abs(most)
        assert lower <= dual + rounding
        assert upper >= primal - rounding or not model.results_[0].full_pass


@pytest.mark.parametrize("solver", ["swap", "swap2"])
@pytest.mark.parametrize("limit", [1, 3])
def test_weights_too_small_for_single_precision_are_not_lost(solver, limit):
    """Beside the slack of so large a C they are 1e-80 on the simplex, which float32 takes for 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)).astype(np.float32)
    y = np.sin(X[:, 0])
    model = fitted(SVR(C=1e80, epsilon=0.0, gamma=0.01, solver=solver, max_iter=limit), X, y, None)
    primal, dual = svr_values(model, kernel_matrix("rbf", X, 0.01), y, np.ones(30))
    assert primal * (1 - EXACT) <= model.primal_value_ <= primal * (1 + 1e-6)
    assert model.dual_value_ <= dual * (1 + EXACT)


@pytest.mark.parametrize(("kernel", "scale", "C"), [("linear", 1e-66, 1e-5), ("rbf", 1.0, 1e-78)])
def test_few_vectors_are_certified_where_features_leave_the_range_of_single_precision(kernel, scale, C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    model = fitted(SVC(kernel=kernel, gamma=1.0, C=C, max_vectors=10), scale * X, X[:, 0] > 0, None)
    assert np.isfinite(model.primal_value_).all()
    assert 0 < model.dual_value_[0] <= model.primal_value_[0]
