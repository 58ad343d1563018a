"""The end of a run, and the warning if it did not converge."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult

from .state import Products
from .stopping import ConvergenceWarning, relative
from .trace import Trace

CONTINUE = "let it continue, for instance with warm_start=True"  # programs replace it by what their users can do


@dataclass(frozen=True)
class Result:
    """The end of a run.

    Attributes
    ----------
    weights : array
        A point of the simplex.
    value, gap : float
        g there, and the certificate max g - g(weights) <= gap, both recomputed from scratch in double. It is the gap
        that the solver stops at: primal minus dual for "block", the gap of the simplex for the others.
    relative_gap : float
        gap / |value|. For a general g it is gap / max(1, |value|); with a linear term, gap / max(|value|, a'Da), D the
        ridge, because the value may be 0. Of "block" on an SVM it is P / D - 1.
    simplex_gap : float
        The gap of the simplex, max_i grad_i - grad'a, whichever the run stopped at.
    primal_value, dual_value : float
        Bounds on the optimum of the problem in the form in which it is usually stated, from above and from below: P of
        the model and D of its weights. NaN for a general concave g.
    primal_gap, scale : float
        Primal minus dual in the unit of ``gap`` (for an SVM f (P / D - 1)), and what relative gaps are relative to.
    level : float
        The offset nu of the primal that the gap belongs to, in units of the simplex.
    stop_reason : str
        ``"gap"``, or why the gap was not reached: ``"max_iter"``, ``"max_time"``, ``"callback"``, ``"precision"`` (the
        arithmetic resolves no smaller gap), ``"sample"`` (samples showed no violator, see ``Sampling``) or the
        reason of a user's own rule.
    iterations, evaluations, samplings : int
        Moves (the start counts as one), kernel values (or gradients) computed, samples drawn.
    cache_hits : int
        Kernel values of a sampled run that were taken from the cache instead: 0 if keeping them does not pay.
    certificate_seconds : float
        CPU time of this thread in the pass at the end that certified the gap.
    full_pass : bool
        Whether the gap comes from a pass over all rows. If a limit or Ctrl-C left no time for one, it is the best bound
        proven without: valid, but larger than necessary.
    trace : Trace
    known_products : Products, optional
        K times the weights, for a model that depends on them; dropped once it is made.
    """

    weights: np.ndarray
    value: float
    gap: float
    relative_gap: float
    stop_reason: str
    iterations: int
    evaluations: int
    samplings: int
    certificate_seconds: float
    trace: Trace
    full_pass: bool = True
    simplex_gap: float = float("nan")
    primal_gap: float = float("nan")
    primal_value: float = float("nan")
    dual_value: float = float("nan")
    scale: float = float("nan")
    level: float = float("nan")
    known_products: Products | None = None
    cache_hits: int = 0

    @property
    def relative_primal_gap(self) -> float:
        """primal_gap / scale: P / D - 1 of an SVM."""
        return relative(self.primal_gap, self.scale)

    @property
    def relative_simplex_gap(self) -> float:
        """simplex_gap / scale."""
        return relative(self.simplex_gap, self.scale)

    @property
    def converged(self) -> bool:
        """Whether the gap was reached."""
        return self.stop_reason == "gap"

    def as_optimize_result(self) -> OptimizeResult:
        """The result in the form of SciPy's solvers, for code that is written for them.

        SciPy minimizes: ``fun`` is -value, and ``fun - min fun <= gap``. ``x`` is the weights, ``nit`` the iterations,
        ``nfev`` the gradients (or kernel values). ``status`` is 0 if the gap was reached, else 1; ``message`` has the
        reason.
        """
        return OptimizeResult(
            x=self.weights,
            fun=-self.value,
            success=self.converged,
            status=0 if self.converged else 1,
            message=f"stopped by {self.stop_reason!r}; fun is at most {self.gap:.3g} above the minimum",
            nit=self.iterations,
            nfev=self.evaluations,
            gap=self.gap,
        )


def warn_not_converged(result: Result, what: str = "the run") -> None:
    """Warn why a run ended early, and how to continue."""
    advice = {
        "max_iter": "raise max_iter, or tol",
        "max_time": "raise max_time, or tol",
        "callback": "do not return False from the callback",
        "interrupted": CONTINUE,
        "sample": "leave Sampling.trusted out",
        "precision": "the arithmetic resolves no smaller gap: raise tol, scale the data, or lower C",
    }
    proof = "certified" if result.full_pass else "the best bound proven without a pass over all rows"
    message = (
        f"{what} stopped by {result.stop_reason!r} at a relative gap of {result.relative_gap:.2g} "
        f"(gap {result.gap:.2g}). The model is feasible and its gap {proof}; for a smaller one "
        f"{advice.get(result.stop_reason, 'run longer')}."
    )
    warn_user(message, ConvergenceWarning)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the user's own line: the first one outside this package and scikit-learn's wrappers of a fit."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(("swapsvm.", "sklearn.callback.")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
