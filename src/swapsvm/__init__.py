"""Certified kernel support vector machines, trained by Frank-Wolfe swap steps.

::

    SVC ────────── L2SVC ────┐
    SVR ────────── L2SVR ────┤
    OneClassSVM ── OneClass ─┼─ Quadratic ── Gram ── Kernel
    SVDD ───────── Ball ─────┘      │
      │                 ┌───────────┘
    Session ─── Run ── State ── Solver          Concave (a user's own g) ── State
                 │
             Stop, Trace ── Result ── Expansion, Pairwise
"""

from .estimators import SVC, SVDD, SVR, OneClassSVM
from .fitting.checkpoint import Checkpoint
from .fitting.diagnosis import ScalingWarning
from .fitting.progress import FitProgress
from .fitting.separation import NotSeparableError
from .gram import Gram
from .plotting import plot_trace
from .reduction import reduce_support
from .result import Result
from .selection import SVCCV, SVRCV
from .solve import maximize
from .state import Sampling
from .stopping import ConvergenceWarning

__version__ = "0.1.0"
__all__ = [
    "SVC",
    "SVCCV",
    "SVDD",
    "SVR",
    "SVRCV",
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
