"""Types that skops must trust to load an estimator: ``skops.io.load(path, trusted=TRUSTED_TYPES)``.

A search has a scorer of scikit-learn, which is an object around a metric. Metrics compute numbers from arrays, so they
are trusted as well.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import scipy.sparse as sp
from sklearn import metrics

from ..fitting.checkpoint import Checkpoint
from ..fitting.growing import Batches
from ..kernels import KERNELS, Sum
from ..models import AgainstRest, Center, Expansion, Outputs, Pairwise, Vectors
from ..result import Result
from ..state import Sampling
from ..trace import Trace
from .descriptions import ESTIMATORS

PARTS = (Vectors, Expansion, Outputs, Center, Pairwise, AgainstRest, Sum, Batches, *KERNELS.values())
SCORERS = {type(metrics.get_scorer(name)) for name in ("accuracy", "r2")}
METRICS = [getattr(metrics, name) for name in metrics.__all__ if name.endswith(("_score", "_error", "_loss"))]
RUNS = (Counter, Checkpoint, Result, Sampling, Trace)
TYPES = (
    *(description.type for description in ESTIMATORS),
    *PARTS,
    *RUNS,
    *SCORERS,
    *METRICS,
    sp.csr_array,
    sp.csr_matrix,
    np.dtype,  # of imputers
)
TRUSTED_TYPES = sorted({f"{found.__module__}.{found.__qualname__}" for found in TYPES})
