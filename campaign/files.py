"""Malformed files are read or refused: ``ValueError`` or ``OSError`` that names the file, in little time and memory."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import numpy as np

from .children import limit_memory
from .formats import FORMATS, Format
from .outcome import Outcome

SECONDS = 5.0  # of CPU, for one file
BYTES = 1 << 26  # whatever the size of the file
RATIO = 2048  # bytes of memory for a byte of the file: twice what deflate can pack
ADDRESSES = 1 << 30  # address space that a reader may reserve, used or not


class Files:
    """One malformed file of some format."""

    name = "files"
    patience = 30.0

    def __init__(self) -> None:
        self._seeds: dict[str, list[bytes]] = {}

    def prepare(self) -> None:
        self._left_out = left_out()
        for format in FORMATS:
            if format.name not in self._left_out:
                self._seed_files(format)

    def trial(self, rng: np.random.Generator) -> Outcome:
        format = FORMATS[int(rng.integers(len(FORMATS)))]
        if format.name in self._left_out:
            return Outcome(format.name, "left out", self._left_out[format.name])
        return judged(format, self._malformed(rng, format))

    def material(self, rng: np.random.Generator) -> Outcome:
        format = FORMATS[int(rng.integers(len(FORMATS)))]
        return Outcome(format.name, "", "", None, self._malformed(rng, format), format.suffix)

    def _malformed(self, rng: np.random.Generator, format: Format) -> bytes:
        seeds = self._seed_files(format)
        return format.malformed(rng, seeds[int(rng.integers(len(seeds)))])

    def _seed_files(self, format: Format) -> list[bytes]:
        if format.name not in self._seeds:
            self._seeds[format.name] = format.seeds()
        return self._seeds[format.name]


PART = Files()


def left_out() -> dict[str, str]:
    """Formats whose package is not installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return {"parquet": "pyarrow is not installed"}
    return {}


def judged(format: Format, content: bytes) -> Outcome:
    """Use one file in the current folder, and judge the outcome."""
    path = Path(f"malformed{format.suffix}")
    path.write_bytes(content)
    before = reset_peak()
    limit = limit_memory(ADDRESSES)
    began = time.process_time()
    try:
        verdict, detail = attempt(format, path)
    finally:
        raise_limit(limit)
    took, grown = time.process_time() - began, peak() - before
    if verdict in ("held", "refused") and took > SECONDS:
        verdict, detail = "slow", f"{took:.1f} CPU s for {len(content)} bytes; {detail}"
    if verdict in ("held", "refused") and grown > BYTES + RATIO * len(content):
        verdict, detail = "memory", f"{grown >> 20} MB for {len(content)} bytes; {detail}"
    strays = [name for name in os.listdir() if name.startswith(".")]
    if verdict in ("held", "refused") and strays:
        verdict, detail = "stray", f"left behind: {strays}"
    fine = verdict in ("held", "refused")
    return Outcome(format.name, verdict, "" if fine else detail, None, b"" if fine else content, format.suffix)


def attempt(format: Format, path: Path) -> tuple[str, str]:
    """Held, refused, or what is wrong with the refusal."""
    found = None
    try:
        found = format.read(path)
        format.use(found)
    except (ValueError, OSError) as error:
        named = found is not None or str(path) in str(error)
        return "refused" if named else "unnamed", f"{type(error).__name__}: {error}"
    except MemoryError as error:
        return "memory", f"MemoryError with {ADDRESSES >> 20} MB left: {error}"
    except Exception as error:
        return "error", f"{type(error).__name__}: {error}"
    return "held", ""


def raise_limit(limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def reset_peak() -> int:
    """Reset the peak of memory to the present use."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return peak()
    return peak()


def peak() -> int:
    """The peak of the resident memory, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    return 0
