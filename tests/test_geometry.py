"""Norm points, distances of polytopes and enclosing balls, beside closed forms and exact programs."""

import dataclasses
import itertools
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from swapsvm import ConvergenceWarning, Gram, maximize, problems
from swapsvm.geometry import min_enclosing_ball, min_norm_point, polytope_distance
from swapsvm.kernels import Linear

from .reference import exact_weights

SOLVERS = ["block", "fcfw", "fw", "mfw", "swap", "swap2", "pairwise", "blended", "lazified"]
quickly = settings(max_examples=25, deadline=None)


def normal_points(m, d, seed=0):
    return np.random.default_rng(seed).normal(size=(m, d))


def exact_ball(X):
    a = exact_weights(X @ X.T, (X**2).sum(axis=1))
    return a @ X, np.sqrt(a @ ((X - a @ X) ** 2).sum(axis=1))


def check_ball(X, ball, tol=1e-6):
    """All claims of a ball, checked from the points alone."""
    distances = np.linalg.norm(np.asarray(X, np.float64) - ball.center, axis=1)
    assert distances.max() <= ball.radius
    assert ball.radius == ball.upper_bound and ball.lower_bound <= ball.upper_bound
    assert ball.upper_bound <= (1 + tol) * ball.lower_bound * (1 + 1e-12) and ball.stop_reason == "gap"
    check_weights(ball.weights, ball.coreset, len(X))


def check_bounds(found, Z):
    """The bounds hold for the least norm in the hull of Z, which the exact program finds to a gap of 1e-9 |z|^2."""
    exact = np.linalg.norm(exact_weights(Z @ Z.T) @ Z)
    assert found.lower_bound <= exact + 1e-12
    assert exact**2 <= found.upper_bound**2 + 1e-9 * np.abs(Z @ Z.T).max()
    return exact


def check_weights(weights, coreset, m):
    assert weights.shape == (m,) and weights.min() >= 0 and weights.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_array_equal(coreset, np.flatnonzero(weights))


# ---- closed forms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_regular_simplex(n):
    ball = min_enclosing_ball(np.eye(n))
    check_ball(np.eye(n), ball)
    assert ball.radius == pytest.approx(np.sqrt(1 - 1 / n), abs=1e-9)
    np.testing.assert_allclose(ball.center, 1 / n, atol=1e-6)
    found = min_norm_point(np.eye(n))
    assert found.upper_bound == pytest.approx(1 / np.sqrt(n), rel=1e-9)
    np.testing.assert_allclose(found.point, 1 / n, atol=1e-6)


@pytest.mark.parametrize("d", [1, 3, 10])
def test_cube(d):
    corners = np.array(list(itertools.product([1.0, 3.0], repeat=d)))
    ball = min_enclosing_ball(corners)
    check_ball(corners, ball)
    np.testing.assert_allclose(ball.center, 2, atol=1e-6)
    assert ball.radius == pytest.approx(np.sqrt(d), rel=1e-6)
    np.testing.assert_allclose(min_norm_point(corners).point, 1, atol=1e-6)
    between = polytope_distance(corners, -corners)
    assert between.distance == pytest.approx(2 * np.sqrt(d), rel=1e-9)
    np.testing.assert_allclose(between.normal, 1 / np.sqrt(d), atol=1e-6)
    assert between.offset == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(("m", "d"), [(2000, 2), (5000, 10), (3000, 200)])
def test_sphere_samples(m, d):
    X = normal_points(m, d)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    ball = min_enclosing_ball(5 + 3 * X, tol=1e-4)
    check_ball(5 + 3 * X, ball, tol=1e-4)
    assert ball.lower_bound <= 3 * (1 + 1e-12)
    if m > 100 * d:
        assert ball.radius == pytest.approx(3, rel=1e-4)


def test_faces_of_two_boxes():
    P = np.array(list(itertools.product([3.0, 4.0], [0.0, 1.0], [0.0, 1.0])))
    Q = np.array(list(itertools.product([0.0, 1.0], [0.25, 0.5], [-5.0, 5.0])))
    found = polytope_distance(P, Q)
    assert found.distance == pytest.approx(2) and found.separated
    np.testing.assert_allclose(found.normal, [1, 0, 0], atol=1e-6)
    assert found.offset == pytest.approx(2)


# ---- exact programs ------------------------------------------------------------------------------------------------


@quickly
@given(m=st.integers(1, 30), d=st.integers(1, 6), seed=st.integers(0, 2**32 - 1), offset=st.sampled_from([0.0, 3.0]))
def test_norm_point_is_that_of_an_exact_program(m, d, seed, offset):
    Z = normal_points(m, d, seed) + offset
    found = min_norm_point(Z)
    exact = check_bounds(found, Z)
    assert found.stop_reason == ("zero" if exact < 1e-4 and found.upper_bound < 1e-7 else "gap")
    np.testing.assert_allclose(found.weights @ Z, found.point, atol=1e-9)
    assert np.linalg.norm(found.point) == pytest.approx(found.upper_bound)
    check_weights(found.weights, found.coreset, m)


@quickly
@given(m=st.integers(1, 30), d=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_ball_is_that_of_an_exact_program(m, d, seed):
    X = normal_points(m, d, seed)
    ball = min_enclosing_ball(X, tol=1e-9)
    check_ball(X, ball, tol=1e-9)
    center, radius = exact_ball(X)
    assert ball.radius == pytest.approx(radius, rel=1e-6, abs=1e-7)
    np.testing.assert_allclose(ball.center, center, atol=1e-3 * max(radius, 1e-6))


@quickly
@given(
    m=st.integers(1, 12), n=st.integers(1, 12), d=st.integers(1, 5), seed=st.integers(0, 2**32 - 1), far=st.booleans()
)
def test_distance_is_that_of_an_exact_program(m, n, d, seed, far):
    P, Q = normal_points(m, d, seed), normal_points(n, d, seed + 1) + 4 * far
    found = polytope_distance(P, Q)
    Z = (P[:, None] - Q[None]).reshape(-1, d)
    check_bounds(found, Z)
    assert np.linalg.norm(found.p - found.q) == pytest.approx(found.distance, abs=1e-9)
    for weights, coreset, points, nearest in zip(found.weights, found.coreset, (P, Q), (found.p, found.q), strict=True):
        check_weights(weights, coreset, len(points))
        np.testing.assert_allclose(weights @ points, nearest, atol=1e-9)
    assert found.separated == (found.lower_bound > 0) == (found.distance > 1e-7)
    if found.separated:
        slab = found.lower_bound / 2 * (1 - 1e-9)
        assert (P @ found.normal).min() >= found.offset + slab - 1e-12
        assert (Q @ found.normal).max() <= found.offset - slab + 1e-12


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_has_the_same_answer(solver):
    X = normal_points(300, 4)
    check_ball(X, min_enclosing_ball(X, solver=solver, tol=1e-3), tol=1e-3)
    norm = min_norm_point(X + 4, tol=1e-3, solver=solver)
    assert norm.upper_bound == pytest.approx(min_norm_point(X + 4).upper_bound, rel=1e-3)
    between = polytope_distance(X, -X + 8, tol=1e-3, solver=solver)
    assert between.distance == pytest.approx(polytope_distance(X, -X + 8).distance, rel=1e-3)
    assert norm.stop_reason == between.stop_reason == "gap"


def test_the_ball_is_that_of_a_linear_kernel():
    X = normal_points(500, 6)
    kernel = maximize(problems.Ball.of(Gram(Linear(), X)), tol=1e-9)
    ball = min_enclosing_ball(X, tol=1e-9)
    assert np.sqrt(kernel.value) == pytest.approx(ball.radius, rel=1e-8)
    np.testing.assert_allclose(kernel.weights @ X, ball.center, atol=1e-4)


def test_the_coreset_carries_the_answer():
    X = normal_points(5000, 8)
    ball = min_enclosing_ball(X)
    assert len(ball.coreset) < 30
    alone = min_enclosing_ball(X[ball.coreset])
    assert ball.radius <= alone.upper_bound * (1 + 2e-6)


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3, 1e-5])
def test_tol_is_one_plus_epsilon(tol):
    X = normal_points(4000, 20)
    exact = min_enclosing_ball(X, tol=1e-10).radius
    ball = min_enclosing_ball(X, tol=tol)
    check_ball(X, ball, tol)
    assert ball.lower_bound <= exact * (1 + 1e-10) and exact <= ball.radius <= (1 + tol) * exact


def test_passes_and_coreset_do_not_grow_with_the_number_of_points():
    X = normal_points(64_000, 10)
    balls = [min_enclosing_ball(X[:m], tol=1e-3) for m in (1000, 8000, 64_000)]
    assert max(ball.iterations for ball in balls) <= 12
    assert max(len(ball.coreset) for ball in balls) <= 25


# ---- degenerate, large, small --------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 0.1, 1e8, -3e-200])
@pytest.mark.parametrize("m", [1, 5])
def test_points_that_are_all_equal(value, m):
    X = np.full((m, 3), value)
    ball = min_enclosing_ball(X)
    assert ball.radius == ball.gap == 0 and ball.stop_reason == "gap"
    np.testing.assert_array_equal(ball.center, X[0])
    assert min_norm_point(X).upper_bound == pytest.approx(np.sqrt(3) * abs(value))
    apart = polytope_distance(X, X)
    assert apart.distance == 0 and apart.stop_reason in ("gap", "zero") and not apart.separated


def test_duplicates_collinear_and_flat_points():
    line = np.linspace(-1, 1, 50)[:, None] * [1.0, 2.0, 2.0] + 7
    for X in (line, np.repeat(line, 3, axis=0), line[::-1]):
        ball = min_enclosing_ball(X)
        check_ball(X, ball)
        assert ball.radius == pytest.approx(3, rel=1e-6)
    flat = np.hstack([normal_points(200, 2), np.zeros((200, 5))])
    check_ball(flat, min_enclosing_ball(flat))
    assert min_enclosing_ball(flat).radius == pytest.approx(min_enclosing_ball(flat[:, :2]).radius, rel=1e-6)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8])
def test_a_large_offset_costs_no_more_digits_than_the_points_have(offset):
    X, Y = normal_points(500, 5), normal_points(500, 5, seed=1) + 5
    near, far = min_enclosing_ball(X), min_enclosing_ball(X + offset)
    assert far.radius == pytest.approx(near.radius, rel=1e-6 + 1e-15 * offset)
    check_ball(X + offset, far, tol=1e-6)
    distance = polytope_distance(X, Y).distance
    assert polytope_distance(X + offset, Y + offset).distance == pytest.approx(distance, rel=1e-6 + 1e-15 * offset)


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
def test_units_do_not_matter(scale):
    X, Y = normal_points(100, 4), normal_points(100, 4, seed=1) + 6
    assert min_enclosing_ball(scale * X).radius == pytest.approx(scale * min_enclosing_ball(X).radius, rel=1e-6)
    assert min_norm_point(scale * Y).upper_bound == pytest.approx(scale * min_norm_point(Y).upper_bound, rel=1e-6)
    far = polytope_distance(scale * X, scale * Y)
    assert far.distance == pytest.approx(scale * polytope_distance(X, Y).distance, rel=1e-6) and far.separated


def test_points_too_far_apart_for_double_are_refused():
    with pytest.raises(ValueError, match="scale them"):
        min_enclosing_ball([[1e308], [-1e308]])


def test_hulls_that_touch_or_overlap_are_not_separated():
    square, right = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]]), np.array([1.0, 0.0])
    for other in (square + 1, square + right, square + 0.5, square, [[0.5, 0.5]], [[0.25, 0.0]]):
        found = polytope_distance(square, other)
        assert found.distance <= 1e-8 and not found.separated and found.normal is None
        np.testing.assert_allclose(found.p, found.q, atol=1e-8)
    apart = polytope_distance(square, square + (1 + 1e-5) * right)
    assert apart.separated and apart.distance == pytest.approx(1e-5, rel=1e-5)


@quickly
@given(m=st.integers(1, 20), d=st.integers(1, 6), seed=st.integers(0, 2**32 - 1), offset=st.sampled_from([0.0, 1e6]))
def test_rounding_separates_no_hulls_that_share_a_point(m, d, seed, offset):
    P = normal_points(m, d, seed) + offset
    corner = P[np.argmax(P[:, 0])]
    Q = np.vstack([corner, corner + np.abs(normal_points(m, d, seed + 1))])
    found = polytope_distance(P, Q)
    assert not found.separated and found.lower_bound == 0 and found.stop_reason == "zero"
    assert min_norm_point(P - corner).lower_bound == 0


def test_single_precision_and_memory_maps_are_read_in_place(tmp_path):
    X = normal_points(3000, 7).astype(np.float32)
    np.save(tmp_path / "points.npy", X)
    mapped = np.load(tmp_path / "points.npy", mmap_mode="r")
    ball, same = min_enclosing_ball(X), min_enclosing_ball(mapped)
    check_ball(X, ball)
    assert ball.radius == same.radius and ball.center.dtype == np.float64
    assert min_norm_point(X + np.float32(3)).stop_reason == "gap"
    assert min_enclosing_ball(X[::2, ::-1]).stop_reason == "gap"  # any strides
    assert min_enclosing_ball([[0, 0], [2, 0]]).radius == pytest.approx(1)  # integers


# ---- limits and bad input -------------------------------------------------------------------------------------------


def test_limits_end_a_run_with_bounds_that_hold():
    X = normal_points(2000, 50)
    exact = min_enclosing_ball(X).radius
    with pytest.warns(ConvergenceWarning, match=r"min_enclosing_ball stopped by 'max_iter'.*raise max_iter or tol"):
        ball = min_enclosing_ball(X, max_iter=3, solver="fw")
    assert ball.iterations == 3 and not ball.converged
    assert ball.lower_bound <= exact <= ball.radius and ball.gap > 0
    with pytest.warns(ConvergenceWarning, match="'max_time'"):
        polytope_distance(X, X + 0.5, solver="fw", max_time=0.05)


def test_no_input_runs_for_ever():
    # The origin on the boundary of the hull: Frank-Wolfe needs 1 / eps steps, and no relative gap is ever reached.
    Z = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.3, 2.0]])
    began = time.perf_counter()
    for solver in SOLVERS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = min_norm_point(Z, solver=solver, tol=0.0, zero_tol=0.0)
        assert found.lower_bound <= 1e-12 and found.upper_bound < 0.1
    assert time.perf_counter() - began < 60


def test_a_gap_below_what_double_resolves_is_not_claimed():
    X = normal_points(200, 5)
    with pytest.warns(ConvergenceWarning, match="double precision"):
        ball = min_enclosing_ball(X + 1e8, tol=1e-13)
    assert ball.stop_reason == "precision" and ball.gap > 1e-13 * ball.radius
    assert np.linalg.norm(X + 1e8 - ball.center, axis=1).max() <= ball.radius


@pytest.mark.parametrize("function", [min_norm_point, min_enclosing_ball, lambda P, **o: polytope_distance(P, P, **o)])
@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        ([1.0, 2.0], {}, r"shape \(2,\)"),
        (np.zeros((0, 3)), {}, r"shape \(0, 3\): it must be a matrix with at least one point"),
        (np.zeros((3, 0)), {}, r"shape \(3, 0\)"),
        ([[1.0, np.nan], [0.0, 0.0]], {}, "NaN or infinity, first in row 0"),
        ([[1.0, 2.0], [np.inf, 0.0]], {}, "NaN or infinity, first in row 1"),
        ([["a", "b"]], {}, "must be a matrix of numbers"),
        ([[1.0, 2.0], [1.0]], {}, "must be a matrix of numbers"),
        ([[1j]], {}, "must be a matrix of numbers"),
        (sp.eye_array(3), {}, "toarray"),
        (np.eye(3), {"tol": -1.0}, "tol=-1.0 must be a number"),
        (np.eye(3), {"tol": np.nan}, "tol=nan"),
        (np.eye(3), {"solver": "welzl"}, "solver='welzl' is unknown"),
        (np.eye(3), {"solver": "cvm"}, "use solver='fcfw'"),
        (np.eye(3), {"max_iter": 0}, "max_iter=0"),
        (np.eye(3), {"max_time": -1.0}, "max_time=-1.0"),
    ],
)
def test_bad_input_is_refused(function, points, options, message):
    with pytest.raises(ValueError, match=message):
        function(points, **options)


def test_dimensions_of_two_polytopes_must_agree():
    with pytest.raises(ValueError, match="P has points of dimension 3, Q of 2"):
        polytope_distance(np.eye(3), np.eye(2))


def test_results_are_frozen_and_read_well():
    ball = min_enclosing_ball(np.eye(3))
    with pytest.raises(dataclasses.FrozenInstanceError):
        ball.radius = 0.0
    text = repr(ball)
    assert text.splitlines()[1].strip().startswith("radius: 0.8164965") and "stop_reason: gap" in text
    assert "normal: None" in repr(polytope_distance(np.eye(3), np.eye(3)))
