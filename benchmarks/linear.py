"""Linear kernels on text and tall data: ``SVC(kernel="linear")`` beside scikit-learn's ``LinearSVC``.

``python -m benchmarks.linear --output results/linear/runs.jsonl [--data tall text] [--rows 10000 100000] [--C 1 100]``

``LinearSVC(loss="squared_hinge", C=C/2)`` solves the same problem. It stops at its own ``tol``; its primal value over
the optimum, which lies above the dual value of a tight fit of ``SVC``, says how exact it is. The two alternate in one
process, ``--repeats`` times, and the medians count. ``report.md`` is written beside the lines; ``--report`` only
writes it.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from swapsvm import SVC
from swapsvm.study import records
from swapsvm.study.records import Record

from .kinds.generators import flipped, tabular, text
from .markdown import number, table_lines
from .trials import surroundings

Rows = tuple[Any, np.ndarray]
ROWS = (10_000, 100_000, 1_000_000)
TIGHT = 1e-6  # relative gap of the fit that the optimum is read from
LARGEST = 3 << 30  # bytes of a data set


def tall(rows: int, features: int = 10) -> Rows:
    """Normal features and a noisy linear rule."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, features))
    score = X @ rng.standard_normal(features) / np.sqrt(features)
    return X, np.where(score + 0.5 * rng.standard_normal(rows) > 0, 1, -1)


def skewed(rows: int) -> Rows:
    return tabular(rows, np.random.default_rng(0), np.random.default_rng(1))


def documents(rows: int) -> Rows:
    """Two classes of documents as TF-IDF, a twentieth of the labels flipped."""
    X, y = text(rows, np.random.default_rng(0), np.random.default_rng(1), classes=2)
    return X, flipped(np.where(y > 0, 1, -1), 0.05, np.random.default_rng(2))


def entries(rows: int) -> Rows:
    """The columns of ``tall`` among others that are empty in most rows: CSR of a few hundred columns."""
    rng = np.random.default_rng(0)
    X = sp.random_array((rows, 400), density=0.03, rng=rng, format="csr", data_sampler=rng.standard_normal)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # LIBLINEAR accepts no others
    return X, np.where(X @ rng.standard_normal(400) + rng.standard_normal(rows) > 0, 1, -1)


DATA: dict[str, Callable[[int], Rows]] = {
    "tall": tall,
    "wide": lambda rows: tall(rows, 300),
    "tabular": skewed,
    "text": documents,
    "sparse": entries,
}


def primal(model: LinearSVC, X: Any, y: np.ndarray, C: float) -> float:
    w, intercept = model.coef_.ravel(), float(model.intercept_[0])
    slack = np.maximum(0.0, 1.0 - y * (X @ w + intercept))
    return 0.5 * float(w @ w + intercept**2) + 0.5 * C * float(slack @ slack)


def timed(fit: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    model = fit()
    return model, time.perf_counter() - began


def measure(X: Any, y: np.ndarray, C: float, repeats: int) -> Record:
    seconds: dict[str, list[float]] = {"swapsvm": [], "LinearSVC": []}
    for _ in range(repeats):
        model, took = timed(lambda: SVC(kernel="linear", C=C, n_jobs=1).fit(X, y))
        seconds["swapsvm"].append(took)
        peer, took = timed(lambda: LinearSVC(loss="squared_hinge", C=C / 2, random_state=0).fit(X, y))
        seconds["LinearSVC"].append(took)
    tight, took = timed(lambda: SVC(kernel="linear", C=C, n_jobs=1, tol=TIGHT).fit(X, y))
    best, result = float(tight.dual_value_[0]), model.results_[0]
    return {
        "seconds": seconds,
        "tight_seconds": took,
        "tight_gap": float(tight.relative_gap_),
        "relative_gap": float(model.relative_gap_),
        "above_optimum": float(model.primal_value_[0]) / best - 1,
        "above_optimum_of_peer": primal(peer, X, y, C) / best - 1,
        "steps": int(result.trace.kinds["linear"]),
        "support": len(model.support_),
        "peer_iterations": int(np.max(peer.n_iter_)),
    }


def bytes_of(X: Any) -> int:
    return int(X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes)


def run(options: argparse.Namespace) -> None:
    done = {(line["data"], line["rows"], line["C"]) for line in records.read(options.output)}
    for name in options.data:
        for rows in options.rows:
            due = [C for C in options.C if (name, rows, C) not in done]
            if not due or (name == "wide" and rows * 2400 > LARGEST):
                continue
            X, y = DATA[name](rows)
            for C in due:
                line = {"data": name, "rows": rows, "features": X.shape[1], "C": C, "bytes": bytes_of(X)}
                line |= measure(X, y, C, options.repeats if rows < ROWS[-1] else 1)
                records.append(options.output, {**line, "where": surroundings()})
                print(*row_of(line), flush=True)


# ---- report -------------------------------------------------------------------------------------------------------

HEAD = ("data", "rows x features", "C", "swapsvm, s", "to 1e-6, s", "LinearSVC, s", "ratio", "certified gap")
HEAD_OF_ACCURACY = ("P / P* - 1", "of LinearSVC")


def row_of(line: Record) -> tuple[str, ...]:
    own, peer = (float(np.median(line["seconds"][who])) for who in ("swapsvm", "LinearSVC"))
    accuracies = (number(line[name], ".1e") for name in ("relative_gap", "above_optimum", "above_optimum_of_peer"))
    times = (number(seconds, ".3g") for seconds in (own, line["tight_seconds"], peer))
    size = f"{line['rows']} x {line['features']}"
    return line["data"], size, f"{line['C']:g}", *times, number(own / peer, ".2g"), *accuracies


def report(lines: Sequence[Record]) -> str:
    where = lines[-1]["where"]
    about = (
        'Fits of `SVC(kernel="linear")` at its default `tol` beside `LinearSVC(loss="squared_hinge", C=C/2)` at its '
        "own, one thread each; the ratio is that of these two. P* is the dual value of a fit to a gap of 1e-6, which "
        "is timed as well. "
        f"{where['cpu']}, {where['simd']}; swapsvm {where['swapsvm']} ({where['commit']})."
    )
    return "\n".join(
        ["# Linear kernels", "", about, "", *table_lines(HEAD + HEAD_OF_ACCURACY, [row_of(line) for line in lines])]
    )


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("results/linear/runs.jsonl"))
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS))
    parser.add_argument("--C", nargs="+", type=float, default=[1.0, 100.0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--report", action="store_true", help="only write the report")
    options = parser.parse_args(words)
    if not options.report:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a peer that does not converge shows in its accuracy
            run(options)
    options.output.with_name("report.md").write_text(report(records.read(options.output)))


if __name__ == "__main__":
    main()
