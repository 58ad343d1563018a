"""Generators of the held-back sets: other functions than those of development, for the same kinds.

Their sets are measured once, when the work is done. Do not tune anything to them.
"""

from __future__ import annotations

import numpy as np

from .generators import Rng, Rows, class_sizes, flipped, sign_of, tf_idf, zipf_ranks


def ripples(rows: int, world: Rng, rng: Rng, features: int = 15, waves: int = 12) -> Rows:
    """Plane waves in random directions decide; the noise is larger on one side. Uniform features."""
    directions = world.standard_normal((waves, features)) * np.sqrt(6.0 / features)
    phases = world.uniform(0, 2 * np.pi, waves)
    X = rng.uniform(-1.7, 1.7, (rows, features))
    f = np.cos(X @ directions.T + phases).sum(axis=1) / np.sqrt(waves)
    return X, sign_of(f + (0.25 + 0.15 * (X[:, 0] > 0)) * rng.standard_normal(rows))


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


def shells(rows: int, world: Rng, rng: Rng) -> Rows:
    """Two shells around a center in four dimensions, with room between them; the last feature is bent."""
    outer = rng.integers(2, size=rows)
    X = rng.standard_normal((rows, 4))
    X *= (1.0 + outer + rng.uniform(-0.35, 0.35, rows))[:, None] / np.linalg.norm(X, axis=1)[:, None]
    X[:, 3] += 0.3 * X[:, 0] ** 2
    return X, 2 * outer - 1


def rings(rows: int, world: Rng, rng: Rng, count: int = 4) -> Rows:
    """Concentric rings in the plane, alternating between the classes, that overlap; a third feature is their phase."""
    ring = rng.integers(count, size=rows)
    radius, angle = 1.0 + ring + 0.3 * rng.standard_normal(rows), 2 * np.pi * rng.random(rows)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 0.3 * np.sin(angle + ring)])
    return X, np.where(ring % 2 == 1, 1, -1)


def spectra(rows: int, world: Rng, rng: Rng, channels: int = 600, classes: int = 6, peaks: int = 8) -> Rows:
    """Measured spectra: peaks that shift and vary in height, on a bent baseline, with noise."""
    centers, heights = world.uniform(0.05, 0.95, (classes, peaks)), world.uniform(0.3, 1.0, (classes, peaks))
    y = rng.integers(classes, size=rows)
    at = centers[y] + 0.004 * rng.standard_normal((rows, peaks)) + 0.006 * rng.standard_normal((rows, 1))
    height = heights[y] * rng.lognormal(0.0, 0.4, (rows, peaks))
    channel = np.linspace(0, 1, channels)
    X = 0.3 * rng.standard_normal((rows, 1)) + rng.standard_normal((rows, 1)) * (channel - 0.5) ** 2
    for k in range(peaks):
        X = X + height[:, k, None] / (1 + ((channel - at[:, k, None]) / 0.012) ** 2)
    return X + 0.1 * rng.standard_normal((rows, channels)), y


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


def parity(rows: int, world: Rng, rng: Rng, features: int = 10) -> Rows:
    """The sign of a product of three features, some labels flipped."""
    X = rng.standard_normal((rows, features))
    X[:, :3] += 0.8 * np.sign(X[:, :3])
    return X, flipped(sign_of(X[:, 0] * X[:, 1] * X[:, 2]), 0.03, rng)


def orbits(rows: int, world: Rng, rng: Rng, features: int = 24, classes: int = 7) -> Rows:
    """Short series of two harmonics, whose frequencies and phases belong to the class."""
    frequencies = world.uniform(0.5, 3.0, (classes, 2))
    phases = world.uniform(0, 2 * np.pi, (classes, 2))
    y = rng.integers(classes, size=rows)
    t = np.linspace(0, 2 * np.pi, features)
    shift = phases[y] + 0.4 * rng.standard_normal((rows, 2))
    waves = np.sin(frequencies[y][:, :, None] * t + shift[:, :, None])
    return waves.sum(axis=1) + 0.3 * rng.standard_normal((rows, features)), y


def codes(rows: int, world: Rng, rng: Rng, features: int = 16, classes: int = 26) -> Rows:
    """Integers from 0 to 15 around two prototypes of each class, divided by 15."""
    prototypes = world.uniform(3, 12, (2 * classes, features))
    which = rng.integers(2 * classes, size=rows)
    X = np.clip(np.round(prototypes[which] + 2.0 * rng.standard_normal((rows, features))), 0, 15)
    return X / 15, which % classes


def topics(rows: int, world: Rng, rng: Rng, words: int = 40_000, classes: int = 50) -> Rows:
    """Documents that mix the three topics of their class; a topic prefers a block of words."""
    mixtures = world.integers(60, size=(classes, 3))
    y = class_sizes(rows, classes, rng)
    lengths = np.maximum(8, rng.negative_binomial(4, 0.05, rows))
    documents = np.repeat(np.arange(rows), lengths)
    topic = mixtures[y[documents], rng.choice(3, size=len(documents), p=[0.6, 0.25, 0.15])]
    inside = topic * (words // 60) + zipf_ranks(len(documents), words // 60, rng, 0.8)
    outside = words - 1 - zipf_ranks(len(documents), words, rng, 1.1)
    found = np.where(rng.random(len(documents)) < 0.35, inside, outside)
    return tf_idf(documents, found, (rows, words)), y


GENERATORS = {
    made.__name__: made
    for made in (
        ripples,
        census,
        checkers,
        shells,
        rings,
        spectra,
        rare,
        bursts,
        parity,
        orbits,
        codes,
        topics,
    )
}
