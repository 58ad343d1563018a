"""Named tasks that take time and memory, for tests of limits and signals.

Each task is made for a number of rows, with its data, and then run with the given parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from swapsvm import SVC, SVDD, SVR, OneClassSVM, geometry

Random = np.random.Generator
ENDLESS = {"tol": 0.0, "eps": 0.0}  # a gap of 0 is never reached


def rows(m: int, d: int = 20, *, sparse: bool = False) -> Any:
    """Normal rows, the same ones for the same size."""
    X = np.random.default_rng(m * 1000 + d).normal(size=(m, d))
    return sp.csr_matrix(X * (X > 0.5)) if sparse else X


def labels(m: int, classes: int = 2) -> np.ndarray:
    """Labels that no model can learn: the hardest fit."""
    return np.random.default_rng(m).integers(classes, size=m)


Work = Callable[..., Any]  # takes the parameters of the run


def svc(m: int, classes: int = 2) -> Work:
    X, y = rows(m), labels(m, classes)
    return lambda **options: SVC(C=1e3, gamma=0.02, **options).fit(X, y)


def sparse_svc(m: int, spread: int = 1) -> Work:
    """Few entries in up to millions of columns; rows are scattered when they are multiplied."""
    X, y = rows(m, 50, sparse=True), labels(m)
    wide = sp.csr_matrix((X.data, X.indices * spread, X.indptr), shape=(m, 50 * spread))
    return lambda **options: SVC(C=1e3, gamma=0.02, **options).fit(wide, y)


def svr(m: int) -> Work:
    X = rows(m)
    return lambda **options: SVR(C=1e3, gamma=0.02, epsilon=0.01, **options).fit(X, X[:, 0] * 3)


def detector(cls: Any, m: int) -> Work:
    X = rows(m)
    return lambda **options: cls(slack=1e-3, gamma=0.02, **options).fit(X)


ESTIMATORS: dict[str, Callable[[int], Work]] = {
    "SVC": svc,
    "SVC, CSR": sparse_svc,
    "SVC, wide CSR": lambda m: sparse_svc(m, spread=100_003),
    "SVC, 4 classes": lambda m: svc(m, 4),
    "SVR": svr,
    "OneClassSVM": lambda m: detector(OneClassSVM, m),
    "SVDD": lambda m: detector(SVDD, m),
}


def ball(m: int) -> Work:
    X = rows(10 * m, 8)
    return lambda **options: geometry.min_enclosing_ball(X, tol=1e-12, **options)


def ellipsoid(m: int) -> Work:
    X = rows(10 * m, 8)
    return lambda **options: geometry.min_enclosing_ellipsoid(X, tol=1e-9, **options)


def distance(m: int) -> Work:
    P, Q = rows(m, 30), rows(m, 30) + 2
    return lambda **options: geometry.polytope_distance(P, Q, tol=1e-9, **options)


GEOMETRY: dict[str, Callable[[int], Work]] = {"ball": ball, "ellipsoid": ellipsoid, "distance": distance}


def predict(m: int, classes: int, jobs: int) -> Work:
    """The decision values of many rows, by a model with many support vectors."""
    model, X = svc(m, classes)(max_iter=1, start_size=m, n_jobs=jobs), rows(20 * m)
    return lambda: model.decision_function(X)


def warm_up() -> None:
    """Import everything that the tasks need, without starting a thread."""
    for name in ESTIMATORS:
        ESTIMATORS[name](50)(max_iter=2, n_jobs=1)
    for name in GEOMETRY:
        GEOMETRY[name](50)(max_iter=2)
