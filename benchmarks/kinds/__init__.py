"""Kinds of data: generators that look like real data of a kind, and the list of kinds with their sets.

::

    listing          the kinds and their sets
    names            a set by its name
    ├── generators, held_back_generators
    └── real         files, scikit-learn
"""

from .listing import DEVELOPMENT, HELD_BACK, KINDS, Kind, kind_of
from .names import family, load

__all__ = ["DEVELOPMENT", "HELD_BACK", "KINDS", "Kind", "family", "kind_of", "load"]
