"""Batches of rows: the model is that of one fit of all of them, and continues from the last solution."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import Ridge

from swapsvm import SVC, SVDD, SVR, OneClassSVM, datasets, files
from swapsvm.kernels import Rbf, Sum

SIZES = [300, 120, 1, 200]
ROWS = sum(SIZES)
STORED = [np.asarray, sp.csr_array, sp.csr_matrix]
KINDS = [SVC, SVR, OneClassSVM, SVDD]


def data(m=ROWS, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 4))
    X[rng.random(X.shape) < 0.3] = 0
    return X, (np.round(X[:, 0] + np.sin(3 * X[:, 1])) % classes).astype(int)


def batches(*arrays):
    for size, end in zip(SIZES, np.cumsum(SIZES), strict=True):
        yield [array[end - size : end] for array in arrays]


def first_classes(model, y):
    return {"classes": np.unique(y)} if isinstance(model, SVC) else {}


def values_of(model, X):
    return model.predict(X) if isinstance(model, SVR) else model.decision_function(X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("store", STORED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_model_is_that_of_one_fit_of_all_rows(kind, store, dtype):
    X, y = data()
    X, weights = store(X.astype(dtype)), np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model, kwargs = kind(tol=1e-7), first_classes(kind(), y)
    for rows, labels, some in batches(X, y, weights):
        model.partial_fit(rows, labels, sample_weight=some, **kwargs)
        assert model.relative_gap_ <= 1e-7 and model.support_vectors_.dtype == dtype
    whole = kind(tol=1e-7).fit(X, y, weights)
    np.testing.assert_allclose(values_of(model, X), values_of(whole, X), atol=2e-3)
    np.testing.assert_array_less(model.dual_value_, np.asarray(whole.primal_value_) + 1e-12)
    np.testing.assert_array_less(whole.dual_value_, np.asarray(model.primal_value_) + 1e-12)
    if kind is SVC:
        np.testing.assert_array_equal(model.predict(X), whole.predict(X))
        np.testing.assert_array_equal(model.classes_, whole.classes_)


@pytest.mark.parametrize("solver", ["block", "swap2"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_does_what_a_warm_start_on_longer_arrays_does(kind, solver):
    X, y = data()
    settings = {"gamma": 0.3, "tol": 1e-5, "solver": solver}
    growing, warm, cold = kind(**settings), kind(**settings, warm_start=True), kind(**settings)
    growing.partial_fit(X[:500], y[:500], **first_classes(growing, y)).partial_fit(X[500:], y[500:])
    warm.fit(X[:500], y[:500]).fit(X, y)
    cold.fit(X, y)
    np.testing.assert_array_equal(growing.dual_coef_, warm.dual_coef_)
    if solver == "swap2":
        assert np.sum(growing.n_iter_) < np.sum(cold.n_iter_)


def test_regression_with_several_outputs_grows_and_agrees_with_ridge():
    X, _ = data()
    Y = np.column_stack([X[:, 0] + X[:, 1] ** 2, X[:, 2]])
    model = SVR(kernel="linear", epsilon=0.0, C=4.0, tol=1e-9)
    for rows, targets in batches(X, Y):
        model.partial_fit(rows, targets)
    judge = Ridge(alpha=0.25, fit_intercept=False).fit(np.column_stack([X, np.ones(len(X))]), Y)
    np.testing.assert_allclose(np.column_stack([model.coef_, model.intercept_]), judge.coef_, atol=1e-4)
    with pytest.raises(ValueError, match="that of the first batch was"):
        model.partial_fit(X[:5], Y[:5, 0])
    assert model.predict(X).shape == Y.shape  # the error has left the model alone


def test_classes_can_appear_later():
    X, y = data()
    order = np.argsort(y == 2, kind="stable")
    X, y = X[order], np.array(["a", "b", "later"])[y[order]]
    model = SVC(tol=1e-6).partial_fit(X[:200], y[:200], classes=["later", "b", "a"])
    assert model.classes_.tolist() == ["a", "b", "later"] and "later" not in model.predict(X)
    model.partial_fit(X[200:], y[200:])
    np.testing.assert_array_equal(model.predict(X), SVC(tol=1e-6).fit(X, y).predict(X))


def test_equal_rows_of_batches_are_merged():
    X, y = data(1200, classes=2)
    model = SVC(C=50, gamma=2.0, tol=1e-5).partial_fit(X, y, classes=[0, 1]).partial_fit(X, y)
    assert model.support_.max() < 1200
    whole = SVC(C=50, gamma=2.0, tol=1e-5).fit(np.vstack([X, X]), np.append(y, y))
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=0.1)


def test_names_of_columns_stay():
    pd = pytest.importorskip("pandas")
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = SVC(kernel=Sum([(Rbf(gamma="scale"), ["a", "b"]), (Rbf(), "c")]))
    model.partial_fit(frame[:300], y[:300], classes=[0, 1, 2]).partial_fit(frame[300:], y[300:])
    assert model.feature_names_in_.tolist() == list("abcd")
    whole = clone(model).fit(frame, y)
    assert model.model_.vectors.kernel == whole.model_.vectors.kernel
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[["b", "a", "c", "d"]], y)


def test_a_pickled_estimator_goes_on_and_a_cloned_one_begins():
    X, y = data(classes=2)
    model = SVC(tol=1e-6).partial_fit(X[:300], y[:300], classes=[0, 1])
    copied = pickle.loads(pickle.dumps(model)).partial_fit(X[300:], y[300:])
    np.testing.assert_allclose(copied.decision_function(X), SVC(tol=1e-6).fit(X, y).decision_function(X), atol=1e-2)
    assert copied.shape_fit_ == X.shape
    assert clone(model).partial_fit(X[:50], y[:50], classes=[0, 1]).shape_fit_ == (50, 4)


def test_a_fit_forgets_the_batches(tmp_path):
    X, y = data()
    model = SVC().partial_fit(X[:300], y[:300], classes=[0, 1, 2]).fit(X[:100], y[:100])
    assert model.shape_fit_ == (100, 4)
    with pytest.raises(AttributeError) as error:
        model.partial_fit(X[100:], y[100:])
    assert "does not know its training rows" in str(error.value.__cause__)
    files.save(SVC().partial_fit(X, y, classes=[0, 1, 2]), tmp_path / "model.swapsvm")
    assert not hasattr(files.load(tmp_path / "model.swapsvm"), "partial_fit")


def test_a_failed_batch_leaves_the_earlier_ones():
    X, y = data(classes=2)
    model = SVC(callbacks=None).partial_fit(X[:300], y[:300], classes=[0, 1])
    before = model.decision_function(X)
    for wrong in (X[300:, :3], np.full((9, 4), np.nan)):
        with pytest.raises(ValueError, match=r"features|NaN"):
            model.partial_fit(wrong, y[: len(wrong)])
    np.testing.assert_array_equal(model.decision_function(X), before)

    def fails(progress):
        raise RuntimeError("full")

    with pytest.raises(RuntimeError, match="full"):
        model.set_params(callbacks=fails).partial_fit(X[300:400], y[300:400])
    assert not hasattr(model, "model_")
    model.set_params(callbacks=None).partial_fit(X[400:], y[400:])
    assert model.shape_fit_ == (len(X) - 100, 4)


def test_limits_end_a_batch_and_the_next_one_goes_on():
    X, y = data(classes=2)
    model = SVC(solver="swap2", max_iter=5, tol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.partial_fit(X[:300], y[:300], classes=[0, 1])
    assert model.stop_reason_ == "max_iter"
    model.set_params(max_iter=-1).partial_fit(X[300:], y[300:])
    assert model.stop_reason_ == "gap" and model.relative_gap_ <= 1e-6


def test_nullable_integers_keep_all_digits():
    X, y = data(60)
    large = pd.Series(y + 2**60, dtype="Int64")
    model = SVC().partial_fit(X, large, classes=np.unique(y) + 2**60)
    assert model.predict(X).tolist() == SVC().fit(X, y + 2**60).predict(X).tolist()


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda X, y: SVC().partial_fit(X, y), "classes must be passed on the first call"),
        (lambda X, y: SVC().partial_fit(X, y, classes=[0, 1]), r"labels \[2\], which are not among"),
        (
            lambda X, y: SVC().partial_fit(X, y * 0, classes=[0, 1]),
            r"the first batch has only the labels \[0\]: .*two classes",
        ),
        (lambda X, y: SVC().partial_fit(X, y, classes=[0, None]), r"classes=\[0, None\] has a missing label"),
        (lambda X, y: SVC().partial_fit(X, y, classes=[0, 1, 2, np.nan]), "classes=.*nan.* has a missing label"),
        (
            lambda X, y: SVC().partial_fit(X, ["a", None] * 30, classes=["a", "b"]),
            "y has missing labels, the first at row 1",
        ),
        (lambda X, y: SVC().partial_fit(X, y, [0, 1, 2]).partial_fit(X, y, [0, 1, 2, 3]), "not those of the first"),
        (lambda X, y: SVR(kernel="precomputed").partial_fit(X @ X.T, y), "has no rows to append to"),
        (lambda X, y: SVR().partial_fit(datasets.Shards([X]), y), "takes rows in memory"),
    ],
)
def test_batches_that_make_no_sense_are_refused(call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call(*data(60))
