"""The sections of the report on single experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import figures
from .document import Block, Cell, FigureBlock, Heading, Paragraph, TableBlock
from .evidence import MARKS, Status
from .paper import published_accuracies
from .protocol import EXPERIMENTS, FRANK_WOLFE, GROUPS, METHODS, PAPER_SAMPLING, TRUST
from .records import Measure
from .summary import Results
from .tables import (
    CUT,
    Formatter,
    accuracy_table,
    exponential,
    label,
    measure_cells,
    number,
    percent,
    size_table,
    time_table,
    work_table,
)

TITLES = {
    "web": "Web collection",
    "adult": "Adult collection",
    "medium": "Medium-scale sets",
    "large": "Large-scale sets",
    "protein": "Protein",
}
COLLECTIONS = ("web", "adult")  # drawn over the number of rows
AXES: dict[Measure, tuple[str, bool]] = {  # label, and whether the axis is logarithmic
    "accuracy": ("test accuracy, %", False),
    "seconds": ("training time, s", True),
    "model_size": ("support vectors", True),
}


def groups_section(results: Results) -> Iterator[Block]:
    """Accuracy, times, speed-ups and sizes as the paper arranges them."""
    for name, members in GROUPS.items():
        data = results.data("paper", members)
        if data:
            yield Heading(TITLES[name])
            yield from measures_of(results, "paper", name, data)


def measures_of(results: Results, experiment: str, name: str, data: Sequence[str]) -> Iterator[Block]:
    """Tables and figures of one group."""
    prefix, title = f"{experiment}-{name}", TITLES[name]
    draw = figures.collection if name in COLLECTIONS else figures.sets
    yield accuracy_table(results, experiment, prefix, title, data)
    svg = draw(results, experiment, data, "accuracy", label="test accuracy, %", log=False)
    yield FigureBlock(f"{prefix}-accuracy", f"{title}: test accuracy.", svg)
    yield time_table(results, experiment, prefix, title, data)
    svg = draw(results, experiment, data, "seconds", label="training time, s", log=True)
    yield FigureBlock(f"{prefix}-time", f"{title}: training time.", svg)
    if name in COLLECTIONS and experiment == "paper":
        yield FigureBlock(
            f"{prefix}-speedup", f"{title}: speed-up over CVM.", figures.speedups(results, experiment, data)
        )
    yield size_table(results, experiment, prefix, title, data)
    svg = draw(results, experiment, data, "model_size", label="support vectors", log=True)
    yield FigureBlock(f"{prefix}-size", f"{title}: size of the models.", svg)
    yield work_table(results, experiment, prefix, title, data)


# ---- the other experiments --------------------------------------------------------------------------------------


def trust_section(results: Results) -> Iterator[Block]:
    """The effect of the rule that ends a sampled run."""
    trusted = {"paper": PAPER_SAMPLING.trusted} | {name: sampling.trusted for name, sampling in TRUST.items()}
    names = sorted(trusted, key=lambda name: trusted[name] or 0)
    data = [d for d in results.data(next(iter(TRUST))) if results.runs("paper", d, "swap")]
    if not data:
        return
    yield Heading("What ends a sampled run")
    yield Paragraph(
        "The paper does not say when a sampled run ends, and no other choice changes the results more. The table shows "
        "the same methods on the same problems, by the number of samples in a row without a violator that end a run. "
        f"The study uses {PAPER_SAMPLING.trusted}, which of the numbers tried comes closest to the paper's results."
    )
    forms: dict[Measure, Formatter] = {"accuracy": percent, "seconds": number, "relative_gap": exponential}
    columns = ["data set", "samples", *(f"{METHODS[m]}, {what}" for m in FRANK_WOLFE for what in ("%", "s", "gap"))]
    rows = []
    for d in data:
        for name in names:
            row: list[Cell | str] = [label(d), str(trusted[name])]
            for m in FRANK_WOLFE:
                for measure, form in forms.items():
                    row += measure_cells(results, name, d, (m,), measure, form, highest=None)
            rows.append(row)
    caption = (
        "Accuracy in percent, seconds, and the certified relative gap, by the number of empty samples that end a run."
    )
    yield TableBlock("trusted", caption, columns, rows, CUT)


def polynomial_section(results: Results) -> Iterator[Block]:
    """The kernel that CVM cannot use."""
    data = results.data("polynomial", EXPERIMENTS["polynomial"].data)
    if not data:
        return
    yield Heading("Polynomial kernel")
    yield Paragraph(
        "The homogeneous kernel (gamma x'z)^2 does not have the constant diagonal that CVM requires, so CVM is left "
        "out; all other methods train as before."
    )
    web = [d for d in data if d in GROUPS["web"]]
    title = "Polynomial kernel"
    yield accuracy_table(results, "polynomial", "polynomial", title, data)
    yield time_table(results, "polynomial", "polynomial", title, data)
    yield size_table(results, "polynomial", "polynomial", title, data)
    for measure, (text, log) in AXES.items() if web else ():
        svg = figures.collection(results, "polynomial", web, measure, label=text, log=log)
        yield FigureBlock(f"polynomial-web-{measure}", f"Polynomial kernel, Web collection: {text}.", svg)
    yield work_table(results, "polynomial", "polynomial", title, data)


def relative_section(results: Results) -> Iterator[Block]:
    """Our protocol."""
    data = results.data("relative")
    if not data:
        return
    yield Heading("Our protocol: every row, a certified relative gap")
    tol = EXPERIMENTS["relative"].settings["tol"]
    yield Paragraph(
        f"There are no samples: the toward vertex is the best of all rows, and a run ends when the duality gap, "
        f"recomputed in double precision, is at most {tol:g} of the value. All methods solve the same problem to the "
        "same accuracy."
    )
    title = "Our protocol"
    yield accuracy_table(results, "relative", "relative", title, data)
    yield time_table(results, "relative", "relative", title, data)
    yield FigureBlock(
        "relative-time",
        f"{title}: training time.",
        figures.sets(results, "relative", data, "seconds", label="training time, s", log=True),
    )
    yield size_table(results, "relative", "relative", title, data)
    yield work_table(results, "relative", "relative", title, data)
    yield FigureBlock(
        "relative-evaluations",
        f"{title}: kernel values computed.",
        figures.sets(results, "relative", data, "evaluations", label="kernel evaluations", log=True),
    )
    if results.data("paper"):
        axis = "certified relative gap at the end"
        svg = figures.sets(results, "paper", results.data("paper"), "relative_gap", label=axis, log=True)
        yield FigureBlock("paper-gaps", "The paper's protocol: the certified relative gap at the end of a run.", svg)


def published_section(results: Results) -> Iterator[Block]:
    """Our accuracies and published ones on the same splits."""
    rows: list[tuple[str | Cell, ...]] = []
    for data, known in published_accuracies().items():
        ours = [results.median(name, data, "block", "accuracy") for name in ("relative", "published")]
        if ours[0] is None:
            continue
        cells = [accuracy_beside(value, known.accuracy) for value in ours]
        rows.append((label(data), f"{known.accuracy}", *cells, known.source))
    if rows:
        yield Heading("Comparison with published accuracies")
        columns = ("data set", "published", "parameters by the paper's rule", "published parameters", "source")
        caption = "Test accuracy, percent, of the block engine on published splits, and the difference from the source."
        note = (
            "Confirmed: within one point. The paper's rule uses the mean squared distance as the width of the kernel "
            "without tuning; where that costs more than a point, the column of published parameters shows it."
        )
        yield TableBlock("published", caption, columns, rows, note)


def accuracy_beside(value: float | None, published: float) -> Cell | str:
    """An accuracy and its difference from a published one."""
    if value is None:
        return ""
    difference = 100 * value - published
    status = Status.CONFIRMED if abs(difference) <= 1 else Status.NOT_CONFIRMED
    return Cell(f"{percent(value)} ({difference:+.2f})", MARKS[status])


def convergence_section(results: Results) -> Iterator[Block]:
    """Rates, and iterations against accuracy and rows."""
    yield Heading("Convergence")
    yield FigureBlock(
        "directions",
        "The three directions at a point a of the 3-simplex, each with its exact line search: toward the ascent "
        "vertex, away from the descent vertex, and the swap between them.",
        figures.simplex_sketch(),
    )
    for data in results.data("convergence"):
        name = label(data)
        yield FigureBlock(
            f"convergence-{data}", f"{name}: relative gap against work.", figures.convergence(results, data)
        )
        yield FigureBlock(
            f"rate-{data}", f"{name}: linear rates are straight lines here.", figures.linear_rate(results, data)
        )
        svg = figures.iterations_by_accuracy(results, data)
        yield FigureBlock(f"accuracy-{data}", f"{name}: iterations until the gap is at most eps.", svg)
    if results.data("rows"):
        eps = EXPERIMENTS["rows"].settings["eps"]
        caption = f"Web collection, the same C and gamma for all: iterations until the gap is at most {eps:g}."
        yield FigureBlock("rows", caption, figures.iterations_by_rows(results))
