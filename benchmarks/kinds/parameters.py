"""C and gamma of the kinds: one pair common to all competitors, and one for each loss.

Common: those of parameters.toml for its ten sets; prescribed ones for the noisy family and for the kind with a larger
C; for the others the pair of kinds.toml with the best mean accuracy of both losses. For each loss: the pair of
kinds.toml with its best accuracy. ``python -m benchmarks.kinds.tune`` writes kinds.toml.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from .names import family, settings_of

PATH = Path(__file__).parent / "kinds.toml"
LOSSES = ("hinge", "squared_hinge")
LARGER_C = {"bumps", "checkers", "dunes"}  # C = 16, gamma = 1 / (features * variance)

Pair = tuple[float, float]


def prescribed(name: str, X: Any, scale: float) -> Pair | None:
    """C and gamma of sets that are defined with them."""
    maker = name.split()[0]
    if maker == "noisy":
        return 10.0 if settings_of(name).get("noise", 0.3) < 0.2 else 1.0, 1.0 / (2 * X.shape[1])
    return (16.0, scale) if maker in LARGER_C else None


def stored() -> dict[str, Any]:
    return tomllib.loads(PATH.read_text()) if PATH.exists() else {}


def entry_of(name: str) -> dict[str, Any]:
    found = stored().get(family(name))
    if found is None:
        raise LookupError(f"kinds.toml has no {family(name)!r}: python -m benchmarks.kinds.tune --data '{name}'")
    return found


def common(name: str, X: Any, scale: float) -> Pair:
    given = prescribed(name, X, scale)
    return given or pair_of(entry_of(name)["common"])


def own(name: str) -> dict[str, Pair]:
    """C and gamma for each loss."""
    entry = entry_of(name)
    return {loss: pair_of(entry[loss]) for loss in LOSSES}


def pair_of(part: dict[str, float]) -> Pair:
    return float(part["C"]), float(part["gamma"])
