"""Certificates are upper bounds: each is recomputed from the weights alone, in extended precision."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import shapes, truth
from .arithmetic import Arithmetic, Exact, Extended
from .outcome import Outcome
from .problems import MAX_TIME, Problem, draw_problem

SLACK = 1e-9  # relative, of a reported gap
TINY = 1e-15  # of the numbers that a gap is a difference of
MOST_EXACT = 300_000  # kernel values times features that are computed with many digits
UNDERFLOW = 1e-30  # kernel values below this can be 0 in single precision
SPREAD = 0.1  # standard deviations of y by which residuals exceed a learned tube


@dataclass(frozen=True)
class Claim:
    """A certificate: the result of a run, and the variables of its weights."""

    result: Any
    rows: np.ndarray
    signs: np.ndarray
    costs: np.ndarray  # sample weights of the rows


class Certificates:
    """Fits of adversarial problems."""

    name = "certificates"
    patience = 20.0

    def prepare(self) -> None:
        pass

    def trial(self, rng: np.random.Generator) -> Outcome:
        if rng.random() < 0.2:
            return shapes.trial(rng)
        return judged_fit(draw_problem(rng))

    def material(self, rng: np.random.Generator) -> Outcome:
        if rng.random() < 0.2:
            return Outcome("geometry", "")
        problem = draw_problem(rng)
        return Outcome(problem.estimator, "", str(problem))


PART = Certificates()


def judged_fit(problem: Problem) -> Outcome:
    """Fit, and judge the claims of the model."""
    model, began = problem.model, time.process_time()
    try:
        arguments = (problem.X,) if problem.y is None else (problem.X, problem.y)
        model.fit(*arguments, sample_weight=problem.weights)
    except ValueError as error:
        return Outcome(problem.estimator, "refused", str(error))
    except Exception as error:
        return Outcome(problem.estimator, "error", f"{type(error).__name__}: {error}; {problem}")
    took = time.process_time() - began
    outcome = judge(problem, model)
    if not outcome.is_fault and took > MAX_TIME + max(0.1 * MAX_TIME, 0.5):
        return Outcome(problem.estimator, "late", f"{took:.1f} CPU s of {MAX_TIME}; {problem}", outcome.number)
    return outcome


def judge(problem: Problem, model: Any) -> Outcome:
    """The verdict on the claims of a fitted model."""
    complaint = broken_claim(problem, model)
    if complaint:
        return Outcome(problem.estimator, "claim", f"{complaint}; {problem}")
    for claim in claims_of(problem, model):
        outcome = judged_gap(problem, model, claim)
        if outcome.verdict != "held":
            return outcome
    apart = prediction_error(problem, model)
    if apart > (1e-9 if problem.X.dtype == np.float64 else 1e-3):
        return Outcome(problem.estimator, "prediction", f"differs by {apart:.1e}; {problem}")
    return outcome


def broken_claim(problem: Problem, model: Any) -> str:
    """What is wrong with the numbers themselves, if anything."""
    tol = problem.parameters["tol"]
    for result in model.results_:
        if not (np.isfinite([result.gap, result.value]).all() and np.isfinite(result.weights).all()):
            return f"not finite: gap {result.gap}, value {result.value}"
        if result.gap < 0 or result.relative_gap < 0 or (result.weights < 0).any():
            return f"negative: gap {result.gap}"
        if result.stop_reason == "gap" and not result.relative_gap <= tol:
            return f"stopped by the gap at {result.relative_gap:.3e}, tol {tol:.3e}"
    if model.dual_gap_ != max(r.gap for r in model.results_) or (model.stop_reason_ == "gap") != (
        model.fit_status_ == 0
    ):
        return "attributes are not those of the results"
    return ""


def claims_of(problem: Problem, model: Any) -> list[Claim]:
    """The certificates of a model; variables are ordered by class, positive first (docs/certificate.md)."""
    used = np.ones(problem.X.shape[0]) if problem.weights is None else problem.weights
    rows = np.flatnonzero(used > 0)
    if problem.estimator != "SVC":
        return [Claim(model.results_[0], rows, np.ones(len(rows)), used[rows])]
    classes = [rows[problem.y[rows] == label] for label in model.classes_]
    present = [place for place, members in enumerate(classes) if len(members)]
    claims = []
    for (a, b), result in zip(combinations(present, 2), model.results_, strict=True):
        positive, negative = (a, b) if len(classes) > 2 else (b, a)
        members = np.concatenate([classes[positive], classes[negative]])
        signs = np.repeat([1.0, -1.0], [len(classes[positive]), len(classes[negative])])
        claims.append(Claim(result, members, signs, used[members]))
    return claims


def of_every_row(problem: Problem, claim: Claim) -> np.ndarray:
    """The weights of all rows: a fit can give the weight of equal rows to the first of them (docs/parameters.md)."""
    weights, sides = claim.result.weights, 2 if problem.estimator == "SVR" else 1
    own = len(weights) - (sides - 1)
    if own == sides * len(claim.rows):
        return weights
    y = problem.y[claim.rows].astype(float) if problem.estimator == "SVR" else claim.signs
    keys = np.column_stack([np.asarray(problem.rows[claim.rows], float) + 0.0, y])
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    place = np.empty(len(first), int)  # among the first rows, which stay in their order
    place[np.argsort(first)] = np.arange(len(first))
    share = claim.costs / np.bincount(group.ravel(), claim.costs)[group.ravel()]
    parts = [part[place[group.ravel()]] * share for part in np.split(weights[:own], sides)]
    return np.concatenate([*parts, weights[own:]])


# ---- the gap ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reported:
    """A gap of a result: of the simplex, or primal minus dual at an offset."""

    kind: str
    gap: float
    relative: float
    level: float | None = None


def reported_gaps(result: Any) -> list[Reported]:
    """Both gaps of a result; without a pass over all rows, primal minus dual may be that of an earlier point."""
    simplex = Reported("gap of the simplex", result.simplex_gap, result.relative_simplex_gap)
    if not result.full_pass or not np.isfinite(result.primal_gap):
        return [simplex]
    primal = Reported("primal minus dual", result.primal_gap, result.relative_primal_gap, result.level)
    return [simplex, primal]


def judged_gap(problem: Problem, model: Any, claim: Claim) -> Outcome:
    """Whether the true gaps, and the true relative gaps, are at most what is reported."""
    for reported in reported_gaps(claim.result):
        outcome = judged(problem, model, claim, reported)
        if outcome.verdict != "held":
            break
    return outcome


def judged(problem: Problem, model: Any, claim: Claim, reported: Reported) -> Outcome:
    """The verdict on one gap."""
    verdict, true = compared(reported, true_gap(Extended, problem, model, claim, reported.level))
    if verdict == "undecided" and len(claim.rows) ** 2 * problem.X.shape[1] <= MOST_EXACT:
        try:
            verdict, true = compared(reported, true_gap(Exact(), problem, model, claim, reported.level))
        except ImportError:
            return Outcome(problem.estimator, verdict, "gmpy2 is not installed")
    ratio = true.gap / reported.gap if reported.gap > 0 else None
    detail = (
        f"{reported.kind} {true.gap:.6e} ({true.gap / (true.scale or 1):.3e} relative), reported {reported.gap:.6e} "
        f"({reported.relative:.3e}), stopped by {claim.result.stop_reason}; {problem}"
    )
    return Outcome(problem.estimator, verdict, "" if verdict == "held" else detail, ratio)


def compared(reported: Reported, true: truth.Gap) -> tuple[str, truth.Gap]:
    """Held, understated, or undecided because of the judge's own error."""
    room = reported.gap * (1 + SLACK) + TINY * true.size - true.gap
    relative = reported.relative * (1 + SLACK) * true.scale + TINY * true.size - true.gap
    least = min(room, relative) if np.isfinite(reported.relative) else room
    if not np.isfinite(true.error) or abs(least) < true.error:
        return "undecided", true
    return ("held" if least >= 0 else "understated"), true


def true_gap(
    arithmetic: Arithmetic, problem: Problem, model: Any, claim: Claim, level: float | None = None
) -> truth.Gap:
    """The gap of the weights of a claim, by the definition of its problem: of the simplex, or at an offset."""
    K = kernel_of(arithmetic, problem, model, claim.rows)
    weight = np.ones(len(claim.rows)) if problem.weights is None else problem.weights[claim.rows]
    one = arithmetic.array(1.0)
    C = arithmetic.array(float(model.C if problem.estimator in ("SVC", "SVR") else model.C_))
    ridge = one / (C * arithmetic.array(weight)) if np.isfinite(float(C)) else arithmetic.array(0.0 * weight)
    if problem.estimator == "SVR":
        return _tube(arithmetic, problem, claim, K, (C * arithmetic.array(weight), ridge), level)
    bias, ball = int(problem.estimator == "SVC"), problem.estimator == "SVDD"
    weights = of_every_row(problem, claim)
    if level is None:
        return truth.simplex_gap(arithmetic, K, claim.signs, ridge, weights, bias=bias, ball=ball)
    return truth.primal_gap(arithmetic, K, claim.signs, ridge, weights, level, bias=bias, ball=ball)


def _tube(
    arithmetic: Arithmetic, problem: Problem, claim: Claim, K: truth.Values, costs: Any, level: float | None
) -> truth.Gap:
    y, epsilon = arithmetic.array(problem.y[claim.rows].astype(float)), problem.parameters["epsilon"]
    cost, ridge = costs
    b, price = of_every_row(problem, claim)[:-1], None
    if epsilon == "auto":
        total, epsilon = cost.sum(), 0.0
        apart = y - cost @ y / total
        spread = arithmetic.sqrt(cost @ (apart * apart) / total)
        price = arithmetic.array(SPREAD) * spread * total
        price = price if float(price) > 0 else None  # equal targets: a tube without width
    c = np.concatenate([y, -y]) - arithmetic.array(float(epsilon))
    width = None if level is None or price is None else max(0.0, -level * float(price))
    return truth.tube_gap(arithmetic, K, c, np.concatenate([ridge, ridge]), b, price, width)


def kernel_of(arithmetic: Arithmetic, problem: Problem, model: Any, rows: np.ndarray) -> truth.Values:
    kernel, X = model.model_.vectors.kernel, problem.rows
    if kernel.name == "precomputed":
        return truth.kernel_values(arithmetic, kernel, X[np.ix_(rows, rows)], X)
    return truth.kernel_values(arithmetic, kernel, X[rows], X[rows])


# ---- the model ----------------------------------------------------------------------------------------------------


def prediction_error(problem: Problem, model: Any) -> float:
    """How far predictions are from sum_i coef_i k(x_i, x) + intercept, in units of the sum of absolute terms.

    Rounding of ill-conditioned kernel values to the precision of the data is not counted.
    """
    if len(getattr(model, "classes_", (0, 1))) > 2:
        return 0.0  # several decision functions: tests/test_svc.py
    some = slice(0, 20)
    X, kernel = problem.rows, model.model_.vectors.kernel
    if kernel.name == "precomputed":
        values = truth.Values(Extended.array(X[some][:, model.support_]), np.zeros((1, 1)))
    else:
        values = truth.kernel_values(Extended, kernel, X[some], X[model.support_])
    K, rounding = values.values, values.errors * float(np.finfo(problem.X.dtype).eps)
    coef = Extended.array(model.dual_coef_[0])
    intercept = model.intercept_[0] if problem.estimator in ("SVC", "SVR") else 0.0
    expected = K @ coef + intercept
    size = np.abs(K) @ np.abs(coef) + abs(intercept) + UNDERFLOW * np.abs(coef).sum()
    if problem.estimator == "SVDD":
        return 0.0 if sp.issparse(problem.X) else _ball_error(problem, model, K, coef)
    verb = {"SVC": "decision_function", "SVR": "predict", "OneClassSVM": "score_samples"}[problem.estimator]
    found = np.asarray(getattr(model, verb)(problem.X[some]), np.longdouble)
    allowed = rounding.sum(axis=1) if kernel.name == "precomputed" else rounding @ np.abs(model.dual_coef_[0])
    return _largest(np.maximum(np.abs(found - expected) - allowed, 0.0), size)


def _ball_error(problem: Problem, model: Any, K: np.ndarray, coef: np.ndarray) -> float:
    """Of the scores -|phi(x) - c|^2 = -(k(x, x) - 2 sum_i a_i k(x_i, x) + |c|^2)."""
    X, kernel = problem.rows[:20], model.model_.vectors.kernel
    if kernel.name == "precomputed":
        return 0.0
    own = np.array([truth.kernel_values(Extended, kernel, x[None], x[None]).values[0, 0] for x in X])
    expected = -(own - 2 * (K @ coef) + model.squared_norm_)
    size = np.abs(own) + 2 * np.abs(K) @ coef + abs(model.squared_norm_)
    return _largest(np.abs(np.asarray(model.score_samples(problem.X[:20]), np.longdouble) - expected), size)


def _largest(errors: np.ndarray, sizes: np.ndarray) -> float:
    return float(np.nan_to_num(errors / np.where(sizes > 0, sizes, 1), nan=np.inf).max())
