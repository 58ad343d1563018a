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


def parity(rows: int, world: Rng, rng: Rng, features: int = 10) -> Rows:
    """The sign of a product of three features, some labels flipped."""
    X = rng.standard_normal((rows, features))
    X[:, :3] += 0.8 * np.sign(X[:, :3])
    return X, flipped(sign_of(X[:, 0] * X[:, 1] * X[:, 2]), 0.03, rng)


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


def claims(rows: int, world: Rng, rng: Rng, groups: int = 5, levels: int = 4) -> Rows:
    """Counts, amounts and groups as indicators, which depend on hidden habits; labels by the habits, with noise."""
    rates, effects = world.uniform(0.2, 1.0, (3, 4)), world.standard_normal((groups, levels))
    habits = rng.standard_normal((rows, 3))
    codes = (rng.uniform(0, levels, (rows, groups)) + 0.8 * habits[:, :1]).clip(0, levels - 1).astype(int)
    counts = np.sqrt(rng.poisson(np.exp(habits @ rates)))
    amounts = habits @ world.standard_normal((3, 6)) + rng.gamma(2.0, 0.5, (rows, 6))
    indicators = (codes[:, :, None] == np.arange(levels)).reshape(rows, -1).astype(float)
    score = np.tanh(habits[:, 0] * habits[:, 1]) + 0.3 * effects[np.arange(groups), codes].sum(axis=1)
    return np.column_stack([counts, amounts, indicators]), sign_of(score + 0.6 * rng.standard_normal(rows))


def sensors(rows: int, world: Rng, rng: Rng, features: int = 14) -> Rows:
    """Neighbouring sensors agree, some drift, some saturate; two averages decide, some labels flipped."""
    gains = 10 ** world.uniform(-0.4, 0.4, features)
    signal = np.cumsum(rng.standard_normal((rows, features)), axis=1) / np.sqrt(np.arange(1, features + 1))
    early, late = signal[:, :4].mean(axis=1), signal[:, -4:].mean(axis=1)
    X = signal + 0.3 * rng.standard_normal((rows, features)) + 0.5 * rng.uniform(-1, 1, (rows, 1))
    X[:, 1::4] = np.clip(X[:, 1::4], -1, 1)
    return gains * X, flipped(sign_of(np.maximum(early, late) - 0.4 * early * late - 0.3), 0.08, rng)


def dunes(rows: int, world: Rng, rng: Rng, features: int = 4) -> Rows:
    """Bent stripes in two directions, whose edges are a little blurred."""
    along, across = world.standard_normal((2, features)) / np.sqrt(features)
    X = rng.uniform(-2, 2, (rows, features))
    phase = 3 * X @ along + np.sin(2 * X @ across)
    return X, sign_of(np.sin(phase) + 0.15 * rng.standard_normal(rows) + 0.2)


def faults(rows: int, world: Rng, rng: Rng, features: int = 16, modes: int = 4, ratio: float = 50.0) -> Rows:
    """Faults of a few modes, each a shift of some features, among correlated normal rows."""
    mixing = world.standard_normal((features, features)) / np.sqrt(features)
    shifts = 1.3 * world.standard_normal((modes, features)) * (world.random((modes, features)) < 0.4)
    seldom, mode = rng.random(rows) < 1 / (1 + ratio), rng.integers(modes, size=rows)
    X = rng.standard_normal((rows, features)) @ mixing + 0.5 * rng.standard_normal((rows, features))
    X[seldom] += shifts[mode[seldom]]
    return X, np.where(seldom, 1, -1)


def storms(rows: int, world: Rng, rng: Rng, features: int = 10) -> Rows:
    """Rotated Student's t with 2 to 5 degrees of freedom, a common factor in some rows; signs and a product decide."""
    degrees, rotation = world.uniform(2.0, 5.0, features), np.linalg.qr(world.standard_normal((features, features)))[0]
    T = rng.standard_t(degrees, (rows, features)) * np.where(rng.random((rows, 1)) < 0.1, 3.0, 1.0)
    f = np.arctan(T[:, 0]) + np.tanh(T[:, 1] * T[:, 2]) - 0.2
    return T @ rotation, sign_of(f + 0.25 * rng.standard_normal(rows))


def craters(rows: int, world: Rng, rng: Rng, features: int = 6, count: int = 5) -> Rows:
    """Rows inside of some balls that overlap, or outside of all; the border is blurred."""
    centres, radii = world.uniform(-1, 1, (count, features)), world.uniform(0.8, 1.3, count)
    X = rng.uniform(-1.5, 1.5, (rows, features))
    distances = np.linalg.norm(X[:, None, :] - centres, axis=2) - radii
    return X, sign_of(distances.min(axis=1) + 0.1 * rng.standard_normal(rows))


def petals(rows: int, world: Rng, rng: Rng, classes: int = 4, features: int = 5) -> Rows:
    """A few measurements of a few species, some of which overlap."""
    means, shapes = (
        2.0 * world.standard_normal((classes, features)),
        world.standard_normal((classes, features, features)),
    )
    y = rng.permutation(np.arange(rows) % classes)
    return means[y] + 0.5 * np.einsum("rf,rfg->rg", rng.standard_normal((rows, features)), shapes[y]), y


def knots(rows: int, world: Rng, rng: Rng, features: int = 12, classes: int = 5) -> Rows:
    """Closed curves in many dimensions, one for each class, with little noise: clean classes that are not balls."""
    waves = world.standard_normal((classes, 6, features)) / np.arange(1, 7)[:, None]
    y, angle = rng.integers(classes, size=rows), rng.uniform(0, 2 * np.pi, rows)
    turns = np.column_stack([f(k * angle) for k in (1, 2, 3) for f in (np.cos, np.sin)])
    return np.einsum("rk,rkf->rf", turns, waves[y]) + 0.15 * rng.standard_normal((rows, features)), y


GENERATORS = {
    made.__name__: made
    for made in (
        ripples,
        shells,
        rings,
        spectra,
        parity,
        codes,
        topics,
        claims,
        sensors,
        dunes,
        faults,
        storms,
        craters,
        petals,
        knots,
    )
}
