"""Which sources made a result, and on how busy a machine.

The digest of a line covers the sources that decide its numbers: those of the compiled core, hashed when it was built,
and the modules of the package that training and prediction visit. It is the same for a build in a checkout and for an
installed wheel of the same sources. It covers comments too, so it changes more often than results do, but never less.
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

PACKAGE = Path(__file__).parents[1]
DECIDING = (  # rooms and modules of the package; tests/test_provenance.py compares them with what a fit imports
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


def provenance() -> Provenance:
    """The provenance of a line that is written now."""
    date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"commit": commit(), "digest": source_digest(), "load": load(), "date": date}


@cache
def source_digest() -> str:
    """SHA-256 of the lines "name digest" of all deciding modules, after the digest of the core."""
    files = sorted(path for name in DECIDING for path in modules_of(name))
    lines = [
        f"_core {_core.source_digest()}",
        *(f"{path.relative_to(PACKAGE).as_posix()} {hashed(path)}" for path in files),
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


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
