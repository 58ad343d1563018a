"""Deformed digits: images like the originals, but none of them again."""

import os

import numpy as np
import pytest
from benchmarks import datasets, digits

with_data = pytest.mark.skipif("SWAPSVM_DATA" not in os.environ, reason="SWAPSVM_DATA names no folder of data sets")
SQUARE = np.zeros((1, 28, 28), np.float32)
SQUARE[:, 9:19, 9:19] = 1.0


@pytest.fixture
def originals():
    """Squares, each at a place of its own, labelled by their number."""
    images = np.stack([np.roll(SQUARE[0], (k % 5 - 2, k // 5 - 2), (0, 1)) for k in range(25)])
    return images.reshape(25, -1), np.arange(25)


def test_rows_are_float32_between_0_and_1_and_repeat_every_label_equally(originals):
    X, y = digits.deformed(*originals, rows=100)
    assert X.shape == (100, 784) and X.dtype == np.float32
    assert X.min() == 0.0 and 0.9 < X.max() <= 1.0
    assert np.array_equal(np.bincount(y), np.full(25, 4))


def test_the_seed_decides_all(originals):
    first, again, other = (digits.deformed(*originals, rows=60, seed=seed)[0] for seed in (3, 3, 4))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_rows_differ_from_their_originals_and_from_each_other_but_resemble_them(originals):
    images, _ = originals
    X, y = digits.deformed(*originals, rows=100)
    assert len(np.unique(X, axis=0)) == 100 and np.abs(X - images[y]).max(axis=1).min() > 0.1
    likeness = np.sum(X * images[y], axis=1) / np.linalg.norm(X, axis=1) / np.linalg.norm(images[y], axis=1)
    assert np.quantile(likeness, 0.1) > 0.6


def test_the_elastic_part_can_be_left_out(originals):
    stiff, bent = (digits.deformed(*originals, rows=30, elastic=elastic)[0] for elastic in (0.0, 1.0))
    assert np.abs(stiff - bent).max(axis=1).min() > 0.1


def test_parts_are_deformed_independently(originals, monkeypatch):
    monkeypatch.setattr(digits, "PART", 25)
    X, y = digits.deformed(*originals, rows=60)
    first, second = X[:25], X[25:50]
    assert np.array_equal(y[:25], y[25:50]) and np.abs(first - second).max(axis=1).min() > 0.1
    assert np.array_equal(digits.deformed(*originals, rows=50)[0], X[:50])


@pytest.mark.parametrize(("down", "across"), [(0.0, 0.0), (0.5, 0.0), (0.25, 0.75), (30.0, 0.0), (0.0, -40.0)])
def test_interpolation_is_bilinear_and_zero_outside(down, across):
    from scipy.ndimage import map_coordinates

    rng = np.random.default_rng(0)
    images = rng.random((3, 28, 28)).astype(np.float32)
    places = np.meshgrid(np.arange(28) + down, np.arange(28) + across, indexing="ij")
    expected = [map_coordinates(image, places, order=1, mode="grid-constant") for image in images]
    found = digits.between_pixels(images, *(np.broadcast_to(place, images.shape) for place in places))
    assert np.allclose(found, expected, atol=1e-5)


@with_data
def test_the_test_rows_are_those_of_mnist():
    split = datasets.load("deformed m=50 seed=1")
    assert split.X.shape == (50, 784) and split.X_test.shape == (10_000, 784)
    assert split.X_test.dtype == np.float32 and set(split.y) <= set(range(10))
    assert split.X_test.max() == 1.0 and not split.X_test[:, 780:].any()
    assert datasets.parameters_of("deformed m=50 seed=1", split.X) == (16.0, 0.02)
