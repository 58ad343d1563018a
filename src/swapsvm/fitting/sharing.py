"""Whether the dot products of all rows are computed once, for all problems of a fit to read.

Pairs of classes need the same kernel values again: each row meets every class in each of its pairs, swaps take single
precision and certificates double. Costs are counted, in operations of the loop that computes a value, so that the
choice is the same on every machine.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from ..columns import is_sparse
from ..gram import Gram
from .whole import SMALL

logger = logging.getLogger(__name__)

READ = 16.0  # operations to read a dot product and to make a kernel value of it
DOUBLE = 3.0  # times the cost of single precision
ENTERING = 0.5  # part of the pairs of rows of a problem whose values its swaps need
CERTIFIED = 0.125  # part of them that its certificate needs in double: pairs of support vectors, each once,
CERTIFIED_SPARSE = 0.25  # or, of sparse rows, twice
CLEARLY = 0.8  # part of the cost of computing values where they are needed, below which sharing pays


def costs(rows: int, work: float, sizes: Sequence[int], sparse: bool) -> dict[str, float]:
    """Of the values of problems of these sizes: computed as needed, or from dot products in single or double."""
    pairs = np.asarray(sizes, np.float64) ** 2
    certified = (CERTIFIED_SPARSE if sparse else CERTIFIED) * pairs
    swaps, exact = ENTERING * pairs.sum(), np.where(np.asarray(sizes) < SMALL, pairs, certified).sum()
    once = rows**2 / 2
    return {
        "none": work * (swaps + DOUBLE * exact),
        "float32": work * (once + DOUBLE * exact) + READ * swaps,
        "float64": DOUBLE * work * once + 2 * READ * (swaps + exact),
    }


def shared_type(gram: Gram, sizes: Sequence[int]) -> np.dtype | None:
    """The type of the dot products that it pays to share, or None."""
    if gram.core.linear_columns and max(sizes) > gram.largest_whole:  # larger ones need no kernel values
        return None
    found = costs(gram.size, gram.core.work, sizes, is_sparse(gram.X))
    if not gram.single:
        del found["float32"]
    worthwhile = {
        kind: cost
        for kind, cost in found.items()
        if kind != "none" and cost < CLEARLY * found["none"] and gram.takes_dots(np.dtype(kind))
    }
    if not worthwhile:
        return None
    best = min(worthwhile, key=lambda kind: worthwhile[kind])
    logger.info("all dot products in %s: cost %.3g instead of %.3g", best, found[best], found["none"])
    return np.dtype(best)
