"""The data sets of [SWAP14], a reader of their format, and rows in several files.

::

    load ── registry ── files ── svmlight (core) ─┐
      │                   │      csr_files ───────┼─ parts ── items ── Shards
    recipes            download  parquet_files ───┤
                                 array_files ─────┘
"""

from .loading import Dataset, load
from .registry import DatasetError, registry
from .shards import Shards
from .svmlight import read_svmlight

__all__ = ["Dataset", "DatasetError", "Shards", "load", "names", "read_svmlight"]


def names() -> list[str]:
    """The names that ``load`` knows.

    Returns
    -------
    list of str
    """
    return list(registry())
