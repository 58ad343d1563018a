"""The report: claims, tests, tables and figures, all computed from the raw runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import median

from ..datasets.registry import Entry, registry
from .claims import check_all
from .document import Block, Bullets, Cell, Document, Heading, Paragraph, TableBlock
from .evidence import MARKS, Status
from .protocol import COMMON, CVM_SAMPLING, EVERY_SET, EXPERIMENTS, METHODS, PAPER_METHODS
from .sections import (
    convergence_section,
    groups_section,
    polynomial_section,
    published_section,
    relative_section,
    trust_section,
)
from .significance import compared_tests, statistics_section
from .summary import Results


def make_report(results: Results) -> Document:
    """The whole report."""
    parts = (
        introduction,
        claims_section,
        data_section,
        protocol_section,
        groups_section,
        statistics_section,
        trust_section,
        polynomial_section,
        relative_section,
        published_section,
        convergence_section,
        environment_section,
    )
    blocks = [block for part in parts for block in part(results)]
    title = "A novel Frank-Wolfe algorithm: the experiments again"
    return Document(
        title, "Every number and figure below is computed from the raw results in runs.jsonl.", tuple(blocks)
    )


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
    gaps = [
        (d, m, results.median("paper", d, m, "gap") or 0.0)
        for d in results.data("paper")
        for m in PAPER_METHODS
        if results.runs("paper", d, m) and not results.cut("paper", d, m)
    ]
    if gaps:
        above = sum(gap > 1e-6 for *_, gap in gaps)
        middle = median(gap for *_, gap in gaps)
        yield (
            f"For runs that end because samples show no violator, the gap that a full pass then certifies is above the "
            f"nominal 1e-6 in {above} of {len(gaps)} cases, with a median of {middle:.1e}."
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


# ---- claims -----------------------------------------------------------------------------------------------------


def claims_section(results: Results) -> Iterator[Block]:
    """The claims of the paper and the verdicts on them."""
    yield Heading("Claims")
    rows = tuple(
        (claim.section, claim.text, Cell("", MARKS[verdict.status]), verdict.evidence)
        for claim, verdict in check_all(results)
    )
    yield TableBlock(
        "claims",
        "Claims of the paper, checked on the runs of this study.",
        ("part", "claim", "verdict", "evidence"),
        rows,
    )


# ---- data and protocol ------------------------------------------------------------------------------------------


def data_section(results: Results) -> Iterator[Block]:
    """The paper's table of data sets, and what was run."""
    yield Heading("Data sets")
    present = set(results.data("paper"))
    rows = tuple(data_row(entry, results, entry.name in present) for entry in entries())
    columns = ("data set", "m", "t", "K", "m_max", "m_min", "n", "C", "gamma", "features here")
    absent = [entry.paper or entry.name for entry in entries() if entry.name not in present]
    note = f"Without runs: {', '.join(absent)}." if absent else ""
    yield TableBlock("datasets", "The data sets, with the parameters that CVM was tuned to.", columns, rows, note)


def entries() -> list[Entry]:
    """The paper's sets in the order of its groups."""
    return [registry()[name] for name in EVERY_SET]


def data_row(entry: Entry, results: Results, present: bool) -> tuple[str, ...]:
    """Sizes and parameters of one set."""
    sizes = (entry.rows, entry.test_rows, entry.classes, entry.largest_pair, entry.smallest_pair, entry.features)
    chosen = ("", "")
    if present:
        parameters = next(run for m in METHODS for run in results.runs("paper", entry.name, m))["parameters"]
        chosen = (f"{parameters['C']:g}", f"{parameters['gamma']:.4g}")
    return (entry.paper or entry.name, *map(str, sizes), *chosen, entry.values)


def protocol_section(results: Results) -> Iterator[Block]:
    """The settings of the experiments."""
    yield Heading("Protocol")
    rows = []
    for name in results.experiments():
        experiment = EXPERIMENTS[name]
        runs = [run for d in results.data(name) for m in METHODS for run in results.runs(name, d, m)]
        limits = sorted({run["parameters"]["max_time"] for run in runs})
        settings = {
            key: value for key, value in runs[0]["parameters"].items() if key in (*COMMON, *experiment.settings)
        }
        told = ", ".join(f"{key} = {value}" for key, value in settings.items())
        cut = sum(run["measures"]["cut"] for run in runs)
        rows.append(
            (experiment.title, told, sampled(name), ", ".join(f"{s:g}" for s in limits), str(len(runs)), str(cut))
        )
    yield TableBlock(
        "protocol",
        "The experiments. Times are CPU seconds of the training thread, without reading data and without the pass that "
        "certifies the gap at the end.",
        ("experiment", "settings of SVC", "toward vertex", "limit, s", "runs", "cut"),
        tuple(rows),
    )


def sampled(name: str) -> str:
    """How the toward vertex is chosen, and what ends a sampled run."""
    sampling = EXPERIMENTS[name].sampling
    if sampling is None:
        return "best of all rows"
    ends = f"{sampling.trusted} samples without a violator (CVM: {CVM_SAMPLING.trusted}) end a run"
    return f"best of {sampling.size} random rows; {ends}; block: all rows"


def environment_section(results: Results) -> Iterator[Block]:
    """Machines and versions of the runs."""
    yield Heading("Environment")
    seen: Counter[tuple[str, ...]] = Counter()
    for name in results.experiments():
        for d in results.data(name):
            for m in METHODS:
                seen.update(environment_row(run["environment"]) for run in results.runs(name, d, m))
    columns = ("CPU", "cores", "SIMD", "system", "Python", "packages", "date", "runs")
    rows = tuple((*row, str(count)) for row, count in sorted(seen.items()))
    yield TableBlock("environment", "Where the runs were made; each used one thread.", columns, rows)


def environment_row(environment: dict[str, object]) -> tuple[str, ...]:
    """One machine."""
    versions = environment["versions"]
    packages = ", ".join(f"{k} {v}" for k, v in versions.items()) if isinstance(versions, dict) else ""
    fields = ("cpu", "cores", "simd", "system", "python")
    return (*(str(environment[field]) for field in fields), packages, str(environment["date"]))
