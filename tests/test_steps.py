"""Single steps where the rules of a solver are easily mistaken: ties, bounds, faces, and the promise of lazy steps."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from swapsvm import maximize
from swapsvm.kernels import Rbf
from swapsvm.rays import Away, SwapRay, Toward
from swapsvm.solvers import make_solver
from swapsvm.solvers.lazified import LARGEST, Lazified
from swapsvm.state.sampling import SampleLooks, Sampling

from . import reference
from .cases import matrix, overlapping_rows, points, random_rows, svm
from .test_theorems import quickly, states
from .walking import started, vertex, walk

paths = pytest.mark.parametrize("path", ["compiled", "python"])
TIES = matrix([[1.0, 0.0], [0.0, 3.0]])  # at (1/2, 1/2) all slopes are 1 or 2, and both steps reach the optimum


def first_kind(solver, state, path):
    """The kind of the first move, by the compiled loop or by the Python ``choose``."""
    return next(walk(state, solver, 1)).kind if path == "compiled" else make_solver(solver).choose(state).kind


# ---- ties -------------------------------------------------------------------------------------------------------


@paths
def test_mfw_goes_toward_where_both_slopes_are_equal(path):
    # [SWAP14] Alg. 3: toward if grad'd_toward >= grad'd_away
    assert first_kind("mfw", started(TIES.by(path), np.array([0.5, 0.5])), path) == "toward"


@paths
@pytest.mark.parametrize("solver", ["swap", "swap2"])
def test_swap_swaps_where_both_gain_the_same(solver, path):
    # [SWAP14] Alg. 4: a swap if delta_swap >= delta_fw
    state = started(TIES.by(path), np.array([0.5, 0.5]))
    assert state.search(SwapRay(0, 1)).gain == state.search(Toward(0)).gain == 0.25
    assert first_kind(solver, state, path) == "swap-add"


@paths
def test_blended_stays_on_the_face_where_both_slopes_are_equal(path):
    # scores 0, 1 and 2, the first inactive
    case = matrix(np.diag([1.0, 2.0, 4.0]))
    state = started(case.by(path), np.array([0.0, 0.5, 0.5]))
    assert (state.swap_slope(1, 2), state.toward_slope) == (2.0, 3.0)
    assert first_kind("blended", state, path) == "toward"
    # here both are 2: the toward vertex is active
    even = started(matrix(np.diag([1.0, 1.0, 3.0]), np.array([0.0, 0.0, 0.0])).by(path), np.array([0.0, 0.5, 0.5]))
    assert (even.swap_slope(1, 2), even.toward_slope) == (2.0, 2.0)
    assert first_kind("blended", even, path).startswith("swap")


# ---- bounds of steps --------------------------------------------------------------------------------------------


@paths
def test_an_away_step_to_its_bound_drops_the_vertex(path):
    # the maximum is far beyond the face without vertex 2; a_j (1 + t) - t at the bound is rounding, or nothing
    problem = points(np.array([[1.0, 0.5], [1.0, -0.5], [9.0, 0.0]])).by(path)
    for weight in np.linspace(0.05, 0.45, 30):
        state = started(problem, np.array([(1 - weight) / 2, (1 - weight) / 2, weight]))
        found = state.search(Away(2))
        assert found.clipped and found.step == pytest.approx(weight / (1 - weight))
        state.move(found.move())
        assert state.weights[2] == 0.0 and state.support.tolist() == [0, 1]
        np.testing.assert_allclose(state.weights, [0.5, 0.5, 0.0])


@paths
@quickly
@given(start=states())
def test_no_step_leaves_the_simplex_and_its_bound_is_where_a_weight_vanishes(path, start):
    case, state = start
    state = started(case.by(path), state.weights)
    j, i, a = state.away(), state.toward(), state.weights
    for ray in (Toward(i), Away(j), SwapRay(i, j)):
        end = a + ray.longest(a) * ray.direction(a) if np.isfinite(ray.longest(a)) else a
        assert abs(end.sum() - 1) < 1e-9 and end.min() > -1e-9
        if ray != Toward(i) and i != j and np.isfinite(ray.longest(a)):
            assert end[j] == pytest.approx(0.0, abs=1e-9)


@paths
def test_an_away_step_that_is_not_clipped_keeps_the_vertex(path):
    state = started(points(np.array([[1.0, 2.0], [1.0, -2.1], [1.5, 0.0]])).by(path), np.array([0.3, 0.3, 0.4]))
    found = state.search(Away(2))
    if not found.clipped:
        state.move(found.move())
        assert state.weights[2] > 0.0


# ---- corrective steps -------------------------------------------------------------------------------------------


@paths
@pytest.mark.parametrize("seed", range(3))
def test_a_corrective_step_solves_the_face_with_the_new_vertex(path, seed):
    # [SWAP14] Alg. 2 on I_{k+1}: what is left of the gap on the face is a hundredth of the gap before
    case = svm(overlapping_rows(15, seed=seed) if seed else overlapping_rows(15), 15, 10.0, Rbf(0.5))
    state = started(case.by(path), vertex(30, seed))
    for _ in range(8):
        before, newcomer, face = state.gap, state.toward(), set(state.support)
        state.move(make_solver("fcfw").choose(state))
        slope = reference.gradient(case.Q, state.weights)
        solved = sorted(face | {newcomer})
        assert newcomer in state.support
        assert set(state.support) <= set(solved)
        assert slope[solved].max() - state.weights @ slope <= 0.01 * before + 1e-12


# ---- pairwise, blended and lazy steps -----------------------------------------------------------------------------


@paths
def test_blended_swaps_never_bring_in_a_vertex(path):
    case, kinds = points(random_rows(40, 6) + 0.7), set()
    start = np.where(np.arange(40) < 20, 1 / 20, 0.0)
    for step in walk(started(case.by(path), start), "blended", 200, eps=1e-9):
        kinds.add(step.kind)
        slope = reference.gradient(case.Q, step.before)
        active = step.before > 0
        local = slope[active].max() - slope[active].min()
        gap = slope.max() - step.before @ slope
        if step.kind == "toward":
            assert local <= gap * (1 + 1e-9)
        else:
            assert active[step.i] and local >= gap * (1 - 1e-9)
    assert kinds == {"toward", "swap-add", "swap-drop"}


@paths
def test_a_lazy_step_keeps_the_promise_that_is_only_halved(path):
    # Tsuji, Tanaka and Pokutta, Alg. 3: a swap inside has at least the slope promised, a toward step half of it
    case = svm(overlapping_rows(20), 20, 10.0, Rbf(0.5))
    state, chooser, promises = started(case.by(path), vertex(40)), Lazified().chooser(), []
    for _ in range(150):
        slope = reference.gradient(case.Q, state.weights)
        active = state.weights > 0
        local, gap = slope[active].max() - slope[active].min(), slope.max() - state.weights @ slope
        if gap <= 1e-9:
            break
        move = chooser.choose(state)
        promises.append(2.0 ** (LARGEST - chooser.history[0]))
        inside = move.kind != "toward"
        assert inside == (local >= promises[-1])
        assert inside or gap >= promises[-1] / 2
        if len(promises) < 2 or promises[-1] < promises[-2]:  # twice as much was promised before, by neither kept
            assert max(local, 2 * gap) < 2 * promises[-1]
        state.move(move)
    assert len(promises) > 50
    assert all(after <= before for before, after in pairwise(promises))


def test_a_lazy_run_goes_on_with_the_promise_of_its_history():
    state = started(svm(overlapping_rows(20), 20, 10.0, Rbf(0.5)).problem, vertex(40))
    chooser = Lazified().chooser()
    for _ in range(20):
        state.move(chooser.choose(state))
    again = Lazified().chooser(chooser.history)
    assert again.history == chooser.history and again.choose(state) == chooser.choose(state)


@pytest.mark.parametrize("solver", ["pairwise", "blended", "lazified"])
def test_newer_steps_need_fewer_moves_than_frank_wolfe(solver):
    case = svm(overlapping_rows(20), 20, 10.0, Rbf(0.5))
    options = {"tol": 1e-3, "start": vertex(40)}
    assert maximize(case.problem, solver, **options).iterations < maximize(case.problem, "fw", **options).iterations / 3


# ---- samples ------------------------------------------------------------------------------------------------------


class Empty:
    """Stands for a compiled state whose samples show no violator."""

    gap = 0.0
    looks = 0

    def look(self):
        self.looks += 1


@pytest.mark.parametrize("halvings", [0, 3])
def test_a_level_that_is_the_tolerance_of_the_run_is_the_last(halvings):
    looks, core = SampleLooks(Sampling(trusted=1, first_level=0.5**3)), Empty()
    assert looks.claim(core, 0.5 ** (3 + halvings)) == "sample"
    assert core.looks == looks.level == halvings
