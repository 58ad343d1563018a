"""log det sum_i a_i z_i z_i': its closed forms against the general line search, its moves against a fresh start."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from swapsvm import ConvergenceWarning, maximize
from swapsvm.problems import Concave, LogDeterminant
from swapsvm.problems.log_determinant import Moments
from swapsvm.rays import Away, SwapRay, Toward
from swapsvm.solvers import SOLVERS
from swapsvm.state import open_state
from swapsvm.state.log_determinant import REFRESH

from .cases import on_simplex, random_rows
from .walking import started, walk

TAKEN = [solver for solver in SOLVERS if solver != "cvm"]
ROWS = random_rows(60, 4)


def log_det(rows, a):
    return np.linalg.slogdet(rows.T @ (a[:, None] * rows))[1]


def leverages(rows, a):
    return np.einsum("ij,ij->i", rows @ np.linalg.inv(rows.T @ (a[:, None] * rows)), rows)


def interior(size, seed=1):
    return np.random.default_rng(seed).dirichlet(np.ones(size))


def general(rows):
    """The same function, written as by a user."""
    return Concave(lambda a: log_det(rows, a), lambda a: leverages(rows, a), len(rows))


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e12])
def test_value_gradient_and_hessian_are_those_of_the_function(scale):
    rows, a = ROWS * [1.0, scale, 1.0, 1.0], interior(60)
    problem = LogDeterminant(rows)
    assert problem.value(a) == pytest.approx(log_det(ROWS, a) + 2 * np.log(scale), rel=1e-12)
    np.testing.assert_allclose(problem.gradient(a), leverages(ROWS, a), rtol=1e-10)
    i, j = np.array([0, 3, 7]), np.array([0, 5, 2])
    bump = 1e-6
    for k, (u, v) in enumerate(zip(i, j, strict=True)):
        change = problem.gradient(a + bump * np.eye(60)[u])[v] - problem.gradient(a - bump * np.eye(60)[u])[v]
        assert problem.hessian(a, i, j)[k] == pytest.approx(change / (2 * bump), rel=1e-6)


@given(st.integers(0, 10_000), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_closed_line_searches_are_those_of_the_bracketed_one(seed, n):
    rows, a = random_rows(n + 8, n, seed), interior(n + 8, seed)
    closed, bracketed = started(LogDeterminant(rows), a), started(general(rows), a)
    i, j = closed.toward(), closed.away()
    for ray in (Toward(i), Away(j), SwapRay(i, j), Toward(j)):
        found, expected = closed.search(ray), bracketed.search(ray)
        assert found.step == pytest.approx(expected.step, rel=1e-6, abs=1e-9)
        assert found.clipped == expected.clipped
        if not found.clipped:
            assert found.gain == pytest.approx(expected.gain, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("solver", ["fw", "mfw", "swap", "swap2"])
def test_moves_keep_the_moments_exact_and_the_value_never_falls(solver):
    state = started(LogDeterminant(ROWS), np.full(60, 1 / 60))
    value, moves = state.value, 0
    for step in walk(state, solver, 3 * REFRESH, eps=1e-9):
        assert on_simplex(step.after)
        assert step.value == pytest.approx(log_det(ROWS, step.after), abs=1e-11)
        assert step.value >= value - 1e-12
        np.testing.assert_allclose(state.gradient, leverages(ROWS, step.after), rtol=1e-9)
        value, moves = step.value, moves + 1
    assert moves > 60


@pytest.mark.parametrize("solver", TAKEN)
def test_every_solver_reaches_the_gap_that_a_fresh_computation_confirms(solver):
    result = maximize(LogDeterminant(ROWS), solver, tol=1e-3 if solver == "fw" else 1e-10, max_time=20)
    assert result.converged
    assert result.gap == pytest.approx(leverages(ROWS, result.weights).max() - 4, abs=1e-11)
    assert result.relative_gap == pytest.approx(result.gap / 4)
    best = maximize(general(ROWS), "swap2", tol=1e-9, start=np.full(60, 1 / 60)).value
    assert best - result.gap - 1e-9 <= result.value <= best + 1e-8


def test_away_steps_and_swaps_need_fewer_iterations_than_frank_wolfe():
    iterations = {s: maximize(LogDeterminant(ROWS), s, tol=1e-3).iterations for s in ("fw", "mfw", "swap", "swap2")}
    assert max(iterations["mfw"], iterations["swap"], iterations["swap2"]) < iterations["fw"] / 4


def test_the_second_order_vertex_is_the_one_whose_swap_gains_most():
    state = started(LogDeterminant(ROWS), interior(60))
    i = state.toward()
    gains = {j: state.search(SwapRay(i, j)).gain for j in state.support if j != i}
    assert gains[state.second_order_away(i)] == pytest.approx(max(gains.values()))


def test_one_dimension_is_the_longest_point():
    result = maximize(LogDeterminant([[1.0], [-3.0], [2.0]]), tol=1e-9)
    np.testing.assert_allclose(result.weights, [0, 1, 0])
    assert result.value == pytest.approx(np.log(9))


def test_the_start_spans_the_space_whatever_the_points_repeat():
    rows = np.concatenate([np.tile([1.0, 0, 0], (500, 1)), [[1.0, 1e-3, 0], [1.0, 0, 1e-4]]])
    problem = LogDeterminant(rows)
    chosen = problem.start_variables(20, np.random.default_rng(0))
    assert np.linalg.matrix_rank(rows[chosen]) == 3
    assert maximize(problem, tol=1e-8).converged


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ones(3), r"its shape is \(3,\)"),
        ([["a", "b"]], "dense matrix of numbers"),
        (sparse.eye(3, format="csr"), "dense matrix of numbers"),
        (np.empty((0, 2)), r"its shape is \(0, 2\)"),
        ([[1.0, np.nan]], "not finite"),
        ([[1.0, 2.0], [2.0, 4.0]], "span 1 of 2 dimensions"),
        (np.zeros((4, 2)), "span 0 of 2 dimensions"),
        (np.ones((1, 2)), "span 1 of 2 dimensions"),
    ],
)
def test_bad_rows_are_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        LogDeterminant(rows)


def test_a_start_that_spans_nothing_is_refused():
    with pytest.raises(ValueError, match="start"):
        maximize(LogDeterminant(ROWS), start=np.eye(60)[0])


def test_limits_hold_inside_of_a_corrective_step():
    with pytest.warns(ConvergenceWarning, match="max_time"):
        result = maximize(LogDeterminant(random_rows(3000, 40)), "fcfw", tol=1e-12, max_time=0.2)
    assert result.trace.array()["seconds"][-1] < 1.0


def test_faces_are_states_of_the_same_kind():
    state = started(LogDeterminant(ROWS), interior(60))
    face = state.face(np.arange(60))
    assert type(face) is type(state) is type(open_state(LogDeterminant(ROWS)))
    assert face.gap == pytest.approx(state.gap)
    assert isinstance(face.moments, Moments)


def test_a_snapshot_goes_on_to_the_last_bit():
    state = started(LogDeterminant(ROWS), interior(60))
    list(walk(state, "swap", 20))
    copied = open_state(LogDeterminant(ROWS))
    copied.restore(state.snapshot())
    for step, other in zip(walk(state, "swap", 100), walk(copied, "swap", 100), strict=True):
        np.testing.assert_array_equal(step.after, other.after)
        assert (step.value, step.gap) == (other.value, other.gap)
