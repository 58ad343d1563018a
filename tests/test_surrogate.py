"""Surrogate steps: features, the inner problem, the steps, the policy that chooses them, and fits by them."""

import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_info, threadpool_limits

from swapsvm import SVC, SVDD, SVR, OneClassSVM, maximize
from swapsvm._core import Measure, Stopped, StopToken
from swapsvm.gram import Gram
from swapsvm.kernels import Laplacian, Linear, Poly, Rbf, Sigmoid
from swapsvm.problems import L2SVC, L2SVR, Ball, OneClass
from swapsvm.solvers import block as block_module
from swapsvm.solvers.newton import SmoothProblem
from swapsvm.solvers.policy import HARDER, SWAPS, SWEEPS, Outlook, expected_support, left_out, spread
from swapsvm.solvers.surrogate import Point, Step, SurrogateSteps, best_of, relative_gap_left
from swapsvm.state import one_blas_thread, open_state


def noisy(rows, seed=0, noise=0.3, features=22):
    """Most of its rows are support vectors."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, features))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5 + noise * rng.standard_normal(rows)
    return X, np.where(f > 0, 1, -1)


def groups_of(y):
    return [np.flatnonzero(y > 0), np.flatnonzero(y < 0)]


def problem_of(X, y, C=1.0, kernel=None, dtype=np.float64, weights=None, threads=1):
    gram = Gram(kernel or Rbf(gamma=1 / 44), X, groups=groups_of(y), dtype=dtype, n_threads=threads)
    return L2SVC.of(gram, 0, 1, C, weights)


def opened(problem):
    state = open_state(problem)
    state.measure(Measure.primal)
    state.set_weights(np.arange(problem.size), np.full(problem.size, 1.0 / problem.size))
    return state


def matrix_of(problem):
    rows, signs = problem.rows.astype(np.int32), problem.signs
    return (problem.gram.block(rows, rows) + problem.bias) * np.outer(signs, signs)


def landmarks_of(state, count=40, seed=0):
    rows = np.random.default_rng(seed).choice(state.distinct_rows, count, replace=False)
    return state.landmarks(state.factor(rows))


# ---- features --------------------------------------------------------------------------------------------------------

KERNELS = [Rbf(gamma=0.1), Laplacian(gamma=0.05), Linear(), Poly(gamma=0.1, coef0=1.0, degree=2)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_features_span_the_landmarks_and_leave_a_diagonal(kernel, dtype):
    X, y = noisy(300, features=8)
    problem = problem_of(X.astype(dtype), y, kernel=kernel, dtype=dtype)
    state = opened(problem)
    z = landmarks_of(state, 60)
    K = matrix_of(problem)
    Z = np.column_stack([z.product(column) for column in np.eye(z.count)])
    scale = np.abs(np.diagonal(K)).max()
    inside = np.isin(problem.rows, z.landmarks)
    np.testing.assert_allclose((Z @ Z.T)[np.ix_(inside, inside)], K[np.ix_(inside, inside)], atol=2e-3 * scale)
    np.testing.assert_allclose(z.residual, np.maximum(np.diagonal(K) - (Z**2).sum(axis=1), 0), atol=1e-5 * scale)
    left = np.linalg.eigvalsh(K - Z @ Z.T)
    assert left[0] > -2e-3 * scale * len(K) ** 0.5  # positive semidefinite up to rounding


def test_passes_over_features_are_products_with_the_matrix():
    X, y = noisy(1500)
    state = opened(problem_of(X, y))
    z = landmarks_of(state, 37)  # not a multiple of the vector width
    rng = np.random.default_rng(1)
    Z = np.column_stack([z.product(column) for column in np.eye(z.count)])
    v, w = rng.standard_normal(z.count), rng.random(state.size)
    np.testing.assert_allclose(z.product(v), Z @ v, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(z.transposed(w), Z.T @ w, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(z.quadratic(w, v), Z.T @ (w * (Z @ v)), rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(z.curvature(w, state.size), (Z.T * w) @ Z, rtol=1e-4, atol=1e-2)


def test_features_that_do_not_fit_into_memory_are_computed_again_in_each_pass():
    X, y = noisy(1500)
    stored, again = (
        landmarks_of(opened(L2SVC.of(Gram(Rbf(gamma=1 / 44), X, groups=groups_of(y), cache_size=size), 0, 1, 1.0)), 50)
        for size in (100, 0.1)
    )
    rng = np.random.default_rng(1)
    v, w = rng.standard_normal(50), rng.random(1500)
    for name, arguments in (("product", (v,)), ("transposed", (w,)), ("quadratic", (w, v)), ("curvature", (w, 300))):
        one, other = getattr(stored, name)(*arguments), getattr(again, name)(*arguments)
        np.testing.assert_allclose(one, other, atol=1e-3 * np.abs(one).max())
    np.testing.assert_allclose(stored.residual, again.residual, rtol=1e-12)
    assert type(stored._core) is not type(again._core)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_computed_passes_are_those_of_one_matrix(dtype):
    """L^-T v is large: if Z v and Z'w rounded kernel values differently, conjugate gradients would stall."""
    X, y = noisy(3000)
    gram = Gram(Rbf(gamma=1 / 44), X.astype(dtype), groups=groups_of(y), dtype=dtype, cache_size=0.1)
    z = landmarks_of(opened(L2SVC.of(gram, 0, 1, 1.0)), 250)
    rng = np.random.default_rng(1)
    v, w, weights = rng.standard_normal(z.count), rng.standard_normal(z.size), rng.random(z.size)
    assert z.product(v) @ w == pytest.approx(v @ z.transposed(w), rel=1e-11, abs=1e-9)
    expected = z.transposed(weights * z.product(v))
    np.testing.assert_allclose(z.quadratic(weights, v), expected, atol=1e-9 * np.abs(expected).max())


def test_a_request_to_stop_ends_a_computed_pass():
    X, y = noisy(20000)
    gram = Gram(Rbf(gamma=1 / 44), X, groups=groups_of(y), cache_size=0.1)
    state = opened(L2SVC.of(gram, 0, 1, 1.0))
    z, token = landmarks_of(state, 500), StopToken()
    state.limit(token=token)
    token.request()
    with pytest.raises(Stopped):
        z.product(np.ones(z.count))


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_features_have_the_same_bits_for_any_number_of_threads(threads):
    X, y = noisy(3000)
    found = []
    for count in (1, threads):
        z = landmarks_of(opened(problem_of(X, y, threads=count)), 50)
        v = np.linspace(-1, 1, z.count)
        found.append((z.residual, z.product(v), z.transposed(np.ones(3000)), z.quadratic(np.ones(3000), v)))
    for one, several in zip(*found, strict=True):
        np.testing.assert_array_equal(one, several)


def test_a_wrong_factor_or_row_is_refused():
    from scipy.linalg import cython_blas

    from swapsvm import _core

    X, y = noisy(100)
    state = opened(problem_of(X, y))
    solve, rows = cython_blas.__pyx_capi__["strsm"], np.arange(4, dtype=np.int32)
    with pytest.raises(ValueError, match="square matrix"):
        _core.features(state.core, rows, rows, np.eye(3, dtype=np.float32), 1.0, solve)
    with pytest.raises(ValueError, match="does not exist"):
        _core.features(state.core, rows + 98, rows, np.eye(4, dtype=np.float32), 1.0, solve)
    features = _core.features(state.core, rows, rows, np.eye(4, dtype=np.float32), 1.0, solve)
    with pytest.raises(ValueError, match="wrong length"):
        features.product(np.ones(5))


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blas_has_its_threads_back_after_fits_that_overlap():
    with threadpool_limits(2, user_api="blas"):
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2}


def test_blas_has_one_thread_and_then_its_own_again_whoever_else_sets_their_number():
    done = threading.Event()

    def set_and_stay():
        threadpool_limits(2, user_api="blas")  # from version 3.8 of threadpoolctl on, other threads are ignored then
        entered.__enter__()
        ready.set()
        done.wait(60)

    entered, ready, before = one_blas_thread(), threading.Event(), blas_threads()
    thread = threading.Thread(target=set_and_stay)
    thread.start()
    try:
        assert ready.wait(60) and blas_threads() == {1}
        entered.__exit__(None, None, None)  # another thread than the one that entered
        assert blas_threads() == {2}
        with one_blas_thread():
            assert blas_threads() == {1}
    finally:
        done.set()
        thread.join()
        threadpool_limits(before.pop(), user_api="blas")


def test_the_factor_of_repeated_rows_exists():
    X, y = noisy(400)
    X = np.repeat(X[:100], 4, axis=0).astype(np.float32)
    state = opened(problem_of(X, y, dtype=np.float32))
    factor = state.factor(np.arange(400))
    assert np.isfinite(factor.values).all() and (np.diagonal(factor.values) > 0).all()


# ---- the inner problem -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_newton_reaches_the_optimum_that_scipy_finds(C):
    X, y = noisy(600)
    state = opened(problem_of(X, y, C))
    z = landmarks_of(state, 30)
    Z = np.column_stack([z.product(column) for column in np.eye(z.count)])
    c, q = 1 / (z.residual + 1 / C), np.ones(state.size)
    inner = SmoothProblem(z)
    b = inner.solve(c, q, 1e-12, lambda: False)

    def value(u):
        slack = np.maximum(q - Z @ u, 0)
        return 0.5 * (u @ u + (c * slack) @ slack), u - Z.T @ (c * slack)

    judge = minimize(value, np.zeros(z.count), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15})
    assert value(inner.u)[0] <= judge.fun * (1 + 1e-9)
    dual = q @ b - 0.5 * (np.sum((Z.T @ b) ** 2) + b @ (b / c))
    assert (b >= 0).all()
    np.testing.assert_allclose(dual, value(inner.u)[0], rtol=1e-6)


def test_newton_ends_when_it_is_stopped():
    X, y = noisy(600)
    inner = SmoothProblem(landmarks_of(opened(problem_of(X, y)), 30))
    inner.solve(np.ones(600), np.ones(600), 1e-12, lambda: True)
    assert inner.passes <= 3


# ---- the step --------------------------------------------------------------------------------------------------------


def primal_and_dual(K, b, ridge, target):
    products = K @ b
    scale = target @ b / (b @ (products + ridge * b))
    b, products = scale * b, scale * products
    slack = np.maximum(target - products, 0)
    return 0.5 * b @ products + 0.5 * np.sum(slack**2 / ridge), target @ b - 0.5 * b @ (products + ridge * b)


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps_are_feasible_and_never_widen_the_gap(C, dtype):
    X, y = noisy(1200)
    problem = problem_of(X.astype(dtype), y, C, dtype=dtype)
    state = opened(problem)
    steps = SurrogateSteps(landmarks_of(state, 150), afresh=True)
    K, gap = matrix_of(problem).astype(np.float64), np.inf
    for _ in range(12):
        correction = steps.choose(state)
        assert correction.kind == "surrogate" and (correction.weights >= 0).all()
        state.move(correction)
        b, products = state.in_svm_units()
        np.testing.assert_allclose(products, K @ b, atol=3e-4 * np.abs(b).sum())
        primal, dual = primal_and_dual(K, b, np.full(len(b), 1 / C), np.ones(len(b)))
        assert state.gap / state.scale <= (primal / dual - 1) * 1.01 + 1e-3
        assert state.gap / state.scale <= gap * 1.01 + 1e-5
        gap = state.gap / state.scale
    assert state.gap / state.scale < 0.05


@pytest.mark.parametrize("seed", range(5))
def test_the_best_step_has_the_smallest_gap_and_is_feasible(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((30, 30))
    K, ridge = np.eye(30) + 0.003 * A @ A.T, np.full(30, 0.5)
    b = np.linalg.solve(K + np.diag(ridge), np.ones(30)) * rng.uniform(0.8, 1.2, 30)  # near the solution, far from 0
    point = Point(b, K @ b, np.ones(30), ridge)
    steps = [Step(d, K @ d) for d in (rng.standard_normal((2, 30)) - 0.3)]

    def gap_at(lengths):
        x = b + lengths @ np.array([s.change for s in steps])
        primal, dual = 0.5 * x @ K @ x + np.sum(np.maximum(1 - K @ x, 0) ** 2), x.sum() - 0.5 * x @ (K @ x + ridge * x)
        return primal - dual

    step = best_of(steps, point)
    np.testing.assert_allclose(step.product, K @ step.change, atol=1e-9)
    np.testing.assert_allclose(point.after(step).gap(), minimize(gap_at, np.zeros(2)).fun, rtol=0.02)
    near = Point(b - b.min(), K @ (b - b.min()), np.ones(30), ridge)  # a weight of 0
    for chosen in (steps[:1], steps):
        assert (near.b + best_of(chosen, near).change >= -1e-12).all()
        assert near.after(best_of(chosen, near)).gap() <= near.gap() * (1 + 1e-12)


def test_a_certificate_after_a_step_from_zero_computes_values_of_the_support_only():
    X = np.random.default_rng(0).standard_normal((4000, 2))
    state = opened(OneClass.of(Gram(Rbf(gamma=0.5), X, dtype=np.float32, n_threads=1), 1 / (0.00002 * len(X))))
    steps = SurrogateSteps(landmarks_of(state, 300), afresh=True)
    state.move(steps.choose(state))
    support, before = state.support_size, state.evaluations
    assert support < len(X) / 3
    state.certify()
    assert state.evaluations - before < 1.5 * support**2  # with the rows without weight it is more than 2
    gap, value = state.gap, state.value
    state.set_weights(np.arange(len(X)), state.weights)  # everything from scratch
    assert state.gap == pytest.approx(gap, rel=1e-3) and state.value == pytest.approx(value, rel=1e-12)
    state.move(steps.choose(state))
    support, before = state.support_size, state.evaluations
    state.certify()  # increments of products are no products
    assert state.evaluations - before > 2 * support**2


def test_exact_products_are_in_double_where_there_is_weight():
    X, y = noisy(600)
    problem = problem_of(X.astype(np.float32), y, dtype=np.float32)
    weights = np.where(np.arange(600) % 3 > 0, np.random.default_rng(0).random(600), 0.0)
    expected = matrix_of(problem_of(X.astype(np.float32), y)) @ weights
    found, single = (opened(problem).product(weights, exact) for exact in (True, False))
    np.testing.assert_allclose(found[weights > 0], expected[weights > 0], rtol=1e-12, atol=1e-11)
    np.testing.assert_array_equal(found[weights == 0] != expected[weights == 0], True)
    np.testing.assert_allclose(single, expected, atol=1e-3)


@pytest.mark.parametrize("features", [8, 12])
def test_a_step_that_is_expected_to_be_the_last_saves_a_product(features, monkeypatch):
    X, y = noisy(5000, features=features)
    found = {}
    for error in (1.5, np.inf, 0.0):  # as it is; never; after each step
        monkeypatch.setattr("swapsvm.solvers.surrogate.ERROR", error)
        model = SVC(gamma=1 / 44).fit(X, y)
        assert kinds_of(model)["surrogate"] > 1 and model.stop_reason_ == "gap" and model.relative_gap_ <= 1e-3
        found[error] = sum(result.evaluations for result in model.results_)
    assert found[1.5] < found[np.inf] - len(model.support_) ** 2 / 3
    assert found[0.0] < found[np.inf]  # wrong expectations cost no step


def test_the_first_step_is_solved_as_far_as_what_landmarks_leave_out_allows():
    state = opened(OneClass.of(Gram(Rbf(gamma=0.1), np.random.default_rng(0).standard_normal((500, 2))), 1e-3))
    state._aim = 1e-4, 0.0
    r, ridge = np.full(500, 1e-3), np.full(500, 1000.0)
    assert relative_gap_left(1000 * r, ridge, state) == pytest.approx(0.5e-3**2 * 1e6)
    assert relative_gap_left(r, ridge, state) == pytest.approx(1e-4)  # no more than the run needs
    assert relative_gap_left(r, np.append(ridge[1:], 0.0) * 1e-6, state) == 1.0  # and the slack vertex has none


def test_which_problems_are_smooth():
    X, y = noisy(60)
    rbf = Gram(Rbf(gamma=0.1), X)
    assert problem_of(X, y).smooth
    assert OneClass.of(rbf, 2.0).smooth and Ball.of(rbf, 2.0).smooth
    assert L2SVR.of(rbf, X[:, 0], 2.0, 0.1).smooth
    assert not L2SVR.of(rbf, X[:, 0], 2.0, None).smooth  # the sum of the weights is given
    assert not problem_of(X, y, C=np.inf).smooth  # no ridge
    assert not problem_of(X, y, kernel=Sigmoid(gamma=0.1)).smooth  # indefinite
    assert not Ball.of(Gram(Poly(gamma=0.1, degree=2), X), 2.0).smooth  # its linear term is not constant
    assert not open_state(problem_of(X, y), sampling=10).smooth


# ---- the policy ------------------------------------------------------------------------------------------------------


def test_the_policy_prefers_blocks_for_small_and_surrogates_for_large_smooth_supports():
    outlook = {"rows": 20000, "work": 30.0, "ridge": 1.0, "diagonal": 2.0, "largest_set": 1e4, "most_features": 1e9}
    smooth = {128: (0.24, 52.0), 256: (0.17, 26.0), 512: (0.12, 11.0), 1024: (0.08, 4.0)}
    clustered = {count: (mean, 500.0) for count, (mean, _) in smooth.items()}
    assert Outlook(support=17000, **outlook).best_count(smooth) in (512, 1024)
    assert Outlook(support=500, **outlook).best_count(smooth) == 0
    assert Outlook(support=8000, **outlook).best_count(clustered) == 0
    assert Outlook(support=8000, **{**outlook, "ridge": 1e-3}).best_count(smooth) == 0  # it would take many steps
    assert Outlook(support=17000, **outlook).worthwhile_counts() == [128, 256, 512, 1024]
    assert Outlook(support=200, **outlook).worthwhile_counts() == []  # nothing to look at
    narrow = {**outlook, "most_features": 20000 * 300.0}
    assert (
        Outlook(support=17000, **narrow).best_count(smooth) <= 512
    )  # larger ones would be computed again in each pass
    paired = {**outlook, "paired": True}  # blocks of both signs cost more
    assert Outlook(support=6000, **outlook).best_count(smooth) == 0
    assert Outlook(support=6000, **paired).best_count(smooth) == 256
    assert (
        Outlook(support=8000, **{**paired, "ridge": 0.1}).best_count(smooth) == 0
    )  # and steps where r exceeds the ridge
    many = {**outlook, "rows": 100000, "ridge": 1000.0}  # all take two steps
    assert Outlook(support=60000, **many).best_count(smooth) == 256  # for less than half of a sweep
    assert Outlook(support=10000, **many).best_count(smooth) == 128


def test_swaps_are_more_where_the_condition_is_worse():
    outlook = {"rows": 20000, "support": 8000, "work": 30.0, "diagonal": 2.0, "largest_set": 1e4, "most_features": 1e9}
    costs = [Outlook(ridge=ridge, **outlook).cost_of_blocks() for ridge in (1e9, 2.0, 2e-3)]
    swaps = [cost - 8000 * SWEEPS * 30.0 for cost in costs]
    assert swaps[0] == pytest.approx(SWAPS * 8000**2 / 20000)
    assert swaps[1] / swaps[0] == pytest.approx(2**HARDER) and swaps[2] / swaps[0] == pytest.approx(1001**HARDER)


@pytest.mark.parametrize(
    ("supports", "sample", "size", "exponent"),
    [
        ((1024, 2048), 2048, 16384, 1.0),  # every row is a support vector
        ((500, 707), 8192, 32768, 0.5),
        ((500, 510), 8192, 32768, 0.1),  # the least that is taken to be shown
        ((0, 700), 1024, 16384, 0.8),  # nothing shown
    ],
)
def test_the_expected_support_lies_between_its_growth_and_the_violators(supports, sample, size, exponent):
    grown = supports[1] * (size / sample) ** exponent
    assert expected_support(supports[1], supports, grown, sample, size) == pytest.approx(grown, rel=0.02)
    assert expected_support(supports[1], supports, 0.0, sample, size) == pytest.approx(grown, rel=0.02)
    expected = expected_support(supports[1], supports, 10 * grown, sample, size)
    assert expected == pytest.approx(grown * 10 ** (2048 / (sample + 2048)), rel=0.02)  # large samples are trusted


@pytest.mark.parametrize(
    ("C", "count", "gamma"),
    [(1.0, 128, 1 / 44), (1.0, 256, 1 / 44), (10.0, 256, 1 / 44), (30.0, 256, 0.15)],  # the last: r is 30 times 1/C
)
def test_the_number_of_surrogate_steps_is_about_the_expected_one(C, count, gamma, monkeypatch):
    X, y = noisy(3000)
    expected = []

    def landmarks(state, support):
        rows = np.random.default_rng(0).permutation(state.distinct_rows)
        outlook = Outlook.of(state, support)
        expected.append(outlook.steps(*left_out(state.factor(rows[:count]), [count], rows[-512:], outlook.rows)[count]))
        return state.landmarks(state.factor(spread(state, rows, count)))

    monkeypatch.setattr(block_module, "suitable_landmarks", landmarks)
    monkeypatch.setattr("swapsvm.solvers.surrogate.PATIENCE", 60)
    monkeypatch.setattr("swapsvm.gram.LARGEST_WHOLE", 0)
    model = SVC(C=C, gamma=gamma).fit(X, y)
    assert expected[0] / 2 <= model.results_[0].trace.kinds["surrogate"] <= 2 * expected[0]


def test_rows_that_are_nearly_orthogonal_take_few_steps():
    outlook = {"rows": 15000, "work": 48.0, "ridge": 0.1, "diagonal": 2.0, "largest_set": 15000, "most_features": 1e9}
    seen = Outlook(support=14800, **outlook)
    assert seen.steps(1.0, 1.0) == 2.0  # r times the identity
    assert seen.steps(1.0, 4.2) < 12 < 40 < seen.steps(1.0, 400.0)
    assert seen.steps(0.0, 0.0) == 2.0  # landmarks are the rows themselves


def test_blocks_that_do_not_get_on_cost_more_than_any_surrogate_steps():
    outlook = {"rows": 8000, "work": 13.0, "ridge": 1e-4, "diagonal": 2.0, "largest_set": 8000, "most_features": 6e7}
    left = {512: (4e-3, 0.6), 1024: (6e-4, 0.06)}
    assert Outlook(support=2000, **outlook).best_count(left) == 0
    slow = Outlook(support=2000, **outlook, blocks=False)
    assert slow.best_count(left) == 1024 and slow.worthwhile_counts() == [128, 256, 512, 1024]


def test_the_choice_is_made_again_where_the_support_is_larger_than_expected(monkeypatch):
    supports = []

    def landmarks(state, support):
        supports.append(support)

    monkeypatch.setattr(block_module, "suitable_landmarks", landmarks)
    monkeypatch.setattr(block_module, "expected_support", lambda *_: 100.0)
    monkeypatch.setattr("swapsvm.gram.LARGEST_WHOLE", 0)
    model = SVC(C=1.0, gamma=1 / 44).fit(*noisy(3000))
    assert model.results_[0].stop_reason == "gap"
    assert supports[0] == 100 and len(supports) == 2 and supports[1] > 1000  # not once more for the same support


def test_slow_blocks_give_way_to_surrogate_steps(monkeypatch):
    monkeypatch.setattr(block_module, "suitable_landmarks", lambda state, support: None)
    monkeypatch.setattr(block_module, "LARGEST_DIRECT", 0)
    monkeypatch.setattr("swapsvm.gram.LARGEST_WHOLE", 0)
    X, y = noisy(3000)
    blocks = SVC(C=1.0, gamma=1 / 44, tol=1e-8).fit(X, y)
    monkeypatch.setattr(block_module, "SLOW", 0.0)  # every step is
    model = SVC(C=1.0, gamma=1 / 44, tol=1e-8).fit(X, y)
    assert not kinds_of(blocks)["surrogate"] and kinds_of(model)["surrogate"] and kinds_of(model)["corrective"]
    assert model.stop_reason_ == "gap" and model.dual_value_ <= blocks.primal_value_


def test_more_landmarks_are_looked_at_where_sweeps_are_expensive():
    outlook = {"work": 30.0, "ridge": 1.0, "diagonal": 2.0, "largest_set": 1e4, "most_features": 1e9}
    assert Outlook(rows=20_000, support=17_000, **outlook).most_factored() == 1024
    million = Outlook(rows=1_000_000, support=700_000, **outlook)
    assert million.most_factored() == 4096
    # 4096 landmarks save sweeps; what they leave out, measured on the noisy family, need not be extrapolated
    found = {1024: (0.077, 223.0), 2048: (0.05, 98.0), 4096: (0.032, 43.0)}
    assert million.best_count(found) == 4096


def test_what_landmarks_leave_out_is_measured_on_some_rows():
    X, y = noisy(800)
    state = opened(problem_of(X, y))
    rows = np.random.default_rng(0).permutation(state.distinct_rows)
    some = rows[-200:]
    found = left_out(state.factor(rows[:128]), [64, 128, 256], some, 800)
    for count in (64, 128):
        F = rows[:count].astype(np.int32)
        of = state.problem.gram.block
        L = np.linalg.cholesky(of(F, F) + 1 + 2e-5 * np.eye(count))
        Z = np.linalg.solve(L, of(F, some.astype(np.int32)) + 1)
        R = of(some.astype(np.int32), some.astype(np.int32)) + 1 - Z.T @ Z
        fifth = np.linalg.eigvalsh(R - np.diag(np.diagonal(R)))[-5]
        np.testing.assert_allclose(found[count][0], np.diagonal(R).mean(), rtol=1e-6)
        np.testing.assert_allclose(found[count][1], 4 * fifth, rtol=0.01)
    np.testing.assert_allclose(found[256][0], found[128][0] ** 2 / found[64][0])


def test_half_of_the_landmarks_are_where_the_others_leave_out_most():
    X, y = noisy(2000, features=4)
    X[:60] += 40 * np.random.default_rng(1).standard_normal((60, 4))  # far from all others
    state = opened(problem_of(X, y))
    rows = np.random.default_rng(0).permutation(state.distinct_rows)
    chosen = spread(state, rows, 256)
    np.testing.assert_array_equal(chosen[:128], rows[:128])
    assert len(np.unique(chosen)) == 256
    pool = rows[128 : 128 + 4 * 256]
    far = pool[pool < 60]
    assert np.isin(far, chosen).mean() > 0.8 > 0.3 > np.isin(pool, chosen).mean()
    left = state.factor(chosen[:128]).residual(pool)
    np.testing.assert_allclose(left, landmarks_left_out(state.problem, chosen[:128], pool), atol=1e-4)


def landmarks_left_out(problem, landmarks, rows):
    F, some = landmarks.astype(np.int32), rows.astype(np.int32)
    of = problem.gram.block
    Z = np.linalg.solve(np.linalg.cholesky(of(F, F) + 1 + 2e-5 * np.eye(len(F))), of(F, some) + 1)
    return 2 - (Z**2).sum(axis=0)


def test_clean_data_of_many_rows_take_blocks():
    """Their support grows with about the root of the rows, which the first samples show."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (60000, 3))
    y = np.where(X[:, 0] + np.sin(2 * X[:, 1]) > 0.2 * X[:, 2], 1, -1)
    model = SVC(C=16, gamma=0.8, tol=1e-2).fit(X, y)
    assert kinds_of(model)["surrogate"] == 0 and len(model.support_) < 3000


# ---- fits ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    return noisy(5000)


def kinds_of(model):
    return sum((result.trace.kinds for result in model.results_), type(model.results_[0].trace.kinds)())


def test_a_noisy_fit_takes_surrogate_steps_and_is_certified(rows):
    X, y = rows
    model = SVC(gamma=1 / 44, tol=1e-3).fit(X, y)
    assert kinds_of(model)["surrogate"] >= 2 and model.stop_reason_ == "gap" and model.relative_gap_ <= 1e-3
    assert "surrogate" in model.trace_["kind"]
    exact = SVC(gamma=1 / 44, solver="swap2", tol=1e-3, max_time=60).fit(X, y)
    margin = 3e-2 * np.abs(exact.decision_function(X)).max()
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=margin)


def test_a_fit_by_surrogates_has_the_same_bits_for_any_number_of_threads(rows):
    X, y = rows
    one, two = (SVC(gamma=1 / 44, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert kinds_of(one)["surrogate"]
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_a_clean_fit_takes_none():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 3))
    model = SVC(C=100.0).fit(X, X[:, 0] + X[:, 1] ** 2 > 0.5)
    assert not kinds_of(model)["surrogate"]


@pytest.mark.parametrize("sparse", [False, True])
def test_sample_weights_and_sparse_rows(rows, sparse):
    import scipy.sparse as sp

    X, y = rows
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    weight = np.random.default_rng(3).integers(1, 4, len(y)).astype(float)
    data = sp.csr_array(X) if sparse else X
    model = SVC(gamma=1 / 44, tol=1e-4).fit(data, y, sample_weight=weight)
    assert kinds_of(model)["surrogate"]
    judge = maximize(problem_of(X, y, weights=weight), "block", tol=1e-4)
    assert abs(model.dual_value_[0] * 2 * -judge.value - 1) < 3e-4


@pytest.mark.parametrize("estimator", [OneClassSVM, SVDD])
def test_detectors_take_surrogate_steps(estimator):
    X = np.random.default_rng(0).standard_normal((6000, 2))
    model = estimator(tol=1e-3).fit(X)
    assert kinds_of(model)["surrogate"] and model.relative_gap_ <= 1e-3
    assert model.primal_value_ >= model.dual_value_


def test_regression_takes_surrogate_steps():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 6))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(6000)
    model = SVR(C=1.0, epsilon=0.1, gamma=0.05, tol=1e-4).fit(X, y)
    assert kinds_of(model)["surrogate"] and model.relative_gap_ <= 1e-4 and model.stop_reason_ == "gap"
    blocks = SVR(C=1.0, epsilon=0.1, gamma=0.05, tol=1e-4, cache_size=2000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_module, "suitable_landmarks", lambda state, support: None)
        blocks.fit(X, y)
    assert not kinds_of(blocks)["surrogate"]
    assert model.dual_value_ <= blocks.primal_value_ and blocks.dual_value_ <= model.primal_value_
    np.testing.assert_allclose(model.predict(X), blocks.predict(X), atol=0.05)


@pytest.mark.parametrize("choice", ["keep", "raise"])
def test_ctrl_c_ends_a_fit_inside_of_a_surrogate_step(rows, choice, monkeypatch):
    X, y = rows
    step, pressed = SmoothProblem.newton_step, []

    def newton_step(self, *arguments):
        pressed.append(True)
        signal.raise_signal(signal.SIGINT)
        return step(self, *arguments)

    monkeypatch.setattr(SmoothProblem, "newton_step", newton_step)
    model = SVC(gamma=1 / 44, tol=1e-9, on_interrupt=choice)
    if choice == "raise":
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    else:
        with pytest.warns(UserWarning, match="interrupted"):
            model.fit(X, y)
        assert model.stop_reason_ == "interrupted" and model.primal_value_ >= model.dual_value_ > 0
    assert len(pressed) == 1  # no further Newton step


def test_limits_end_a_fit_between_and_inside_of_surrogate_steps(rows):
    X, y = rows
    with pytest.warns(UserWarning, match="max_iter"):
        model = SVC(gamma=1 / 44, tol=1e-9, max_iter=5).fit(X, y)
    assert model.n_iter_[0] == 5 and kinds_of(model)["surrogate"]
    began = time.perf_counter()
    with pytest.warns(UserWarning, match="max_time"):
        model = SVC(gamma=1 / 44, tol=1e-12, max_time=0.3).fit(np.tile(X, (3, 1)) + 1e-3, np.tile(y, 3))
    assert time.perf_counter() - began < 20 and np.isfinite(model.relative_gap_)


def test_a_callback_sees_surrogate_steps_and_can_end_the_fit(rows):
    X, y = rows
    seen = []

    def stop_after(progress):
        seen.append(progress.gap)
        return len(seen) < 5

    with pytest.warns(UserWarning, match="callback"):
        model = SVC(gamma=1 / 44, tol=1e-9, callbacks=stop_after).fit(X, y)
    assert len(seen) >= 5 and model.stop_reason_ == "callback"


def test_a_warm_start_continues_and_a_checkpoint_resumes(rows, tmp_path):
    X, y = rows
    model = SVC(gamma=1 / 44, tol=0.3, warm_start=True).fit(X, y)
    before = model.n_evaluations_
    model.set_params(tol=1e-3).fit(X, y)
    assert model.relative_gap_ <= 1e-3 and before > 0
    path = tmp_path / "fit.checkpoint"
    with pytest.warns(UserWarning, match="max_iter"):
        SVC(gamma=1 / 44, tol=1e-4, max_iter=5, checkpoint=path).fit(X, y)
    resumed = SVC(gamma=1 / 44, tol=1e-4, checkpoint=path).fit(X, y)
    assert resumed.relative_gap_ <= 1e-4
    assert kinds_of(resumed)["surrogate"]


def test_fits_in_threads_do_not_disturb_each_other(rows):
    X, y = rows
    alone = SVC(gamma=1 / 44, n_jobs=1).fit(X, y).dual_coef_
    found = [None, None]

    def fit(place):
        found[place] = SVC(gamma=1 / 44, n_jobs=1).fit(X, y).dual_coef_

    threads = [threading.Thread(target=fit, args=(place,)) for place in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for coefficients in found:
        np.testing.assert_array_equal(coefficients, alone)


@settings(max_examples=12, deadline=None)
@example(C=1e3, gamma=1e3, copies=3, dtype=np.float32, seed=3)  # the smallest gap is at b = 0
@given(
    C=st.sampled_from([1e-6, 1e-3, 1.0, 1e3, 1e6]),
    gamma=st.sampled_from([1e-6, 1e-2, 1.0, 1e3]),
    copies=st.sampled_from([1, 3]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 5),
)
def test_certificates_of_surrogate_points_hold_in_hostile_cases(C, gamma, copies, dtype, seed):
    """Steps on any data leave a point whose certificate an independent computation in double confirms."""
    X, y = noisy(240, seed, features=4)
    X, y = np.tile(X, (copies, 1)).astype(dtype), np.tile(y, copies)
    y[: len(y) // 4] = -y[: len(y) // 4]  # contradictory labels where rows are repeated
    problem = problem_of(X, y, C, kernel=Rbf(gamma=gamma), dtype=dtype)
    state = opened(problem)
    steps = SurrogateSteps(landmarks_of(state, 30), afresh=True)
    for _ in range(3):
        state.move(steps.choose(state))
    state.certify()
    double = problem_of(X.astype(np.float64), y, C, kernel=Rbf(gamma=gamma))
    b, _ = state.in_svm_units()
    K, ridge = matrix_of(double), np.full(len(b), 1 / C)
    primal, dual = primal_and_dual(K, b, ridge, np.ones(len(b)))
    best = minimize_scale(K, b, ridge)
    assert state.gap / state.scale >= (min(primal, best) / dual - 1) * (1 - 1e-6) - 1e-12


def minimize_scale(K, b, ridge):
    """The smallest primal value of a multiple of w = K b."""
    from scipy.optimize import minimize_scalar

    products = K @ b
    norm = b @ products

    def primal(t):
        return 0.5 * t * t * norm + 0.5 * np.sum(np.maximum(1 - t * products, 0) ** 2 / ridge)

    return min(primal(1.0), minimize_scalar(primal, bounds=(0, 10), method="bounded", options={"xatol": 1e-12}).fun)


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_steps_do_not_depend_on_how_many_are_made_at_a_time(seconds, monkeypatch):
    """The time that moves take decides how many are made until the stop rule is asked again."""
    X, y = make_classification(5000, 10, random_state=1)
    whole = SVC(n_jobs=1).fit(X, y)
    assert whole.results_[0].trace.kinds["surrogate"] > 2
    monkeypatch.setattr("swapsvm.run.SECONDS_PER_CALL", seconds)
    model = SVC(n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, whole.dual_coef_)
    assert model.n_evaluations_ == whole.n_evaluations_
