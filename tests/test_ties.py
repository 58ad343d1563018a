"""``break_ties``: predictions are the largest decision value, as scikit-learn promises with it."""

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.utils.multiclass import _ovr_decision_function

from swapsvm import SVC, SVCCV
from swapsvm.files import load, save

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 2))
Y = np.array(["a", "b", "c", "d"])[RANDOM.integers(0, 4, 300)]  # noise, which leads to circles among the pairs
NEW = RANDOM.normal(size=(2000, 2))
SETTINGS = {"gamma": 20.0, "C": 10.0}


def tied(values):
    """Whether several classes have the most votes, by the decision values of the pairs."""
    votes, pairs = np.zeros((len(values), 4)), [(a, b) for a in range(4) for b in range(a + 1, 4)]
    for (a, b), own in zip(pairs, values.T, strict=True):
        votes[:, a] += own > 0
        votes[:, b] += own <= 0
    return (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_predictions_are_the_largest_decision_value(multiclass):
    model = SVC(break_ties=True, multiclass=multiclass, **SETTINGS).fit(X, Y)
    expected = model.classes_[np.argmax(model.decision_function(NEW), axis=1)]
    assert_array_equal(model.predict(NEW), expected)
    assert_array_equal(clone(model).set_params(break_ties=False).fit(X, Y).predict(NEW), expected)


def test_ties_are_broken_by_scikit_learns_rule():
    model = SVC(break_ties=True, **SETTINGS).fit(X, Y)
    pairs = clone(model).set_params(break_ties=False, decision_function_shape="ovo").fit(X, Y).decision_function(NEW)
    by_rule = _ovr_decision_function(pairs < 0, -pairs, 4)
    assert tied(pairs).sum() > 20
    assert_array_equal(model.predict(NEW), model.classes_[np.argmax(by_rule, axis=1)])
    theirs = sklearn.svm.SVC(break_ties=True, **SETTINGS).fit(X, Y)
    assert_array_equal(theirs.predict(NEW), theirs.classes_[np.argmax(theirs.decision_function(NEW), axis=1)])


def test_no_promise_for_the_shape_of_pairs():
    message = "break_ties must be False when decision_function_shape is 'ovo'"
    theirs = sklearn.svm.SVC(break_ties=True, decision_function_shape="ovo").fit(X, Y)
    with pytest.raises(ValueError, match=message):
        theirs.predict(X)
    for model in (SVC(), SVCCV([1.0], [1.0], 2)):
        with pytest.raises(ValueError, match=message):
            model.set_params(break_ties=True, decision_function_shape="ovo").fit(X, Y)
    model = SVC(break_ties=True).fit(X, Y).set_params(decision_function_shape="ovo")
    with pytest.raises(ValueError, match=message):
        model.predict(X)


def test_a_search_and_a_file_keep_it(tmp_path):
    chosen = SVCCV([1.0], [1.0], 2, break_ties=True).fit(X, Y).best_estimator_
    assert chosen.break_ties is True
    save(chosen, tmp_path / "model")
    assert load(tmp_path / "model").break_ties is True
