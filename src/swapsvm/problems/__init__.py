"""Concave problems on the unit simplex: what is maximized, and how a model is read from the weights."""

from .ball import Ball, Sphere
from .coefficients import Coefficients
from .concave import Concave
from .l2_svc import L2SVC
from .l2_svr import L2SVR
from .log_determinant import LogDeterminant
from .one_class import OneClass
from .quadratic import Quadratic

__all__ = ["L2SVC", "L2SVR", "Ball", "Coefficients", "Concave", "LogDeterminant", "OneClass", "Quadratic", "Sphere"]
