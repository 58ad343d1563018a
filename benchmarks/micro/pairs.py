"""``python -m benchmarks.micro.pairs``: what surrounds a problem of a few rows, in CPU microseconds.

Fits of many classes with the same number of rows each, one thread. "core" is the time inside the compiled call that
solves all pairs, from start to certificate; the rest of the fit is Python, and "overhead" is that rest for each pair.
"fixed" is the core's time for a pair of four rows: what it does whatever the size. Minima of several rounds.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from swapsvm import SVC
from swapsvm.fitting import whole

CLASSES = 60
ROWS = (4, 10, 50, 200)  # of a pair


class Counted:
    """The compiled call, with the time that it takes."""

    def __init__(self) -> None:
        self.seconds, self._call = 0.0, whole.solve_pairs

    def __call__(self, *arguments: object) -> object:
        began = time.thread_time()
        found = self._call(*arguments)
        self.seconds += time.thread_time() - began
        return found


def blobs(classes: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes of this many rows each, which overlap a little."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), rows)
    return 2 * rng.normal(size=(classes, 8))[y] + rng.normal(size=(len(y), 8)), y


def measure(rows: int, rounds: int) -> tuple[float, float]:
    """Microseconds of a pair, in the core and around it."""
    X, y = blobs(CLASSES, rows // 2)
    pairs, inside, around = CLASSES * (CLASSES - 1) // 2, [], []
    for _ in range(rounds + 1):  # the first round warms up
        counted = whole.solve_pairs = Counted()
        try:
            began = time.thread_time()
            SVC(n_jobs=1).fit(X, y)
            total = time.thread_time() - began
        finally:
            whole.solve_pairs = counted._call
        inside.append(counted.seconds)
        around.append(total - counted.seconds)
    return min(inside[1:]) / pairs * 1e6, min(around[1:]) / pairs * 1e6


def main() -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print(f"{CLASSES} classes, {CLASSES * (CLASSES - 1) // 2} pairs, microseconds for each pair")
    print(f"{'rows of a pair':16}{'core':>10}{'overhead':>10}")
    found = {rows: measure(rows, options.rounds) for rows in ROWS}
    for rows, (core, overhead) in found.items():
        print(f"{rows:<16}{core:>10.1f}{overhead:>10.1f}")
    print(f"fixed: {found[ROWS[0]][0]:.1f} in the core")


if __name__ == "__main__":
    main()
