"""The demo: every solver on scikit-learn's digits, as a table and a figure.

The table compares models of the ten digits at the default tolerance. The figure has one curve per solver, so it shows a
problem of two classes, 0-4 versus 5-9, solved to a far smaller gap, where the solvers differ.

matplotlib and rich belong to the extra ``swapsvm[demo]``, so only functions import them.
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

FITS = 2  # per solver: ten digits, then the curve
CURVE_TOL = 1e-6
CURVE_MAX_ITER = 1_000_000  # plain Frank-Wolfe, whose gap decreases like 1/t, would need billions

AXES = {"evaluations": "kernel values computed", "iteration": "iterations", "seconds": "seconds"}
COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#0072B2", "#CC79A7", "#000000", "#D55E00")  # Okabe-Ito: colour-blind-safe
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
    """The results of one solver: a model of the ten digits, and the trace of its run on 0-4 versus 5-9."""

    solver: str
    model: SVC
    seconds: float
    accuracy: float
    curve: np.ndarray
    curve_converged: bool


def run(output: Path) -> None:
    """Train every solver, print the table and write the figure; the extension of its file selects the format."""
    require_extra("the demo")
    check_output(output)
    digits = load()
    with progress() as report:
        outcomes = [measure(solver, digits, report) for solver in SOLVERS]
    show(make_table(outcomes, digits))
    draw(outcomes, digits).savefig(output, dpi=150)
    sys.stdout.write(
        f"\nFigure: {output}\n"
        "What it shows: most solvers need each kernel value about once, but differ in iterations and seconds.\n"
    )


def check_output(output: Path) -> None:
    """Raise now, not after the fits."""
    from matplotlib.figure import Figure

    formats = Figure().canvas.get_supported_filetypes()
    if output.suffix[1:].lower() not in formats:
        raise ValueError(f"--output {output} must end in one of {', '.join(f'.{name}' for name in sorted(formats))}")
    if not output.absolute().parent.is_dir():
        raise ValueError(f"--output {output}: there is no folder {output.parent}")


def load() -> Digits:
    """The digits, split in a fixed way."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, labels = load_digits(return_X_y=True)
    return Digits(*train_test_split(images / 16, labels, test_size=0.25, stratify=labels, random_state=0))


@contextmanager
def progress() -> Iterator[Report]:
    """Bars on stderr, one per solver; lines if stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_interactive:
        yield lambda solver, done: sys.stderr.write(f"{solver}: {done} of {FITS} fits\n")
        return
    columns = (TextColumn("{task.description:5}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bars:
        tasks = {solver: bars.add_task(solver, total=FITS, start=False) for solver in SOLVERS}

        def report(solver: str, done: int) -> None:
            bars.start_task(tasks[solver])
            bars.update(tasks[solver], completed=done)

        yield report


def demo_svc(solver: str) -> SVC:
    """The estimator of all fits. One thread: at this size, more threads cost more than they save."""
    return SVC(solver=solver, C=16, kernel="rbf", gamma="mean_sq_dist", n_jobs=1)


def measure(solver: str, digits: Digits, report: Report) -> Outcome:
    """Both fits of one solver."""
    report(solver, 0)
    began = time.perf_counter()
    model = demo_svc(solver).fit(digits.train, digits.train_labels)
    seconds = time.perf_counter() - began
    report(solver, 1)
    curve, converged = trace_curve(solver, digits)
    report(solver, 2)
    return Outcome(solver, model, seconds, model.score(digits.test, digits.test_labels), curve, converged)


def trace_curve(solver: str, digits: Digits) -> tuple[np.ndarray, bool]:
    """The trace of a run on 0-4 versus 5-9, and whether it reached the gap."""
    model = demo_svc(solver).set_params(tol=CURVE_TOL, max_iter=CURVE_MAX_ITER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the caption names those solvers
        model.fit(digits.train, digits.train_labels >= 5)
    return model.trace_, model.stop_reason_ == "gap"


def make_table(outcomes: list[Outcome], digits: Digits) -> Table:
    """One row per solver, narrow enough for 80 columns."""
    from rich import box
    from rich.table import Table

    table = Table(
        title=f"Ten digits, {len(digits.train)} images to train and {len(digits.test)} to test, relative gap <= "
        f"{outcomes[0].model.tol:g}",
        caption=f"{settings_text(outcomes)}; kernel values include those of the certificate",
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
        "gap": f"{model.relative_gap_:.1e}",
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


def draw(outcomes: list[Outcome], digits: Digits) -> Figure:
    """The gap of each solver against each measure of work."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(12, 4.4), layout="constrained")
        panels = figure.subplots(1, len(AXES), sharey=True)
        for panel, field in zip(panels, AXES, strict=True):
            draw_panel(panel, field, outcomes)
        panels[0].set_ylabel("relative duality gap (smallest so far)")
        place = {"transform": panels[0].get_yaxis_transform()}
        panels[0].text(0.01, 1.1 * outcomes[0].model.tol, "default tol", color="0.45", size=8, **place)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
        figure.align_xlabels()
        figure.suptitle("Digits 0-4 versus 5-9: what a small gap costs", x=0.012, ha="left", weight="bold")
        figure.supxlabel(caption(outcomes, digits), x=0.012, ha="left", size=9, color="0.35")
    return figure


def draw_panel(panel: Axes, field: str, outcomes: list[Outcome]) -> None:
    """The gap against one measure of work."""
    for index, (outcome, colour) in enumerate(zip(outcomes, cycle(COLOURS), strict=False)):
        # A solver that took the same steps as an earlier one, as cvm and fcfw do, is dotted: the curves coincide.
        hidden = any(np.array_equal(outcome.curve["gap"], earlier.curve["gap"]) for earlier in outcomes[:index])
        # No step lowers the value, so the smallest gap so far still bounds the distance to the optimum.
        gap = np.minimum.accumulate(outcome.curve["gap"]) / np.abs(outcome.curve["value"])
        work = np.maximum.accumulate(outcome.curve[field])
        panel.plot(work, gap, ":" if hidden else "-", color=colour, linewidth=1.8, label=full_name(outcome.solver))
    panel.axhline(outcomes[0].model.tol, color="0.6", linewidth=0.8, zorder=0)
    panel.set(xscale="log", yscale="log", xlabel=AXES[field])
    panel.set_ylim(bottom=CURVE_TOL)
    panel.minorticks_off()


def full_name(solver: str) -> str:
    """Name, and class name as words."""
    words = re.sub("(?<=.)(?=[A-Z])", " ", SOLVERS[solver].__name__)
    return f"{solver}: {words.replace('Frank Wolfe', 'Frank-Wolfe')}"


def caption(outcomes: list[Outcome], digits: Digits) -> str:
    """What the figure itself does not show."""
    cut = ", ".join(outcome.solver for outcome in outcomes if not outcome.curve_converged)
    return (
        f"{len(digits.train)} images, {settings_text(outcomes)}; without the certifying pass. "
        + (f"Cut off after {CURVE_MAX_ITER:,} iterations: {cut}." if cut else "")
        + "\nAn iteration of fcfw, cvm or block solves a subproblem on a face; fcfw and cvm take the same steps."
        + "\nThe gap is the one that stops the solver: primal minus dual for block, that of the simplex for the others."
    )
