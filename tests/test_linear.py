"""Linear kernels: products through w and their rounding, dual coordinate steps, Newton's steps, and fits by both."""

import signal
import time
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC, LinearSVR

from swapsvm import SVC, SVR, OneClassSVM, _core
from swapsvm._core import Measure, Stopped, StopToken
from swapsvm.gram import Gram, as_rows
from swapsvm.kernels import Linear, Rbf
from swapsvm.problems import L2SVC, L2SVR
from swapsvm.solvers import block as block_module
from swapsvm.solvers.linear import DescentSteps, linear_steps
from swapsvm.solvers.newton import SmoothProblem
from swapsvm.solvers.surrogate import SurrogateSteps
from swapsvm.state import open_state

TIGHT = 1e-7


def documents(rows=900, words=4000, seed=0, noise=0.05):
    """Rows of unit length with words of Zipf's frequencies; each class prefers other words."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(rows) < 0.5, 1, -1)
    lengths = rng.integers(20, 60, rows)
    label = np.repeat(y, lengths)
    ranks = np.minimum(rng.zipf(1.3, len(label)) - 1, words - 1)
    own = rng.random(len(label)) < 0.5
    found = np.where(own, (ranks * 7 + 11 * (label > 0)) % words, ranks)
    X = sp.csr_array((np.ones(len(found)), (np.repeat(np.arange(rows), lengths), found)), shape=(rows, words))
    X = sp.csr_array(sp.diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # LIBLINEAR accepts no others
    return X, y * np.where(rng.random(rows) < noise, -1, 1)


def tall(rows=3000, features=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, features)) * 10 ** rng.uniform(-1, 1, features) + rng.standard_normal(features)
    return X, np.where((X - X.mean(0)) @ rng.standard_normal(features) + rng.standard_normal(rows) > 0, 1, -1)


KINDS_OF_DATA = {"documents": documents, "tall": tall}


def kinds_of(model):
    return sum((result.trace.kinds for result in model.results_), type(model.results_[0].trace.kinds)())


def problem_of(X, y, C=1.0, threads=1, dtype=None, weights=None):
    gram = Gram(Linear(), X, groups=[np.flatnonzero(y > 0), np.flatnonzero(y < 0)], n_threads=threads, dtype=dtype)
    return L2SVC.of(gram, 0, 1, C, weights)


def opened(problem):
    state = open_state(problem)
    state.measure(Measure.primal)
    state.set_weights(np.arange(problem.size), np.ones(problem.size))
    return state


def primal(w, intercept, X, y, C, weights=1.0):
    slack = np.maximum(0.0, 1.0 - y * (X @ w + intercept))
    return 0.5 * (w @ w + intercept**2) + 0.5 * C * np.sum(weights * slack**2)


def dual(b, X, y, C, weights=1.0):
    """D(b) of signed b, and w and the intercept that belong to it."""
    w, intercept = X.T @ b, b.sum()
    return np.abs(b).sum() - 0.5 * (w @ w + intercept**2 + np.sum(b**2 / (C * weights))), w, intercept


def coefficients(model, size):
    b = np.zeros(size)
    b[model.support_] = model.dual_coef_.ravel()
    return b


# ---- products and their rounding -------------------------------------------------------------------------------------


def exact_products(X, rows, vectors, coef):
    """In rational numbers."""
    numbers = [[Fraction(float(x)) for x in row] for row in X]
    w = [sum(Fraction(float(c)) * numbers[v][f] for c, v in zip(coef, vectors, strict=True)) for f in range(len(X[0]))]
    return [sum(x * y for x, y in zip(numbers[r], w, strict=True)) for r in rows]


@settings(max_examples=30, deadline=None)
@given(
    scale=st.sampled_from([1e-160, 1e-20, 1.0, 1e20, 1e140]),
    coef_scale=st.sampled_from([1e-200, 1e-8, 1.0, 1e12]),
    spread=st.sampled_from([0, 8, 30]),
    sparse=st.booleans(),
    single=st.booleans(),
    cancels=st.booleans(),
    seed=st.integers(0, 100),
)
def test_the_rounding_bound_holds_for_hostile_magnitudes(scale, coef_scale, spread, sparse, single, cancels, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 9)) * 10.0 ** rng.uniform(-spread, spread, (40, 9))
    X = X * scale if not single else np.clip(X, -1e30, 1e30).astype(np.float32)
    X[rng.random(X.shape) < 0.4] = 0.0
    vectors = rng.integers(0, 40, 60).astype(np.int32)
    coef = rng.standard_normal(60) * coef_scale * 10.0 ** rng.uniform(-spread, spread, 60)
    if cancels:  # all but the last digits
        vectors[30:], coef[30:] = vectors[:30], -coef[:30] * (1 + 1e-15)
    gram = Gram(Linear(), sp.csr_array(X) if sparse else X, n_threads=1).core
    rows = np.arange(40, dtype=np.int32)
    for exact in (False, True):
        found = gram.own_product(rows, vectors, coef, exact)
        bound = gram.own_rounding(rows, vectors, coef, exact)
        true = exact_products(X, rows, vectors, coef)
        for value, error, want in zip(found, bound, true, strict=True):
            assert not np.isfinite(error) or abs(Fraction(float(value)) - want) <= Fraction(float(error))


def test_the_rounding_bound_holds_over_several_chunks_and_does_not_grow_with_them():
    """Sums over vectors are compensated. The judge computes in extended precision."""
    rng = np.random.default_rng(0)
    X, coef = rng.standard_normal((5000, 3)), rng.standard_normal(5000)
    gram, rows = Gram(Linear(), X, n_threads=1).core, np.arange(5000, dtype=np.int32)
    found, bound = gram.own_product(rows, rows, coef, True), gram.own_rounding(rows, rows, coef, True)
    true = X.astype(np.longdouble) @ (X.T.astype(np.longdouble) @ coef.astype(np.longdouble))
    sizes = np.abs(X) @ (np.abs(X.T) @ np.abs(coef))
    assert (np.abs(found - true) <= bound).all()
    assert (bound <= 1.2 * 2**-53 * 12 * sizes).all()


def test_numbers_out_of_range_have_no_bound():
    X = np.array([[1e200, 1.0], [1e200, -1.0], [1.0, 1.0]])
    rows = np.arange(3, dtype=np.int32)
    bound = Gram(Linear(), X, n_threads=1).core.own_rounding(rows, rows, np.full(3, 1e150), True)
    assert np.isinf(bound).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_csr_and_dense_rows_agree_and_do_not_depend_on_threads(dtype):
    X, _ = documents()
    coef, rows = np.random.default_rng(0).standard_normal(900), np.arange(900, dtype=np.int32)

    def product(data, threads):
        return Gram(Linear(), data, n_threads=threads).core.own_product(rows, rows, coef, False)

    data = X.astype(dtype)
    np.testing.assert_allclose(product(data, 1), product(data.toarray(), 1), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(product(data, 1), data.astype(float) @ (data.T.astype(float) @ coef), atol=1e-12)
    for any_data in (data, data.toarray()):
        np.testing.assert_array_equal(product(any_data, 1), product(any_data, 3))


def test_products_with_other_rows_go_through_w():
    rng = np.random.default_rng(0)
    X, Z, coef = rng.standard_normal((50, 7)), rng.standard_normal((30, 7)), rng.standard_normal((2, 30))
    ends, columns = np.array([10, 30]), np.array([[0, 2], [2, 1]], np.int32)  # both groups add to the last output
    values = X @ Z.T
    first, second = values[:, :10] @ coef[:, :10].T, values[:, 10:] @ coef[:, 10:].T
    expected = np.column_stack([first[:, 0], second[:, 1], first[:, 1] + second[:, 0]])
    for left, right in ((X, Z), (sp.csr_array(X), sp.csr_array(Z))):
        found = _core.KernelSums(as_rows(right), Linear().spec(), coef, ends, columns).of(as_rows(left), True, 1)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_an_evaluation_is_a_row_read_once():
    X, _ = tall(2000)
    gram = Gram(Linear(), X, n_threads=1)
    rows = np.arange(2000, dtype=np.int32)
    gram.core.own_product(rows, rows[:300], np.ones(300), True)
    assert gram.evaluations == 2300 and not gram.memory_pays
    assert not Gram(Linear(), np.ones((10, 500)), cache_size=10).memory_pays


# ---- steps -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_descent_raises_the_value_and_returns_the_products_of_its_weights(dtype):
    X, y = documents()
    problem = problem_of(X.astype(dtype), y, C=10.0)
    state = opened(problem)
    descent, b = state.descent(), state.in_svm_units()[0]
    dense, signs = X.astype(dtype).toarray().astype(float)[problem.rows], problem.signs
    K = (dense @ dense.T + 1.0) * np.outer(signs, signs)
    values = []
    for _ in range(4):
        b, products = descent.descend(b, 0.0, 2)
        assert (b >= 0).all()
        np.testing.assert_allclose(products, K @ b, rtol=1e-9, atol=1e-9)
        values.append(b.sum() - 0.5 * b @ products - 0.05 * b @ b)
    assert (np.diff(values) > 0).all()
    again, _ = descent.descend(state.in_svm_units()[0], 0.0, 2)
    np.testing.assert_array_equal(again, descent.descend(state.in_svm_units()[0], 0.0, 2)[0])


def test_a_descent_ends_at_the_accuracy_asked_for():
    state = opened(problem_of(*documents()))
    descent, start = state.descent(), np.zeros(state.size)
    rough, fine, all_epochs = (descent.descend(start, accuracy, 400)[0] for accuracy in (1e-1, 1e-3, 0.0))
    best = all_epochs.sum()
    assert 1e-6 < abs(fine.sum() / best - 1) < abs(rough.sum() / best - 1)


def test_a_stopped_descent_leaves_the_state_alone():
    state = opened(problem_of(*documents()))
    token = StopToken()
    state.limit(token=token)
    before = state.core.weights
    steps = DescentSteps(state.descent(), afresh=False)
    token.request()
    with pytest.raises(Stopped):
        steps.choose(state)
    np.testing.assert_array_equal(state.core.weights, before)


def test_the_descent_refuses_what_it_cannot_do():
    X, y = documents()
    hard = opened(problem_of(X, y, C=np.inf))
    assert hard.linear_columns == 0
    with pytest.raises(ValueError, match="positive ridge"):
        hard.descent()
    gram = Gram(Rbf(gamma=1.0), X, groups=[np.flatnonzero(y > 0), np.flatnonzero(y < 0)], n_threads=1)
    other = opened(L2SVC.of(gram, 0, 1, 1.0))
    assert other.linear_columns == 0 and linear_steps(other, afresh=True) is None
    with pytest.raises(ValueError, match="not linear"):
        other.descent()
    state = opened(problem_of(X, y))
    with pytest.raises(ValueError, match="one weight per variable"):
        state.descent()._core.descend(state.core, np.ones(3), 0.1, 1)


def test_the_features_are_the_rows_and_the_bias():
    X, y = documents(words=300)
    for data in (X, X.toarray()):
        problem = problem_of(data, y)
        z, dense = opened(problem).own_features(), X.toarray()
        Z = np.column_stack([dense, np.ones(len(y))])[problem.rows] * problem.signs[:, None]
        rng = np.random.default_rng(0)
        v, w = rng.standard_normal(z.count), rng.random(z.size)
        np.testing.assert_allclose(z.product(v), Z @ v, atol=1e-11)
        np.testing.assert_allclose(z.transposed(w), Z.T @ w, atol=1e-11)
        np.testing.assert_allclose(z.quadratic(w, v), Z.T @ (w * (Z @ v)), atol=1e-9)
        np.testing.assert_allclose(z.squares(w), (w[:, None] * Z**2).sum(axis=0), atol=1e-11)
        np.testing.assert_allclose(z.curvature(w, z.size), Z.T @ (w[:, None] * Z), atol=1e-2)
        assert not z.residual.any()


def test_few_features_take_newtons_method_and_many_take_descents():
    few, many, small = (opened(problem_of(*data)) for data in (tall(), documents(), tall(400)))
    assert isinstance(linear_steps(few, afresh=True), SurrogateSteps)
    assert isinstance(linear_steps(many, afresh=True), DescentSteps)
    assert linear_steps(small, afresh=True) is None


def test_a_descent_that_stalls_gives_way_to_newtons_method(monkeypatch):
    """Its preconditioner is the diagonal where columns are many."""
    X, y = documents()
    state = opened(problem_of(X, y, C=100.0))
    steps = DescentSteps(state.descent(), afresh=True)
    monkeypatch.setattr("swapsvm.solvers.linear.EPOCHS", 1)
    monkeypatch.setattr("swapsvm.solvers.linear.PATIENCE", 1)
    used = []
    monkeypatch.setattr(SmoothProblem, "solve", watched(SmoothProblem.solve, used))
    for _ in range(60):
        if state.gap <= 1e-6 * state.scale or steps.stalls(state):
            break
        state.move(steps.choose(state))
    assert used and state.gap <= 1e-5 * state.scale


def watched(function, calls):
    def call(*arguments):
        calls.append(True)
        return function(*arguments)

    return call


# ---- fits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("kind", KINDS_OF_DATA)
def test_a_fit_agrees_with_liblinear(kind, C):
    X, y = KINDS_OF_DATA[kind]()
    model = SVC(kernel="linear", C=C, tol=TIGHT).fit(X, y)
    judge = LinearSVC(C=C / 2, tol=1e-10, max_iter=100_000, dual=kind == "documents").fit(X, y)
    assert set(kinds_of(model)) == {"corrective", "linear"} and model.stop_reason_ == "gap"
    best = primal(judge.coef_.ravel(), judge.intercept_[0], X, y, C)
    assert model.dual_value_[0] <= best * (1 + 1e-9) and best <= model.primal_value_[0] * (1 + 1e-6)
    scale = np.abs(judge.decision_function(X)).max()
    np.testing.assert_allclose(model.decision_function(X), judge.decision_function(X), atol=1e-3 * scale)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS_OF_DATA)
def test_the_certificate_is_that_of_an_independent_computation(kind, dtype):
    X, y = KINDS_OF_DATA[kind]()
    X = X.astype(dtype)
    weights = np.random.default_rng(1).uniform(0.5, 3.0, len(y))
    model = SVC(kernel="linear", C=2.0).fit(X, y, sample_weight=weights)
    X = X.astype(np.float64)
    value, w, intercept = dual(coefficients(model, len(y)), X, y, 2.0, weights)
    assert kinds_of(model)["linear"]
    assert model.dual_value_[0] == pytest.approx(value, rel=1e-7)
    scales = np.linspace(0.95, 1.05, 2001)  # P belongs to the best multiple of w
    best = min(primal(t * w, t * intercept, X, y, 2.0, weights) for t in scales)
    assert model.primal_value_[0] == pytest.approx(best, rel=1e-6)
    assert best / value - 1 <= model.relative_gap_ * (1 + 1e-3) <= 1e-3


def test_integer_weights_are_repeated_rows():
    X, y = tall(800)
    times = np.random.default_rng(0).integers(1, 4, len(y))
    weighted = SVC(kernel="linear", tol=TIGHT).fit(X, y, sample_weight=times.astype(float))
    repeated = SVC(kernel="linear", tol=TIGHT).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS_OF_DATA)
def test_csr_and_dense_rows_and_any_number_of_threads_give_the_same_model(kind):
    X, y = KINDS_OF_DATA[kind]()
    dense = X.toarray() if sp.issparse(X) else X
    for data in (dense, sp.csr_array(dense)):
        one, two = (SVC(kernel="linear", n_jobs=jobs).fit(data, y) for jobs in (1, 2))
        np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
        assert one.primal_value_ == two.primal_value_
    tight = [SVC(kernel="linear", tol=TIGHT).fit(data, y) for data in (dense, sp.csr_array(dense))]
    np.testing.assert_allclose(*(model.decision_function(dense) for model in (tight[0], tight[0])), rtol=1e-12)
    scale = np.abs(tight[0].decision_function(dense)).max()
    np.testing.assert_allclose(tight[0].decision_function(dense), tight[1].decision_function(X), atol=1e-3 * scale)


def test_several_classes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2400, 5))
    y = np.argmax(X[:, :3] + 0.3 * rng.standard_normal((2400, 3)), axis=1)
    model = SVC(kernel="linear", tol=1e-6, decision_function_shape="ovo").fit(X, y)
    assert all(result.trace.kinds["linear"] for result in model.results_) and len(model.results_) == 3
    decisions = model.decision_function(X)
    for place, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        pair = (y == a) | (y == b)
        judge = LinearSVC(C=0.5, tol=1e-9, dual=False).fit(X[pair], y[pair] == a)
        np.testing.assert_allclose(decisions[pair, place], judge.decision_function(X[pair]), atol=6e-3)


@pytest.mark.parametrize("features", [5, 1200])
def test_regression_agrees_with_liblinear(features):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, features)) / np.sqrt(features)
    y = X @ rng.standard_normal(features) * np.sqrt(5.0) + 0.3 * rng.standard_normal(1500)
    model = SVR(kernel="linear", C=1.0, epsilon=0.1, tol=1e-6).fit(X, y)
    judge = LinearSVR(loss="squared_epsilon_insensitive", C=0.5, epsilon=0.1, tol=1e-9, max_iter=50_000, dual=True)
    judge.fit(X, y)
    assert kinds_of(model)["linear"] and model.stop_reason_ == "gap"
    np.testing.assert_allclose(model.predict(X), judge.predict(X), atol=3e-3 * np.abs(y).max())


def test_a_detector_with_a_linear_kernel():
    X = np.random.default_rng(0).standard_normal((2000, 4)) + 3.0
    model = OneClassSVM(kernel="linear", tol=1e-5).fit(X)
    assert kinds_of(model)["linear"] and model.relative_gap_ <= 1e-5


def test_a_hard_margin_keeps_its_path():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    X[:, 0] += y
    model = SVC(kernel="linear", C=np.inf, tol=1e-2).fit(X, y)
    assert not kinds_of(model)["linear"] and (model.predict(X) == y).all()


@pytest.mark.parametrize("C", [1e-8, 1e6])
@pytest.mark.parametrize("kind", KINDS_OF_DATA)
def test_extreme_values_of_C_are_certified(kind, C):
    X, y = KINDS_OF_DATA[kind]()
    model = SVC(kernel="linear", C=C, max_time=20, on_interrupt="raise", tol=1e-2)
    model.fit(X, y)
    value, _, _ = dual(coefficients(model, len(y)), X, y, C)
    assert model.stop_reason_ == "gap" and model.relative_gap_ <= 1e-2
    assert (1 - model.relative_gap_) * value <= model.dual_value_[0] <= value * (1 + 1e-6)


def test_equal_contradicting_rows_and_a_constant_column():
    X, y = tall(1500)
    X = np.column_stack([np.vstack([X, X[:700]]), np.ones(2200)])
    y = np.concatenate([y, -y[:700]])
    model = SVC(kernel="linear", tol=1e-5).fit(X, y)
    assert model.stop_reason_ == "gap" and model.relative_gap_ <= 1e-5


def test_the_trace_and_blocks_in_its_place(monkeypatch):
    X, y = documents()
    model = SVC(kernel="linear", tol=1e-5).fit(X, y)
    assert list(np.unique(model.trace_["kind"])) == ["corrective", "linear"]
    monkeypatch.setattr(block_module, "linear_steps", lambda state, afresh: None)
    blocks = SVC(kernel="linear", tol=1e-5).fit(X, y)
    assert not kinds_of(blocks)["linear"]
    assert model.dual_value_ <= blocks.primal_value_ and blocks.dual_value_ <= model.primal_value_


def test_a_warm_start_continues_and_a_checkpoint_resumes_to_the_same_bits(tmp_path):
    X, y = documents()
    straight = SVC(kernel="linear", C=30.0, tol=1e-6).fit(X, y)
    model = SVC(kernel="linear", C=30.0, tol=0.5, warm_start=True).fit(X, y)
    model.set_params(tol=1e-6).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, straight.dual_coef_)
    path = tmp_path / "fit.checkpoint"
    with pytest.warns(UserWarning, match="max_iter"):
        SVC(kernel="linear", C=30.0, tol=1e-6, max_iter=3, checkpoint=path).fit(X, y)
    resumed = SVC(kernel="linear", C=30.0, tol=1e-6, checkpoint=path).fit(X, y)
    np.testing.assert_array_equal(resumed.dual_coef_, straight.dual_coef_)


def test_a_warm_start_of_newtons_method_begins_at_its_w():
    X, y = tall()
    model = SVC(kernel="linear", tol=1e-6, warm_start=True).fit(X, y)
    model.set_params(C=1.1).fit(X, y)
    assert model.relative_gap_ <= 1e-6 and kinds_of(model)["linear"] <= 3


@pytest.mark.parametrize("choice", ["keep", "raise"])
def test_ctrl_c_ends_a_fit_inside_of_a_descent(choice, monkeypatch):
    X, y = documents()
    choose = DescentSteps.choose

    def pressed(self, state):
        signal.raise_signal(signal.SIGINT)
        return choose(self, state)

    monkeypatch.setattr(DescentSteps, "choose", pressed)
    model = SVC(kernel="linear", tol=1e-9, on_interrupt=choice)
    if choice == "raise":
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    else:
        with pytest.warns(UserWarning, match="interrupted"):
            model.fit(X, y)
        assert model.stop_reason_ == "interrupted" and model.primal_value_ >= model.dual_value_ > 0


def test_limits_and_callbacks_end_a_fit():
    X, y = documents(3000)
    with pytest.warns(UserWarning, match="max_iter"):
        model = SVC(kernel="linear", C=1e3, tol=1e-9, max_iter=3).fit(X, y)
    assert model.n_iter_[0] == 3 and kinds_of(model)["linear"] == 2
    began = time.perf_counter()
    with pytest.warns(UserWarning, match="max_time"):
        SVC(kernel="linear", C=1e6, tol=1e-13, max_time=0.2).fit(X, y)
    assert time.perf_counter() - began < 20
    seen = []
    with pytest.warns(UserWarning, match="callback"):
        SVC(kernel="linear", C=1e3, tol=1e-9, callbacks=lambda run: seen.append(run.gap) or len(seen) < 2).fit(X, y)
    assert len(seen) >= 2


def test_wide_sparse_rows_have_places_for_used_columns_only():
    X, y = documents()
    wide = sp.csr_array((X.data, X.indices * 5000, X.indptr), shape=(X.shape[0], 1 << 25))
    np.testing.assert_array_equal(
        SVC(kernel="linear").fit(wide, y).dual_coef_, SVC(kernel="linear").fit(narrow(X), y).dual_coef_
    )


def narrow(X):
    used = np.unique(X.indices)
    return sp.csr_array((X.data, np.searchsorted(used, X.indices), X.indptr), shape=(X.shape[0], len(used)))


def test_regression_of_one_row_per_sign_shares_the_features():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((600, 3)), rng.standard_normal(600)
    problem = L2SVR.of(Gram(Linear(), X, n_threads=1), y, 1.0, 0.1)
    state = open_state(problem)
    z = state.own_features()
    v, w = rng.standard_normal(4), rng.random(z.size)
    Z = np.column_stack([X, np.ones(600)])
    np.testing.assert_allclose(z.product(v), np.concatenate([Z @ v, -Z @ v, [0.0]]), atol=1e-12)
    np.testing.assert_allclose(z.transposed(w), Z.T @ (w[:600] - w[600:-1]), atol=1e-11)
    b, products = state.descent().descend(np.zeros(z.size), 1e-3, 20)
    beta = b[:600] - b[600:-1]
    np.testing.assert_allclose(products[:600], Z @ (Z.T @ beta), atol=1e-9)
    assert b[-1] == 0 and products[-1] == 0
