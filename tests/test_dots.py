"""Dot products of all rows, computed once: kernel values that are made of them, their rounding, and who uses them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_classification

from swapsvm import SVC
from swapsvm._core import Dots64
from swapsvm.fitting import session as sessions
from swapsvm.fitting.sharing import costs, shared_type
from swapsvm.gram import Gram, as_rows
from swapsvm.kernels import Laplacian, Linear, Poly, Rbf, Sigmoid

KERNELS = [Rbf(0.05), Linear(), Poly(gamma=0.1, coef0=1.0, degree=3), Sigmoid(gamma=0.02, coef0=0.1)]
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
types = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def rows(count=70, columns=30):
    X = np.random.default_rng(0).normal(size=(count, columns))
    return np.where(np.abs(X) > 0.8, X, 0.0)


def exact(kernel, X):
    """Kernel values in extended precision."""
    X = X.astype(np.longdouble)
    if isinstance(kernel, Rbf):
        return np.exp(-np.longdouble(kernel.gamma) * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    dots = X @ X.T
    if isinstance(kernel, Linear):
        return dots
    inner = np.longdouble(kernel.gamma) * dots + np.longdouble(kernel.coef0)
    return inner**kernel.degree if isinstance(kernel, Poly) else np.tanh(inner)


@kernels
@types
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_values_and_products_are_within_their_bounds(kernel, dtype, storage):
    X = rows()
    gram = Gram(kernel, storage(X), dtype=dtype, n_threads=1).with_dots(np.dtype(dtype))
    every, coef = np.arange(len(X), dtype=np.int32), np.random.default_rng(1).normal(size=len(X))
    values = exact(kernel, X)
    np.testing.assert_allclose(gram.block(every, every), values.astype(float), rtol=0, atol=4e-6 * np.abs(values).max())
    for in_double in (False, True):
        product = gram.core.own_product(every, every, coef, in_double)
        bound = gram.core.own_rounding(every, every, coef, in_double)
        error = np.abs(product - values @ coef.astype(np.longdouble))
        assert (error <= bound).all()
        assert bound.max() < (1e-10 if in_double or dtype == np.float64 else 1e-3) * np.abs(values).max() * len(X)


@types
def test_each_value_is_symmetric_and_threads_change_no_bit(dtype):
    X = np.random.default_rng(0).normal(size=(700, 40))
    every = np.arange(700)
    one, three = (Gram(Rbf(0.02), X, dtype=dtype, n_threads=n).with_dots(np.dtype(dtype)) for n in (1, 3))
    values = one.block(every, every)
    np.testing.assert_array_equal(values, values.T)
    np.testing.assert_array_equal(values, three.block(every, every))


def test_where_dot_products_have_too_few_digits():
    X = rows()
    assert Gram(Rbf(0.05), X).takes_dots(np.dtype(np.float64))
    assert not Gram(Laplacian(0.05), X).takes_dots(np.dtype(np.float64))
    assert not Gram(Rbf(1.0), X + 1e6).takes_dots(np.dtype(np.float64))  # far from the origin, close to each other
    assert not Gram(Rbf(1.0), X + 1e3, dtype=np.float32).takes_dots(np.dtype(np.float32))
    assert not Gram(Rbf(0.05), X, cache_size=0.001).takes_dots(np.dtype(np.float64))  # no room


def test_costs_choose_the_type():
    many_small, few_large = [120] * 5460, [2500] * 28
    text = costs(6400, 180.0, many_small, sparse=True)
    assert min(text, key=text.get) == "float64"
    fewer_classes = costs(4000, 140.0, [400] * 190, sparse=True)  # certificates need the values of most pairs of rows
    assert min(fewer_classes, key=fewer_classes.get) == "float64"
    images = costs(10000, 800.0, few_large, sparse=False)
    assert images["float32"] < images["none"] < images["float64"]
    low = costs(15000, 24.0, [1154] * 325, sparse=False)
    assert min(low, key=low.get) != "float64" and low["float32"] > 0.6 * low["none"]


def test_linear_problems_beyond_one_step_need_no_values():
    X, y = make_classification(2400, 200, n_informative=20, n_classes=4, random_state=0)
    groups = [np.flatnonzero(y == c) for c in range(4)]
    assert shared_type(Gram(Linear(), X, groups=groups), [1200] * 6) is None


@pytest.fixture
def shared(monkeypatch):
    found = []
    monkeypatch.setattr(
        sessions, "shared_type", lambda gram, sizes: found.append(shared_type(gram, sizes)) or found[-1]
    )
    return found


def documents(classes, rows, columns=900):
    """Wide sparse rows: the kernel values of each are needed in many problems."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(classes), rows))
    shape = len(y), columns
    X = sp.csr_array(np.where(rng.random(shape) < 0.08, rng.exponential(size=shape), 0.0))
    return X + sp.csr_array((np.ones(len(y)), (np.arange(len(y)), y)), shape=shape), y


def test_fits_with_and_without_shared_products_agree(shared, monkeypatch):
    X, y = documents(classes=60, rows=12)
    model = SVC(C=4, gamma=0.05, n_jobs=1).fit(X, y)
    assert shared == [np.float64]
    monkeypatch.setattr(sessions, "shared_type", lambda gram, sizes: None)
    plain = SVC(C=4, gamma=0.05, n_jobs=1).fit(X, y)
    assert max(model.relative_gap_, plain.relative_gap_) < 1e-9  # solved exactly: so few rows in each pair
    np.testing.assert_array_equal(model.support_, plain.support_)
    np.testing.assert_allclose(model.dual_coef_, plain.dual_coef_, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


def test_two_classes_share_nothing(shared):
    X, y = load_digits(return_X_y=True)
    SVC().fit(X, y % 2)
    assert not shared


@pytest.mark.parametrize(("classes", "rows"), [(60, 12), (8, 160), (3, 300)], ids=["exact", "certified", "sampled"])
@types
def test_a_watched_fit_reads_the_same_values(classes, rows, dtype, monkeypatch):
    """A pair that nobody watches has its values in a matrix of its own, if it is small enough."""
    monkeypatch.setattr(sessions, "shared_type", lambda gram, sizes: np.dtype(dtype))
    X, y = documents(classes, rows, columns=300)
    model, watched = SVC(gamma=0.05), SVC(gamma=0.05, callbacks=lambda progress: None)
    model.fit(X, y), watched.fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, watched.dual_coef_)
    np.testing.assert_array_equal(model.primal_value_, watched.primal_value_)
    assert model.n_evaluations_ == watched.n_evaluations_


def test_rows_in_no_group_have_dot_products():
    X = rows()
    gram = Gram(Rbf(0.05), X, groups=[np.arange(1, 70, 3), np.arange(0, 70, 3)], n_threads=1)
    every = np.arange(70)
    values = gram.with_dots(np.dtype(np.float64)).block(every, every)
    np.testing.assert_allclose(values, gram.block(every, every), rtol=0, atol=1e-13)


@pytest.mark.parametrize("order", [[0, 1, 1], [0, 1], [0, 1, 3], [-1, 0, 1]])
def test_an_order_that_is_none_is_refused(order):
    with pytest.raises(ValueError, match=r"a row that does not exist|each row once"):
        Dots64.of(as_rows(np.eye(3)), np.array(order, np.int32), 1)
