"""Fitted decision functions: what estimators hold, files save and predictions evaluate.

::

    Vectors ─┬─ Expansion    one function: SVR, OneClassSVM
             │     └─ Center     distances from a point: SVDD
             └─ Pairwise     one function for each pair of classes: SVC
                   └─ votes

    Sums     of kernel values over groups of vectors, which both are made of
"""

from .center import Center
from .expansion import Expansion
from .pairwise import Pair, Pairwise, sides
from .vectors import Vectors
from .votes import count_votes, has_sure_winner, one_versus_rest

__all__ = [
    "Center",
    "Expansion",
    "Pair",
    "Pairwise",
    "Vectors",
    "count_votes",
    "has_sure_winner",
    "one_versus_rest",
    "sides",
]
