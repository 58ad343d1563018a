"""Arithmetic of the judges: the longest floats of the machine, or 400 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

BITS = 400


class Extended:
    """``np.longdouble``: 64 bits of mantissa on x86, where double has 53."""

    epsilon = float(np.finfo(np.longdouble).eps)
    exp, tanh, sqrt, log = np.exp, np.tanh, np.sqrt, np.log

    @staticmethod
    def array(values: Any) -> np.ndarray:
        return np.asarray(values, np.longdouble)


class Exact:
    """MPFR numbers of 400 bits in object arrays, for the cases that ``Extended`` cannot decide."""

    epsilon = 2.0 ** (8 - BITS)

    def __init__(self) -> None:
        import gmpy2

        gmpy2.get_context().precision = BITS
        self._number = np.frompyfunc(gmpy2.mpfr, 1, 1)
        for name in ("exp", "tanh", "sqrt", "log"):
            setattr(self, name, np.frompyfunc(getattr(gmpy2, name), 1, 1))

    def array(self, values: Any) -> np.ndarray:
        """float32 and float64 unchanged; other types have no exact numbers."""
        given = np.asarray(values)
        return given if given.dtype == object else np.asarray(self._number(given.astype(np.float64)), object)


Arithmetic = Any  # Extended or Exact
