"""Pages with commands and their output: run, compared, and written again by ``python -m tests.console_pages``.

A block ``console`` has lines that begin with ``$ swapsvm``, each followed by what it prints, without lines of progress.
Python blocks are executed in between. A block after ``<!-- needs data -->`` is run only where its data sets are here.
"""

from __future__ import annotations

import io
import math
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

from swapsvm.cli import main
from swapsvm.datasets.files import find
from swapsvm.datasets.registry import find_entry

PAGES = [Path(__file__).parent.parent / "docs" / "command-line.md"]
BLOCK = re.compile(
    r"(?P<head>(?:<!-- needs (?P<data>\w+) -->\n)?^```(?P<kind>python|console)\n)(?P<text>.*?)^```$", re.M | re.S
)
HEAD = re.compile(r" \| head -n (\d+)$")
PROGRESS = re.compile(r"^swapsvm: (pair|class|problem|fit|\d+ of) .*\n", re.M)
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
# Times, work and sizes depend on the machine; gaps only have a bound.
VARYING = re.compile(r'\d+\.\d+ s\b|"seconds": [^,}]+|gap +[\d.e-]+|(iterations|evaluations|bytes) +\d+')
TOLERANCE = 0.05  # of other numbers: the instruction set of a machine decides which rows are support vectors


def output_of(command: str) -> str:
    """What a command prints, to both streams."""
    shown = HEAD.search(command)
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        main(shlex.split(HEAD.sub("", command))[1:])
    lines = PROGRESS.sub("", printed.getvalue()).splitlines(keepends=True)
    return "".join(lines[: int(shown[1])] if shown else lines)


def ran(text: str, folder: Path) -> Iterator[tuple[re.Match[str], str]]:
    """Each console block that can be run here, and its text with the present output."""
    names: dict[str, object] = {}
    with chdir(folder):
        for block in BLOCK.finditer(text):
            if block["kind"] == "python":
                exec(block["text"], names)
            elif not block["data"] or all(find(file) for file in find_entry(block["data"]).files):
                commands = [line for line in block["text"].splitlines() if line.startswith("$ ")]
                yield block, "".join(f"{line}\n{output_of(line[2:])}" for line in commands)


def same(written: str, printed: str) -> bool:
    """Whether two outputs agree: words exactly, numbers nearly, times and gaps not at all."""
    ours, theirs = VARYING.sub("", written), VARYING.sub("", printed)
    if " ".join(NUMBER.sub("0", ours).split()) != " ".join(NUMBER.sub("0", theirs).split()):
        return False
    pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=True)
    numbers = ((float(a.replace(",", "")), float(b.replace(",", ""))) for a, b in pairs)
    return all(math.isclose(a, b, rel_tol=TOLERANCE) for a, b in numbers)


def written_again(text: str, folder: Path) -> str:
    """The page with the present outputs."""
    for block, printed in list(ran(text, folder)):
        text = text.replace(block[0], f"{block['head']}{printed}```", 1)
    return text


if __name__ == "__main__":
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
            os.environ["SWAPSVM_CACHE"] = cache
            page.write_text(written_again(page.read_text("utf-8"), Path(folder)), "utf-8")
