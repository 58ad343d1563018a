"""Certified kernel support vector machines, trained by Frank-Wolfe swap steps.

::

    SVC ────────── L2SVC ────┐
    SVR ────────── L2SVR ────┤
    OneClassSVM ── OneClass ─┼─ Quadratic ── Gram ── Kernel
    SVDD ───────── Ball ─────┘      │
                        ┌───────────┘
    maximize ── Run ── State ── Solver          Concave (a user's own g) ── State
                 │
             Stop, Trace ── Result
"""

from .estimators import (
    SVC,
    SVCCV,
    SVDD,
    SVR,
    Checkpoint,
    FitProgress,
    NotSeparableError,
    OneClassSVM,
    ScalingWarning,
    reduce_support,
)
from .gram import Gram
from .plotting import plot_trace
from .solve import Result, maximize
from .state import Sampling
from .stopping import ConvergenceWarning

__version__ = "0.1.0"
__all__ = [
    "SVC",
    "SVCCV",
    "SVDD",
    "SVR",
    "Checkpoint",
    "ConvergenceWarning",
    "FitProgress",
    "Gram",
    "NotSeparableError",
    "OneClassSVM",
    "Result",
    "Sampling",
    "ScalingWarning",
    "__version__",
    "maximize",
    "plot_trace",
    "reduce_support",
]
