"""Concave problems on the unit simplex: what is maximized, and how a model is read from the weights."""

from .concave import Concave
from .l2_svc import L2SVC, decision_function, decision_functions
from .l2_svr import L2SVR
from .log_determinant import LogDeterminant
from .novelty import Ball, OneClass, Sphere
from .quadratic import Coefficients, Family, Quadratic

__all__ = [
    "L2SVC",
    "L2SVR",
    "Ball",
    "Coefficients",
    "Concave",
    "Family",
    "LogDeterminant",
    "OneClass",
    "Quadratic",
    "Sphere",
    "decision_function",
    "decision_functions",
]
