"""The contract of every registered solver, on compiled kernel quadratics and on the same g in Python."""

import time

import numpy as np
import pytest

from swapsvm import ConvergenceWarning, maximize
from swapsvm.kernels import Linear, Poly, Rbf
from swapsvm.problems import Concave
from swapsvm.solvers import SOLVERS, make_solver

from .. import reference
from ..cases import ball, matrix, on_simplex, one_class, overlapping_rows, points, random_rows, svm
from ..walking import started, vertex, walk

# Frank-Wolfe has no better rate than O(1/k): it gets the gap that a few thousand moves reach.
TOLERANCES = {"fw": 2e-3, "block": 1e-11}  # block stops at primal minus dual, which is quadratic in the violations
TOLERANCE = 1e-10


SPHERE = np.abs(random_rows(15, 3)) / np.linalg.norm(random_rows(15, 3), axis=1)[:, None]
BALL = random_rows(20, 3)

CASES = {
    "svm-rbf": svm(overlapping_rows(12), 12, 10.0, Rbf(0.5)),
    "svm-poly": svm(overlapping_rows(12), 12, 1.0, Poly(0.5, 0.0, 2)),
    "minimum-norm": points(random_rows(20, 4) + 1.0),
    "minimum-norm-sphere": points(SPHERE),
    "enclosing-ball": points(BALL, (BALL**2).sum(axis=1)),
    "enclosing-ball-sphere": points(SPHERE, (SPHERE**2).sum(axis=1)),
    "one-class-rbf": one_class(random_rows(24, 3), 2.0, Rbf(0.5)),
    "one-class-weighted": one_class(random_rows(24, 3), 2.0, Rbf(0.5), 0.5 + random_rows(24, 1)[:, 0] ** 2),
    "ball-rbf": ball(random_rows(24, 3), 2.0, Rbf(0.5)),
    "ball-linear-weighted": ball(BALL, 2.0, Linear(), 0.5 + random_rows(20, 1)[:, 0] ** 2),
    "ball-poly": ball(random_rows(24, 3), 0.1, Poly(0.5, 1.0, 2)),
}

DEGENERATE = {
    "duplicates": svm(np.repeat(overlapping_rows(4), 3, axis=0), 12, 10.0, Rbf(0.5)),
    "duplicate-points": points(np.repeat(SPHERE, 3, axis=0)),
    "contradicting-duplicates": svm(np.tile(random_rows(5, 2), (2, 1)), 5, 100.0, Rbf(1.0)),
    "one-sample-per-class": svm(random_rows(2, 3), 1, 1.0, Rbf(0.5)),
    "one-sample-in-one-class": svm(overlapping_rows(5)[4:], 1, 10.0, Rbf(0.5)),
    "constant-kernel": svm(np.ones((8, 2)), 3, 1.0, Rbf(1.0)),
    "constant-kernel-large-C": svm(np.ones((8, 2)), 3, 1e9, Rbf(1.0)),
    "constant-matrix": matrix(np.ones((5, 5))),
    "zero-matrix": matrix(np.zeros((5, 5))),
    "two-variables": matrix([[2.0, -1.0], [-1.0, 2.0]]),
    "two-variables-best-vertex": matrix([[1.0, 2.0], [2.0, 5.0]]),
    "one-variable": matrix([[3.0]]),
    "one-class-one-point": one_class(random_rows(1, 2), 1.0, Rbf(1.0)),
    "one-class-equal-points": one_class(np.ones((8, 2)), 1.0, Rbf(1.0)),
    "ball-one-point": ball(random_rows(1, 2), 1.0, Rbf(1.0)),
    "ball-equal-points": ball(np.ones((8, 2)), 1.0, Linear()),
    "ball-equal-points-without-slack": ball(np.ones((8, 2)), np.inf, Linear()),
    "ball-of-value-zero": ball(np.array([[-1.0], [1.0]]), 0.5, Linear()),
}


def accepted(cases):
    """Every solver with every case that it supports: cvm needs a constant diagonal."""
    return [
        pytest.param(solver, name, id=f"{solver}-{name}")
        for solver in SOLVERS
        for name, case in cases.items()
        if solver != "cvm" or case.constant_diagonal
    ]


paths = pytest.mark.parametrize("path", ["compiled", "python"])
every_case = pytest.mark.parametrize(("solver", "name"), accepted(CASES))
some_cases = pytest.mark.parametrize(
    ("solver", "name"), accepted({name: CASES[name] for name in ("svm-rbf", "svm-poly", "enclosing-ball")})
)
every_degenerate_case = pytest.mark.parametrize(("solver", "name"), accepted(DEGENERATE))


def gap_for(solver, case):
    """An absolute gap in proportion to the optimal value: the two paths have different relative ones."""
    return TOLERANCES.get(solver, TOLERANCE) * abs(case.best)


def solved(solver, case, path, **options):
    """A run from the first vertex, so that the solver does the work and not the start."""
    options = {"tol": 0.0, "eps": gap_for(solver, case), "start": vertex(len(case.Q)), "max_time": 10.0} | options
    return maximize(case.by(path), solver, **options)


@paths
@every_case
def test_every_iterate_is_on_the_simplex_and_the_value_never_falls(solver, name, path):
    case = CASES[name]
    state = started(case.by(path), vertex(len(case.Q)))
    rounding = 1e-13 * np.abs(case.Q).max()
    value, moves = state.value, 0
    for step in walk(state, solver, 300, eps=gap_for(solver, case)):
        assert on_simplex(step.after)
        exact = reference.value(case.Q, step.after, case.c)
        assert exact >= value - rounding
        assert step.value == pytest.approx(exact, abs=10 * rounding)
        value, moves = exact, moves + 1
    assert moves >= (1 if solver == "block" else 3)  # a block can hold all of a small problem


@paths
@every_case
def test_reaches_the_gap_and_agrees_with_the_quadratic_program(solver, name, path):
    case = CASES[name]
    result = solved(solver, case, path)
    assert result.converged
    assert result.gap <= gap_for(solver, case)
    assert on_simplex(result.weights)
    simplex = reference.gap(case.Q, result.weights, case.c)
    assert simplex - 1e-13 <= result.simplex_gap <= simplex + 1e-11  # a certificate adds a bound on its own rounding
    if path == "python":
        assert result.gap == result.simplex_gap
        return
    primal = reference.primal_gap(case.Q, result.weights, case.problem.ridge, case.c, case.problem.scales)
    assert primal - 1e-12 <= result.primal_gap <= primal + 1e-11
    assert result.gap == (result.primal_gap if solver == "block" else result.simplex_gap)
    assert result.value == pytest.approx(case.best, abs=result.gap + 1e-12 if solver == "fw" else 1e-6)


@paths
@pytest.mark.parametrize(("solver", "name"), [p for p in accepted(CASES) if p.values[1].startswith("svm")])
def test_decision_values_agree_with_the_quadratic_program(solver, name, path):
    case = CASES[name]
    exact = reference.exact_weights(case.Q)
    expected = reference.decision_values(case.K, case.y, exact, -reference.value(case.Q, exact))
    result = solved(solver, case, path)
    model = case.problem.model(result.weights, result.value)
    decisions = case.K[:, model.rows] @ model.coef + model.intercept
    np.testing.assert_allclose(decisions, expected, rtol=0, atol=3e-2 if solver == "fw" else 1e-6)


@paths
@some_cases
def test_the_same_random_state_gives_the_same_run(solver, name, path):
    case = CASES[name]
    options = {"start": None, "start_size": 3, "random_state": 7, "eps": 10 * gap_for(solver, case)}
    first, second = (solved(solver, case, path, **options) for _ in range(2))
    assert first.iterations > 1
    np.testing.assert_array_equal(first.weights, second.weights)
    assert (first.iterations, first.value, first.gap) == (second.iterations, second.value, second.gap)


@paths
@some_cases
def test_a_warm_start_continues(solver, name, path):
    case = CASES[name]
    first = 1 if solver == "block" else 4  # a block can hold all of a small problem
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        part = solved(solver, case, path, max_iter=first)
    assert part.iterations == first
    rest = solved(solver, case, path, start=part.weights)
    assert rest.converged
    assert rest.trace.array()["value"][0] == pytest.approx(part.value, rel=1e-12)
    assert rest.value > part.value
    again = solved(solver, case, path, start=rest.weights)
    assert again.iterations == 1  # the start itself
    np.testing.assert_allclose(again.weights, rest.weights, rtol=1e-12)


@paths
@every_degenerate_case
def test_survives_degenerate_problems(solver, name, path):
    case = DEGENERATE[name]
    eps = 1e-3 if solver == "fw" else 1e-8  # absolute: some of these values are zero
    result = solved(solver, case, path, eps=eps)
    assert result.converged
    assert on_simplex(result.weights)
    by_primal = solver == "block" and path == "compiled"
    gap = result.simplex_gap if by_primal else reference.gap(case.Q, result.weights, case.c)
    assert by_primal or gap <= eps
    assert gap == pytest.approx(reference.gap(case.Q, result.weights, case.c), abs=1e-9)
    assert result.value == pytest.approx(case.best, abs=eps + 1e-12 if solver == "fw" else 1e-6)


@paths
@every_degenerate_case
def test_survives_degenerate_problems_from_a_random_start(solver, name, path):
    case = DEGENERATE[name]
    result = solved(solver, case, path, start=None, start_size=2, eps=1e-3)
    assert result.converged
    assert on_simplex(result.weights)


def contradicting(C):
    """Rows of both classes, twice as often in the first: the larger C, the worse conditioned."""
    X = random_rows(4, 2)
    return svm(np.concatenate([np.repeat(X, 2, axis=0), X]), 8, C, Rbf(1.0))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_limit_of_seconds_is_kept(solver):
    assert_limit_kept(contradicting(1e6), solver, start=vertex(12))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_limit_of_seconds_is_kept_by_the_start():
    assert_limit_kept(contradicting(1e5), "swap2", start=None)


def assert_limit_kept(case, solver, start):
    began = time.perf_counter()
    result = maximize(case.problem, solver, tol=1e-6, max_time=0.1, start=start)
    assert time.perf_counter() - began < 1.0
    assert result.stop_reason in ("gap", "max_time")
    assert on_simplex(result.weights)


@paths
@pytest.mark.parametrize("name", ["svm-poly", "minimum-norm", "enclosing-ball"])
def test_core_vector_refuses_a_diagonal_that_is_not_constant(name, path):
    with pytest.raises(ValueError, match=r"solver='cvm' .* diagonal .* ranges from .* solver='fcfw'"):
        solved("cvm", CASES[name], path)


def test_core_vector_refuses_a_function_whose_diagonal_is_unknown():
    g = Concave(value=lambda a: -a @ a, gradient=lambda a: -2 * a, size=3)
    with pytest.raises(ValueError, match=r"diagonal .* hessian"):
        maximize(g, "cvm")


@paths
def test_core_vector_is_fully_corrective_where_it_applies(path):
    cvm, fcfw = (solved(solver, CASES["svm-rbf"], path) for solver in ("cvm", "fcfw"))
    np.testing.assert_array_equal(cvm.weights, fcfw.weights)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_paths_end_at_the_same_point(solver):
    case = CASES["svm-rbf"]
    compiled, python = (solved(solver, case, path) for path in ("compiled", "python"))
    np.testing.assert_allclose(compiled.weights, python.weights, atol=1e-6)


def test_an_unknown_solver_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"solver='newton' is unknown: use one of .*'fw'.*'swap2'"):
        make_solver("newton")
