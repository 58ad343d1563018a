"""The data: ten real sets, the series w1a..w8a, the kinds, deformed digits, and a synthetic family that grows."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import digits, kinds
from .kinds import names
from .kinds import parameters as of_kinds

REAL = ("a9a", "w8a", "ijcnn1", "shuttle", "letter", "pendigits", "usps", "mnist", "reuters", "kddcup10")
WEB = tuple(f"w{k}a" for k in range(1, 9))
PARAMETERS = Path(__file__).parent / "parameters.toml"


@dataclass(frozen=True)
class Split:
    """Training and test rows."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: Any

    def astype(self, dtype: str) -> Split:
        return Split(self.X.astype(dtype), self.y, self.X_test.astype(dtype), self.y_test)


@dataclass(frozen=True)
class Synthetic:
    """Two classes separated by a quadratic in three random directions, so that only the size grows with m and n."""

    rows: int = 8000
    features: int = 20
    noise: float = 0.05  # of the labels are flipped
    density: float = 1.0

    @property
    def name(self) -> str:
        """What differs from the defaults, and the number of rows."""
        parts = [f"m={self.rows}"]
        parts += [f"{name}={getattr(self, name):g}" for name in ("features", "noise", "density") if name in self._own()]
        return " ".join(["synthetic", *parts])

    def _own(self) -> list[str]:
        return [f.name for f in fields(self) if getattr(self, f.name) != f.default]

    def load(self) -> Split:
        rng = np.random.default_rng(0)
        directions = rng.standard_normal((self.features, 3)) / np.sqrt(self.features * self.density)
        total = self.rows + max(self.rows // 4, 500)
        X = self._features(total, rng)
        u, v, w = np.asarray(X @ directions).T
        y = np.where(u + 2 * v * w > 0, 1, -1) * np.where(rng.random(total) < self.noise, -1, 1)
        return Split(X[: self.rows], y[: self.rows], X[self.rows :], y[self.rows :])

    def _features(self, total: int, rng: np.random.Generator) -> Any:
        if self.density == 1.0:
            return rng.standard_normal((total, self.features))
        shape = (total, self.features)
        return sp.csr_matrix(sp.random(*shape, self.density, "csr", rng=rng, data_rvs=rng.standard_normal))


SCALING: dict[str, list[Synthetic]] = {
    "rows": [Synthetic(rows=rows) for rows in (2000, 4000, 8000, 16000, 32000, 64000)],
    "features": [Synthetic(features=features) for features in (5, 10, 20, 40, 80, 160, 320, 640)],
    "noise": [Synthetic(noise=noise) for noise in (0.0, 0.05, 0.1, 0.2, 0.4)],
    "density": [Synthetic(features=1000, density=density) for density in (0.005, 0.01, 0.02, 0.05, 0.1)],
}


def load(name: str) -> Split:
    """A set by its name; OSError if a real set is missing."""
    if name.startswith("synthetic"):
        return synthetic(name).load()
    if digits.is_known(name):
        return Split(*digits.load(name))
    if names.is_known(name):
        return Split(*(_as_matrix(part) for part in kinds.load(name)))
    from swapsvm.datasets import load as load_real

    data = load_real(name)
    return Split(_as_matrix(data.X_train), data.y_train, _as_matrix(data.X_test), data.y_test)


def _as_matrix(X: Any) -> Any:
    """CSR matrix or C-ordered array: not all competitors accept sparse arrays."""
    return sp.csr_matrix(X) if sp.issparse(X) else np.ascontiguousarray(X)


def synthetic(name: str) -> Synthetic:
    """The member of the family that a name describes."""
    values = {key: float(value) for key, value in (word.split("=") for word in name.split()[1:])}
    features = int(values.pop("features", Synthetic.features))
    return Synthetic(int(values.pop("m")), features, **values)


def parameters_of(name: str, X: Any) -> tuple[float, float]:
    """C and gamma, common to all: tuned for real sets (those of w8a for the whole series) and for kinds."""
    if name.startswith("synthetic"):
        return 1.0, gamma_scale(X)
    if digits.is_known(name):
        return digits.PARAMETERS
    if names.is_known(name):
        return of_kinds.common(name, X, gamma_scale(X))
    tuned = tuned_parameters().get("w8a" if name in WEB else name)
    if tuned is None:
        raise LookupError(f"parameters.toml has no {name}: python -m benchmarks.tune --data {name}")
    return float(tuned["C"]), float(tuned["gamma"])


def parameters_by_loss(name: str, X: Any, own: bool) -> dict[str, tuple[float, float]]:
    """C and gamma for each loss: tuned for it alone, or the common pair."""
    return of_kinds.own(name) if own else dict.fromkeys(of_kinds.LOSSES, parameters_of(name, X))


@cache
def tuned_parameters() -> dict[str, Any]:
    return tomllib.loads(PARAMETERS.read_text())


def gamma_scale(X: Any) -> float:
    """1 / (n_features * variance of all values), including zeros that are not stored."""
    mean = X.mean()
    squares = X.multiply(X).mean() if sp.issparse(X) else (X * X).mean()
    return float(1.0 / (X.shape[1] * (squares - mean * mean)))
