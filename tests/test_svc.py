"""The classifier: labels, shapes, storage, weights, attributes, warm start, time."""

import pickle
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as ScikitSVC

from swapsvm import SVC, ConvergenceWarning, files
from swapsvm.solvers import SOLVERS


@pytest.fixture(scope="module")
def binary():
    return make_classification(400, 8, n_informative=5, flip_y=0.1, random_state=0)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:1200] / 16, y[:1200], X[1200:] / 16, y[1200:]


def test_every_solver_reaches_the_gap_and_the_same_model(binary):
    X, y = binary
    decisions = {}
    for solver in SOLVERS:
        model = SVC(C=4, solver=solver, tol=1e-5 if solver == "block" else 1e-3, gamma=0.1).fit(X, y)
        assert model.stop_reason_ == "gap" and model.relative_gap_ <= 1e-3
        reached = model.relative_gap_ if solver == "block" else model.simplex_gap_
        assert reached <= 1e-3
        assert model.dual_gap_ == pytest.approx(reached * -model.results_[0].value)
        decisions[solver] = model.decision_function(X)
    for solver, decision in decisions.items():
        np.testing.assert_allclose(decision, decisions["swap2"], atol=0.05, err_msg=solver)


def test_as_accurate_as_scikit_learn(digits):
    X, y, X_test, y_test = digits
    ours = SVC(C=16, gamma="scale").fit(X, y)
    theirs = ScikitSVC(C=16, gamma="scale").fit(X, y)
    assert ours.score(X_test, y_test) >= theirs.score(X_test, y_test) - 0.005


@pytest.mark.parametrize(
    "labels", [np.array(["no", "yes"]), np.array([-1, 1]), np.array([True, False]), np.array([7, 3])]
)
def test_any_kind_of_label(binary, labels):
    X, y = binary
    model = SVC().fit(X, labels[y])
    assert set(model.predict(X)) <= set(labels)
    np.testing.assert_array_equal(model.classes_, np.unique(labels))
    positive = model.decision_function(X) > 0
    np.testing.assert_array_equal(model.predict(X), model.classes_[positive.astype(int)])


def test_attributes_have_the_shapes_of_scikit_learn(digits):
    X, y, _, _ = digits
    for some in (y < 2, y < 5):
        ours, theirs = SVC(C=4).fit(X[some], y[some]), ScikitSVC(C=4).fit(X[some], y[some])
        for name in ("dual_coef_", "intercept_", "n_support_", "support_", "support_vectors_", "n_iter_", "classes_"):
            a, b = getattr(ours, name), getattr(theirs, name)
            assert a.ndim == b.ndim, name
        assert ours.dual_coef_.shape == (theirs.dual_coef_.shape[0], len(ours.support_))
        assert ours.n_support_.sum() == len(ours.support_) == len(ours.support_vectors_)
        np.testing.assert_array_equal(ours.support_vectors_, X[some][ours.support_])
        np.testing.assert_array_equal(np.diff(y[some][ours.support_]) >= 0, True)
        assert ours.intercept_.shape == theirs.intercept_.shape
        assert ours.decision_function(X).shape == theirs.decision_function(X).shape
        ours.set_params(decision_function_shape="ovo")
        assert (
            ours.decision_function(X).shape
            == theirs.set_params(decision_function_shape="ovo").decision_function(X).shape
        )


def test_pairs_of_classes_are_separate_binary_problems(digits):
    """Column k of the ovo decision function equals that of a fit of that pair alone."""
    X, y, X_test, _ = digits
    some = y < 4
    model = SVC(C=4, gamma=0.1, tol=1e-10, decision_function_shape="ovo").fit(X[some], y[some])
    decisions = model.decision_function(X_test)
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    for k, (a, b) in enumerate(pairs):
        rows = (y == a) | (y == b)
        alone = SVC(C=4, gamma=0.1, tol=1e-10).fit(X[rows], y[rows])
        np.testing.assert_allclose(-alone.decision_function(X_test), decisions[:, k], atol=1e-5)
    votes = np.zeros((len(X_test), 4))
    for k, (a, b) in enumerate(pairs):
        votes[np.arange(len(X_test)), np.where(decisions[:, k] >= 0, a, b)] += 1
    ovr = model.set_params(decision_function_shape="ovr").decision_function(X_test)
    np.testing.assert_array_equal(np.round(ovr), votes)
    np.testing.assert_array_equal(model.predict(X_test), np.argmax(ovr, axis=1))


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid", "laplacian"])
def test_dense_csr_and_precisions_agree(binary, kernel):
    X, y = binary
    X = np.where(np.abs(X) < 0.5, 0, X) / 4
    options = {"kernel": kernel, "gamma": 0.2, "tol": 1e-7, "coef0": 0.1, "C": 2.0}
    if kernel == "sigmoid":  # not positive semidefinite: only a strong ridge makes this problem concave
        options["C"] = 0.1
    reference = SVC(**options).fit(X, y).decision_function(X)
    for container in (np.asarray, sp.csr_matrix, sp.csr_array, sp.csc_array, sp.coo_array):
        for dtype, tolerance in ((np.float64, 1e-4), (np.float32, 2e-3)):
            model = SVC(**options).fit(container(X.astype(dtype)), y)
            assert model.support_vectors_.dtype == dtype
            assert sp.issparse(model.support_vectors_) == (container is not np.asarray)
            scale = np.abs(reference).max()
            for storage in (X, sp.csr_array(X)):
                np.testing.assert_allclose(model.decision_function(storage), reference, atol=tolerance * scale)


def test_precomputed_and_callable_equal_rbf(binary):
    X, y = binary
    expected = SVC(gamma=0.3, tol=1e-8).fit(X[:300], y[:300]).decision_function(X[300:])
    K, K_test = rbf_kernel(X[:300], gamma=0.3), rbf_kernel(X[300:], X[:300], gamma=0.3)
    given = SVC(kernel="precomputed", tol=1e-8).fit(K, y[:300])
    np.testing.assert_allclose(given.decision_function(K_test), expected, atol=1e-6)
    called = SVC(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.3), tol=1e-8).fit(X[:300], y[:300])
    np.testing.assert_allclose(called.decision_function(X[300:]), expected, atol=1e-6)


def test_precomputed_with_three_classes():
    X, y = load_iris(return_X_y=True)
    expected = SVC(gamma=0.3, tol=1e-8).fit(X, y).decision_function(X)
    K = rbf_kernel(X, gamma=0.3)
    np.testing.assert_allclose(SVC(kernel="precomputed", tol=1e-8).fit(K, y).decision_function(K), expected, atol=1e-6)


@pytest.mark.parametrize(("solver", "moves"), [("swap2", 1500), ("block", 6)])
def test_threads_do_not_change_a_bit(solver, moves):
    X, y = make_classification(6000, 10, flip_y=0.2, random_state=1)
    for storage in (X.astype(np.float32), sp.csr_array(X)):
        fits = [SVC(C=2, solver=solver, n_jobs=n, max_iter=moves, tol=1e-4, random_state=3) for n in (1, 2)]
        with pytest.warns(ConvergenceWarning):
            one, two = (model.fit(storage, y) for model in fits)
        np.testing.assert_array_equal(one.support_, two.support_)
        np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
        np.testing.assert_array_equal(one.decision_function(storage), two.decision_function(storage))
        assert one.dual_gap_ == two.dual_gap_


def test_same_random_state_same_model(binary):
    X, y = binary
    a, b, c = (SVC(solver="swap2", random_state=s, sampling=30).fit(X, y).dual_coef_.sum() for s in (5, 5, 6))
    assert a == b != c


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sample_weight_equals_repetition_and_zero_equals_removal(binary, kernel):
    X, y = binary
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = SVC(kernel=kernel, tol=1e-9, C=0.7).fit(X, y, sample_weight=weight)
    repeated = SVC(kernel=kernel, tol=1e-9, C=0.7).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    # P is strongly convex in (w, b): decisions differ by at most |(phi(x), 1)| sqrt(2 (P - D)) from the optimum's
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)
    assert not np.isin(weighted.support_, np.flatnonzero(weight == 0)).any()


def test_class_weight_multiplies_sample_weight(binary):
    X, y = binary
    by_class = SVC(class_weight={0: 1, 1: 5}, tol=1e-8, gamma=0.1).fit(X, y).decision_function(X)
    by_row = SVC(tol=1e-8, gamma=0.1).fit(X, y, sample_weight=np.where(y == 1, 5, 1)).decision_function(X)
    np.testing.assert_allclose(by_class, by_row, atol=1e-5)
    balanced = SVC(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.class_weight_, len(y) / (2 * np.bincount(y)))


def test_clone_and_pickle_keep_the_model(binary):
    X, y = binary
    model = SVC(C=3, warm_start=True, kernel="laplacian").fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert not hasattr(again, "_kept")
    assert clone(model).get_params() == model.get_params()


def test_warm_start_continues_with_the_same_cache(binary):
    X, y = binary
    options = {"solver": "swap2", "gamma": 0.1, "tol": 1e-4}
    model = SVC(C=1, warm_start=True, **options).fit(X, y)
    misses = model.cache_counts_["misses"]
    cold = SVC(C=2, **options).fit(X, y)
    model.set_params(C=2).fit(X, y)
    assert model.n_iter_[0] < cold.n_iter_[0]
    assert model.cache_counts_["misses"] - misses < 0.2 * cold.cache_counts_["misses"]
    np.testing.assert_allclose(model.decision_function(X), cold.decision_function(X), atol=0.01)
    changed = X.copy()
    model.fit(changed, y)
    changed[0] += 100.0  # the same object with other numbers: the old kernel values must not be used
    model.fit(changed, y)
    fresh = SVC(C=2, gamma=0.1, tol=1e-4).fit(changed, y)
    np.testing.assert_allclose(model.decision_function(changed), fresh.decision_function(changed), atol=0.02)


def test_warm_start_sees_that_the_rows_it_kept_have_changed(binary):
    X, y = binary
    first, same = X.copy(), X.copy()
    model = SVC(C=10, warm_start=True, gamma=0.2, tol=1e-6).fit(first, y)
    first[:] = np.random.default_rng(0).standard_normal(X.shape)  # the rows of the kept kernel values
    again = model.set_params(C=20).fit(same, y).decision_function(same)
    fresh = SVC(C=20, gamma=0.2, tol=1e-6).fit(same, y).decision_function(same)
    np.testing.assert_allclose(again, fresh, atol=1e-3)


@pytest.mark.parametrize("way", ["class_weight", "sample_weight"])
def test_a_class_without_weight_gets_no_votes(way):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 100)
    X = rng.standard_normal((300, 2)) + 4.0 * np.array([0, 1, -1])[y][:, None]
    model = SVC(class_weight={0: 0.0} if way == "class_weight" else None)
    model.fit(X, y, sample_weight=(y > 0).astype(float) if way == "sample_weight" else None)
    np.testing.assert_array_equal(np.bincount(model.predict(X[y > 0])), [0, 100, 100])


def test_one_row_of_another_magnitude_does_not_end_the_run(binary):
    X, y = binary
    weight = np.ones(len(y))
    weight[0] = 1e-12
    assert SVC(gamma=0.1).fit(X, y, sample_weight=weight).stop_reason_ == "gap"


def test_the_users_sparse_matrix_is_left_alone():
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 8, 400).astype(np.int32)  # unsorted, and some twice in a row
    X = sp.csr_array((rng.standard_normal(400), columns, np.arange(0, 401, 4).astype(np.int32)), shape=(100, 8))
    y = np.arange(100) % 2
    data, indices = X.data.copy(), X.indices.copy()
    expected = SVC(gamma=0.5).fit(X.toarray(), y).decision_function(X.toarray())
    for array in (X.data, X.indices, X.indptr):
        array.setflags(write=False)
    model = SVC(gamma=0.5).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-6)
    np.testing.assert_array_equal(X.data, data)
    np.testing.assert_array_equal(X.indices, indices)


def test_linear_coefficients_reproduce_the_decision(digits):
    X, y, X_test, _ = digits
    for some in (y < 2, y < 4):
        model = SVC(kernel="linear", decision_function_shape="ovo").fit(X[some], y[some])
        linear = X_test @ model.coef_.T + model.intercept_
        np.testing.assert_allclose(np.squeeze(linear), model.decision_function(X_test), atol=1e-8)
    with pytest.raises(AttributeError, match="only available with kernel='linear'"):
        _ = SVC().fit(X, y).coef_


def test_limits_stop_with_a_warning_and_a_certified_model(binary, monkeypatch):
    monkeypatch.setattr("swapsvm.gram.LARGEST_WHOLE", 0)  # so few rows would take one iteration
    X, y = binary
    with pytest.warns(ConvergenceWarning, match=r"'max_iter' at a relative gap of .* raise max_iter"):
        model = SVC(C=100, max_iter=2, tol=1e-9).fit(X, y)
    assert model.stop_reason_ == "max_iter" and model.n_iter_[0] == 2 and model.fit_status_ == 1
    assert model.relative_gap_ > 1e-9
    X, y = make_classification(20_000, 20, flip_y=0.3, random_state=0)
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = SVC(C=100, max_time=0.3, tol=1e-9).fit(X, y)
    assert time.perf_counter() - began < 10
    assert model.stop_reason_ == "max_time"
    assert 1e-9 < model.relative_gap_ < np.inf
    assert np.isfinite(model.decision_function(X)).all()  # its quality depends on the machine, its existence does not


def test_absolute_and_relative_gap_are_alternatives(binary):
    X, y = binary
    loose = SVC(tol=0, eps=1e-3).fit(X, y)
    assert loose.stop_reason_ == "gap" and loose.dual_gap_ <= 1e-3
    assert SVC(tol=1e-6, eps=0).fit(X, y).relative_gap_ <= 1e-6


def test_trace_tells_the_run(binary):
    X, y = binary
    model = SVC(solver="swap", tol=1e-3).fit(X, y)
    trace = model.trace_
    assert trace.dtype.names == ("pair", "iteration", "support", "evaluations", "kind", "seconds", "value", "gap")
    assert set(trace["kind"]) <= {"toward", "away", "swap-add", "swap-drop", "corrective"}
    for name in ("iteration", "evaluations", "seconds"):
        assert (np.diff(trace[name]) >= 0).all(), name
    assert (np.diff(trace["value"]) >= -1e-12).all()
    assert trace["iteration"][0] == 1 and trace["iteration"][-1] == model.n_iter_[0]
    assert sum(model.results_[0].trace.kinds.values()) == model.n_iter_[0]
    assert trace["gap"][-1] == pytest.approx(model.dual_gap_, rel=1e-6)


def test_a_long_trace_is_thinned_but_complete(binary):
    X, y = binary
    model = SVC(solver="fw", tol=2e-3, C=10).fit(X, y)
    assert model.n_iter_[0] > 10_000
    assert 2000 < len(model.trace_) < 10_000
    assert model.trace_["iteration"][0] == 1
    assert sum(model.results_[0].trace.kinds.values()) == model.n_iter_[0]


def test_at_home_in_scikit_learn(digits):
    X, y, X_test, y_test = digits
    assert make_pipeline(StandardScaler(), SVC(C=4)).fit(X, y).score(X_test, y_test) > 0.9
    assert OneVsRestClassifier(SVC(C=4)).fit(X[:300], y[:300]).score(X_test, y_test) > 0.8


def test_the_trace_is_joined_when_it_is_asked_for():
    X, y = load_iris(return_X_y=True)
    model = SVC()
    assert not hasattr(model, "trace_")
    model.fit(X, y)
    assert "trace_" not in vars(model)
    first = model.trace_
    assert model.trace_ is first
    assert [*np.unique(first["pair"])] == [0, 1, 2]
    assert len(first) == sum(len(result.trace.array()) for result in model.results_)
    model.fit(X[:100], y[:100])
    assert [*np.unique(model.trace_["pair"])] == [0]


def test_a_saved_model_replaces_a_file_and_answers_the_same(tmp_path):
    X, y = make_classification(200, 5, random_state=0)
    files.save(SVC().fit(X, -y), tmp_path / "model.swapsvm")
    model = SVC(C=3).fit(X, y)
    files.save(model, tmp_path / "model.swapsvm")
    loaded = files.load(tmp_path / "model.swapsvm")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert [path.name for path in tmp_path.iterdir()] == ["model.swapsvm"]
