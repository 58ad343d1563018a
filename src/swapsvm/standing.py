"""Where a run stands, to continue it exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .trace import Trace


@dataclass(frozen=True)
class Standing:
    """All that the next moves of a run depend on, except kernel values, and its counts so far."""

    state: dict[str, np.ndarray]
    in_double: bool  # whether the run has gone on to kernel values in double
    stage: int  # of the solver
    iteration: int
    seconds: float
    evaluations: int
    certified: float  # the gap of the last certificate that made progress
    fruitless: int  # certificates since
    trace: Trace
