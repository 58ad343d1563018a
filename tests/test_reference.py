"""The reference itself, on problems with known answers."""

import numpy as np
import pytest

from . import reference


def test_the_nearest_point_of_a_triangle_is_inside_of_an_edge():
    Z = np.array([[1.0, 1.0], [1.0, -3.0], [5.0, 0.0]])
    np.testing.assert_allclose(reference.exact_weights(Z @ Z.T), [0.75, 0.25, 0.0], atol=1e-12)


def test_the_smallest_ball_around_two_points_and_one_between():
    Z = np.array([[0.0], [1.0], [4.0]])
    Q, c = Z @ Z.T, (Z**2).sum(axis=1)
    a = reference.exact_weights(Q, c)
    assert a @ Z[:, 0] == pytest.approx(2.0)
    assert reference.value(Q, a, c) == pytest.approx(4.0)  # the squared radius


def test_one_sample_per_class():
    Q = reference.l2_svm_matrix(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0]), C=2.0)
    np.testing.assert_allclose(Q, [[2.5, -1.5], [-1.5, 2.5]])
    np.testing.assert_allclose(reference.exact_weights(Q), [0.5, 0.5])
    assert reference.lipschitz(Q) == pytest.approx(8.0)


def test_approximate_solutions_of_a_segment():
    # minimum norm between 1 and 2 on a line, at 3/2: gradients -3 and -6, mean -9/2
    Q = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert reference.approximation(Q, np.array([0.5, 0.5])) == pytest.approx(1.5)
    # at 1 + 1/10 the gap is 1.1 * 2 * 0.1, but the second vertex is far below the mean
    assert reference.gap(Q, np.array([0.9, 0.1])) == pytest.approx(0.22)
    assert reference.approximation(Q, np.array([0.9, 0.1])) == pytest.approx(4.4 - 2.42)
    assert reference.approximation(Q, np.array([1.0, 0.0])) == 0.0


def test_coresets_of_a_triangle():
    # the nearest point to the origin is (1, 0), between the first two; (1, 1) alone has a gap of 2 (2 - 0)
    Z = np.array([[1.0, 1.0], [1.0, -1.0], [3.0, 0.0]])
    Q = Z @ Z.T
    np.testing.assert_allclose(reference.on_face(Q, [1, 0]), [0.5, 0.5, 0.0], atol=1e-9)
    assert reference.is_coreset(Q, [0, 1], 1e-9) and reference.is_coreset(Q, [0, 1, 2], 1e-9)
    assert reference.is_coreset(Q, [0], 4.0 + 1e-9) and not reference.is_coreset(Q, [0], 4.0 - 1e-9)
    assert not reference.is_coreset(Q, [2], 11.0)  # at 3: 2 (9 - 3)


def test_curvature_is_the_largest_of_pairs_of_points():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(5, 5))
    Q = B @ B.T
    pairs = rng.dirichlet(np.full(5, 0.1), size=(1000, 2))
    differences = pairs[:, 0] - pairs[:, 1]
    found = np.einsum("ni,ij,nj->n", differences, Q, differences).max()
    assert 0.8 * reference.curvature(Q) <= found <= reference.curvature(Q)


def test_the_gradient_is_that_of_the_value():
    rng = np.random.default_rng(0)
    B, c, a, d = rng.normal(size=(5, 5)), rng.normal(size=5), rng.dirichlet(np.ones(5)), rng.normal(size=5)
    Q = B @ B.T
    slope = (reference.value(Q, a + 1e-6 * d, c) - reference.value(Q, a - 1e-6 * d, c)) / 2e-6
    assert slope == pytest.approx(reference.gradient(Q, a, c) @ d, rel=1e-6)
