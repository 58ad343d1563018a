"""The data sets of [SWAP14] and a reader of their format.

::

    load ── registry ── files ── svmlight (core)
      │                   │
    recipes            download
"""

from .loading import Dataset, load
from .registry import DatasetError, registry
from .svmlight import read_svmlight

__all__ = ["Dataset", "DatasetError", "load", "names", "read_svmlight"]


def names() -> list[str]:
    """The names that ``load`` knows.

    Returns
    -------
    list of str
    """
    return list(registry())
