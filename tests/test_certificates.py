"""Certificates are upper bounds, rounding included: judged in extended precision by the code of the campaign."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from campaign.certificates import judge
from campaign.problems import Problem
from sklearn.exceptions import ConvergenceWarning

from swapsvm import SVC, Gram
from swapsvm.kernels import Linear, Poly, Rbf, resolve_gamma
from swapsvm.problems import Quadratic
from swapsvm.solvers.direct import direct_step
from swapsvm.state import KernelState

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
    settings = {"kernel": kernel, "gamma": 0.2, "C": 10.0, "tol": 1e-2}
    outcome, model = held("SVC", settings, storage(X), SIDES)
    assert outcome.verdict == "held" and model.stop_reason_ == "gap"
    dense = SVC(**settings).fit(X, SIDES)
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


# ---- states ---------------------------------------------------------------------------------------------------------


def exact_tube_gap(X, c, ridge, b):
    """Primal minus dual of min b'Qb / 2 - c'b, b >= 0, for a linear kernel and a bias, in rational numbers."""
    rows, b, c, D = [[Fraction(x) for x in row] for row in X.tolist()], *(list(map(Fraction, v)) for v in (b, c)), ridge
    m = len(rows)
    u = [b[i] - b[m + i] for i in range(m)]
    w = [sum(u[i] * rows[i][f] for i in range(m)) for f in range(len(rows[0]))]
    values = [sum(x * y for x, y in zip(row, w, strict=True)) + sum(u) for row in rows]
    quadratic = sum(x * y for x, y in zip(u, values, strict=True))
    dual = sum(x * y for x, y in zip(c, b, strict=True)) - quadratic / 2 - D * sum(x * x for x in b) / 2
    missed = [max(c[i] - (values[i] if i < m else -values[i - m]), 0) for i in range(2 * m)]
    return float(quadratic / 2 + sum(x * x for x in missed) / D / 2 - dual)


@pytest.mark.parametrize("share", [0.5, 1e-3, 1e-9])
@pytest.mark.parametrize("seed", range(5))
def test_a_radius_that_shrinks_scales_its_errors(share, seed):
    rng = np.random.default_rng(seed)
    X, y = 1e3 * rng.normal(size=(8, 2)), rng.normal(size=8)
    c, ridge = np.concatenate([y - 0.01, -y - 0.01, [0.0]]), np.append(np.full(16, 1e-6), 0.0)
    segments = [(0, 1.0), (0, -1.0), (0, 0.0)]
    problem = Quadratic(Gram(Linear(), X), segments, ridge, 2 * c / 1e6, bias=1.0, radius=1e6, grows=True)
    state = KernelState(problem)
    state.set_weights(np.arange(16), np.concatenate([np.maximum(y, 0), np.maximum(-y, 0)]) + 1e-3)
    step = direct_step(state)
    b = step.weights * (step.growth * state.radius)
    b[16] = b[:16].sum() * (1 / share - 1)
    state.set_weights(np.flatnonzero(b), b[b > 0])
    assert state.certified and state.gap >= exact_tube_gap(X, c[:16], Fraction(1e-6), state.weights[:16])


def test_what_a_large_ridge_rounded_off_is_computed_again():
    X = RNG.normal(size=(20, 2))
    gram = Gram(Rbf(0.5), X, groups=[np.arange(10), np.arange(10, 20)])
    state = KernelState(Quadratic(gram, [(0, 1.0), (1, -1.0)], ridge=1e14))
    state.set_weights(np.arange(10), np.ones(10))
    state.set_ridge(1e-3)
    state.prove()
    value, gap, rounding = state.value, state.gap, state.value_rounding
    state.certify()
    assert abs(value - state.value) <= rounding + state.value_rounding and gap >= state.gap - state.gap_rounding


def test_powers_beyond_single_precision_are_not_taken_for_values():
    rng = np.random.default_rng(5)
    for _ in range(60):
        degree = int(rng.integers(2, 4))
        size = 10.0 ** rng.uniform(19 / degree - 1, 19 / degree + 0.4)
        X = (rng.normal(size=(10, 2)) * size * 10.0 ** rng.uniform(-1, 0.3, size=(10, 1))).astype(np.float32)
        kernel = Poly(1.0, 0.0, degree)
        state = KernelState(Quadratic(Gram(kernel, X, groups=[np.arange(5), np.arange(5, 10)]), [(0, 1.0), (1, -1.0)]))
        try:
            state.set_weights(np.arange(2), np.ones(2))
        except ValueError:  # a value is not finite
            continue
        signs = np.repeat([1.0, -1.0], 5).astype(np.longdouble)
        h = signs * ((X.astype(np.longdouble) @ X.T.astype(np.longdouble)) ** degree @ (signs * state.weights))
        true = 2 * (state.weights @ h - h.min())
        assert not state.gap < true * (1 - 1e-9)
