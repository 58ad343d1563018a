"""Too little memory or disk space: the work is done or fails with a clean error, and old files are unchanged."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from swapsvm import SVC, Checkpoint, files

from . import work
from .children import Ended, in_child, limit_memory
from .formats import data
from .outcome import Outcome, is_outside
from .problems import power

SECONDS = 30.0
MMAP_THRESHOLD = -3  # glibc's name for the parameter
CLEAN = ("MemoryError", "ImportError")
STEPS = 9  # limits for one task
TABLES = ("table.csv", "table.svm", "table.npz", "model")


class Limits:
    """One task with a random limit."""

    name = "limits"
    patience = 120.0

    def prepare(self) -> None:
        """Import and warm up everything once, so that limits apply to the task itself."""
        return_memory()
        work.warm_up()
        in_child(write_tables, SECONDS)

    def trial(self, rng: np.random.Generator) -> Outcome:
        if rng.random() < 0.3:
            return disk_trial(rng)
        name, do = self._drawn(rng)
        return squeezed(name, do, int(rng.uniform(0, 1) * needed(do)))

    def material(self, rng: np.random.Generator) -> Outcome:
        return Outcome("limits", "")

    def _drawn(self, rng: np.random.Generator) -> tuple[str, Callable[[], Any]]:
        m, jobs = int(power(rng, 2.5, 4)), int(rng.choice([1, 2, 32]))
        choice = rng.random()
        if choice < 0.5:
            name, solver = str(rng.choice(list(work.ESTIMATORS))), str(rng.choice(["block", "block", "swap2", "fcfw"]))
            do = work.ESTIMATORS[name](m)
            return name, lambda: do(n_jobs=jobs, solver=solver, max_time=0.3)
        if choice < 0.7:
            name = str(rng.choice(list(work.GEOMETRY)))
            do = work.GEOMETRY[name](m)
            return name, lambda: do(max_time=0.3)
        if choice < 0.8:
            classes = int(rng.choice([2, 4, 10]))
            return f"predict, {classes} classes", work.predict(min(m, 2000), classes, jobs)
        path = str(rng.choice(TABLES))
        return f"read {path}", lambda: files.load(path) if path == "model" else files.read_table(path)


PART = Limits()


def write_tables() -> None:
    """Valid files of some megabytes."""
    X, y = work.rows(20_000, 8).round(4), np.arange(20_000) % 2
    rows = list(zip(y.tolist(), X.tolist(), strict=True))
    Path("table.csv").write_text("".join(f"{label},{','.join(map(str, row))}\n" for label, row in rows))
    entries = (" ".join(f"{k}:{v}" for k, v in enumerate(row, 1)) for _, row in rows)
    Path("table.svm").write_text("".join(f"{label} {entry}\n" for label, entry in zip(y, entries, strict=True)))
    np.savez_compressed("table.npz", X=X, y=y)
    model = SVC(max_iter=1, start_size=3000, n_jobs=1).fit(work.rows(3000), work.labels(3000))
    files.save(model, "model")


def return_memory() -> None:
    """Let glibc return every block of 64 KB or more: freed memory that it keeps would serve work below a limit."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        mallopt(MMAP_THRESHOLD, 1 << 16)


# ---- memory -------------------------------------------------------------------------------------------------------


def squeezed(name: str, do: Callable[[], Any], extra: int) -> Outcome:
    """Limits that approach the smallest sufficient one from both sides, so that each allocation fails once."""
    low, high = 0, 2 * extra
    for _ in range(STEPS):
        outcome = judged_memory(name, do, extra)
        if outcome.is_fault:
            return outcome
        low, high = (low, extra) if outcome.verdict == "held" else (extra, high)
        extra = (low + high) // 2
    return outcome


def needed(do: Callable[[], Any]) -> int:
    """The bytes of address space that it uses without a limit."""

    def measured() -> int:
        do()
        sizes = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
        return int(sizes["VmPeak"].split()[0]) << 10

    before = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    ended = in_child(measured, SECONDS)
    return max(ended.value - before, 1 << 16) if ended.status == "returned" else 1 << 26


def judged_memory(name: str, do: Callable[[], Any], extra: int) -> Outcome:
    """Run it with this many bytes more than the process has."""

    def limited() -> None:
        before = limit_memory(extra)
        try:
            do()
        except MemoryError:
            raise MemoryError from None
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (before, resource.getrlimit(resource.RLIMIT_AS)[1]))

    return judged_end(f"memory: {name}", in_child(limited, SECONDS), f"with {extra >> 10} KB")


def judged_end(kind: str, ended: Ended, about: str) -> Outcome:
    """A clean end, or what happened instead."""
    if ended.status == "returned":
        return Outcome(kind, "held")
    if is_clean_refusal(ended):
        return Outcome(kind, "refused")
    if is_outside(str(ended)):
        return Outcome(kind, "outside")
    verdict = "hang" if ended.status == "hang" else "error" if ended.status == "raised" else "crash"
    return Outcome(kind, verdict, f"{ended} {about}")


def is_clean_refusal(ended: Ended) -> bool:
    """MemoryError, or an equivalent error of the system."""
    if ended.raised(*CLEAN):
        return True
    text = ended.value[1] if ended.status == "raised" else ""
    return (ended.raised("OSError") and "Errno 12" in text) or (ended.raised("RuntimeError") and "thread" in text)


# ---- disk ---------------------------------------------------------------------------------------------------------


def disk_trial(rng: np.random.Generator) -> Outcome:
    """Overwrite an old file with space for a random number of bytes."""
    name = str(rng.choice(list(WRITERS)))
    folder = Path("disk")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    WRITERS[name](folder / "goal")
    old = (folder / "goal").read_bytes()
    room = int(rng.integers(0, 2 * len(old)))
    return judged_disk(f"disk: {name}", lambda: WRITERS[name](folder / "goal"), folder, old, room)


def judged_disk(kind: str, write: Callable[[], Any], folder: Path, old: bytes, room: int) -> Outcome:
    """After a write that can fail, the file is the old one or a complete new one, and there are no other files."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        write()

    ended = in_child(limited, SECONDS)
    present = sorted(os.listdir(folder))
    found = (folder / "goal").read_bytes() if "goal" in present else b""
    about = f"with room for {room} of {len(old)} bytes"
    if present != ["goal"]:
        return Outcome(kind, "stray", f"left behind: {present} {about}")
    if found != old and (len(found) < 0.9 * len(old) or room < len(found)):
        return Outcome(kind, "lost", f"the old file was replaced by {len(found)} bytes {about}")
    if ended.raised("OSError"):
        return Outcome(kind, "refused")
    return judged_end(kind, ended, about)


def _model() -> Any:
    return SVC(n_jobs=1).fit(*data(200, 5))


def _checkpointed(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SVC(n_jobs=1, checkpoint=Checkpoint(path, seconds=0.0)).fit(*data(300, 3))


def _export_onnx(path: Path) -> None:
    try:
        files.export_onnx(_model(), path)
    except ImportError:
        path.write_bytes(b"onnx is not installed")


WRITERS: dict[str, Callable[[Path], Any]] = {
    "save": lambda path: files.save(_model(), path),
    "export_libsvm": lambda path: files.export_libsvm(_model(), path),
    "export_onnx": _export_onnx,
    "checkpoint": _checkpointed,
}
