"""The results of a search: ``cv_results_``, the rules that choose a candidate, and the map of scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

from ..extras import needed_by

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CvResults = dict[str, Any]  # in scikit-learn's layout: arrays, and a list of parameters


@dataclass(frozen=True)
class Fit:
    """One candidate on one fold."""

    score: float
    fit_seconds: float
    score_seconds: float
    relative_gap: float
    stop_reason: str

    @classmethod
    def not_made(cls, reason: str) -> Fit:
        """One that the search did not come to."""
        return cls(math.nan, math.nan, math.nan, math.inf, reason)

    @property
    def missed(self) -> bool:
        return math.isnan(self.fit_seconds)


def results_of(candidates: list[dict[str, float | str]], fits: list[list[Fit]]) -> CvResults:
    """``cv_results_`` in scikit-learn's layout, from one list of fits (one for each fold) per candidate."""
    results: CvResults = {}
    for key, name in (("fit_time", "fit_seconds"), ("score_time", "score_seconds")):
        results |= _mean_and_spread(key, np.array([[getattr(fit, name) for fit in row] for row in fits]))
    for name in candidates[0]:
        results[f"param_{name}"] = _masked([params[name] for params in candidates])
    results["params"] = candidates
    scores = np.array([[fit.score for fit in row] for row in fits])
    results |= {f"split{k}_test_score": column for k, column in enumerate(scores.T)}
    results |= _mean_and_spread("test_score", scores)
    means = results["mean_test_score"]
    worst = np.nanmin(means) - 1 if np.isfinite(means).any() else 0.0
    results["rank_test_score"] = rankdata(-np.nan_to_num(means, nan=worst), method="min").astype(np.int32)
    results["max_relative_gap"] = np.array([max(fit.relative_gap for fit in row) for row in fits])
    reasons = [[fit.stop_reason for fit in row if fit.stop_reason != "gap"] for row in fits]
    results["stop_reason"] = np.array([row[0] if row else "gap" for row in reasons], dtype=object)
    return results


def _mean_and_spread(key: str, values: np.ndarray) -> dict[str, np.ndarray]:
    return {f"mean_{key}": values.mean(axis=1), f"std_{key}": values.std(axis=1)}


def _masked(values: list[float | str]) -> np.ma.MaskedArray:
    numbers = all(isinstance(value, int | float) for value in values)
    return np.ma.MaskedArray(np.array(values, dtype=np.float64 if numbers else object), mask=False)


def best(results: CvResults, gammas: np.ndarray) -> int:
    """The first of the highest mean scores, as GridSearchCV has it."""
    return int(np.argmin(results["rank_test_score"]))


def one_standard_error(results: CvResults, gammas: np.ndarray) -> int:
    """The smallest C, and for it the widest kernel, whose mean score is within one standard error of the best.

    ``gammas`` are the numbers of the candidates.
    """
    top = best(results, gammas)
    n_splits = sum(key.startswith("split") for key in results)
    means = results["mean_test_score"]
    error = results["std_test_score"][top] / math.sqrt(max(n_splits - 1, 1))  # std divides by n: unbiased with n - 1
    within = np.flatnonzero(means >= means[top] - error)
    return int(min(within, key=lambda k: (results["param_C"][k], gammas[k])))


RULES: dict[str, Callable[[CvResults, np.ndarray], int]] = {
    "best": best,
    "one_standard_error": one_standard_error,
}


def draw_scores(
    ax: Axes | None, Cs: np.ndarray, gammas: np.ndarray, scores: np.ndarray, chosen: tuple[float, float]
) -> Axes:
    """A map of mean scores (gammas x Cs, both ascending) on logarithmic axes, the chosen candidate marked."""
    if ax is None:
        with needed_by("plot_scores"):
            from matplotlib import pyplot

        ax = pyplot.subplots(layout="constrained")[1]
    mesh = ax.pcolormesh(_edges(Cs), _edges(gammas), scores, cmap="cividis")
    ax.figure.colorbar(mesh, ax=ax, label="mean test score")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.plot(*chosen, "o", ms=12, mfc="none", mec="white", mew=4)
    ax.plot(*chosen, "o", ms=12, mfc="none", mec="black", mew=1.5, label="chosen")
    ax.set(xlabel="C", ylabel="gamma")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False)  # above the map, which it would hide
    return ax


def _edges(values: np.ndarray) -> np.ndarray:
    """Borders of cells around values on a logarithmic axis."""
    logs = np.log2(values)
    between = (logs[1:] + logs[:-1]) / 2
    half = np.diff(logs) / 2 if len(logs) > 1 else np.ones(1)
    return np.exp2(np.concatenate([[logs[0] - half[0]], between, [logs[-1] + half[-1]]]))
