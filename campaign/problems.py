"""Problems that are numerically hard: extreme scales, offsets, duplicates, contradictions, weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from swapsvm import SVC, SVDD, SVR, OneClassSVM
from swapsvm.kernels import make_kernel

ESTIMATORS = {"SVC": SVC, "SVR": SVR, "OneClassSVM": OneClassSVM, "SVDD": SVDD}
KERNELS = ("rbf", "rbf", "linear", "poly", "laplacian", "sigmoid", "precomputed")
SOLVERS = ("block", "block", "block", "fw", "mfw", "swap", "swap2", "fcfw", "cvm")
MAX_TIME = 0.5  # seconds of a fit

Random = np.random.Generator


@dataclass(frozen=True)
class Problem:
    """The input of a fit."""

    estimator: str
    parameters: dict[str, Any]
    X: Any
    y: np.ndarray | None = None
    weights: np.ndarray | None = None

    @property
    def model(self) -> Any:
        """The estimator, not yet fitted."""
        return ESTIMATORS[self.estimator](**self.parameters)

    @property
    def rows(self) -> np.ndarray:
        """X as a dense array."""
        return dense(self.X)

    def __str__(self) -> str:
        shown = {name: value for name, value in self.parameters.items() if name not in ("n_jobs", "max_time")}
        storage = "CSR" if sp.issparse(self.X) else "dense"
        words = [
            f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}" for name, value in shown.items()
        ]
        size = f"{self.X.shape[0]}x{self.X.shape[1]} {self.X.dtype} {storage}, largest {abs(self.X).max():.1e}"
        return f"{self.estimator}({', '.join(words)}) on {size}{', weights' * (self.weights is not None)}"


def dense(X: Any) -> np.ndarray:
    """Rows as a dense array, without empty columns of wide data: they do not affect kernel values."""
    if not sp.issparse(X):
        return np.asarray(X)
    used = np.unique(X.indices) if X.shape[1] > 1000 else np.arange(X.shape[1])
    return np.asarray(X[:, used].toarray())


def power(rng: Random, low: float, high: float) -> float:
    """A number between 10^low and 10^high, uniform in its logarithm."""
    return float(10.0 ** rng.uniform(low, high))


def draw_problem(rng: Random) -> Problem:
    """An adversarial problem of some estimator."""
    estimator = str(rng.choice(list(ESTIMATORS), p=[0.5, 0.2, 0.15, 0.15]))
    X, scale = draw_rows(rng)
    parameters = draw_parameters(rng, estimator, scale)
    if parameters["kernel"] == "precomputed":
        X = precomputed(rng, X, scale)
    return Problem(estimator, parameters, X, draw_targets(rng, estimator, X), draw_weights(rng, X.shape[0]))


def draw_rows(rng: Random) -> tuple[Any, float]:
    """Rows of one type and storage, and the size of their differences."""
    m = (
        int(rng.integers(1030, 1400))
        if rng.random() < 0.02
        else int(rng.integers(4, 10 ** rng.integers(1, 4) // 4 + 8))
    )
    d = int(rng.integers(1, 9))
    X = rng.normal(size=(m, d)) if rng.random() < 0.7 else rng.integers(-2, 3, size=(m, d)).astype(float)
    if rng.random() < 0.3:
        X = X[rng.integers(m, size=m)]  # duplicates
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = X[0, 0]
    scale = power(rng, -8, 8) if rng.random() < 0.4 else 1.0
    X *= scale
    if rng.random() < 0.4:
        X += rng.normal(size=d if rng.random() < 0.5 else 1) * power(rng, 0, 8)
    if rng.random() < 0.2:
        X[:, rng.integers(d)] *= power(rng, -6, 6)
    dtype = np.float32 if rng.random() < 0.4 else np.float64
    if rng.random() < 0.35:
        X = sp.csr_matrix(X * (rng.random(size=X.shape) < rng.uniform(0.2, 1.2)), dtype=dtype)
        return (widened(rng, X) if rng.random() < 0.02 else X), scale
    return X.astype(dtype), scale


def widened(rng: Random, X: sp.csr_matrix) -> sp.csr_matrix:
    """The same entries far apart, in up to 2^26 columns."""
    most = int(power(rng, 5, 6)) if rng.random() < 0.9 else int(rng.integers(2**25, 2**26))
    columns = np.sort(np.append(rng.integers(most, size=X.shape[1] - 1), most)).astype(np.int32)
    return sp.csr_matrix((X.data, columns[X.indices], X.indptr), shape=(X.shape[0], int(columns[-1]) + 1))


def draw_parameters(rng: Random, estimator: str, scale: float) -> dict[str, Any]:
    """Parameters of the problem and of the run."""
    kernel, solver = str(rng.choice(KERNELS)), str(rng.choice(SOLVERS))
    parameters = {
        "kernel": kernel,
        "solver": solver,
        "tol": power(rng, -8, -1),
        "gamma": draw_gamma(rng, scale),
        "max_time": MAX_TIME,
        "n_jobs": 1,
    }
    if kernel in ("poly", "sigmoid"):
        parameters |= {"coef0": float(rng.choice([0.0, 1.0])), "degree": int(rng.integers(1, 4))}
    if estimator in ("SVC", "SVR"):
        parameters["C"] = power(rng, -6, 12 if estimator == "SVC" else 9) if rng.random() < 0.6 else power(rng, -1, 3)
    else:
        parameters["slack"] = 0.0 if rng.random() < 0.1 else power(rng, -9, 1)
    if estimator == "SVR":
        parameters["epsilon"] = "auto" if rng.random() < 0.4 else float(rng.choice([0.0, power(rng, -6, 2)]))
    if solver not in ("block", "fcfw", "cvm") and rng.random() < 0.2:
        parameters["sampling"] = 59
    return parameters


def draw_gamma(rng: Random, scale: float) -> float | str:
    """A rule, a number that suits the rows, or any number."""
    choice = rng.random()
    if choice < 0.2:
        return str(rng.choice(["scale", "auto", "mean_sq_dist", "cvm"]))
    return power(rng, -2, 2) / scale**2 if choice < 0.6 else power(rng, -8, 8)


def draw_targets(rng: Random, estimator: str, X: Any) -> np.ndarray | None:
    """Labels or targets: learnable, random or contradictory."""
    m = X.shape[0]
    if estimator == "SVR":
        noise = rng.normal(size=m) * power(rng, -6, 1)
        return (np.sin(np.arange(m)) + noise) * power(rng, -3, 6) + (rng.random() < 0.3) * power(rng, 0, 6)
    if estimator != "SVC":
        return None
    classes = 2 if rng.random() < 0.7 else int(rng.integers(3, 5))
    first = dense(X[:, [0]]).ravel()
    ranks = np.argsort(np.argsort(first)) * classes // m
    y = np.where(rng.random(m) < rng.choice([0.0, 0.1, 1.0]), rng.integers(classes, size=m), ranks)
    y[:classes] = np.arange(classes)
    return y


def draw_weights(rng: Random, m: int) -> np.ndarray | None:
    """None, or weights of a ratio up to 10^12, some of them 0."""
    if rng.random() < 0.7:
        return None
    weights = 10.0 ** rng.uniform(-6, 6, size=m)
    return np.where(rng.random(m) < 0.1, 0.0, weights) if rng.random() < 0.3 else weights


def precomputed(rng: Random, X: Any, scale: float) -> np.ndarray:
    """A kernel matrix of these rows, in the type of the data."""
    rows = dense(X).astype(np.float64)
    if rng.random() < 0.5:
        K = rows @ rows.T
    else:
        gamma = make_kernel("rbf", gamma=power(rng, -2, 2) / scale**2).gamma
        K = np.exp(-gamma * ((rows[:, None] - rows[None]) ** 2).sum(axis=2))
    K = (K + K.T) / 2
    return K.astype(X.dtype) if np.isfinite(K.astype(X.dtype)).all() else K
