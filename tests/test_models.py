"""Fitted functions against sums written out, and LIBSVM's layout against its definition."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from swapsvm import SVC, SVDD, SVR, OneClassSVM
from swapsvm.kernels import Precomputed, Rbf
from swapsvm.models import Center, Expansion, Pairwise, Vectors, one_versus_rest, sides
from swapsvm.problems import Coefficients

X = StandardScaler().fit_transform(load_wine(return_X_y=True)[0])
Y = load_wine(return_X_y=True)[1]
GAMMA = 0.1


def kernel_values(A, B):
    return np.exp(-GAMMA * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def random_functions(n_classes, seed=0):
    """Rows of each class and a random function for each pair, over rows of both."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, len(X))
    groups = [np.flatnonzero(labels == c) for c in range(n_classes)]
    functions = {}
    for a, b in combinations(range(n_classes), 2):
        rows = np.sort(rng.choice(np.concatenate([groups[a], groups[b]]), 20, replace=False))
        functions[a, b] = Coefficients(rows, rng.normal(size=20), float(rng.normal()))
    return groups, functions


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_decisions_are_the_functions_of_the_pairs(n_classes):
    groups, functions = random_functions(n_classes)
    model = Pairwise.of(X, Rbf(GAMMA), groups, functions)
    K = kernel_values(X, X)
    expected = [K[:, f.rows] @ f.coef + f.intercept for f in functions.values()]
    np.testing.assert_allclose(model.decisions(X), np.transpose(expected), atol=1e-10)
    np.testing.assert_allclose(model.certain_decisions(X), np.transpose(expected), atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_layout_keeps_every_function(n_classes):
    groups, functions = random_functions(n_classes)
    model = Pairwise.of(X, Rbf(GAMMA), groups, functions)
    assert model.coef.shape == (n_classes - 1, len(model.vectors))
    for pair, given in functions.items():
        found = model.function(pair)
        by_row = np.zeros((2, len(X)))
        by_row[0, given.rows], by_row[1, found.rows] = given.coef, found.coef
        np.testing.assert_array_equal(*by_row)
        assert found.intercept == given.intercept


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_both_orientations_of_a_pair(n_classes):
    groups, functions = random_functions(n_classes)
    model = Pairwise.of(X, Rbf(GAMMA), groups, functions)
    for a, b in functions:
        positive, negative = sides((a, b), n_classes)
        own, constant = model.between(positive, negative)
        other, minus_constant = model.between(negative, positive)
        np.testing.assert_array_equal(own, model.coefficients((a, b))[model.own(positive)])
        np.testing.assert_array_equal(-other, model.coefficients((a, b))[model.own(negative)])
        assert constant == -minus_constant == model.function((a, b)).intercept


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_model_is_what_lies_between_its_classes(n_classes):
    model = Pairwise.of(X, Rbf(GAMMA), *random_functions(n_classes))
    every = range(n_classes)
    coefs = [[model.between(c, d)[0] if c != d else np.zeros(model.counts[c]) for d in every] for c in every]
    constants = np.array([[model.between(c, d)[1] if c != d else 0.0 for d in every] for c in every])
    again = Pairwise.from_between(model.vectors, model.counts.tolist(), coefs, constants)
    np.testing.assert_array_equal(again.coef, model.coef)
    np.testing.assert_array_equal(again.intercept, model.intercept)


def test_the_positive_class_is_that_of_scikit_learn():
    assert sides((0, 1), 2) == (1, 0)
    assert sides((0, 1), 3) == (0, 1)
    two = SVC().fit(X[Y < 2], Y[Y < 2])
    assert (two.decision_function(X[Y == 1]) > 0).mean() > 0.9
    three = SVC(decision_function_shape="ovo").fit(X, Y)
    assert (three.decision_function(X[Y == 0])[:, 0] > 0).mean() > 0.9


def test_a_class_without_rows_takes_part_in_no_vote():
    groups, functions = random_functions(3)
    some = {pair: function for pair, function in functions.items() if 1 not in pair}
    model = Pairwise.of(X, Rbf(GAMMA), [groups[0], groups[1][:0], groups[2]], some)
    assert model.present == (0, 2)
    scores = one_versus_rest(model.decisions(X), 3, model.present)
    assert (scores[:, 1] == -1).all() and (scores.argmax(axis=1) != 1).all()


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_an_expansion_is_its_sum(storage):
    found = Coefficients(np.array([3, 8, 50]), np.array([1.0, -2.0, 0.5]), 0.25)
    model = Expansion.of(storage(X), Rbf(GAMMA), found)
    expected = kernel_values(X, X[found.rows]) @ found.coef
    np.testing.assert_allclose(model.sums(storage(X)), expected, atol=1e-12)
    np.testing.assert_allclose(model.values(storage(X)), expected + 0.25, atol=1e-12)
    np.testing.assert_allclose(model.linear_coefficients(), found.coef @ X[found.rows], atol=1e-12)


def test_a_precomputed_kernel_has_columns_instead_of_rows():
    K, found = kernel_values(X, X), Coefficients(np.array([3, 8]), np.array([1.0, -2.0]), 0.0)
    model = Expansion.of(K, Precomputed(), found)
    assert model.vectors.rows.shape == (0, 0)
    np.testing.assert_allclose(model.sums(K), K[:, [3, 8]] @ found.coef, atol=1e-12)


def test_scores_of_a_center_are_squared_distances():
    coef, rows = np.array([0.25, 0.75]), np.array([3, 8])
    K = kernel_values(X, X)
    center = Center(Vectors.of(X, Rbf(GAMMA), rows), coef, squared_norm=float(coef @ K[np.ix_(rows, rows)] @ coef))
    expected = np.diagonal(K) - 2 * K[:, rows] @ coef + coef @ K[np.ix_(rows, rows)] @ coef
    np.testing.assert_allclose(center.scores(X), -expected, atol=1e-12)


@pytest.mark.parametrize("estimator", [SVC, SVR, OneClassSVM, SVDD])
def test_attributes_are_read_from_the_model(estimator):
    model = estimator()
    with pytest.raises(AttributeError, match=r"'dual_coef_' before it is fitted"):
        model.dual_coef_  # noqa: B018
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    model.model_ = replace(model.model_, coef=2 * model.model_.coef)
    np.testing.assert_array_equal(np.ravel(model.dual_coef_), np.ravel(model.model_.coef))
    assert len(model.support_) == len(model.support_vectors_) == model.n_support_.sum()
    with pytest.raises(AttributeError, match="cannot be set"):
        model.dual_coef_ = model.dual_coef_
