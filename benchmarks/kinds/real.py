"""Real sets that are not among the ten of the peers: those of scikit-learn, and files without test rows of their own.

A quarter of the rows, drawn at random by class, are test rows; features are standardized by the training rows. Targets
of a regression become two classes: above the median or not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

Parts = tuple[Any, np.ndarray, Any, np.ndarray]


def bundled(name: str) -> Callable[[], Parts]:
    def load() -> Parts:
        from sklearn import datasets

        return parts_of(*getattr(datasets, f"load_{name}")(return_X_y=True))

    return load


def from_file(name: str, above_median: bool = False) -> Callable[[], Parts]:
    def load() -> Parts:
        from swapsvm.datasets import load as load_real

        data = load_real(name)
        y = np.where(data.y_train > np.median(data.y_train), 1, -1) if above_median else data.y_train
        X = data.X_train.toarray() if sp.issparse(data.X_train) else data.X_train
        return parts_of(np.asarray(X, np.float64), y)

    return load


def parts_of(X: np.ndarray, y: np.ndarray) -> Parts:
    from sklearn.model_selection import train_test_split

    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
    centre, spread = X.mean(axis=0), X.std(axis=0)
    spread[spread == 0] = 1.0
    return (X - centre) / spread, y, (X_test - centre) / spread, y_test


SETS: dict[str, Callable[[], Parts]] = {
    **{name: bundled(name) for name in ("iris", "wine", "digits", "breast_cancer")},
    "protein-val": from_file("protein-val"),
    "abalone above median": from_file("abalone", above_median=True),
    "cadata above median": from_file("cadata", above_median=True),
}
