"""Fitted decision functions: what estimators hold, files save and predictions evaluate.

::

    Vectors ─┬─ Expansion    one function: SVR, OneClassSVM
             │     └─ Center     distances from a point: SVDD
             ├─ Outputs      several functions: SVR of several outputs
             └─ ByClass ─┬─ Pairwise       one function for each pair of classes: SVC
                         │     └─ votes
                         └─ AgainstRest    one function for each class: SVC(multiclass="ovr")

    Sums       of kernel values over groups of vectors, which all of them are made of
    Together   several models over the same vectors, evaluated as one
    Functions  those of several problems, from which models of several classes are made
    Scheme     which problems several classes are made into, and which of these models
"""

from .against_rest import AgainstRest
from .by_class import ByClass
from .center import Center
from .expansion import Expansion
from .functions import Functions, Name
from .outputs import Outputs
from .pairwise import Pair, Pairwise, sides
from .schemes import SCHEMES, Scheme, scheme_of
from .together import Together
from .vectors import Vectors
from .votes import count_votes, has_sure_winner, one_versus_rest

__all__ = [
    "SCHEMES",
    "AgainstRest",
    "ByClass",
    "Center",
    "Expansion",
    "Functions",
    "Name",
    "Outputs",
    "Pair",
    "Pairwise",
    "Scheme",
    "Together",
    "Vectors",
    "count_votes",
    "has_sure_winner",
    "one_versus_rest",
    "scheme_of",
    "sides",
]
