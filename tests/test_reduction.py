"""Fewer support vectors: the best coefficients by a QP solver, the certificate by NumPy, the choice by brute force."""

import copy
import pickle
import warnings
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from qpsolvers import solve_qp
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from swapsvm import SVC, SVCCV, ConvergenceWarning, Gram, reduce_support
from swapsvm.files import load, save
from swapsvm.fitting.pursuit import Order, Pursuit
from swapsvm.kernels import Rbf

from . import reference


@pytest.fixture(scope="module")
def binary():
    X, y = make_classification(160, 5, n_informative=4, n_redundant=0, flip_y=0.15, random_state=0)
    return X, y, SVC(C=2.0, gamma=0.2, tol=1e-4).fit(X, y)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    return X[:900], y[:900], X[900:], y[900:], SVC(C=16).fit(X[:900], y[:900])


def pairs_of(model, X, y, weights=None):
    """For each pair of classes: its rows, y = +-1, C times weights; vectors, coefficients and intercept of a model."""
    weights = (np.ones(len(y)) if weights is None else weights) * model.class_weight_[
        np.searchsorted(model.classes_, y)
    ]
    n_classes = len(model.classes_)
    owner = np.repeat(np.arange(n_classes), model.n_support_)
    for index, (a, b) in enumerate(combinations(range(n_classes), 2)):
        rows = np.flatnonzero(np.isin(y, model.classes_[[a, b]]) & (weights > 0))
        positive = model.classes_[a if n_classes > 2 else b]
        if n_classes == 2:
            vectors, coef = model.support_, model.dual_coef_[0]
        else:
            own = [np.flatnonzero(owner == a), np.flatnonzero(owner == b)]
            vectors = model.support_[np.concatenate(own)]
            coef = np.concatenate([model.dual_coef_[b - 1, own[0]], model.dual_coef_[a, own[1]]])
        yield (
            rows,
            np.where(y[rows] == positive, 1.0, -1.0),
            model.C * weights[rows],
            vectors,
            coef,
            model.intercept_[index],
        )


def objective(K, rows, signs, costs, vectors, coef, intercept):
    """1/2 |w|^2 + 1/2 b^2 + 1/2 sum c_i slack_i^2."""
    slack = np.maximum(0.0, 1.0 - signs * (K[np.ix_(rows, vectors)] @ coef + intercept))
    return (coef @ K[np.ix_(vectors, vectors)] @ coef + intercept**2 + costs @ slack**2) / 2


def least_objective(K, rows, signs, costs, vectors):
    """The minimum over coefficients of these vectors, by a QP solver: variables (coef, b, slacks)."""
    r, n = len(vectors), len(rows)
    P = sp.block_diag([K[np.ix_(vectors, vectors)], [[1.0]], sp.diags(costs)], format="csc")
    margins = signs[:, None] * np.column_stack([K[np.ix_(rows, vectors)], np.ones(n)])
    G, h = sp.csc_matrix(np.hstack([-margins, -np.eye(n)])), -np.ones(n)
    precision = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    x = solve_qp(P, np.zeros(r + 1 + n), G=G, h=h, solver="clarabel", **precision)
    return float(x @ (P @ x)) / 2


def lower_bound(K, rows, signs, costs, vectors, coef):
    """(1'b)^2 / (2 b'Qb) for b = |coef|: the dual of the whole problem at the best multiple of b."""
    b = np.zeros(len(K))
    b[vectors] = np.abs(coef)
    b = b[rows]
    Q = np.outer(signs, signs) * (K[np.ix_(rows, rows)] + 1.0) + np.diag(1.0 / costs)
    return b.sum() ** 2 / (2 * b @ Q @ b)


def check_certificate(model, small, K, X, y, weights=None):
    """Gap and optimality of a reduced model against NumPy and a QP solver; the gap of each pair."""
    gaps = []
    for full, part in zip(pairs_of(model, X, y, weights), pairs_of(small, X, y, weights), strict=True):
        reached, bound = objective(K, *part), lower_bound(K, *full[:5])
        gaps.append(reached / bound - 1)
        assert reached <= least_objective(K, *part[:4]) * (1 + 1e-6)
    assert small.relative_gap_ == pytest.approx(max(gaps), rel=1e-6, abs=1e-9)
    return gaps


# ---- what is promised -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 5, 20, 60])
def test_certificate_and_coefficients_of_two_classes(binary, count):
    X, y, model = binary
    small = reduce_support(model, X, y, max_vectors=count)
    assert len(small.support_) == count < len(model.support_)
    K = rbf_kernel(X, gamma=0.2)
    check_certificate(model, small, K, X, y)
    rows, signs, costs, *_ = next(pairs_of(model, X, y))
    Q = np.outer(signs, signs) * (K[np.ix_(rows, rows)] + 1.0) + np.diag(1.0 / costs)
    best = 1.0 / (-2.0 * reference.value(Q, reference.exact_weights(Q)))  # of the whole problem
    reached = objective(K, *next(pairs_of(small, X, y)))
    assert best * (1 - 1e-7) <= reached <= best * (1 + small.relative_gap_)
    assert small.dual_gap_ == pytest.approx(small.relative_gap_ * -model.results_[0].value, rel=1e-3)


def test_certificate_and_coefficients_of_many_classes(digits):
    X, y, _, _, model = digits
    few = np.isin(y, [1, 3, 7, 8])
    X, y = X[few][:160], y[few][:160]
    model = SVC(C=4.0, gamma=0.05).fit(X, y)
    small = reduce_support(model, X, y, max_vectors=30)
    assert len(small.support_) == 30 and set(small.support_) <= set(model.support_)
    check_certificate(model, small, rbf_kernel(X, gamma=0.05), X, y)
    assert len(small.n_iter_) == 6


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_classes=st.integers(2, 4),
    kernel=st.sampled_from(["linear", "rbf", "poly", "laplacian"]),
    C=st.sampled_from([0.1, 1.0, 100.0]),
    count=st.integers(1, 40),
    weighted=st.booleans(),
)
def test_never_more_vectors_and_never_above_the_certificate(seed, n_classes, kernel, C, count, weighted):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(48, 3)) / 2.0  # rows repeat
    y = np.arange(48) % n_classes
    weights = rng.integers(0, 4, size=48) * 1.0 if weighted else None
    if weighted:
        weights[:n_classes] = 1.0
    model = SVC(kernel=kernel, C=C, gamma=0.5, degree=2, coef0=1.0).fit(X, y, weights)
    small = reduce_support(model, X, y, max_vectors=count, sample_weight=weights)
    assert 1 <= len(small.support_) <= min(count, len(model.support_))
    assert set(small.support_) <= set(model.support_)
    if count >= len(model.support_):
        return
    K = reference.kernel_values(model.model_.vectors.kernel, X)
    gaps = [
        objective(K, *part) / lower_bound(K, *full[:5]) - 1
        for full, part in zip(pairs_of(model, X, y, weights), pairs_of(small, X, y, weights), strict=True)
    ]
    assert small.relative_gap_ == pytest.approx(max(gaps), rel=1e-5, abs=1e-7)
    assert min(gaps) > -1e-7  # weak duality


def test_the_given_model_is_not_changed(binary):
    X, y, model = binary
    names = ("support_", "support_vectors_", "dual_coef_", "intercept_", "classes_", "relative_gap_")
    before = copy.deepcopy({name: getattr(model, name) for name in names})
    small = reduce_support(model, X, y, max_vectors=10)
    np.multiply(small.dual_coef_, 2.0, out=small.dual_coef_)
    small.classes_ += 1
    for name in names:
        np.testing.assert_array_equal(getattr(model, name), before[name])


def test_all_vectors_are_the_model_itself(binary):
    X, y, model = binary
    same = reduce_support(model, X, y, max_vectors=10**6)
    assert same is not model and same.relative_gap_ == model.relative_gap_
    np.testing.assert_array_equal(same.decision_function(X), model.decision_function(X))


def test_few_vectors_span_a_linear_model():
    X, y = make_classification(300, 3, n_informative=3, n_redundant=0, flip_y=0.1, random_state=1)
    model = SVC(kernel="linear", tol=1e-8).fit(X, y)
    small = reduce_support(model, X, y, max_vectors=50)
    assert len(small.support_) <= 3 < len(model.support_)
    assert small.relative_gap_ <= 2e-6 and small.stop_reason_ in ("gap", "reduced")
    np.testing.assert_allclose(small.coef_, model.coef_, atol=1e-4)


def test_few_digits_are_as_accurate(digits):
    X, y, X_test, y_test, model = digits
    small = reduce_support(model, X, y, max_vectors=150)
    assert len(small.support_) == 150 < len(model.support_) / 3
    assert small.score(X_test, y_test) >= model.score(X_test, y_test) - 0.01
    assert small.stop_reason_ == "reduced" and small.fit_status_ == 1
    most = reduce_support(model, X, y, max_vectors=len(model.support_) - 1)
    assert most.relative_gap_ < 0.01 < small.relative_gap_ and most.stop_reason_ == "gap" and most.fit_status_ == 0


def test_the_choice_is_better_than_random_ones(binary):
    X, y, model = binary
    K = rbf_kernel(X, gamma=0.2)
    rows, signs, costs, *_ = next(pairs_of(model, X, y))
    small = reduce_support(model, X, y, max_vectors=15)
    ours = objective(K, *next(pairs_of(small, X, y)))
    rng = np.random.default_rng(0)
    others = [least_objective(K, rows, signs, costs, rng.choice(model.support_, 15, replace=False)) for _ in range(20)]
    assert ours < min(others)


# ---- as many kinds of input as SVC takes ------------------------------------------------------------------------


def test_precomputed_and_callable_kernels_give_the_same(binary):
    X, y, model = binary
    K = rbf_kernel(X, gamma=0.2)
    expected = reduce_support(model, X, y, max_vectors=12)
    given_matrix = SVC(C=2.0, kernel="precomputed", tol=1e-4).fit(K, y)
    of_matrix = reduce_support(given_matrix, K, y, max_vectors=12)
    function = SVC(C=2.0, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.2), tol=1e-4).fit(X, y)
    of_function = reduce_support(function, X, y, max_vectors=12)
    for small, rows in ((of_matrix, K), (of_function, X)):
        assert small.relative_gap_ == pytest.approx(expected.relative_gap_, rel=0.02)
        np.testing.assert_allclose(small.decision_function(rows), expected.decision_function(X), atol=0.02)


def test_sparse_and_single_precision_rows(binary):
    X, y, model = binary
    expected = reduce_support(model, X, y, max_vectors=12).decision_function(X)
    sparse = SVC(C=2.0, gamma=0.2, tol=1e-4).fit(sp.csr_matrix(X), y)
    small = reduce_support(sparse, sp.csr_matrix(X), y, max_vectors=12)
    assert sp.issparse(small.support_vectors_)
    np.testing.assert_allclose(small.decision_function(X), expected, atol=0.02)
    single = SVC(C=2.0, gamma=0.2, tol=1e-4).fit(X.astype(np.float32), y)
    small = reduce_support(single, X.astype(np.float32), y, max_vectors=12)
    assert small.support_vectors_.dtype == np.float32
    np.testing.assert_allclose(small.decision_function(X), expected, atol=0.02)


def test_a_weight_is_a_number_of_copies(binary):
    X, y, _ = binary
    counts = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = SVC(C=2.0, gamma=0.2, tol=1e-6).fit(X, y, counts.astype(float))
    repeated = SVC(C=2.0, gamma=0.2, tol=1e-6).fit(X.repeat(counts, axis=0), y.repeat(counts))
    by_weight = reduce_support(weighted, X, y, max_vectors=12, sample_weight=counts)
    by_copies = reduce_support(repeated, X.repeat(counts, axis=0), y.repeat(counts), max_vectors=12)
    np.testing.assert_allclose(by_weight.decision_function(X), by_copies.decision_function(X), atol=1e-3)
    assert by_weight.relative_gap_ == pytest.approx(by_copies.relative_gap_, abs=1e-4)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 5.0, 1: 0.5}])
def test_class_weights_count(binary, class_weight):
    X, y, _ = binary
    model = SVC(C=2.0, gamma=0.2, class_weight=class_weight).fit(X[30:], y[30:])
    small = reduce_support(model, X[30:], y[30:], max_vectors=10)
    check_certificate(model, small, rbf_kernel(X[30:], gamma=0.2), X[30:], y[30:])


def test_text_labels_and_a_class_without_weight(digits):
    X, y, _, _, _ = digits
    X, names = X[:200], np.array(list("abcdefghij"))[y[:200]]
    weights = np.where(names == "c", 0.0, 1.0)
    model = SVC(gamma=0.05).fit(X, names, weights)
    small = reduce_support(model, X, names, max_vectors=40, sample_weight=weights)
    assert len(small.support_) == 40
    assert "c" not in small.predict(X) and (small.predict(X) == names).mean() > 0.8


def test_rows_without_length_leave_the_intercept():
    X, y = np.zeros((30, 2)), np.arange(30) % 3 == 0
    model = SVC(kernel="linear").fit(X, y)
    small = reduce_support(model, X, y, max_vectors=3)
    assert len(small.support_) == 1 and small.relative_gap_ <= 0.01
    np.testing.assert_allclose(small.decision_function(X), model.decision_function(X), atol=0.01)


def test_a_reduced_model_is_a_model(binary, tmp_path):
    X, y, model = binary
    small = reduce_support(model, X, y, max_vectors=10)
    save(small, tmp_path / "small.swapsvm")
    for other in (load(tmp_path / "small.swapsvm"), pickle.loads(pickle.dumps(small))):
        np.testing.assert_array_equal(other.decision_function(X), small.decision_function(X))
        assert other.relative_gap_ == small.relative_gap_ and other.stop_reason_ == "reduced"
    reduced_again = load(tmp_path / "small.swapsvm")
    with pytest.raises(ValueError, match="as after a reduction: reduce the model that it came from"):
        reduce_support(reduced_again, X, y, max_vectors=5)
    save(model, tmp_path / "model.swapsvm")
    loaded = reduce_support(load(tmp_path / "model.swapsvm"), X, y, max_vectors=10)
    np.testing.assert_array_equal(loaded.dual_coef_, small.dual_coef_)


# ---- by accuracy ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [0.005, 0.02, 0.05])
def test_accuracy_is_within_the_loss_and_less_would_not_do(digits, loss):
    X, y, X_test, y_test, model = digits
    small = reduce_support(model, X, y, max_accuracy_loss=loss, validation=(X_test, y_test))
    least = model.score(X_test, y_test) - loss
    assert small.score(X_test, y_test) >= least
    assert len(small.support_) < len(model.support_) / 2
    fewer = reduce_support(model, X, y, max_vectors=int(0.9 * len(small.support_)))
    assert fewer.score(X_test, y_test) < least


def test_an_accuracy_that_needs_all_vectors_gives_the_model():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 30)), np.arange(40) % 2  # noise: each row is independent
    model = SVC(C=1e4, gamma=5.0).fit(X, y)
    small = reduce_support(model, X, y, max_accuracy_loss=0.0, validation=(X, y))
    assert small.score(X, y) == model.score(X, y) == 1.0 and len(small.support_) > 25


# ---- limits and refusals ------------------------------------------------------------------------------------------


def test_time_ends_a_reduction_with_a_certificate(binary):
    X, y, model = binary
    hasty = copy.copy(model).set_params(max_time=1e-9)
    with pytest.warns(ConvergenceWarning, match="'max_time' stopped the reduction"):
        small = reduce_support(hasty, X, y, max_vectors=20)
    assert small.stop_reason_ == "max_time" and small.fit_status_ == 1 and 1 <= len(small.support_) <= 20
    reached, bound = objective(rbf_kernel(X, gamma=0.2), *next(pairs_of(small, X, y))), None
    bound = lower_bound(rbf_kernel(X, gamma=0.2), *next(pairs_of(model, X, y))[:5])
    assert small.relative_gap_ == pytest.approx(reached / bound - 1)


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        ({}, "pass one of max_vectors=None and max_accuracy_loss=None"),
        ({"max_vectors": 5, "max_accuracy_loss": 0.1}, "and not both"),
        ({"max_vectors": 0}, "max_vectors=0 must be a positive integer"),
        ({"max_vectors": 2.5}, "max_vectors=2.5 must be"),
        ({"max_vectors": np.inf}, "max_vectors=inf must be"),
        ({"max_accuracy_loss": -0.1, "validation": ([], [])}, r"max_accuracy_loss=-0.1 must be in \[0, 1\)"),
        ({"max_accuracy_loss": 0.1}, "belong together"),
        ({"max_vectors": 5, "validation": ([], [])}, "belong together"),
        ({"max_accuracy_loss": 0.1, "validation": np.eye(2)}, r"must be a pair \(X, y\) .*, not ndarray"),
    ],
)
def test_bad_requests(binary, request_, complaint):
    X, y, model = binary
    with pytest.raises(ValueError, match=complaint):
        reduce_support(model, X, y, **request_)


def test_other_estimators_and_unfitted_ones(binary):
    X, y, _ = binary
    with pytest.raises(NotFittedError, match="not fitted"):
        reduce_support(SVC(), X, y, max_vectors=5)
    for other in (LogisticRegression(), SVCCV()):
        with pytest.raises(ValueError, match=f"only an SVC or SVR can be reduced, not {type(other).__name__}"):
            reduce_support(other, X, y, max_vectors=5)


def test_other_data(binary):
    X, y, model = binary
    moved, turned = X.copy(), y.copy()
    moved[model.support_[3]] += 1e-9
    turned[model.support_[3]] = 1 - turned[model.support_[3]]
    unseen = np.setdiff1d(np.arange(len(y)), model.support_)[:10]
    wrong = y.copy()
    wrong[unseen] = 1 - wrong[unseen]
    for X_other, y_other, weights, complaint in (
        (X[1:], y[1:], None, "159 rows, but the model was fitted on 160"),
        (X[:, 1:], y, None, "features"),
        (moved, y, None, "support vectors are not the rows"),
        (X, turned, None, "support vectors are not the rows"),
        (X, wrong, None, "on these data the model has a relative gap of"),
        (X, y + 1, None, "y has the label"),
        (X, y, np.full(len(y), 3.0), "on these data the model has a relative gap of"),
        (X, y, -np.ones(len(y)), "[Nn]egative"),
    ):
        with pytest.raises(ValueError, match=complaint):
            reduce_support(model, X_other, y_other, max_vectors=5, sample_weight=weights)
    with pytest.raises(ValueError, match="C that it was fitted with"):
        reduce_support(copy.copy(model).set_params(C=20.0), X, y, max_vectors=5)


def test_an_indefinite_kernel_is_refused(binary):
    X, y, _ = binary
    model = SVC(kernel="sigmoid", coef0=-1.0, gamma=0.01, C=0.01).fit(X, y)
    with pytest.raises(ValueError, match="not positive semidefinite on these rows"):
        reduce_support(model, X, y, max_vectors=5)


@pytest.mark.parametrize("C", [1e-6, 1e8])
@pytest.mark.parametrize("scale", [1e-3, 1e3])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_any_scale_of_data_and_cost(binary, kernel, scale, C):
    X, y = scale * binary[0], binary[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVC(kernel=kernel, C=C, max_time=0.3).fit(X, y)
    model.set_params(max_time=None)
    if model.relative_gap_ == np.inf:
        with pytest.raises(ValueError, match="lost in the rounding"):
            reduce_support(model, X, y, max_vectors=20)
        return
    small = reduce_support(model, X, y, max_vectors=20)
    assert small.stop_reason_ in ("gap", "reduced") and len(small.support_) <= 20
    K = reference.kernel_values(model.model_.vectors.kernel, X)
    full, part = next(pairs_of(model, X, y)), next(pairs_of(small, X, y))
    bound = lower_bound(K, *full[:5])
    rounding = 1e-15 * 2 * bound * np.abs(K).max()  # of f = 1 / (2 bound), a sum of numbers of the size of K
    expected = objective(K, *part) / bound - 1
    assert small.relative_gap_ == pytest.approx(expected, rel=1e-4, abs=1e-6 + rounding * (1 + expected))


# ---- the choice ---------------------------------------------------------------------------------------------------


def test_each_choice_leaves_least(binary):
    """Brute force: of all vectors, the one whose addition brings the projection closest to the functions."""
    X, _, _ = binary
    rows, gamma = np.arange(25), 0.3
    coef = np.random.default_rng(0).normal(size=(25, 2))
    K = rbf_kernel(X[:25], gamma=gamma)

    def left(chosen):
        part = K[:, chosen]
        best = np.linalg.lstsq(K[np.ix_(chosen, chosen)], part.T @ coef, rcond=None)[0]
        rest = coef.copy()
        rest[chosen] -= best
        return np.trace(rest.T @ K @ rest)

    order = Order([Pursuit(Gram(Rbf(gamma=gamma), X[:25]), rows, coef)]).first(8)
    for k in range(8):
        others = {j: left([*order[:k], j]) for j in range(25) if j not in order[:k]}
        assert others[order[k]] == pytest.approx(min(others.values()), rel=1e-8)


def test_first_vectors_do_not_depend_on_how_many_follow(digits):
    X, y, _, _, model = digits
    few = reduce_support(model, X, y, max_vectors=20)
    many = reduce_support(model, X, y, max_vectors=60)
    assert set(few.support_) < set(many.support_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = reduce_support(model, X, y, max_vectors=60)
    np.testing.assert_array_equal(many.dual_coef_, again.dual_coef_)
