"""Models of fewer support vectors."""

from .reduce import reduce_support

__all__ = ["reduce_support"]
