"""Products of rows with vectors among them: each pair of vectors is evaluated once, and its value used twice."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from swapsvm import _core
from swapsvm._core import StopToken
from swapsvm.gram import Gram, as_rows
from swapsvm.kernels import Laplacian, Linear, Poly, Precomputed, Rbf, Sigmoid
from swapsvm.problems import Quadratic
from swapsvm.state import KernelState

KERNELS = [Linear(), Rbf(0.3), Laplacian(0.2), Poly(0.2, 1.0, 3), Sigmoid(0.1, 0.2)]
ENOUGH = 256  # vectors: fewer are multiplied the plain way


def some_rows(count, features=9, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, features)) * (rng.random((count, features)) < 0.7) / np.sqrt(features)


def indices(values):
    return np.asarray(values, np.int32)


@st.composite
def problems(draw):
    """Rows in any order, some of them twice, and vectors among them (or, now and then, not)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(ENOUGH, 700))
    vectors = rng.permutation(size)[: draw(st.integers(ENOUGH - 20, size))]
    rows = rng.permutation(size) if draw(st.booleans()) else rng.permutation(vectors)
    if draw(st.booleans()):
        rows, vectors = np.append(rows, rows[:7]), np.append(vectors, vectors[:5])
    if draw(st.integers(0, 4)) == 0:
        rows = rows[3:]  # a vector is missing
    return size, indices(rows), indices(vectors), rng.standard_normal(len(vectors))


@given(
    problem=problems(),
    kernel=st.sampled_from(KERNELS),
    features=st.sampled_from([1, 3, 9, 33]),
    sparse=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
    exact=st.booleans(),
    simd=st.sampled_from(_core.simd_levels()),
)
@settings(max_examples=120, deadline=None)
def test_equals_the_plain_product(problem, kernel, features, sparse, dtype, exact, simd):
    size, rows, vectors, coef = problem
    X = some_rows(size, features).astype(dtype)
    gram = Gram(kernel, sp.csr_array(X) if sparse else X)
    before = _core.simd_level()
    _core.select_simd(simd)
    found = gram.core.own_product(rows, vectors, coef, exact)
    _core.select_simd(before)
    K = gram.in_double().block(rows, vectors) if dtype == np.float32 else gram.block(rows, vectors)
    unit = 1e-6 if dtype == np.float32 and not exact else 1e-13
    np.testing.assert_allclose(found, K @ coef, rtol=0, atol=unit * max(1.0, np.abs(K).max()) * np.abs(coef).sum())


@pytest.mark.parametrize("size", [ENOUGH, 1000, 2500])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_the_bits_do_not_depend_on_the_number_of_threads(size, sparse, exact):
    X = some_rows(size + 100).astype(np.float32)
    rows, vectors = indices(np.arange(size + 100)), indices(np.arange(50, size + 50))
    coef = np.random.default_rng(1).standard_normal(size)
    products = [
        Gram(Rbf(0.3), sp.csr_array(X) if sparse else X, n_threads=threads).core.own_product(rows, vectors, coef, exact)
        for threads in (1, 2, 3, 5)
    ]
    for product in products[1:]:
        np.testing.assert_array_equal(products[0], product)


@pytest.mark.parametrize("exact", [False, True])
def test_values_are_counted_once(exact):
    gram = Gram(Rbf(0.3), some_rows(900))
    every, some = indices(np.arange(900)), indices(np.arange(0, 900, 3))
    gram.core.own_product(every, some, np.ones(300), exact)
    assert gram.evaluations == 300 * 301 // 2 + 600 * 300
    before = gram.evaluations
    gram.core.own_product(every[:100], some, np.ones(300), exact)  # not all vectors are among the rows
    assert gram.evaluations - before == 100 * 300
    before = gram.evaluations
    gram.core.own_product(every, some[: ENOUGH - 1], np.ones(ENOUGH - 1), exact)  # too few to pay
    assert gram.evaluations - before == 900 * (ENOUGH - 1)


def test_a_matrix_is_multiplied_the_plain_way():
    X = some_rows(400)
    every, coef = indices(np.arange(400)), np.random.default_rng(0).standard_normal(400)
    gram = Gram(Precomputed(), X @ X.T)
    np.testing.assert_allclose(gram.core.own_product(every, every, coef, False), X @ (X.T @ coef), atol=1e-12)
    assert gram.evaluations == 400 * 400


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_rounding_stays_within_its_bound(kernel, offset):
    """The bound of the plain product holds for the symmetric one, whose sums are cut in another way."""
    X = (some_rows(1500, 13) + offset).astype(np.float32)
    every, coef = indices(np.arange(1500)), np.abs(np.random.default_rng(3).standard_normal(1500))
    rows = as_rows(X)
    found = Gram(kernel, X).core.own_product(every, every, coef, False)
    exact = Gram(kernel, X).in_double().block(every, every) @ coef
    assert (np.abs(found - exact) <= _core.cross_rounding(rows, rows, kernel.spec(), coef)).all()
    assert (found != exact).any()


def test_a_token_stops_it_and_leaves_the_weights():
    state = KernelState(Quadratic(Gram(Rbf(0.3), some_rows(1200)), ridge=0.1))
    state.set_weights(np.arange(600), np.ones(600))
    before = state.weights.copy(), state.gap
    token = StopToken()
    token.set_seconds_left(0.0)
    state.limit(token=token)
    with pytest.raises(_core.Stopped):
        state.certify()
    state.limit(token=StopToken())
    state.certify()
    np.testing.assert_allclose(state.weights, before[0], rtol=1e-12)
    assert state.gap == pytest.approx(before[1], rel=1e-9)
