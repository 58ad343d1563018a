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

Names are imported when they are first used: scikit-learn takes a second, and ``swapsvm --version`` does not need it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
HOMES = {
    "SVC": "estimators",
    "SVCCV": "selection",
    "SVRCV": "selection",
    "SVDD": "estimators",
    "SVR": "estimators",
    "Checkpoint": "fitting.checkpoint",
    "ConvergenceWarning": "stopping",
    "FitProgress": "fitting.progress",
    "Gram": "gram",
    "NotSeparableError": "fitting.separation",
    "OneClassSVM": "estimators",
    "Result": "result",
    "Sampling": "state",
    "ScalingWarning": "fitting.diagnosis",
    "maximize": "solve",
    "plot_trace": "plotting",
    "reduce_support": "reduction",
}
MODULES = {
    "dask",
    "datasets",
    "explain",
    "files",
    "geometry",
    "kernels",
    "models",
    "problems",
    "rays",
    "solvers",
    "state",
    "stopping",
}

if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name):
        """Import what is used for the first time."""
        if name in MODULES:
            return import_module(f".{name}", __name__)
        if name not in HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f".{HOMES[name]}", __name__), name)
        globals()[name] = found
        return found

    def __dir__():
        return sorted({*globals(), *HOMES, *MODULES})
