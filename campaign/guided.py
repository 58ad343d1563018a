"""Malformed files guided by coverage: atheris on the readers in Python, each input judged as in ``files``."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from .children import last_words
from .outcome import Outcome

SECONDS = 20  # of a run
ROOT = Path(__file__).parent.parent


class Guided:
    """One run of atheris on one format."""

    name = "guided"
    patience = SECONDS + 120.0

    def prepare(self) -> None:
        pass

    def trial(self, rng: np.random.Generator) -> Outcome:
        from .formats import FORMATS

        format = FORMATS[int(rng.integers(len(FORMATS)))]
        if importlib.util.find_spec("atheris") is None:
            return Outcome(format.name, "left out", "atheris is not installed")
        return run(format.name, format.suffix, int(rng.integers(1, 2**31)))

    def material(self, rng: np.random.Generator) -> Outcome:
        return Outcome("guided", "")


PART = Guided()


def run(name: str, suffix: str, seed: int) -> Outcome:
    """A fresh process that ends at its first fault."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "campaign.guided", name, str(seed), folder]
        paths = [str(ROOT), *filter(None, sys.path)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace")
        crashes = sorted(Path(folder).glob("crash-*")) + sorted(Path(folder).glob("timeout-*"))
        material = crashes[0].read_bytes() if crashes else b""
    done = [line for line in ended.stderr.splitlines() if line.startswith("Done ")]
    count = float(done[0].split()[1]) if done else None
    if ended.returncode == 0:
        return Outcome(name, "held", "", count)
    told = [line.partition("FaultError: ")[2] for line in ended.stderr.splitlines() if "FaultError: " in line]
    detail = told[0] if told else last_words(ended.stderr)
    return Outcome(name, "error" if told else "crash", detail, count, material, suffix)


# ---- the fresh process --------------------------------------------------------------------------------------------


class FaultError(Exception):
    """The exception at which atheris stops."""


def main(name: str, seed: int, folder: str) -> None:
    import atheris

    with atheris.instrument_imports(include=["swapsvm"]):
        from . import files, formats, mutation
    [format] = [format for format in formats.FORMATS if format.name == name]

    def one(content: bytes) -> None:
        outcome = files.judged(format, content)
        if outcome.is_fault:
            raise FaultError(f"{outcome.verdict}: {outcome.detail}")

    def changed(content: bytes, largest: int, number: int) -> bytes:
        rng = np.random.default_rng(number)
        try:
            return format.malformed(rng, content)[:largest]
        except Exception:  # too malformed to change its structure any further
            return mutation.of_bytes(rng, content)[:largest]

    corpus = Path(folder) / "corpus"
    corpus.mkdir()
    for place, content in enumerate(format.seeds()):
        (corpus / str(place)).write_bytes(content)
    atheris.Setup([sys.argv[0], *flags(seed, folder), str(corpus)], one, custom_mutator=changed)
    atheris.Fuzz()


def flags(seed: int, folder: str) -> list[Any]:
    times = [f"-max_total_time={SECONDS}", "-timeout=10", "-rss_limit_mb=0", "-max_len=65536"]
    return [f"-seed={seed}", f"-artifact_prefix={folder}/", "-print_final_stats=0", *times]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
