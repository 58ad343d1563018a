"""The interface of a competitor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np


class Competitor(ABC):
    """An RBF support vector classifier at its default settings, with C and gamma given: renew, fit, predict."""

    name: str
    module: str  # to import
    distribution: str  # to install
    loss: str = "hinge"  # or "squared_hinge"

    def __init__(self, C: float, gamma: float, threads: int, **options: Any) -> None:
        self.C, self.gamma, self.threads, self.options = C, gamma, threads, options

    @classmethod
    def is_installed(cls) -> bool:
        return find_spec(cls.module) is not None

    @classmethod
    def version(cls) -> str:
        try:
            return version(cls.distribution)
        except PackageNotFoundError:
            return "absent"

    @abstractmethod
    def make(self) -> Any:
        """An unfitted estimator."""

    def convert(self, X: Any, y: np.ndarray) -> tuple[Any, Any]:
        """Convert the rows to the competitor's format; not timed."""
        return X, y

    def renew(self) -> None:
        """Discard the last fit; not timed."""
        self.model = self.make()

    def fit(self, X: Any, y: Any) -> None:
        self.model.fit(X, y)

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict(X)

    def support_size(self) -> int:
        return int(np.sum(self.model.n_support_))

    def details(self, y: np.ndarray) -> dict[str, Any]:
        """Results that only this competitor reports."""
        return {}
