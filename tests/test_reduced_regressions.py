"""Regressions of fewer support vectors, judged by NumPy in double over all rows."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from qpsolvers import solve_qp
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from swapsvm import SVDD, SVR, SVRCV, ConvergenceWarning, OneClassSVM, reduce_support
from swapsvm.files import export_onnx, load, save
from swapsvm.problems.l2_svr import EXCESS

from . import reference

GAMMA, ROWS = 0.3, 250
MADE = np.random.default_rng(0)
X = MADE.uniform(-3, 3, size=(ROWS, 2))
Y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * MADE.normal(size=ROWS)
BOTH = np.column_stack([Y, 50 * np.cos(X[:, 0] * X[:, 1])])
K = rbf_kernel(X, gamma=GAMMA)
WEIGHTS = MADE.integers(0, 4, size=ROWS) * 0.5


def costs_of(model, weights):
    """c of targets above and below the prediction."""
    weights = np.ones(ROWS) if weights is None else weights
    return [2 * part * model.C * weights for part in (model.expectile, 1 - model.expectile)]


def price_of(model, y, weights):
    """Of a unit of a learned tube."""
    weights = np.ones(ROWS) if weights is None else weights
    spread = np.sqrt(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights))
    return EXCESS * spread * model.C * weights.sum()


def primal_value(model, y, coef, intercept, weights=None, epsilon=0.1):
    """P over all rows, from the definition."""
    vectors = model.support_
    left = y - K[:, vectors] @ coef - intercept
    above, below = costs_of(model, weights)
    loss = above @ np.maximum(left - epsilon, 0) ** 2 + below @ np.maximum(-left - epsilon, 0) ** 2
    price = price_of(model, y, weights) * epsilon if model.epsilon == "auto" else 0.0
    return (coef @ K[np.ix_(vectors, vectors)] @ coef + intercept**2 + loss) / 2 + price


def least_primal_value(model, y, weights=None, epsilon=0.1, vectors=None):
    """The minimum over the intercept and coefficients of vectors, by default those of the model, by a QP solver."""
    vectors, (above, below) = model.support_ if vectors is None else vectors, costs_of(model, weights)
    live, r = above > 0, len(vectors)
    n = int(live.sum())
    features = np.column_stack([K[np.ix_(live, vectors)], np.ones(n)])
    P = sp.block_diag([K[np.ix_(vectors, vectors)], [[1.0]], sp.diags(np.append(above[live], below[live]))])
    G = np.vstack(
        [np.hstack([-features, -np.eye(n), np.zeros((n, n))]), np.hstack([features, np.zeros((n, n)), -np.eye(n)])]
    )
    h = np.append(epsilon - y[live], epsilon + y[live])
    precision = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    x = solve_qp(P.tocsc(), np.zeros(r + 1 + 2 * n), G=sp.csc_matrix(G), h=h, solver="clarabel", **precision)
    return float(x @ (P @ x)) / 2


def lower_bound(model, y, coef, weights=None, epsilon=0.1):
    """D of the best multiple of a model's coefficients, among those that a learned tube can pay for."""
    above, below = costs_of(model, weights)
    b = np.zeros(ROWS)
    b[model.support_] = coef
    live, learned = above > 0, model.epsilon == "auto"
    costs = np.where(b > 0, above, below)
    square = b @ K @ b + b.sum() ** 2 + (b[live] ** 2 / costs[live]).sum()
    linear = b @ y - (0.0 if learned else epsilon * np.abs(b).sum())
    scale = linear / square
    if learned:
        scale = min(scale, price_of(model, y, weights) / np.abs(b).sum())
    return scale * linear - scale**2 * square / 2


KINDS = {
    "tube": ({}, None),
    "no tube": ({"epsilon": 0.0}, None),
    "weights": ({}, WEIGHTS),
    "expectile": ({"epsilon": 0.0, "expectile": 0.8}, None),
    "expectile, tube and weights": ({"expectile": 0.1}, WEIGHTS),
    "learned tube": ({"epsilon": "auto"}, None),
    "learned tube, expectile and weights": ({"epsilon": "auto", "expectile": 0.7}, WEIGHTS),
}


@pytest.mark.parametrize("count", [1, 12, 40])
@pytest.mark.parametrize("kind", KINDS)
def test_certificate_and_coefficients(kind, count):
    parameters, weights = KINDS[kind]
    model = SVR(C=5, gamma=GAMMA, **parameters).fit(X, Y, weights)
    small = reduce_support(model, X, Y, max_vectors=count, sample_weight=weights)
    assert len(small.support_) == count < len(model.support_)
    assert set(small.support_) <= set(model.support_)
    assert small.epsilon_ == model.epsilon_ and isinstance(small.primal_value_, float)
    value = primal_value(small, Y, small.dual_coef_[0], small.intercept_[0], weights, small.epsilon_)
    bound = lower_bound(model, Y, model.dual_coef_[0], weights, model.epsilon_)
    assert small.primal_value_ == pytest.approx(value, rel=1e-9)
    assert small.dual_value_ == pytest.approx(bound, rel=1e-9)
    assert small.relative_gap_ == pytest.approx(value / bound - 1, rel=1e-6)
    assert small.dual_gap_ == pytest.approx(value - bound, rel=1e-6)
    price = price_of(model, Y, weights) * model.epsilon_ if model.epsilon == "auto" else 0.0
    least = least_primal_value(small, Y, weights, small.epsilon_) + price
    assert least * (1 - 1e-7) <= value <= least * (1 + 1e-7)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    kernel=st.sampled_from(["linear", "rbf", "poly", "laplacian"]),
    C=st.sampled_from([1e-3, 1.0, 1e4]),
    unit=st.sampled_from([1e-4, 1.0, 1e5]),
    epsilon=st.sampled_from([0.0, 0.1, "auto"]),
    expectile=st.sampled_from([0.5, 0.9]),
    count=st.integers(1, 40),
    weighted=st.booleans(),
)
def test_never_more_vectors_and_never_below_the_bound(seed, kernel, C, unit, epsilon, expectile, count, weighted):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, size=(48, 3)) / 2.0  # they repeat
    y = unit * (rows[:, 0] * rows[:, 1] + rng.normal(size=48))
    weights = rng.integers(0, 3, size=48) + np.eye(48)[0] if weighted else None
    tube = epsilon if epsilon == "auto" else epsilon * unit
    model = SVR(kernel=kernel, C=C, gamma=0.5, degree=2, coef0=1.0, epsilon=tube, expectile=expectile)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # rounding can end a fit with a large C
        model.fit(rows, y, weights)
    small = reduce_support(model, rows, y, max_vectors=count, sample_weight=weights)
    assert len(small.support_) <= min(count, len(model.support_)) and set(small.support_) <= set(model.support_)
    if count >= len(model.support_):
        return
    values = reference.kernel_values(model.model_.vectors.kernel, rows)
    coef, left = small.dual_coef_[0], y - small.predict(rows)
    above, below = ((1.0 if weights is None else weights) * 2 * part * C for part in (expectile, 1 - expectile))
    outside = np.maximum(np.abs(left) - small.epsilon_, 0) ** 2
    square = coef @ values[np.ix_(small.support_, small.support_)] @ coef + small.intercept_[0] ** 2
    value = (square + (np.where(left > 0, above, below) * outside).sum()) / 2
    if epsilon == "auto":
        spread = np.sqrt(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights))
        value += EXCESS * spread * C * (48 if weights is None else weights.sum()) * small.epsilon_
    assert small.primal_value_ == pytest.approx(value, rel=1e-6)
    assert small.primal_value_ >= model.dual_value_ * (1 - 1e-9)  # weak duality
    assert model.dual_value_ * (1 - 1e-6) <= small.dual_value_ <= model.primal_value_ * (1 + 1e-9)
    assert small.relative_gap_ == pytest.approx(small.primal_value_ / small.dual_value_ - 1, abs=1e-9)


def test_no_solution_is_below_the_bound():
    for parameters, weights in KINDS.values():
        best = SVR(C=5, gamma=GAMMA, tol=1e-8, **parameters).fit(X, Y, weights)
        rough = SVR(C=5, gamma=GAMMA, tol=0.1, **parameters).fit(X, Y, weights)
        small = reduce_support(rough, X, Y, max_vectors=20, sample_weight=weights)
        assert small.dual_value_ <= best.primal_value_ and best.dual_value_ <= small.primal_value_
        assert best.primal_value_ >= small.primal_value_ / (1 + small.relative_gap_) * (1 - 1e-12)


def test_several_outputs_share_the_vectors():
    model = SVR(C=5, gamma=GAMMA).fit(X, BOTH)
    small = reduce_support(model, X, BOTH, max_vectors=30)
    assert len(small.support_) == 30 and small.dual_coef_.shape == (2, 30) and small.n_iter_.shape == (2,)
    gaps = []
    for k in range(2):
        value = primal_value(small, BOTH[:, k], small.dual_coef_[k], small.intercept_[k])
        gaps.append(value / lower_bound(model, BOTH[:, k], model.dual_coef_[k]) - 1)
        assert small.primal_value_[k] == pytest.approx(value, rel=1e-9)
        assert value <= least_primal_value(small, BOTH[:, k]) * (1 + 1e-7)
    assert small.relative_gap_ == pytest.approx(max(gaps), rel=1e-6)
    column = reduce_support(SVR(C=5, gamma=GAMMA).fit(X, BOTH[:, :1]), X, BOTH[:, :1], max_vectors=30)
    assert column.primal_value_.shape == (1,) and column.predict(X).shape == (ROWS, 1)


def test_the_unit_of_an_output_does_not_matter():
    unit, targets = np.array([1e-3, 1e4]), np.column_stack([Y, np.cos(X[:, 0] * X[:, 1])])
    ours, others = (
        reduce_support(SVR(epsilon=0.0, gamma=GAMMA, tol=1e-6).fit(X, y), X, y, max_vectors=25)
        for y in (targets, targets * unit)
    )
    np.testing.assert_array_equal(ours.support_, others.support_)
    np.testing.assert_allclose(others.predict(X), ours.predict(X) * unit, rtol=1e-3, atol=1e-3 * unit.min())


def test_an_output_without_a_function():
    targets = np.column_stack([Y, np.full(ROWS, 0.05)])  # within the tube of the function 0
    model = SVR(C=5, gamma=GAMMA).fit(X, targets)
    small = reduce_support(model, X, targets, max_vectors=20)
    assert (small.predict(X)[:, 1] == 0).all() and small.primal_value_[1] == small.dual_value_[1] == 0
    assert 0 < small.relative_gap_ < np.inf


def test_the_choice_is_better_than_random_vectors():
    model = SVR(C=5, gamma=GAMMA).fit(X, Y)
    small, draws = reduce_support(model, X, Y, max_vectors=30), np.random.default_rng(1)
    for _ in range(10):
        others = draws.choice(model.support_, 30, replace=False)
        assert small.primal_value_ < least_primal_value(small, Y, vectors=others)


def test_few_vectors_are_as_accurate_and_span_a_linear_model():
    model = SVR(C=5, gamma=GAMMA).fit(X, Y)
    gaps = [reduce_support(model, X, Y, max_vectors=count).relative_gap_ for count in (10, 30, 60)]
    assert gaps[0] > gaps[1] > gaps[2]
    assert reduce_support(model, X, Y, max_vectors=30).score(X, Y) > model.score(X, Y) - 0.01
    linear = SVR(kernel="linear", tol=1e-8).fit(X, Y)
    small = reduce_support(linear, X, Y, max_vectors=20)
    assert len(small.support_) <= 2 and small.relative_gap_ <= 2e-6 and small.stop_reason_ in ("gap", "reduced")
    np.testing.assert_allclose(small.coef_, linear.coef_, atol=1e-4)


@pytest.mark.filterwarnings("ignore:R\\^2 score is not well-defined")
def test_r2_is_within_the_loss():
    model = SVR(C=5, gamma=GAMMA).fit(X[:150], Y[:150])
    rest = X[150:], Y[150:]
    small = reduce_support(model, X[:150], Y[:150], max_accuracy_loss=0.02, validation=rest)
    assert small.score(*rest) >= model.score(*rest) - 0.02 and len(small.support_) < len(model.support_) / 2
    with pytest.raises(ValueError, match=r"R\^2 of a single row"):
        reduce_support(model, X[:150], Y[:150], max_accuracy_loss=0.02, validation=(X[:1], Y[:1]))


def test_more_vectors_than_there_are_leave_the_model():
    model = SVR(gamma=GAMMA).fit(X, Y)
    same = reduce_support(model, X, Y, max_vectors=ROWS)
    assert same is not model and np.array_equal(same.predict(X), model.predict(X))
    assert same.relative_gap_ == model.relative_gap_


@pytest.mark.parametrize("kernel", ["precomputed", "callable", "poly"])
def test_other_kernels_and_sparse_rows(kernel):
    data = K if kernel == "precomputed" else sp.csr_array(X) if kernel == "poly" else X
    chosen = (lambda a, b: rbf_kernel(a, b, gamma=GAMMA)) if kernel == "callable" else kernel
    model = SVR(kernel=chosen, coef0=1.0).fit(data, Y)
    small = reduce_support(model, data, Y, max_vectors=8)
    assert len(small.support_) <= 8 and small.predict(data).shape == (ROWS,)
    assert small.primal_value_ > small.dual_value_ > 0


def test_merged_rows():
    few = MADE.integers(-2, 3, size=(1200, 2)) / 2.0
    y = few[:, 0] ** 2 - few[:, 1]
    model = SVR(C=5, gamma=GAMMA, epsilon=0.05).fit(few, y)
    small = reduce_support(model, few, y, max_vectors=5)
    K = rbf_kernel(few, few[small.support_], gamma=GAMMA)
    left = np.maximum(np.abs(y - K @ small.dual_coef_[0] - small.intercept_[0]) - 0.05, 0)
    square = small.dual_coef_[0] @ K[small.support_] @ small.dual_coef_[0] + small.intercept_[0] ** 2
    assert small.primal_value_ == pytest.approx((square + 5 * left @ left) / 2, rel=1e-9)
    assert small.dual_value_ == pytest.approx(model.dual_value_, rel=0.01)


@pytest.mark.parametrize("y", [Y, BOTH])
def test_files(y, tmp_path):
    small = reduce_support(SVR(C=5, gamma=GAMMA).fit(X, y), X, y, max_vectors=10)
    save(small, tmp_path / "small")
    for other in (load(tmp_path / "small"), pickle.loads(pickle.dumps(small))):
        np.testing.assert_array_equal(other.predict(X), small.predict(X))
        np.testing.assert_array_equal(other.primal_value_, small.primal_value_)
        assert other.stop_reason_ == "reduced" and other.relative_gap_ == small.relative_gap_
    with pytest.raises(ValueError, match="as after a reduction: reduce the model that it came from"):
        reduce_support(load(tmp_path / "small"), X, y, max_vectors=5)


def test_onnx(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    small = reduce_support(SVR(C=5, gamma=GAMMA).fit(X, Y), X, Y, max_vectors=10)
    export_onnx(small, tmp_path / "small.onnx")
    session = runtime.InferenceSession(tmp_path / "small.onnx")
    (found,) = session.run(None, {session.get_inputs()[0].name: X})
    np.testing.assert_allclose(found.ravel(), small.predict(X), atol=1e-9)


def test_time_ends_a_reduction_with_a_certificate():
    hasty = SVR(C=5, gamma=GAMMA).fit(X, Y).set_params(max_time=1e-9)
    with pytest.warns(ConvergenceWarning, match="'max_time' stopped the reduction"):
        small = reduce_support(hasty, X, Y, max_vectors=20)
    assert small.stop_reason_ == "max_time" and 1 <= len(small.support_) <= 20
    value = primal_value(small, Y, small.dual_coef_[0], small.intercept_[0])
    assert small.primal_value_ == pytest.approx(value, rel=1e-9)


def test_the_data_must_be_those_of_the_fit():
    model = SVR(C=5, gamma=GAMMA).fit(X, Y)
    moved, wrong = X.copy(), Y.copy()
    moved[model.support_[3]] += 1e-9
    wrong[np.setdiff1d(np.arange(ROWS), model.support_)[:5]] += 3.0
    for X_other, y_other, weights, complaint in (
        (X[1:], Y[1:], None, "249 rows, but the model was fitted on 250"),
        (moved, Y, None, "support vectors are not the rows"),
        (X, wrong, None, "on these data the model has a relative gap of"),
        (X, Y + 1, None, "on these data the model has a relative gap of"),
        (X, Y, np.full(ROWS, 3.0), "on these data the model has a relative gap of"),
        (X, BOTH, None, r"y has the shape \(250, 2\), but the model was fitted on one number for each row"),
    ):
        with pytest.raises(ValueError, match=complaint):
            reduce_support(model, X_other, y_other, max_vectors=5, sample_weight=weights)
    for changed in ({"C": 50.0}, {"epsilon": 0.5}, {"expectile": 0.9}):
        with pytest.raises(ValueError, match="on these data the model has a relative gap"):
            reduce_support(copy.copy(model).set_params(**changed), X, Y, max_vectors=5)


def test_what_is_refused():
    with pytest.raises(NotFittedError, match="this SVR is not fitted"):
        reduce_support(SVR(), X, Y, max_vectors=5)
    for detector in (OneClassSVM().fit(X), SVDD().fit(X)):
        name = type(detector).__name__
        with pytest.raises(ValueError, match=f"not {name}: .* set its threshold.* smaller slack"):
            reduce_support(detector, X, Y, max_vectors=5)
    with pytest.raises(ValueError, match="not SVRCV; of a search, pass its best_estimator_"):
        reduce_support(SVRCV(), X, Y, max_vectors=5)
    few = SVR(C=5, gamma=GAMMA, max_vectors=30).fit(X, Y)
    with pytest.raises(ValueError, match="reduce the model that it came from"):
        reduce_support(few, X, Y, max_vectors=5)
