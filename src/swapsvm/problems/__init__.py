"""Concave problems on the unit simplex: what is maximized, and how a model is read from the weights."""

from .concave import Concave
from .l2_svc import L2SVC
from .l2_svr import L2SVR
from .log_determinant import LogDeterminant
from .novelty import Ball, OneClass, Sphere
from .quadratic import Coefficients, Quadratic

__all__ = ["L2SVC", "L2SVR", "Ball", "Coefficients", "Concave", "LogDeterminant", "OneClass", "Quadratic", "Sphere"]
