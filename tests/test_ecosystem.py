"""SVC inside scikit-learn's own tools."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_moons
from sklearn.ensemble import BaggingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - makes HalvingGridSearchCV importable
from sklearn.inspection import DecisionBoundaryDisplay, permutation_importance
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from swapsvm import SVC

GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.05, "scale"]}


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_grid_search(iris):
    search = GridSearchCV(SVC(), GRID, cv=3).fit(*iris)
    assert search.best_score_ > 0.95
    assert search.best_estimator_.get_params()["C"] == search.best_params_["C"]
    assert search.best_estimator_.relative_gap_ <= 1e-2


def test_halving_grid_search(iris):
    search = HalvingGridSearchCV(SVC(), GRID, cv=3, random_state=0, min_resources=30).fit(*iris)
    assert search.n_iterations_ > 1
    assert search.score(*iris) > 0.9


def test_pipeline_with_a_scaler(iris):
    X, y = iris
    scales = np.array([1.0, 1e3, 1e-3, 1.0])
    model = make_pipeline(StandardScaler(), SVC())
    search = GridSearchCV(model, {"svc__C": [1.0, 10.0]}, cv=3).fit(X * scales, y)
    np.testing.assert_array_equal(search.predict(X * scales), clone(search.best_estimator_).fit(X, y).predict(X))
    assert search.best_score_ > 0.93


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibrated_probabilities(iris, method):
    X, y = iris
    model = CalibratedClassifierCV(SVC(), method=method, cv=3).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert model.score(X, y) > 0.93
    assert -np.log(np.maximum(probabilities[np.arange(150), y], 1e-9)).mean() < 0.4  # chance: 1.1


def test_bagging(iris):
    model = BaggingClassifier(SVC(), n_estimators=4, max_samples=0.5, random_state=0).fit(*iris)
    assert model.score(*iris) > 0.93
    assert len({tuple(each.support_) for each in model.estimators_}) == 4


def test_one_versus_rest(iris):
    X, y = iris
    model = OneVsRestClassifier(SVC(C=10)).fit(X, y)
    assert model.score(X, y) > 0.93
    own = SVC(C=10).fit(X, y == 0)
    np.testing.assert_allclose(model.decision_function(X)[:, 0], own.decision_function(X))


def test_permutation_importance():
    X, y = make_moons(200, noise=0.1, random_state=0)
    X = np.column_stack([X, np.random.default_rng(0).normal(size=200)])
    importance = permutation_importance(SVC(gamma=1.0).fit(X, y), X, y, n_repeats=3, random_state=0)
    assert importance.importances_mean[:2].min() > 5 * abs(importance.importances_mean[2])


@pytest.mark.parametrize("response", ["predict", "decision_function"])
def test_decision_boundary_display(response):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    X, y = make_moons(100, noise=0.1, random_state=0)
    model = SVC(gamma=1.0).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, response_method=response, grid_resolution=20)
    points = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    np.testing.assert_allclose(display.response.ravel(), getattr(model, response)(points))
    pyplot.close(display.figure_)


def test_joblib_workers(iris):
    X, y = iris
    apart = cross_val_score(SVC(n_jobs=1), X, y, cv=3, n_jobs=2)
    np.testing.assert_array_equal(apart, cross_val_score(SVC(n_jobs=1), X, y, cv=3))


def test_clone_and_set_params(iris):
    model = SVC(C=3.0, gamma=0.7, class_weight={0: 2.0}).fit(*iris)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "support_")
    copy.set_params(C=5.0, gamma="auto").fit(*iris)
    assert copy.gamma_ == 0.25
    with pytest.raises(ValueError, match="Invalid parameter"):
        copy.set_params(c=1.0)
