"""The report: claims, tests, tables and figures, all computed from the raw runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import median
from typing import Any

from ..datasets.registry import Entry, registry
from . import sections
from .claims import check_all
from .document import Block, Bullets, Cell, Document, Heading, Paragraph, TableBlock
from .evidence import Status
from .protocol import COMMON, EVERY_SET, EXPERIMENTS, METHODS, PAPER_METHODS, Experiment
from .significance import compared_tests, statistics_section
from .summary import Results


def make_report(results: Results) -> Document:
    """The whole report."""
    parts = (
        introduction,
        claims_section,
        data_section,
        protocol_section,
        sections.groups_section,
        statistics_section,
        sections.polynomial_section,
        sections.relative_section,
        sections.published_section,
        sections.convergence_section,
        environment_section,
    )
    title = "A novel Frank-Wolfe algorithm: the experiments again"
    subtitle = "Every number and figure below is computed from the raw results in runs.jsonl."
    return Document(title, subtitle, [block for part in parts for block in part(results)])


def introduction(results: Results) -> Iterator[Block]:
    """The subject and the main results."""
    counts = Counter(verdict.status for _, verdict in check_all(results))
    tests = Counter(test.status for test in compared_tests(results))
    yield Paragraph(
        "This report repeats the study of H. Allende, E. Frandi, R. Ñanculef and C. Sartori (Information Sciences "
        "285, 2014) with swapsvm: CVM, FW, MFW, SWAP, SWAP-2o and the block engine under the paper's protocol, and all "
        "six under a protocol of our own that searches every row and ends at a certified gap."
    )
    yield Bullets(
        (
            f"Claims of the paper: {spelled(counts)}.",
            f"Its {sum(tests.values())} significance tests, by their conclusion: {spelled(tests)}.",
            *sampling_findings(results),
            *block_findings(results),
        )
    )


def spelled(counts: Counter[Status]) -> str:
    """The number of each verdict."""
    return ", ".join(f"{counts[status]} {status}" for status in Status)


def sampling_findings(results: Results) -> Iterator[str]:
    """The certified gap of runs that end by the paper's rule."""
    found = [results.finished(d, m, "gap") for d in results.data("paper") for m in PAPER_METHODS]
    gaps = [gap for gap in found if gap is not None]
    if gaps:
        yield (
            f"For runs that end because samples show no violator, the gap that a full pass then certifies is above the "
            f"nominal 1e-6 in {sum(gap > 1e-6 for gap in gaps)} of {len(gaps)} cases, with a median of "
            f"{median(gaps):.1e}."
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


def claims_section(results: Results) -> Iterator[Block]:
    """The claims of the paper and the verdicts on them."""
    yield Heading("Claims")
    rows = tuple(
        (claim.section, claim.text, Cell("", verdict.status.mark), verdict.evidence)
        for claim, verdict in check_all(results)
    )
    columns = ("part", "claim", "verdict", "evidence")
    yield TableBlock("claims", "Claims of the paper, checked on the runs of this study.", columns, rows)


def data_section(results: Results) -> Iterator[Block]:
    """The paper's table of data sets, and what was run."""
    yield Heading("Data sets")
    entries = [registry()[name] for name in EVERY_SET]
    rows = [data_row(entry, results) for entry in entries]
    columns = ("data set", "m", "t", "K", "m_max", "m_min", "n", "C", "gamma", "features here")
    absent = [entry.paper or entry.name for entry in entries if entry.name not in results.data("paper")]
    note = f"Without runs: {', '.join(absent)}." if absent else ""
    yield TableBlock("datasets", "The data sets, with the parameters that CVM was tuned to.", columns, rows, note)


def data_row(entry: Entry, results: Results) -> tuple[str, ...]:
    """Sizes and parameters of one set."""
    sizes = (entry.rows, entry.test_rows, entry.classes, entry.largest_pair, entry.smallest_pair, entry.features)
    used = [run["parameters"] for m in METHODS for run in results.runs("paper", entry.name, m)]
    chosen = (f"{used[0]['C']:g}", f"{used[0]['gamma']:.4g}") if used else ("", "")
    return (entry.paper or entry.name, *map(str, sizes), *chosen, entry.values)


def protocol_section(results: Results) -> Iterator[Block]:
    """The settings of the experiments."""
    yield Heading("Protocol")
    rows = []
    for name in results.experiments():
        experiment = EXPERIMENTS[name]
        runs = list(results.all_runs(name))
        limits = ", ".join(f"{s:g}" for s in sorted({run["parameters"]["max_time"] for run in runs}))
        used = runs[0]["parameters"].items()
        settings = ", ".join(f"{key} = {value}" for key, value in used if key in (*COMMON, *experiment.settings))
        cut = sum(run["measures"]["cut"] for run in runs)
        rows.append((experiment.title, settings, sampled(experiment), limits, str(len(runs)), str(cut)))
    yield TableBlock(
        "protocol",
        "The experiments. Times are CPU seconds of the training thread, without reading data and without the pass that "
        "certifies the gap at the end.",
        ("experiment", "settings of SVC", "toward vertex", "limit, s", "runs", "cut"),
        rows,
    )


def sampled(experiment: Experiment) -> str:
    """How the toward vertex is chosen, and what ends a sampled run."""
    sampling = experiment.sampling
    if sampling is None:
        return "best of all rows"
    ends = f"{sampling.trusted} samples without a violator end a run"
    return f"best of {sampling.size} random rows; {ends}; block: all rows"


def environment_section(results: Results) -> Iterator[Block]:
    """Machines and versions of the runs."""
    yield Heading("Environment")
    runs = (run for name in results.experiments() for run in results.all_runs(name))
    seen = Counter(environment_row(run["environment"]) for run in runs)
    columns = ("CPU", "cores", "SIMD", "system", "Python", "packages", "date", "runs")
    rows = [(*row, str(count)) for row, count in sorted(seen.items())]
    yield TableBlock("environment", "Where the runs were made; each used one thread.", columns, rows)


def environment_row(environment: dict[str, Any]) -> tuple[str, ...]:
    """One machine."""
    packages = ", ".join(f"{name} {version}" for name, version in environment["versions"].items())
    fields = ("cpu", "cores", "simd", "system", "python")
    return (*(str(environment[field]) for field in fields), packages, str(environment["date"]))
