"""Measured fits of the contenders: each in its own process, resumable JSON lines."""

from __future__ import annotations

import argparse
import gc
import json
import os
import pickle
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from swapsvm.study import records

from .contenders import CONTENDERS, WITHOUT_LIMIT, Setting, is_available
from .datasets import Split
from .micro.columns import surroundings
from .objective import peak_memory, reset_peak_memory, usable_cores
from .run import versions
from .selection import in_own_process
from .worker import limit_cores, limit_memory

WARM_UP = 300  # rows
MEASURED = ("seconds", "cpu_seconds", "predict_seconds", "accuracy", "peak_bytes", "relative_gap")
Task = dict[str, Any]


# ---- in the process of a contender ------------------------------------------------------------------------------


def measure(task: Task, split: Split) -> Task:
    """One timed fit and prediction, after an untimed fit of a few rows that loads libraries."""
    make = CONTENDERS[task["contender"]]
    warm_up(make, task, split)
    model = make(setting_of(task))
    gc.collect()
    before, cpu, began = reset_peak_memory(), time.process_time(), time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, task["limit"])
    model.fit(split.X, split.y)
    seconds, cpu, peak = time.perf_counter() - began, time.process_time() - cpu, peak_memory() - before
    began = time.perf_counter()
    accuracy = float(np.mean(model.predict(split.X_test) == split.y_test))
    signal.setitimer(signal.ITIMER_REAL, 0)
    times = {"seconds": seconds, "cpu_seconds": cpu, "predict_seconds": time.perf_counter() - began}
    return {**times, "accuracy": accuracy, "peak_bytes": peak, **certificate_of(model, task)}


def setting_of(task: Task, most: int | None = None) -> Setting:
    vectors = task["vectors"] if task["vectors"] is None or most is None else min(task["vectors"], most)
    return Setting(task["C"], task["gamma"], vectors, task["threads"])


def warm_up(make: Callable[[Setting], Any], task: Task, split: Split) -> None:
    rows = np.random.default_rng(0).permutation(len(split.y))[:WARM_UP]
    make(setting_of(task, most=32)).fit(split.X[rows], split.y[rows]).predict(split.X[rows])


def certificate_of(model: Any, task: Task) -> Task:
    """Vectors in the model, and its certificate where it has one: the largest gap, sums of the values of all pairs."""
    support = getattr(model, "support_", None)
    combine = {"relative_gap": np.max, "primal_value": np.sum, "dual_value": np.sum}
    found = {name: getattr(model, f"{name}_", None) for name in combine}
    known = {name: float(combine[name](value)) for name, value in found.items() if value is not None}
    return {"kept": task["vectors"] if support is None else len(support), **known}


def worker(task_path: str, data_path: str, result_path: str) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the default action ends the process, even inside a library
    warnings.simplefilter("ignore")
    limit_memory()
    task = json.loads(Path(task_path).read_text())
    limit_cores(task["threads"])
    with Path(data_path).open("rb") as file:
        split = pickle.load(file)
    Path(result_path).write_text(json.dumps(measure(task, split)))


# ---- around it ----------------------------------------------------------------------------------------------------


class Trials:
    """Runs tasks that are not yet in the file, each in its own process, and appends their lines."""

    def __init__(self, output: Path, module: str) -> None:
        self.output, self.module = output, module
        self.where = {**surroundings(), "versions": versions()}
        earlier = [line for line in records.read(output) if line["status"] != "absent"]
        self.done = {key_of(line) for line in earlier}
        self.failed = {key_of(line)[:-1] for line in earlier if line["status"] != "ok"}

    def is_due(self, task: Task) -> bool:
        return key_of(task) not in self.done and key_of(task)[:-1] not in self.failed

    def run(self, tasks: Iterable[Task], split: Split) -> None:
        """All tasks of one data set."""
        with tempfile.TemporaryDirectory() as directory:
            with (Path(directory) / "data.pickle").open("wb") as file:
                pickle.dump(split, file, protocol=5)
            for task in tasks:
                if self.is_due(task):
                    self.keep({**task, **in_own_process(task, Path(directory), self.module)})

    def keep(self, line: Task) -> None:
        if line["status"] != "ok":
            self.failed.add(key_of(line)[:-1])
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        records.append(self.output, {**line, "time": stamp, "load": os.getloadavg()[0], "where": self.where})
        print(line_of(line), flush=True)


def key_of(line: Task) -> tuple[Any, ...]:
    return tuple(line[name] for name in ("suite", "data", "contender", "vectors", "threads", "repetition"))


def medians(lines: Sequence[Task]) -> list[Task]:
    """One line for the repetitions of a task: the medians of their numbers."""
    groups: dict[tuple[Any, ...], list[Task]] = {}
    for line in lines:
        groups.setdefault(key_of(line)[:-1], []).append(line)
    return [median_of(some) for some in groups.values()]


def median_of(lines: Sequence[Task]) -> Task:
    done = [line for line in lines if line["status"] == "ok"]
    if not done:
        return lines[-1]
    measured = [name for name in MEASURED if name in done[-1]]
    return {**done[-1], **{name: float(np.median([line[name] for line in done])) for name in measured}}


def line_of(line: Task) -> str:
    head = f"{line['data']:28} {line['contender']:22} {line['vectors'] or 'all':>5}"
    if line["status"] != "ok":
        return f"{head} {line['status']}: {line.get('message', '')}"
    gap = f"  gap {line['relative_gap']:.2g}" if "relative_gap" in line else ""
    return f"{head} {line['seconds']:9.2f} s {100 * line['accuracy']:6.2f}% {line['peak_bytes'] / 2**20:7.0f} MB{gap}"


# ---- a script -----------------------------------------------------------------------------------------------------


def tasks_of(fixed: Task, options: argparse.Namespace) -> Iterator[Task]:
    """Contenders take turns, from few vectors to many; those without such a limit come last."""
    given = {"threads": options.threads, "limit": options.limit}
    for repetition in range(options.repetitions):
        for vectors in (*options.vectors, None):
            for contender in options.contenders:
                if (contender in WITHOUT_LIMIT) == (vectors is None) and is_available(contender):
                    yield {**fixed, "contender": contender, "vectors": vectors, "repetition": repetition, **given}


def parser_of(about: str | None, output: str, who: Sequence[str], vectors: Sequence[int]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(output), help="JSON lines, appended")
    parser.add_argument("--vectors", nargs="+", type=int, default=list(vectors))
    parser.add_argument("--contenders", nargs="+", default=list(who), choices=list(who))
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--threads", type=int, default=usable_cores(), help="for all contenders")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for a fit")
    parser.add_argument("--report", action="store_true", help="only write report.md and its figure")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    return parser


def perform(options: argparse.Namespace, run: Callable[..., None], write: Callable[..., None]) -> None:
    """One fit if this is its process; otherwise all that are due (unless ``--report``), and the report."""
    if options.worker:
        worker(*options.worker)
        return
    if not options.report:
        run(options)
    lines = records.read(options.output)
    if not lines:
        raise SystemExit(f"{options.output} has no lines")
    write(medians(lines), options.output.parent)
