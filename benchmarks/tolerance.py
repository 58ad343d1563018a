"""Evidence for the default ``tol`` of SVC: which predictions change between a tolerance and the optimum.

Each library is compared with itself: predictions for the test rows at a tolerance against those at its ``OPTIMUM``.
The rule for the default is the loosest ``tol`` at which, on every set, no more predictions differ than the default of
LIBSVM (scikit-learn) or of oneDAL (scikit-learn-intelex) leaves undecided, and accuracy is within 0.05 points.

``python -m benchmarks.tolerance`` appends to results/tolerance.jsonl what is missing there, and writes
results/tolerance.md from it. Sets of ``swapsvm.datasets`` that are missing are skipped.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import svm

from swapsvm import SVC
from swapsvm.datasets import DatasetError
from swapsvm.study import records

from .datasets import Split, load, parameters_of
from .micro.columns import append_json, surroundings

TOLERANCES = (0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 1e-5)
OPTIMUM = {"swapsvm": 1e-8, "scikit-learn": 1e-6, "scikit-learn-intelex": 1e-6}  # of a square and of violations
DEFAULT_OF_OTHERS = 1e-3
ALLOWED_POINTS = 0.05
MOST_TEST_ROWS = 20_000
RESULTS = Path(__file__).parent / "results"
LINES, REPORT = RESULTS / "tolerance.jsonl", RESULTS / "tolerance.md"

Fit = dict[str, Any]


@dataclass(frozen=True)
class DataSet:
    """A data set, the entry of parameters.toml that it uses, and how many training rows are drawn from it."""

    name: str
    tuned_as: str
    rows: int | None = None

    def load(self) -> tuple[Split, float, float]:
        """The data in single precision, C and gamma."""
        if self.name == "noisy":
            return noisy(8000), 1.0, 1 / 44
        split = load(self.name).astype("float32")
        C, gamma = parameters_of(self.tuned_as, split.X)
        rng = np.random.default_rng(0)
        train, test = rng.permutation(len(split.y))[: self.rows], rng.permutation(len(split.y_test))[:MOST_TEST_ROWS]
        return Split(split.X[train], split.y[train], split.X_test[test], split.y_test[test]), C, gamma


def noisy(rows: int) -> Split:
    """Two classes that overlap everywhere near a curved boundary."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * rows, 22))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5 + 0.3 * rng.normal(size=2 * rows)
    y = np.sign(f).astype(int)
    return Split(X[:rows], y[:rows], X[rows:], y[rows:]).astype("float32")


DATA = (
    DataSet("pendigits", "pendigits"),
    DataSet("usps", "usps"),
    DataSet("letter", "letter"),
    DataSet("w5a", "w8a"),
    DataSet("noisy", "noisy"),
    DataSet("shuttle", "shuttle"),
    DataSet("ijcnn1", "ijcnn1", 15_000),
    DataSet("a7a", "a9a"),
)


def ours(**options: Any) -> SVC:
    return SVC(n_jobs=1, **options)


def libsvm(**options: Any) -> svm.SVC:
    return svm.SVC(cache_size=1000, **options)


def intelex(**options: Any) -> Any:
    from daal4py import daalinit
    from sklearnex import svm as accelerated

    daalinit(1)
    return accelerated.SVC(**options)


LIBRARIES: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "swapsvm": (ours, TOLERANCES),
    "scikit-learn": (libsvm, (DEFAULT_OF_OTHERS,)),
    "scikit-learn-intelex": (intelex, (DEFAULT_OF_OTHERS,)),
}


# ---- fits -----------------------------------------------------------------------------------------------------


def fits_of(data: DataSet, library: str) -> Iterator[Fit]:
    """All tolerances of a library; the optimum first, because the others are compared with it."""
    make, tolerances = LIBRARIES[library]
    split, C, gamma = data.load()
    split = split if library == "swapsvm" else split.astype("float64")  # in float32 oneDAL does not reach 1e-6
    optimum = None
    for tol in (OPTIMUM[library], *tolerances):
        model, began = make(C=C, gamma=gamma, tol=tol), time.process_time()
        model.fit(split.X, split.y)
        seconds = time.process_time() - began  # of the CPU: independent of the load of the machine
        predicted = np.asarray(model.predict(split.X_test))
        optimum = predicted if optimum is None else optimum
        yield {
            "data": data.name,
            "library": library,
            "tol": tol,
            "seconds": seconds,
            "accuracy": float((predicted == split.y_test).mean()),
            "differing": float((predicted != optimum).mean()),
            "support": len(model.support_),
            "relative_gap": getattr(model, "relative_gap_", None),
            "simplex_gap": getattr(model, "simplex_gap_", None),
            "evaluations": getattr(model, "n_evaluations_", None),
        }


# ---- report ---------------------------------------------------------------------------------------------------


def found(fits: list[Fit], data: str, library: str, tol: float) -> Fit | None:
    wanted = (data, library, tol)
    return next((fit for fit in fits if (fit["data"], fit["library"], fit["tol"]) == wanted), None)


def points_lost(fits: list[Fit], fit: Fit) -> float:
    """Accuracy minus that of the optimum, in points."""
    best = found(fits, fit["data"], fit["library"], OPTIMUM[fit["library"]])
    return 100 * (fit["accuracy"] - best["accuracy"]) if best else float("nan")


def allowed(fits: list[Fit], data: str) -> float:
    """The share of predictions that the default of another library leaves undecided: the larger of the two."""
    others = (found(fits, data, library, DEFAULT_OF_OTHERS) for library in LIBRARIES if library != "swapsvm")
    return max((fit["differing"] for fit in others if fit), default=0.0)


def passes(fits: list[Fit], data: str, tol: float) -> bool:
    fit = found(fits, data, "swapsvm", tol)
    return bool(
        fit and fit["differing"] <= allowed(fits, data) and abs(points_lost(fits, fit)) <= ALLOWED_POINTS + 1e-9
    )


def cell(fits: list[Fit], data: str, library: str, tol: float) -> str:
    fit = found(fits, data, library, tol)
    if fit is None:
        return "-"
    shown = f"{100 * fit['differing']:.3f} ({points_lost(fits, fit):+.2f})"
    return f"**{shown}**" if library == "swapsvm" and not passes(fits, data, tol) else shown


def seconds_cell(fits: list[Fit], data: str, library: str, tol: float) -> str:
    fit = found(fits, data, library, tol)
    return "-" if fit is None else f"{fit['seconds']:.2f}"


def table(fits: list[Fit], names: list[str], columns: list[tuple[str, float]], show: Callable[..., str]) -> list[str]:
    heads = [f"tol {tol:g}" if library == "swapsvm" else f"{library} {tol:g}" for library, tol in columns]
    lines = ["| data | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for name in names:
        cells = [show(fits, name, library, tol) for library, tol in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def verdict(fits: list[Fit], names: list[str]) -> str:
    failing = {tol: [name for name in names if not passes(fits, name, tol)] for tol in TOLERANCES}
    good = next((tol for tol in TOLERANCES if not failing[tol]), None)
    counted = ", ".join(f"{tol:g}: {', '.join(bad) or 'none'}" for tol, bad in failing.items())
    chosen = "no tolerance of the list" if good is None else f"tol = {good:g}"
    return f"By the rule: **{chosen}**. Sets that break it, by tol: {counted}."


def report(fits: list[Fit]) -> str:
    names = [data.name for data in DATA if any(fit["data"] == data.name for fit in fits)]
    columns = [("swapsvm", tol) for tol in TOLERANCES]
    others = [(library, DEFAULT_OF_OTHERS) for library in LIBRARIES if library != "swapsvm"]
    best = list(OPTIMUM.items())
    where = surroundings()
    return "\n".join(
        [
            "# When to stop: what the default tol buys",
            "",
            "Share of the test predictions, in percent, that differ from those of the same library at its optimum (tol",
            "1e-8, the others 1e-6), and in brackets the difference of test accuracy in points. `tol` is the relative",
            "gap P / D - 1. Rule: no more may differ than at the default of scikit-learn's SVC (LIBSVM) or of",
            f"scikit-learn-intelex (oneDAL), tol {DEFAULT_OF_OTHERS:g} of their own measure,",
            f"and accuracy must be within {ALLOWED_POINTS} points. Bold cells break it.",
            "",
            verdict(fits, names),
            "",
            *table(fits, names, columns + others, cell),
            "## CPU seconds of the fits",
            "",
            *table(fits, names, columns + others + best, seconds_cell),
            "float32 (the others: float64), one thread, C and gamma of parameters.toml (noisy: C = 1, gamma = 1/44).",
            f"Made by `python -m benchmarks.tolerance`, swapsvm {where['swapsvm']}, {where['cpu']}.",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=[data.name for data in DATA], help="names, by default all")
    parser.add_argument("--lines", type=Path, default=LINES)
    parser.add_argument("--report", type=Path, default=REPORT)
    options = parser.parse_args()
    fits = records.read(options.lines) if options.lines.exists() else []
    for data in DATA:
        for library, (_, tolerances) in LIBRARIES.items():
            if data.name not in options.data or all(found(fits, data.name, library, tol) for tol in tolerances):
                continue
            try:
                new = list(fits_of(data, library))
            except (DatasetError, ImportError) as error:
                print(f"{data.name}, {library} is skipped: {error}", flush=True)
                continue
            append_json(options.lines, new)
            fits += new
            print(
                *(f"{data.name} {library} {fit['tol']:g}: {fit['differing']:.5f}" for fit in new), sep="\n", flush=True
            )
    options.report.write_text(report(fits))


if __name__ == "__main__":
    main()
