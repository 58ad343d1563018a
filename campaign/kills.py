"""Signals and time limits: nothing is lost, interrupts take effect at once, limits are kept."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from swapsvm import Checkpoint

from . import work
from .children import Child, Ended, in_child
from .outcome import Outcome
from .problems import power

PROMISED = 0.5  # seconds until Ctrl-C takes effect, for any size
SECONDS = 60.0
TRIES = 3  # a busy machine delays every reaction: this many late ones break the promise


class Kills:
    """One signal or one limit, at a random time of a random task."""

    name = "kills"
    patience = 400.0

    def prepare(self) -> None:
        work.warm_up()

    def trial(self, rng: np.random.Generator) -> Outcome:
        return (killed, interrupted, interrupted, timed)[int(rng.integers(4))](rng)

    def material(self, rng: np.random.Generator) -> Outcome:
        return Outcome("kills", "")


PART = Kills()


# ---- kills --------------------------------------------------------------------------------------------------------


def killed(rng: np.random.Generator) -> Outcome:
    """A checkpointed fit dies at a random time; the next process continues, and ends where the first would have."""
    name, solver = str(rng.choice(["SVC", "SVR", "OneClassSVM", "SVC, 4 classes"])), str(rng.choice(["block", "swap2"]))
    number = signal.SIGKILL if rng.random() < 0.7 else signal.SIGTERM
    folder = Path("killed")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    options = {"solver": solver, "n_jobs": 1, "tol": 1e-4, "checkpoint": Checkpoint(folder / "fit", seconds=0.0)}
    kind, deaths, do = f"{number.name}: {name}", int(rng.integers(1, 4)), work.ESTIMATORS[name](400)
    for _ in range(deaths):
        child = Child(lambda: do(**options).dual_gap_)
        child.poll(float(power(rng, -2.5, 0)))
        child.send(number)
        child.wait(SECONDS)
    last = in_child(lambda: _summary(do(**options)), SECONDS)
    whole = in_child(lambda: _summary(do(**options | {"checkpoint": None})), SECONDS)
    return judged_resumption(kind, last, whole, os.listdir(folder), f"{solver}, {deaths} deaths")


def _summary(model: Any) -> list[tuple[float, float, str]]:
    return [(result.value, result.gap, result.stop_reason) for result in model.results_]


def judged_resumption(kind: str, last: Ended, whole: Ended, present: list[str], about: str) -> Outcome:
    """Values agree within the certificates, and only the checkpoint is left on disk."""
    if last.status != "returned" or whole.status != "returned":
        verdict = "error" if last.is_clean and whole.is_clean else "crash"
        return Outcome(kind, verdict, f"after {about}: {last if last.status != 'returned' else whole}")
    if sorted(present) != ["fit"]:
        return Outcome(kind, "stray", f"left behind after {about}: {sorted(present)[:3]}")
    for (value, gap, reason), (expected, other, _) in zip(last.value, whole.value, strict=True):
        if reason != "gap" or abs(value - expected) > max(gap, other) * (1 + 1e-6):
            return Outcome(kind, "lost", f"value {value} instead of {expected}, {reason}, after {about}")
    return Outcome(kind, "held")


# ---- interrupts ---------------------------------------------------------------------------------------------------


def interrupted(rng: np.random.Generator) -> Outcome:
    """Ctrl-C at a random time: by default it raises; with ``on_interrupt="keep"`` the fit returns a certified model."""
    m, keep = int(power(rng, 2.5, 4.4)), rng.random() < 0.5
    name, do, options = drawn_work(rng, m)
    keep = keep and name in work.ESTIMATORS
    if name in work.ESTIMATORS:
        options["on_interrupt"] = "keep" if keep else "raise"
    delay = power(rng, -2, 0.3)
    about = f"{options.get('solver', '')} {m} rows, Ctrl-C after {delay:.2f} s"
    answers = []
    for _ in range(TRIES):
        outcome = judged_answer(name, *answer(lambda: do(max_time=30.0, **options), delay), keep=keep, about=about)
        answers.append(outcome)
        if outcome.verdict != "late":
            return outcome
    return min(answers, key=lambda outcome: outcome.number or 0.0)


def drawn_work(rng: np.random.Generator, m: int) -> tuple[str, work.Work, dict[str, Any]]:
    """A task of this size that does not end by itself, and its options."""
    if rng.random() < 0.2:
        name = str(rng.choice(list(work.GEOMETRY)))
        return name, work.GEOMETRY[name](m), {}
    name, solver = str(rng.choice(list(work.ESTIMATORS))), str(rng.choice(["block", "block", "swap2", "fcfw", "fw"]))
    return name, work.ESTIMATORS[name](m), {**work.ENDLESS, "solver": solver, "n_jobs": int(rng.integers(1, 3))}


def answer(do: Callable[[], Any], delay: float) -> tuple[Ended, float]:
    """How an interrupted task ends, and how many seconds after the signal."""

    def timed_work() -> tuple[str, float]:
        try:
            found = do()
        except KeyboardInterrupt as interrupt:
            return ("begun" if is_inside(interrupt, "finish") else "KeyboardInterrupt"), time.monotonic()
        return getattr(found, "stop_reason_", getattr(found, "stop_reason", "")), time.monotonic()

    child = Child(timed_work)
    child.poll(delay)
    sent = time.monotonic()
    child.send(signal.SIGINT)
    ended = child.wait(SECONDS)
    return ended, (ended.value[1] if ended.status == "returned" else time.monotonic()) - sent


def is_inside(error: BaseException, function: str) -> bool:
    """Whether an exception came out of a function of that name: a run that has a model is inside ``finish``."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_name != function:
        trace = trace.tb_next
    return trace is not None


def judged_answer(name: str, ended: Ended, seconds: float, *, keep: bool, about: str) -> Outcome:
    """Whether the right thing happened, in time."""
    kind = f"Ctrl-C, {'keep' if keep else 'raise'}: {name}"
    if ended.raised("KeyboardInterrupt"):  # before or after the work itself
        return Outcome(kind, "held")
    if ended.status != "returned":
        return Outcome(kind, "hang" if ended.status == "hang" else "crash", f"{ended}; {about}")
    reason = ended.value[0]
    expected = ("interrupted", "KeyboardInterrupt") if keep else ("begun", "KeyboardInterrupt")
    if reason not in ("gap", "precision", "zero", *expected):
        return Outcome(kind, "error", f"ended by {reason!r}; {about}")
    verdict = "late" if seconds > PROMISED else "held"
    return Outcome(kind, verdict, f"{seconds:.2f} s; {about}" if verdict == "late" else "", max(seconds, 0.0))


# ---- limits of time -----------------------------------------------------------------------------------------------


def timed(rng: np.random.Generator) -> Outcome:
    """``max_time`` is kept within a tenth, or half a second."""
    m, limit = int(power(rng, 2.5, 4.4)), power(rng, -1.5, 0.3)
    name, do, options = drawn_work(rng, m)
    kind, took = f"max_time: {name}", []

    def measured() -> float:
        began = time.monotonic()
        do(max_time=limit, **options)
        return time.monotonic() - began

    for _ in range(TRIES):
        ended = in_child(measured, SECONDS)
        if ended.status != "returned":
            return Outcome(kind, "hang" if ended.status == "hang" else "error", f"{ended}; {options} {m} rows")
        took.append(ended.value)
        if min(took) <= limit + max(0.1 * limit, PROMISED):
            return Outcome(kind, "held", "", max(min(took) - limit, 0.0))
    detail = f"{min(took):.2f} s of {limit:.2f}; {options.get('solver', '')} {m} rows"
    return Outcome(kind, "late", detail, min(took) - limit)
