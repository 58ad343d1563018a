"""This project's solvers."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from ._base import Competitor


class SwapSVC(Competitor):
    module = distribution = "swapsvm"
    loss = "squared_hinge"

    def make(self) -> Any:
        from swapsvm import SVC

        return SVC(C=self.C, gamma=self.gamma, solver=self.name, n_jobs=self.threads, **self.options)

    def details(self, y: np.ndarray) -> dict[str, Any]:
        model, rows = self.model, np.unique(y, return_counts=True)[1]
        support = [np.count_nonzero(result.weights) for result in model.results_]
        pairs = [a + b for a, b in combinations(rows.tolist(), 2)]
        return {
            "evaluations": int(model.n_evaluations_),
            "floor": int(np.dot(support, pairs)),  # each value that the model needs, counted once
            "iterations": int(model.n_iter_.sum()),
            "relative_gap": float(model.relative_gap_),
            "stop_reason": model.stop_reason_,
            "cache_bytes": int(model.cache_counts_["bytes"]),
            "cache_budget": int(model.cache_counts_["budget"]),
            "model_bytes": model.support_vectors_.data.nbytes + model.dual_coef_.nbytes,
        }


class Block(SwapSVC):
    name = "block"


class BlockSmallCache(SwapSVC):
    name = "block, 16 MB cache"  # with a small cache, the memory that a fit needs beside it is visible

    def make(self) -> Any:
        return super().make().set_params(solver="block", cache_size=16)


VERTEX_SOLVERS = [type(name, (SwapSVC,), {"name": name}) for name in ("swap2", "swap", "mfw", "fw", "cvm")]
OURS: list[type[Competitor]] = [Block, BlockSmallCache, *VERTEX_SOLVERS]
