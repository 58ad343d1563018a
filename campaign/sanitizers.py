"""Parts of the campaign on a core built with sanitizers: address and undefined behaviour, or threads."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from swapsvm.study import records

from .children import SANITIZED, last_words
from .fuzzers import without_make
from .outcome import Outcome

ROOT = Path(__file__).parent.parent
SECONDS = 60  # of a run
BUILDS = {"address": ("certificates", "files"), "thread": ("threads", "certificates")}
LIBRARIES = {"address": ("libasan.so", "libubsan.so", "libstdc++.so"), "thread": ("libtsan.so", "libstdc++.so")}
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=66:die_after_fork=0",
    "OMP_NUM_THREADS": "2",
}
REPORTS = ("Sanitizer", "runtime error")


class Sanitizers:
    """One run of some parts on one build."""

    name = "sanitizers"
    patience = 3600.0  # the first trial builds

    def prepare(self) -> None:
        pass

    def trial(self, rng: np.random.Generator) -> Outcome:
        kind = str(rng.choice(list(BUILDS)))
        try:
            site = build(kind)
        except subprocess.CalledProcessError as error:
            return Outcome(kind, "left out", f"the build failed: {last_words(error.stderr)}")
        return run(kind, site, int(rng.integers(1, 2**31)))

    def material(self, rng: np.random.Generator) -> Outcome:
        return Outcome("sanitizers", "")


PART = Sanitizers()


def build(kind: str) -> Path:
    """The folder with the package, rebuilt when a source is newer."""
    site = ROOT / "build" / f"campaign-{kind}"
    sources = [*(ROOT / "core").rglob("*.?pp"), ROOT / "CMakeLists.txt"]
    built = list(site.glob("swapsvm/_core*"))
    if not built or built[0].stat().st_mtime < max(path.stat().st_mtime for path in sources):
        settings = ["-C", f"cmake.define.SWAPSVM_SANITIZE={kind}", "-C", f"build-dir=build/sanitize-{kind}"]
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", str(site)]
        subprocess.run([*command, *settings, str(ROOT)], check=True, capture_output=True, text=True, env=without_make())
    return site


def run(kind: str, site: Path, seed: int) -> Outcome:
    """A short campaign on that build; only reports of the sanitizer are faults here."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "campaign", *BUILDS[kind], "--seconds", str(SECONDS), "--seed", str(seed)]
        environment = {**os.environ, **OPTIONS, SANITIZED: kind, "LD_PRELOAD": preloaded(kind)}
        environment["PYTHONPATH"] = os.pathsep.join([str(site), str(ROOT)])
        ended = subprocess.run(
            [*command, "--output", folder], env=environment, capture_output=True, text=True, errors="replace"
        )
        lines = [line for part in BUILDS[kind] for line in records.read(Path(folder) / f"{part}.jsonl")]
    count = float(sum(line["count"] for line in lines))
    details = [fault["detail"] for line in lines for fault in line["faults"].values()]
    reported = [text for text in [*details, last_words(ended.stderr)] if any(word in text for word in REPORTS)]
    if reported:
        return Outcome(kind, "sanitizer", f"{reported[0]} (campaign seed {seed})", count)
    if not count:
        return Outcome(kind, "error", f"nothing ran: {last_words(ended.stderr)}")
    return Outcome(kind, "held", "", count)


def preloaded(kind: str) -> str:
    """The sanitizers' libraries, which must be loaded before all others in a Python without sanitizers."""
    compiler = os.environ.get("CXX", "g++")
    found = [
        subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True)
        for name in LIBRARIES[kind]
    ]
    return " ".join(result.stdout.strip() for result in found)
