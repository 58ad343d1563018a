"""Surrogate steps until the gap is 1e-3, counted: ``python -m benchmarks.surrogate_steps [--cases 0 3]``.

Each case is a set of development with a number of landmarks that is small for it, so that steps are many and their rule
decides. The counts are exact; the policy is left out. A few minutes.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from swapsvm import SVC
from swapsvm.solvers import policy
from swapsvm.state import Landmarks, State

from . import datasets


@dataclass(frozen=True)
class Case:
    data: str
    landmarks: int
    C: float | None = None  # by default that of the benchmarks


CASES = (
    Case("noisy m=20000 noise=0.3", 128),
    Case("noisy m=20000 noise=0.1", 256),
    Case("tabular m=14000", 128),
    Case("tabular m=14000", 512, 64.0),
    Case("tails m=15000", 256, 64.0),
    Case("unbalanced m=30000", 256),
    Case("a9a", 64),
    Case("bumps m=40000", 512),
)


def gaps_of(case: Case) -> list[float]:
    """The relative gap after each surrogate step."""

    def landmarks(state: State, support: float) -> Landmarks:
        rows = np.random.default_rng(0).permutation(state.distinct_rows)
        return state.landmarks(state.factor(policy.spread(state, rows, case.landmarks)))

    split = datasets.load(case.data)
    C, gamma = next(iter(datasets.parameters_by_loss(case.data, split.X, False).values()))
    with (
        patch("swapsvm.solvers.block.suitable_landmarks", landmarks),
        patch("swapsvm.solvers.surrogate.PATIENCE", 60),  # never give way to blocks
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # a case that stops at the limit is reported as it is
        trace = SVC(C=case.C or C, gamma=gamma, max_iter=60).fit(split.X, split.y).trace_
    steps = trace[trace["kind"] == "surrogate"]
    return [float(gap) for gap in -steps["gap"] / steps["value"]]


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", type=int, default=list(range(len(CASES))), help="by number")
    total = 0
    for number in parser.parse_args(words).cases:
        gaps = gaps_of(CASES[number])
        total += len(gaps)
        print(f"{CASES[number]}: {len(gaps)} steps; {' '.join(f'{gap:.2g}' for gap in gaps)}", flush=True)
    print(f"{total} steps in all")


if __name__ == "__main__":
    main()
