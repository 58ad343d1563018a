"""Types of the arrays that modules hand to each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike as ArrayLike

CsrMatrix: TypeAlias = sp.csr_array | sp.csr_matrix
Matrix: TypeAlias = np.ndarray | CsrMatrix  # validated rows: float32 or float64, C-contiguous or CSR
MatrixLike: TypeAlias = ArrayLike | CsrMatrix  # what users pass before it is validated
KernelFunction: TypeAlias = Callable[[Matrix, Matrix], ArrayLike]  # two blocks of rows -> the block of their values
