"""Support vectors against accuracy: the curve of ``reduce_support``, beside other ways to keep few vectors.

Writes benchmarks/results/reduction.md; the text of that file above its first heading of level 2 is kept. C and gamma
are those of parameters.toml. Data sets come from ``swapsvm.datasets`` and are skipped if missing.
"""

from __future__ import annotations

import argparse
import time
import tomllib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from micro.columns import surroundings

from swapsvm import SVC, ConvergenceWarning, reduce_support
from swapsvm.datasets import DatasetError, load
from swapsvm.reduction.pairs import PairsReduction

SIZES = (25, 50, 100, 200, 400, 800, 1600)
COMPARED = (50, 200, 800)
MOST_ROWS = 20_000  # of a set on which other ways are tried: some take long
RESULTS = Path(__file__).parent / "results" / "reduction.md"
PARAMETERS = tomllib.loads((Path(__file__).parent / "parameters.toml").read_text())


@dataclass(frozen=True)
class DataSet:
    """A data set, the set whose parameters it uses, and the number of training rows used."""

    name: str
    parameters: str
    rows: int | None = None

    @property
    def title(self) -> str:
        return self.name if self.rows is None else f"{self.name}, {self.rows} rows"


DATA = (
    DataSet("a5a", "a9a"),
    DataSet("w3a", "w8a"),
    DataSet("ijcnn1", "ijcnn1", 15_000),
    DataSet("usps", "usps"),
    DataSet("letter", "letter"),
    DataSet("a9a", "a9a"),
)


@dataclass(frozen=True)
class Split:
    """Rows and labels."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


@dataclass(frozen=True)
class Point:
    """The results of a model with this many vectors."""

    vectors: int
    accuracy: float
    gap: float
    seconds: float  # CPU, of the reduction; of the full model, of the fit
    prediction: float  # CPU seconds for a test row


# ---- the curve --------------------------------------------------------------------------------------------------


def split_of(data: DataSet) -> Split:
    found = load(data.name)
    rows = np.random.default_rng(0).permutation(len(found.y_train))[: data.rows]
    return Split(found.X_train[rows], found.y_train[rows], found.X_test, found.y_test)


def full_model(data: DataSet, split: Split) -> tuple[SVC, Point]:
    chosen = PARAMETERS[data.parameters]
    model = SVC(C=chosen["C"], gamma=chosen["gamma"], n_jobs=1)
    seconds, _ = timed(lambda: model.fit(split.X, split.y))
    return model, point_of(model, split, seconds)


def point_of(model: SVC, split: Split, seconds: float = np.nan) -> Point:
    prediction, predicted = timed(lambda: model.predict(split.X_test))
    accuracy = float((predicted == split.y_test).mean())
    return Point(len(model.support_), accuracy, float(model.relative_gap_), seconds, prediction / len(predicted))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds: they do not depend on the load of the machine."""
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def curve(model: SVC, split: Split) -> list[Point]:
    points = []
    for size in SIZES:
        if size < len(model.support_):
            seconds, small = timed(lambda size=size: reduce_support(model, split.X, split.y, max_vectors=size))
            points.append(point_of(small, split, seconds))
    return points


# ---- other ways -------------------------------------------------------------------------------------------------


class Listed:
    """Rows in a given order, in place of the order of the pursuit."""

    def __init__(self, rows: np.ndarray) -> None:
        self._rows = rows.astype(np.int64)

    def first(self, count: int, end: float) -> np.ndarray:
        return self._rows[:count]


def by_weight(model: SVC) -> np.ndarray:
    return model.support_[np.argsort(-np.abs(model.dual_coef_).sum(axis=0), kind="stable")]


def on_face(model: SVC, split: Split, rows: np.ndarray) -> SVC:
    """The solution on the face of these rows: a fit to these rows alone."""
    return SVC(C=model.C, gamma=model.gamma_, n_jobs=1).fit(split.X[rows], split.y[rows])


def backward(model: SVC, split: Split, count: int) -> SVC:
    """Repeatedly leave out the fifth with the smallest weights and solve on the face of the rest."""
    rows, found = by_weight(model), model
    while len(rows) > count:
        rows = rows[: max(count, int(0.8 * len(rows)))]
        found = on_face(model, split, np.sort(rows))
        rows = np.sort(rows)[by_weight(found)]
    return found


def coreset(model: SVC, split: Split, count: int) -> SVC:
    """Fully corrective Frank-Wolfe from two rows, one vertex per step, ended at this many: [SWAP14] Alg. 2."""
    short = SVC(C=model.C, gamma=model.gamma_, n_jobs=1, solver="fcfw", start_size=2, max_iter=count - 1, tol=1e-9)
    return short.fit(split.X, split.y)


def over_all_rows(model: SVC, split: Split, rows: np.ndarray, count: int) -> SVC:
    reduction = PairsReduction(model, split.X, split.y, None)
    reduction.order = Listed(rows)
    return reduction.to(count)


WAYS: dict[str, Callable[[SVC, Split, int], SVC]] = {
    "largest weights, face": lambda m, s, k: on_face(m, s, np.sort(by_weight(m)[:k])),
    "backward elimination, face": backward,
    "coreset by fully corrective steps": coreset,
    "random, all rows": lambda m, s, k: over_all_rows(m, s, np.random.default_rng(0).permutation(m.support_), k),
    "largest weights, all rows": lambda m, s, k: over_all_rows(m, s, by_weight(m), k),
    "pursuit, all rows": lambda m, s, k: reduce_support(m, s.X, s.y, max_vectors=k),
}


def comparison(model: SVC, split: Split) -> dict[str, list[str]]:
    """Test accuracy of each method for each size."""
    cells: dict[str, list[str]] = {}
    for name, way in WAYS.items():
        binary_only = name.startswith("coreset") and len(model.classes_) > 2
        sizes = [size for size in COMPARED if size < len(model.support_)]
        found = [None if binary_only else point_of(way(model, split, size), split) for size in sizes]
        cells[name] = ["two classes only" if point is None else f"{100 * point.accuracy:.2f}" for point in found]
    return cells


# ---- report -----------------------------------------------------------------------------------------------------


def curve_table(data: DataSet, model: SVC, full: Point, points: list[Point], rows: int) -> list[str]:
    head = (
        f"### {data.name}: {rows} rows, {len(model.classes_)} classes, C = {model.C:g}, gamma = {model.gamma_:.3g}",
        "",
        "| vectors | of all, % | test accuracy, % | relative gap | reduction, CPU s | prediction of a row, us |",
        "|---|---|---|---|---|---|",
    )
    lines = []
    for point in [*points, full]:
        share = 100 * point.vectors / full.vectors
        seconds = f"(fit: {point.seconds:.2f})" if point is full else f"{point.seconds:.2f}"
        cells = (point.vectors, f"{share:.3g}", f"{100 * point.accuracy:.2f}", f"{point.gap:.2g}", seconds)
        lines.append("| " + " | ".join(map(str, cells)) + f" | {1e6 * point.prediction:.2g} |")
    return [*head, *lines, ""]


def comparison_table(data: DataSet, cells: dict[str, list[str]], full: Point) -> list[str]:
    sizes = COMPARED[: max(map(len, cells.values()))]
    head = ["### " + data.title + f", all {full.vectors} vectors: {100 * full.accuracy:.2f} %", ""]
    titles = "| vectors kept | " + " | ".join(map(str, sizes)) + " |"
    return [
        *head,
        titles,
        "|---" * (len(sizes) + 1) + "|",
        *(f"| {n} | {' | '.join(c)} |" for n, c in cells.items()),
        "",
    ]


def report(curves: list[str], comparisons: list[str]) -> str:
    where = surroundings()
    made = (
        "Made by `python benchmarks/reduction.py`, one thread, "
        f"swapsvm {where['swapsvm']} ({where['commit']}), {where['cpu']}."
    )
    return "\n".join(["## The curves", "", made, "", *curves, "## Other ways: test accuracy, %", "", *comparisons])


def head_of(path: Path) -> str:
    """The hand-written text above the first table."""
    text = path.read_text() if path.exists() else "# Fewer support vectors: what they cost\n\n"
    return text.split("## ")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=[data.name for data in DATA], help="names, by default all")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # coresets end by the number of their steps
    curves: list[str] = []
    comparisons: list[str] = []
    for data in (data for data in DATA if data.name in options.data):
        try:
            split = split_of(data)
        except DatasetError as error:
            print(f"{data.name} is skipped: {error}", flush=True)
            continue
        model, full = full_model(data, split)
        curves += curve_table(data, model, full, curve(model, split), len(split.y))
        if len(split.y) <= MOST_ROWS:
            comparisons += comparison_table(data, comparison(model, split), full)
        print("\n".join(curves + comparisons), flush=True)
        options.output.write_text(head_of(options.output) + report(curves, comparisons))


if __name__ == "__main__":
    main()
