"""``swapsvm reproduce``: tune if requested, make the runs that are due, write the report.

One folder holds ``runs.jsonl`` and ``tuning.jsonl``, one line per run, and the report made from them. A second call
continues the first.
"""

from __future__ import annotations

import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ..datasets import DatasetError
from ..datasets.loading import obtain
from ..datasets.registry import find_entry
from ..extras import needed_by
from ..plotting import require_extra
from ..writing import whole_file
from . import records
from .peers import PEERS, is_installed
from .pool import Workers
from .protocol import Parameters, Trial
from .records import Record, Run
from .rehearsal import warning
from .runs import run
from .schedule import Scale, Schedule, trials_of
from .summary import Results
from .tuning import Fit, Tuning, as_toml, best_of, fit_fold, stored_parameters


def reproduce(scale: Scale, folder: Path, jobs: int, retune: bool) -> None:
    """Make the missing runs, ``jobs`` at a time, and write the report; ``retune`` tunes C and gamma again."""
    require_extra("the report")
    if jobs < 1:
        raise ValueError(f"--jobs {jobs}: the number of runs at a time must be positive")
    if scale.budget is not None and not scale.budget > 0:
        raise ValueError(f"--budget {scale.budget:g}: the number of seconds must be positive")
    scale = possible(scale)
    if retune:
        tune_all(scale.data, folder, jobs, scale.budget)
    parameters = {**stored_parameters(), **own_parameters(folder)}
    for name in [name for name in scale.data if name not in parameters]:
        sys.stderr.write(f"{name} is left out: its C and gamma are not tuned yet; add --tune\n")
    raw = folder / "runs.jsonl"
    schedule = Schedule(trials_of(scale, parameters), records.read_runs(raw))
    if schedule.waiting():
        sys.stderr.write(warning(scale))
        with progress(schedule) as report:

            def done(trial: Trial, record: Run) -> None:
                records.append(raw, record)
                report(trial, record)

            Workers(run, jobs, done, write_failure).run(schedule)
    write_report(folder)


def possible(scale: Scale) -> Scale:
    """The scale without data sets and packages that are not here."""
    methods = tuple(method for method in scale.methods if is_installed(method))
    if "today" in scale.experiments:
        for method in set(scale.methods) - set(methods):
            sys.stderr.write(f"{method} is left out: {PEERS[method].module} is not installed\n")
    return replace(scale, data=tuple(filter(is_there, scale.data)), methods=methods)


def is_there(name: str) -> bool:
    """Whether the files of a data set are here or can be downloaded; if not, print the reason."""
    try:
        for file in find_entry(name).files:
            obtain(file)
    except DatasetError as error:
        sys.stderr.write(f"{name} is left out: {error}\n")
        return False
    return True


def tune_all(names: Sequence[str], folder: Path, jobs: int, budget: float | None) -> None:
    """Make the missing fits of tuning, and write the best points to the folder, where the next call finds them."""
    lines = folder / "tuning.jsonl"

    def done(fit: Fit, line: Record) -> None:
        records.append(lines, line)
        write_tuning(line)

    Workers(fit_fold, jobs, done, write_failed_fit).run(Tuning(names, records.read(lines), budget))
    with whole_file(folder / "parameters.toml") as file:
        file.write(as_toml({**own_parameters(folder), **best_of(lines, names)}).encode())


def own_parameters(folder: Path) -> Parameters:
    """The parameters tuned in this folder."""
    path = folder / "parameters.toml"
    return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}


def write_tuning(line: Record) -> None:
    """One line on stderr."""
    cut = "  cut" if line["cut"] else ""
    sys.stderr.write(
        f"tuning {line['data']} by {line['method']}: C = {line['C']:g}, gamma = {line['gamma']:.4g}, "
        f"fold {line['fold'] + 1}: {line['right'] / line['rows']:.2%} in {line['seconds']:.1f} s{cut}\n"
    )


def write_failed_fit(fit: Fit, message: str) -> None:
    """One line on stderr."""
    what = f"tuning {fit.data} by {fit.method}, C = {fit.point.C:g}"
    sys.stderr.write(f"{what} failed; the next call tries it again: {' '.join(message.split())}\n")


def write_failure(trial: Trial, message: str) -> None:
    """One line on stderr."""
    what = f"{trial.experiment} {trial.data} {trial.method} seed {trial.seed}"
    sys.stderr.write(f"{what} failed; the next call tries it again: {' '.join(message.split())}\n")


def write_report(folder: Path) -> None:
    """Write the report from the raw lines in a folder."""
    from .report import make_report
    from .report_files import write

    results = Results(records.read_runs(folder / "runs.jsonl"))
    write(make_report(results, records.read(folder / "tuning.jsonl")), folder)
    sys.stdout.write(f"Report: {folder / 'report.html'}\n")


@contextmanager
def progress(schedule: Schedule) -> Iterator[Callable[[Trial, Run], object]]:
    """A bar on stderr with the estimated remaining time; lines if stderr is not a terminal."""
    with needed_by("the report"):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

    remaining = RemainingTime(schedule)
    console = Console(stderr=True, highlight=False)
    if not console.is_interactive:
        yield lambda trial, record: sys.stderr.write(f"{line_of(trial, record)}  {remaining.after(trial)}\n")
        return
    with Progress(
        TextColumn("{task.description:40}"), BarColumn(), TextColumn("{task.fields[left]}"), console=console
    ) as bars:
        bar = bars.add_task("starting", total=remaining.total, left="")

        def report(trial: Trial, record: Run) -> None:
            console.print(line_of(trial, record), soft_wrap=True)
            what, left = f"{trial.experiment}: {trial.data}, {trial.method}", remaining.after(trial)
            bars.update(bar, completed=remaining.done, total=remaining.total, description=what, left=left)

        yield report


class RemainingTime:
    """Estimates the remaining time from the expected and the actual times of finished runs.

    It is an upper bound: a run that ends at the first try is not tried again.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule, self._began, self.done = schedule, time.monotonic(), 0.0
        self.total = sum(map(expected, schedule.waiting()))

    def after(self, trial: Trial) -> str:
        """The remaining time after this trial."""
        self.done += expected(trial)
        waiting = self._schedule.waiting()
        left = sum(map(expected, waiting))
        self.total = self.done + left
        seconds = (time.monotonic() - self._began) * left / self.done
        return f"{len(waiting)} runs, {spelled(seconds)} left"


def spelled(seconds: float) -> str:
    """A time in its largest unit."""
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def expected(trial: Trial) -> float:
    """A rough estimate of the seconds of a trial, from its rows and its limit."""
    slowness = {"block": 0.1, "swap2": 0.5, "fw": 10.0}.get(trial.method, 2.0)
    return min(trial.budget, 0.5 + slowness * find_entry(trial.data).rows / 1000)


def line_of(trial: Trial, record: Run) -> str:
    """The result of a run."""
    measures = record["measures"]
    what = f"{trial.experiment:12} {trial.data:10} {trial.method:6} seed {trial.seed} {measures['seconds']:8.2f} s"
    if "accuracy" in measures:
        what += f" {measures['accuracy']:7.2%} {measures['model_size']:6} vectors"
    if "relative_gap" in measures:
        what += f"  gap {measures['relative_gap']:.1e}"
    return f"{what}  cut" if measures["cut"] else what
