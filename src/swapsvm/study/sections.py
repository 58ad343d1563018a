"""The sections of the report on the paper's protocol, one for each stop rule, and on the polynomial kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import figures, tables
from .document import Block, FigureBlock, Heading, Paragraph
from .figures import ACCURACY, GAP, SIZE, TIME, Axis
from .protocol import EXPERIMENTS, GROUPS, RULES
from .records import Measure
from .summary import Results

TITLES = {
    "web": "Web",
    "adult": "Adult",
    "medium": "Medium-scale",
    "large": "Large-scale",
    "protein": "Protein",
}
SIDE_BY_SIDE = (("web", "adult"), ("medium", "large"), ("protein",))  # as in the paper
COLLECTIONS = ("web", "adult")  # drawn over the number of rows
DRAWN: dict[str, tuple[Axis, str]] = {
    "accuracy": (ACCURACY, "test accuracies"),
    "time": (TIME, "training times"),
    "size": (SIZE, "sizes of the models, in percent of the training rows"),
}
TABLES: dict[str, tuple[Measure, str]] = {
    "accuracy": ("accuracy", "test accuracy, percent"),
    "time": ("seconds", "training time, seconds"),
    "size": ("model_size", "support vectors"),
}


def rules_section(results: Results) -> Iterator[Block]:
    """Accuracy, times, speed-ups and sizes as the paper arranges them, under each rule."""
    for rule in results.rules():
        title = RULES[rule].capitalize()
        yield Heading(f"The paper's protocol: {RULES[rule]}")
        for panels in SIDE_BY_SIDE:
            yield from panels_of(results, rule, panels, title)
        data = results.data(rule)
        yield from tables_of(results, rule, data, title)
        yield tables.to_cvm_table(results, rule, data, title)


def tables_of(results: Results, experiment: str, data: Sequence[str], title: str) -> Iterator[Block]:
    """All measures of an experiment."""
    for word, (measure, caption) in TABLES.items():
        yield tables.measure_table(results, experiment, data, measure, f"{experiment}-{word}", f"{title}: {caption}.")
    yield tables.share_table(results, experiment, data, title)
    yield tables.work_table(results, experiment, data, title)


def panels_of(results: Results, rule: str, names: Sequence[str], title: str) -> Iterator[Block]:
    """One figure for each measure, with a panel for each group that has runs."""
    groups = {TITLES[name]: results.data(rule, GROUPS[name]) for name in names}
    groups = {name: data for name, data in groups.items() if data}
    if not groups:
        return
    yield Heading(" and ".join(groups) + (" sets" if len(groups) > 1 else ""), level=3)
    series = names[0] in COLLECTIONS
    draw = figures.collections if series else figures.sets
    for word, (axis, caption) in DRAWN.items():
        text = f"{title}: {caption}."
        yield FigureBlock(f"{rule}-{names[0]}-{word}", text, draw(results, rule, groups, axis))
        if word == "time" and series:
            svg = figures.speedups(results, rule, groups)
            yield FigureBlock(f"{rule}-{names[0]}-speedup", f"{title}: speed-ups over CVM.", svg)
    if not series:
        caption = f"{title}: the relative gap that a full pass certifies at the end."
        yield FigureBlock(f"{rule}-{names[0]}-gap", caption, figures.sets(results, rule, groups, GAP))


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
    title = "Polynomial kernel"
    web = [d for d in data if d in GROUPS["web"]]
    others = [d for d in data if d not in GROUPS["web"]]
    for word, (axis, caption) in DRAWN.items():
        if web:
            svg = figures.collections(results, "polynomial", {"Web": web}, axis)
            yield FigureBlock(f"polynomial-web-{word}", f"{title}, Web: {caption}.", svg)
        if others:
            names = " and ".join(map(tables.label, others))
            svg = figures.sets(results, "polynomial", {names: others}, axis)
            yield FigureBlock(f"polynomial-others-{word}", f"{title}, {names}: {caption}.", svg)
    yield from tables_of(results, "polynomial", data, title)
