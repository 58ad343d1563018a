"""Run the benchmarks: ``python -m benchmarks.run --quick --output results/quick.jsonl``.

Each run is a fresh process that loads the data off the clock, warms up and fits. Crashes, time-outs and failed
allocations are recorded. A run that is already in the output file is not repeated, so an interrupted benchmark
continues; a competitor that crashed or exceeded the limit on a data set is not tried on it again.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from swapsvm.study import records

from . import datasets, suites
from .micro.columns import surroundings
from .objective import Task, usable_cores
from .solvers import COMPETITORS

ROOT = Path(__file__).parent.parent
ENDED_BY_ITSELF = 3600.0  # seconds for the stages without a limit: loading, counting, the certificate
NOTICE = """These sets are held back: they are measured once, when the work is done, and reported as they come out.
A solver that is changed because of them needs other held-back sets."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Runner:
    """Runs tasks that are not yet in the file and appends their records."""

    def __init__(self, output: Path, where: dict[str, Any]) -> None:
        self.output, self.where = output, where
        earlier = [r for r in records.read(output) if r["status"] != "absent"]
        self.done = {key_of(r) for r in earlier}
        self.failed = {key_of(r)[:-1] for r in earlier if r["status"] != "ok"}

    def is_due(self, task: Task) -> bool:
        return task.key not in self.done and task.contest not in self.failed

    def run(self, task: Task, directory: Path) -> dict[str, Any]:
        """The record of a task; its data are pickled in the directory."""
        outcome = in_own_process(task, directory)
        if outcome["status"] != "ok":
            self.failed.add(task.contest)
        return self.keep({**asdict(task), **outcome})

    def keep(self, record: dict[str, Any]) -> dict[str, Any]:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        record |= {"time": stamp, "load": os.getloadavg()[0], "where": self.where}
        records.append(self.output, record)
        return record


def key_of(record: dict[str, Any]) -> tuple[Any, ...]:
    """The key of the task that a line describes; older lines lack the later fields."""
    return Task(**{name: record[name] for name in Task.__dataclass_fields__ if name in record}).key


def in_own_process(task: Task, directory: Path) -> dict[str, Any]:
    """The results of the worker, and how it ended: ok, timeout or crashed."""
    task_path, result = directory / "task.json", directory / "result.json"
    task_path.write_text(json.dumps(asdict(task)))
    result.write_text("{}")
    command = [sys.executable, "-m", "benchmarks.worker", str(task_path), str(directory / "data.pickle"), str(result)]
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(task.threads))}
    limit = 3 * task.limit + ENDED_BY_ITSELF
    try:
        ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit)
        status, message = status_of(ended.returncode), last_line(ended.stderr)
    except subprocess.TimeoutExpired:
        status, message = "timeout", ""
    known = json.loads(result.read_text() or "{}")
    return {"status": status, **({} if status == "ok" else {"message": message}), **known}


def status_of(code: int) -> str:
    return "ok" if code == 0 else "timeout" if code in (-signal.SIGALRM, -signal.SIGPROF) else "crashed"


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def run_all(tasks: Iterable[Task], runner: Runner, console: Console) -> None:
    due = [task for task in tasks if runner.is_due(task)]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("benchmarks", total=len(due))
        for (suite, data), group in groupby(due, lambda task: (task.suite, task.data)):
            progress.update(bar, description=f"{suite}: {data}")
            run_data_set(list(group), runner, console, lambda count: progress.update(bar, advance=count))


def run_data_set(tasks: list[Task], runner: Runner, console: Console, advance: Callable[[int], None]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        try:
            prepare(tasks[0], Path(directory))
        except (OSError, LookupError) as error:
            console.print(f"{tasks[0].data} is skipped: {error}")
            runner.keep({"status": "absent", "suite": tasks[0].suite, "data": tasks[0].data, "message": str(error)})
            advance(len(tasks))
            return
        for task in tasks:
            if runner.is_due(task):
                console.print(line_of(runner.run(task, Path(directory))), soft_wrap=True)
            advance(1)


def prepare(task: Task, directory: Path) -> None:
    """Data and parameters for the workers, in a format that loads quickly."""
    split = datasets.load(task.data).astype(task.dtype)
    parameters = datasets.parameters_by_loss(task.data, split.X, task.own_parameters)
    with (directory / "data.pickle").open("wb") as file:
        pickle.dump((split, parameters), file, protocol=5)


def line_of(record: dict[str, Any]) -> str:
    seconds = f"{record['fit_seconds']:9.3f} s" if "fit_seconds" in record else " " * 11
    accuracy = f"{100 * record['accuracy']:7.2f}%" if "accuracy" in record else " " * 8
    status = "" if record["status"] == "ok" else f"  {record['status']} in {record.get('stage', 'loading')}"
    return f"{record['data']:28} {record['solver']:18} {seconds} {accuracy}{status}"


def without_absent(tasks: list[Task], runner: Runner, console: Console) -> list[Task]:
    """Tasks of installed competitors; the others are reported once, here and in the file."""
    absent = sorted({task.solver for task in tasks if not COMPETITORS[task.solver].is_installed()})
    for name in absent:
        console.print(f"{name} is skipped: pip install {COMPETITORS[name].distribution}")
        runner.keep({"status": "absent", "solver": name, "message": COMPETITORS[name].distribution})
    return [task for task in tasks if task.solver not in absent]


def versions() -> dict[str, str]:
    return {c.distribution: c.version() for c in COMPETITORS.values()}


def planned(options: argparse.Namespace) -> list[Task]:
    conditions = suites.Conditions(options.threads, options.dtype, options.limit, options.verify)
    plan = suites.quick() if options.quick else [*suites.full(), *suites.held_back()]
    tasks = [task for suite in plan if suite.name in options.suites for task in suites.tasks_of(suite, conditions)]
    return [
        task
        for task in tasks
        if (not options.data or task.data in options.data) and (not options.solvers or task.solver in options.solvers)
    ]


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("results/bench.jsonl"), help="JSON lines, appended")
    parser.add_argument("--quick", action="store_true", help="a small version of everything, within five minutes")
    parser.add_argument("--suites", nargs="+", default=[suite.name for suite in suites.full()])
    parser.add_argument("--data", nargs="+", help="only these data sets")
    parser.add_argument("--solvers", nargs="+", choices=sorted(COMPETITORS), help="only these competitors")
    parser.add_argument("--threads", type=int, default=usable_cores(), help="for all competitors")
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64", help="of the data, for all")
    parser.add_argument("--limit", type=float, help="seconds for a fit, and for a prediction (600; --quick: 20)")
    parser.add_argument("--verify", action="store_true", help="recompute our certificates by NumPy in double")
    options = parser.parse_args(words)
    options.limit = options.limit or (20.0 if options.quick else 600.0)
    check_suites(options, parser)
    return options


def check_suites(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Held-back sets are measured alone, and completely."""
    known = [suite.name for suite in [*suites.full(), *suites.held_back()]]
    unknown = [name for name in options.suites if name not in known]
    if unknown:
        parser.error(f"unknown suites {unknown}: choose from {known}")
    held = {suite.name for suite in suites.held_back()}
    if not held & set(options.suites):
        return
    if options.quick or options.data or options.solvers or set(options.suites) - held:
        parser.error("held-back sets are measured once: without --quick, --data, --solvers and other suites")
    print(NOTICE, flush=True)


def main(words: list[str] | None = None) -> None:
    options = arguments(words)
    console = Console(highlight=False)
    runner = Runner(options.output, {**surroundings(), "versions": versions()})
    run_all(without_absent(planned(options), runner, console), runner, console)


if __name__ == "__main__":
    main()
