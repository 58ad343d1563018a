"""The theorems of [SWAP14] and of the geometry behind it, as tests on random problems."""

from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swapsvm import maximize
from swapsvm.kernels import Laplacian, Linear, Poly, Rbf
from swapsvm.problems.hull import PointHull
from swapsvm.solvers import SOLVERS, make_solver
from swapsvm.state.hull import HullState

from . import reference
from .cases import matrix, on_simplex, overlapping_rows, points, random_rows, svm
from .walking import as_concave, started, vertex, walk

COMPILED = [name for name, solver in SOLVERS.items() if solver.compiled]
LINEAR_RATE = ["mfw", "swap", "swap2"]

quickly = settings(deadline=None, max_examples=60)
every_compiled = pytest.mark.parametrize("solver", COMPILED)


@st.composite
def svm_cases(draw, largest_C=1e9):
    """L2-SVMs of 2 to 24 rows: duplicates, constant kernels, one row per class and C from 1e-6 on."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = draw(st.sampled_from(["all different", "duplicates", "all equal", "one per class"]))
    m = 2 if rows == "one per class" else draw(st.integers(2, 24))
    X = rng.normal(size=(m, draw(st.integers(1, 5))))
    if rows == "duplicates":
        X = X[rng.integers(0, -(-m // 3), size=m)]
    elif rows == "all equal":
        X[:] = X[0]
    kernel = draw(st.sampled_from([Linear(), Rbf(0.5), Poly(1.0, 0.0, 2), Laplacian(1.0)]))
    return svm(X, draw(st.integers(1, m - 1)), 10.0 ** draw(st.floats(-6, np.log10(largest_C))), kernel)


@st.composite
def point_cases(draw):
    """Minimum norm problems, without ridge: the origin inside or outside, points of different lengths."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, d = draw(st.integers(2, 12)), draw(st.integers(1, 6))
    Z = rng.normal(size=(m, d)) * 10.0 ** rng.uniform(-1, 1, size=(m, 1))
    return points(Z + draw(st.sampled_from([0.0, 3.0, 10.0])) * rng.normal(size=d))


cases = st.one_of(svm_cases(), point_cases())


@st.composite
def states(draw, of=cases):
    """A problem, and its state at random weights on some of its vertices."""
    case = draw(of)
    m = len(case.Q)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    active = rng.choice(m, size=draw(st.integers(1, m)), replace=False)
    start = np.zeros(m)
    start[active] = rng.dirichlet(np.ones(len(active)))
    return case, started(case.problem, start)


# ---- value, simplex, gap ----------------------------------------------------------------------------------------


@every_compiled
@quickly
@given(start=states())
def test_the_value_never_falls_and_the_weights_stay_on_the_simplex(solver, start):
    case, state = start
    rounding = 1e-14 * len(case.Q) * np.abs(case.Q).max()
    for step in walk(state, solver, 60):
        assert on_simplex(step.after)
        assert reference.value(case.Q, step.after) >= reference.value(case.Q, step.before) - rounding


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_compiled
@quickly
@given(case=cases)
def test_the_reported_gap_is_the_gap(solver, case):
    assert_gap_recomputed(case, maximize(case.problem, solver, tol=1e-6, max_iter=300, start=vertex(len(case.Q))))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@quickly
@given(case=st.one_of(svm_cases(largest_C=1e2), point_cases()), seed=st.integers(0, 2**32 - 1))
def test_the_reported_gap_is_the_gap_after_corrective_steps(case, seed):
    result = maximize(case.problem, "fcfw", tol=1e-6, max_iter=300, start_size=3, random_state=seed)
    assert_gap_recomputed(case, result)


def assert_gap_recomputed(case, result):
    rounding = 1e-14 * len(case.Q) * np.abs(case.Q).max()
    assert on_simplex(result.weights)
    assert result.value == pytest.approx(reference.value(case.Q, result.weights), abs=rounding)
    recomputed = reference.gap(case.Q, result.weights)
    assert recomputed - 2 * rounding <= result.gap <= recomputed + 20 * rounding  # a bound on its own rounding is in it
    assert (result.stop_reason == "gap") == (result.gap <= 1e-6 * abs(result.value))


@quickly
@given(case=svm_cases())
def test_the_gap_bounds_the_distance_to_the_optimal_value(case):
    state = started(case.problem, vertex(len(case.Q)))
    rounding = 1e-9 * np.abs(case.Q).max()  # of the reference
    for step in walk(state, "swap", 10):
        assert case.best - reference.value(case.Q, step.after) <= step.gap + rounding


# ---- gain of a step ---------------------------------------------------------------------------------------------


def gain_of(Q, step):
    """g(after) - g(before) without the cancellation: grad'd - d'Qd, sum d = 0."""
    d = step.after - step.before
    slope = reference.gradient(Q, step.before)
    return (slope - step.before @ slope) @ d - d @ Q @ d


def delta_of(Q, step):
    """max(2 sqrt(L d), 2 d), d the gain of the step."""
    gain = max(gain_of(Q, step), 0.0)
    return max(2 * np.sqrt(reference.lipschitz(Q) * gain), 2 * gain)


def lowest_active(Q, a):
    """a'grad - min over active j of grad_j."""
    slope = reference.gradient(Q, a)
    return float(a @ slope - slope[a > 0].min())


def steps_above_rounding(case, state):
    for step in walk(state, "swap", 80):
        if reference.gap(case.Q, step.before) <= 1e-7 * reference.lipschitz(case.Q):
            return
        if step.kind != "swap-drop":
            yield step


@quickly
@given(start=states())
def test_a_toward_or_swap_add_step_gains_enough_for_the_gap_it_started_from(start):
    # [SWAP14] Eqn. (bound_weak). "After the iteration" in its Lemma means alpha_k, from which the step was made.
    case, state = start
    for step in steps_above_rounding(case, state):
        assert reference.gap(case.Q, step.before) <= delta_of(case.Q, step) * (1 + 1e-6)


@quickly
@given(start=states())
def test_and_enough_for_the_worst_active_vertex(start):
    # [SWAP14] Eqn. (bound_strong)
    case, state = start
    for step in steps_above_rounding(case, state):
        assert lowest_active(case.Q, step.before) <= delta_of(case.Q, step) * (1 + 1e-6)


@quickly
@given(start=states())
def test_the_point_before_such_a_step_is_an_approximate_solution(start):
    # [SWAP14] Lemma (swap_guarantees_strong_conditions), by the definition itself
    case, state = start
    for step in steps_above_rounding(case, state):
        assert reference.approximation(case.Q, step.before) <= delta_of(case.Q, step) * (1 + 1e-6)


@pytest.mark.parametrize("path", ["compiled", "concave"])
@quickly
@given(start=states())
def test_the_second_order_away_vertex_gains_most(path, start):
    # [SWAP14] Alg. 5: argmax over active j of (grad_i - grad_j)^2 / (Q_ii - 2 Q_ij + Q_jj), without a bound on the step
    case, state = start
    state = started(as_concave(case.Q), state.weights) if path == "concave" else state
    Q, i = case.Q, state.toward()
    slope = reference.gradient(Q, state.weights)
    rounding = 1e-9 * np.abs(slope).max()
    better = [j for j in state.support if slope[i] - slope[j] > rounding]
    if not better:
        return
    diagonal = np.diag(Q)
    gains = {j: (slope[i] - slope[j]) ** 2 / max(diagonal[i] - 2 * Q[i, j] + diagonal[j], 1e-300) for j in better}
    chosen = state.second_order_away(i)
    assert chosen in gains
    assert gains[chosen] >= max(gains.values()) * (1 - 1e-6)


# Three points, weights, and the first step. Of the first case, the best toward step without a bound is 2 and seems to
# gain more than a swap; of the second, that of a swap is 2.1. Within [0, 1] it is the other way round.
LONG_STEPS = [
    ([[1.0, 0.0], [2.0, 1.0], [2.0, -1.0]], [0.998, 0.001, 0.001], "swap-drop"),
    ([[9.0, 0.0], [10.1, 2.0], [10.1, -2.0]], [0.0, 0.5, 0.5], "toward"),
]


@pytest.mark.parametrize("solver", ["swap", "swap2"])
@pytest.mark.parametrize("path", ["compiled", "chosen in Python", "concave", "hull"])
@pytest.mark.parametrize(("vertices", "start", "kind"), LONG_STEPS, ids=["toward", "swap"])
def test_gains_are_those_of_steps_in_the_unit_interval(vertices, start, kind, path, solver):
    # [SWAP14] Alg. 4: argmax over lambda in [0, 1] of both line searches, and the gains delta there
    case, start = points(np.array(vertices)), np.array(start)
    state = started(as_concave(case.Q) if path == "concave" else case.problem, start)
    if path == "hull":
        state = HullState(PointHull(np.array(vertices)), np.arange(3))
        state.set_weights(np.flatnonzero(start), start[start > 0])
    first = make_solver(solver).choose(state).kind if path == "chosen in Python" else next(walk(state, solver, 1)).kind
    assert first == kind


# ---- number of steps --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["swap", "swap2"])
@quickly
@given(start=states())
def test_the_number_of_swap_drops_is_bounded(solver, start):
    # differs from [SWAP14]: its bound, drops <= T/2 + |I_0|/2, forgets that a swap-drop can also add a vertex.
    # Counting the support gives: those that do, plus twice those that do not, are at most T + |I_0| - 1.
    _, state = start
    first, exchanges, drops = len(state.support), 0, 0
    for moves, step in zip(count(1), walk(state, solver, 100), strict=False):
        if step.kind == "swap-drop":
            brought_in = step.before[step.i] == 0
            exchanges, drops = exchanges + brought_in, drops + (not brought_in)
        assert exchanges + 2 * drops <= moves + first - 1


def test_the_printed_bound_on_swap_drops_does_not_hold_in_general():
    case = points(np.array([[10.0, 0.0], [1.0, 2.0], [1.01, 0.5]]))
    kinds = [step.kind for step in walk(started(case.problem, vertex(3)), "swap", 10)]
    assert kinds == ["swap-drop", "swap-drop"]
    assert len(kinds) > len(kinds) / 2 + 1 / 2


@pytest.mark.parametrize("solver", ["swap", "swap2"])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
def test_the_printed_bound_on_swap_drops_holds_on_a_support_vector_machine(solver, C):
    case = svm(overlapping_rows(40), 40, C, Rbf(0.5))
    drops = 0
    for moves, step in zip(count(1), walk(started(case.problem, np.full(80, 1 / 80)), solver, 2000), strict=False):
        drops += step.kind == "swap-drop"
        assert drops <= moves / 2 + 80 / 2


def iterations_to(case, solver, eps, start):
    return maximize(case.problem, solver, tol=0.0, eps=eps, start=start, max_iter=10**6).iterations - 1


@quickly
@given(case=svm_cases(), accuracy=st.sampled_from([0.1, 0.03, 0.01]))
def test_iterations_are_bounded_by_the_gap(case, accuracy):
    lipschitz, start = reference.lipschitz(case.Q), vertex(len(case.Q))
    first_below_one = iterations_to(case, "swap", 1.0, start)
    eps = min(accuracy * lipschitz, 1.0)
    assert iterations_to(case, "swap", eps, start) <= first_below_one + 64 * lipschitz / eps


@quickly
@given(case=svm_cases(), accuracy=st.sampled_from([0.1, 0.03, 0.01]))
def test_each_step_that_drops_nothing_gains_what_the_tolerance_promises(case, accuracy):
    # [SWAP14] Lemma (SWAP_improvement_with_stopping): at least min(eps^2 / (4 L), eps / 2) while the gap is above eps
    lipschitz = reference.lipschitz(case.Q)
    eps = accuracy * lipschitz
    for step in walk(started(case.problem, vertex(len(case.Q))), "swap", 200, eps=eps):
        if step.kind != "swap-drop":
            assert gain_of(case.Q, step) >= min(eps**2 / (4 * lipschitz), eps / 2) * (1 - 1e-6)


@pytest.mark.parametrize("solver", ["swap", "swap2"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_iterations_are_bounded_by_the_logarithm_of_the_gap(solver, seed):
    # [SWAP14] Proposition (size_coreset_log): K <= Q + M log2(1 / eps) below some eps; each halving costs no more later
    case, _ = face_case(seed=seed)
    start = np.full(30, 1 / 30)
    accuracies = 0.5 ** np.arange(4, 32)
    needed = np.array([iterations_to(case, solver, eps, start) for eps in accuracies])
    assert needed[-1] > needed[0]
    each = np.diff(needed)
    assert each.max() <= 30  # at most this many for a halving, from the first to the last
    assert each[14:].mean() <= 1.5 * each[:14].mean() + 2


@pytest.mark.parametrize("solver", LINEAR_RATE)
@pytest.mark.parametrize("seed", [0, 1])
def test_iterations_do_not_depend_on_repeated_points(solver, seed):
    Z = random_rows(60, 5, seed) + 1.0
    numbers = [
        iterations_to(points(np.tile(Z, (copies, 1))), solver, 1e-6, vertex(60 * copies)) for copies in (1, 2, 16)
    ]
    assert numbers[0] > 20
    assert max(numbers) <= 1.1 * min(numbers)


@pytest.mark.parametrize("solver", LINEAR_RATE)
def test_iterations_hardly_depend_on_repeated_rows(solver):
    # m doubled and C halved: the same problem with twice as many variables.
    X = overlapping_rows(30)
    once = iterations_to(svm(X, 30, 10.0, Rbf(0.5)), solver, 1e-5, vertex(60))
    twice = iterations_to(svm(np.repeat(X, 2, axis=0), 60, 5.0, Rbf(0.5)), solver, 1e-5, vertex(120))
    assert once > 100
    assert twice <= 2 * once


# ---- rates ------------------------------------------------------------------------------------------------------


def face_case(m=30, active=6, seed=0):
    """A strongly concave g whose maximum is inside the face of the first vertices, strictly complementary."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(m, m))
    Q = B @ B.T / m + np.eye(m)
    best, multipliers = np.zeros(m), np.zeros(m)
    best[:active] = rng.uniform(0.5, 1.5, active)
    best /= best.sum()
    multipliers[active:] = rng.uniform(0.5, 1.0, m - active)
    return matrix(Q, 2 * Q @ best - multipliers), best


@pytest.mark.parametrize("solver", LINEAR_RATE)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_rate_is_linear(solver, seed):
    case, best = face_case(seed=seed)
    steps = list(walk(started(case.problem, np.full(30, 1 / 30)), solver, 300, eps=1e-10))
    gaps = np.array([step.gap for step in steps])
    assert gaps[-1] <= 1e-10
    np.testing.assert_allclose(steps[-1].after, best, atol=1e-6)
    slope = np.polyfit(np.arange(len(gaps)), np.log(gaps), 1)[0]
    assert slope < -0.1  # the gap is divided by ten within 23 moves


@pytest.mark.parametrize("solver", ["swap", "swap2"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_steps_that_drop_nothing_reduce_the_distance_by_a_constant_factor(solver, seed):
    # [SWAP14] Proposition (linear_convergence_without_drops) with M = 4 N m L; N = 2 / mu if g is strongly concave
    case, best = face_case(seed=seed)
    eigenvalues = 2 * np.linalg.eigvalsh(case.Q)
    M = 8 * len(case.Q) * eigenvalues.max() / eigenvalues.min()
    highest, checked = reference.value(case.Q, best, case.c), 0
    for step in walk(started(case.problem, np.full(30, 1 / 30)), solver, 200, eps=1e-6):
        before, after = (highest - reference.value(case.Q, a, case.c) for a in (step.before, step.after))
        if step.kind != "swap-drop":
            assert after <= (1 - 1 / M) * before + 1e-12
            checked += 1
    assert checked >= 5


@quickly
@given(start=states())
def test_frank_wolfe_is_within_four_times_the_curvature_over_k_plus_three(start):
    # [SWAP14] Eqn. (iterates-quality-primal), from the first step on: g* - g(a_k) <= 4 C_g / (k + 3)
    case, state = start
    bound, rounding = 4 * reference.curvature(case.Q), 1e-9 * np.abs(case.Q).max()
    for k, step in zip(count(1), walk(state, "fw", 60), strict=False):
        assert case.best - reference.value(case.Q, step.after) <= bound / (k + 3) + rounding


# ---- approximate solutions and coresets -------------------------------------------------------------------------


def perturbation(Q, a, delta, c=None):
    """[SWAP14] Appendix: z_i = Delta where a_i = 0, else grad_i - a'grad; the perturbed g is g - z'a."""
    slope = reference.gradient(Q, a, c)
    return np.where(a > 0, slope - a @ slope, delta)


@quickly
@given(start=states())
def test_an_approximate_solution_solves_a_perturbed_problem(start):
    # [SWAP14] Appendix, the first two lemmas
    case, state = start
    a, Q = state.weights, case.Q
    scale = np.abs(Q).max()
    delta = reference.approximation(Q, a)
    z = perturbation(Q, a, delta)
    assert np.abs(z).max() <= delta + 1e-12 * scale
    assert a @ z == pytest.approx(0.0, abs=1e-12 * scale)
    assert reference.gap(Q, a, -z) <= 1e-12 * scale
    best = reference.exact_weights(Q)
    missing, apart = reference.value(Q, best) - reference.value(Q, a), np.linalg.norm(best - a)
    assert missing <= np.linalg.norm(z) * apart + 1e-9 * scale
    assert np.linalg.norm(z) <= np.sqrt(len(Q)) * delta * (1 + 1e-12) + 1e-12 * scale


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_is_missing_is_quadratic_in_the_approximation(seed):
    # [SWAP14] Lemma (key_lemma_for_linear_convergence) with N = 2 / mu: g* - g(a) <= N m Delta^2
    case, best = face_case(seed=seed)
    bound = 2 / (2 * np.linalg.eigvalsh(case.Q).min()) * len(case.Q)
    highest = reference.value(case.Q, best, case.c)
    for step in walk(started(case.problem, np.full(30, 1 / 30)), "swap", 200, eps=1e-6):
        missing = highest - reference.value(case.Q, step.after, case.c)
        assert missing <= bound * reference.approximation(case.Q, step.after, case.c) ** 2


@pytest.mark.parametrize("solver", ["fcfw", "cvm", "swap", "swap2", "mfw"])
@pytest.mark.parametrize("eps", [1e-1, 1e-2, 1e-3])
def test_the_support_of_a_run_is_a_coreset(solver, eps):
    case = svm(overlapping_rows(30), 30, 10.0, Rbf(0.5))
    result = maximize(case.problem, solver, tol=0.0, eps=eps * abs(case.best), start=vertex(60))
    support = np.flatnonzero(result.weights)
    assert reference.is_coreset(case.Q, support, 2 * eps * abs(case.best))
    assert not reference.is_coreset(case.Q, support[:3], 2 * eps * abs(case.best))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_rate_of_frank_wolfe_is_one_over_k(seed):
    case, _ = face_case(seed=seed)
    steps = list(walk(started(case.problem, np.full(30, 1 / 30)), "fw", 3000, eps=1e-10))
    gaps = np.minimum.accumulate([step.gap for step in steps])
    assert len(steps) == 3000
    assert gaps[-1] > 1e-5
    tail = np.arange(300, 3000)
    slope = np.polyfit(np.log(tail), np.log(gaps[tail]), 1)[0]
    assert -1.2 < slope < -0.8


# ---- Gilbert, Mitchell-Demyanov-Malozemov -----------------------------------------------------------------------


def gilbert(Z, z):
    """Toward the point of least inner product with z, to the point of least norm on the segment."""
    nearest = Z[np.argmin(Z @ z)]
    step = np.clip(z @ (z - nearest) / ((z - nearest) @ (z - nearest)), 0.0, 1.0)
    return (1.0 - step) * z + step * nearest


def mitchell_demyanov_malozemov(Z, a, i, j):
    """Weight from the active point j of largest inner product with z to the point i of the least.

    After such a step both products are equal, so that either point can be the extreme one next: ties go to i and j.
    """
    products = Z @ (Z.T @ a)
    assert products[i] <= products.min() + 1e-12
    assert products[j] >= products[a > 0].max() - 1e-12
    step = min((products[j] - products[i]) / ((Z[i] - Z[j]) @ (Z[i] - Z[j])), a[j])
    moved = a.copy()
    moved[i], moved[j] = a[i] + step, a[j] - step
    return moved


@pytest.mark.parametrize("seed", range(5))
def test_frank_wolfe_is_gilberts_algorithm(seed):
    Z = random_rows(40, 6, seed) + 0.7
    z = Z[0]
    steps = list(walk(started(points(Z).problem, vertex(40)), "fw", 100))
    assert len(steps) == 100
    for step in steps:
        z = gilbert(Z, z)
        np.testing.assert_allclose(Z.T @ step.after, z, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_swap_is_gilberts_algorithm_with_steps_of_mitchell_demyanov_malozemov(seed):
    Z = random_rows(40, 6, seed) + 0.7
    steps = list(walk(started(points(Z).problem, np.full(40, 1 / 40)), "swap", 200, eps=1e-9))
    assert {step.kind for step in steps} == {"toward", "swap-add", "swap-drop"}
    a = np.full(40, 1 / 40)
    for step in steps:
        if step.kind == "toward":
            np.testing.assert_allclose(Z.T @ step.after, gilbert(Z, Z.T @ a), rtol=0, atol=1e-10)
            a = step.after
        else:
            a = mitchell_demyanov_malozemov(Z, a, step.i, step.j)
            np.testing.assert_allclose(step.after, a, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_pairwise_is_the_algorithm_of_mitchell_demyanov_and_malozemov(seed):
    Z = random_rows(40, 6, seed) + 0.7
    steps = list(walk(started(points(Z).problem, np.full(40, 1 / 40)), "pairwise", 200, eps=1e-9))
    assert {step.kind for step in steps} == {"swap-add", "swap-drop"}
    a = np.full(40, 1 / 40)
    for step in steps:
        a = mitchell_demyanov_malozemov(Z, a, step.i, step.j)
        np.testing.assert_allclose(step.after, a, rtol=0, atol=1e-10)


# ---- primal and dual of the L2-SVM ------------------------------------------------------------------------------


@quickly
@given(seed=st.integers(0, 2**32 - 1), C=st.floats(-3, 4).map(lambda e: 10.0**e), weighted=st.booleans())
def test_the_gap_is_twice_that_of_the_primal_and_the_dual(seed, C, weighted):
    # min 1/2 |w|^2 + 1/2 b^2 + C/2 sum_i s_i xi_i^2 - rho,  y_i (w'x_i + b) >= rho - xi_i;  its dual is -1/2 a'Qa.
    rng = np.random.default_rng(seed)
    X, s, a = rng.normal(size=(15, 3)), rng.uniform(0.5, 3.0, 15), rng.dirichlet(np.full(15, 0.5))
    s = s if weighted else np.ones(15)
    case = svm(X, 6, C, Linear(), weights=s)
    a = a / a.sum()
    w, b, xi = (a * case.y) @ X, a @ case.y, a / (C * s)
    rho = (case.Q @ a).min()
    assert (case.y * (X @ w + b) - rho + xi).min() >= -1e-12 * np.abs(case.Q).max()
    primal = 0.5 * (w @ w + b * b + C * (s * xi**2).sum()) - rho
    dual = -0.5 * (a @ case.Q @ a)
    assert started(case.problem, a).gap == pytest.approx(2 * (primal - dual), rel=1e-9)
