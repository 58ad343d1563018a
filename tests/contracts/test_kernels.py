"""Every kernel: symmetric, positive where claimed, the same in every storage, precision and SIMD level."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise

from swapsvm import _core
from swapsvm.gram import Gram, as_rows
from swapsvm.kernels import KERNELS, Function, Laplacian, Linear, Poly, Precomputed, Rbf, Sigmoid, make_kernel

JUDGES = {  # scikit-learn's own definitions
    Linear(): pairwise.linear_kernel,
    Rbf(gamma=0.3): lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=0.3),
    Laplacian(gamma=0.2): lambda X, Z: pairwise.laplacian_kernel(X, Z, gamma=0.2),
    Poly(gamma=0.5, coef0=1.0, degree=3): lambda X, Z: pairwise.polynomial_kernel(X, Z, 3, 0.5, 1.0),
    Poly(gamma=0.5, coef0=0.0, degree=2): lambda X, Z: pairwise.polynomial_kernel(X, Z, 2, 0.5, 0.0),
    Poly(gamma=0.5, coef0=0.5, degree=7): lambda X, Z: pairwise.polynomial_kernel(X, Z, 7, 0.5, 0.5),
    Sigmoid(gamma=0.1, coef0=0.2): lambda X, Z: pairwise.sigmoid_kernel(X, Z, gamma=0.1, coef0=0.2),
}
WIDTHS = [1, 2, 3, 7, 8, 15, 16, 17, 22, 33, 64]  # around every vector length


def data(rows, features, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, features)) / np.sqrt(features)
    X[rng.random(X.shape) < 0.4] = 0
    return X


@pytest.fixture(params=_core.simd_levels())
def simd(request):
    before = _core.simd_level()
    _core.select_simd(request.param)
    yield request.param
    _core.select_simd(before)


def test_every_feature_kernel_has_a_judge():
    assert {k.name for k in JUDGES} == set(KERNELS) - {"precomputed"}


@pytest.mark.parametrize("kernel", JUDGES, ids=repr)
@pytest.mark.parametrize("features", WIDTHS)
def test_columns_and_blocks_equal_scikit_learn(kernel, features, simd):
    X = data(37, features)
    expected = JUDGES[kernel](X, X)
    for storage in (X, sp.csr_array(X)):
        for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 4e-6)):
            gram = Gram(kernel, storage.astype(dtype))
            every = np.arange(37, dtype=np.int32)
            block = gram.block(every, every)
            scale = max(1.0, np.abs(expected).max())
            assert block.dtype == dtype
            np.testing.assert_allclose(block, expected, rtol=0, atol=tolerance * scale)
            for row in (0, 17, 36):
                np.testing.assert_allclose(gram.core.line(row, every), expected[row], rtol=0, atol=tolerance * scale)
            np.testing.assert_allclose(gram.diagonal(), np.diagonal(expected), atol=1e-6 * scale)


def kernel_sums(vectors, kernel, coef):
    """Sums over one group of all vectors, one output for each line of coefficients."""
    ends, columns = np.array([vectors.shape[0]]), np.arange(len(coef), dtype=np.int32)[None, :]
    return _core.KernelSums(as_rows(vectors), kernel.spec(), np.ascontiguousarray(coef), ends, columns)


@pytest.mark.parametrize("kernel", JUDGES, ids=repr)
@pytest.mark.parametrize("rows", [1, 3, 101], ids="{} rows".format)
def test_products_of_two_data_sets(kernel, rows, simd):
    left, right = data(rows, 13, seed=1), data(150, 13, seed=2)
    coef = np.random.default_rng(3).standard_normal((21, 150))
    expected = JUDGES[kernel](left, right) @ coef.T
    for a in (left, sp.csr_array(left)):
        for b in (right, sp.csr_array(right)):
            for lines in (1, 2, 21):
                found = kernel_sums(b, kernel, coef[:lines]).of(as_rows(a), False, 1)
                np.testing.assert_allclose(found, expected[:, :lines], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("rows", [2, 30], ids="{} rows".format)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_rows_far_from_the_origin_keep_their_digits(storage, rows, simd):
    left, right = data(rows, 5, seed=1) + 1e6, data(40, 5, seed=2) + 1e6
    kernel = make_kernel("rbf", gamma=0.3)
    found = kernel_sums(storage(right), kernel, np.ones((1, 40))).of(as_rows(storage(left)), False, 1)
    np.testing.assert_allclose(
        found[:, 0], np.exp(-0.3 * ((left[:, None] - right) ** 2).sum(axis=2)).sum(axis=1), rtol=1e-8
    )


@pytest.mark.parametrize("rows", [1, 30], ids="{} rows".format)
def test_groups_of_vectors_have_their_own_outputs(rows, simd):
    left, right = data(rows, 6, seed=1), data(50, 6, seed=2)
    coef, kernel = np.random.default_rng(3).standard_normal((2, 50)), make_kernel("rbf", gamma=0.2)
    ends, columns = np.array([20, 20, 50]), np.array([[2, 0], [1, 1], [0, 3]], dtype=np.int32)
    found = _core.KernelSums(as_rows(right), kernel.spec(), coef, ends, columns).of(as_rows(left), False, 1)
    K = pairwise.rbf_kernel(left, right, gamma=0.2)
    first, last = K[:, :20] @ coef[:, :20].T, K[:, 20:] @ coef[:, 20:].T
    expected = np.column_stack([first[:, 1] + last[:, 0], np.zeros(rows), first[:, 0], last[:, 1]])
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"coef": np.ones((2, 4))}, "one column of coefficients per vector"),
        ({"columns": np.zeros((1, 2), np.int32)}, "one output for each line of each group"),
        ({"ends": np.array([4, 2])}, "groups must end with the vectors"),
        ({"ends": np.array([-1, 5])}, "groups must end with the vectors"),
        ({"ends": np.array([2, 6])}, "groups must end with the vectors"),
        ({"columns": np.full((2, 2), -1, np.int32)}, "negative output"),
    ],
)
def test_sums_that_would_leave_their_arrays_are_refused(change, complaint):
    groups = {"coef": np.ones((2, 5)), "ends": np.array([2, 5]), "columns": np.zeros((2, 2), np.int32)}
    with pytest.raises(ValueError, match=complaint):
        _core.KernelSums(as_rows(data(5, 3)), make_kernel("linear").spec(), **groups | change)


@pytest.mark.parametrize("offset", [0.0, 30.0])
@pytest.mark.parametrize("gamma", [1e-3, 0.1, 3.0])
def test_rounding_of_single_precision_stays_within_its_bound(gamma, offset, simd):
    left, right = data(101, 13, seed=1) + offset, data(400, 13, seed=2) + offset
    coef = np.random.default_rng(3).standard_normal(400)
    kernel = make_kernel("rbf", gamma=gamma)
    expected = pairwise.rbf_kernel(left, right, gamma=gamma) @ coef
    for a in (left, sp.csr_array(left)):
        found = kernel_sums(right, kernel, coef[None, :]).of(as_rows(a), True, 1)[:, 0]
        bound = _core.cross_rounding(as_rows(a), as_rows(right), kernel.spec(), coef)
        assert (np.abs(found - expected) <= bound).all()
        assert np.abs(found - expected).max() > 0  # it is single precision
        if offset == 0:
            assert bound.max() < 1e-4 * np.abs(coef).sum()


@pytest.mark.parametrize("kernel", JUDGES, ids=repr)
def test_symmetric_and_positive_where_claimed(kernel):
    X = data(60, 5)
    every = np.arange(60)
    K = Gram(kernel, X).block(every, every)
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    if kernel.positive:
        assert np.linalg.eigvalsh(K).min() > -1e-9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", JUDGES, ids=repr)
@pytest.mark.parametrize("features", [2, 22, 200])
def test_dense_blocks_are_symmetric_to_the_last_bit(kernel, features, dtype, simd):
    """A working set is filled in parts: which of two rows is on the left must not matter to a run that continues."""
    X = 3 * data(150, features)
    every = np.arange(150)
    K = Gram(kernel, X.astype(dtype)).block(every, every)
    np.testing.assert_array_equal(K, K.T)
    if kernel.name in ("rbf", "laplacian"):
        assert K.max() <= 1
        if dtype == np.float64:
            np.testing.assert_array_equal(np.diagonal(K), 1)


@pytest.mark.parametrize("scale", [1e-27, 1e-20, 1e20])
def test_distances_of_tiny_and_huge_numbers(scale, simd):
    X = scale * data(50, 3)
    every = np.arange(50)
    expected = pairwise.rbf_kernel(X / scale, gamma=0.5)
    for storage in (X, sp.csr_array(X)):
        K = Gram(Rbf(0.5 / scale**2), storage).block(every, every)
        np.testing.assert_allclose(K, expected, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponential_is_within_two_units_in_the_last_place(dtype, simd):
    low, high = (-87, 88) if dtype == np.float32 else (-708, 709)
    x = np.linspace(low, high, 100_003).astype(dtype)
    ours = (_core.exponential32 if dtype == np.float32 else _core.exponential64)(x)
    exact = np.exp(x.astype(np.longdouble))
    assert np.abs(ours / exact - 1).max() < 2 * np.finfo(dtype).eps


def test_rbf_of_far_and_of_large_points_is_exact():
    """Distances are summed from differences, so a large common offset costs nothing."""
    X = (data(50, 6) + 1e4).astype(np.float32)
    every = np.arange(50)
    K = Gram(Rbf(gamma=0.5), X).block(every, every)
    expected = pairwise.rbf_kernel(X.astype(np.float64), gamma=0.5)
    np.testing.assert_allclose(K, expected, atol=1e-6)
    far = Gram(Rbf(gamma=1e3), data(20, 3) * 1e3).block(np.arange(20), np.arange(20))
    assert far[0, 1] < 1e-300 and far[0, 0] == 1


def test_function_and_precomputed_kernels_give_their_values():
    X = data(30, 4)
    K = pairwise.rbf_kernel(X, gamma=0.7)
    some = np.array([3, 29, 0])
    function = Gram(Function(lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.7)), X)
    np.testing.assert_allclose(function.block(some, some), K[np.ix_(some, some)])
    np.testing.assert_allclose(function.diagonal(), 1.0)
    np.testing.assert_array_equal(Gram(Precomputed(), K).block(some, some), K[np.ix_(some, some)])


def test_make_kernel_takes_only_the_parameters_it_has():
    assert make_kernel("linear", gamma=2.0) == Linear()
    assert make_kernel("poly", gamma=2.0, coef0=1.0, degree=2) == Poly(2.0, 1.0, 2)
    with pytest.raises(ValueError, match=r"kernel='rfb' is unknown.*'laplacian', 'linear', 'poly'"):
        make_kernel("rfb")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rbf(gamma=0.0), "gamma=0.0 must be a positive"),
        (lambda: Rbf(gamma=np.nan), "gamma=nan must be a positive"),
        (lambda: Laplacian(gamma=-1.0), "gamma=-1.0 must be a positive"),
        (lambda: Poly(degree=0), "degree=0 must be an integer from 1"),
        (lambda: Poly(degree=2.5), "degree=2.5 must be an integer from 1"),
        (lambda: Poly(coef0=-1.0), "coef0=-1.0 must be finite and not negative"),
        (lambda: Sigmoid(coef0=np.inf), "coef0=inf must be a finite number"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
