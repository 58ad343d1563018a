"""Equal rows merged into one: against a dictionary of rows, weighted rows, and reductions and restarts of such fits."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from swapsvm import SVC, SVDD, SVR, ConvergenceWarning, OneClassSVM, reduce_support
from swapsvm.fitting import duplicates
from swapsvm.fitting.duplicates import are_equal, merged_weights, pays, row_hashes

RNG = np.random.default_rng(0)
FEW = RNG.normal(size=(150, 3))
TIMES = RNG.integers(1, 25, size=150)
CLASS = (FEW[:, 0] + 0.5 * RNG.normal(size=150) > 0).astype(int)
WHICH = RNG.permutation(np.repeat(np.arange(150), TIMES))  # row of FEW behind each row of the data
X, Y = FEW[WHICH], CLASS[WHICH]
FIRST = np.sort(np.unique(WHICH, return_index=True)[1])


def by_dictionary(dense, keys, weights):
    """The same by comparing rows as tuples; -0.0 == 0.0 there, too."""
    merged, first = weights.copy(), {}
    for i in np.flatnonzero(weights):
        begin = first.setdefault((*dense[i].tolist(), keys[i]), i)
        if begin != i:
            merged[begin] += weights[i]
            merged[i] = 0.0
    return merged


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(1, 60),
    columns=st.integers(1, 4),
    sparse=st.booleans(),
    single=st.booleans(),
    collide=st.booleans(),
)
def test_rows_are_merged_as_a_dictionary_would(seed, rows, columns, sparse, single, collide):
    rng = np.random.default_rng(seed)
    dense = rng.choice([-0.0, 0.0, 1.0, -1.0, 0.1, 1e-300, 3e30], size=(rows, columns))
    dense = dense.astype(np.float32 if single else np.float64)
    keys, weights = rng.integers(0, 2, rows), rng.integers(0, 3, rows).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "FEWEST_ROWS", 0)
        patch.setattr(duplicates, "pays", lambda *_: True)
        patch.setattr(duplicates, "PIECE", 7)
        if collide:  # rows with the hash of another row but different values are not merged
            patch.setattr(duplicates, "row_hashes", lambda X, keys, rows: row_hashes(X, keys, rows) & np.uint64(1))
        merged = merged_weights(sp.csr_array(dense) if sparse else dense, keys, weights)
    if not collide:
        np.testing.assert_array_equal(merged, by_dictionary(dense, keys, weights))
        return
    again = by_dictionary(dense, keys, merged)
    np.testing.assert_array_equal(again, by_dictionary(dense, keys, weights))


def test_stored_zeros_and_the_order_of_entries_do_not_count():
    rows = sp.csr_array(
        (np.array([1.0, 2.0, 2.0, 0.0, 1.0, -0.0]), np.array([0, 2, 2, 1, 0, 1]), np.array([0, 2, 5, 6, 6])),
        shape=(4, 3),
    )
    hashes = row_hashes(rows, np.zeros(4), np.arange(4))
    assert hashes[0] == hashes[1] != hashes[2] == hashes[3]
    assert are_equal(rows, np.zeros(4), np.array([0, 2, 0]), np.array([1, 3, 2])).tolist() == [True, True, False]


@pytest.mark.parametrize("values", [[0.0, 1.0], [1.0, 2.0, 4.0], np.arange(100.0)], ids=str)
def test_hashes_tell_simple_numbers_apart(values):
    rows = np.unique(RNG.choice(values, size=(20000, 12)), axis=0)
    assert len(np.unique(row_hashes(rows, np.zeros(len(rows)), np.arange(len(rows))))) == len(rows)


def test_a_sample_tells_whether_merging_pays():
    different = RNG.normal(size=(50000, 4))
    half_zero, twice = different.copy(), np.repeat(different[:25000], 2, axis=0)
    half_zero[::2] = 0.0
    every, keys = np.arange(50000), np.zeros(50000)
    assert not pays(different, keys, every)
    assert pays(half_zero, keys, every) and pays(twice, keys, every)
    assert not pays(twice, every, every)  # of different targets
    weights = np.ones(50000)
    assert merged_weights(different, keys, weights) is weights
    assert merged_weights(np.ones((100, 2)), keys[:100], weights[:100]).tolist() == [1.0] * 100  # too few to matter


# ---- fits ---------------------------------------------------------------------------------------------------


def rows_as(storage, rows):
    return sp.csr_array(rows) if storage == "sparse" else rows.astype(storage)


@pytest.mark.parametrize("storage", ["float64", "float32", "sparse"])
def test_a_classifier_of_repeated_rows_is_that_of_weighted_ones(storage):
    # |w - w*|^2 / 2 <= P - D: decision values are as exact as the root of the gap
    model = SVC(C=3.0, tol=1e-10, gamma=0.5).fit(rows_as(storage, X), Y)
    assert set(model.support_) <= set(FIRST)
    weighted = SVC(C=3.0, tol=1e-10, gamma=0.5).fit(rows_as(storage, FEW), CLASS, TIMES)
    apart = model.decision_function(rows_as(storage, FEW)) - weighted.decision_function(rows_as(storage, FEW))
    assert np.abs(apart).max() < 1e-4


def test_weights_of_equal_rows_add_up():
    weights = RNG.uniform(0.0, 2.0, len(X)) * (RNG.random(len(X)) < 0.8)
    model = SVC(C=3.0, tol=1e-10, gamma=0.5, class_weight={0: 2.0}).fit(X, Y, weights)
    totals = np.bincount(WHICH, weights, 150)
    few = SVC(C=3.0, tol=1e-10, gamma=0.5, class_weight={0: 2.0}).fit(FEW, CLASS, totals)
    assert model.results_[0].value == pytest.approx(few.results_[0].value, rel=1e-8)
    np.testing.assert_allclose(model.decision_function(FEW), few.decision_function(FEW), atol=1e-4)


def test_the_merged_certificate_holds_for_the_rows_as_given():
    model = SVC(C=3.0, gamma=0.5).fit(X, Y)
    direct = SVC(C=3.0, gamma=0.5, solver="swap2", tol=1e-4).fit(X, Y)  # which is not merged
    best = -direct.results_[0].value
    assert len(direct.support_) > 150 >= len(model.support_)
    assert -model.results_[0].value - model.dual_gap_ <= best * (1 + 1e-9)
    assert best * (1 - 1e-4) <= -model.results_[0].value


def test_several_classes_are_merged_each_by_itself():
    labels = np.digitize(FEW[:, 1], [-0.5, 0.5])[WHICH]
    model = SVC(C=3.0, tol=1e-8).fit(X, labels)
    few = SVC(C=3.0, tol=1e-8, gamma=model.gamma_).fit(FEW, np.digitize(FEW[:, 1], [-0.5, 0.5]), TIMES)
    np.testing.assert_allclose(model.decision_function(FEW), few.decision_function(FEW), atol=1e-4)


def test_rows_of_both_labels_stay_two_variables():
    labels = np.arange(2000) % 2
    model = SVC().fit(np.ones((2000, 2)), labels)
    assert model.support_.tolist() == [0, 1]
    assert model.stop_reason_ == "gap"
    assert model.decision_function([[1.0, 1.0]]) == pytest.approx(0.0, abs=1e-12)


def test_regressions_merge_rows_of_the_same_target():
    targets = np.sin(FEW[:, 0])
    model = SVR(C=10.0, tol=1e-8, gamma=0.5).fit(X, targets[WHICH])
    few = SVR(C=10.0, tol=1e-8, gamma=0.5).fit(FEW, targets, TIMES)
    assert set(model.support_) <= set(FIRST)
    np.testing.assert_allclose(model.predict(FEW), few.predict(FEW), atol=1e-4)
    other = targets[WHICH] + 1e-3 * RNG.normal(size=len(X))
    assert set(SVR(C=10.0, gamma=0.5, epsilon=0.0).fit(X, other).support_) - set(FIRST)


@pytest.mark.parametrize("estimator", [OneClassSVM, SVDD])
@pytest.mark.parametrize("options", [{}, {"contamination": 0.1}, {"kernel": "linear"}], ids=str)
def test_detectors_merge_rows(estimator, options):
    rows, few = X + 1.0, FEW + 1.0
    model = estimator(gamma=0.5, tol=1e-12, **options).fit(rows)
    weighted = estimator(gamma=0.5, tol=1e-12, **options).fit(few, sample_weight=TIMES)
    assert set(model.support_) <= set(FIRST)
    np.testing.assert_allclose(model.decision_function(few), weighted.decision_function(few), atol=1e-5)


def test_a_ball_of_weighted_rows_is_not_taken_for_rounding():
    """The center of weighted rows is their weighted mean."""
    model = SVDD(kernel="linear").fit([[0.0], [10.0]], sample_weight=[1.0, 0.01])
    assert 0 <= model.center_[0] <= 10


@pytest.mark.parametrize(
    "options",
    [{"kernel": "precomputed"}, {"kernel": lambda A, B: A @ B.T}, {"solver": "swap2"}, {"solver": "cvm"}],
    ids=["precomputed", "function", "swap2", "cvm"],
)
def test_other_kernels_and_the_solvers_of_the_paper_see_all_rows(options, monkeypatch):
    monkeypatch.setattr("swapsvm.fitting.inputs.merged_weights", lambda *_: pytest.fail("merged"))
    rows, labels = np.repeat(FEW[:40], 30, axis=0), np.repeat(CLASS[:40], 30)
    data = rows @ rows.T if options.get("kernel") == "precomputed" else rows
    SVC(**options, tol=0.5).fit(data, labels)


# ---- what comes after a fit ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_merged_models_can_be_reduced(weighted):
    weights = RNG.uniform(0.5, 2.0, len(X)) if weighted else None
    model = SVC(C=3.0, tol=1e-4, class_weight="balanced").fit(X, Y, weights)
    small = reduce_support(model, X, Y, max_vectors=25, sample_weight=weights)
    few = SVC(C=3.0, tol=1e-4, gamma=model.gamma_, class_weight=dict(enumerate(model.class_weight_)))
    totals = np.bincount(WHICH, weights, 150)
    of_few = reduce_support(few.fit(FEW, CLASS, totals), FEW, CLASS, max_vectors=25, sample_weight=totals)
    assert len(small.support_) == 25
    assert small.relative_gap_ == pytest.approx(of_few.relative_gap_, rel=0.5)


def test_a_model_of_rows_that_were_not_merged_can_be_reduced(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("swapsvm.fitting.inputs.merged_weights", lambda X, keys, weights: weights)
        model = SVC(C=3.0).fit(X, Y)
    assert set(model.support_) - set(FIRST)
    assert len(reduce_support(model, X, Y, max_vectors=25).support_) == 25


def test_a_merged_fit_continues_to_the_last_bit(tmp_path):
    options = {"C": 1e4, "tol": 1e-7, "gamma": 0.5}
    whole = SVC(**options).fit(X, Y)
    kept = SVC(**options, warm_start=True, max_iter=3)
    filed = SVC(**options, checkpoint=tmp_path / "fit", max_iter=3)
    for model in (kept, filed):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model.fit(X, Y)
        model.set_params(max_iter=-1).fit(X, Y)
        np.testing.assert_array_equal(model.dual_coef_, whole.dual_coef_)
        assert model.n_iter_ == whole.n_iter_


def test_a_merged_fit_starts_from_the_old_solution_of_fewer_rows():
    model = SVC(C=10.0, tol=1e-6, gamma=0.5, warm_start=True).fit(X[:1500], Y[:1500])
    model.fit(X, Y)
    fresh = SVC(C=10.0, tol=1e-6, gamma=0.5).fit(X, Y)
    assert model.results_[0].value == pytest.approx(fresh.results_[0].value, rel=1e-5)
    assert set(model.support_) <= set(FIRST)
