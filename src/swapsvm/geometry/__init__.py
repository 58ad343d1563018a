"""Problems of computational geometry on the simplex, each solved between two certified bounds.

Points are rows. A result is frozen and says which points carry it (``coreset``) and how far from the optimum it can be
at most (``gap``).
"""

from ._base import Certified
from .ellipsoid import Ellipsoid, min_enclosing_ellipsoid
from .hulls import EnclosingBall, NormPoint, PolytopeDistance, min_enclosing_ball, min_norm_point, polytope_distance

__all__ = [
    "Certified",
    "Ellipsoid",
    "EnclosingBall",
    "NormPoint",
    "PolytopeDistance",
    "min_enclosing_ball",
    "min_enclosing_ellipsoid",
    "min_norm_point",
    "polytope_distance",
]
