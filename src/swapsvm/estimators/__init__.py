"""scikit-learn estimators: with ``stopping``, the only room that imports scikit-learn."""

from .memory import Checkpoint
from .observing import FitProgress
from .one_class import OneClassSVM
from .reduction import reduce_support
from .selection import SVCCV
from .svc import SVC
from .svdd import SVDD

__all__ = ["SVC", "SVCCV", "SVDD", "Checkpoint", "FitProgress", "OneClassSVM", "reduce_support"]
