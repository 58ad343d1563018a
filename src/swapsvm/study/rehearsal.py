"""What a scale of the study cannot decide, found before anything is run.

All claims are checked on made-up lines of every cell of the scale: once with the methods in one order of times,
accuracies and sizes, and once in the opposite order, so that each comparison holds in one of the two. A claim whose
verdict is in either case the one without any runs needs other sets or experiments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..datasets.registry import find_entry
from .claims import check_all
from .protocol import EVERY_SET, EXPERIMENTS, TODAY, Trial
from .provenance import provenance
from .records import Measures, Run
from .runs import curve, environment
from .schedule import Scale, trials_of
from .summary import Results

ORDERS = (tuple(TODAY), tuple(reversed(TODAY)))


def warning(scale: Scale) -> str:
    """Two lines on the claims that runs of this scale leave open; nothing if there are none."""
    verdicts = [[judged.status for judged in check_all(Results(lines))] for lines in ([], *rehearsals(scale))]
    nothing, *tried = verdicts
    is_open = [any(tries[k] == status for tries in tried) for k, status in enumerate(nothing)]
    if not any(is_open):
        return ""
    sets = [name for name in EVERY_SET if name not in scale.data]
    experiments = [name for name in EXPERIMENTS if name not in scale.experiments]
    parts = [
        f"{what} {', '.join(names)}" for what, names in (("the sets", sets), ("the experiments", experiments)) if names
    ]
    why = " and ".join(parts) or "nothing"
    count = f"{sum(is_open)} of {len(is_open)} claims of the paper"
    return (
        f"{count} cannot be decided by these runs unless they refute them.\n"
        f"Left out: {why}. `swapsvm reproduce --paper` runs all that can be had.\n"
    )


def rehearsals(scale: Scale) -> Iterator[list[Run]]:
    """Made-up lines of all cells, in one order of the methods and in the other."""
    trials = trials_of(scale, {name: {"C": 1.0, "gamma": 1.0} for name in EVERY_SET})
    for order in ORDERS:
        yield [made_up(trial, order) for trial in trials]


def made_up(trial: Trial, order: Sequence[str]) -> Run:
    """A finished run, as fast, accurate and small as the place of the method in the order."""
    place = 1 + order.index(trial.method)
    line: Run = {
        "experiment": trial.experiment,
        "data": trial.data,
        "method": trial.method,
        "seed": trial.seed,
        "parameters": trial.parameters(),
        "measures": made_up_measures(place, find_entry(trial.data).rows),
        "environment": environment(),
        "provenance": provenance(trial.method),
    }
    if EXPERIMENTS[trial.experiment].curves:
        line["curve"] = curve(made_up_trace(place))
    return line


def made_up_measures(place: int, rows: int) -> Measures:
    """Numbers that grow with the place and the rows."""
    return {
        "seconds": 1e-3 * place * rows,
        "certificate_seconds": 0.1,
        "fit_wall_seconds": 1e-3 * place * rows,
        "accuracy": 0.8 + 0.01 * place,
        "model_size": 10 * place + rows // 10,
        "iterations": 100 * place,
        "evaluations": 1000 * place,
        "cache_hits": 0,
        "samplings": 100,
        "gap": 1e-6,
        "relative_gap": 1e-6,
        "stop_reasons": ["gap"],
        "cut": False,
    }


def made_up_trace(place: int) -> np.ndarray:
    """A gap that falls like 1 / k."""
    names = ("iteration", "evaluations", "support", "seconds", "value", "gap")
    trace = np.ones(2000, [(name, float) for name in names])
    trace["iteration"] = np.geomspace(1, 1e5, len(trace)).astype(int)
    trace["gap"] = place / trace["iteration"]
    return trace
