"""The enclosing ball: time against the number of points for a given tolerance, and beside miniball of PyPI.

``OMP_NUM_THREADS=1 python -m benchmarks.geometry --output results/geometry/bench.jsonl`` measures, then writes
report.md and ball.png beside the raw lines; ``--report`` only writes. Points are normal. Times are CPU seconds of the
process, medians of interleaved repetitions; a competitor that exceeds ``--limit`` gets no further task of the suite.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from swapsvm.geometry import min_enclosing_ball
from swapsvm.study import records
from swapsvm.study.records import Record

from .micro.columns import surroundings

TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-6)
SUITES = {
    "growth": [(m, 10) for m in (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)],
    "dimensions": [(10_000, d) for d in (2, 3, 5, 10, 20, 50, 100, 300, 1000)],
    "large": [(100_000, 1000)],
    "miniball, 3 dimensions": [(m, 3) for m in (100, 300, 1000, 3000, 10_000)],
    "miniball, 300 points": [(300, d) for d in (2, 3, 4, 5, 6, 8, 10)],
}
COLOURS = {"0.1": "#E69F00", "0.01": "#009E73", "0.001": "#0072B2", "1e-06": "#D55E00", "miniball": "#5b6575"}


def points(m: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((m, d))


def ours(tol: float) -> Callable[[np.ndarray], Record]:
    def solve(X: np.ndarray) -> Record:
        ball = min_enclosing_ball(X, tol=tol)
        return {
            "radius": ball.radius,
            "relative_gap": ball.relative_gap,
            "coreset": len(ball.coreset),
            "steps": ball.iterations,
            "stop_reason": ball.stop_reason,
        }

    return solve


def miniball(X: np.ndarray) -> Record:
    import miniball

    _, squared_radius = miniball.get_bounding_ball(X)
    return {"radius": float(np.sqrt(squared_radius))}


def competitors(suite: str) -> dict[str, Callable[[np.ndarray], Record]]:
    if "miniball" not in suite:
        return {f"{tol:g}": ours(tol) for tol in TOLERANCES}
    peer = {"miniball": miniball} if find_spec("miniball") else {}  # pip install miniball
    return {f"{TOLERANCES[-1]:g}": ours(TOLERANCES[-1]), **peer}


# ---- measure --------------------------------------------------------------------------------------------------------


def timed(solve: Callable[[np.ndarray], Record], X: np.ndarray, limit: float) -> Record:
    signal.setitimer(signal.ITIMER_PROF, limit)  # of CPU time
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        found = solve(X)
    except TimeoutError:
        found = {"error": f"more than {limit:g} s"}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return {"seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall, **found}


def too_late(*_: Any) -> None:
    raise TimeoutError


def measure(tasks: list[tuple[int, int]], suite: str, options: argparse.Namespace, where: dict[str, Any]) -> None:
    late: set[str] = set()
    for m, d in tasks:
        X = points(m, d)
        for repetition in range(options.repetitions):
            for name, solve in competitors(suite).items():
                if name in late:
                    continue
                found = {"suite": suite, "points": m, "dimensions": d, "name": name, "repetition": repetition}
                found |= timed(solve, X, options.limit)
                late |= {name} if "error" in found else set()
                records.append(options.output, {**found, "load": os.getloadavg()[0], "where": where})
                print({key: value for key, value in found.items() if key != "where"}, flush=True)


# ---- report ---------------------------------------------------------------------------------------------------------


def medians(lines: list[Record], suite: str) -> dict[str, dict[tuple[int, int], Record]]:
    """The record of the median time for each competitor and task."""
    found: dict[str, dict[tuple[int, int], list[Record]]] = {}
    for line in lines:
        if line["suite"] == suite and "error" not in line:
            task = line["points"], line["dimensions"]
            found.setdefault(line["name"], {}).setdefault(task, []).append(line)
    return {
        name: {task: sorted(runs, key=lambda run: run["seconds"])[len(runs) // 2] for task, runs in by_task.items()}
        for name, by_task in found.items()
    }


def label(name: str) -> str:
    return name if name == "miniball" else f"tol = {float(name):g}"


def table(found: dict[str, dict[tuple[int, int], Record]]) -> list[str]:
    tasks = sorted({task for by_task in found.values() for task in by_task})
    lines = ["| points | dimensions | " + " | ".join(map(label, found)) + " |", "|---:|---:|" + "---:|" * len(found)]
    for task in tasks:
        cells = [cell(by_task.get(task)) for by_task in found.values()]
        lines.append(f"| {task[0]} | {task[1]} | " + " | ".join(cells) + " |")
    return lines


def cell(run: Record | None) -> str:
    if run is None:
        return "-"
    steps = f" ({run['steps']}, {run['coreset']})" if "steps" in run else ""
    return f"{run['seconds']:.3g}{steps}"


def slopes(found: dict[str, dict[tuple[int, int], Record]]) -> str:
    """Exponent of m in the time, from 10000 points on."""
    text = []
    for name, by_task in found.items():
        large = [(m, run["seconds"]) for (m, _), run in sorted(by_task.items()) if m >= 10_000]
        if len(large) > 2:
            slope = np.polyfit(*np.log(np.array(large)).T, 1)[0]
            text.append(f"{label(name)}: {slope:.2f}")
    return ", ".join(text)


def worst_difference(lines: list[Record]) -> float:
    """Largest relative difference between our radius at the finest tolerance and miniball's."""
    pairs = []
    for suite in SUITES:
        found = medians(lines, suite)
        for task, run in found.get("miniball", {}).items():
            pairs.append((run["radius"], found[f"{TOLERANCES[-1]:g}"][task]["radius"]))
    return max((abs(b / a - 1) for a, b in pairs), default=float("nan"))


def report(lines: list[Record]) -> str:
    found = {suite: medians(lines, suite) for suite in SUITES}
    where, loads = lines[-1]["where"], [line["load"] for line in lines]
    head = f"""# The enclosing ball

swapsvm {where["commit"]}, {where["cpu"]}, one thread, {where["time"]}; load of the machine {min(loads):.1f} to
{max(loads):.1f}. Made by `python -m benchmarks.geometry`; raw lines in `bench.jsonl`.

CPU seconds, and in brackets the steps (each a pass over the points) and the size of the coreset. A radius is at most
1 + tol times the optimum, by its own certificate.

![time against points and dimensions](ball.png)
"""
    parts = [head]
    for suite, by_name in found.items():
        parts += [f"## {suite.capitalize()}", "", *table(by_name), ""]
        if suite == "growth":
            parts += [f"Exponent of the number of points in the time, from 10000 on: {slopes(by_name)}.", ""]
    parts.append(
        f"The largest relative difference between our radius at tol = {TOLERANCES[-1]:g} and miniball's is "
        f"{worst_difference(lines):.1e}. A dash: this task or one before it was not done within the limit."
    )
    return "\n".join(parts) + "\n"


def draw(lines: list[Record], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = [("growth", 0, "points, in 10 dimensions"), ("dimensions", 1, "dimensions, 10000 points")]
    panels.append(("miniball, 3 dimensions", 0, "points, in 3 dimensions"))
    fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    for ax, (suite, axis, text) in zip(axes, panels, strict=True):
        for name, by_task in medians(lines, suite).items():
            tasks = sorted(by_task)
            x, y = [task[axis] for task in tasks], [by_task[task]["seconds"] for task in tasks]
            ax.loglog(x, y, "s--" if name == "miniball" else "o-", color=COLOURS[name], label=label(name), ms=4)
        ax.grid(color="#e6eaf0")
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set(xlabel=text)
        ax.legend(frameon=False)
    axes[0].set(ylabel="CPU seconds")
    fig.savefig(path, dpi=150)


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--output", type=Path, default=Path("results/geometry/bench.jsonl"), help="JSON lines, appended"
    )
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument(
        "--limit", type=float, default=30.0, help="seconds after which a competitor gets no larger task"
    )
    parser.add_argument("--report", action="store_true", help="only write the report of the existing lines")
    options = parser.parse_args(words)
    if not options.report:
        where = surroundings()
        signal.signal(signal.SIGPROF, too_late)
        for suite, tasks in SUITES.items():
            measure(tasks, suite, options, where)
    lines = records.read(options.output)
    options.output.with_name("report.md").write_text(report(lines))
    draw(lines, options.output.with_name("ball.png"))


if __name__ == "__main__":
    main()
