"""Sums of kernels over groups of columns, compared with the matrix of the explicit sum."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.base import clone
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV

from swapsvm import SVC, SVCCV, SVDD, SVR, Gram, OneClassSVM, datasets, reduce_support
from swapsvm.kernels import Function, Laplacian, Linear, Poly, Precomputed, Rbf, Sigmoid, Sum, resolve_gamma
from swapsvm.solvers import SOLVERS

FEATURES = 7
KERNEL = Sum(
    [(Rbf(gamma=0.4), slice(0, 3)), (Linear(), [5, 1]), (Poly(0.3, 1.0, 2), range(2, 6)), (Laplacian(0.2), [6])],
    weights=[1.0, 0.5, 0.25, 2.0],
)
STORED = [np.asarray, sp.csr_array, sp.csr_matrix]


def explicit(X, Z):
    """The same sum by scikit-learn's functions."""
    X, Z = (rows.toarray() if sp.issparse(rows) else np.asarray(rows) for rows in (X, Z))
    X, Z = X.astype(np.float64), Z.astype(np.float64)
    return (
        pairwise.rbf_kernel(X[:, :3], Z[:, :3], gamma=0.4)
        + 0.5 * pairwise.linear_kernel(X[:, [5, 1]], Z[:, [5, 1]])
        + 0.25 * pairwise.polynomial_kernel(X[:, 2:6], Z[:, 2:6], 2, 0.3, 1.0)
        + 2.0 * pairwise.laplacian_kernel(X[:, [6]], Z[:, [6]], gamma=0.2)
    )


def data(rows=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, FEATURES))
    X[rng.random(X.shape) < 0.3] = 0
    return X, (X[:, 0] * X[:, 1] + X[:, 5] + 0.3 * rng.normal(size=rows) > 0).astype(int)


@pytest.mark.parametrize("store", STORED)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 4e-6)])
def test_values_are_those_of_the_explicit_sum(store, dtype, tolerance):
    X = store(data(40)[0].astype(dtype))
    expected, every = explicit(X, X), np.arange(40, dtype=np.int32)
    gram, scale = Gram(KERNEL, X), np.abs(expected).max()
    np.testing.assert_allclose(gram.block(every, every), expected, atol=tolerance * scale)
    np.testing.assert_allclose(gram.core.line(7, every), expected[7], atol=tolerance * scale)
    np.testing.assert_allclose(gram.diagonal(), np.diagonal(expected), rtol=1e-6)
    np.testing.assert_allclose(KERNEL(X, X[:9]), expected[:, :9], atol=1e-12 * scale)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exact", [False, True])
def test_rounding_of_products_is_within_its_bound(dtype, exact):
    X = data(200)[0] + 2.0
    every, coef = np.arange(200, dtype=np.int32), np.random.default_rng(1).normal(size=200)
    kernel = Sum([*KERNEL.terms, (Sigmoid(0.3, 0.1), [0, 4])], weights=[1e4, 3e-3, 0.25, 2.0, 7.0])
    core = Gram(kernel, X, dtype=dtype).core
    true = sum(w * in_long_double(k, own) for k, own, w in kernel.parts(X)) @ coef.astype(np.longdouble)
    bound = core.own_rounding(every, every, coef, exact)
    for rows in (every, every[3:50]):
        found = core.own_product(rows, every, coef, exact)
        assert (np.abs(found - true[rows]) <= bound[rows]).all()
    kept = core.block(every, every).astype(np.float64) @ coef
    assert exact or (np.abs(kept - true) <= bound).all()
    assert (bound < 1e4 * 2000 * 200 * (np.finfo(np.float64).eps if exact else np.finfo(dtype).eps)).all()


def in_long_double(kernel, X):
    X = X.astype(np.longdouble)
    dots, gamma = X @ X.T, np.longdouble(getattr(kernel, "gamma", 1.0))
    match kernel:
        case Rbf():
            return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
        case Laplacian():
            return np.exp(-gamma * np.abs(X[:, None] - X[None]).sum(axis=2))
        case Poly():
            return (gamma * dots + np.longdouble(kernel.coef0)) ** kernel.degree
        case Sigmoid():
            return np.tanh(gamma * dots + np.longdouble(kernel.coef0))
    return dots


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_finds_the_model_of_the_explicit_matrix(solver):
    if solver == "cvm":  # it needs a constant diagonal
        kernel, explicit_sum = Sum([(Rbf(0.4), slice(0, 3)), (Laplacian(0.2), [6])]), None
    else:
        kernel, explicit_sum = KERNEL, explicit
    X, y = data(90)
    new, _ = data(20, seed=1)
    tol = 1e-2 if solver == "fw" else 1e-7
    found = SVC(kernel=kernel, C=2.0, tol=tol, solver=solver).fit(X, y)
    values = explicit_sum or kernel
    judge = SVC(kernel="precomputed", C=2.0, tol=1e-9).fit(values(X, X), y)
    atol = 0.2 if solver == "fw" else 1e-3
    np.testing.assert_allclose(found.decision_function(new), judge.decision_function(values(new, X)), atol=atol)
    assert found.relative_gap_ <= tol and found.stop_reason_ == "gap"


def test_scikit_learn_finds_the_same_regression_without_a_tube():
    """Ridge regression on the matrix of the explicit sum: u = (K + 1 + I/C)^-1 y."""
    X, _ = data()
    y = X[:, 0] + np.cos(X[:, 5])
    found = SVR(kernel=KERNEL, C=3.0, epsilon=0.0, tol=1e-9).fit(X, y)
    expected = (explicit(X, X) + 1) @ np.linalg.solve(explicit(X, X) + 1 + np.eye(len(X)) / 3.0, y)
    np.testing.assert_allclose(found.predict(X), expected, atol=1e-4)


@pytest.mark.parametrize("detector", [OneClassSVM, SVDD])
def test_detectors_score_as_with_a_function(detector):
    X, _ = data()
    found = detector(kernel=KERNEL, tol=1e-7).fit(X)
    judge = detector(kernel=explicit, tol=1e-7).fit(X)
    np.testing.assert_allclose(found.score_samples(X), judge.score_samples(X), rtol=1e-4, atol=1e-4)


def test_halves_of_the_columns_add_up_to_a_linear_kernel():
    X, y = data(300)
    halves = Sum([(Linear(), slice(0, 3)), (Linear(), slice(3, None))])
    whole, found = (SVC(kernel=kernel, tol=1e-8).fit(X, y) for kernel in ("linear", halves))
    np.testing.assert_allclose(found.decision_function(X), whole.decision_function(X), atol=1e-5)
    judge = svm.LinearSVC(C=0.5, tol=1e-9, max_iter=10**6, random_state=0).fit(X, y)
    np.testing.assert_allclose(found.decision_function(X), judge.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("store", STORED[:2])
def test_large_fits_have_the_same_bits_with_two_threads(store):
    """With surrogate steps, kernel values in single precision, and equal rows merged."""
    X, y = data(1600)
    X, y = store(np.vstack([X, X[:500]])), np.concatenate([y, y[:500]])
    weights = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    one, two = (SVC(kernel=KERNEL, tol=1e-3, n_jobs=n).fit(X, y, weights) for n in (1, 2))
    assert one.relative_gap_ <= 1e-3 and len(one.support_) < 1600
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    judge = SVC(kernel="precomputed", tol=1e-3).fit(explicit(X, X), y, weights)
    assert one.dual_value_ <= judge.primal_value_ and judge.dual_value_ <= one.primal_value_


def test_columns_are_chosen_as_in_a_column_transformer():
    pd = pytest.importorskip("pandas")
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    by_number = SVC(kernel=KERNEL).fit(X, y)
    by_name = Sum(
        [
            (Rbf(gamma=0.4), slice("a", "c")),
            (Linear(), ["f", "b"]),
            (Poly(0.3, 1.0, 2), np.array([False, False, True, True, True, True, False])),
            (Laplacian(0.2), "g"),
        ],
        weights=KERNEL.weights,
    )
    found = SVC(kernel=by_name).fit(frame, y)
    np.testing.assert_array_equal(found.decision_function(frame), by_number.decision_function(X))
    assert found.model_.vectors.kernel.terms[1:] == (
        (Linear(), (5, 1)),
        (Poly(0.3, 1.0, 2), (2, 3, 4, 5)),
        (Laplacian(0.2), (6,)),
    )
    negative = Sum([(Linear(), [-1, -2])])
    assert SVC(kernel=negative).fit(X, y).model_.vectors.kernel.terms == ((Linear(), (6, 5)),)


def test_a_rule_for_gamma_looks_at_its_own_columns():
    X, y = data()
    X[:, 3:] *= 10
    model = SVC(kernel=Sum([(Rbf(gamma="scale"), slice(0, 3)), (Rbf(gamma="mean_sq_dist"), [4, 6])])).fit(X, y)
    gammas = [kernel.gamma for kernel, _ in model.model_.vectors.kernel.terms]
    assert gammas == [resolve_gamma("scale", Rbf, X[:, :3]), resolve_gamma("mean_sq_dist", Rbf, X[:, [4, 6]])]
    assert gammas[0] == pytest.approx(1 / (3 * X[:, :3].var()))
    with pytest.raises(AttributeError, match="has no gamma"):
        model.gamma_  # noqa: B018


def test_a_single_kernel_is_the_kernel_of_that_name():
    X, y = data()
    by_name = SVC(kernel="rbf").fit(X, y)
    for kernel in (Rbf(gamma="scale"), Rbf(gamma=by_name.gamma_)):
        found = SVC(kernel=kernel).fit(X, y)
        np.testing.assert_array_equal(found.decision_function(X), by_name.decision_function(X))
        assert found.gamma_ == by_name.gamma_


def test_grids_clones_and_pickles_take_sums():
    X, y = data()
    kernels = [KERNEL, "rbf", Sum([(Rbf(gamma="scale"), [0, 1])]), Rbf(gamma=0.1)]
    grid = GridSearchCV(SVC(), {"kernel": kernels, "C": [0.5, 4]}, cv=3).fit(X, y)
    assert grid.best_params_["kernel"] in kernels
    model = SVC(kernel=KERNEL)
    assert clone(model).kernel == KERNEL and model.get_params()["kernel"] is KERNEL
    assert eval(repr(KERNEL)) == KERNEL and "Sum(terms=" in repr(model)
    assert len({KERNEL, pickle.loads(pickle.dumps(KERNEL)), kernels[2]}) == 2
    copied = pickle.loads(pickle.dumps(model.fit(X, y)))
    np.testing.assert_array_equal(copied.predict(X), model.predict(X))
    search = SVCCV(kernel=KERNEL, Cs=[0.5, 4], cv=3).fit(X, y)
    assert search.score(X, y) > 0.8 and len(search.gammas_) == 0


def test_warm_starts_and_checkpoints_know_the_sum(tmp_path):
    X, y = data(400)
    settings = {"solver": "swap2", "tol": 1e-6}
    with pytest.warns(match="max_iter"):
        SVC(kernel=KERNEL, max_iter=9, checkpoint=tmp_path / "fit", **settings).fit(X, y)
    other = Sum(KERNEL.terms, weights=[1, 1, 1, 1])
    with pytest.raises(ValueError, match="kernel differ"):
        SVC(kernel=other, checkpoint=tmp_path / "fit", **settings).fit(X, y)
    resumed = SVC(kernel=KERNEL, checkpoint=tmp_path / "fit", **settings).fit(X, y)
    straight = SVC(kernel=KERNEL, checkpoint=tmp_path / "other", **settings).fit(X, y)
    np.testing.assert_array_equal(resumed.decision_function(X), straight.decision_function(X))
    warm = SVC(kernel=KERNEL, warm_start=True).fit(X[:300], y[:300]).fit(X, y)
    assert warm.relative_gap_ <= 1e-3


def test_an_indefinite_term_makes_an_indefinite_sum():
    assert KERNEL.positive and not Sum([(Rbf(), [0]), (Sigmoid(), [1])]).positive


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Sum([]), "must be a list of pairs"),
        (lambda: Sum([Rbf(), Linear()]), "must be a list of pairs"),
        (lambda: Sum([("rbf", [0])]), "'rbf' cannot be a term"),
        (lambda: Sum([(Precomputed(), [0])]), "cannot be a term"),
        (lambda: Sum([(Function(np.dot), [0])]), "cannot be a term"),
        (lambda: Sum([(KERNEL, [0])]), "cannot be a term"),
        (lambda: Sum([(Linear(), [0.5])]), "must be positions, names"),
        (lambda: Sum([(Linear(), [0])], weights=[1, 2]), "2 numbers for 1 terms"),
        (lambda: Sum([(Linear(), [0])], weights=[0.0]), "weights=0.0 must be positive"),
        (lambda: Sum([(Linear(), [0])], weights=["a"]), "weights='a' must be positive"),
        (lambda: Sum([(Linear(), [0])], weights=[1e-31]), "weights=1e-31 must be positive, from 1e-30 to 1e.30:"),
        (lambda: Rbf(gamma="scales"), "gamma='scales' must be"),
        (lambda: Rbf(gamma="scale").spec(), "is a rule that needs data"),
    ],
)
def test_sums_that_make_no_sense_are_refused(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ([0, 7], "column 7 of a sum of kernels does not exist: X has 7 columns"),
        ("age", "chosen by its name, but X has no names"),
        ([], "selects no column"),
        (slice(7, None), "selects no column"),
        ([True, False], "a mask of 2 columns does not fit"),
    ],
)
def test_columns_that_do_not_exist_are_refused_by_the_fit(columns, complaint):
    with pytest.raises(ValueError, match=complaint):
        SVC(kernel=Sum([(Linear(), columns)])).fit(*data(30))


def test_a_name_that_is_missing_is_refused_with_those_that_exist():
    pd = pytest.importorskip("pandas")
    X, y = data(30)
    with pytest.raises(ValueError, match="X has no column 'age'; its columns are \\['a', 'b'\\]"):
        SVC(kernel=Sum([(Linear(), "age")])).fit(pd.DataFrame(X[:, :2], columns=["a", "b"]), y)


RULES = Sum([(Rbf(gamma="scale"), slice(0, 3)), (Rbf(gamma="mean_sq_dist"), [4, 6]), (Laplacian(gamma="cvm"), [5])])


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kernel", [KERNEL, RULES, Rbf(gamma="scale")], ids=["numbers", "rules", "one kernel"])
def test_rows_in_shards(store, kernel):
    X, y = data(200)
    X = store(X)
    whole = SVC(kernel=kernel, tol=1e-5).fit(X, y)
    shards = datasets.Shards([X[:70], X[70:]], memory_limit=20_000)
    found = SVC(kernel=kernel, tol=1e-5).fit(shards, y)
    assert found.relative_gap_ <= 1e-5
    np.testing.assert_allclose(found.decision_function(X), whole.decision_function(X), atol=2e-2)
    np.testing.assert_array_equal(found.predict(shards), found.predict(X))
    np.testing.assert_allclose(*[numbers_of(model.model_.vectors.kernel) for model in (whole, found)], rtol=1e-12)


def numbers_of(kernel):
    return [term.gamma for term, _ in kernel.terms] if kernel is RULES else []


def test_models_of_few_vectors_are_certified():
    X, y = data(400)
    whole = SVC(kernel=KERNEL, tol=1e-6).fit(X, y)
    few = SVC(kernel=KERNEL, max_vectors=30).fit(X, y)
    small = reduce_support(whole, X, y, max_vectors=30)
    for model in (few, small):
        assert len(model.support_) <= 30
        assert model.dual_value_ <= whole.primal_value_ and whole.dual_value_ <= model.primal_value_


def test_wide_sparse_rows_need_memory_for_their_entries_only():
    X = sp.random_array((60, 200_000), density=1e-4, format="csr", random_state=0)
    y = np.arange(60) % 2
    kernel = Sum([(Linear(), slice(0, 100_000)), (Rbf(gamma=0.1), slice(100_000, None))])
    found = SVC(kernel=kernel, tol=1e-8).fit(X, y)
    a, b = X[:, :100_000], X[:, 100_000:]
    K = (a @ a.T).toarray() + pairwise.rbf_kernel(b, gamma=0.1)
    judge = SVC(kernel="precomputed", tol=1e-8).fit(K, y)
    np.testing.assert_allclose(found.decision_function(X), judge.decision_function(K), atol=1e-3)
