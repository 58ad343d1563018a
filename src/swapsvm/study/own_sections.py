"""The sections of the report beyond the paper's protocol: certified gaps, today's methods, rates, growth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from . import curve_figures, figures, rates, tables
from .document import Block, Cell, FigureBlock, Heading, Paragraph, TableBlock
from .evidence import Status
from .figures import ACCURACY, EVALUATIONS, SIZE, TIME
from .paper import published_accuracies
from .protocol import EXPERIMENTS, GROUPS, METHODS, RULES, STEPS, TODAY
from .sections import tables_of
from .summary import Results

CURVES = {
    "convergence": (curve_figures.convergence, "relative gap against work"),
    "rate": (curve_figures.linear_rate, "linear rates are straight lines here"),
    "accuracy": (curve_figures.iterations_by_accuracy, "iterations until the gap is at most eps"),
}


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
    yield from measures_of(results, "relative", data, "Our protocol")


def measures_of(results: Results, experiment: str, data: Sequence[str], title: str) -> Iterator[Block]:
    """Figures of time and kernel values, and all tables."""
    for word, axis in (("time", TIME), ("evaluations", EVALUATIONS)):
        svg = figures.sets(results, experiment, {"": data}, axis)
        yield FigureBlock(f"{experiment}-{word}", f"{title}: {axis.label}.", svg)
    yield from tables_of(results, experiment, data, title)


class Rival(NamedTuple):
    """How a method does on the cells of today."""

    method: str
    finished: int
    fastest: int
    ratio: float  # median time over the fastest time of the set


def rivals(results: Results, among: Sequence[str]) -> list[Rival]:
    """These methods of today, those that finish most first, then by their median time over the fastest of them."""
    data = results.data("today")
    times = {d: {m: s for m, s in times_of(results, d).items() if m in among} for d in data}
    best = {d: min(known.values()) for d, known in times.items() if known and min(known.values()) > 0}
    found = []
    for m in [m for m in results.methods("today") if m in among]:
        ratios = [times[d][m] / best[d] for d in best if m in times[d]]
        fastest = sum(ratio == 1.0 for ratio in ratios)
        found.append(Rival(m, len(ratios), fastest, median(ratios) if ratios else float("inf")))
    return sorted(found, key=lambda rival: (-rival.finished, rival.ratio))


def times_of(results: Results, data: str) -> dict[str, float]:
    """The median times of the methods that finished."""
    finished = [m for m in results.methods("today") if not results.cut("today", data, m)]
    medians = {m: results.median("today", data, m, "seconds") for m in finished}
    return {m: seconds for m, seconds in medians.items() if seconds is not None}


def today_section(results: Results) -> Iterator[Block]:
    """The paper's methods, newer steps and peers on the same cells."""
    data = results.data("today")
    if not data:
        return
    ordered = rivals(results, tuple(TODAY))
    yield Heading("Today: which step would one take?")
    yield Paragraph(answer(ordered, len(data)))
    yield from steps_section(results)
    columns = ("method", "finished sets", "fastest on", "median time / fastest")
    rows = [(TODAY[r.method], str(r.finished), str(r.fastest), f"{r.ratio:.3g}" if r.finished else "") for r in ordered]
    caption = "Today's choice: on how many sets a method finished and was the fastest, and how far it was behind."
    yield TableBlock("today", caption, columns, rows)
    yield FigureBlock("today-accuracy", "Today: test accuracy.", figures.sets(results, "today", {"": data}, ACCURACY))
    yield FigureBlock("today-size", "Today: sizes of the models.", figures.sets(results, "today", {"": data}, SIZE))
    yield from measures_of(results, "today", data, "Today")


class Economy(NamedTuple):
    """What explains the time of a step: medians over the sets that it finished."""

    iterations: float  # over those of the step that needs fewest
    seconds: float  # for an iteration, over those of the cheapest step


def economies(results: Results, methods: Sequence[str]) -> dict[str, Economy]:
    """How many iterations a step needs, and how long one takes."""
    found: dict[str, list[Economy]] = {m: [] for m in methods}
    for d in results.data("today"):
        times = {m: seconds for m, seconds in times_of(results, d).items() if m in methods}
        counts = {m: results.median("today", d, m, "iterations") or 1.0 for m in times}
        each = {m: times[m] / counts[m] for m in times}
        for m in times:
            found[m].append(Economy(counts[m] / min(counts.values()), each[m] / min(each.values())))
    return {m: Economy(*map(median, zip(*known, strict=True))) for m, known in found.items() if known}


def steps_section(results: Results) -> Iterator[Block]:
    """The steps of the Frank-Wolfe family that change two weights and a scale, among themselves, and why."""
    ordered = rivals(results, STEPS)
    if not ordered or not ordered[0].finished:
        return
    known = economies(results, [rival.method for rival in ordered])
    first, why = ordered[0], known[ordered[0].method]
    yield Paragraph(
        f"Among the single steps of the Frank-Wolfe family, the paper's and those published since, it is "
        f"**{TODAY[first.method]}**: {first.finished} sets finished, in median {first.ratio:.3g} times the time of the "
        f"fastest step. It needs {why.iterations:.3g} times the iterations of the step that needs fewest, and "
        f"{why.seconds:.3g} times the seconds of the cheapest for each."
    )
    columns = ("step", "finished sets", "median time / fastest step", "iterations / fewest", "seconds each / cheapest")
    rows = [
        (TODAY[r.method], str(r.finished), f"{r.ratio:.3g}", *paces(known[r.method])) for r in ordered if r.finished
    ]
    yield TableBlock("steps", "Single steps of the Frank-Wolfe family, and what explains their times.", columns, rows)


def paces(economy: Economy) -> tuple[str, str]:
    """Two cells."""
    return f"{economy.iterations:.3g}", f"{economy.seconds:.3g}"


def answer(ordered: Sequence[Rival], sets: int) -> str:
    """Which method one would take, and why, from the numbers."""
    if not ordered[0].finished:
        return "No method has finished yet."
    first = ordered[0]
    text = (
        f"On these {sets} sets, to the same certified gap where a method has one, **{TODAY[first.method]}** is the "
        f"choice: it finished on {first.finished}, was the fastest on {first.fastest}, and took in median "
        f"{first.ratio:.3g} times the time of the fastest."
    )
    if len(ordered) > 1 and ordered[1].finished:
        second = ordered[1]
        text += (
            f" Next is {TODAY[second.method]} ({second.finished} finished, {second.ratio:.3g} times the fastest). The "
            "order is by finished sets, then by that ratio."
        )
    return text


def growth_section(results: Results) -> Iterator[Block]:
    """How the time grows with the rows, by experiment."""
    names = [name for name in (*RULES, "relative") if results.data(name)]
    found = [growth_row(results, name, group) for name in names for group in ("web", "adult")]
    rows = [row for row in found if any(row[2:])]
    if not rows:
        return
    yield Heading("Growth of the time with the rows")
    yield Paragraph(
        "The exponent of m in a power law that is fitted to the median times of finished runs on a collection; below "
        "it the number of sets. 1 is a time in proportion to the rows. Fewer than three finished sets give none. Runs "
        "that were cut are missing on the large sets first, so that an exponent on few sets says less."
    )
    columns = ("protocol", "collection", *METHODS.values())
    yield TableBlock("growth", "Exponents of the time in the number of rows.", columns, rows)


def growth_row(results: Results, experiment: str, group: str) -> tuple[str | Cell, ...]:
    """The exponents of all methods."""
    found = {m: rates.growth(results, experiment, GROUPS[group], m) for m in METHODS}
    cells = [Cell(f"{slope:.2f}", spread=f"{sets} sets") if slope is not None else "" for slope, sets in found.values()]
    return (RULES.get(experiment, "relative gap"), group.title(), *cells)


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
    return Cell(f"{100 * value:.2f} ({difference:+.2f})", status, brief=True)


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
