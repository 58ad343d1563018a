"""Quadratics on the simplex, as passed to the package and as defined by NumPy."""

from dataclasses import dataclass

import numpy as np

from swapsvm import Gram
from swapsvm.kernels import Linear
from swapsvm.problems import L2SVC, Ball, OneClass, Quadratic

from . import reference
from .walking import as_concave


@dataclass(frozen=True)
class Case:
    """maximize -a'Qa + c'a; for an L2-SVM also its kernel values, labels and rows."""

    problem: Quadratic
    Q: np.ndarray
    c: np.ndarray | None = None
    K: np.ndarray | None = None
    y: np.ndarray | None = None

    def by(self, path):
        """The problem for the compiled core, or the same function for the general state."""
        return self.problem if path == "compiled" else as_concave(self.Q, self.c)

    @property
    def constant_diagonal(self):
        return np.ptp(np.diag(self.Q)) <= 1e-6 * np.diag(self.Q).max()

    @property
    def best(self):
        """The optimal value."""
        return reference.value(self.Q, reference.exact_weights(self.Q, self.c), self.c)


def svm(X, positive, C, kernel, weights=None):
    """The L2-SVM whose first ``positive`` rows are the class +1."""
    m = len(X)
    gram = Gram(kernel, X, groups=[np.arange(positive), np.arange(positive, m)], n_threads=1)
    y = np.where(np.arange(m) < positive, 1.0, -1.0)
    K = reference.kernel_values(kernel, X)
    return Case(L2SVC.of(gram, 0, 1, C, weights), reference.l2_svm_matrix(K, y, C, weights), K=K, y=y)


def one_class(X, C, kernel, weights=None):
    """-a'(K + ridge)a."""
    K = reference.kernel_values(kernel, X)
    problem = OneClass.of(Gram(kernel, X, n_threads=1), C, weights)
    return Case(problem, reference.slack_matrix(K, C, weights), K=K)


def ball(X, C, kernel, weights=None):
    """diag(K)'a - a'(K + ridge)a."""
    K = reference.kernel_values(kernel, X)
    problem = Ball.of(Gram(kernel, X, n_threads=1), C, weights)
    return Case(problem, reference.slack_matrix(K, C, weights), np.diag(K), K=K)


def points(Z, linear=None):
    """-|Z'a|^2 + c'a, points in the rows of Z: without c, the minimum norm problem."""
    return Case(Quadratic(Gram(Linear(), Z, n_threads=1), linear=linear), Z @ Z.T, linear)


def matrix(Q, linear=None):
    """-a'Qa + c'a."""
    return Case(Quadratic.of_matrix(Q, linear), np.asarray(Q, dtype=float), linear)


def random_rows(m, d, seed=0):
    """Normal entries."""
    return np.random.default_rng(seed).normal(size=(m, d))


def overlapping_rows(m, d=3, seed=0):
    """Two classes of m rows each, the first shifted."""
    X = random_rows(2 * m, d, seed)
    X[:m, 0] += 1.0
    return X


def on_simplex(weights, atol=1e-12):
    """Whether these weights are a point of the simplex."""
    return weights.min() >= 0 and abs(weights.sum() - 1.0) <= atol
