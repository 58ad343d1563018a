"""The first moves of each solver on one fixed problem. ``python -m tests.make_golden --write`` records them anew."""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from swapsvm import Gram
from swapsvm.kernels import Rbf
from swapsvm.problems import L2SVC
from swapsvm.solvers import SOLVERS, FullyCorrective, make_solver

from .walking import started, walk

FOLDER = Path(__file__).parent / "golden"
MOVES = 50

# A move of the block engine changes many vertices at once; contracts and judges hold it to the answer instead.
RECORDED = [solver for solver in SOLVERS if solver != "block"]


def fixed_problem():
    """An L2-SVM of 200 rows in double, made by a formula: no generator of random numbers is involved."""
    index = np.arange(1, 201, dtype=np.float64)
    X = np.stack([np.sin(index * 1.3), np.sin(index * index * 0.37), np.cos(index * 2.9 + 0.1 * index * index)], axis=1)
    positive = X[:, 0] + 0.8 * X[:, 1] * X[:, 2] > 0.1
    gram = Gram(Rbf(3.0), X, groups=[np.flatnonzero(positive), np.flatnonzero(~positive)], n_threads=1)
    return L2SVC.of(gram, 0, 1, C=4.0)


def fixed_start(size):
    """Unequal weights on some variables: from one or two, a swap and a toward step may be the same move."""
    weights = np.zeros(size)
    weights[5::17] = np.arange(2.0, 2.0 + len(weights[5::17]))
    return weights / weights.sum()


def golden_moves(solver):
    """Kind, vertices and length of each move of a compiled run."""
    problem, solver = fixed_problem(), make_solver(solver)
    if isinstance(solver, FullyCorrective):
        solver.accuracy = 1e-10  # faces solved to a hundredth would show the rounding of this processor
    state = started(problem, fixed_start(problem.size))
    return [{"kind": step.kind, "i": step.i, "j": step.j, "step": step.length} for step in walk(state, solver, MOVES)]


def main(arguments=None):
    """Compare with the recorded moves, or write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the recorded moves")
    write = parser.parse_args(arguments).write
    changed = []
    for solver in RECORDED:
        path, text = FOLDER / f"{solver}.json", as_text(golden_moves(solver))
        if not path.exists() or path.read_text() != text:
            changed.append(path.name)
            if write:
                path.write_text(text)
    sys.stdout.write(f"{'written' if write else 'different'}: {', '.join(changed) or 'none'}\n")
    return 0 if write or not changed else 1


def as_text(moves):
    """One move a line."""
    return "[\n" + ",\n".join(json.dumps(move) for move in moves) + "\n]\n"


if __name__ == "__main__":
    sys.exit(main())
