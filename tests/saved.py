"""Every estimator, fitted to little data: what tests of files save, export and judge."""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_iris

from swapsvm import SVC, SVCCV, SVDD, SVR, SVRCV, OneClassSVM, reduce_support
from swapsvm.kernels import Laplacian, Linear, Poly, Rbf, Sum

X, y = load_iris(return_X_y=True)
X, y = X[::3], y[::3]
target = X[:, 3] + 0.1 * X[:, 1]
targets = np.column_stack([target, X[:, 0] - X[:, 2], X[:, 1] ** 2])
TERMS = [
    (Rbf(gamma="scale"), slice(0, 2)),
    (Linear(), [3, 1]),
    (Poly(0.2, 1.0, 2), [False, True, True, False]),
    (Laplacian(0.3), 0),
]
SUM = Sum(TERMS, weights=[1.0, 0.5, 0.25, 2.0])


def reduced():
    model = SVC(C=4, gamma=0.2).fit(X, y)
    return reduce_support(model, X, y, max_vectors=9)


def reduced_regression():
    model = SVR(C=4, gamma=0.2, epsilon=0.01).fit(X, targets)
    return reduce_support(model, X, targets, max_vectors=9)


MAKERS = {
    "SVC": lambda: SVC(C=4, gamma=0.2).fit(X, y),
    "SVC of two classes": lambda: SVC(C=4, gamma=0.2).fit(X, y == 1),
    "SVC with few vectors": lambda: SVC(C=4, gamma=0.2, max_vectors=8).fit(X, y),
    "SVC against the rest": lambda: SVC(multiclass="ovr", gamma=0.2).fit(X, y),
    "reduced SVC": reduced,
    "reduced SVR of three outputs": reduced_regression,
    "SVR": lambda: SVR(C=4, gamma=0.2, epsilon=0.05).fit(X, target),
    "SVR with few vectors": lambda: SVR(C=4, gamma=0.2, max_vectors=8).fit(X, target),
    "SVR with a learned tube": lambda: SVR(C=4, gamma=0.2, epsilon="auto").fit(X, target),
    "SVR of sparse rows": lambda: SVR(C=4, kernel="poly", degree=2).fit(sp.csr_matrix(X), target),
    "SVR of an expectile": lambda: SVR(C=4, gamma=0.2, expectile=0.8, epsilon=0.0).fit(X, target),
    "SVR of three outputs": lambda: SVR(C=4, gamma=0.2, epsilon=0.05).fit(X, targets),
    "SVR of one column": lambda: SVR(kernel="linear", epsilon="auto").fit(sp.csr_array(X), targets[:, :1]),
    "SVR of three outputs with a sum": lambda: SVR(kernel=SUM).fit(X, targets),
    "SVR in batches": lambda: SVR(gamma=0.2).partial_fit(X[:30], targets[:30]).partial_fit(X[30:], targets[30:]),
    "SVC in batches": lambda: (
        SVC(gamma=0.2).partial_fit(X[::2], y[::2], classes=[0, 1, 2]).partial_fit(X[1::2], y[1::2])
    ),
    "SVC with broken ties": lambda: SVC(gamma=0.2, break_ties=True).fit(X, y),
    "SVC with a kernel object": lambda: SVC(kernel=Rbf(gamma="auto")).fit(X, y),
    "SVC with a sum": lambda: SVC(kernel=SUM).fit(X, y),
    "SVC of sparse rows with a sum": lambda: SVC(kernel=SUM, multiclass="ovr").fit(sp.csr_matrix(X), y),
    "SVR with a sum": lambda: SVR(kernel=SUM, max_vectors=9).fit(X, target),
    "OneClassSVM with a sum": lambda: OneClassSVM(kernel=SUM).fit(X),
    "SVDD with a sum": lambda: SVDD(kernel=SUM, contamination=0.2).fit(X),
    "SVCCV with a sum": lambda: SVCCV(kernel=SUM, Cs=[1, 4], cv=3).fit(X, y),
    "SVRCV of an expectile": lambda: SVRCV(Cs=2, kernel=Sum(TERMS), epsilons=1, cv=3, expectile=0.3).fit(X, target),
    "OneClassSVM": lambda: OneClassSVM(gamma=0.2, contamination=0.2).fit(X),
    "OneClassSVM, linear": lambda: OneClassSVM(kernel="linear", slack=0.1).fit(X.astype(np.float32)),
    "SVDD": lambda: SVDD(gamma=0.2, contamination=0.2).fit(X),
    "SVDD, linear": lambda: SVDD(kernel="linear", slack=0.0, contamination=0.2).fit(X),
    "SVCCV": lambda: SVCCV(Cs=[1, 4], gammas=[0.1, "scale"], cv=3).fit(X, y),
    "SVRCV": lambda: SVRCV(Cs=[1, 4], gammas=[0.1], epsilons=[0.05, "auto"], cv=3).fit(X, target),
}
METHODS = ("predict", "decision_function", "score_samples")


@cache
def fitted(name):
    """The model of this name; do not change it."""
    return MAKERS[name]()


def assert_same_predictions(model, again, rows):
    """To the last bit, by every method that the model has."""
    for method in (method for method in METHODS if hasattr(model, method)):
        np.testing.assert_array_equal(getattr(again, method)(rows), getattr(model, method)(rows), strict=True)
