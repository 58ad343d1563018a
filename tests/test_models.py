"""Fitted functions against sums written out, and LIBSVM's layout against its definition."""

import copy
import pickle
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from swapsvm import SVC, SVDD, SVR, OneClassSVM
from swapsvm.kernels import Precomputed, Rbf
from swapsvm.models import (
    Center,
    Expansion,
    Pairwise,
    Vectors,
    count_votes,
    has_sure_winner,
    one_versus_rest,
    sides,
)
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


@pytest.mark.parametrize("n_classes", [2, 3, 12])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_one_row_is_predicted_as_among_others(kernel, storage, n_classes):
    """Few rows have a way of their own."""
    model = SVC(kernel=kernel).fit(storage(X), np.arange(len(X)) % n_classes)
    rows = [storage(X[k : k + 1]) for k in range(len(X))]
    alone = np.concatenate([model.decision_function(row) for row in rows])
    np.testing.assert_allclose(alone, model.decision_function(storage(X)), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(np.concatenate([model.predict(row) for row in rows]), model.predict(storage(X)))


def test_predictions_leave_no_trace_in_copies():
    """Compiled parts, which cannot be pickled, are made again where they are needed."""
    for model in (SVC().fit(X, Y), SVC().fit(X, Y == 0), SVR().fit(X, Y), SVDD().fit(X)):
        before = pickle.dumps(model)
        expected = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
        assert pickle.dumps(model) == before
        for other in (pickle.loads(before), copy.deepcopy(model)):
            found = other.decision_function(X) if hasattr(other, "decision_function") else other.predict(X)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_votes_are_those_of_the_pairs(n_classes):
    rng = np.random.default_rng(0)
    pairs = list(combinations(range(n_classes), 2))
    decisions, present = rng.integers(-2, 3, size=(40, len(pairs))) / 2, set(range(n_classes)) - {1} | {0}
    votes, confidence = count_votes(decisions, n_classes, present)
    for c in range(n_classes):
        held = {k: pair for k, pair in enumerate(pairs) if c in pair and present.issuperset(pair)}
        won = sum(((decisions[:, k] >= 0) == (c == pair[0]) for k, pair in held.items()), np.zeros(40))
        signed = sum((decisions[:, k] * (1 if c == pair[0] else -1) for k, pair in held.items()), np.zeros(40))
        np.testing.assert_array_equal(votes[:, c], won)
        np.testing.assert_array_equal(confidence[:, c], signed)


def test_a_winner_is_sure_if_no_rounding_can_change_it():
    """Every decision is moved up or down by the bound, in all combinations."""
    rng = np.random.default_rng(0)
    decisions, bound = rng.normal(size=(200, 3)), rng.uniform(0, 1, size=200)
    moved = [decisions + bound[:, None] * signs for signs in product([-1, 0, 1], repeat=3)]
    winners = [count_votes(some, 3, range(3))[0] for some in moved]
    clear = [votes.max(axis=1) > np.sort(votes, axis=1)[:, -2] for votes in winners]
    same = [votes.argmax(axis=1) == winners[0].argmax(axis=1) for votes in winners]
    np.testing.assert_array_equal(has_sure_winner(decisions, bound, 3), np.all(clear, axis=0) & np.all(same, axis=0))


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
