"""scikit-learn estimators: with ``stopping``, the only room that imports scikit-learn."""

from .diagnosis import ScalingWarning
from .memory import Checkpoint
from .observing import FitProgress
from .one_class import OneClassSVM
from .reduction import reduce_support
from .selection import SVCCV
from .separation import NotSeparableError
from .svc import SVC
from .svdd import SVDD
from .svr import SVR

__all__ = [
    "SVC",
    "SVCCV",
    "SVDD",
    "SVR",
    "Checkpoint",
    "FitProgress",
    "NotSeparableError",
    "OneClassSVM",
    "ScalingWarning",
    "reduce_support",
]
