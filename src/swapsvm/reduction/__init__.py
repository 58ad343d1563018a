"""Models of fewer support vectors."""

from .reduce import reduce_support as reduce_support
