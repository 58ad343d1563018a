"""Other packages on the same cells: SVMs with the hinge loss itself (L1), while the paper's and ours square it (L2).

They take the same C and gamma, but solve another problem: the same C weighs the two losses differently, so neither
seconds nor accuracies are those of the same optimum. A peer has no limit of its own, so it runs in a process that the
system ends at a limit of CPU seconds; nothing is known then of its model.
"""

from __future__ import annotations

import signal
import time
from importlib import import_module
from importlib.util import find_spec
from math import ceil
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from ..datasets import Dataset
from .fits import loaded
from .records import Measures, Settings

resource = import_module("resource") if find_spec("resource") else None  # Windows has none: no limit there


class Peer(NamedTuple):
    """An estimator of another package."""

    title: str
    module: str
    settings: Settings  # beside C and gamma


PEERS = {
    "sklearn": Peer("scikit-learn SVC (L1)", "sklearn.svm", {"kernel": "rbf", "tol": 1e-3, "cache_size": 200.0}),
    "intelex": Peer("scikit-learn-intelex SVC (L1)", "sklearnex.svm", {"kernel": "rbf", "tol": 1e-3}),
}


def is_installed(method: str) -> bool:
    """Whether a method can be run: ours can, and a peer whose package is there."""
    return method not in PEERS or find_spec(PEERS[method].module.partition(".")[0]) is not None


def measured_peer(method: str, data: str, parameters: Settings) -> Measures:
    """Train a peer in a process of its own, and measure."""
    context = get_context("spawn")
    answers, child_end = context.Pipe(duplex=False)
    process = context.Process(target=answer, args=(child_end, method, data, parameters))
    process.start()
    child_end.close()
    try:
        return answers.recv()
    except EOFError:  # ended by the limit, or dead
        process.join()
        if not ended_by_limit(process.exitcode):
            raise RuntimeError(f"{PEERS[method].title} ended with exit code {process.exitcode}") from None
        return {"seconds": parameters["max_time"], "stop_reasons": ["max_time"], "cut": True}
    finally:
        process.join()


def answer(connection: Connection, method: str, data: str, parameters: Settings) -> None:
    """Send the measures of a fit."""
    limited = {name: value for name, value in parameters.items() if name != "max_time"}
    model = import_module(PEERS[method].module).SVC(**limited)
    known = loaded(data)
    limit_cpu(parameters["max_time"])
    connection.send(measures_of(model, known))


def measures_of(model: Any, data: Dataset) -> Measures:
    """Train and measure; the model is scikit-learn's or one with its interface."""
    began, wall = time.process_time(), time.perf_counter()
    model.fit(data.X_train, data.y_train)
    seconds, wall = time.process_time() - began, time.perf_counter() - wall
    limit_cpu(None)
    return {
        "seconds": seconds,
        "fit_wall_seconds": wall,
        "accuracy": float(np.mean(model.predict(data.X_test) == data.y_test)),
        "model_size": len(model.support_),
        "iterations": int(np.sum(model.n_iter_)),
        "stop_reasons": ["gap"],
        "cut": False,
    }


def limit_cpu(seconds: float | None) -> None:
    """End this process after this many further CPU seconds; None takes the limit back."""
    if resource is None:
        return
    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = most if seconds is None else ceil(used.ru_utime + used.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, most))


def ended_by_limit(exit_code: int | None) -> bool:
    """Whether the system ended a process at its limit."""
    return exit_code is not None and exit_code < 0 and signal.Signals(-exit_code).name == "SIGXCPU"
