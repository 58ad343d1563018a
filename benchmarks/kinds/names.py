"""A set by its name: ``tabular m=14000 features=10 seed=3`` is made by a generator, other names are real sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import generators, held_back_generators, real

GENERATORS = {**generators.GENERATORS, **held_back_generators.GENERATORS}
MOST_TEST_ROWS = 20_000


def is_generated(name: str) -> bool:
    return name.split()[0] in GENERATORS


def is_known(name: str) -> bool:
    return is_generated(name) or name in real.SETS


def settings_of(name: str) -> dict[str, Any]:
    """The settings that a name states; ``m`` is the number of training rows."""
    words = (word.split("=") for word in name.split()[1:])
    return {key: float(value) if "." in value else int(value) for key, value in words}


def family(name: str) -> str:
    """The name without its number of rows: its sets share parameters, which are tuned on a sample."""
    return " ".join(word for word in name.split() if not word.startswith("m="))


def generated(name: str) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Training rows and test rows (a quarter as many, 500 to 20000); a larger m has the same world."""
    settings = settings_of(name)
    rows, seed = settings.pop("m"), settings.pop("seed", 0)
    test = min(max(rows // 4, 500), MOST_TEST_ROWS)
    world, rng = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
    X, y = GENERATORS[name.split()[0]](rows + test, world, rng, **settings)
    return X[:rows], y[:rows], X[rows:], y[rows:]


def load(name: str) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """X, y, X_test, y_test; OSError if a file is missing, LookupError if the name is not known."""
    if is_generated(name):
        return generated(name)
    if name in real.SETS:
        return real.SETS[name]()
    raise LookupError(f"{name!r} is neither made by {sorted(GENERATORS)} nor one of {sorted(real.SETS)}")
