"""Which sources made a result, and on how busy a machine.

The digest of a line covers the sources that decide its moves and its time. For the methods of the paper and other
single steps these are the step rules, the state that they work on, and kernel values. The block engine also depends on
everything else that is compiled, and on what surrounds a fit. Other packages only depend on how rows are read. What
surrounds a single step (estimators, sessions, models) is not in its digest: tests/test_committed_lines.py makes
committed lines again and compares their counts. A digest is the same for a build in a checkout and for an installed
wheel of the same sources. It covers comments too, so it changes more often than results do.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict

from .. import _core
from ..solvers import SOLVERS

PACKAGE = Path(__file__).parents[1]
SINGLE_STEPS = frozenset(SOLVERS) - {"block"}
CORE_OF_STEPS = {  # files of core/, and its folder of steps
    "aligned.hpp",
    "bindings/state.cpp",
    "block.hpp",
    "cache.hpp",
    "dispatch.cpp",
    "dot.hpp",
    "face.hpp",
    "feature_source.cpp",
    "full_state.hpp",
    "gram.cpp",
    "gram.hpp",
    "hot.cpp",
    "hot.hpp",
    "kernels.hpp",
    "move.hpp",
    "packing.hpp",
    "point.hpp",
    "processor.hpp",
    "product.cpp",
    "product.hpp",
    "rounding.cpp",
    "row_cache.hpp",
    "rows.hpp",
    "run.cpp",
    "run.hpp",
    "sampled_state.hpp",
    "shard.cpp",
    "shard.hpp",
    "simd.hpp",
    "slots.hpp",
    "snapshot.hpp",
    "source.hpp",
    "state.cpp",
    "state.hpp",
    "steps",
    "subnormals.hpp",
    "sums.hpp",
    "threads.cpp",
    "threads.hpp",
    "tiles.hpp",
    "working_set.cpp",
    "working_set.hpp",
}
MODULES_OF_STEPS = (
    "certificates",
    "gram",
    "kernels",
    "problems/l2_svc",
    "problems/quadratic",
    "rays",
    "run",
    "solvers/_base",
    "solvers/blended",
    "solvers/frank_wolfe",
    "solvers/fully_corrective",
    "solvers/lazified",
    "solvers/pairwise",
    "solvers/swap",
    "state/_base",
    "state/kernel",
    "state/sampling",
    "stopping",
    "timing",
)
EVERY_MODULE = (  # rooms and modules that a fit visits; tests/test_provenance.py compares them with what it imports
    "arrays",
    "certificates",
    "columns",
    "datasets",
    "estimators",
    "fitting",
    "gram",
    "kernels",
    "models",
    "parameters",
    "problems",
    "rays",
    "result",
    "rows",
    "run",
    "solve",
    "solvers",
    "state",
    "stopping",
    "timing",
    "trace",
)


class Provenance(TypedDict):
    """Where a line comes from."""

    commit: str  # of the checkout, with "-dirty" if files were changed; of an installed package its version
    digest: str
    load: float | None  # average of the last minute, where the system tells it
    date: str  # UTC


def provenance(method: str) -> Provenance:
    """The provenance of a line that is written now."""
    date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"commit": commit(), "digest": source_digest(method), "load": load(), "date": date}


@cache
def source_digest(method: str) -> str:
    """SHA-256 of the lines "name digest" of the sources that decide a result of this method."""
    digests = core_digests(method)
    for name in modules_deciding(method):
        digests |= {path.relative_to(PACKAGE).as_posix(): hashed(path) for path in modules_of(name)}
    return hashlib.sha256("".join(f"{name} {digests[name]}\n" for name in sorted(digests)).encode()).hexdigest()


def core_digests(method: str) -> dict[str, str]:
    """The digests of the files of the core that decide a result of this method."""
    if method not in SOLVERS:
        return {}
    every = _core.source_digests()
    steps = method in SINGLE_STEPS
    return {f"core/{name}": every[name] for name in every if not steps or CORE_OF_STEPS & {name, name.split("/")[0]}}


def modules_deciding(method: str) -> tuple[str, ...]:
    """The modules and rooms of the package that decide a result of this method."""
    if method not in SOLVERS:
        return ("datasets",)
    return MODULES_OF_STEPS if method in SINGLE_STEPS else EVERY_MODULE


def modules_of(name: str) -> list[Path]:
    """The files of a room or of a module."""
    return list((PACKAGE / name).rglob("*.py")) or [PACKAGE / f"{name}.py"]


def hashed(path: Path) -> str:
    """The digest of a text, whatever ends its lines."""
    return hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()


@cache
def commit() -> str:
    """The commit of the checkout that the package is a part of, or the version of an installed package."""
    if not git("ls-files", "__init__.py"):  # a checkout of something else can contain an installed package
        return version("swapsvm")
    return git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def git(*words: str) -> str:
    """What git answers about the folder of the package; nothing if there is no git, or no checkout."""
    try:
        found = subprocess.run(["git", "-C", str(PACKAGE), *words], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""


def load() -> float | None:
    """The load average of the last minute."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
