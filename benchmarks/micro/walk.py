"""``python -m benchmarks.micro.walk``: the files that a fit, a prediction and a model selection walk through.

Counts calls and returns between Python files of the package. A hand-over is one that changes the folder: a reader who
follows the code changes folders just as often. All numbers are for 1500 x 4 rows, two classes and one thread. Observers
look at a run a fixed number of times a second, so on a busy machine the counts can be a little higher.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from itertools import groupby, pairwise
from pathlib import PurePosixPath
from textwrap import wrap
from types import FrameType

import numpy as np

import swapsvm
from swapsvm import SVC, SVCCV

ROOT = os.path.dirname(swapsvm.__file__) + os.sep
COMMON_EDGES = 4


def caller_of(frame: FrameType) -> FrameType | None:
    """The nearest frame of the package below this one."""
    back = frame.f_back
    while back is not None and not back.f_code.co_filename.startswith(ROOT):
        back = back.f_back
    return back


def visits(work: Callable[[], object]) -> list[str]:
    """The files of the package in the order in which control reaches them, repetitions collapsed."""
    files: list[str] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        if event not in ("call", "return") or not frame.f_code.co_filename.startswith(ROOT):
            return
        reached = frame if event == "call" else caller_of(frame)
        if reached is not None:
            name = reached.f_code.co_filename.removeprefix(ROOT).replace(os.sep, "/")
            if not files or files[-1] != name:
                files.append(name)

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return files


def folder_of(file: str) -> str:
    return f"{PurePosixPath(file).parent}/".replace("./", "swapsvm/")


def hand_overs(files: list[str]) -> Counter[str]:
    """How often control went between two folders, in either direction."""
    folders = (folder_of(file) for file in files)
    return Counter(" ↔ ".join(sorted((a, b))) for a, b in pairwise(folders) if a != b)


def chain(files: list[str]) -> str:
    """The files in the order of their first visits, grouped by folder."""
    order = groupby(dict.fromkeys(files), folder_of)
    return " → ".join(folder + " " + " ".join(PurePosixPath(file).stem for file in group) for folder, group in order)


def report(title: str, work: Callable[[], object]) -> str:
    """The number of hand-overs, the chain of first visits and the most frequent hand-overs."""
    files = visits(work)
    edges = hand_overs(files)
    common = ", ".join(f"{edge} {count}" for edge, count in edges.most_common(COMMON_EDGES))
    head = f"{title}: {edges.total()} hand-overs between folders, {len(set(files))} files"
    return "\n".join([head, *fill(chain(files)), *fill(f"most frequent: {common}")]) + "\n"


def fill(text: str) -> list[str]:
    return wrap(text, 118, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def main() -> int:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    model = SVC(n_jobs=1).fit(X, y)  # imports and first calls are not part of the walk
    search = SVCCV(Cs=[1, 4], gammas=["scale"], cv=2, n_jobs=1).fit(X, y)
    walks = {
        "fit": lambda: SVC(n_jobs=1).fit(X, y),
        "predict": lambda: model.predict(X),
        "SVCCV, two values of C and two folds": lambda: search.fit(X, y),
    }
    sys.stdout.write("\n".join(report(title, work) for title, work in walks.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
