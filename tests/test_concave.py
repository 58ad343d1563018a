"""A user's own g: gradients from automatic differentiation, domains, budgets, and the result as SciPy's type."""

import time

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, OptimizeResult, minimize

from swapsvm import ConvergenceWarning, maximize
from swapsvm.problems import Concave, Quadratic
from swapsvm.solvers import SOLVERS

TAKEN = [solver for solver in SOLVERS if solver != "cvm"]
RETURNS = np.random.default_rng(0).lognormal(0.0, 0.1, size=(300, 6))
DENSITIES = np.exp(-((np.random.default_rng(1).normal(size=(200, 1)) - np.linspace(-2, 2, 5)) ** 2))


def growth(a):
    return np.log(RETURNS @ a).mean()


def growth_gradient(a):
    return (RETURNS / (RETURNS @ a)[:, None]).mean(axis=0)


def log_of(matrix):
    return Concave(
        lambda a: np.log(matrix @ a).mean(), lambda a: (matrix / (matrix @ a)[:, None]).mean(0), matrix.shape[1]
    )


@pytest.mark.parametrize("matrix", [RETURNS, DENSITIES], ids=["portfolio", "mixture"])
@pytest.mark.parametrize("solver", TAKEN)
def test_sums_of_logarithms_agree_with_scipy(solver, matrix):
    m, tol = matrix.shape[1], 1e-4 if solver == "fw" else 1e-9
    result = maximize(log_of(matrix), solver, tol=tol, max_time=20)
    scipys = minimize(
        lambda a: -np.log(matrix @ a).mean(),
        np.full(m, 1 / m),
        jac=lambda a: -(matrix / (matrix @ a)[:, None]).mean(0),
        method="trust-constr",
        bounds=[(0, 1)] * m,
        constraints=LinearConstraint(np.ones(m), 1, 1),
        options={"gtol": 1e-10, "xtol": 1e-12},
    )
    assert result.converged
    assert -scipys.fun <= result.value + result.gap + 1e-12
    assert result.value == pytest.approx(-scipys.fun, abs=1e-5 if solver == "fw" else 1e-7)


def test_the_gradient_may_come_from_automatic_differentiation():
    autograd = pytest.importorskip("autograd")
    from autograd import numpy as differentiable

    def value(a):
        return differentiable.mean(differentiable.log(differentiable.dot(RETURNS, a)))

    found = maximize(Concave(value, autograd.grad(value), 6), tol=1e-9)
    by_hand = maximize(Concave(growth, growth_gradient, 6), tol=1e-9)
    assert found.converged
    np.testing.assert_allclose(found.weights, by_hand.weights, atol=1e-7)


class Foreign:
    """An array of another library: it must only convert to NumPy's."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype=dtype)


def test_arrays_of_other_libraries_are_taken():
    problem = Concave(growth, lambda a: Foreign(growth_gradient(a)), 6)
    assert maximize(problem, tol=1e-9).converged


@pytest.mark.parametrize("narrow", [np.float32, np.float16])
def test_single_precision_is_no_certificate(narrow):
    with pytest.raises(ValueError, match=r"gradient\(a\) is of type float.* needs double precision.*jax_enable_x64"):
        maximize(Concave(growth, lambda a: growth_gradient(a).astype(narrow), 6))
    with pytest.raises(ValueError, match=r"value\(a\) is of type float.* needs double precision"):
        maximize(Concave(lambda a: narrow(growth(a)), growth_gradient, 6))


def test_a_value_is_one_number():
    with pytest.raises(ValueError, match=r"value\(a\) must be a number; got shape \(1,\)"):
        maximize(Concave(lambda a: np.ones(1), np.zeros_like, 3))


def test_integers_are_exact():
    linear = Concave(lambda a: 1, lambda a: np.zeros(3, dtype=int), 3)
    assert maximize(linear).converged


def test_a_start_outside_of_the_domain_is_refused_with_the_way_out():
    """log a_i of every i: finite only in the interior of the simplex."""
    barrier = Concave(lambda a: np.log(a).sum(), lambda a: 1 / a, 30)
    with np.errstate(divide="ignore"), pytest.raises(ValueError, match=r"pass start=, a point inside"):
        maximize(barrier)
    result = maximize(barrier, "swap", tol=1e-9, start=np.arange(1.0, 31.0))
    np.testing.assert_allclose(result.weights, 1 / 30, rtol=1e-4)


@pytest.mark.parametrize("solver", ["fw", "mfw", "swap", "swap2", "fcfw", "block"])
def test_trial_points_at_the_edge_of_the_domain_may_give_anything(solver):
    """The inverse of a matrix that is singular up to rounding is noise, which says nothing about g."""
    Z = np.random.default_rng(3).normal(size=(40, 3))

    def moments(a):
        return Z.T @ (a[:, None] * Z)

    problem = Concave(
        lambda a: np.linalg.slogdet(moments(a))[1],
        lambda a: np.einsum("ij,ij->i", Z @ np.linalg.inv(moments(a)), Z),
        40,
    )
    result = maximize(problem, solver, tol=1e-3, max_time=20)
    assert result.converged
    assert result.gap == pytest.approx(problem.gradient(result.weights).max() - 3, abs=1e-9)


@pytest.mark.parametrize("solver", TAKEN)
def test_a_slow_function_ends_in_time(solver):
    """Also within the start and within a corrective step."""

    def slow(function):
        def slowly(a):
            time.sleep(0.002)
            return function(a)

        return slowly

    problem = Concave(slow(growth), slow(growth_gradient), 6)
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        result = maximize(problem, solver, tol=1e-12, max_time=0.05)
    assert time.perf_counter() - began < 1.0
    assert result.gap == pytest.approx(growth_gradient(result.weights).max() - 1, abs=1e-12)


def test_the_result_as_scipy_has_it():
    result = maximize(Concave(growth, growth_gradient, 6), tol=1e-9)
    seen = result.as_optimize_result()
    assert isinstance(seen, OptimizeResult)
    assert seen.success and seen.status == 0
    assert seen.fun == -growth(seen.x)  # SciPy minimizes
    np.testing.assert_array_equal(seen.x, result.weights)
    assert (seen.nit, seen.nfev, seen.gap) == (result.iterations, result.evaluations, result.gap)
    assert "'gap'" in seen.message


def test_the_result_as_scipy_has_it_says_what_was_not_reached():
    with pytest.warns(ConvergenceWarning):
        seen = maximize(Quadratic.of_matrix(np.eye(50)), "fw", tol=1e-9, max_iter=2).as_optimize_result()
    assert not seen.success and seen.status == 1
    assert "max_iter" in seen.message
    assert seen.fun - seen.gap <= 1 / 50 <= seen.fun
