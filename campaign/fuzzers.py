"""libFuzzer on the core's own readers (``fuzz/*.cpp``), built by ``make fuzz`` with address and UB sanitizers."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from .children import last_words
from .outcome import Outcome

ROOT = Path(__file__).parent.parent
SECONDS = 20  # of a run
SEEDS = {"svmlight": [b"\x05\x00+1 1:0.5 3:2 # first\n-1 2:1 4:-3e-2\n", b"\xff\x84qid\n1 qid:3 1: 1\r\n"]}
COUNT = re.compile(r"^Done ([0-9]+) runs", re.MULTILINE)


class Fuzzers:
    """One run of one fuzzer."""

    name = "fuzzers"
    patience = SECONDS + 300.0

    def prepare(self) -> None:
        pass

    def trial(self, rng: np.random.Generator) -> Outcome:
        name = str(rng.choice(list(SEEDS)))
        built = subprocess.run(["make", "fuzz"], cwd=ROOT, capture_output=True, text=True, env=without_make())
        if built.returncode:
            return Outcome(name, "left out", f"clang with libFuzzer is needed: {last_words(built.stderr)}")
        return run(ROOT / "build" / "fuzz" / name, int(rng.integers(1, 2**31)))

    def material(self, rng: np.random.Generator) -> Outcome:
        return Outcome("fuzzers", "")


PART = Fuzzers()


def without_make() -> dict[str, str]:
    """The environment without the variables of an outer make."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "MFLAGS"}


def run(program: Path, seed: int) -> Outcome:
    """How one run ended, with the number of inputs."""
    with tempfile.TemporaryDirectory() as folder:
        for place, content in enumerate(SEEDS.get(program.name, [])):
            (Path(folder) / f"seed-{place}").write_bytes(content)
        limits = [f"-max_total_time={SECONDS}", f"-seed={seed}", "-timeout=5", "-rss_limit_mb=1024"]
        command = [str(program), *limits, f"-artifact_prefix={folder}/", folder]
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace")
        crashes = [path for path in Path(folder).iterdir() if path.name.startswith(("crash-", "timeout-", "oom-"))]
        material = crashes[0].read_bytes() if crashes else b""
    done = COUNT.search(ended.stderr)
    if ended.returncode == 0:
        return Outcome(program.name, "held", "", float(done[1]) if done else None)
    return Outcome(program.name, "crash", last_words(ended.stderr), None, material, ".fuzz")
