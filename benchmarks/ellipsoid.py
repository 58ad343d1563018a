"""The least ellipsoid: how its time grows with points and dimensions, and how many iterations each solver takes.

Times are CPU seconds of one thread, medians of three runs (solvers: one) on normal points, certified to 1 + tol of the
least volume. The interior point method is Clarabel on the primal; the time to write down its cones is included.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.micro.columns import surroundings
from swapsvm import ConvergenceWarning
from swapsvm.geometry import min_enclosing_ellipsoid

RESULTS = Path(__file__).parent / "results" / "ellipsoid.md"
TOL = 1e-6
SIZES = [(m, d) for d in (2, 5, 10, 20) for m in (1000, 10_000, 100_000, 1_000_000)]
SOLVERS = ("fw", "mfw", "swap", "swap2", "fcfw", "block")
MOST = 10_000  # iterations


def points_of(m: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(m, d))


def timed(work: Callable[[], Any], runs: int = 3) -> tuple[float, Any]:
    """Median CPU seconds, and the result of the work."""
    seconds = []
    for _ in range(runs):
        began = time.process_time()
        result = work()
        seconds.append(time.process_time() - began)
    return median(seconds), result


def growth() -> Iterator[str]:
    yield "| points | dimensions | seconds | passes | coreset | certified excess of volume |"
    yield "|---|---|---|---|---|---|"
    for m, d in SIZES:
        X = points_of(m, d)
        seconds, found = timed(lambda X=X: min_enclosing_ellipsoid(X, tol=TOL))
        cells = f"{seconds:.2g} | {found.iterations} | {len(found.coreset)} | {found.relative_gap:.1e}"
        yield f"| {m} | {d} | {cells} |"


def solvers(m: int, d: int) -> Iterator[str]:
    yield "| solver | iterations | seconds | certified excess of volume | stopped by |"
    yield "|---|---|---|---|---|"
    X = points_of(m, d)
    for solver in SOLVERS:
        work = lambda solver=solver: min_enclosing_ellipsoid(X, tol=TOL, solver=solver, max_iter=MOST)  # noqa: E731
        seconds, found = timed(work, runs=1)
        yield f"| {solver} | {found.iterations} | {seconds:.2g} | {found.relative_gap:.1e} | {found.stop_reason} |"


def interior_point() -> Iterator[str]:
    from tests.reference import least_ellipsoid_log_volume

    yield "| points | dimensions | swapsvm, seconds | Clarabel, seconds | volumes differ by |"
    yield "|---|---|---|---|---|"
    for m, d in ((1000, 2), (1000, 5), (1000, 10), (10_000, 5)):
        X = points_of(m, d)
        ours, found = timed(lambda X=X: min_enclosing_ellipsoid(X, tol=TOL))
        theirs, volume = timed(lambda X=X: least_ellipsoid_log_volume(X))
        yield f"| {m} | {d} | {ours:.2g} | {theirs:.2g} | {abs(np.expm1(np.log(found.volume) - volume)):.0e} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    where = surroundings()
    lines = [
        "# The least ellipsoid around points",
        "",
        f"{(__doc__ or '').split(chr(10), 2)[2].strip()} tol = {TOL:g}. Made by `python -m benchmarks.ellipsoid`, "
        f"swapsvm {where['swapsvm']} ({where['commit']}), {where['cpu']}.",
        "",
        "## Growth, solver block",
        "",
        *growth(),
        "",
        "## Solvers, 100000 points in 10 dimensions",
        "",
        *solvers(100_000, 10),
        "",
        "## Beside an interior point method",
        "",
        *interior_point(),
        "",
    ]
    options.output.write_text("\n".join(lines))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
