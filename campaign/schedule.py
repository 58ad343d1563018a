"""When each part runs, where it continues, and the lines that are kept."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import swapsvm
from swapsvm.study import records

from .batch import Batch, Part, Tally
from .outcome import Outcome

BLOCK = 5000  # trials of a batch: one line
PAUSE = 0.02  # seconds between two checks of the children
LARGEST_MATERIAL = 1 << 16  # bytes of a file that is kept


@dataclass(frozen=True)
class Plan:
    """Duration, seed, number of children, and the output folder."""

    seconds: float
    seed: int
    jobs: int
    output: Path

    def lines_of(self, part: Part) -> Path:
        return self.output / f"{part.name}.jsonl"


def run_all(parts: Sequence[Part], plan: Plan, say: Callable[[str], None]) -> int:
    """Run the parts within the time, each with an equal share of the rest; returns the number of faults."""
    deadline, faults = time.monotonic() + plan.seconds, 0
    for place, part in enumerate(parts):
        share = max(deadline - time.monotonic(), 1.0) / (len(parts) - place)
        faults += run_part(part, plan, share, say)
    return faults


def run_part(part: Part, plan: Plan, seconds: float, say: Callable[[str], None]) -> int:
    """Run batches of a part, several at a time, and write a line for each; returns the number of faults."""
    runs = PartRun(part, plan, time.monotonic() + seconds, say)
    say(f"{part.name}: seed {plan.seed}, trials from {runs.first}, {seconds:.0f} s")
    while runs.is_busy():
        time.sleep(PAUSE)
    return runs.faults


class PartRun:
    """The batches of a part."""

    def __init__(self, part: Part, plan: Plan, deadline: float, say: Callable[[str], None]) -> None:
        self.part, self.plan, self.deadline, self.say = part, plan, deadline, say
        lines = [line for line in records.read(plan.lines_of(part)) if line["seed"] == plan.seed]
        self.first = max((line["first"] + line["count"] for line in lines), default=0)
        self.faults, self._known = 0, {signature for line in lines for signature in line["faults"]}
        self._batches: list[tuple[Batch, Tally, int, float]] = []

    def is_busy(self) -> bool:
        """Start and monitor batches; False once all have ended."""
        while len(self._batches) < self.plan.jobs and time.monotonic() < self.deadline:
            batch = Batch(self.part, self.plan.seed, self.first, BLOCK, self.deadline)
            self._batches.append((batch, Tally(), self.first, time.monotonic()))
            self.first += BLOCK
        self._batches = [entry for entry in self._batches if not self._is_over(*entry)]
        return bool(self._batches) or time.monotonic() < self.deadline

    def _is_over(self, batch: Batch, tally: Tally, first: int, began: float) -> bool:
        outcomes, over = batch.poll()
        for number, outcome in outcomes:
            if tally.add(number, outcome):
                self._tell(number, outcome, tally)
            self.faults += outcome.is_fault
        if over and tally.count:
            self._keep(tally, first, time.monotonic() - began)
        return over

    def _tell(self, number: int, outcome: Outcome, tally: Tally) -> None:
        if outcome.signature in self._known:
            return
        self._known.add(outcome.signature)
        self.say(f"  {outcome.verdict}, trial {number} of seed {self.plan.seed}: {outcome.kind}: {outcome.detail}")
        if 0 < len(outcome.material) <= LARGEST_MATERIAL:
            path = self.plan.output / "findings" / f"{self.part.name}-{self.plan.seed}-{number}{outcome.suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(outcome.material)
            tally.faults[outcome.signature]["file"] = path.name

    def _keep(self, tally: Tally, first: int, seconds: float) -> None:
        line = {
            "part": self.part.name,
            "seed": self.plan.seed,
            "first": first,
            "count": tally.count,
            "seconds": round(seconds, 2),
            "counts": {kind: dict(counts) for kind, counts in sorted(tally.counts.items())},
            "largest": tally.largest,
            "faults": tally.faults,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "where": surroundings(),
        }
        records.append(self.plan.lines_of(self.part), line)
        verdicts = ", ".join(f"{verdict} {count}" for verdict, count in sorted(_summed(tally).items()))
        self.say(f"  {tally.count} trials in {seconds:.1f} s ({tally.count / seconds:.1f} per second): {verdicts}")


def _summed(tally: Tally) -> dict[str, int]:
    totals: dict[str, int] = {}
    for counts in tally.counts.values():
        for verdict, count in counts.items():
            totals[verdict] = totals.get(verdict, 0) + count
    return totals


def surroundings() -> dict[str, Any]:
    """The environment in which the lines were made."""
    return {
        "swapsvm": swapsvm.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    }
