"""Gaps of weights, recomputed from the definition of the problem (docs/mathematics.md), with a bound on the error.

Nothing here calls the package. Kernel values are those of the given numbers, float32 or float64, taken exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .arithmetic import Arithmetic


@dataclass(frozen=True)
class Values:
    """Kernel values, and the error of each in units of the arithmetic's epsilon."""

    values: np.ndarray
    errors: np.ndarray


@dataclass(frozen=True)
class Gap:
    """The quantities to be certified: the gap, its scale, the size of the terms that cancel in it, and its error."""

    gap: float
    scale: float
    size: float
    error: float


# ---- kernels ------------------------------------------------------------------------------------------------------


def kernel_values(arithmetic: Arithmetic, kernel: Any, X: np.ndarray, Z: np.ndarray) -> Values:
    """k(x, z) for the rows of two dense arrays; of a precomputed kernel, X."""
    if kernel.name == "precomputed":
        K = arithmetic.array(X)
        return Values(K, np.zeros(K.shape))
    if kernel.name in ("rbf", "laplacian"):
        return _of_distances(arithmetic, kernel, arithmetic.array(X), arithmetic.array(Z))
    return _of_products(arithmetic, kernel, arithmetic.array(X), arithmetic.array(Z))


def _of_distances(arithmetic: Arithmetic, kernel: Any, X: np.ndarray, Z: np.ndarray) -> Values:
    """Differences of two numbers are rounded once, so offsets cost no digits."""
    total = arithmetic.array(np.zeros((len(X), len(Z))))
    for x, z in zip(X.T, Z.T, strict=True):
        apart = x[:, None] - z[None, :]
        total = total + (apart * apart if kernel.name == "rbf" else np.abs(apart))
    exponent = arithmetic.array(kernel.gamma) * total
    K = arithmetic.exp(-exponent)
    return Values(K, _floats(K * (exponent * (X.shape[1] + 4) + 4)))


def _of_products(arithmetic: Arithmetic, kernel: Any, X: np.ndarray, Z: np.ndarray) -> Values:
    products, sizes = X @ Z.T, np.abs(X) @ np.abs(Z).T
    terms = X.shape[1] + 4
    if kernel.name == "linear":
        return Values(products, _floats(sizes) * terms)
    gamma, coef0 = arithmetic.array(kernel.gamma), arithmetic.array(kernel.coef0)
    base, size = gamma * products + coef0, _floats(gamma * sizes + abs(coef0))
    if kernel.name == "poly":
        degree = kernel.degree
        return Values(base**degree, degree * (terms + degree) * size**degree)
    return Values(arithmetic.tanh(base), terms * size + 2)


def _floats(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, np.float64)


# ---- gaps ---------------------------------------------------------------------------------------------------------


def simplex_gap(
    arithmetic: Arithmetic, kernel: Values, signs: np.ndarray, ridge: Any, a: Any, *, bias: int = 0, ball: bool = False
) -> Gap:
    """Of max c'a - a'Qa on the simplex, Q = ss'(K + bias) + diag(ridge), c = diag(K) for a ball, else 0.

    gap = max_i grad_i - a'grad with grad = c - 2Qa, at a divided by its sum.
    """
    s, D, a = arithmetic.array(signs), arithmetic.array(ridge), arithmetic.array(a)
    a = a / a.sum()
    K = kernel.values + bias
    c = np.diagonal(kernel.values) if ball else arithmetic.array(np.zeros(len(a)))
    h = s * (K @ (s * a)) + D * a
    slope = c - 2 * h
    gap, value = slope.max() - a @ slope, c @ a - a @ h
    scale = max(abs(value), a @ (D * a)) if ball else abs(value)
    sizes = 2 * (np.abs(K) @ a + D * a) + np.abs(c)  # of the terms of the slope
    noise = 2 * (kernel.errors @ _floats(a)) + (np.diagonal(kernel.errors) if ball else 0.0)
    error = 2 * float(np.max(noise + (len(a) + 8) * _floats(sizes))) * arithmetic.epsilon
    return Gap(float(gap), float(scale), float(max(abs(value), abs(c @ a), a @ np.abs(h))), error)


def primal_gap(
    arithmetic: Arithmetic,
    kernel: Values,
    signs: np.ndarray,
    ridge: Any,
    a: Any,
    level: float,
    *,
    bias: int = 0,
    ball: bool = False,
) -> Gap:
    """Primal minus dual of the problem of ``simplex_gap``, at w = sum a phi with this offset and the best slack.

    With s = Ka - c/2 and nu the offset: |w|^2 - 2 nu + sum_i max(nu - s_i, 0)^2 / D_i, minus the value. With a bias the
    problem is an SVM: f (P / D - 1) with P at w / nu and D = 1 / (2 f), f = a'Qa.
    """
    s, D, a = arithmetic.array(signs), arithmetic.array(ridge), arithmetic.array(a)
    a, nu, zero = a / a.sum(), arithmetic.array(level), arithmetic.array(np.zeros(len(a)))
    K = kernel.values + bias
    c = np.diagonal(kernel.values) if ball else zero
    margins = s * (K @ (s * a)) - c / 2
    norm, ridged = s * a @ (K @ (s * a)), a @ (D * a)
    soft = _floats(D) > 0
    missed, D = np.maximum(nu - margins, zero), np.where(soft, D, zero + 1)
    slack = np.where(soft, missed * missed / D, zero).sum()
    value = c @ a - norm - ridged
    primal, f = norm - 2 * nu + slack, norm + ridged
    gap = f * (f * (norm + slack) / (nu * nu) - 1) if bias else primal - value
    scale = max(abs(value), ridged) if ball else abs(value)
    noise = kernel.errors @ _floats(a) + (len(a) + 8) * _floats(np.abs(K) @ a) + 8 * _floats(np.abs(c) + abs(nu))
    noise = noise + (np.diagonal(kernel.errors) if ball else 0.0)
    sensitivity = np.where(soft, _floats(missed / D), 0.0) + 2 * _floats(a)
    size = float(abs(norm) + ridged + 2 * abs(nu) + slack + c @ a)
    factor = max(1.0, float(f / nu) ** 2) if bias else 1.0
    error = 4 * factor * float(sensitivity @ noise + (len(a) + 8) * size) * arithmetic.epsilon
    outside = bool((_floats(missed)[~soft] > noise[~soft] * arithmetic.epsilon).any())  # a row without slack
    return Gap(np.inf if outside else float(gap), float(scale), factor * size, error)


def tube_gap(
    arithmetic: Arithmetic, kernel: Values, c: Any, ridge: Any, b: Any, radius: Any = None, width: float | None = None
) -> Gap:
    """Of max c'b - b'Qb / 2 over b = (beta, beta*) >= 0, Q = [[K', -K'], [-K', K']] + diag(ridge), K' = K + 1.

    Without a radius: the primal value at w = sum b phi and the best slack variables, minus the dual value. With one,
    the sum of b is at most the radius, which is the price of the tube: radius * max(q, 0) - b'q with q = c - Qb; or,
    for a given width, primal minus dual at that width.
    """
    b, c, D, m = arithmetic.array(b), arithmetic.array(c), arithmetic.array(ridge), len(kernel.values)
    K, u = kernel.values + 1, b[:m] - b[m:]
    f = K @ u
    both = np.concatenate([f, -f])
    dual = c @ b - u @ f / 2 - b @ (D * b) / 2
    noise = kernel.errors @ _floats(np.abs(u)) + (m + 8) * _floats(np.abs(K) @ np.abs(u))
    if radius is None or width is not None:
        wide = arithmetic.array(width or 0.0)
        missed = np.maximum(c - both - wide, arithmetic.array(np.zeros(2 * m)))
        primal = u @ f / 2 + (missed * missed / D).sum() / 2 + (wide * arithmetic.array(radius) if width else 0)
        sensitivity = _floats(missed / D + b)
    else:
        q = c - both - D * b
        primal = arithmetic.array(radius) * max(q.max(), arithmetic.array(0.0)) + dual - b @ q
        sensitivity = _floats(b) + float(arithmetic.array(radius)) / m
    sizes = np.tile(noise, 2) + 8 * _floats(np.abs(c) + D * b)
    size = float(abs(primal) + abs(dual) + np.abs(c) @ b)
    error = 4 * float(sensitivity @ sizes + (m + 8) * size) * arithmetic.epsilon
    return Gap(float(primal - dual), float(abs(dual)), size, error)
