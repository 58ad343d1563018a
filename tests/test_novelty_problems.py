"""The one-class problem and the ball against closed forms, and their gaps against primal minus dual."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swapsvm import Gram, maximize
from swapsvm.kernels import Linear, Poly, Rbf
from swapsvm.problems import Ball, OneClass
from swapsvm.solvers import SOLVERS

from . import reference
from .cases import ball, one_class, random_rows

REGULAR_SIMPLEX = np.eye(5)
EXACT = [solver for solver in SOLVERS if solver != "fw"]


def enclosing(X, solver="swap2", C=np.inf, **options):
    problem = Ball.of(Gram(Linear(), X), C)
    result = maximize(problem, solver, **{"tol": 1e-12, "max_time": 20.0} | options)
    return result, problem.model(result.weights, result.value, result.gap)


@pytest.mark.parametrize("C", [0.1, 1.0, 1e3, np.inf])
@pytest.mark.parametrize("solver", EXACT)
def test_the_ball_of_two_points_has_them_as_diameter(solver, C):
    X = np.array([[1.0, 1.0], [4.0, 5.0]])
    if solver == "cvm":  # |x|^2 is not the same for both
        X -= X.mean(axis=0)
    _, sphere = enclosing(X, solver, C, tol=0.0, eps=1e-11)
    np.testing.assert_allclose(sphere.coef @ X[sphere.rows], X.mean(axis=0), atol=1e-9)
    assert sphere.squared_radius == pytest.approx(6.25, rel=1e-9)


@pytest.mark.parametrize("C", [0.1, 1.0, 1e3, np.inf])
@pytest.mark.parametrize("solver", EXACT)
def test_the_ball_of_a_regular_simplex_has_its_circumradius(solver, C):
    result, sphere = enclosing(REGULAR_SIMPLEX, solver, C, tol=0.0, eps=1e-12, start=np.eye(5)[0])
    np.testing.assert_allclose(result.weights, 0.2, atol=1e-6)
    assert sphere.squared_radius == pytest.approx(0.8, rel=1e-9)
    assert sphere.squared_norm == pytest.approx(0.2, rel=1e-9)


@pytest.mark.parametrize("solver", EXACT)
def test_the_ball_of_points_on_a_sphere_is_that_sphere(solver):
    X = random_rows(60, 3)
    X /= np.linalg.norm(X, axis=1)[:, None]
    X[30:] = -X[:30]  # the centre is inside their hull
    result, sphere = enclosing(X, solver, tol=1e-9)
    assert result.converged
    assert result.value <= 1.0 + 1e-12
    assert result.value + result.gap >= 1.0 - 1e-12
    np.testing.assert_allclose(sphere.coef @ X[sphere.rows], 0.0, atol=1e-4)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**31), st.integers(1, 4), st.sampled_from([1.0, 1e-3, 1e3]))
def test_bounds_of_the_radius_hold(seed, features, unit):
    X = unit * random_rows(40, features, seed)
    result, sphere = enclosing(X, "block", tol=1e-3)
    distances = np.linalg.norm(X - sphere.coef @ X[sphere.rows], axis=1)
    assert sphere.squared_radius == pytest.approx(result.value + result.gap, rel=1e-12)
    assert distances.max() ** 2 == pytest.approx(sphere.squared_radius, rel=1e-9)  # encloses every point


def primal_one_class(K, a, C, s):
    """|w|^2 - 2 rho + C sum s xi^2 at w = sum a phi, xi = a / (C s), rho the largest feasible."""
    xi = a / (C * s)
    rho = (K @ a + xi).min()
    return a @ K @ a - 2 * rho + C * (s * xi**2).sum()


def primal_ball(K, a, C, s):
    """r + C/4 sum s xi^2 at c = sum a phi, xi = 2a / (C s), r the smallest feasible."""
    xi = 2 * a / (C * s)
    r = (np.diag(K) - 2 * K @ a + a @ K @ a - xi).max()
    return r + C / 4 * (s * xi**2).sum()


@settings(deadline=None, max_examples=50)
@given(
    st.integers(0, 2**31), st.floats(1e-3, 1e3), st.booleans(), st.sampled_from([Rbf(0.5), Linear(), Poly(1.0, 1.0, 2)])
)
def test_the_gap_is_primal_minus_dual(seed, C, is_ball, kernel):
    X, s = random_rows(15, 2, seed), np.random.default_rng(seed).uniform(0.5, 3.0, 15)
    case = (ball if is_ball else one_class)(X, C, kernel, s)
    result = maximize(case.problem, "swap", tol=0.05)
    primal = (primal_ball if is_ball else primal_one_class)(case.K, result.weights, C, s)
    scale = np.abs(case.Q).max()
    assert primal - result.value == pytest.approx(result.gap, abs=1e-12 * scale)
    assert case.best <= primal + 1e-9 * scale


@pytest.mark.parametrize("of", [one_class, ball])
def test_a_row_of_weight_three_is_three_rows(of):
    X, s = random_rows(12, 2), np.tile([1.0, 2.0, 3.0], 4)
    weighted = of(X, 2.0, Poly(1.0, 1.0, 2), s)
    repeated = of(np.repeat(X, s.astype(int), axis=0), 2.0, Poly(1.0, 1.0, 2))
    assert weighted.best == pytest.approx(repeated.best, rel=1e-9)
    merged = np.add.reduceat(reference.exact_weights(repeated.Q, repeated.c), np.cumsum(s).astype(int) - s.astype(int))
    np.testing.assert_allclose(reference.exact_weights(weighted.Q, weighted.c), merged, atol=1e-7)


def test_with_a_constant_diagonal_ball_and_one_class_have_the_same_weights():
    X = random_rows(40, 2)
    gram = Gram(Rbf(1.0), X)
    plane, sphere = (maximize(of(gram, 0.3), "swap2", tol=1e-12) for of in (OneClass.of, Ball.of))
    np.testing.assert_allclose(plane.weights, sphere.weights, atol=1e-7)
    assert sphere.value == pytest.approx(1.0 + plane.value, rel=1e-9)


def test_the_level_is_the_mean_score_of_the_support():
    case = one_class(random_rows(30, 2), 0.5, Rbf(1.0))
    result = maximize(case.problem, "swap2", tol=1e-10)
    model = case.problem.model(result.weights, result.value, result.gap)
    assert -model.intercept == pytest.approx(result.weights @ case.K @ result.weights, rel=1e-9)


@pytest.mark.parametrize("solver", EXACT)
def test_a_ball_whose_value_is_zero_ends_by_its_gap(solver):
    result, sphere = enclosing(np.array([[-1.0], [1.0]]), solver, C=0.5, tol=1e-9, start=np.array([0.9, 0.1]))
    assert result.converged
    assert abs(result.value) <= 1e-9
    assert sphere.squared_radius == pytest.approx(1.0, rel=1e-6)


def test_a_ball_far_from_the_origin_is_certified():
    X = random_rows(2000, 3) + 1e4
    result, sphere = enclosing(X, "block", tol=1e-3)
    assert result.converged
    assert result.relative_gap <= 1e-3
    distances = np.linalg.norm(X - sphere.coef @ X[sphere.rows], axis=1)
    assert result.value * (1 - 1e-6) <= distances.max() ** 2 <= result.value + result.gap
