"""Models of at most ``max_vectors`` vectors, judged by NumPy in double."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from swapsvm import SVC, SVR, ConvergenceWarning, reduce_support
from swapsvm.files import load, save
from swapsvm.fitting import budget

GAMMA = 0.3


def noisy(rows, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=rows)
    return X, np.digitize(f, np.quantile(f, np.arange(1, classes) / classes))


def primal_of_pair(model, X, y, pair, weights):
    """P of the decision function of a pair, and what a Newton step in its coefficients and intercept would gain."""
    rows = np.flatnonzero(np.isin(y, pair))
    place = list(model.model_.pairs).index(pair) if len(model.classes_) > 2 else 0
    positive = pair[0] if len(model.classes_) > 2 else pair[1]
    signs, function = np.where(y[rows] == positive, 1.0, -1.0), model.model_.function(pair)
    own = np.flatnonzero(np.isin(y, pair)[model.support_])  # also vectors whose coefficient is 0
    vectors, coef = model.support_[own], model.model_.coefficients(pair)[own]
    K, intercept = rbf_kernel(X, X, gamma=GAMMA), model.intercept_[place]
    assert function.intercept == intercept
    slacks = np.maximum(0.0, 1.0 - signs * (K[np.ix_(rows, vectors)] @ coef + intercept))
    costs = model.C * weights[rows]
    square = coef @ K[np.ix_(vectors, vectors)] @ coef + intercept**2
    gain = newton_gain(K[np.ix_(vectors, vectors)], K[np.ix_(rows, vectors)], coef, intercept, costs, signs * slacks)
    return (square + costs @ slacks**2) / 2, gain


def newton_gain(K_FF, K_F, coef, intercept, costs, excess):
    """g'H^-1 g / 2 of P, in units of P: a gradient alone has no scale."""
    features = np.column_stack([K_F, np.ones(len(K_F))])
    square = np.eye(len(coef) + 1)
    square[:-1, :-1] = K_FF
    gradient = square @ np.append(coef, intercept) - features.T @ (costs * excess)
    inside = features[excess != 0] * np.sqrt(costs[excess != 0])[:, None]
    step = np.linalg.lstsq(square + inside.T @ inside, gradient, rcond=1e-13)[0]
    return 0.5 * gradient @ step


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("count", [10, 40])
def test_the_primal_value_is_that_of_the_model_and_its_least_over_the_vectors(classes, weighted, count):
    X, y = noisy(400, classes=classes)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, len(y)) if weighted else np.ones(len(y))
    model = SVC(C=4, gamma=GAMMA, max_vectors=count).fit(X, y, weights if weighted else None)
    assert len(model.support_) <= count
    for pair, claimed in zip(model.model_.pairs, model.primal_value_, strict=True):
        value, gain = primal_of_pair(model, X, y, pair, weights)
        assert value <= claimed <= value * (1 + 1e-8)
        assert gain < 2e-9 * value


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("count", [5, 60, 350])
def test_the_optimum_lies_between_the_bounds(dtype, sparse, count):
    X, y = noisy(400)
    X = X.astype(dtype)
    full = SVC(C=4, gamma=GAMMA, tol=1e-8).fit(X.astype(np.float64), y)
    model = SVC(C=4, gamma=GAMMA, max_vectors=count).fit(sp.csr_array(X) if sparse else X, y)
    assert model.dual_value_[0] <= full.primal_value_[0] and full.dual_value_[0] <= model.primal_value_[0]
    assert model.relative_gap_ == pytest.approx(model.primal_value_[0] / model.dual_value_[0] - 1, rel=1e-9)
    assert len(model.support_) <= count


def test_the_gap_falls_with_the_number_of_vectors():
    X, y = noisy(600)
    gaps = [SVC(C=4, gamma=GAMMA, max_vectors=count).fit(X, y).relative_gap_ for count in (10, 50, 250)]
    assert gaps[0] > gaps[1] > gaps[2]
    almost = SVC(C=4, gamma=GAMMA, max_vectors=599).fit(X, y)
    assert almost.relative_gap_ < 1e-3 and almost.stop_reason_ == "gap" and almost.fit_status_ == 0


def test_chosen_vectors_are_better_than_random_ones():
    X, y = noisy(1500)
    model = SVC(C=1, gamma=GAMMA, max_vectors=30).fit(X, y)
    rng = np.random.default_rng(0)
    for _ in range(3):
        few = FewVectorsOf(X, y, rng.choice(len(y), 30, replace=False))
        assert model.primal_value_[0] < few.primal_value


class FewVectorsOf:
    """The best function over given rows, by the library's own minimization."""

    def __init__(self, X, y, vectors):
        from swapsvm.fitting.few_vectors import FewVectors
        from swapsvm.gram import Gram
        from swapsvm.kernels import Rbf
        from swapsvm.problems import L2SVC

        gram = Gram(Rbf(gamma=GAMMA), X, groups=[np.flatnonzero(y == 1), np.flatnonzero(y == 0)])
        few = FewVectors(L2SVC.of(gram, 0, 1, 1.0), vectors)
        self.primal_value = few.minimize(few.function(np.zeros(len(vectors)), 0.0))[0].primal_value


def test_as_many_vectors_as_rows_are_an_ordinary_fit():
    X, y = noisy(200)
    model, full = SVC(gamma=GAMMA, max_vectors=200).fit(X, y), SVC(gamma=GAMMA).fit(X, y)
    assert np.array_equal(model.dual_coef_, full.dual_coef_) and model.n_iter_ == full.n_iter_


def test_larger_problems_choose_from_a_model_of_random_vectors(monkeypatch):
    X, y = noisy(900, classes=3)
    monkeypatch.setattr(budget, "MOST_ROWS", 300)
    monkeypatch.setattr(budget, "FEWEST_RANDOM", 200)
    model = SVC(C=4, gamma=GAMMA, max_vectors=60).fit(X, y)
    for pair, claimed in zip(model.model_.pairs, model.primal_value_, strict=True):
        value, gain = primal_of_pair(model, X, y, pair, np.ones(len(y)))
        assert value <= claimed <= value * (1 + 1e-8)
        assert gain < 2e-9 * value
    full = SVC(C=4, gamma=GAMMA, tol=1e-6).fit(X, y)
    assert (model.dual_value_ <= full.primal_value_).all()
    assert model.score(X, y) > 0.8


def regression(rows):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(rows, 2))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=rows)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_regression(weighted, epsilon):
    X, y = regression(400)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, len(y)) if weighted else np.ones(len(y))
    model = SVR(C=10, epsilon=epsilon, gamma=GAMMA, max_vectors=25).fit(X, y, weights)
    K, coef, intercept = rbf_kernel(X, gamma=GAMMA), model.dual_coef_[0], model.intercept_[0]
    left = y - K[:, model.support_] @ coef - intercept
    excess, costs = np.sign(left) * np.maximum(np.abs(left) - epsilon, 0), 10 * weights
    square = coef @ K[np.ix_(model.support_, model.support_)] @ coef + intercept**2
    value = (square + costs @ excess**2) / 2
    gain = newton_gain(K[np.ix_(model.support_, model.support_)], K[:, model.support_], coef, intercept, costs, excess)
    full = SVR(C=10, epsilon=epsilon, gamma=GAMMA, tol=1e-8).fit(X, y, weights)
    assert len(model.support_) <= 25
    assert value <= model.primal_value_ <= value * (1 + 1e-8)
    assert gain < 2e-9 * value
    assert model.dual_value_ <= full.primal_value_ and full.dual_value_ <= model.primal_value_
    assert model.score(X, y) > 0.9 and model.epsilon_ == epsilon


def test_targets_within_the_tube_need_no_function():
    X, y = regression(100)
    model = SVR(epsilon=100.0, max_vectors=5).fit(X, y)
    assert model.primal_value_ == 0 and model.relative_gap_ == 0 and (model.predict(X) == 0).all()


def test_contradictory_labels():
    X = np.repeat(np.random.default_rng(0).normal(size=(50, 3)), 2, axis=0)
    model = SVC(gamma=GAMMA, max_vectors=10).fit(X, np.tile([0, 1], 50))
    assert model.stop_reason_ == "gap"  # the best function is 0
    assert model.primal_value_[0] == pytest.approx(50, rel=1e-2) and np.abs(model.decision_function(X)).max() < 0.1


def test_equal_rows_make_a_singular_matrix():
    X, y = noisy(30)
    X, y = np.repeat(X, 20, axis=0), np.repeat(y, 20)
    model, full = SVC(C=4, gamma=GAMMA, max_vectors=29).fit(X, y), SVC(C=4, gamma=GAMMA, tol=1e-8).fit(X, y)
    assert full.dual_value_[0] <= model.primal_value_[0] and model.dual_value_[0] <= full.primal_value_[0]
    assert model.relative_gap_ < 0.5


def test_a_linear_kernel_needs_no_more_vectors_than_features():
    X, y = noisy(500)
    model = SVC(kernel="linear", max_vectors=50).fit(X, y)
    full = SVC(kernel="linear", tol=1e-6).fit(X, y)
    assert len(model.support_) <= 5 and model.relative_gap_ <= 0.01
    assert np.allclose(model.coef_, full.coef_, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("kernel", ["precomputed", rbf_kernel, "poly", "laplacian"])
def test_other_kernels(kernel):
    X, y = noisy(150)
    data = rbf_kernel(X) if kernel == "precomputed" else X
    model = SVC(kernel=kernel, max_vectors=20).fit(data, y)
    full = SVC(kernel=kernel, tol=1e-6).fit(data, y)
    assert len(model.support_) <= 20 and full.dual_value_[0] <= model.primal_value_[0]
    assert model.dual_value_[0] <= full.primal_value_[0] and model.predict(data).shape == y.shape


@pytest.mark.parametrize("classes", [2, 4])
def test_the_number_of_threads_changes_nothing(classes):
    X, y = noisy(600, classes=classes)
    models = [SVC(gamma=GAMMA, max_vectors=40, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 3)]
    for other in models[1:]:
        assert np.array_equal(other.support_, models[0].support_)
        assert np.array_equal(other.dual_coef_, models[0].dual_coef_)
        assert np.array_equal(other.primal_value_, models[0].primal_value_)
        assert np.array_equal(other.dual_value_, models[0].dual_value_)


def test_files(tmp_path):
    X, y = noisy(300, classes=3)
    model = SVC(gamma=GAMMA, max_vectors=30).fit(X, y)
    save(model, tmp_path / "few.swapsvm")
    again = load(tmp_path / "few.swapsvm")
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert again.max_vectors == 30 and again.stop_reason_ == model.stop_reason_
    assert np.array_equal(again.primal_value_, model.primal_value_)


def test_a_limit_of_time_is_kept():
    X, y = noisy(6000)
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = SVC(C=100, gamma=GAMMA, max_vectors=1500, max_time=0.05).fit(X, y)
    assert time.perf_counter() - began < 10  # the machine may be busy; without a limit it takes half a minute
    full_bound = SVC(C=100, gamma=GAMMA).fit(X, y)
    assert model.dual_value_[0] <= full_bound.primal_value_[0] and full_bound.dual_value_[0] <= model.primal_value_[0]
    assert len(model.support_) <= 1500


def test_without_time_for_a_rough_fit_vectors_are_random(monkeypatch):
    monkeypatch.setattr(budget, "MOST_ROWS", 0)
    monkeypatch.setattr(budget, "FEWEST_RANDOM", 2000)
    X, y = noisy(8000)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = SVC(gamma=GAMMA, max_vectors=40, max_time=1e-3).fit(X, y)
    assert len(model.support_) == 40 and model.stop_reason_ == "max_time"
    assert 0 < model.dual_value_[0] <= model.primal_value_[0] < np.inf


def test_a_callback_ends_the_fit():
    X, y = noisy(5000)  # too many for a single step
    with pytest.warns(ConvergenceWarning, match="callback"):
        model = SVC(gamma=GAMMA, max_vectors=30, callbacks=lambda progress: False).fit(X, y)
    assert model.stop_reason_ == "callback" and len(model.support_) <= 30 and np.isfinite(model.relative_gap_)


def test_ctrl_c_keeps_a_certified_model():
    X, y = noisy(4000)
    calls = []

    def interrupt(progress):
        if not calls:
            os.kill(os.getpid(), signal.SIGINT)
        calls.append(progress)

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = SVC(C=10, gamma=GAMMA, max_vectors=50, on_interrupt="keep", callbacks=interrupt).fit(X, y)
    assert threading.current_thread() is threading.main_thread() and model.stop_reason_ == "interrupted"
    assert 0 < model.dual_value_[0] <= model.primal_value_[0] and len(model.support_) <= 50


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_vectors": 0}, "'max_vectors' parameter .* Got 0"),
        ({"max_vectors": 2.5}, "'max_vectors' parameter .* an int"),
        ({"max_vectors": 2}, "max_vectors=2 must be at least the number of classes, 3"),
        ({"max_vectors": 9, "C": np.inf}, "finite C"),
        ({"max_vectors": 9, "warm_start": True}, "warm_start cannot be combined with max_vectors"),
        ({"max_vectors": 9, "checkpoint": "file"}, "checkpoint cannot be combined with max_vectors"),
    ],
)
def test_what_is_refused(parameters, message):
    X, y = noisy(60, classes=3)
    with pytest.raises(ValueError, match=message):
        SVC(**parameters).fit(X, y)


def test_a_learned_tube_is_refused():
    X, y = regression(50)
    with pytest.raises(ValueError, match="epsilon"):
        SVR(epsilon="auto", max_vectors=5).fit(X, y)


def test_an_indefinite_kernel_is_refused_or_certified():
    X, y = noisy(200)
    with pytest.raises(ValueError, match="positive semidefinite"):
        SVC(kernel="sigmoid", gamma=2.0, coef0=-3.0, max_vectors=50).fit(X, y)


def test_a_budgeted_model_cannot_be_reduced_further():
    X, y = noisy(200)
    with pytest.raises(ValueError, match="reduce the model"):
        reduce_support(SVC(gamma=GAMMA, max_vectors=40).fit(X, y), X, y, max_vectors=10)


@parametrize_with_checks([SVC(max_vectors=20), SVR(max_vectors=20)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
