"""scikit-learn estimators: with ``stopping``, the only room that imports scikit-learn."""

from .memory import Checkpoint
from .observing import FitProgress
from .selection import SVCCV
from .svc import SVC
from .svr import SVR

__all__ = ["SVC", "SVCCV", "SVR", "Checkpoint", "FitProgress"]
