"""Models of fewer support vectors."""

from .reduce import OF_DETECTORS as OF_DETECTORS
from .reduce import reduce_support as reduce_support
