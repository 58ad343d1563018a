"""Python ``choose``, the compiled steps and the general state make the same moves, recorded in golden traces."""

import json

import numpy as np
import pytest

from swapsvm import Gram, _core
from swapsvm.kernels import Linear, Poly
from swapsvm.problems import L2SVC, Quadratic
from swapsvm.solvers import SOLVERS, make_solver
from swapsvm.state import Limits

from . import reference
from .make_golden import FOLDER, MOVES, RECORDED, fixed_problem, fixed_start, golden_moves, main
from .walking import as_concave, started, walk

COMPILED = [name for name, solver in SOLVERS.items() if solver.compiled]


# After a swap both its vertices have the same gradient: if that is the largest one, rounding alone chooses the next
# toward vertex. The problems here are such that this does not happen within the moves compared.


def random_rows(m, d, seed):
    return np.random.default_rng(seed).normal(size=(m, d))


def polynomial_problem():
    gram = Gram(Poly(0.4, 1.0, 2), random_rows(80, 4, seed=9), groups=[np.arange(35), np.arange(35, 80)], n_threads=1)
    return L2SVC.of(gram, 0, 1, C=20.0, weights=np.linspace(0.5, 3.0, 80))


def ball_problem():
    """An enclosing ball with a ridge: its linear term is not constant."""
    Z = random_rows(90, 20, seed=2)
    return Quadratic(Gram(Linear(), Z, n_threads=1), ridge=0.5, linear=(Z**2).sum(axis=1))


PROBLEMS = {"rbf": fixed_problem, "poly-weighted": polynomial_problem, "ball": ball_problem}
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
every_compiled = pytest.mark.parametrize("solver", COMPILED)


def numpy_quadratic(problem):
    """Q and c of the problem, from NumPy's kernel values."""
    rows, signs = problem.rows, problem.signs
    K = reference.kernel_values(problem.gram.kernel, problem.gram.X[rows])
    Q = np.outer(signs, signs) * (K + problem.bias) + np.diag(np.broadcast_to(problem.ridge, len(rows)))
    return Q, problem.linear


def chosen(state, solver):
    """The moves that the Python ``choose`` makes on a state: kind, i, j, step."""
    solver = make_solver(solver)
    for _ in range(MOVES):
        move = solver.choose(state)
        state.move(move)
        yield move.kind, move.i, move.j, move.sub if move.kind == "away" else move.add


def assert_same_moves(expected, actual, atol):
    expected, actual = list(expected), list(actual)
    assert len(expected) == MOVES
    assert [move[:3] for move in actual] == [move[:3] for move in expected]
    np.testing.assert_allclose([move[3] for move in actual], [move[3] for move in expected], rtol=0, atol=atol)


def compiled_moves(problem, solver):
    steps = walk(started(problem, fixed_start(problem.size)), solver, MOVES)
    return [(step.kind, step.i, step.j, step.length) for step in steps]


def test_the_compiled_solvers_are_those_of_the_core():
    assert COMPILED == ["fw", "mfw", "swap", "swap2", "pairwise", "blended"]
    assert {kind.name for kind in _core.StepKind} == set(COMPILED)


@every_problem
@every_compiled
def test_python_choose_makes_the_compiled_moves(solver, problem):
    problem = problem()
    python = chosen(started(problem, fixed_start(problem.size)), solver)
    assert_same_moves(compiled_moves(problem, solver), python, atol=1e-12)


@every_problem
@every_compiled
def test_a_general_concave_state_makes_the_compiled_moves(solver, problem):
    problem = problem()
    general = chosen(started(as_concave(*numpy_quadratic(problem)), fixed_start(problem.size)), solver)
    assert_same_moves(compiled_moves(problem, solver), general, atol=1e-12)


@every_problem
def test_the_problems_show_every_kind_of_move(problem):
    problem = problem()
    kinds = {move[0] for solver in COMPILED for move in compiled_moves(problem, solver)}
    assert kinds == {"toward", "away", "swap-add", "swap-drop"}


@every_compiled
def test_blocks_of_moves_are_the_same_moves(solver):
    problem = fixed_problem()
    block, single = (started(problem, fixed_start(problem.size)) for _ in range(2))
    assert block.run(make_solver(solver), Limits(moves=MOVES)).moves == MOVES
    assert len(list(walk(single, solver, MOVES))) == MOVES
    np.testing.assert_array_equal(block.weights, single.weights)


@pytest.fixture(params=_core.simd_levels())
def simd_level(request):
    """Every instruction set of this processor, one at a time."""
    before = _core.simd_level()
    _core.select_simd(request.param)
    yield request.param
    _core.select_simd(before)


@pytest.mark.usefixtures("simd_level")
@pytest.mark.parametrize("solver", RECORDED)
def test_golden_moves(solver):
    recorded = json.loads((FOLDER / f"{solver}.json").read_text())
    expected, actual = (
        [(move["kind"], move["i"], move["j"], move["step"]) for move in moves]
        for moves in (recorded, golden_moves(solver))
    )
    assert_same_moves(expected, actual, atol=1e-9)


def test_every_golden_file_belongs_to_a_solver():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(RECORDED)


def test_golden_moves_can_be_recorded_anew(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tests.make_golden.FOLDER", tmp_path)
    assert main([]) == 1
    assert "fw.json" in capsys.readouterr().out
    assert main(["--write"]) == 0
    assert main([]) == 0
