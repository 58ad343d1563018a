"""The kinds, and for each kind the sets of development and the sets that are held back.

The split was decided before any solver was tuned to these sets and is written down in benchmarks/README.md. Held-back
sets come from other generators (and other seeds), or are real sets that no development run uses.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of data; each name is a set of ``names.load`` or of ``swapsvm.datasets``."""

    name: str
    about: str
    development: tuple[str, ...]
    held_back: tuple[str, ...]


KINDS = (
    Kind(
        "noisy",
        "a smooth function plus noise; most rows are support vectors",
        ("noisy m=20000 noise=0.3", "noisy m=40000 noise=0.1", "noisy m=100000 noise=0.3"),
        ("noisy m=30000 noise=0.3 seed=11", "ripples m=30000"),
    ),
    Kind(
        "tabular",
        "correlated columns of mixed scales, label noise",
        ("tabular m=14000", "a9a", "census m=16000", "cadata above median"),
        ("claims m=16000", "sensors m=14000"),
    ),
    Kind(
        "medium support, larger C",
        "a tenth to a quarter of the rows are support vectors",
        ("bumps m=40000", "ijcnn1", "checkers m=40000"),
        ("dunes m=30000", "bumps m=30000 features=6 seed=12"),
    ),
    Kind(
        "clean, many rows",
        "few features and few support vectors",
        ("physics m=196000", "spirals m=150000", "shuttle", "kddcup10"),
        ("shells m=150000",),
    ),
    Kind("few features", "two or three, overlapping classes", ("moons m=30000",), ("rings m=30000",)),
    Kind(
        "many features",
        "dense rows, such as images",
        ("images m=6000 side=20 classes=8", "usps", "mnist", "strokes m=6000"),
        ("spectra m=5000", "images m=4000 side=28 classes=5 seed=13"),
    ),
    Kind(
        "unbalanced",
        "one row in thirty to fifty is of the smaller class",
        ("unbalanced m=30000", "w8a", "rare m=30000"),
        ("faults m=30000", "unbalanced m=20000 features=40 seed=14"),
    ),
    Kind("heavy tails", "a few rows are far from all others", ("tails m=15000", "bursts m=15000"), ("storms m=15000",)),
    Kind(
        "small",
        "two classes, up to 5000 rows",
        ("breast_cancer", "spam m=3400", "abalone above median"),
        ("craters m=2500", "parity m=2500"),
    ),
    Kind(
        "small multiclass",
        "up to 8000 rows",
        ("iris", "wine", "digits", "clusters m=3300", "orbits m=3000", "pendigits"),
        ("petals m=150", "protein-val", "knots m=3000"),
    ),
    Kind("many classes", "dense rows of 26 classes", ("letter",), ("codes m=12000",)),
    Kind(
        "wide sparse",
        "text: Zipf's words, tf-idf, up to 105 classes",
        ("text m=4000 words=20000 classes=20", "text m=6400", "reuters"),
        ("topics m=5000", "text m=5000 words=30000 classes=35 seed=15"),
    ),
)
DEVELOPMENT = tuple(name for kind in KINDS for name in kind.development)
HELD_BACK = tuple(name for kind in KINDS for name in kind.held_back)


def kind_of(name: str) -> str:
    """The name of the kind that lists the set, or the empty string."""
    return next((kind.name for kind in KINDS if name in kind.development + kind.held_back), "")
