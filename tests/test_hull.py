"""A hull of listed vertices moves as the same problem does with all of its vertices in a Gram."""

import numpy as np
import pytest

from swapsvm.problems.hull import BallHull, DifferenceHull, PointHull, Points
from swapsvm.solvers import SOLVERS, make_solver
from swapsvm.state import Limits
from swapsvm.state.hull import HullState

from . import reference
from .cases import points, random_rows
from .walking import started

M, N, D = 150, 7, 4


def norm_case(seed):
    Z = random_rows(M, D, seed) + 0.4
    return PointHull(Z), Z, None


def ball_case(seed):
    X = random_rows(M, D, seed) + 30.0
    return BallHull(X), X - X[0], ((X - X[0]) ** 2).sum(axis=1)


def difference_case(seed):
    P, Q = random_rows(M // N, D, seed), random_rows(N, D, seed + 100) + 0.8
    return DifferenceHull(P, Q), (P[:, None] - Q[None]).reshape(-1, D), None


CASES = [norm_case, ball_case, difference_case]


def placed(hull, a):
    """The state of the hull at weights of all vertices."""
    vertices = np.flatnonzero(a)
    state = HullState(hull, vertices)
    state.set_weights(np.arange(len(vertices)), a[vertices])
    return state


def weights_of(state, size):
    return np.bincount(state.vertices, state.weights, size)


def some_weights(size, seed):
    rng = np.random.default_rng(seed)
    a = np.zeros(size)
    a[rng.choice(size, 12, replace=False)] = rng.dirichlet(np.ones(12))
    return a


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_value_and_gap_are_those_of_all_vertices(case, seed):
    hull, Z, c = case(seed)
    a = some_weights(len(Z), seed)
    state = placed(hull, a)
    assert state.value * hull.unit**2 == pytest.approx(reference.value(Z @ Z.T, a, c), rel=1e-12)
    assert state.gap * hull.unit**2 == pytest.approx(reference.gap(Z @ Z.T, a, c), rel=1e-10)
    np.testing.assert_allclose(hull.unit * state.point, a @ Z, rtol=1e-12)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("solver", [name for name, solver in SOLVERS.items() if solver.compiled])
@pytest.mark.parametrize("seed", range(3))
def test_a_step_is_that_of_the_compiled_state(case, solver, seed):
    hull, Z, c = case(seed)
    a = some_weights(len(Z), seed)
    listed, compiled = placed(hull, a), started(points(Z, c).problem, a)
    kinds = [state.run(make_solver(solver), Limits(moves=1)).kinds for state in (listed, compiled)]
    assert kinds[0] == kinds[1]
    np.testing.assert_allclose(weights_of(listed, len(Z)), compiled.weights, rtol=0, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "cvm"])
def test_weights_stay_on_the_simplex_and_the_value_never_falls(case, solver):
    hull, Z, _ = case(5)
    state, solver = placed(hull, some_weights(len(Z), 5)), make_solver(solver)
    for _ in range(40):
        before = state.value
        state.run(solver, Limits(moves=1))
        assert state.weights.min() >= 0 and state.weights.sum() == pytest.approx(1, abs=1e-12)
        assert state.value >= before - 1e-15  # of the square of the longest vertex
        assert len(np.unique(state.vertices)) == state.size


def test_a_snapshot_brings_a_state_back_to_the_last_bit():
    hull, Z, _ = ball_case(0)
    state, solver = placed(hull, some_weights(len(Z), 0)), make_solver("swap2")
    state.run(solver, Limits(moves=5))
    kept = state.snapshot()
    state.run(solver, Limits(moves=5))
    again = HullState(hull, np.zeros(1, np.int64))
    again.restore(kept)
    again.run(solver, Limits(moves=5))
    np.testing.assert_array_equal(weights_of(again, len(Z)), weights_of(state, len(Z)))
    assert again.gap == state.gap


def test_pieces_cover_every_row_once(monkeypatch):
    monkeypatch.setattr("swapsvm.problems.hull.PIECE", 30)
    X = random_rows(101, 7).astype(np.float32)
    whole = Points(X)
    w = np.arange(7.0)
    np.testing.assert_allclose(whole.along(w), (X.astype(np.float64) - X[0]) @ w, rtol=1e-12, atol=1e-12)
    assert whole.radius() == pytest.approx(np.linalg.norm(X.astype(np.float64) - X[0], axis=1).max())
