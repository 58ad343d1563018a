"""``swapsvm reproduce``: tune if requested, make the runs that are due, write the report.

One folder holds ``runs.jsonl`` and ``tuning.jsonl``, one line per run, and the report made from them. A second call
continues the first.
"""

from __future__ import annotations

import sys
import time
import tomllib
from collections.abc import Callable, Iterator
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
from .protocol import Scale, Trial, trials_of
from .records import Record, Run
from .runs import due, run_all
from .summary import Results
from .tuning import GridPoint, as_toml, stored_parameters, tune


def reproduce(scale: Scale, folder: Path, jobs: int, retune: bool) -> None:
    """Make the missing runs, ``jobs`` at a time, and write the report; ``retune`` tunes C and gamma again."""
    require_extra("the report")
    if jobs < 1:
        raise ValueError(f"--jobs {jobs}: the number of runs at a time must be positive")
    if not scale.budget > 0:
        raise ValueError(f"--budget {scale.budget:g}: the number of seconds must be positive")
    present = [name for name in scale.data if is_there(name)]
    if retune:
        tune_all(present, folder, scale.budget)
    parameters = {**stored_parameters(), **own_parameters(folder)}
    for name in [name for name in present if name not in parameters]:
        sys.stderr.write(f"{name} is left out: its C and gamma are not tuned yet; add --tune\n")
    raw = folder / "runs.jsonl"
    trials = due(trials_of(replace(scale, data=tuple(present)), parameters), records.read_runs(raw))
    if trials:
        with progress(trials) as report:
            run_all(trials, raw, jobs, report, write_failure)
    write_report(folder)


def is_there(name: str) -> bool:
    """Whether the files of a data set are here or can be downloaded; if not, print the reason."""
    try:
        for file in find_entry(name).files:
            obtain(file)
    except DatasetError as error:
        sys.stderr.write(f"{name} is left out: {error}\n")
        return False
    return True


def tune_all(names: list[str], folder: Path, budget: float) -> None:
    """Tune the sets and write the result to the folder, where the next call finds it."""
    chosen = {name: GridPoint(**values) for name, values in own_parameters(folder).items()}
    for name in names:
        chosen[name] = tune(name, folder / "tuning.jsonl", budget, write_tuning)
        with whole_file(folder / "parameters.toml") as file:
            file.write(as_toml(chosen).encode())


def own_parameters(folder: Path) -> dict[str, dict[str, float]]:
    """The parameters tuned in this folder."""
    path = folder / "parameters.toml"
    return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}


def write_tuning(record: Record) -> None:
    """One line on stderr."""
    sys.stderr.write(
        f"tuning {record['data']}: C = {record['C']:g}, gamma = {record['gamma']:.4g}, fold {record['fold'] + 1}: "
        f"{record['right'] / record['rows']:.2%} in {record['seconds']:.1f} s\n"
    )


def write_failure(trial: Trial, message: str) -> None:
    """One line on stderr."""
    what = f"{trial.experiment} {trial.data} {trial.method} seed {trial.seed}"
    sys.stderr.write(f"{what} failed; the next call tries it again: {' '.join(message.split())}\n")


def write_report(folder: Path) -> None:
    """Write the report from the raw lines in a folder."""
    from .report import make_report
    from .report_files import write

    write(make_report(Results(records.read_runs(folder / "runs.jsonl"))), folder)
    sys.stdout.write(f"Report: {folder / 'report.html'}\n")


@contextmanager
def progress(trials: list[Trial]) -> Iterator[Callable[[Trial, Run], object]]:
    """A bar on stderr with the estimated remaining time; lines if stderr is not a terminal."""
    with needed_by("the report"):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    remaining = RemainingTime(trials)
    console = Console(stderr=True, highlight=False)
    if not console.is_interactive:
        yield lambda trial, record: sys.stderr.write(f"{line_of(trial, record)}  {remaining.after(trial)}\n")
        return
    columns = (
        TextColumn("{task.description:40}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console) as bars:
        bar = bars.add_task("starting", total=len(trials), left="")

        def report(trial: Trial, record: Run) -> None:
            console.print(line_of(trial, record), soft_wrap=True)
            what = f"{trial.experiment}: {trial.data}, {trial.method}"
            bars.update(bar, advance=1, description=what, left=remaining.after(trial))

        yield report


class RemainingTime:
    """Estimates the remaining time from the expected and the actual times of finished runs."""

    def __init__(self, trials: list[Trial]) -> None:
        self._began = time.monotonic()
        self._left = sum(map(expected, trials))
        self._done = 0.0

    def after(self, trial: Trial) -> str:
        """The remaining time after this trial."""
        self._done += expected(trial)
        self._left -= expected(trial)
        seconds = max(0.0, (time.monotonic() - self._began) * self._left / self._done)
        if seconds < 90:
            return f"about {seconds:.0f} s left"
        return f"about {seconds / 60:.0f} min left" if seconds < 5400 else f"about {seconds / 3600:.1f} h left"


def expected(trial: Trial) -> float:
    """A rough estimate of the seconds of a trial, from its rows and its limit."""
    slowness = {"block": 0.1, "swap2": 0.5, "fw": 10.0}.get(trial.method, 2.0)
    return min(trial.budget, 0.5 + slowness * find_entry(trial.data).rows / 1000)


def line_of(trial: Trial, record: Run) -> str:
    """The result of a run."""
    measures = record["measures"]
    cut = "  cut" if measures["cut"] else ""
    return (
        f"{trial.experiment:12} {trial.data:10} {trial.method:6} seed {trial.seed} {measures['seconds']:8.2f} s "
        f"{measures['accuracy']:7.2%} {measures['model_size']:6} vectors  gap {measures['relative_gap']:.1e}{cut}"
    )
