"""Trials of one part, one after the other in a child process that the parent monitors."""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
import time
import warnings
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .children import Child, Ended, in_child
from .outcome import Outcome, from_line, is_outside

PLACE = struct.Struct("qd")  # number of the current trial, and its start time
MEMORY = Path("/dev/shm")  # folders there cost no disk
EXAMPLES = 5  # trials that are named for each signature


class Part(Protocol):
    """A promise and how to test it."""

    name: str
    patience: float  # seconds after which a trial counts as hanging

    def prepare(self) -> None:
        """Once in each child, before its first trial."""

    def trial(self, rng: np.random.Generator) -> Outcome:
        """One trial."""

    def material(self, rng: np.random.Generator) -> Outcome:
        """The input of a trial, without running it; used when the trial killed its process."""


@dataclass
class Tally:
    """Counts of outcomes, the largest numbers, and examples of each fault."""

    count: int = 0
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)
    faults: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, number: int, outcome: Outcome) -> bool:
        """Whether this is the first fault with its signature."""
        self.count += 1
        self.counts.setdefault(outcome.kind, Counter())[outcome.verdict] += 1
        if outcome.number is not None:
            self.largest[outcome.kind] = max(outcome.number, self.largest.get(outcome.kind, 0.0))
        if not outcome.is_fault:
            return False
        fresh = outcome.signature not in self.faults
        fault = self.faults.setdefault(outcome.signature, {"count": 0, "trials": [], "detail": outcome.detail})
        fault["count"] += 1
        if len(fault["trials"]) < EXAMPLES:
            fault["trials"].append(number)
        return fresh


def random_numbers(part: Part, seed: int, number: int) -> np.random.Generator:
    """Those of a trial."""
    return np.random.default_rng([seed, zlib.crc32(part.name.encode()), number])


class Batch:
    """Trials from ``first`` on, at most ``count`` of them and until the deadline."""

    def __init__(self, part: Part, seed: int, first: int, count: int, deadline: float) -> None:
        self.part, self.seed, self.deadline = part, seed, deadline
        self.number, self.end = first, first + count
        self._place = mmap.mmap(-1, PLACE.size)
        self._folder = tempfile.TemporaryDirectory(prefix="campaign-", dir=MEMORY if MEMORY.is_dir() else None)
        self._start()

    def _start(self) -> None:
        self._lines, goal = os.pipe()
        os.set_blocking(self._lines, False)
        self._unfinished = b""
        self._mark(-1)
        self._child = Child(lambda: self._run(goal))
        os.close(goal)

    def _mark(self, number: int) -> None:
        self._place[:] = PLACE.pack(number, time.monotonic())

    def _run(self, goal: int) -> None:
        """In the child: a line for each outcome."""
        os.chdir(self._folder.name)
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        self.part.prepare()
        for number in range(self.number, self.end):
            if time.monotonic() > self.deadline:
                break
            self._mark(number)
            outcome = self.part.trial(random_numbers(self.part, self.seed, number))
            _write_all(goal, outcome.as_line().encode() + b"\n")
        self._mark(-1)

    def poll(self) -> tuple[list[tuple[int, Outcome]], bool]:
        """New outcomes with their trial numbers, and whether the batch has ended."""
        ended = self._child.poll() or self._overdue()
        found = self._read()
        if ended is None:
            return found, False
        os.close(self._lines)
        if ended.status == "returned":
            self._folder.cleanup()
            return found, True
        if PLACE.unpack(self._place[:])[0] < 0:  # no trial had begun: not a fault of the package
            self._folder.cleanup()
            raise RuntimeError(f"{self.part.name} could not be prepared: {ended}")
        found.append((self.number, self._autopsy(ended)))
        self.number += 1
        over = self.number >= self.end or time.monotonic() > self.deadline
        if over:
            self._folder.cleanup()
        else:
            self._start()
        return found, over

    def _overdue(self) -> Ended | None:
        number, since = PLACE.unpack(self._place[:])
        if number < 0 or time.monotonic() - since < self.part.patience:
            return None
        return self._child.stop()

    def _read(self) -> list[tuple[int, Outcome]]:
        while True:
            try:
                piece = os.read(self._lines, 1 << 20)
            except BlockingIOError:
                break
            if not piece:
                break
            self._unfinished += piece
        *lines, self._unfinished = self._unfinished.split(b"\n")
        found = [(self.number + k, from_line(line.decode())) for k, line in enumerate(lines)]
        self.number += len(lines)
        return found

    def _autopsy(self, ended: Ended) -> Outcome:
        """The outcome of the trial that ended its process."""
        about = in_child(lambda: self.part.material(random_numbers(self.part, self.seed, self.number)), 60)
        known: Outcome = about.value if about.status == "returned" else Outcome(self.part.name, "")
        verdict = "hang" if ended.status == "hang" else "error" if ended.status == "raised" else "crash"
        detail = f"{ended} {known.detail}".strip()
        verdict = "outside" if is_outside(detail) else verdict
        return Outcome(known.kind, verdict, detail, None, known.material, known.suffix)


def _write_all(goal: int, text: bytes) -> None:
    while text:
        text = text[os.write(goal, text) :]
