"""The minimum volume ellipsoid: closed forms, an interior point method, affine maps, and refused points."""

import time
from dataclasses import FrozenInstanceError
from itertools import product
from math import gamma, pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swapsvm import ConvergenceWarning
from swapsvm.geometry import min_enclosing_ellipsoid
from swapsvm.solvers import SOLVERS

from . import reference
from .cases import on_simplex, random_rows

TAKEN = [solver for solver in SOLVERS if solver != "cvm"]


def ball(d, radius=1.0):
    return pi ** (d / 2) / gamma(d / 2 + 1) * radius**d


def simplex(d):
    """d + 1 points on the unit sphere, all equally far from each other."""
    corners = np.linalg.qr(np.eye(d + 1) - 1 / (d + 1))[0][:, :d]
    return corners / np.linalg.norm(corners, axis=1)[:, None]


def distances(found, X):
    apart = np.asarray(X) - found.center
    return np.einsum("ij,ij->i", apart @ found.matrix, apart)


def assert_holds(found, X):
    """The promises of every result."""
    d = len(found.center)
    assert distances(found, X).max() == pytest.approx(1.0, abs=1e-9)
    assert distances(found, X).max() <= 1.0
    assert found.volume == pytest.approx(ball(d) / np.sqrt(np.linalg.det(found.matrix)), rel=1e-9)
    assert found.lower_bound <= found.upper_bound == found.volume
    assert found.gap == found.upper_bound - found.lower_bound
    assert on_simplex(found.weights)
    np.testing.assert_array_equal(found.coreset, np.flatnonzero(found.weights))


CLOSED = {
    "interval": (np.array([[1.0], [3.0], [2.5]]), [2.0], [[1.0]]),
    **{f"cube-{d}": (np.array(list(product([-1.0, 1.0], repeat=d))), np.zeros(d), np.eye(d) / d) for d in (2, 3, 6)},
    **{f"simplex-{d}": (simplex(d), np.zeros(d), np.eye(d)) for d in (1, 2, 3, 10)},
    **{f"cross-{d}": (np.concatenate([np.eye(d), -np.eye(d)]), np.zeros(d), np.eye(d)) for d in (2, 3, 10)},
    "box": (np.array(list(product([0.0, 4.0], [1.0, 3.0]))), [2.0, 2.0], np.diag([1 / 8, 1 / 2])),
    "circle": (np.stack([np.cos(np.arange(7) * 2 * pi / 7), np.sin(np.arange(7) * 2 * pi / 7)], 1), [0, 0], np.eye(2)),
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms(name):
    X, center, matrix = CLOSED[name]
    found = min_enclosing_ellipsoid(X, tol=1e-9)
    assert found.converged
    assert_holds(found, X)
    np.testing.assert_allclose(found.center, center, atol=1e-4)
    np.testing.assert_allclose(found.matrix, matrix, atol=1e-4)
    assert found.volume == pytest.approx(ball(len(center)) / np.sqrt(np.linalg.det(matrix)), rel=2e-9)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_the_interior_point_method_finds_the_same_volume(d, seed):
    X = random_rows(8 * d, d, seed) ** 3
    found = min_enclosing_ellipsoid(X, tol=1e-8)
    least = np.exp(reference.least_ellipsoid_log_volume(X))
    assert_holds(found, X)
    assert found.volume == pytest.approx(least, rel=1e-7)
    assert found.lower_bound <= least * (1 + 1e-8)
    assert found.relative_gap <= 1e-8


@pytest.mark.parametrize("solver", TAKEN)
def test_every_solver_brings_the_bounds_together(solver):
    X, tol = random_rows(300, 3), 1e-3 if solver == "fw" else 1e-9
    found = min_enclosing_ellipsoid(X, tol=tol, solver=solver, max_time=20)
    assert found.stop_reason == "gap" and found.relative_gap <= tol
    assert_holds(found, X)
    best = min_enclosing_ellipsoid(X, tol=1e-10)
    assert found.lower_bound <= best.volume * (1 + 1e-12) and best.lower_bound <= found.volume


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 20))
@settings(max_examples=40, deadline=None)
def test_an_affine_map_multiplies_the_volume_by_its_determinant(seed, d, more):
    rng = np.random.default_rng(seed)
    X, T, b = rng.normal(size=(d + 2 + more, d)), rng.normal(size=(d, d)) + 3 * np.eye(d), 100 * rng.normal(size=d)
    found, mapped = min_enclosing_ellipsoid(X, tol=1e-7), min_enclosing_ellipsoid(X @ T.T + b, tol=1e-7)
    assert_holds(mapped, X @ T.T + b)
    assert mapped.volume == pytest.approx(abs(np.linalg.det(T)) * found.volume, rel=3e-7)
    np.testing.assert_allclose(T.T @ mapped.matrix @ T, found.matrix, atol=2e-2 * np.abs(found.matrix).max())


@given(st.integers(0, 10**6), st.lists(st.integers(0, 11), max_size=30))
@settings(max_examples=30, deadline=None)
def test_order_and_copies_of_points_do_not_matter(seed, repeated):
    X = random_rows(12, 2, seed)
    again = np.random.default_rng(seed).permutation(np.concatenate([X, X[repeated]]))
    found, other = min_enclosing_ellipsoid(X), min_enclosing_ellipsoid(again)
    assert_holds(other, again)
    assert other.volume == pytest.approx(found.volume, rel=2e-6)


def test_points_inside_change_nothing_and_have_no_weight():
    X = np.concatenate([np.array(list(product([-1.0, 1.0], repeat=3))), 0.5 * np.tanh(random_rows(500, 3))])
    found = min_enclosing_ellipsoid(X, tol=1e-9)
    assert found.volume == pytest.approx(ball(3, 3**0.5), rel=1e-8)
    assert found.coreset.max() < 8


def test_the_problem_of_the_coreset_has_the_same_answer():
    X = random_rows(2000, 4)
    found = min_enclosing_ellipsoid(X)
    assert len(found.coreset) < 40
    assert min_enclosing_ellipsoid(X[found.coreset]).volume == pytest.approx(found.volume, rel=3e-6)


def test_bounds_do_not_cross_where_the_gap_is_all_rounding():
    grid = np.array(list(product(range(20), repeat=3)), dtype=float)
    found = min_enclosing_ellipsoid(grid)
    assert 0 < found.relative_gap < 1e-12
    assert found.lower_bound <= ball(3, 9.5 * 3**0.5) * (1 + 1e-14)


def test_samples_of_a_sphere_are_held_by_little_less_than_the_ball():
    X = random_rows(5000, 3)
    X /= np.linalg.norm(X, axis=1)[:, None]
    found = min_enclosing_ellipsoid(X)
    assert_holds(found, X)
    assert 0.99 * ball(3) < found.volume <= ball(3) * (1 + 1e-6)


@pytest.mark.parametrize("offset", [1e3, -1e6, 1e9])
def test_large_offsets_cost_no_digits_of_the_answer(offset):
    X = random_rows(200, 3)
    near, far = min_enclosing_ellipsoid(X), min_enclosing_ellipsoid(X + offset)
    assert far.converged
    assert_holds(far, X + offset)
    assert far.volume == pytest.approx(near.volume, rel=3e-6 + 1e-14 * abs(offset))


@pytest.mark.parametrize("scales", [[1e-8, 1.0, 1e8], [1e-100, 1.0, 1e100], [1e-140, 1e-100, 1e3]])
def test_badly_scaled_columns_cost_none_either(scales):
    X = random_rows(200, 3)
    found, plain = min_enclosing_ellipsoid(X * scales), min_enclosing_ellipsoid(X)
    assert found.converged
    assert distances(found, X * scales).max() == pytest.approx(1.0, abs=1e-9)
    assert found.volume == pytest.approx(plain.volume * np.prod(scales), rel=3e-6)


@pytest.mark.parametrize("thickness", [1e-3, 1e-5, 1e-7])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_flat_points_are_held_and_the_bounds_are_honest(thickness):
    """The gap includes the rounding of the matrix: the least volume is known from the points before rotation."""
    X = random_rows(100, 3)
    turn = np.linalg.qr(random_rows(3, 3, 5))[0]
    least = min_enclosing_ellipsoid(X, tol=1e-9).volume * thickness
    found = min_enclosing_ellipsoid(X * [1.0, 1.0, thickness] @ turn)
    assert distances(found, X * [1.0, 1.0, thickness] @ turn).max() <= 1.0
    assert found.lower_bound <= least * (1 + 1e-9) and least <= found.volume * (1 + 1e-9)
    assert (found.stop_reason == "gap") == (found.relative_gap <= 1e-6)


line = np.arange(6.0)
FLAT = {
    "one-point": [[1.0, 2.0]],
    "equal-points": np.full((5, 2), 0.1),
    "collinear": np.stack([line, 3 * line + 0.1], axis=1),
    "collinear-far-away": np.stack([line, 3 * line], axis=1) / 7 + 1e6,
    "constant-column": np.stack([line**2, np.full(6, 3.0)], axis=1),
    "plane": random_rows(20, 2) @ random_rows(2, 3, 1),
    "too-few": random_rows(3, 3),
    "all-but-flat": random_rows(20, 3) * [1, 1, 1e-10] @ np.linalg.qr(random_rows(3, 3))[0],
}


@pytest.mark.parametrize("name", FLAT)
def test_points_of_a_plane_are_refused_with_the_way_out(name):
    with pytest.raises(ValueError, match=r"span \d of \d dimensions.*leave out constant and dependent columns"):
        min_enclosing_ellipsoid(FLAT[name])


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        ([], {}, "shape"),
        ([1.0, 2.0], {}, "shape"),
        (np.empty((0, 3)), {}, "shape"),
        (np.empty((3, 0)), {}, "shape"),
        ([[0.0, np.nan], [1.0, 2.0]], {}, "NaN or infinity, first in row 0"),
        ([["a", "b"]], {}, "numbers"),
        (random_rows(9, 2) * [1.0, 1e200], {}, "column 1 of X extends over 2e.200"),
        (random_rows(9, 4) * 1e-140, {}, "volume, 1e-5.., is beyond double precision"),
        (random_rows(9, 2), {"tol": -1.0}, "tol=-1.0 must be"),
        (random_rows(9, 2), {"tol": np.nan}, "tol=nan must be"),
        (random_rows(9, 2), {"solver": "newton"}, "solver='newton' is unknown"),
        (random_rows(9, 2), {"solver": "cvm"}, "use solver='fcfw'"),
        (random_rows(9, 2), {"max_iter": 0}, "max_iter=0 must be"),
        (random_rows(9, 2), {"max_time": -1}, "max_time=-1 must be"),
    ],
)
def test_bad_input_is_refused(X, options, message):
    with pytest.raises(ValueError, match=message):
        min_enclosing_ellipsoid(X, **options)


def test_integers_and_single_precision_are_points_too():
    found = min_enclosing_ellipsoid([[0, 0], [2, 0], [0, 2], [2, 2]])
    assert found.volume == pytest.approx(2 * pi)
    assert min_enclosing_ellipsoid(random_rows(50, 2).astype(np.float32)).converged


@pytest.mark.parametrize("limit", [{"max_iter": 1}, {"max_time": 1e-6}])
def test_a_cut_run_is_an_ellipsoid_around_the_points_with_its_own_gap(limit):
    X = random_rows(5000, 6)
    with pytest.warns(ConvergenceWarning, match=f"min_enclosing_ellipsoid stopped by '{next(iter(limit))}'"):
        found = min_enclosing_ellipsoid(X, **limit)
    assert_holds(found, X)
    assert found.relative_gap > 1e-6
    assert found.lower_bound < min_enclosing_ellipsoid(X).lower_bound < found.volume


def test_a_gap_that_rounding_hides_ends_the_run():
    with pytest.warns(ConvergenceWarning, match="precision"):
        found = min_enclosing_ellipsoid(random_rows(100, 3), tol=0.0)
    assert 0 < found.relative_gap < 1e-10


def test_a_hundred_thousand_points_take_seconds():
    X = random_rows(100_000, 10)
    began = time.process_time()
    found = min_enclosing_ellipsoid(X)
    assert time.process_time() - began < 10.0
    assert found.relative_gap <= 1e-6
    assert_holds(found, X)


def test_results_are_frozen_and_show_themselves():
    found = min_enclosing_ellipsoid(random_rows(20, 2))
    with pytest.raises(FrozenInstanceError):
        found.volume = 0.0
    assert "volume" in repr(found) and "stop_reason: gap" in repr(found)
