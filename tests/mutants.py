"""Mutation check: every listed fault in the step rules, the stop rules and the statistics must make a test fail.

``tests/mutants.toml`` has the mutants: a name, a file of the package, a text that occurs in it once, what replaces it,
what that breaks, and the tests that must notice. Each is applied to a copy of the package outside of the checkout, and
its tests are run on the copy. ``python -m tests.mutants`` writes docs/notes/mutants.md; with names as arguments it runs
these mutants alone and writes nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "swapsvm"
PAGE = ROOT / "docs" / "notes" / "mutants.md"
SECONDS = 300  # of the tests of one mutant: those that end by this limit have not caught it
FAILED = re.compile(r"^(?:FAILED|ERROR) (?:\S*/)?(\w+\.py)::(\w+)", re.MULTILINE)
PASSED, FAILURES = 0, 1  # exit codes of pytest
HEAD = """# Mutants

Faults that were put into the step rules, the stop rules and the statistics, one at a time, and the tests that caught
them. `make mutants` makes this table again from `tests/mutants.toml`; a fault that no test notices fails it.

| fault | file | original | changed to | breaks | caught by |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Mutant:
    """A fault: ``original`` occurs once in ``file`` and is replaced by ``changed``."""

    name: str
    file: str
    original: str
    changed: str
    breaks: str
    tests: Sequence[str]

    def source(self) -> str:
        """The text of its file with the fault."""
        text = (PACKAGE / self.file).read_text("utf-8")
        if text.count(self.original) != 1:
            raise ValueError(f"{self.name}: {self.original!r} occurs {text.count(self.original)} times in {self.file}")
        return text.replace(self.original, self.changed)


def every_mutant() -> list[Mutant]:
    """All mutants, in the order of the file."""
    found = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return [Mutant(name, **entry) for name, entry in found.items()]


def failed_tests(package: Path, tests: Sequence[str], first: bool) -> list[str]:
    """The tests that fail on a copy of the package; of those of a mutant the first is enough."""
    paths = os.pathsep.join([str(package.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    environment.pop("SWAPSVM_DATA", None)  # the same tests everywhere
    options = ["-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", "--hypothesis-seed=0", *(["-x"] if first else [])]
    command = [sys.executable, "-m", "pytest", *options, *(f"tests/{test}" for test in tests)]
    try:
        ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return []
    if ran.returncode not in (PASSED, FAILURES):
        raise RuntimeError(f"the tests {', '.join(tests)} cannot be run:\n{ran.stdout}{ran.stderr}")
    return sorted({f"{file}::{test}" for file, test in FAILED.findall(ran.stdout)})


def caught_by(mutant: Mutant, package: Path) -> list[str]:
    """The tests that fail with the fault; the copy is mended afterwards."""
    target = package / mutant.file
    sound = target.read_text("utf-8")
    target.write_text(mutant.source(), "utf-8")
    try:
        return failed_tests(package, mutant.tests, first=True)
    finally:
        target.write_text(sound, "utf-8")


def as_code(text: str) -> str:
    """Text in a cell of a table, on one line."""
    line = " ".join(text.split()).replace("|", "\\|")
    return f"`` {line} ``" if "`" in line else f"`{line}`"


def as_row(mutant: Mutant, caught: Sequence[str]) -> str:
    """The row of a mutant."""
    texts = as_code(mutant.original), as_code(mutant.changed) if mutant.changed.strip() else "nothing"
    tests = ", ".join(f"`{test.split('::')[1]}`" for test in caught) or "**nothing**"
    return f"| {mutant.name} | `{mutant.file}` | {texts[0]} | {texts[1]} | {mutant.breaks} | {tests} |\n"


def check(mutants: Sequence[Mutant]) -> dict[str, list[str]]:
    """The tests that caught each mutant. Without a fault they must all pass."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(shutil.copytree(PACKAGE, Path(folder) / "swapsvm", ignore=shutil.ignore_patterns("__pycache__")))
        tests = sorted({test for mutant in mutants for test in mutant.tests})
        if failed := failed_tests(package, tests, first=False):
            raise RuntimeError(f"these tests fail without a fault: {', '.join(failed)}")
        caught = {}
        for mutant in mutants:
            caught[mutant.name] = caught_by(mutant, package)
            sys.stdout.write(f"{mutant.name}: {', '.join(caught[mutant.name]) or 'NOT CAUGHT'}\n")
            sys.stdout.flush()
        return caught


def main(names: Sequence[str]) -> int:
    """Check the named mutants, or all of them and write the table; 1 if one survives."""
    mutants = [mutant for mutant in every_mutant() if not names or mutant.name in names]
    if unknown := set(names) - {mutant.name for mutant in mutants}:
        raise ValueError(f"there are no mutants {', '.join(sorted(unknown))}")
    caught = check(mutants)
    alive = [name for name, tests in caught.items() if not tests]
    if not names:
        PAGE.write_text(HEAD + "".join(as_row(mutant, caught[mutant.name]) for mutant in mutants), "utf-8")
    sys.stdout.write(f"{len(mutants) - len(alive)} of {len(mutants)} caught; alive: {', '.join(alive) or 'none'}\n")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
