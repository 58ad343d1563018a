"""The report: claims, tests, tables and figures, all computed from the raw lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from ..datasets.registry import Entry, registry
from . import own_sections, sections
from .document import Block, Bullets, Document, Heading, Paragraph, TableBlock
from .inconsistencies import inconsistencies_section
from .overview import claims_section, overview
from .protocol import COMMON, EVERY_SET, EXPERIMENTS, METHODS, PAPER_METHODS, RULES, Experiment
from .provenance_section import provenance_section
from .records import Record
from .significance_section import statistics_section
from .summary import Results
from .tuning_section import tuning_section


def make_report(results: Results, tuning: Sequence[Record] = ()) -> Document:
    """The whole report."""
    parts = (
        overview,
        introduction,
        claims_section,
        statistics_section,
        own_sections.today_section,
        sections.rules_section,
        sections.polynomial_section,
        own_sections.relative_section,
        own_sections.growth_section,
        own_sections.published_section,
        own_sections.convergence_section,
        lambda known: tuning_section(known, tuning),
        inconsistencies_section,
        data_section,
        protocol_section,
        provenance_section,
    )
    title = "A novel Frank-Wolfe algorithm: the experiments again"
    subtitle = "Every number and figure below is computed from the raw results in runs.jsonl and tuning.jsonl."
    return Document(title, subtitle, [block for part in parts for block in part(results)])


def introduction(results: Results) -> Iterator[Block]:
    """The subject, and what the runs say apart from the claims."""
    yield Heading("The study")
    yield Paragraph(
        "This report repeats the study of H. Allende, E. Frandi, R. Ñanculef and C. Sartori (Information Sciences "
        "285, 2014) with swapsvm: CVM, FW, MFW, SWAP and SWAP-2o under the paper's protocol, once for each rule that "
        "can end a sampled run, and all methods under a protocol of our own that searches every row and ends at a "
        "certified gap."
    )
    yield Bullets((*sampling_findings(results), *block_findings(results), *seed_findings(results)))


def sampling_findings(results: Results) -> Iterator[str]:
    """The certified gap of runs that end by a rule of the paper's protocol."""
    for rule in results.rules():
        found = [results.bounds(d, m, "gap", rule) for d in results.data(rule) for m in PAPER_METHODS]
        gaps = [float(gap.low[0]) for gap in found if gap.exact]
        if gaps:
            yield (
                f"{RULES[rule].capitalize()}: the gap that a full pass then certifies is above the nominal 1e-6 in "
                f"{sum(gap > 1e-6 for gap in gaps)} of {len(gaps)} cases, with a median of {median(gaps):.1e}."
            )


def block_findings(results: Results) -> Iterator[str]:
    """How the block engine compares with the fastest of the paper's methods at the same gap."""
    ratios, bounds = [], 0
    for d in results.data("relative"):
        own = results.median("relative", d, "block", "seconds")
        finished = [m for m in PAPER_METHODS if not results.cut("relative", d, m)]
        known = [results.median("relative", d, m, "seconds") for m in finished or PAPER_METHODS]
        if own is None or results.cut("relative", d, "block") or None in known:
            continue
        bounds += not finished
        ratios.append(min(seconds or 0.0 for seconds in known) / own)
    if ratios:
        yield (
            f"At the same certified gap the block engine is {median(ratios):.3g} times as fast as the fastest of the "
            f"paper's five methods (median of {len(ratios)} sets, from {min(ratios):.3g} to {max(ratios):.3g}; on "
            f"{bounds} of them all five were cut, and the ratio is a lower bound)."
        )


def seed_findings(results: Results) -> Iterator[str]:
    """How many seeds the cells of the paper's protocol have: one alone shows no spread."""
    seeds = Counter(
        len(results.runs(rule, d, m))
        for rule in results.rules()
        for d in results.data(rule)
        for m in PAPER_METHODS
        if results.runs(rule, d, m) and not results.cut(rule, d, m)
    )
    if seeds:
        spelled = ", ".join(f"{count} with {number}" for number, count in sorted(seeds.items()))
        yield (
            f"Seeds of the finished cells of the paper's protocol: {spelled}. Resampling cannot show the spread of a "
            "cell with one seed."
        )


def data_section(results: Results) -> Iterator[Block]:
    """The paper's table of data sets, and what was run."""
    yield Heading("Data sets")
    entries = [registry()[name] for name in EVERY_SET]
    rows = [data_row(entry, results) for entry in entries]
    columns = ("data set", "m", "t", "K", "m_max", "m_min", "n", "C", "gamma", "features here")
    run = {data for rule in results.rules() for data in results.data(rule)}
    absent = [entry.paper or entry.name for entry in entries if entry.name not in run]
    note = f"Without runs under the paper's protocol: {', '.join(absent)}." if absent else ""
    yield TableBlock("datasets", "The data sets, with the parameters of all runs.", columns, rows, note)


def data_row(entry: Entry, results: Results) -> tuple[str, ...]:
    """Sizes and parameters of one set."""
    sizes = (entry.rows, entry.test_rows, entry.classes, entry.largest_pair, entry.smallest_pair, entry.features)
    names = (*results.rules(), "relative")
    used = [run["parameters"] for name in names for m in METHODS for run in results.runs(name, entry.name, m)]
    chosen = (f"{used[0]['C']:g}", f"{used[0]['gamma']:.4g}") if used else ("", "")
    return (entry.paper or entry.name, *map(str, sizes), *chosen, entry.values)


def protocol_section(results: Results) -> Iterator[Block]:
    """The settings of the experiments."""
    yield Heading("Protocol")
    rows = []
    for name in results.experiments():
        experiment = EXPERIMENTS[name]
        runs = list(results.all_runs(name))
        limits = sorted({run["parameters"]["max_time"] for run in runs})
        span = f"{limits[0]:g}" if len(limits) == 1 else f"{limits[0]:g} to {limits[-1]:g}"
        used = runs[0]["parameters"].items()
        settings = ", ".join(f"{key} = {value}" for key, value in used if key in (*COMMON, *experiment.settings))
        cut = sum(run["measures"]["cut"] for run in runs)
        rows.append((experiment.title, settings, sampled(experiment), span, str(len(runs)), str(cut)))
    yield TableBlock(
        "protocol",
        "The experiments. Times are CPU seconds of the training thread, without reading data and without the pass that "
        "certifies the gap at the end.",
        ("experiment", "settings of SVC", "toward vertex", "limit, s", "runs", "cut"),
        rows,
    )


def sampled(experiment: Experiment) -> str:
    """How the toward vertex is chosen."""
    sampling = experiment.sampling
    return "best of all rows" if sampling is None else f"best of {sampling.size} random rows"
