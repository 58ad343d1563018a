"""What the weights of a problem say about the rows of the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Coefficients:
    """The function sum_r coef_r k(x_r, x) + intercept; r runs over the listed rows of the data."""

    rows: np.ndarray
    coef: np.ndarray
    intercept: float
