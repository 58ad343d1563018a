"""Models as shapiq takes them: the same values, and its exact Shapley values against all subsets of the features."""

import sys
from itertools import combinations
from math import factorial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline

from swapsvm import SVC, SVCCV, SVDD, SVR, OneClassSVM
from swapsvm.explain import product_kernel, product_kernel_model

FEATURES = 4


def data(classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, FEATURES))
    X[rng.random(X.shape) < 0.3] = 0
    return X, (np.round(X[:, 0] + X[:, 1] * X[:, 2]) % classes).astype(int)


def value(function, x, subset):
    """With the features of a subset only: a factor that is left out is 1."""
    subset = list(subset)
    squares = ((function.vectors[:, subset] - x[subset]) ** 2).sum(axis=1)
    return float(function.alpha @ np.exp(-function.gamma * squares) + function.intercept)


def shapley_values(function, x):
    """By their definition."""
    found = np.zeros(FEATURES)
    for j in range(FEATURES):
        others = [k for k in range(FEATURES) if k != j]
        for size in range(FEATURES):
            share = factorial(size) * factorial(FEATURES - size - 1) / factorial(FEATURES)
            for subset in combinations(others, size):
                found[j] += share * (value(function, x, (*subset, j)) - value(function, x, subset))
    return found


def models():
    X, y = data()
    _, three = data(3)
    targets = np.column_stack([X[:, 0] * X[:, 1], X[:, 2]])
    return [
        (SVC(C=4).fit(X, y), lambda model, X: model.decision_function(X)[:, None]),
        (SVC(decision_function_shape="ovo").fit(sp.csr_array(X), three), SVC.decision_function),
        (SVC(multiclass="ovr").fit(X.astype(np.float32), three), SVC.decision_function),
        (SVR().fit(X, targets[:, 0]), lambda model, X: model.predict(X)[:, None]),
        (SVR().fit(X, targets), SVR.predict),
        (OneClassSVM(gamma=0.2).fit(X), lambda model, X: model.decision_function(X)[:, None]),
        (SVDD(gamma=0.2).fit(X), lambda model, X: model.decision_function(X)[:, None]),
    ]


@pytest.mark.parametrize(("model", "values_of"), models(), ids=lambda value: type(value).__name__)
def test_each_function_has_the_values_of_the_model(model, values_of):
    X = data()[0][:9]
    expected = values_of(model, X)
    for output in range(expected.shape[1]):
        function = product_kernel(model, output)
        found = [value(function, x, range(FEATURES)) for x in X]
        np.testing.assert_allclose(found, expected[:, output], atol=1e-5)
        np.testing.assert_allclose(found, function.predict(X), atol=1e-10)
        assert function.baseline == pytest.approx(value(function, X[0], ()))
    with pytest.raises(ValueError, match=f"not one of the {expected.shape[1]} functions"):
        product_kernel(model, expected.shape[1])


@pytest.mark.parametrize(("model", "values_of"), models(), ids=lambda value: type(value).__name__)
def test_shapiq_finds_the_shapley_values_of_the_definition(model, values_of):
    explainers = pytest.importorskip("shapiq.explainer.product_kernel")
    x = data()[0][5]
    for output in range(values_of(model, x[None]).shape[1]):
        explainer = explainers.ProductKernelExplainer(product_kernel_model(model, output))
        found = explainer.explain(x).get_n_order_values(1)
        np.testing.assert_allclose(found, shapley_values(product_kernel(model, output), x), atol=1e-10)
        total = explainer.empty_prediction + found.sum()
        assert total == pytest.approx(values_of(model, x[None])[0, output], abs=1e-5)


def test_what_cannot_be_explained_is_refused(monkeypatch):
    X, y = data()
    with pytest.raises(ValueError, match="need the kernel 'rbf', not 'linear'"):
        product_kernel(SVC(kernel="linear").fit(X, y))
    for output in (2, -1, 0.5, "a", None, True):
        with pytest.raises(ValueError, match=f"output={output!r} is not one of the 1 functions of this model"):
            product_kernel(SVC().fit(X, y), output)
    for model in (make_pipeline(SVC()).fit(X, y), SVCCV(Cs=[1], gammas=[0.1], cv=2).fit(X, y)):
        with pytest.raises(ValueError, match=r"is not one of SVC, SVR, .* pass best_estimator_, of a pipeline its"):
            product_kernel(model)
    monkeypatch.setitem(sys.modules, "shapiq.explainer.product_kernel", None)
    with pytest.raises(ImportError, match="pip install shapiq"):
        product_kernel_model(SVC().fit(X, y))
