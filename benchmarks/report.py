"""Read raw results, write a report: ``python -m benchmarks.report results/bench.jsonl --output results/bench``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from swapsvm.study import records as raw
from swapsvm.study.records import Record

from .datasets import REAL
from .figures import SERIES, draw_all, points_of
from .kind_sections import growth_section, held_back_section, kinds_section
from .kinds import DEVELOPMENT
from .markdown import MEGABYTE, megabytes, number, percent, seconds, size_of, table_lines
from .summary import Table, exponent, geometric_mean
from .targets import ALL, OWN, TARGETS, accuracy_difference, floor_ratio

# ---- sections -------------------------------------------------------------------------------------------------


def targets_section(records: Sequence[Record]) -> list[str]:
    rows = []
    for target in TARGETS:
        value = target.measure(records)
        goal = f"{target.sign} {target.goal:g}"
        rows.append((target.what, target.against, goal, number(value, ".3g"), target.verdict(value)))
    measured = Table(records, *ALL).data
    known, listed = (sum(data in names for data in measured) for names in (REAL, DEVELOPMENT))
    note = (
        f"Over {len(measured)} data sets: {known} of the {len(REAL)} real ones and {listed} of the {len(DEVELOPMENT)} "
        "sets of the kinds, for which the goals are meant. Held-back sets are not among them."
    )
    return ["## Targets", "", note, "", *table_lines(("what", "against", "goal", "measured", "verdict"), rows)]


def fit_section(records: Sequence[Record]) -> list[str]:
    table = Table(records, "peers")
    rows = [(data, size_of(table, data), *(seconds(table.cell(data, s)) for s in table.solvers)) for data in table.data]
    head = ("data", "rows x features", *table.solvers)
    note = "Fit time in seconds, median and (smallest-largest) of the repetitions, each in a fresh process."
    return ["## Fit time", "", note, "", *table_lines(head, rows), *ratio_lines(table, "fit_seconds")]


def predict_section(records: Sequence[Record]) -> list[str]:
    note = "Time to predict the test rows, each competitor with its own model."
    return ["## Predict time", "", note, "", *ratio_lines(Table(records, "peers"), "predict_seconds")]


def ratio_lines(table: Table, name: str) -> list[str]:
    """Peer / ours, with a last line of geometric means."""
    peers = [solver for solver in table.solvers if solver != OWN]
    rows = [(data, *(table.ratio(data, peer, OWN, name) or "" for peer in peers)) for data in table.data]
    means = [[r.value for r in table.ratios(peer, OWN, name).values()] for peer in peers]
    last = ("**geometric mean**", *(f"**{geometric_mean(m):.2f}** of {len(m)}" if m else "" for m in means))
    return table_lines((f"time of the peer / {OWN}", *peers), [*rows, last])


def model_section(records: Sequence[Record]) -> list[str]:
    table = Table(records, "peers")
    accuracy = [
        (data, *(percent(table.cell(data, s)) for s in table.solvers), number(accuracy_difference(table, data), "+.2f"))
        for data in table.data
    ]
    support = [(d, *(number(table.cell(d, s).median("support"), ".0f") for s in table.solvers)) for d in table.data]
    return [
        "## Accuracy and support vectors",
        "",
        *table_lines(("test accuracy, %", *table.solvers, "ours - best peer"), accuracy),
        *table_lines(("support vectors", *table.solvers), support),
    ]


def effort_section(records: Sequence[Record]) -> list[str]:
    """Kernel values over the floor, and the certificates."""
    table = Table(records, "peers")
    cells = {data: table.cell(data, OWN) for data in table.data}
    rows = [
        (
            data,
            number(cell.median("evaluations"), ".3g"),
            number(floor_ratio(cell.first), ".2f"),
            number(cell.median("iterations"), ".0f"),
            number(cell.median("relative_gap"), ".2g"),
            number(cell.median("verified_gap"), ".2g"),
            cell.first.get("stop_reason", ""),
        )
        for data, cell in cells.items()
        if cell.records
    ]
    head = ("data", "kernel values", "/ floor", "iterations", "relative gap", "by NumPy", "stopped by")
    note = "The floor counts each kernel value that the model needs once: support vectors x rows, summed over pairs."
    return ["## Kernel values and certificates", "", note, "", *table_lines(head, rows)]


def memory_section(records: Sequence[Record]) -> list[str]:
    table = Table(records, "peers")
    rows = [(d, *(number(megabytes(table.cell(d, s)), ".0f") for s in table.solvers)) for d in table.data]
    lines = ["## Memory", "", "Peak of the resident set during a fit beyond what was there before, in megabytes.", ""]
    return [*lines, *table_lines(("data", *table.solvers), rows), *small_cache_lines(records)]


def small_cache_lines(records: Sequence[Record]) -> list[str]:
    """A cache of 16 MB does not grow with the rows; what does is seen from line to line."""
    cells = [cell for cell in Table(records, "memory").cells.values() if cell.values("peak_bytes")]
    rows, before = [], None
    for cell in sorted(cells, key=lambda cell: cell.first["rows"]):
        first, peak = cell.first, cell.median("peak_bytes") or 0.0
        added = "" if before is None else f"{(peak - before[1]) / (first['rows'] - before[0]):.0f}"
        sizes = (peak, first["cache_bytes"], first["model_bytes"])
        rows.append((first["rows"], *(f"{size / MEGABYTE:.1f}" for size in sizes), added))
        before = first["rows"], peak
    head = ("rows (synthetic, cache_size=16)", "peak, MB", "cache in use, MB", "model, MB", "bytes per row added")
    return table_lines(head, rows) if rows else []


def scaling_section(records: Sequence[Record]) -> list[str]:
    rows = []
    for suite in SERIES:
        for solver in Table(records, suite).solvers:
            points = points_of(records, suite, solver)
            if suite != "noise" and len(points) > 2:
                sizes, times = zip(*points, strict=True)
                rows.append((SERIES[suite], solver, f"{sizes[0]:g} to {sizes[-1]:g}", exponent(sizes, times)))
    note = "b of fit time ~ size^b, by least squares on a log-log scale, with its standard error."
    return ["## Scaling", "", note, "", *table_lines(("what grows", "solver", "range", "exponent"), rows)]


def solvers_section(records: Sequence[Record]) -> list[str]:
    table = Table(records, "convergence")
    rows = [solver_row(data, solver, cell.first) for (data, solver), cell in table.cells.items()]
    head = ("data", "solver", "s to gap 0.01", "s in all", "last gap", "stopped by", "kernel values", "support vectors")
    note = "One run each, to a gap of 0.001 or the limit of time."
    return ["## Our solvers", "", note, "", *table_lines(head, rows)] if rows else []


def solver_row(data: str, solver: str, r: Record) -> tuple[str, ...]:
    trace = r.get("trace", {"seconds": [], "gap": []})
    reached = [s for s, gap in zip(trace["seconds"], trace["gap"], strict=True) if gap <= 0.01]
    numbers = (number(min(reached, default=None), ".3g"), number(r.get("fit_seconds"), ".3g"))
    certificate = (number(r.get("relative_gap"), ".2g"), str(r.get("stop_reason", r["status"])))
    return data, solver, *numbers, *certificate, number(r.get("evaluations"), ".3g"), str(r.get("support", ""))


def failures_section(records: Sequence[Record]) -> list[str]:
    ended = [r for r in records if r["status"] not in ("ok", "absent")]
    absent = [r for r in records if r["status"] == "absent"]
    lines = [
        f"- {r['solver']} on {r['data']}: {r['status']} in {r.get('stage', 'loading')} (limit {r['limit']:g} s"
        + (f"; {r['message']})" if r.get("message") else ")")
        for r in ended
    ]
    lines += [f"- {r.get('solver') or r.get('data')} is absent: {r['message']}" for r in absent]
    return ["## Not finished, or absent", "", *(list(dict.fromkeys(lines)) or ["Nothing."]), ""]


def parameters_section(records: Sequence[Record]) -> list[str]:
    known = {r["data"]: r for r in records if r.get("suite") == "peers" and "C" in r}
    rows = [(data, f"{r['C']:g}", f"{r['gamma']:.4g}") for data, r in known.items()]
    note = "Common to all competitors, chosen by `python -m benchmarks.tune`; the series w1a..w8a uses those of w8a."
    return ["## Parameters", "", note, "", *table_lines(("data", "C", "gamma"), rows)]


def cores_of(record: Record) -> str:
    """Usable cores; a smaller number at the end of the fit means that cores were taken away during it."""
    before, after = record.get("cores", "?"), record.get("cores_after")
    return f"{before}" if after in (None, before) else f"{before}, later {after}"


def conditions_section(records: Sequence[Record]) -> list[str]:
    runs = [r for r in records if r["status"] != "absent"]
    found = {
        "machine": {f"{r['where']['cpu']}, {r['where']['cores']} cores, SIMD {r['where']['simd']}" for r in records},
        "swapsvm": {f"{r['where']['swapsvm']} ({r['where']['commit']})" for r in records},
        "versions": {", ".join(f"{k} {v}" for k, v in r["where"]["versions"].items()) for r in records},
        "threads": {f"{r['threads']} (on {cores_of(r)} cores)" for r in runs},
        "data type": {r["dtype"] for r in runs},
        "time": {f"{min(r['time'] for r in records)} to {max(r['time'] for r in records)}"},
    }
    return ["## Conditions", "", *(f"- {name}: {'; '.join(sorted(values))}" for name, values in found.items()), ""]


# ---- the whole ------------------------------------------------------------------------------------------------

SECTIONS = {
    "targets": targets_section,
    "kinds": kinds_section,
    "held-back": held_back_section,
    "growth": growth_section,
    "fit": fit_section,
    "predict": predict_section,
    "model": model_section,
    "floor": effort_section,
    "memory": memory_section,
    "scaling": scaling_section,
    "convergence": solvers_section,
    "failures": failures_section,
    "parameters": parameters_section,
    "conditions": conditions_section,
}


OF_PEERS = ("fit", "predict", "model", "floor", "memory", "scaling", "parameters")  # empty without the suite peers


def report(records: Sequence[Record], figures: dict[str, str], source: str) -> str:
    """Markdown: each section, followed by the figure of the same name."""
    lines = ["# Benchmarks", "", f"Made by `python -m benchmarks.report` from `{source}`.", ""]
    without_peers = not Table(records, "peers").data
    runs = [record for record in records if record.get("suite") != "scale"]
    for name, section in SECTIONS.items():
        if not (without_peers and name in OF_PEERS):
            lines += section(records if name == "targets" else runs)
        if name in figures:
            lines += [f"![{figures[name]}](figures/{name}.png)", ""]
    return "\n".join(lines)


def write(records: Sequence[Record], output: Path, source: str) -> Path:
    output.mkdir(parents=True, exist_ok=True)
    figures = draw_all(records, output / "figures")
    path = output / "report.md"
    path.write_text(report(records, figures, source))
    return path


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="+", help="JSON lines of benchmarks.run, and of benchmarks.scale")
    parser.add_argument("--output", type=Path, help="directory of the report; by default the name of the results")
    options = parser.parse_args(words)
    first = options.results[0]
    records = [record for path in options.results for record in raw.read(path)]
    if not records:
        parser.error(f"{first} has no results: run python -m benchmarks.run --output {first}")
    source = " ".join(path.name for path in options.results)
    print(write(records, options.output or first.with_suffix(""), source))


if __name__ == "__main__":
    main()
