"""scikit-learn estimators: with ``stopping``, the only room that imports scikit-learn."""

from .diagnosis import ScalingWarning
from .memory import Checkpoint
from .observing import FitProgress
from .reduction import reduce_support
from .selection import SVCCV
from .separation import NotSeparableError
from .svc import SVC
from .svr import SVR

__all__ = [
    "SVC",
    "SVCCV",
    "SVR",
    "Checkpoint",
    "FitProgress",
    "NotSeparableError",
    "ScalingWarning",
    "reduce_support",
]
