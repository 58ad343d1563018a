"""The Gram: what is cached, what is evicted, what is counted."""

import gc
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

from swapsvm import _core
from swapsvm.gram import Gram, as_rows, automatic_cache_bytes
from swapsvm.kernels import Function, Laplacian, Linear, Precomputed, Rbf
from swapsvm.problems import L2SVC, Quadratic
from swapsvm.solvers import make_solver
from swapsvm.state import KernelState, Limits

M = 200


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((M, 4))


def pair(gram, C=10.0):
    state = KernelState(L2SVC.of(gram, 0, 1, C))
    state.set_weights([0, M // 2], [0.5, 0.5])
    return state


def halves():
    return [np.arange(0, M, 2), np.arange(1, M, 2)]


def test_a_column_is_computed_once_and_then_found(X):
    gram = Gram(Rbf(0.5), X, groups=halves())
    state = pair(gram)
    before = gram.evaluations
    state.core.search_swap(5, 0)
    assert gram.evaluations - before == M  # two lines of M / 2
    assert gram.cache_counts["misses"] == 2
    state.core.search_swap(7, 0)
    state.core.search_swap(5, 0)
    assert gram.evaluations - before == 2 * M
    assert gram.cache_counts["hits"] == 2


def test_one_cache_serves_another_c_and_another_pair(X):
    gram = Gram(Rbf(0.5), X, groups=halves())
    solver = make_solver("swap2")
    pair(gram, C=10.0).run(solver, Limits(moves=300, tol=1e-3))
    first = gram.evaluations
    other = KernelState(L2SVC.of(gram, 1, 0, 10.0))  # the same pair with the labels exchanged
    other.set_weights([0, M // 2], [0.5, 0.5])
    before = gram.evaluations
    other.run(solver, Limits(moves=300, tol=1e-3))
    assert gram.evaluations - before < 0.1 * first


def test_the_budget_holds_and_results_do_not_depend_on_it(X):
    line = M // 2 * 8
    weights = []
    for lines in (0, 3, 5, 1000):
        gram = Gram(Rbf(0.5), X, groups=halves(), cache_size=lines * (line + 200) / 2**20)
        state = pair(gram)
        state.run(make_solver("swap"), Limits(moves=200))
        counts = gram.cache_counts
        assert counts["bytes"] <= counts["budget"]
        if lines == 0:
            assert counts["bytes"] == 0 and counts["hits"] == 0
        if lines in (3, 5):
            assert counts["evictions"] > 0
        weights.append(state.weights)
    for other in weights[1:]:
        np.testing.assert_array_equal(weights[0], other)


def test_eviction_gives_a_second_chance(X):
    """Three lines fit. Line 0 is referenced again, so line 1 is evicted first."""
    gram = Gram(Linear(), X, cache_size=3.5 * (M * 8 + 130) / 2**20)
    state = KernelState(Quadratic(gram))
    state.set_weights([0], [1.0])

    def fetch(i):
        before = gram.evaluations
        state.core.second_order_away(i)
        return gram.evaluations > before

    assert [fetch(i) for i in (0, 1, 2)] == [True, True, True]
    assert not fetch(0)  # found, and thereby referenced
    assert fetch(3)
    assert gram.cache_counts["evictions"] == 1
    assert not fetch(0)
    assert fetch(1)


def test_automatic_budget_is_bounded():
    assert automatic_cache_bytes(1000, 4) < 1000 * 1000 * 4 * 1.1
    assert automatic_cache_bytes(10**7, 4) <= 1 << 30


@pytest.mark.parametrize("cache_size", [-1, np.inf, np.nan])
def test_bad_cache_size_is_named(X, cache_size):
    with pytest.raises(ValueError, match="cache_size"):
        Gram(Rbf(0.5), X, cache_size=cache_size)


def test_values_in_double_of_single_precision_rows(X):
    single = X.astype(np.float32)
    gram = Gram(Rbf(0.5), single)
    every = np.arange(M)
    exact = gram.in_double().block(every, every)
    expected = np.exp(-0.5 * ((single[:, None].astype(float) - single[None].astype(float)) ** 2).sum(-1))
    np.testing.assert_allclose(exact, expected, rtol=1e-13)
    assert gram.refinable and not gram.in_double().refinable


def test_malformed_csr_is_refused_before_it_is_read():
    data, index = np.ones(3), np.zeros(3, np.int32)
    for indptr, indices in (
        (np.array([0, 2, 9]), index),
        (np.array([0, 3, 2]), index),
        (np.array([-1, 2, 3]), index),
        (np.array([0, 2, 3]), np.array([0, 1, 7], np.int32)),
        (np.array([0, 2, 3]), np.array([0, -1, 0], np.int32)),
    ):
        with pytest.raises(ValueError, match="CSR"):
            _core.Rows64(indptr.astype(np.int64), indices, data, 2)


def test_rows_and_groups_outside_of_the_data_are_refused(X):
    with pytest.raises(ValueError, match="row that does not exist"):
        Gram(Rbf(0.5), X, groups=[np.array([0, M])])
    gram = Gram(Rbf(0.5), X)
    with pytest.raises(ValueError, match="row that does not exist"):
        gram.block([0], [M])
    with pytest.raises(ValueError, match="one weight per variable"):
        KernelState(L2SVC.of(Gram(Rbf(0.5), X, groups=halves()), 0, 1, 1.0)).set_weights([0, 1], [1.0])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_data_that_are_not_finite_are_refused(X, bad):
    X[3, 1] = bad
    for storage in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match="NaN or infinity"):
            Gram(Rbf(0.5), storage)


def test_kernel_values_that_overflow_are_refused(X):
    X[3, 1] = 1e200
    with pytest.raises(ValueError, match="not finite: scale the data"):
        KernelState(Quadratic(Gram(Linear(), X)))


def test_sparse_with_64_bit_indices_and_duplicates(X):
    matrix = sp.coo_array((np.ones(3), (np.array([0, 0, 1]), np.array([1, 1, 0]))), shape=(2, 2)).tocsr()
    wide = sp.csr_array((np.ones(3), np.array([1, 1, 0], np.int64), np.array([0, 2, 3], np.int64)), shape=(2, 2))
    expected = matrix.toarray() @ matrix.toarray().T
    for m in (matrix, wide):
        np.testing.assert_allclose(Gram(Linear(), m).block([0, 1], [0, 1]), expected)


def test_precomputed_must_be_square_and_symmetric():
    with pytest.raises(ValueError, match=r"square matrix.*\(2, 3\)"):
        Gram(Precomputed(), np.ones((2, 3)))
    with pytest.raises(ValueError, match="symmetric"):
        Gram(Precomputed(), np.array([[1.0, 0.5], [0.2, 1.0]]))


def test_a_failing_function_leaves_no_line_behind(X):
    calls = {"fail": False}

    def kernel(A, B):
        if calls["fail"]:
            raise ZeroDivisionError("inside the user's kernel")
        return A @ B.T

    gram = Gram(Function(kernel), X, groups=halves())
    state = pair(gram)
    calls["fail"] = True
    with pytest.raises(ZeroDivisionError, match="inside the user's kernel"):
        state.core.search_swap(5, 0)
    calls["fail"] = False
    step, _, _ = state.core.search_swap(5, 0)
    assert np.isfinite(step)
    np.testing.assert_allclose(state.core.face(np.array([0, 5], np.int32))[0, 1], X[10] @ X[0])


def test_memory_is_given_back(X):
    """No cycle through the core keeps data alive."""
    data = X.copy()
    gram = Gram(Function(lambda A, B: A @ B.T), data, groups=halves())
    state = pair(gram)
    alive = weakref.ref(gram)
    del gram, state
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_rows_are_multiplied_with_vectors_of_other_data(dtype, sparse, exact):
    rng = np.random.default_rng(0)
    rows, vectors, coef = rng.standard_normal((300, 5)), rng.standard_normal((70, 5)), rng.standard_normal(70)
    stored = [sp.csr_matrix(part, dtype=dtype) if sparse else part.astype(dtype) for part in (rows, vectors)]
    found = Gram(Rbf(0.3), stored[0]).core.product(as_rows(stored[1]), coef, exact)
    squares = ((rows[:, None] - vectors[None]) ** 2).sum(-1)
    np.testing.assert_allclose(found, np.exp(-0.3 * squares) @ coef, atol=1e-4 if dtype == np.float32 else 1e-12)


def test_vectors_of_other_data_must_fit():
    gram, coef = Gram(Rbf(0.3), np.ones((4, 3))), np.ones(2)
    for vectors, complaint in (
        (np.ones((2, 3), np.float32), "floating-point type"),
        (np.ones((2, 4)), "numbers of features"),
        (np.ones((3, 3)), "one coefficient per row"),
    ):
        with pytest.raises(ValueError, match=complaint):
            gram.core.product(as_rows(vectors), coef, True)
    with pytest.raises(ValueError, match="kernel of features"):
        Gram(Precomputed(), np.eye(4)).core.product(as_rows(np.ones((2, 3))), coef, True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [Rbf(0.3), Laplacian(0.1), Linear()], ids=lambda kernel: kernel.name)
def test_wide_sparse_rows_have_the_values_of_dense_ones(kernel, dtype):
    """Blocks of them have places only for columns that occur in the block."""
    rng = np.random.default_rng(0)
    X = sp.csr_array(sp.random(300, 5000, 0.004, "csr", dtype, rng))
    X.data[X.indptr[7] : X.indptr[8]] = 0  # an empty row
    X.eliminate_zeros()
    rows, some = np.arange(300, dtype=np.int32), rng.permutation(300)[:150].astype(np.int32)
    wide, dense = (Gram(kernel, data, dtype=dtype) for data in (X, X.toarray()))
    np.testing.assert_allclose(
        wide.block(rows, some), dense.block(rows, some), atol=2e-6 if dtype == np.float32 else 1e-12
    )
    coef = rng.standard_normal(150)
    products = [np.asarray(gram.core.own_product(rows, some, coef, True)) for gram in (wide, dense)]
    np.testing.assert_allclose(products[0], products[1], atol=1e-10)
