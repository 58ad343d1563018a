"""The sections of the report on single experiments."""

from __future__ import annotations

from collections.abc import Iterator

from . import figures, tables
from .document import Block, Cell, FigureBlock, Heading, Paragraph, TableBlock
from .evidence import Status
from .paper import published_accuracies
from .protocol import EXPERIMENTS, GROUPS
from .records import Measure
from .summary import Results

TITLES = {
    "web": "Web collection",
    "adult": "Adult collection",
    "medium": "Medium-scale sets",
    "large": "Large-scale sets",
    "protein": "Protein",
}
COLLECTIONS = ("web", "adult")  # drawn over the number of rows
# Table; name, caption and axis of the figure; whether the axis is logarithmic.
SHOWN: dict[Measure, tuple[tables.MeasureTable, str, str, str, bool]] = {
    "accuracy": (tables.accuracy_table, "accuracy", "test accuracy", "test accuracy, %", False),
    "seconds": (tables.time_table, "time", "training time", "training time, s", True),
    "model_size": (tables.size_table, "size", "size of the models", "support vectors", True),
}
CURVES = {
    "convergence": (figures.convergence, "relative gap against work"),
    "rate": (figures.linear_rate, "linear rates are straight lines here"),
    "accuracy": (figures.iterations_by_accuracy, "iterations until the gap is at most eps"),
}


def groups_section(results: Results) -> Iterator[Block]:
    """Accuracy, times, speed-ups and sizes as the paper arranges them."""
    for name, title in TITLES.items():
        data = results.data("paper", GROUPS[name])
        if not data:
            continue
        yield Heading(title)
        prefix, draw = f"paper-{name}", figures.collection if name in COLLECTIONS else figures.sets
        for measure, (table, word, caption, axis, log) in SHOWN.items():
            yield table(results, "paper", prefix, title, data)
            svg = draw(results, "paper", data, measure, label=axis, log=log)
            yield FigureBlock(f"{prefix}-{word}", f"{title}: {caption}.", svg)
            if measure == "seconds" and name in COLLECTIONS:
                svg = figures.speedups(results, "paper", data)
                yield FigureBlock(f"{prefix}-speedup", f"{title}: speed-up over CVM.", svg)
        yield tables.work_table(results, "paper", prefix, title, data)


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
    for table, *_ in SHOWN.values():
        yield table(results, "polynomial", "polynomial", title, data)
    for measure, (*_, axis, log) in SHOWN.items() if web else ():
        svg = figures.collection(results, "polynomial", web, measure, label=axis, log=log)
        yield FigureBlock(f"polynomial-web-{measure}", f"Polynomial kernel, Web collection: {axis}.", svg)
    yield tables.work_table(results, "polynomial", "polynomial", title, data)


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
    yield tables.accuracy_table(results, "relative", "relative", title, data)
    yield tables.time_table(results, "relative", "relative", title, data)
    svg = figures.sets(results, "relative", data, "seconds", label="training time, s", log=True)
    yield FigureBlock("relative-time", f"{title}: training time.", svg)
    yield tables.size_table(results, "relative", "relative", title, data)
    yield tables.work_table(results, "relative", "relative", title, data)
    svg = figures.sets(results, "relative", data, "evaluations", label="kernel evaluations", log=True)
    yield FigureBlock("relative-evaluations", f"{title}: kernel values computed.", svg)
    if results.data("paper"):
        axis = "certified relative gap at the end"
        svg = figures.sets(results, "paper", results.data("paper"), "relative_gap", label=axis, log=True)
        yield FigureBlock("paper-gaps", "The paper's protocol: the certified relative gap at the end of a run.", svg)


def published_section(results: Results) -> Iterator[Block]:
    """Our accuracies and published ones on the same splits."""
    rows: list[tuple[str | Cell, ...]] = []
    for data, known in published_accuracies().items():
        ours = [results.median(name, data, "block", "accuracy") for name in ("relative", "published")]
        if ours[0] is not None:
            cells = [accuracy_beside(value, known.accuracy) for value in ours]
            rows.append((tables.label(data), f"{known.accuracy}", *cells, known.source))
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
    return Cell(f"{100 * value:.2f} ({difference:+.2f})", status.mark)


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
        for name, (draw, caption) in CURVES.items():
            yield FigureBlock(f"{name}-{data}", f"{tables.label(data)}: {caption}.", draw(results, data))
    if results.data("rows"):
        eps = EXPERIMENTS["rows"].settings["eps"]
        caption = f"Web collection, the same C and gamma for all: iterations until the gap is at most {eps:g}."
        yield FigureBlock("rows", caption, figures.iterations_by_rows(results))
