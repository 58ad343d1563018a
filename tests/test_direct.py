"""The direct step: against an exact QP, in exact arithmetic, and on problems that take minutes with swaps."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from qpsolvers import solve_qp

from swapsvm import SVC, SVDD, SVR, ConvergenceWarning, Gram, OneClassSVM
from swapsvm.kernels import Linear, Rbf
from swapsvm.problems import L2SVC, L2SVR, Quadratic
from swapsvm.problems.quadratic import Program
from swapsvm.run import Run
from swapsvm.solvers import make_solver
from swapsvm.solvers.direct import LARGEST, direct_step, solve_directly
from swapsvm.state import open_state
from swapsvm.stopping import make_stop

from . import reference
from .cases import ball, matrix, one_class, overlapping_rows, points, random_rows, svm


def contradicting(n, seed=0):
    """Every row with both labels."""
    X = random_rows(n, 2, seed)
    return np.concatenate([X, X]), np.repeat([0, 1], n)


def vertex_state(problem):
    """A state that has all weight on the first vertex."""
    state = open_state(problem)
    state.set_weights(np.array([0]), np.array([1.0]))
    return state


def exact_gap(Q, x, c=None):
    """2 (x'h - min h) of h = Qx - c/2 in rational arithmetic, relative to |x'Qx - c'x|."""
    a = [Fraction(float(v)) for v in x]
    total = sum(a)
    a = [v / total for v in a]
    h = [sum(Fraction(float(q)) * v for q, v in zip(row, a, strict=True)) for row in Q]
    score = [v - (0 if c is None else Fraction(float(c[k])) / 2) for k, v in enumerate(h)]
    mean = sum(u * v for u, v in zip(a, score, strict=True))
    value = sum(u * (v + w) for u, v, w in zip(a, h, score, strict=True)) / 2
    return float(2 * (mean - min(score))), abs(float(value))


CASES = {
    "svm": svm(overlapping_rows(12), 12, 10.0, Rbf(0.5)),
    "svm-large-C": svm(overlapping_rows(12), 12, 1e9, Rbf(0.5)),
    "svm-weights": svm(overlapping_rows(12), 12, 1.0, Rbf(0.5), 10.0 ** np.linspace(-6, 6, 24)),
    "contradicting": svm(np.tile(random_rows(5, 2), (2, 1)), 5, 1e6, Rbf(1.0)),
    "duplicates": svm(np.repeat(overlapping_rows(4), 3, axis=0), 12, 1e6, Rbf(0.5)),
    "one-class": one_class(random_rows(24, 3), 2.0, Rbf(0.5)),
    "ball": ball(random_rows(20, 3), 2.0, Linear()),
    "minimum-norm": points(random_rows(20, 4) + 1.0),
    "enclosing-ball": points(random_rows(20, 3), (random_rows(20, 3) ** 2).sum(axis=1)),
    "constant-matrix": matrix(np.ones((5, 5))),
    "best-vertex": matrix([[1.0, 2.0], [2.0, 5.0]]),
    "one-variable": matrix([[3.0]]),
}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_quadratic_program(name):
    case = CASES[name]
    state = vertex_state(case.problem)
    step = direct_step(state)
    if not step.empty:
        state.move(step)
    state.certify()
    assert state.weights.min() >= 0 and state.weights.sum() == pytest.approx(1.0, abs=1e-15)
    assert state.gap == pytest.approx(reference.gap(case.Q, state.weights, case.c), abs=1e-13 * np.abs(case.Q).max())
    assert state.gap <= 1e-13 * np.abs(case.Q).max()
    assert state.value == pytest.approx(case.best, abs=1e-8 * np.abs(case.Q).max())


@settings(deadline=None, max_examples=80)
@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 9),
    rank=st.integers(1, 9),
    ridge=st.integers(-14, 6),
    linear=st.booleans(),
)
def test_the_gap_holds_in_exact_arithmetic(seed, size, rank, ridge, linear):
    rng = np.random.default_rng(seed)
    Z = rng.integers(-4, 5, size=(size, rank)).astype(float)  # equal, opposite and zero rows, and exact Q
    Q = Z @ Z.T + np.diag(10.0 ** (ridge + rng.integers(-2, 3, size)))
    c = rng.normal(size=size) if linear else None
    program = Program(Q, np.zeros(size) if c is None else c / 2, np.zeros(size))
    found = solve_directly(program, rng.dirichlet(np.ones(size)))
    gap, value = exact_gap(Q, found.x, c)
    assert found.solved
    assert found.x.min() >= 0 and found.x.sum() == pytest.approx(1.0, abs=1e-15)
    assert gap <= 1e-12 * value + 1e-14 * ((Z @ Z.T).max(initial=1.0) + np.abs(c if linear else 0).max())


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), C=st.integers(-3, 5), epsilon=st.sampled_from([0.0, 0.1, 1.0]))
def test_regression_agrees_with_the_quadratic_program(seed, C, epsilon):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 2)), rng.normal(size=8)
    problem = L2SVR.of(Gram(Rbf(0.7), X), y, 10.0**C, epsilon)
    state = open_state(problem)
    state.set_weights(np.array([problem.size - 1]), np.array([1.0]))
    step = direct_step(state)
    if not step.empty:
        state.move(step)
    state.certify()
    K = reference.kernel_values(Rbf(0.7), X) + 1.0
    Q = np.block([[K, -K], [-K, K]]) + np.eye(16) / 10.0**C
    c = np.concatenate([y, -y]) - epsilon
    exact = solve_qp(sp.csc_matrix(Q), -c, lb=np.zeros(16), solver="clarabel", tol_gap_abs=1e-12, tol_gap_rel=1e-12)
    assert state.value == pytest.approx(c @ exact - exact @ Q @ exact / 2, rel=1e-6, abs=1e-9)
    assert state.gap - state.gap_rounding <= 1e-12 * max(state.value, 1e-30)


@pytest.mark.parametrize("C", [1.0, 1e3, 1e6])
def test_a_learned_tube_is_solved_within_its_radius(C):
    X = random_rows(30, 2)
    problem = L2SVR.of(Gram(Rbf(0.5), X), np.sin(X[:, 0]), C, None)
    state = open_state(problem)
    state.set_weights(np.array([problem.size - 1]), np.array([problem.radius]))
    state.move(direct_step(state))
    state.certify()
    assert state.weights.sum() == pytest.approx(problem.radius, rel=1e-12)
    assert state.gap - state.gap_rounding <= 1e-7 * state.value


def test_a_kernel_that_is_not_semidefinite_is_left_to_others():
    state = vertex_state(Quadratic.of_matrix([[0.0, 2.0], [2.0, 0.0]]))
    step = direct_step(state)
    assert step is None or step.empty


@pytest.mark.parametrize("seed", range(5))
def test_the_point_found_is_never_worse_than_the_start(seed):
    rng = np.random.default_rng(seed)
    Q = rng.normal(size=(30, 30))
    program = Program(Q + Q.T + 2 * np.eye(30), np.zeros(30), np.zeros(30))  # indefinite
    start = program.candidate(rng.dirichlet(np.ones(30)))
    found = solve_directly(program, start.x)
    assert found.gap <= start.gap * (1 + 1e-12) and found.value >= start.value - 1e-12
    assert found.x.min() >= 0 and found.x.sum() == pytest.approx(1.0)


# ---- fits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [60, 200])
def test_contradicting_rows_at_large_C_take_a_few_steps(n):
    model = SVC(C=1e7, max_time=10).fit(*contradicting(n))
    assert model.stop_reason_ == "gap" and model.relative_gap_ <= 1e-3
    assert model.n_iter_[0] <= 10
    np.testing.assert_allclose(model.results_[0].weights, 1 / (2 * n), rtol=1e-4)


ILL = {
    "svc-noisy": lambda X, t: SVC(C=1e9).fit(X, t > 0),
    "svc-weights": lambda X, t: SVC(C=1e3).fit(X, t > 0, 10.0 ** np.linspace(-6, 6, len(X))),
    "svc-linear": lambda X, t: SVC(C=1e6, kernel="linear").fit(X, t > 0),
    "svr": lambda X, t: SVR(C=1e6).fit(X, t),
    "svr-linear": lambda X, t: SVR(C=1e6, kernel="linear").fit(X, t),
    "svr-learned": lambda X, t: SVR(C=1e4, epsilon="auto").fit(X, t),
    "one-class": lambda X, t: OneClassSVM(slack=1e-7, gamma=1e-3, tol=1e-8).fit(X),
    "svdd": lambda X, t: SVDD(slack=1e-7, gamma=1e-3, tol=1e-8).fit(X),
}


@pytest.mark.parametrize("name", ILL)
def test_ill_conditioned_fits_reach_the_gap_in_a_few_steps(name):
    X = random_rows(200, 3)
    model = ILL[name](X, X[:, 0] + 0.5 * random_rows(200, 1, seed=1)[:, 0])
    assert model.stop_reason_ == "gap"
    assert np.max(model.n_iter_) <= 10


def test_easy_problems_do_without_it():
    X = random_rows(200, 3)
    model = SVC().fit(X, X[:, 0] > 0)
    assert 1e-6 < model.relative_gap_ <= 1e-2


def test_larger_problems_do_without_it(monkeypatch):
    monkeypatch.setattr("swapsvm.solvers.block.direct_step", lambda state: pytest.fail("too many variables"))
    X, y = random_rows(LARGEST + 1, 3), random_rows(LARGEST + 1, 1, seed=1)[:, 0] > 0
    assert SVC(C=1e6).fit(X, y).relative_gap_ <= 1e-3


@pytest.mark.parametrize("cut", [3, 6])
def test_a_fit_that_is_continued_takes_the_same_steps(cut):
    X, y = contradicting(100)
    part = SVC(C=1e5, tol=1e-5, max_iter=cut, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        part.fit(X, y)
    part.set_params(max_iter=-1).fit(X, y)
    whole = SVC(C=1e5, tol=1e-5).fit(X, y)
    np.testing.assert_array_equal(part.dual_coef_, whole.dual_coef_)
    np.testing.assert_array_equal(part.trace_["gap"], whole.trace_["gap"])


@pytest.mark.parametrize(("n", "seed"), [(5, 0), (35, 1), (35, 2), (41, 2), (60, 0)])
def test_the_reason_of_a_polished_run_follows_its_certificate(n, seed):
    """From the solution, with a tol a little above its gap, where polishing finds nothing better."""
    X, y = contradicting(n, seed)
    problem = L2SVC.of(Gram(Rbf(1e-4), X, groups=[np.flatnonzero(y == c) for c in (0, 1)]), 1, 0, 1e11)

    def finished(tol, exact_below):
        run = Run(open_state(problem), make_solver("block"), make_stop(tol, 0.0, 3, None))
        run.begin(np.full(2 * n, 0.5 / n), 20, np.random.default_rng(0))
        return run.finish(exact_below)

    tol = 1.0001 * finished(1.0, 0).relative_gap
    result = finished(tol, 128)
    assert result.converged == (result.relative_gap <= tol)
    assert result.relative_gap <= finished(tol, 0).relative_gap


def test_time_that_is_up_ends_the_direct_step_with_the_best_point_so_far():
    Z = random_rows(200, 3)
    program = Program(Z @ Z.T, (Z**2).sum(axis=1) / 2, np.zeros(200))  # dependent rows: many rounds
    asked = []
    start = program.candidate(np.ones(200))
    found = solve_directly(program, start.x, lambda: asked.append(1) or len(asked) > 3)
    assert len(asked) <= 6 and not found.solved
    assert found.gap <= start.gap and found.value >= start.value - 1e-12
