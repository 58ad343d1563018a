"""Generators of the sets that are looked at while the solvers are tuned.

A generator takes the number of rows, a generator of random numbers for the *world* (centres, templates, directions; it
does not depend on the number of rows) and one for the *rows*, and returns X and y.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

Rng = np.random.Generator
Rows = tuple[Any, np.ndarray]


def sign_of(score: np.ndarray) -> np.ndarray:
    return np.where(score > 0, 1, -1)


def flipped(y: np.ndarray, share: float, rng: Rng) -> np.ndarray:
    return y * np.where(rng.random(len(y)) < share, -1, 1)


def noisy(rows: int, world: Rng, rng: Rng, features: int = 22, noise: float = 0.3) -> Rows:
    """A smooth function of four of the features, plus normal noise, decides: most rows are support vectors."""
    X = rng.standard_normal((rows, features))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5
    return X, sign_of(f + noise * rng.standard_normal(rows))


def tabular(rows: int, world: Rng, rng: Rng, features: int = 10, flips: float = 0.12) -> Rows:
    """Correlated columns, some skewed, some rounded, of scales from 0.3 to 3; labels by interactions, some flipped."""
    loadings = world.standard_normal((features // 2, features))
    scales = 10 ** world.uniform(-0.5, 0.5, features)
    weights = world.standard_normal((3, features))
    Z = rng.standard_normal((rows, features // 2)) @ loadings + 0.7 * rng.standard_normal((rows, features))
    Z /= np.sqrt((loadings**2).sum(axis=0) + 0.49)
    X = Z.copy()
    X[:, ::3] = np.expm1(0.8 * Z[:, ::3])
    X[:, 1::3] = np.round(2 * Z[:, 1::3]) / 2
    a, b, c = (Z @ weights.T / np.sqrt(features)).T
    return scales * X, flipped(sign_of(a + np.sin(3 * b) + b * c), flips, rng)


def bumps(rows: int, world: Rng, rng: Rng, features: int = 8, count: int = 30) -> Rows:
    """The sum of positive and negative bumps decides, with little noise: a fifth of the rows are support vectors."""
    centres = world.uniform(-1, 1, (count, features))
    heights = world.standard_normal(count)
    X = rng.uniform(-1, 1, (rows, features))
    distances = (X**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2 * X @ centres.T
    f = np.exp(-0.7 * distances) @ heights
    return X, sign_of(f - np.median(f) + 0.1 * f.std() * rng.standard_normal(rows))


def physics(rows: int, world: Rng, rng: Rng) -> Rows:
    """Momentum, energy and path of particles of two masses, in logarithms: a clean surface between the classes."""
    momentum = rng.lognormal(0.0, 0.6, rows)
    mass = np.where(rng.random(rows) < 0.4, 2.2, 0.8) * (1 + 0.05 * rng.standard_normal(rows))
    energy = np.hypot(momentum, mass) * (1 + 0.01 * rng.standard_normal(rows))
    path = rng.gamma(4.0, 0.25, rows)
    return np.column_stack([np.log(momentum), np.log(energy), path]), np.where(mass > 1.5, 1, -1)


def spirals(rows: int, world: Rng, rng: Rng) -> Rows:
    """Two helices around each other in space, well apart."""
    arm = rng.integers(2, size=rows)
    t = 2 * np.pi * rng.random(rows)
    angle, radius = t + np.pi * arm, 0.5 + t / 4
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 0.2 * t])
    return X + 0.06 * rng.standard_normal(X.shape), 2 * arm - 1


def moons(rows: int, world: Rng, rng: Rng, noise: float = 0.25) -> Rows:
    """Two crescents in the plane that overlap."""
    upper = rng.random(rows) < 0.5
    angle = np.pi * rng.random(rows)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X[~upper] = [1.0, 0.5] - X[~upper]
    return X + noise * rng.standard_normal(X.shape), np.where(upper, 1, -1)


def smooth(rng: Rng, count: int, side: int, waves: int = 5) -> np.ndarray:
    """Random images of a few low frequencies, with values around 0."""
    frequencies = np.arange(waves)
    decay = 1.0 / (1.0 + frequencies[:, None] ** 2 + frequencies**2)
    basis = np.cos(np.pi * frequencies[:, None] * (np.arange(side) + 0.5) / side)
    return np.einsum("cab,ai,bj->cij", rng.standard_normal((count, waves, waves)) * decay, basis, basis)


def images(rows: int, world: Rng, rng: Rng, side: int = 16, classes: int = 6) -> Rows:
    """Smooth templates, two of each class, shifted, with other brightness, smooth distortions and noisy pixels."""
    templates = smooth(world, 2 * classes, 2 * side)
    distortions = smooth(world, 12, side)
    which = rng.integers(2 * classes, size=rows)
    place = side // 2 + rng.integers(-side // 8, side // 8 + 1, size=(2, rows))
    window = np.arange(side)
    at = place[0][:, None, None] + window[:, None], place[1][:, None, None] + window
    X = templates[which[:, None, None], *at] * (1 + 0.2 * rng.standard_normal(rows))[:, None, None]
    X += np.tensordot(0.12 * rng.standard_normal((rows, 12)), distortions, 1)
    X = 1 / (1 + np.exp(-3 * X)) + 0.05 * rng.standard_normal(X.shape)
    return X.reshape(rows, -1), which % classes


def unbalanced(rows: int, world: Rng, rng: Rng, features: int = 20, ratio: float = 50.0) -> Rows:
    """One row in ``ratio + 1`` comes from four narrow clusters inside a wide one."""
    centres = 0.7 * world.standard_normal((4, features))
    rare = rng.random(rows) < 1 / (1 + ratio)
    X = rng.standard_normal((rows, features))
    X[rare] = centres[rng.integers(4, size=rare.sum())] + 0.8 * X[rare]
    return X, np.where(rare, 1, -1)


def tails(rows: int, world: Rng, rng: Rng, features: int = 15) -> Rows:
    """Student's t with three degrees of freedom in mixed directions: a few rows are far from all others."""
    mixing = np.eye(features) + 0.3 * world.standard_normal((features, features)) / np.sqrt(features)
    Z = rng.standard_t(3.0, (rows, features))
    f = np.tanh(Z[:, 0]) + np.tanh(Z[:, 1]) * np.sign(Z[:, 2]) + 0.5 * np.tanh(Z[:, 3] * Z[:, 4])
    return Z @ mixing, sign_of(f + 0.2 * rng.standard_normal(rows))


def spam(rows: int, world: Rng, rng: Rng, features: int = 57) -> Rows:
    """Logarithms of mostly absent, skewed frequencies; each class prefers other columns."""
    base, shift = world.uniform(0.05, 0.4, features), 2.0 * world.standard_normal(features)
    y = np.where(rng.random(rows) < 0.4, 1, -1)
    odds = np.log(base / (1 - base)) + 0.5 * y[:, None] * shift
    present = rng.random((rows, features)) < 1 / (1 + np.exp(-odds))
    X = np.log1p(present * rng.lognormal(0.0, 1.0, (rows, features)))
    return X / X.std(axis=0), flipped(y, 0.04, rng)


def clusters(rows: int, world: Rng, rng: Rng, features: int = 20, classes: int = 6) -> Rows:
    """Three stretched normal clusters for each class, which overlap a little."""
    centres = 1.6 * world.standard_normal((3 * classes, features))
    spreads = world.uniform(0.4, 1.2, (3 * classes, features))
    which = rng.integers(3 * classes, size=rows)
    return centres[which] + spreads[which] * rng.standard_normal((rows, features)), which % classes


# ---- text -----------------------------------------------------------------------------------------------------


def zipf_ranks(count: int, words: int, rng: Rng, power: float = 1.0) -> np.ndarray:
    """Ranks of words, the k-th with a probability proportional to 1 / (k + 2)^power."""
    shares = np.cumsum(1.0 / (np.arange(words) + 2.0) ** power)
    return np.minimum(np.searchsorted(shares, shares[-1] * rng.random(count)), words - 1)


def class_sizes(rows: int, classes: int, rng: Rng) -> np.ndarray:
    """Classes of sizes that fall slowly; each class has a row among the first ``classes``."""
    shares = 1.0 / np.sqrt(np.arange(classes) + 3.0)
    y = rng.choice(classes, size=rows, p=shares / shares.sum())
    y[:classes] = np.arange(min(classes, rows))
    return y


def tf_idf(documents: np.ndarray, words: np.ndarray, shape: tuple[int, int]) -> sp.csr_matrix:
    """Rows of unit length: (1 + log of the count) times the log of the inverse share of documents."""
    counts = sp.csr_matrix((np.ones(len(words)), (documents, words)), shape=shape)
    counts.sum_duplicates()
    used_in = np.bincount(counts.indices, minlength=shape[1])
    counts.data = (1 + np.log(counts.data)) * np.log((1 + shape[0]) / (1 + used_in))[counts.indices]
    lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags(1 / np.maximum(lengths, 1e-12)) @ counts)


def text(rows: int, world: Rng, rng: Rng, words: int = 55_000, classes: int = 105) -> Rows:
    """Documents of Zipf's words: half of them common to all, half from the vocabulary of the class."""
    factors = 2 * world.integers(words // 4, size=classes) + 1
    offsets = world.integers(words, size=classes)
    y = class_sizes(rows, classes, rng)
    lengths = np.maximum(10, rng.lognormal(4.4, 0.6, rows)).astype(int)
    documents = np.repeat(np.arange(rows), lengths)
    ranks, label = zipf_ranks(len(documents), words, rng), y[documents]
    own = rng.random(len(documents)) < 0.5
    found = np.where(own, (factors[label] * ranks + offsets[label]) % words, ranks)
    return tf_idf(documents, found, (rows, words)), y


def strokes(rows: int, world: Rng, rng: Rng, side: int = 28, classes: int = 8) -> Rows:
    """Drawings of three strokes whose ends move; a pen of random width."""
    ends = world.uniform(0.15, 0.85, (classes, 4, 2))
    y = rng.integers(classes, size=rows)
    paths = ends[y] + 0.05 * rng.standard_normal((rows, 4, 2)) + 0.04 * rng.standard_normal((rows, 1, 2))
    t = np.linspace(0, 1, 6)[:, None]
    points = np.concatenate([(1 - t) * paths[:, k, None] + t * paths[:, k + 1, None] for k in range(3)], axis=1)
    pixels = (np.arange(side) + 0.5) / side
    width = rng.uniform(0.035, 0.06, rows)[:, None, None]
    across, down = (np.exp(-(((points[:, :, k, None] - pixels) / width) ** 2)) for k in (0, 1))
    X = np.minimum(np.einsum("rpi,rpj->rij", down, across), 1.0)
    return X.reshape(rows, -1), y


def census(rows: int, world: Rng, rng: Rng, columns: int = 6, levels: int = 5) -> Rows:
    """Categories as indicators beside incomes and ages; labels drawn from a probability that depends on both."""
    effects = 0.8 * world.standard_normal((columns, levels))
    codes = rng.integers(levels, size=(rows, columns))
    age, income = rng.uniform(-1.7, 1.7, rows), rng.lognormal(0.0, 0.7, rows)
    indicators = (codes[:, :, None] == np.arange(levels)).reshape(rows, -1).astype(float)
    score = effects[np.arange(columns), codes].sum(axis=1) + np.cos(2 * age) * np.log(income) + 0.5 * age
    y = np.where(rng.random(rows) < 1 / (1 + np.exp(-1.5 * score)), 1, -1)
    return np.column_stack([indicators, age, income, np.sqrt(income) * (1 + 0.1 * rng.standard_normal(rows))]), y


def checkers(rows: int, world: Rng, rng: Rng, features: int = 3, tiles: int = 3) -> Rows:
    """A checkerboard in the first two features with blurred edges; the others say little."""
    X = rng.uniform(0, 1, (rows, features))
    blurred = X[:, :2] + 0.012 * rng.standard_normal((rows, 2))
    y = sign_of(np.floor(tiles * blurred).sum(axis=1) % 2 - 0.5)
    X[:, 2:] *= 0.2
    return 3 * X, y


def rare(rows: int, world: Rng, rng: Rng, features: int = 12, ratio: float = 50.0) -> Rows:
    """Rare rows lie near a curved sheet through a uniform cloud."""
    direction = world.standard_normal(features) / np.sqrt(features)
    seldom = rng.random(rows) < 1 / (1 + ratio)
    X = rng.uniform(-1, 1, (rows, features))
    sheet = np.sin(3 * X[:, 0]) * 0.5 + X[:, 1:] @ direction[1:] * 0.5
    X[seldom, 0] = (sheet + 0.08 * rng.standard_normal(rows))[seldom] + 0.6
    return X, np.where(seldom, 1, -1)


def bursts(rows: int, world: Rng, rng: Rng, features: int = 12) -> Rows:
    """Products of log-normal and Pareto values, standardized; their ratios decide."""
    powers = world.uniform(0.3, 0.9, features)
    common = rng.pareto(3.0, (rows, 1)) + 1
    X = rng.lognormal(0.0, 1.0, (rows, features)) ** powers * common
    f = np.log(X[:, 0] / X[:, 1]) + 0.7 * np.abs(np.log(X[:, 2] / X[:, 3])) - 0.5
    return X / X.std(axis=0), sign_of(f + 0.3 * rng.standard_normal(rows))


def orbits(rows: int, world: Rng, rng: Rng, features: int = 24, classes: int = 7) -> Rows:
    """Short series of two harmonics, whose frequencies and phases belong to the class."""
    frequencies = world.uniform(0.5, 3.0, (classes, 2))
    phases = world.uniform(0, 2 * np.pi, (classes, 2))
    y = rng.integers(classes, size=rows)
    t = np.linspace(0, 2 * np.pi, features)
    shift = phases[y] + 0.4 * rng.standard_normal((rows, 2))
    waves = np.sin(frequencies[y][:, :, None] * t + shift[:, :, None])
    return waves.sum(axis=1) + 0.3 * rng.standard_normal((rows, features)), y


GENERATORS = {
    made.__name__: made
    for made in (
        noisy,
        tabular,
        bumps,
        physics,
        spirals,
        moons,
        images,
        unbalanced,
        tails,
        spam,
        clusters,
        text,
        strokes,
        census,
        checkers,
        rare,
        bursts,
        orbits,
    )
}
