"""The demo: every solver on scikit-learn's digits, as a table and, if a file is named for it, a figure.

The table compares models of the ten digits at the default tolerance; a solver that needs too many iterations is cut and
marked. The figure has one curve per solver, so it shows a problem of two classes, 0-4 versus 5-9, solved to a far
smaller gap, where the solvers differ.

matplotlib and rich are optional, so only functions import them.
"""

from __future__ import annotations

import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .estimators import SVC
from .plotting import require_extra
from .rays import KINDS
from .solvers import SOLVERS
from .stopping import ConvergenceWarning

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.table import Table

TABLE_MAX_ITER = 10_000  # for each pair of digits: plain Frank-Wolfe, whose gap decreases like 1/t, needs up to 540000
CURVE_TOL = 1e-6
CURVE_MAX_ITER = 200_000  # plain Frank-Wolfe would need billions
SECONDS = {False: 5, True: 10}  # of a run, without and with the figure

AXES = {"evaluations": "kernel values computed", "iteration": "iterations", "seconds": "seconds"}
COLOURS = (  # seven of Okabe and Ito, safe for the colour-blind, and three more
    *("#E69F00", "#56B4E9", "#009E73", "#0072B2", "#CC79A7"),
    *("#F0E442", "#7A5195", "#999999", "#000000", "#D55E00"),
)
STYLE: dict[Any, Any] = {  # matplotlib types its keys and values one by one
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "0.5",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.92",
    "grid.linewidth": 0.6,
    "xtick.color": "0.3",
    "ytick.color": "0.3",
    "legend.frameon": False,
}

Report = Callable[[str, int], object]  # solver, number of its fits that are done


class Digits(NamedTuple):
    """Images as rows of numbers from 0 to 1, and their digits."""

    train: np.ndarray
    test: np.ndarray
    train_labels: np.ndarray
    test_labels: np.ndarray


class Outcome(NamedTuple):
    """The model of the ten digits that one solver trained."""

    solver: str
    model: SVC
    seconds: float
    accuracy: float

    @property
    def cut(self) -> bool:
        return self.model.stop_reason_ != "gap"


class Curve(NamedTuple):
    """The run of one solver on 0-4 versus 5-9."""

    solver: str
    trace: np.ndarray
    converged: bool


def run(figure: Path | None = None) -> None:
    """Train every solver and print the table; the extension of the figure's file selects its format."""
    require_extra("the demo")
    if figure:
        check_output(figure)
    began = time.perf_counter()
    sys.stdout.write(f"{len(SOLVERS)} solvers learn ten digits. This takes about {SECONDS[bool(figure)]} seconds.\n\n")
    sys.stdout.flush()
    digits = load()
    with progress(fits=2 if figure else 1) as report:
        outcomes = [measure(solver, digits, report) for solver in SOLVERS]
        curves = [trace_curve(solver, digits, report) for solver in SOLVERS] if figure else []
    show(make_table(outcomes, digits))
    if figure:
        draw(curves, outcomes, digits).savefig(figure, dpi=150)
    sys.stdout.write(f"\n{ending(figure)}\nTook {time.perf_counter() - began:.1f} seconds.\n")


def ending(figure: Path | None) -> str:
    """Where the figure is, or how to get it."""
    if figure is None:
        return "No file was written. `swapsvm demo --figure demo.png` also draws the course of the fits."
    what = "most solvers need each kernel value about once, but differ in iterations and seconds."
    return f"Figure: {figure}\nWhat it shows: {what}"


def check_output(figure: Path) -> None:
    """Raise now, not after the fits."""
    from matplotlib.figure import Figure

    formats = Figure().canvas.get_supported_filetypes()
    if figure.suffix[1:].lower() not in formats:
        raise ValueError(f"--figure {figure} must end in one of {', '.join(f'.{name}' for name in sorted(formats))}")
    if not figure.absolute().parent.is_dir():
        raise ValueError(f"--figure {figure}: there is no folder {figure.parent}")


def load() -> Digits:
    """The digits, split in a fixed way."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, labels = load_digits(return_X_y=True)
    return Digits(*train_test_split(images / 16, labels, test_size=0.25, stratify=labels, random_state=0))


@contextmanager
def progress(fits: int) -> Iterator[Report]:
    """Bars on stderr, one per solver; lines if stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_interactive:
        yield lambda solver, done: sys.stderr.write(f"{solver}: {done} of {fits} fits\n")
        return
    columns = (TextColumn("{task.description:5}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bars:
        tasks = {solver: bars.add_task(solver, total=fits, start=False) for solver in SOLVERS}

        def report(solver: str, done: int) -> None:
            bars.start_task(tasks[solver])
            bars.update(tasks[solver], completed=done)

        yield report


def demo_svc(solver: str) -> SVC:
    """The estimator of all fits. One thread: at this size, more threads cost more than they save."""
    return SVC(solver=solver, C=16, kernel="rbf", gamma="mean_sq_dist", n_jobs=1)


def measure(solver: str, digits: Digits, report: Report) -> Outcome:
    """A model of the ten digits."""
    report(solver, 0)
    model = demo_svc(solver).set_params(max_iter=TABLE_MAX_ITER)
    began = time.perf_counter()
    fit_quietly(model, digits, digits.train_labels)
    seconds = time.perf_counter() - began
    report(solver, 1)
    return Outcome(solver, model, seconds, model.score(digits.test, digits.test_labels))


def trace_curve(solver: str, digits: Digits, report: Report) -> Curve:
    """A run on 0-4 versus 5-9."""
    model = demo_svc(solver).set_params(tol=CURVE_TOL, max_iter=CURVE_MAX_ITER)
    fit_quietly(model, digits, digits.train_labels >= 5)
    report(solver, 2)
    return Curve(solver, model.trace_, model.stop_reason_ == "gap")


def fit_quietly(model: SVC, digits: Digits, labels: np.ndarray) -> None:
    """Fit; the table and the caption of the figure name the solvers that were cut."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(digits.train, labels)


def make_table(outcomes: list[Outcome], digits: Digits) -> Table:
    """One row per solver, narrow enough for 80 columns."""
    from rich import box
    from rich.table import Table

    table = Table(
        title=f"Ten digits, {len(digits.train)} images to train and {len(digits.test)} to test, relative gap <= "
        f"{outcomes[0].model.tol:g}",
        caption=f"{settings_text(outcomes)}; kernel values include those of the certificate{cut_note(outcomes)}",
        box=box.SIMPLE_HEAD,
        padding=0,
        show_edge=False,
    )
    table.add_column("solver", style="bold", no_wrap=True)
    taken = [kind for kind in KINDS if any(steps_of(outcome)[kind] for outcome in outcomes)]
    for heading in cells(outcomes[0], taken):
        table.add_column(heading, justify="right", no_wrap=True)
    for outcome in outcomes:
        table.add_row(outcome.solver, *cells(outcome, taken).values())
    return table


def cut_note(outcomes: list[Outcome]) -> str:
    """Which gaps are not those at which the solver would have stopped."""
    cut = any(outcome.cut for outcome in outcomes)
    return f"\n* cut after {TABLE_MAX_ITER:,} iterations for a pair of digits; the gap is certified too" if cut else ""


def steps_of(outcome: Outcome) -> Counter[str]:
    """How many steps of each kind the fit took."""
    return sum((result.trace.kinds for result in outcome.model.results_), Counter())


def cells(outcome: Outcome, taken: list[str]) -> dict[str, str]:
    """One row of the table by the headings of its columns, which are broken to fit; ``taken``: kinds of steps."""
    model, steps = outcome.model, steps_of(outcome)
    broken = {kind: kind.replace("-", "-\n").replace("corrective", "correc-\ntive") for kind in taken}
    return {
        "sec-\nonds": f"{outcome.seconds:.2f}",
        "itera-\ntions": str(model.n_iter_.sum()),
        **{heading: str(steps[kind]) for kind, heading in broken.items()},
        "kernel\nvalues": str(model.n_evaluations_),
        "SVs": str(len(model.support_)),
        "gap": f"{model.relative_gap_:.1e}{'*' if outcome.cut else ' '}",
        "accu-\nracy": f"{outcome.accuracy:.1%}",
    }


def settings_text(outcomes: list[Outcome]) -> str:
    """The settings of all fits."""
    model = outcomes[0].model
    return f"{model.kernel} kernel, C = {model.C}, {model.n_jobs} thread"


def show(table: Table) -> None:
    """Print to stdout, at full width if stdout is not a terminal."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, 120)
    console.print(table)


def draw(curves: list[Curve], outcomes: list[Outcome], digits: Digits) -> Figure:
    """The gap of each solver against each measure of work."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(12, 4.4), layout="constrained")
        panels = figure.subplots(1, len(AXES), sharey=True)
        for panel, field in zip(panels, AXES, strict=True):
            draw_panel(panel, field, curves, outcomes[0].model.tol)
        panels[0].set_ylabel("relative duality gap (smallest so far)")
        place = {"transform": panels[0].get_yaxis_transform()}
        panels[0].text(0.01, 1.1 * outcomes[0].model.tol, "default tol", color="0.45", size=8, **place)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
        figure.align_xlabels()
        figure.suptitle("Digits 0-4 versus 5-9: what a small gap costs", x=0.012, ha="left", weight="bold")
        figure.supxlabel(caption(curves, outcomes, digits), x=0.012, ha="left", size=9, color="0.35")
    return figure


def draw_panel(panel: Axes, field: str, curves: list[Curve], tol: float) -> None:
    """The gap against one measure of work."""
    for index, (curve, colour) in enumerate(zip(curves, cycle(COLOURS), strict=False)):
        # A solver that took the same steps as an earlier one, as cvm and fcfw do, is dotted: the curves coincide.
        hidden = any(np.array_equal(curve.trace["gap"], earlier.trace["gap"]) for earlier in curves[:index])
        # No step lowers the value, so the smallest gap so far still bounds the distance to the optimum.
        gap = np.minimum.accumulate(curve.trace["gap"]) / np.abs(curve.trace["value"])
        work = np.maximum.accumulate(curve.trace[field])
        panel.plot(work, gap, ":" if hidden else "-", color=colour, linewidth=1.8, label=full_name(curve.solver))
    panel.axhline(tol, color="0.6", linewidth=0.8, zorder=0)
    panel.set(xscale="log", yscale="log", xlabel=AXES[field])
    panel.set_ylim(bottom=CURVE_TOL)
    panel.minorticks_off()


def full_name(solver: str) -> str:
    """Name, and class name as words."""
    words = re.sub("(?<=.)(?=[A-Z])", " ", SOLVERS[solver].__name__)
    return f"{solver}: {words.replace('Frank Wolfe', 'Frank-Wolfe')}"


def caption(curves: list[Curve], outcomes: list[Outcome], digits: Digits) -> str:
    """What the figure itself does not show."""
    cut = ", ".join(curve.solver for curve in curves if not curve.converged)
    return (
        f"{len(digits.train)} images, {settings_text(outcomes)}; without the certifying pass. "
        + (f"Cut off after {CURVE_MAX_ITER:,} iterations: {cut}." if cut else "")
        + "\nAn iteration of fcfw, cvm or block solves a subproblem on a face; fcfw and cvm take the same steps."
        + "\nThe gap is the one that stops the solver: primal minus dual for block, that of the simplex for the others."
    )
