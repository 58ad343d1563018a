"""``swapsvm reproduce``: tune if asked to, run what is due, write the report.

Everything lies in one folder: ``runs.jsonl`` and ``tuning.jsonl``, one line a run, and the report made from them.
Called again, it goes on where it stopped.
"""

from __future__ import annotations

import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from ..datasets import DatasetError
from ..datasets.loading import obtain
from ..datasets.registry import find_entry
from ..writing import whole_file
from . import records
from .protocol import Scale, Task, tasks_of
from .records import Record
from .runs import due, run_all
from .summary import Results
from .tuning import Point, as_toml, stored_parameters, tune

Parameters = dict[str, dict[str, float]]


def reproduce(scale: Scale, folder: Path, jobs: int, retune: bool) -> None:
    """Run what is missing of the study and write its report.

    Parameters
    ----------
    scale : Scale
        What to run.
    folder : Path
        Where raw results and the report go.
    jobs : int
        Runs at a time, each with one thread.
    retune : bool
        Tune C and gamma again instead of taking those that come with the package.
    """
    require_extra()
    if jobs < 1:
        raise ValueError(f"--jobs {jobs} must be a positive number of runs at a time")
    if not scale.budget > 0:
        raise ValueError(f"--budget {scale.budget:g} must be a positive number of seconds")
    present = [name for name in scale.data if is_there(name)]
    if retune:
        tune_all(present, folder, scale.budget)
    parameters = {**stored_parameters(), **own_parameters(folder)}
    for name in [name for name in present if name not in parameters]:
        sys.stderr.write(f"{name} is left out: its C and gamma were not tuned yet; add --tune\n")
    raw = folder / "runs.jsonl"
    tasks = due(tasks_of(replace(scale, data=tuple(present)), parameters), records.read(raw))
    if tasks:
        with progress(tasks, jobs) as report:
            run_all(tasks, raw, jobs, report, write_failure)
    write_report(folder)


def require_extra() -> None:
    """Fail before the work, not after it."""
    try:
        for package in ("matplotlib", "rich"):
            import_module(package)
    except ImportError as error:
        raise ImportError(f'the report needs {error.name}: pip install "swapsvm[demo]"') from error


def is_there(name: str) -> bool:
    """Whether the files of a data set are here or could be downloaded; else the reason goes to stderr."""
    try:
        for file in find_entry(name).files:
            obtain(file)
    except DatasetError as error:
        sys.stderr.write(f"{name} is left out: {error}\n")
        return False
    return True


def tune_all(names: list[str], folder: Path, budget: float) -> None:
    """Tune the sets and write what was chosen beside the raw lines, where the next call finds it."""
    chosen = {name: Point(**values) for name, values in own_parameters(folder).items()}
    for name in names:
        chosen[name] = tune(name, folder / "tuning.jsonl", budget, write_tuning)
        with whole_file(folder / "parameters.toml") as file:
            file.write(as_toml(chosen).encode())


def own_parameters(folder: Path) -> Parameters:
    """What was tuned in this folder."""
    path = folder / "parameters.toml"
    return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}


def write_tuning(record: Record) -> None:
    """One line on stderr."""
    right = record["right"] / record["rows"]
    sys.stderr.write(
        f"tuning {record['data']}: C = {record['C']:g}, gamma = {record['gamma']:.4g}, fold {record['fold'] + 1}: "
        f"{right:.2%} in {record['seconds']:.1f} s\n"
    )


def write_failure(task: Task, message: str) -> None:
    """One line on stderr."""
    what = f"{task.experiment} {task.data} {task.method} seed {task.seed}"
    sys.stderr.write(f"{what} failed and will be tried again by the next call: {' '.join(message.split())}\n")


def write_report(folder: Path) -> None:
    """The report from the raw lines of a folder."""
    from .document import write
    from .report import make_report

    write(make_report(Results(records.read(folder / "runs.jsonl"))), folder)
    sys.stdout.write(f"Report: {folder / 'report.html'}\n")


# ---- progress -----------------------------------------------------------------------------------------------------


@contextmanager
def progress(tasks: list[Task], jobs: int) -> Iterator[Callable[[Task, Record], None]]:
    """A bar with the expected remaining time on stderr; lines where nothing can be redrawn, as in a file."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    clock = Clock(tasks, jobs)
    console = Console(stderr=True, highlight=False)
    if not console.is_interactive:
        yield lambda task, record: print_line(clock.after(task), task, record)
        return
    columns = (
        TextColumn("{task.description:40}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console) as bars:
        bar = bars.add_task("starting", total=len(tasks), left="")

        def report(task: Task, record: Record) -> None:
            console.print(line_of(task, record), soft_wrap=True)
            left = f"about {spoken(clock.after(task))} left"
            bars.update(bar, advance=1, description=f"{task.experiment}: {task.data}, {task.method}", left=left)

        yield report


class Clock:
    """Expects the remaining time from what the runs so far took of what they might have taken."""

    def __init__(self, tasks: list[Task], jobs: int) -> None:
        self._began, self._jobs = time.monotonic(), jobs
        self._left = sum(map(expected, tasks))
        self._done = 0.0

    def after(self, task: Task) -> float:
        """Seconds that are left once this task is done."""
        self._done += expected(task)
        self._left -= expected(task)
        return max(0.0, (time.monotonic() - self._began) * self._left / self._done)


def expected(task: Task) -> float:
    """A guess of the seconds of a task, good enough for a bar: from its rows, up to its limit."""
    slowness = {"block": 0.1, "swap2": 0.5, "fw": 10.0}.get(task.method, 2.0)
    return min(task.budget, 0.5 + slowness * find_entry(task.data).rows / 1000)


def print_line(left: float, task: Task, record: Record) -> None:
    """One run on stderr."""
    sys.stderr.write(f"{line_of(task, record)}  about {spoken(left)} left\n")


def line_of(task: Task, record: Record) -> str:
    """What a run came to."""
    measures = record["measures"]
    cut = "  cut" if measures["cut"] else ""
    return (
        f"{task.experiment:12} {task.data:10} {task.method:6} seed {task.seed} {measures['seconds']:8.2f} s "
        f"{measures['accuracy']:7.2%} {measures['model_size']:6} vectors  gap {measures['relative_gap']:.1e}{cut}"
    )


def spoken(seconds: float) -> str:
    """A duration, roughly."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
