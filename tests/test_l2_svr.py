"""Regression on the simplex against a quadratic program; the slack vertex, the radius, pairs that share rows."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from qpsolvers import solve_qp

from swapsvm import ConvergenceWarning, Gram, maximize
from swapsvm.kernels import Linear, Poly, Precomputed, Rbf
from swapsvm.problems import L2SVC, L2SVR
from swapsvm.solvers import SOLVERS, make_solver
from swapsvm.state import Effort, Limits, open_state

from . import reference

TOLERANCES = {"fw": 1e-3}
KERNELS = {"rbf": Rbf(0.5), "linear": Linear(), "poly": Poly(0.3, 1.0, 2)}


def data(m=30, seed=0):
    """Rows and noisy targets with a mean."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=m) + 2.0


class Regression:
    """The problem as NumPy defines it: dual and primal values, and the optimum by a quadratic program."""

    def __init__(self, X, y, C, epsilon, kernel, weights=None):
        self.K = reference.kernel_values(kernel, X) + 1.0
        self.y, self.epsilon = y, epsilon
        self.ridge = 1.0 / (C * (np.ones(len(y)) if weights is None else weights))
        self.Q = np.block([[self.K, -self.K], [-self.K, self.K]]) + np.diag(np.tile(self.ridge, 2))
        self.c = np.concatenate([y, -y]) - epsilon

    def dual(self, b):
        return float(self.c @ b - b @ self.Q @ b / 2)

    def primal(self, b, epsilon=None):
        u = b[: len(self.y)] - b[len(self.y) :]
        excess = np.maximum(np.abs(self.y - self.K @ u) - (self.epsilon if epsilon is None else epsilon), 0.0)
        return float(u @ self.K @ u / 2 + (excess**2 / self.ridge).sum() / 2)

    def optimum(self, radius=None):
        """Largest dual value over b >= 0, and over sum b <= radius."""
        n, scale = len(self.c), np.abs(self.c).max()
        bound = {} if radius is None else {"G": sp.csc_matrix(np.ones((1, n))), "h": np.array([radius / scale])}
        tight = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
        b = solve_qp(sp.csc_matrix(self.Q), -self.c / scale, lb=np.zeros(n), solver="clarabel", **bound, **tight)
        return self.dual(np.maximum(b * scale, 0.0))


def both(C, epsilon, kernel="rbf", m=30, weights=None, **options):
    X, y = data(m)
    gram = Gram(KERNELS[kernel], X, n_threads=1, **options)
    judge = Regression(X, y, C, epsilon or 0.0, KERNELS[kernel], weights)
    return L2SVR.of(gram, y, C, epsilon, weights), judge


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "cvm"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("C", "epsilon"), [(1.0, 0.1), (30.0, 0.3), (10.0, 0.0)])
def test_every_solver_finds_the_optimum_of_a_quadratic_program(solver, kernel, C, epsilon):
    problem, judge = both(C, epsilon, kernel)
    tol = TOLERANCES.get(solver, 1e-8)
    result = maximize(problem, solver, tol=tol, max_time=30)
    best = judge.optimum()
    assert result.stop_reason == "gap"
    assert best - 1e-7 * best <= result.value + result.gap
    assert result.value <= best + 1e-7 * best
    assert result.gap <= tol * result.value


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_gap_is_primal_minus_dual_of_the_problem_without_a_radius(solver):
    problem, judge = both(10.0, 0.2)
    result = maximize(problem, solver, tol=1e-2)
    b = result.weights[:-1]
    assert result.value == pytest.approx(judge.dual(b), rel=1e-10)
    assert result.gap == pytest.approx(judge.primal(b) - judge.dual(b), rel=1e-6, abs=1e-9 * result.value)


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "fw"])
@pytest.mark.parametrize("C", [1.0, 30.0])
def test_a_learned_tube_is_that_of_the_priced_problem(solver, C):
    problem, judge = both(C, None)
    result = maximize(problem, solver, tol=1e-8)
    b, width = result.weights[:-1], problem.tube(result.level)
    assert result.value == pytest.approx(judge.optimum(problem.radius), rel=1e-6)
    assert result.weights.sum() == pytest.approx(problem.radius)
    assert judge.primal(b, width) + problem.radius * width - judge.dual(b) <= 1.001 * result.primal_gap + 1e-9
    excess = np.maximum(np.abs(judge.y - judge.K @ (b[:30] - b[30:])) - width, 0.0)
    if C == 1.0:
        assert excess.mean() == pytest.approx(0.1 * judge.y.std(), rel=1e-3)
    else:  # the fit is so close that no tube pays
        assert width <= 1e-6
        assert excess.mean() < 0.1 * judge.y.std()


def test_equal_targets_have_a_learned_tube_without_width():
    X, _ = data()
    problem = L2SVR.of(Gram(Rbf(0.5), X), np.full(30, 3.0), 10.0, None)
    result = maximize(problem, "block", tol=1e-6)
    assert problem.tube(result.level) == 0.0
    model = problem.model(result.weights, result.value)
    assert np.abs(reference.kernel_values(Rbf(0.5), X)[:, model.rows] @ model.coef + model.intercept - 3).max() < 0.1


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("epsilon", [0.1, None])
def test_the_value_never_falls_while_the_radius_changes(solver, epsilon):
    problem, _ = both(100.0, epsilon)
    state, chosen = open_state(problem), make_solver(solver)
    chosen.check(state)
    chooser = chosen.chooser()
    state.set_weights(np.array([0, state.size - 1]), np.array([1e-3, 1e-3]))  # far too small a radius
    first, values = state.weights.sum(), [state.value]
    for _ in range(60):
        state.run(chooser, Limits(1))
        values.append(state.value)
        assert state.weights.min() >= 0
    assert (np.diff(values) >= -1e-9 * abs(values[-1])).all()
    assert bool(state.weights.sum() > 10 * first) is (epsilon is not None)


@pytest.mark.parametrize("epsilon", [0.1, None])
def test_a_problem_of_several_groups_is_that_of_their_union(epsilon):
    X, y = data()
    weights = np.random.default_rng(1).uniform(0.5, 2, len(y))
    cut = Gram(Rbf(0.5), X, groups=[np.arange(7), np.arange(7, 12), np.arange(12, 30)])
    whole = Gram(Rbf(0.5), X, groups=[np.r_[:7, 12:30]])
    one, two = (
        maximize(L2SVR.of(gram, y, 10.0, epsilon, weights, groups), solver="block", tol=1e-10)
        for gram, groups in ((cut, [0, 2]), (whole, [0]))
    )
    assert one.value == pytest.approx(two.value, rel=1e-9)
    models = [
        L2SVR.of(gram, y, 10.0, epsilon, weights, groups).model(result.weights, result.value)
        for gram, groups, result in ((cut, [0, 2], one), (whole, [0], two))
    ]
    np.testing.assert_array_equal(models[0].rows, models[1].rows)
    np.testing.assert_allclose(models[0].coef, models[1].coef, atol=1e-3)


def test_a_radius_needs_a_slack_vertex():
    X, _ = data()
    problem = L2SVR.of(Gram(Rbf(0.5), X), np.ones(30), 1.0, 0.1)
    with pytest.raises(ValueError, match="slack"):
        open_state(replace(problem, segments=problem.segments[:2], ridge=1.0, linear=problem.linear[:-1]))


# ---- kernel values ------------------------------------------------------------------------------------------


def classification(X):
    """The L2-SVM of the same rows, one variable each."""
    half = len(X) // 2
    return L2SVC.of(Gram(Rbf(0.5), X, groups=[np.arange(half), np.arange(half, len(X))], n_threads=1), 0, 1, 10.0)


def at_the_slack(problem):
    """A state at b = 0, which takes no kernel value."""
    state = open_state(problem)
    state.set_weights(np.array([problem.size - 1]), np.array([1.0]))
    assert problem.gram.evaluations == 0
    return state


def test_a_pair_of_signs_shares_its_kernel_column():
    """As many values as rows for each column, although there are twice as many variables; none for the slack."""
    problem, _ = both(10.0, 0.1, m=50)
    state = at_the_slack(problem)
    for row, values in ((3, 50), (53, 50), (57, 100), (7, 100), (20, 150)):
        state.core.second_order_away(row)
        state.core.move(2, 1.0, row, 1e-3, 100, 1e-3, False)
        assert problem.gram.evaluations == values


def test_a_pair_without_room_in_the_cache_shares_its_column_too():
    problem, _ = both(10.0, 0.1, m=50, cache_size=0)
    state = at_the_slack(problem)
    state.core.move(2, 1.0, 3, 1e-3, 100, 1e-3, False)
    assert problem.gram.evaluations == 50


def test_a_certificate_evaluates_every_row_once():
    problem, _ = both(10.0, 0.1, "linear", m=50)  # a kernel that is computed in double throughout
    state = open_state(problem)
    state.set_weights(np.array([1, 5, 9, 51, 55, 59, 100]), np.arange(1.0, 8.0))
    assert problem.gram.evaluations == 50 + 3  # three rows of the data stand for six variables; each row is read once


def test_a_working_set_evaluates_no_row_twice():
    problem, _ = both(10.0, 0.1, m=50)
    at_the_slack(problem).solve_on(np.arange(101), Effort(64, 10, 0.1, 0.1, make_solver("swap2"), 0.0))
    assert problem.gram.evaluations == 50 * 50


@pytest.mark.parametrize("sampling", [None, 10])
def test_regression_needs_about_as_many_values_as_classification(sampling):
    """Per move of SWAP: a column each, whatever the number of signs."""
    X, _ = data(200)
    problem, _ = both(10.0, 0.1, m=200)
    counts = []
    for each in (problem, classification(X)):
        state = open_state(each, sampling=sampling)
        variables = np.arange(0, 200, 20) if each is not problem else np.append(np.arange(0, 200, 20), 400)
        state.set_weights(variables, np.ones(len(variables)))
        before = each.gram.evaluations
        ran = state.run(make_solver("swap"), Limits(5))
        counts.append((each.gram.evaluations - before) / ran.moves)
    assert counts[0] <= 1.2 * counts[1]


# ---- properties -----------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1000),
    m=st.integers(1, 25),
    log_C=st.floats(-3, 3),
    epsilon=st.one_of(st.none(), st.floats(0, 3)),
    solver=st.sampled_from(["swap2", "fcfw", "block"]),
    duplicated=st.booleans(),
    log_scale=st.floats(-30, 30),
)
def test_certified_on_any_problem(seed, m, log_C, epsilon, solver, duplicated, log_scale):
    rng = np.random.default_rng(seed)
    X, scale = rng.normal(size=(m, 2)), 10.0**log_scale
    X = np.repeat(X[: -(-m // 2)], 2, axis=0)[:m] if duplicated else X
    y, weights = scale * rng.normal(size=m), rng.uniform(0.5, 3.0, size=m)
    width = None if epsilon is None else epsilon * scale
    problem = L2SVR.of(Gram(Rbf(1.0), X, n_threads=1), y, 10.0**log_C, width, weights)
    result = maximize(problem, solver, tol=1e-3, max_time=20)
    judge = Regression(X, y, 10.0**log_C, width or 0.0, Rbf(1.0), weights)
    b = result.weights[:-1]
    tube = problem.tube(result.level) if width is None else None
    price = 0.0 if width is not None or problem.grows else problem.radius * tube
    assert result.stop_reason == "gap"
    assert judge.dual(b) == pytest.approx(result.value, rel=1e-9, abs=1e-12 * scale**2)
    assert judge.primal(b, tube) + price - judge.dual(b) <= 1.0001e-3 * result.value + 1e-9 * scale**2


@pytest.mark.parametrize("solver", ["block", "swap2", "fcfw"])
def test_scaled_targets_have_a_scaled_solution(solver):
    X, y = data(60)
    found = []
    for scale in (1.0, 2.0**40, 2.0**-40):
        problem = L2SVR.of(Gram(Rbf(0.5), X, n_threads=1), scale * y, 10.0, 0.1 * scale)
        result = maximize(problem, solver, tol=1e-4)
        found.append((result.weights[:-1] / scale, result.relative_gap, result.iterations))
    for weights, gap, iterations in found[1:]:
        assert np.array_equal(weights, found[0][0])
        assert (gap, iterations) == found[0][1:]


def test_snapshots_know_the_radius():
    problem, _ = both(100.0, 0.1)
    first, second = open_state(problem), open_state(problem)
    first.set_weights(np.array([0, first.size - 1]), np.ones(2))
    first.run(make_solver("swap2"), Limits(25))
    second.restore(first.snapshot())
    assert (second.value, second.gap) == (first.value, first.gap)
    for state in (first, second):
        state.run(make_solver("swap2"), Limits(25))
    assert np.array_equal(first.weights, second.weights)


@pytest.mark.parametrize("solver", ["swap2", "fcfw"])
def test_sampling_ends_with_a_full_certificate(solver):
    problem, judge = both(10.0, 0.2, m=200)
    result = maximize(problem, solver, tol=1e-3, sampling=20, max_time=30)
    b = result.weights[:-1]
    assert result.stop_reason == "gap"
    assert judge.primal(b) - judge.dual(b) <= 1.0001e-3 * result.value


def test_a_kernel_that_is_not_positive_is_refused_or_warned_of():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, 20))
    K = A + A.T
    np.fill_diagonal(K, 1.0)
    problem = L2SVR.of(Gram(Precomputed(), K), rng.normal(size=20), 1e6, 0.1)
    for solver in ("block", "swap2"):
        with pytest.raises((ValueError, ConvergenceWarning)):
            maximize(problem, solver, max_time=5)


def test_a_start_from_another_radius_has_the_same_b():
    X, y = data()
    gram = Gram(Rbf(0.5), X)
    small, large = (L2SVR.of(gram, y, C, None) for C in (1.0, 4.0))
    weights = np.append(np.full(2 * len(y), small.radius / 100), small.radius * (1 - 0.02 * len(y)))
    start = large.start_from(weights)
    np.testing.assert_array_equal(start[:-1], weights[:-1])
    assert start.sum() == pytest.approx(large.radius)
    assert small.start_from(2 * start)[-1] == 0.0  # no room: all are scaled down
