"""The report on fits on a cluster: what was measured, what the model predicts from it, and how it was checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from swapsvm.study.records import Record

from .cluster_model import Cost, Counts, Network, cost_of, delayed_seconds, exponent_of, grown
from .markdown import table_lines
from .style import STYLE

LOCAL, BY_PASSES = "SVC", "dask.SVC, passes"
FAR = {"dask.SVC": "rows brought to the client", BY_PASSES: "passes over the rows on the workers"}
TARGET = 0.15  # of the seconds of the local fit
AGREEMENT = 0.20  # of the predicted seconds
ROWS, WORKERS, CORES, PARTS_PER_WORKER = (1e8, 1e9), (10, 100, 1000), 4, 4
MOST_BYTES, MOST_SECONDS = 256e9, 86400.0  # of a large driver, and a day
VERBS = {
    ("products", "values", "symmetric"): "sweeps",
    ("column_products", "column_sums", "quadratic_sums"): "products with landmarks",
    ("residuals",): "residuals of landmarks",
}
KINDS = {"physics": "clean", "noisy": "noisy"}
LOOKS = {"clean": ("#D55E00", "o"), "noisy": ("#0072B2", "s")}

ABOUT = """{cpu}, {cores} cores, {simd}; swapsvm {swapsvm} ({commit}). Made by `python -m benchmarks.cluster`; the
raw lines are beside this file. The machine was shared with other work while this was measured: the load of each
line is the average of the last minute when its fit began. Seconds are medians of fits that took turns; processor
seconds depend less on the load."""

OVERHEAD = """## Dask on one machine

`SVC(n_jobs=2)` in memory beside `dask.SVC` on a local cluster of two processes with one thread each; rows in 8
chunks, half of them on each worker. As it is, `dask.SVC` brings these rows to the client, since they take less than 256
MB and the workers have at most four times its threads. In the last line the rows stay on the workers, as they would if
there were more of either. Start of the cluster, imports and a fit of a few rows are not timed. The
process of the client holds the scheduler as well. Processor seconds are those of all processes; for the local fit
without the idle workers. The count of kernel values is the solver's own."""

VALUES = """Kernel values of fits in memory, and of passes over the same rows. Sweeps over 8192 or more support
vectors compute the value of two of them once and use it for both, in memory and in passes. Surrogate steps keep their
features of all rows in memory; where rows lie elsewhere, each product with these features is a pass that computes the
kernel values with the landmarks again, as in these passes over pieces in one process. Dask's workers keep these values
if they have memory for them, as they had above."""

MODEL = """## What many workers would need, on paper

Measured, on two workers as above, with passes over their rows: passes, kernel values, bytes, processor seconds of the
workers for a kernel value and of the client for a row, and the peak of the client's memory. Measured on one machine,
below: growth of the support, and requests for rows of working sets. Assumed: {round:g} ms for a round trip, {task:g} ms
of the scheduler for a task, {bandwidth:g} GB/s for each machine; workers with {cores} cores and {parts} parts of X; one
more pass for each doubling of the rows, requests in proportion to the support, all else in proportion to rows, support
or their product. Every round takes a task for each part, and nothing overlaps. The client works on one core, as it
mostly does. Its peak of memory includes the caches of kernel values and rows, which are limited: for noisy data,
whose caches are full, gigabytes and seconds of the driver are upper bounds."""

ENDS = """Exactness ends where the driver's memory or the kernel values do. With {most:.0f} GB the driver holds
{memory:.2g} clean rows. Noisy data whose support is a constant part of the rows need kernel values in proportion to
the square of the rows. `!` marks more than {most:.0f} GB, or more than a day: there a model of few vectors
(`max_vectors`) with its certificate is the answer. With 1000 workers, tasks of the scheduler take longer than
kernel values of clean rows: fewer and larger parts help, and so would requests for whole working sets instead of
blocks of 128 rows."""

CHECK = """## The model against a network with injected latency

{data}: rows in 8 pieces in the same process, too large to be brought to the client at once. Each pass and each
request for rows sleeps for a round trip, 1 ms for each task and the bytes at 0.1 GB/s; with 0 ms for a round trip
nothing sleeps. The prediction takes the median of the seconds without any delay, and the counts."""


def write(lines: Sequence[Record], directory: Path) -> None:
    (directory / "report.md").write_text(report(lines))
    drawn = figure(lines)
    drawn.savefig(directory / "cluster.png", bbox_inches="tight")
    plt.close(drawn)


def report(lines: Sequence[Record]) -> str:
    text = ["# Fits on a cluster", "", ABOUT.format(**lines[-1]["where"]), ""]
    text += ["![Predicted seconds against workers, and the check of the model](cluster.png)", ""]
    for part in (overhead_section, model_section, check_section):
        text += part(lines)
    return "\n".join(text)


def of_part(lines: Sequence[Record], part: str) -> list[Record]:
    return [line for line in lines if line["part"] == part]


def median(lines: Sequence[Record], name: str) -> float:
    return float(np.median([line[name] for line in lines]))


# ---- overhead -----------------------------------------------------------------------------------------------------


def overhead_section(lines: Sequence[Record]) -> list[str]:
    text = [OVERHEAD, ""]
    for data in dict.fromkeys(line["data"] for line in of_part(lines, "overhead")):
        text += overhead_of([line for line in of_part(lines, "overhead") if line["data"] == data])
    return [*text, VALUES, "", *values_table(lines)]


def values_table(lines: Sequence[Record]) -> list[str]:
    head = ("data", "rows", "support", "in memory", "by passes, all", *VERBS.values())
    head = (*head, "processor s in memory", "by passes")
    fits = [line for kind in KINDS for line in growth_of(lines, kind)]
    return table_lines(head, [values_row(line) for line in fits])


def values_row(line: Record) -> tuple[Any, ...]:
    found = line["pass_values"]
    each = [sum(found.get(verb, 0) for verb in verbs) for verbs in VERBS]
    head = KINDS[line["kind"]], line["rows"], line["support"], f"{line['local_values']:.2g}"
    spent = line["local_cpu"], line["client_cpu"]
    return *head, *(f"{count:.2g}" for count in (sum(each), *each)), *(f"{seconds:.3g}" for seconds in spent)


def overhead_of(lines: Sequence[Record]) -> list[str]:
    fits = {name: [line for line in lines if line["contender"] == name] for name in (LOCAL, *FAR)}
    if not all(fits.values()):
        return []
    head = ("fit", "seconds (all)", "processor s", "passes", "rounds", "tasks", "MB to workers", "MB back")
    rows = [row_of(name, own, processor_seconds(own)) for name, own in fits.items()]
    title = f"### {lines[0]['data']}, {lines[0]['features']} features"
    judged = [f"{FAR[name]}: {judged_of(fits[LOCAL], fits[name])}" for name in FAR]
    least = min(map(len, fits.values()))
    target = f"Target: below {100 * TARGET:.0f} % of the seconds at 10^6 rows. Medians of {least}, in turns."
    head = (*head, "kernel values", "gap", "support", "load")
    return [title, "", *table_lines(head, rows), f"Beside the fit in memory, {'; '.join(judged)}.", target, ""]


def judged_of(local: Sequence[Record], far: Sequence[Record]) -> str:
    """What Dask adds to the seconds, and to the processor seconds."""
    seconds = median(far, "seconds") / median(local, "seconds") - 1
    processor = processor_seconds(far) / processor_seconds(local) - 1
    return f"{100 * seconds:+.0f} % of its seconds, {100 * processor:+.0f} % of its processor seconds"


def processor_seconds(lines: Sequence[Record]) -> float:
    """Of all processes; for a local fit without the workers, which are idle."""
    return client_cpu(lines) + (0.0 if lines[0]["contender"] == LOCAL else worker_cpu(lines))


def client_cpu(lines: Sequence[Record]) -> float:
    return median(lines, "client_cpu")


def worker_cpu(lines: Sequence[Record]) -> float:
    return median(lines, "worker_cpu")


def row_of(name: str, lines: Sequence[Record], processor: float) -> tuple[Any, ...]:
    first = lines[0]
    every = ", ".join(f"{line['seconds']:.3g}" for line in lines)
    traffic = [f"{first[key] / 1e6:.1f}" if key in first else "" for key in ("bytes_sent", "bytes_received")]
    counts = [first.get(key, "") for key in ("n_passes", "n_rounds", "n_tasks")]
    solved = f"{first['values']:.3g}", f"{first['relative_gap']:.2g}", first["support"]
    loads = "-".join(f"{bound:.1f}" for bound in (min(line["load"] for line in lines), max(x["load"] for x in lines)))
    return name, f"{median(lines, 'seconds'):.3g} ({every})", f"{processor:.3g}", *counts, *traffic, *solved, loads


# ---- model --------------------------------------------------------------------------------------------------------


def counts_of(lines: Sequence[Record], kind: str) -> Counts | None:
    """The counts of the fits on two workers."""
    fits = [
        line for line in of_part(lines, "overhead") if line["data"].startswith(kind) and line["contender"] == BY_PASSES
    ]
    if not fits:
        return None
    first = fits[0]
    return Counts(
        rows=first["rows"],
        support=first["support"],
        passes=first["n_passes"],
        requests=requests_of(lines, kind) * first["support"],
        values=first["values"],
        bytes_to_worker=first["bytes_sent"] / 2,
        bytes_back=first["bytes_received"],
        value_seconds=worker_cpu(fits) / first["values"],
        driver_seconds=client_cpu(fits),
        driver_bytes=max(line["peak_bytes"] for line in fits),
    )


def requests_of(lines: Sequence[Record], kind: str) -> float:
    """Requests for each support vector of the largest fit whose rows were never brought to the client at once."""
    fits = growth_of(lines, kind)
    return (fits[-1]["n_rounds"] - fits[-1]["n_passes"]) / fits[-1]["support"] if fits else 0.0


def growth_of(lines: Sequence[Record], kind: str) -> list[Record]:
    return sorted((line for line in of_part(lines, "growth") if line["kind"] == kind), key=lambda line: line["rows"])


def exponent(lines: Sequence[Record], kind: str) -> float:
    fits = growth_of(lines, kind)
    return exponent_of([line["rows"] for line in fits], [line["support"] for line in fits])


def predicted(lines: Sequence[Record], kind: str, rows: float, workers: int) -> tuple[Counts, Cost] | None:
    measured = counts_of(lines, kind)
    if measured is None or len(growth_of(lines, kind)) < 2:
        return None
    counts = grown(measured, rows, exponent(lines, kind))
    return counts, cost_of(counts, workers, CORES, PARTS_PER_WORKER * workers, Network())


def model_section(lines: Sequence[Record]) -> list[str]:
    network, clean = Network(), counts_of(lines, "physics")
    if clean is None:
        return []
    assumed = {"round": 1e3 * network.per_round, "task": 1e3 * network.per_task, "bandwidth": network.bandwidth / 1e9}
    text = [MODEL.format(**assumed, cores=CORES, parts=PARTS_PER_WORKER), ""]
    text += [*measured_table(lines), *growth_table(lines), *prediction_table(lines)]
    most = MOST_BYTES / (clean.driver_bytes / clean.rows)
    return [*text, ENDS.format(memory=most, most=MOST_BYTES / 1e9), ""]


def measured_table(lines: Sequence[Record]) -> list[str]:
    head = ("data", "ns for a kernel value and a core", "driver, us for a row", "driver, bytes for a row")
    found = {name: counts_of(lines, kind) for kind, name in KINDS.items()}
    return table_lines(head, [driver_row(name, counts) for name, counts in found.items() if counts is not None])


def driver_row(name: str, counts: Counts) -> tuple[str, ...]:
    seconds, size = counts.driver_seconds / counts.rows, counts.driver_bytes / counts.rows
    return f"{name}, {counts.rows:.0e} rows", f"{1e9 * counts.value_seconds:.2f}", f"{1e6 * seconds:.2g}", f"{size:.0f}"


def growth_table(lines: Sequence[Record]) -> list[str]:
    head = ("data", "rows", "support", "passes", "rounds", "kernel values / (rows x support)")
    rows = [
        (
            name,
            line["rows"],
            line["support"],
            line["n_passes"],
            line["n_rounds"],
            f"{line['values'] / line['rows'] / line['support']:.2f}",
        )
        for kind, name in KINDS.items()
        for line in growth_of(lines, kind)
    ]
    found = [f"{name} {exponent(lines, kind):.2f}" for kind, name in KINDS.items() if len(growth_of(lines, kind)) > 1]
    return [
        "Fits whose rows are never brought to the client at once, as on a large cluster: requests for rows are"
        f" rounds too. Exponent of the growth of the support: {', '.join(found)}.",
        "",
        *table_lines(head, rows),
    ]


def prediction_table(lines: Sequence[Record]) -> list[str]:
    head = ("data", "rows", "workers", "support", "rounds", "MB to each worker, a round", "MB back, a round")
    head = (*head, "kernel s", "latency s", "transfer s", "driver s", "total s", "driver GB")
    cases = [(kind, rows, workers) for kind in KINDS for rows in ROWS for workers in WORKERS]
    known = [(case, found) for case in cases if (found := predicted(lines, *case)) is not None]
    return table_lines(head, [prediction_row(*case, *found) for case, found in known])


def prediction_row(kind: str, rows: float, workers: int, counts: Counts, cost: Cost) -> tuple[Any, ...]:
    parts = [f"{part:.3g}" for part in (cost.kernel, cost.latency, cost.transfer, cost.driver)]
    total, size = marked(cost.seconds, MOST_SECONDS), marked(cost.driver_bytes / 1e9, MOST_BYTES / 1e9)
    moved = [f"{sent / counts.rounds / 1e6:.3g}" for sent in (counts.bytes_to_worker, counts.bytes_back)]
    head = KINDS[kind], f"{rows:.0e}", workers, f"{counts.support:.2g}", f"{counts.rounds:.0f}"
    return *head, *moved, *parts, total, size


def marked(value: float, most: float) -> str:
    return f"{value:.3g}" + (" !" if value > most else "")


# ---- check --------------------------------------------------------------------------------------------------------


def checks(lines: Sequence[Record]) -> list[tuple[Record, float, float]]:
    """A line for each delay, its median seconds, and those predicted."""
    fits = of_part(lines, "latency")
    free = [line for line in fits if line["per_round"] == 0]
    found = []
    for delay in sorted({line["per_round"] for line in fits}):
        some = [line for line in fits if line["per_round"] == delay]
        first = some[0]
        network = Network(delay, first["per_task"], first["bandwidth"] or np.inf)
        counts = first["n_rounds"], first["n_tasks"], first["bytes_moved"]
        found.append((first, median(some, "seconds"), delayed_seconds(median(free, "seconds"), *counts, network)))
    return found


def check_section(lines: Sequence[Record]) -> list[str]:
    found = checks(lines)
    if not found:
        return []
    head = ("round trip, ms", "rounds", "tasks", "MB", "seconds", "predicted", "difference, %")
    rows = [
        (
            f"{1e3 * line['per_round']:g}",
            line["n_rounds"],
            line["n_tasks"],
            f"{line['bytes_moved'] / 1e6:.1f}",
            f"{seconds:.3g}",
            f"{guess:.3g}",
            f"{100 * (seconds / guess - 1):+.0f}",
        )
        for line, seconds, guess in found
    ]
    worst = max(abs(seconds / guess - 1) for _, seconds, guess in found)
    judged = f"Largest difference: {100 * worst:.0f} % (target: some {100 * AGREEMENT:.0f} %)."
    return [CHECK.format(data=found[0][0]["data"]), "", *table_lines(head, rows), judged, ""]


# ---- figure -------------------------------------------------------------------------------------------------------


def figure(lines: Sequence[Record]) -> Any:
    with plt.rc_context(STYLE):
        drawn, (left, right) = plt.subplots(1, 2, figsize=(10.4, 4.0))
    draw_predictions(left, lines)
    draw_check(right, lines)
    drawn.tight_layout()
    return drawn


def draw_predictions(axes: Any, lines: Sequence[Record]) -> None:
    for kind, name in KINDS.items():
        colour, marker = LOOKS[name]
        for rows, line in zip(ROWS, ("-", "--"), strict=True):
            found = [predicted(lines, kind, rows, workers) for workers in WORKERS]
            seconds = [each[1].seconds for each in found if each is not None]
            if len(seconds) == len(WORKERS):
                axes.plot(WORKERS, seconds, line, color=colour, marker=marker, label=f"{name}, {rows:.0e} rows")
    axes.axhline(MOST_SECONDS, color="#888888", linewidth=1.0)
    axes.text(WORKERS[0], MOST_SECONDS / 1.2, "a day", va="top", color="#444444", size=9)
    axes.set(xscale="log", yscale="log", xlabel=f"workers of {CORES} cores", ylabel="seconds, predicted")
    axes.set_xticks(WORKERS, [str(workers) for workers in WORKERS])
    axes.set_title("On paper")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, loc="upper right", fontsize=8)


def draw_check(axes: Any, lines: Sequence[Record]) -> None:
    found = checks(lines)
    delays = [1e3 * line["per_round"] for line, _, _ in found]
    axes.plot(delays, [guess for _, _, guess in found], color="#444444", label="predicted")
    own = of_part(lines, "latency")
    axes.plot(
        [1e3 * line["per_round"] for line in own], [line["seconds"] for line in own], "o", color="#D55E00", label="fits"
    )
    axes.plot(delays, [seconds for _, seconds, _ in found], "D", color="#0072B2", label="median measured")
    axes.set(xlabel="round trip, ms", ylabel="seconds of a fit", ylim=(0, None), title="With injected latency")
    axes.legend(frameon=False)
