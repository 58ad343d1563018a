"""Deformed digits: ``deformed m=100000 [elastic=1.0] [seed=0]`` has any number of rows made of MNIST's training images.

Every image is used equally often, each time with another rotation, scale, shear, shift and smooth displacement of its
pixels; the idea, not the deformations, is that of Loosli, Canu and Bottou's infinite MNIST (2007). Rows are float32 in
[0, 1]; the test rows are those of MNIST, not deformed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .kinds.generators import Rng, smooth
from .kinds.names import settings_of

SIDE = 28  # pixels
PART = 1000  # images that are deformed at once
ANGLE, STRETCH, SHEAR, SHIFT = 0.2, 0.1, 0.15, 1.0  # largest: radians, share, share, pixels
ELASTIC = 1.0  # pixels, about the standard deviation of a displacement
PARAMETERS = 16.0, 0.02  # C and gamma: usual for pixels in [0, 1], not tuned for these rows


def is_known(name: str) -> bool:
    return name.split()[0] == "deformed"


def load(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, y, X_test, y_test; OSError if the files of MNIST are missing."""
    from swapsvm.datasets import load as load_real

    data, settings = load_real("mnist"), settings_of(name)
    rows, seed = settings.pop("m"), settings.pop("seed", 0)
    X, y = deformed(pixels_of(data.X_train), data.y_train, rows, seed, **settings)
    return X, y, pixels_of(data.X_test), data.y_test


def pixels_of(X: Any) -> np.ndarray:
    """Dense float32 rows; the file leaves out the last pixels, which are always 0."""
    X = X.astype(np.float32).toarray()
    return np.pad(X, ((0, 0), (0, SIDE * SIDE - X.shape[1])))


def deformed(
    images: np.ndarray, y: np.ndarray, rows: int, seed: int = 0, elastic: float = ELASTIC
) -> tuple[np.ndarray, np.ndarray]:
    """This many deformed images, in random order of the originals, and their labels."""
    which = np.resize(np.random.default_rng(seed).permutation(len(y)), rows)
    X = np.empty((rows, SIDE * SIDE), np.float32)
    for start in range(0, rows, PART):
        originals = images[which[start : start + PART]].reshape(-1, SIDE, SIDE)
        places = sources(len(originals), np.random.default_rng([seed, start]), elastic)
        X[start : start + PART] = between_pixels(originals, *places).reshape(len(originals), -1)
    return X, y[which]


def sources(count: int, rng: Rng, elastic: float) -> tuple[np.ndarray, np.ndarray]:
    """Where each pixel of each image comes from: an affine map about the centre, and a smooth displacement."""
    angle, tall, wide, shear, up, left = rng.uniform(-1, 1, (6, count, 1, 1))
    cos, sin = np.cos(ANGLE * angle), np.sin(ANGLE * angle)
    centred = np.arange(SIDE) - (SIDE - 1) / 2
    down, across = (1 + STRETCH * tall) * centred[:, None], (1 + STRETCH * wide) * centred
    across = across + SHEAR * shear * down
    moved = elastic * smooth(rng, 2 * count, SIDE).reshape(2, count, SIDE, SIDE)
    middle = np.array([up, left]) * SHIFT + (SIDE - 1) / 2
    return cos * down - sin * across + middle[0] + moved[0], sin * down + cos * across + middle[1] + moved[1]


def between_pixels(images: np.ndarray, down: np.ndarray, across: np.ndarray) -> np.ndarray:
    """Bilinear interpolation; 0 outside of the images."""
    padded = np.pad(images, ((0, 0), (1, 2), (1, 2)))
    width = padded.shape[2]
    down, across = (np.clip(place + 1, 0, SIDE + 1).astype(np.float32) for place in (down, across))
    top, left = down.astype(np.intp), across.astype(np.intp)
    down, across = down - top, across - left
    at = (np.arange(len(images))[:, None, None] * width + top) * width + left
    flat = padded.ravel()
    upper = (1 - across) * flat[at] + across * flat[at + 1]
    lower = (1 - across) * flat[at + width] + across * flat[at + width + 1]
    return ((1 - down) * upper + down * lower).astype(np.float32)
