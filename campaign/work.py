"""Pieces of work that take a while and some memory, by name: what limits and signals are tried on."""

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


Work = Callable[..., Any]


def svc(m: int, **options: Any) -> Any:
    return SVC(C=1e3, gamma=0.02, **options).fit(rows(m), labels(m))


def sparse_svc(m: int, **options: Any) -> Any:
    return SVC(C=1e3, gamma=0.02, **options).fit(rows(m, 50, sparse=True), labels(m))


def wide_svc(m: int, **options: Any) -> Any:
    """Few entries in millions of columns: rows are spread out where they are multiplied."""
    X = rows(m, 50, sparse=True)
    wide = sp.csr_matrix((X.data, X.indices * 100_003, X.indptr), shape=(m, 50 * 100_003))
    return SVC(C=1e3, gamma=0.02, **options).fit(wide, labels(m))


def multiclass(m: int, **options: Any) -> Any:
    return SVC(C=1e3, gamma=0.02, **options).fit(rows(m), labels(m, 4))


def svr(m: int, **options: Any) -> Any:
    return SVR(C=1e3, gamma=0.02, epsilon=0.01, **options).fit(rows(m), rows(m)[:, 0] * 3)


def one_class(m: int, **options: Any) -> Any:
    return OneClassSVM(slack=1e-3, gamma=0.02, **options).fit(rows(m))


def svdd(m: int, **options: Any) -> Any:
    return SVDD(slack=1e-3, gamma=0.02, **options).fit(rows(m))


ESTIMATORS: dict[str, Work] = {
    "SVC": svc,
    "SVC, CSR": sparse_svc,
    "SVC, wide CSR": wide_svc,
    "SVC, 4 classes": multiclass,
    "SVR": svr,
    "OneClassSVM": one_class,
    "SVDD": svdd,
}


def ball(m: int, **options: Any) -> Any:
    return geometry.min_enclosing_ball(rows(10 * m, 8), tol=1e-12, **options)


def ellipsoid(m: int, **options: Any) -> Any:
    return geometry.min_enclosing_ellipsoid(rows(10 * m, 8), tol=1e-9, **options)


def distance(m: int, **options: Any) -> Any:
    return geometry.polytope_distance(rows(m, 30), rows(m, 30) + 2, tol=1e-9, **options)


GEOMETRY: dict[str, Work] = {"ball": ball, "ellipsoid": ellipsoid, "distance": distance}


def predict(m: int, classes: int, **options: Any) -> Work:
    """The decision values of many rows, by a model with many support vectors."""
    model = SVC(C=1e3, gamma=0.02, max_iter=1, start_size=m, **options).fit(rows(m), labels(m, classes))
    return lambda: model.decision_function(rows(20 * m))
