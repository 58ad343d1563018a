"""Bounds of geometry: norm point, distance of polytopes, enclosing ball and ellipsoid, from their weights."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from swapsvm import geometry

from .arithmetic import Arithmetic, Exact, Extended
from .outcome import Outcome
from .problems import Random, power

SLACK = 1e-9  # relative
TINY = 1e-15  # of the size of the points
MAX_TIME = 0.5


def trial(rng: Random) -> Outcome:
    """One adversarial set of points, for one of the four functions."""
    name = str(rng.choice(list(JUDGES)))
    points = [draw_points(rng) for _ in range(2)]
    if name == "polytope_distance":
        width = min(p.shape[1] for p in points)
        points = [p[:, :width] for p in points]
        points[1] = points[1] + points[1].dtype.type(rng.normal() * power(rng, -8, 4))
    given = points if name == "polytope_distance" else points[:1]
    options = {"tol": power(rng, -8, -1), "solver": str(rng.choice(["block", "fcfw", "fw", "swap2"]))}
    about = f"{name}({options}) on {[(p.shape, str(p.dtype), f'{np.abs(p).max():.1e}') for p in given]}"
    try:
        found = getattr(geometry, name)(*given, max_time=MAX_TIME, **options)
    except ValueError as error:
        return Outcome(name, "refused", str(error))
    except Exception as error:
        return Outcome(name, "error", f"{type(error).__name__}: {error}; {about}")
    complaint = judge(name, given, found, options["tol"])
    verdict = "held" if not complaint else "understated" if importlib.util.find_spec("gmpy2") else "undecided"
    return Outcome(name, verdict, f"{complaint}; {about}" if complaint else "")


def draw_points(rng: Random) -> np.ndarray:
    m, d = int(rng.integers(1, 200)), int(rng.integers(1, 5))
    X = rng.normal(size=(m, d)) if rng.random() < 0.6 else rng.integers(-3, 4, size=(m, d)).astype(float)
    X *= power(rng, -8, 8) if rng.random() < 0.5 else 1.0
    X[:, 0] *= power(rng, -6, 0) if rng.random() < 0.3 else 1.0
    X += rng.normal(size=d) * (power(rng, 0, 8) if rng.random() < 0.5 else 0.0)
    return X.astype(np.float32 if rng.random() < 0.3 else np.float64)


def judge(name: str, points: list[np.ndarray], found: Any, tol: float) -> str:
    """What is wrong with a result, or an empty string; confirmed with many digits where gmpy2 is installed."""
    if not np.isfinite([found.lower_bound, found.upper_bound]).all() or found.lower_bound > found.upper_bound:
        return f"bounds {found.lower_bound!r} and {found.upper_bound!r}"
    if found.stop_reason == "gap" and found.upper_bound > (1 + tol) * found.lower_bound * (1 + 1e-12):
        return f"stopped by the gap between {found.lower_bound!r} and {found.upper_bound!r}"
    complaint = JUDGES[name](Extended, points, found)
    return JUDGES[name](Exact(), points, found) if complaint and importlib.util.find_spec("gmpy2") else complaint


def _exceeds(value: Any, bound: Any, size: Any) -> bool:
    return bool(value > bound * (1 + SLACK) + TINY * size)


def _between(found: Any, lower: Any, upper: Any, size: Any) -> str:
    """The reported bounds must not be closer than those that the weights prove."""
    if _exceeds(found.lower_bound, max(lower, 0 * lower), size):
        return f"lower bound {found.lower_bound!r}, proved {float(lower)!r}"
    if _exceeds(upper, found.upper_bound, size):
        return f"upper bound {found.upper_bound!r}, true {float(upper)!r}"
    return ""


def _mean(arithmetic: Arithmetic, weights: np.ndarray, X: np.ndarray) -> Any:
    a = arithmetic.array(weights)
    return (a / a.sum()) @ X


def _norm(arithmetic: Arithmetic, w: np.ndarray) -> Any:
    return arithmetic.sqrt(w @ w)


def judge_norm_point(arithmetic: Arithmetic, points: list[np.ndarray], found: Any) -> str:
    Z = arithmetic.array(points[0])
    w = _mean(arithmetic, found.weights, Z)
    length, size = _norm(arithmetic, w), np.abs(Z).max() * Z.shape[1]
    lower = (Z @ w).min() / length if length > 0 else 0 * length
    return _between(found, lower, length, size)


def judge_distance(arithmetic: Arithmetic, points: list[np.ndarray], found: Any) -> str:
    P, Q = (arithmetic.array(p) for p in points)
    w = _mean(arithmetic, found.weights[0], P) - _mean(arithmetic, found.weights[1], Q)
    length, size = _norm(arithmetic, w), max(np.abs(P).max(), np.abs(Q).max()) * P.shape[1]
    lower = ((P @ w).min() - (Q @ w).max()) / length if length > 0 else 0 * length
    if found.normal is not None:
        normal, offset = arithmetic.array(found.normal), arithmetic.array(found.offset)
        room = 64 * np.finfo(float).eps * size
        if (P @ normal).min() < offset - room or (Q @ normal).max() > offset + room:
            return "the hyperplane does not separate"
    return _between(found, lower, length, size)


def judge_ball(arithmetic: Arithmetic, points: list[np.ndarray], found: Any) -> str:
    X, center = arithmetic.array(points[0]), arithmetic.array(found.center)
    mean = _mean(arithmetic, found.weights, X)
    a = arithmetic.array(found.weights)
    lower = arithmetic.sqrt((a / a.sum()) @ ((X - mean) ** 2).sum(axis=1))
    farthest = arithmetic.sqrt(((X - center) ** 2).sum(axis=1).max())
    if farthest > found.radius:
        return f"a point is {float(farthest / found.radius) - 1:.1e} of the radius outside"
    return _between(found, lower, farthest, farthest)


def judge_ellipsoid(arithmetic: Arithmetic, points: list[np.ndarray], found: Any) -> str:
    X, M = arithmetic.array(points[0]), arithmetic.array(found.matrix)
    apart = X - arithmetic.array(found.center)
    d, farthest = X.shape[1], ((apart @ M) * apart).sum(axis=1).max()
    if farthest > 1:
        return f"a point is outside: {float(farthest) - 1:.1e}"
    a = arithmetic.array(found.weights)
    around = X - _mean(arithmetic, found.weights, X)
    S = around.T @ ((a / a.sum())[:, None] * around)
    ball = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    upper = ball / arithmetic.sqrt(determinant(arithmetic, M))
    lower = ball * arithmetic.sqrt(determinant(arithmetic, S) * d**d)
    return _between(found, lower, upper, 100 * upper)


def determinant(arithmetic: Arithmetic, M: np.ndarray) -> Any:
    """Of a symmetric positive definite matrix, by elimination."""
    rest, product = M.copy(), arithmetic.array(1.0)
    while len(rest):
        product = product * rest[0, 0]
        rest = rest[1:, 1:] - np.outer(rest[1:, 0], rest[0, 1:]) / rest[0, 0]
    return product


JUDGES: dict[str, Callable[..., str]] = {
    "min_norm_point": judge_norm_point,
    "polytope_distance": judge_distance,
    "min_enclosing_ball": judge_ball,
    "min_enclosing_ellipsoid": judge_ellipsoid,
}
