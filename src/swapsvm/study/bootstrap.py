"""Resamples of the seeds of each cell of the study: how far a verdict depends on the seeds that happened to be used.

A cell is one method on one data set in one experiment. Its runs are drawn again with replacement, independently of the
other cells; all measures of a cell share the draws. [EfronTibshirani93] B. Efron and R. Tibshirani: An introduction to
the bootstrap. Chapman & Hall, 1993.
"""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

import numpy as np

RESAMPLES = 200
STABLE = 0.95  # share of the resamples that must agree with a verdict
SEED = 285  # the volume of [SWAP14]


@lru_cache(maxsize=4096)
def drawn_seeds(cell: tuple[str, ...], runs: int) -> np.ndarray:
    """Places of runs, one row for the runs as they are and one for each resample."""
    if runs == 0:
        raise ValueError(f"there is no run of {' '.join(cell)} to draw")
    generator = np.random.default_rng([SEED, crc32(" ".join(cell).encode())])
    return np.vstack([np.arange(runs), generator.integers(runs, size=(RESAMPLES, runs))])


def agreement(answers: np.ndarray) -> float:
    """The share of the resamples whose answer is that of the runs as they are."""
    return float(np.mean(answers[1:] == answers[0]))
