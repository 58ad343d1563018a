"""scikit-learn estimators: with ``stopping``, the only room that imports scikit-learn."""

from .svc import SVC

__all__ = ["SVC"]
