"""What skops is to trust when it reads a pickled SVC: ``skops.io.load(path, trusted=TRUSTED_TYPES)``."""

from __future__ import annotations

from collections import Counter

from ..estimators import SVC
from ..kernels import KERNELS
from ..solve import Result
from ..state import Sampling
from ..trace import Trace

TRUSTED_TYPES = sorted(
    f"{cls.__module__}.{cls.__qualname__}" for cls in (Counter, SVC, Result, Sampling, Trace, *KERNELS.values())
)
