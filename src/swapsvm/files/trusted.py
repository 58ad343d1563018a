"""Types that skops must trust to load an estimator: ``skops.io.load(path, trusted=TRUSTED_TYPES)``."""

from __future__ import annotations

from collections import Counter

from ..estimators import SVC, SVDD, SVR, OneClassSVM
from ..fitting.checkpoint import Checkpoint
from ..kernels import KERNELS
from ..models import AgainstRest, Center, Expansion, Pairwise, Vectors
from ..result import Result
from ..state import Sampling
from ..trace import Trace

MODELS = (Vectors, Expansion, Center, Pairwise, AgainstRest)
TYPES = (Counter, SVC, SVR, OneClassSVM, SVDD, *MODELS, Checkpoint, Result, Sampling, Trace, *KERNELS.values())
TRUSTED_TYPES = sorted(f"{cls.__module__}.{cls.__qualname__}" for cls in TYPES)
