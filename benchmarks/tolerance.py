"""Evidence for the default ``tol`` of SVC: accuracy, time and model against the relative gap at which a fit stops.

Writes benchmarks/results/tolerance.md; the text of that file above its first heading of level 2 is kept.
Data sets other than digits come from ``swapsvm.datasets`` and are skipped if missing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from micro.columns import append_json, surroundings
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from swapsvm import SVC
from swapsvm.datasets import DatasetError, load
from swapsvm.kernels import KERNELS, resolve_gamma

DEFAULT = 0.01
TOLERANCES = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
REFERENCE = 1e-5
SEEDS = (0, 1, 2)
RESULTS = Path(__file__).parent / "results" / "tolerance.md"

Split = tuple[Any, np.ndarray, Any, np.ndarray]  # X, y, X_test, y_test


@dataclass(frozen=True)
class DataSet:
    """A data set and its parameters: gamma is a multiple of 1 / (2 mean squared distance)."""

    name: str
    load: Callable[[], Split]
    C: float
    gamma_multiple: float


@dataclass(frozen=True)
class Fit:
    """The results of one fit."""

    data: str
    tol: float
    seed: int
    accuracy: float
    seconds: float
    evaluations: int
    support: int
    iterations: int
    differing: float  # fraction of the test predictions that are not those of the reference


# ---- data -----------------------------------------------------------------------------------------------------


def digits() -> Split:
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        (X / 16).astype(np.float32), y, test_size=0.4, random_state=0, stratify=y
    )
    return X_train, y_train, X_test, y_test


def real(name: str) -> Split:
    data = load(name, np.float32)
    return data.X_train, data.y_train, data.X_test, data.y_test


def subsample(split: Split, train: int, test: int) -> Split:
    X, y, X_test, y_test = split
    rng = np.random.default_rng(0)
    rows, test_rows = rng.permutation(len(y))[:train], rng.permutation(len(y_test))[:test]
    return X[rows], y[rows], X_test[test_rows], y_test[test_rows]


DATA = (
    DataSet("digits", digits, 1, 4),
    DataSet("pendigits", lambda: real("pendigits"), 16, 4),
    DataSet("letter", lambda: real("letter"), 16, 16),
    DataSet("usps", lambda: real("usps"), 16, 4),
    DataSet("a6a", lambda: real("a6a"), 1, 1),
    DataSet("w6a", lambda: real("w6a"), 16, 1),
    DataSet("ijcnn1, 15000 rows", lambda: subsample(real("ijcnn1"), 15_000, 30_000), 16, 4),
)


# ---- fits -----------------------------------------------------------------------------------------------------


def fits_of(data: DataSet, threads: int) -> list[Fit]:
    """All tolerances, for each seed in turn; the reference first, because the others are compared with it."""
    split = data.load()
    gamma = data.gamma_multiple * resolve_gamma("mean_sq_dist", KERNELS["rbf"], split[0])
    model = SVC(C=data.C, gamma=gamma, solver="swap2", n_jobs=threads)
    reference, fits = None, []
    for tol, seed in [(REFERENCE, SEEDS[0]), *((tol, seed) for seed in SEEDS for tol in TOLERANCES)]:
        model.set_params(tol=tol, random_state=seed)
        seconds, predicted = fit_and_predict(model, split)
        reference = predicted if reference is None else reference
        fits.append(summary(data.name, model, seconds, predicted, split[3], reference))
    return fits


def fit_and_predict(model: SVC, split: Split) -> tuple[float, np.ndarray]:
    """CPU seconds of the fit (independent of the load of the machine), and predictions for the test rows."""
    began = time.process_time()
    model.fit(*split[:2])
    return time.process_time() - began, model.predict(split[2])


def summary(
    name: str, model: SVC, seconds: float, predicted: np.ndarray, truth: np.ndarray, reference: np.ndarray
) -> Fit:
    return Fit(
        data=name,
        tol=model.tol,
        seed=model.random_state,
        accuracy=float((predicted == truth).mean()),
        seconds=seconds,
        evaluations=int(model.n_evaluations_),
        support=len(model.support_),
        iterations=int(model.n_iter_.sum()),
        differing=float((predicted != reference).mean()),
    )


# ---- report ---------------------------------------------------------------------------------------------------


def median(fits: list[Fit], field: str) -> float:
    return float(np.median([getattr(f, field) for f in fits]))


def accuracies(fits: list[Fit]) -> np.ndarray:
    return 100 * np.array([f.accuracy for f in fits])


def spread(fits: list[Fit]) -> str:
    return f"{np.ptp(accuracies(fits)):.2f}" if len(fits) > 1 else "one seed"


def table_of(data: DataSet, fits: list[Fit]) -> list[str]:
    lines = [
        f"### {data.name}: C = {data.C:g}, gamma = {data.gamma_multiple:g} x mean_sq_dist",
        "",
        "| tol | test accuracy, % | spread, points | differs from reference, % | fit, CPU s | "
        "kernel values, millions | support vectors | iterations |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for tol in (*TOLERANCES, REFERENCE):
        own = [f for f in fits if f.tol == tol]
        cells = (
            f"{tol:g}",
            f"{accuracies(own).mean():.2f}",
            spread(own),
            f"{100 * median(own, 'differing'):.2f}",
            f"{median(own, 'seconds'):.2f}",
            f"{median(own, 'evaluations') / 1e6:.1f}",
            f"{median(own, 'support'):.0f}",
            f"{median(own, 'iterations'):.0f}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def overview(fits: list[Fit]) -> list[str]:
    """All data sets together: accuracy minus the reference's, and costs as multiples of the default's."""
    names = list(dict.fromkeys(f.data for f in fits))
    lines = [
        f"| tol | accuracy - reference, points: mean | worst set | largest spread of seeds, points | "
        f"differs, %: mean | worst set | time / that of {DEFAULT:g} | kernel values / those of {DEFAULT:g} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for tol in (*TOLERANCES, REFERENCE):
        by_set = {name: [f for f in fits if (f.data, f.tol) == (name, tol)] for name in names}
        lost = {name: loss(own, [f for f in fits if f.data == name]) for name, own in by_set.items()}
        differing = {name: 100 * median(own, "differing") for name, own in by_set.items()}
        worst, most = min(lost, key=lost.__getitem__), max(differing, key=differing.__getitem__)
        cells = (
            f"{tol:g}",
            points(np.mean(list(lost.values()))),
            f"{points(lost[worst])}{f' ({worst})' if lost[worst] < -0.005 else ''}",
            "one seed" if tol == REFERENCE else f"{max(np.ptp(accuracies(own)) for own in by_set.values()):.2f}",
            f"{np.mean(list(differing.values())):.2f}",
            f"{differing[most]:.2f}{f' ({most})' if differing[most] > 0.005 else ''}",
            f"{relative_cost(fits, names, tol, 'seconds'):.2f}",
            f"{relative_cost(fits, names, tol, 'evaluations'):.2f}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def points(difference: float) -> str:
    return f"{round(difference, 2) + 0.0:+.2f}"  # + 0.0, because -0.00 is not a loss


def loss(own: list[Fit], of_set: list[Fit]) -> float:
    return float(accuracies(own).mean() - accuracies([f for f in of_set if f.tol == REFERENCE]).mean())


def relative_cost(fits: list[Fit], names: list[str], tol: float, field: str) -> float:
    """Geometric mean over the data sets of cost(tol) / cost(default)."""

    def cost(name: str, at: float) -> float:
        return median([f for f in fits if (f.data, f.tol) == (name, at)], field)

    return float(np.exp(np.mean([np.log(cost(name, tol) / cost(name, DEFAULT)) for name in names])))


def report(fits: list[Fit], threads: int) -> str:
    names = {f.data for f in fits}
    where = surroundings()
    lines = [
        "## All data sets",
        "",
        f"solver swap2, float32, {threads} thread{'s' * (threads > 1)}, mean accuracy and median costs of "
        f"{len(SEEDS)} seeds (the reference, tol {REFERENCE:g}: of one). Made by `python benchmarks/tolerance.py`, "
        f"swapsvm {where['swapsvm']} ({where['commit']}), {where['cpu']}.",
        "",
        *overview(fits),
        "## Each data set",
        "",
    ]
    for data in DATA:
        if data.name in names:
            lines += table_of(data, [f for f in fits if f.data == data.name])
    return "\n".join(lines)


def head_of(path: Path) -> str:
    """The hand-written text above the first table."""
    text = path.read_text() if path.exists() else "# When to stop: what the default tol buys\n\n"
    return text.split("## ")[0]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=[data.name for data in DATA], help="names, by default all")
    parser.add_argument("--threads", type=int, default=1, help="with more than one, CPU seconds are summed")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--json", type=Path, help="append every fit to this file, as JSON lines")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    print(", ".join(f"{key} {value}" for key, value in surroundings().items()), flush=True)
    fits: list[Fit] = []
    for data in DATA:
        if data.name not in options.data:
            continue
        try:
            new = fits_of(data, options.threads)
        except DatasetError as error:
            print(f"{data.name} is skipped: {error}", flush=True)
            continue
        print("\n".join(table_of(data, new)), flush=True)
        fits += new
        if options.json:
            append_json(options.json, [asdict(fit) for fit in new])
    print("\n".join(overview(fits)))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(head_of(options.output) + report(fits, options.threads))


if __name__ == "__main__":
    main()
