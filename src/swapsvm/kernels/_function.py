"""Kernel values from a function of two blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._base import Kernel


@dataclass(frozen=True)
class Function(Kernel):
    """``function(X, Z)`` returns the block of kernel values of the rows of X against those of Z."""

    function: Callable[[Any, Any], Any]

    name = "function"

    def block(self, X: Any, Z: Any, dtype: Any) -> np.ndarray:
        """The values as a checked C-contiguous array."""
        values = np.ascontiguousarray(self.function(X, Z), dtype=dtype)
        if values.shape != (X.shape[0], Z.shape[0]):
            raise ValueError(
                f"the kernel function returned an array of shape {values.shape} "
                f"for {X.shape[0]} x {Z.shape[0]} rows: expected {(X.shape[0], Z.shape[0])}"
            )
        if not np.isfinite(values).all():
            raise ValueError("the kernel function returned values that are not finite")
        return values
