"""One fit of the study: the data, the estimator with its clock, and whether it was cut."""

from __future__ import annotations

import time
import warnings
from functools import lru_cache

import numpy as np

from ..arrays import Matrix
from ..datasets import Dataset, load
from ..estimators import SVC
from ..fitting.diagnosis import ScalingWarning
from ..stopping import ConvergenceWarning
from .records import Settings


class CpuTimedSVC(SVC):
    """An SVC whose time limit counts CPU seconds of the training thread, which do not depend on the load."""

    _clock = staticmethod(time.thread_time)


@lru_cache(maxsize=1)  # trials are ordered by data set
def loaded(name: str) -> Dataset:
    """The data set of the current trials."""
    return load(name)


def fitted(settings: Settings, X: Matrix, y: np.ndarray) -> tuple[SVC, float]:
    """A fitted model and the CPU seconds that it took."""
    model = CpuTimedSVC(**settings)
    began = time.thread_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the record has the reason
        warnings.simplefilter("ignore", ScalingWarning)  # the paper's grid has widths far from any distance
        model.fit(X, y)
    return model, time.thread_time() - began


def was_cut(model: SVC) -> bool:
    """Whether the fit reached its time limit."""
    return any(result.stop_reason == "max_time" for result in model.results_)
