"""scikit-learn estimators: each plans the problems of its fit and reads its model from their solutions."""

from .one_class import OneClassSVM
from .svc import SVC
from .svdd import SVDD
from .svr import SVR

__all__ = ["SVC", "SVDD", "SVR", "OneClassSVM"]
