"""SVR compared with LIBLINEAR, scikit-learn and itself."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR as PeerSVR
from sklearn.svm import LinearSVR

from swapsvm import SVR, ConvergenceWarning
from swapsvm.solvers import SOLVERS


def data(m=150, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + 0.2 * rng.normal(size=m) + 1.0


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_linear_kernel_agrees_with_liblinear(C, epsilon, weighted):
    X, y = data()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    ours = SVR(kernel="linear", C=C, epsilon=epsilon, tol=1e-9).fit(X, y, weights)
    judge = LinearSVR(
        loss="squared_epsilon_insensitive", C=C / 2, epsilon=epsilon, tol=1e-10, max_iter=10**6, random_state=0
    ).fit(X, y, weights)
    np.testing.assert_allclose(ours.coef_[0], judge.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, judge.intercept_, atol=1e-4)
    np.testing.assert_allclose(ours.predict(X), judge.predict(X), atol=1e-3)


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "fw"])
def test_without_a_tube_it_is_kernel_ridge_regression(solver):
    """With epsilon = 0 the loss is squared everywhere: u = (K + 1 + I/C)^-1 y."""
    X, y = data(80)
    ours = SVR(C=5.0, epsilon=0.0, gamma=0.5, tol=1e-9, solver=solver).fit(X, y)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)) + 1.0
    judge = KernelRidge(alpha=1 / 5.0, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(ours.predict(X), judge.predict(K), atol=1e-4)
    assert len(ours.support_) == 80


def test_the_certificate_is_primal_minus_dual():
    X, y = data(400)
    model = SVR(C=3.0, epsilon=0.1, gamma=0.3).fit(X, y)
    u, f = model.dual_coef_[0], model.predict(X)
    K = np.exp(-0.3 * ((model.support_vectors_[:, None] - model.support_vectors_[None]) ** 2).sum(axis=2)) + 1.0
    norm = u @ K @ u
    primal = norm / 2 + 1.5 * (np.maximum(np.abs(y - f) - 0.1, 0.0) ** 2).sum()
    dual = y[model.support_] @ u - 0.1 * np.abs(u).sum() - norm / 2 - (u**2).sum() / 6.0
    assert model.dual_gap_ == pytest.approx(primal - dual, rel=1e-6)
    assert model.relative_gap_ <= 0.01
    assert model.intercept_[0] == pytest.approx(u.sum())


@pytest.mark.parametrize("epsilon", [0.1, "auto"])
def test_weights_are_repetitions(epsilon):
    X, y = data(40)
    repeats = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = SVR(epsilon=epsilon, C=10, tol=1e-8).fit(X, y, repeats)
    repeated = SVR(epsilon=epsilon, C=10, tol=1e-8).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5)
    assert weighted.epsilon_ == pytest.approx(repeated.epsilon_, abs=1e-5)
    assert not set(weighted.support_) & set(np.flatnonzero(repeats == 0))


def test_a_learned_tube_follows_the_noise():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(400, 1))
    widths = []
    for noise in (0.2, 0.5):
        model = SVR(epsilon="auto", C=10).fit(X, np.sin(X[:, 0]) + noise * rng.normal(size=400))
        widths.append(model.epsilon_)
    assert 0 < widths[0] < widths[1] < 1


@pytest.mark.parametrize("epsilon", [0.1, "auto"])
@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_scaled_targets_have_a_scaled_model(epsilon, scale):
    """Also with kernel values in single precision."""
    X, y = data(1500)
    width = epsilon if epsilon == "auto" else scale * epsilon
    first, second = SVR(epsilon=epsilon, tol=1e-3).fit(X, y), SVR(epsilon=width, tol=1e-3).fit(X, scale * y)
    np.testing.assert_allclose(second.predict(X) / scale, first.predict(X), atol=1e-2 if epsilon == "auto" else 1e-8)
    assert second.epsilon_ / scale == pytest.approx(first.epsilon_, rel=2e-2)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csr_array], ids=["dense", "csr", "csr_array"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_storage_and_precision_make_no_difference(make, dtype):
    X, y = data()
    X[X < 0] = 0
    first, second = SVR(tol=1e-4).fit(X, y), SVR(tol=1e-4).fit(make(X.astype(dtype)), y)
    np.testing.assert_allclose(second.predict(make(X.astype(dtype))), first.predict(X), atol=2e-2)


def test_precomputed_and_callable_kernels_agree_with_the_built_in():
    X, y = data()

    def rbf(A, B):
        return np.exp(-0.25 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    built_in = SVR(gamma=0.25, tol=1e-6).fit(X, y).predict(X)
    np.testing.assert_allclose(SVR(kernel=rbf, tol=1e-6).fit(X, y).predict(X), built_in, atol=1e-3)
    np.testing.assert_allclose(
        SVR(kernel="precomputed", tol=1e-6).fit(rbf(X, X), y).predict(rbf(X, X)), built_in, atol=1e-3
    )


def test_attributes_are_those_of_scikit_learn():
    X, y = data()
    ours, peer = SVR().fit(X, y), PeerSVR().fit(X, y)
    for name in ("support_", "support_vectors_", "dual_coef_", "intercept_", "n_support_", "shape_fit_", "fit_status_"):
        assert np.ndim(getattr(ours, name)) == np.ndim(getattr(peer, name)), name
    assert ours.dual_coef_.shape == (1, len(ours.support_)) == (1, ours.n_support_[0])
    assert isinstance(ours.n_iter_, int)
    assert np.array_equal(ours.support_vectors_, X[ours.support_])
    inside = np.setdiff1d(np.arange(len(y)), ours.support_)
    assert (np.abs(y - ours.predict(X))[inside] <= 0.1 + 0.05).all()
    with pytest.raises(AttributeError, match="linear"):
        _ = ours.coef_


def test_errors_on_real_data_are_those_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), (y - y.mean()) / y.std()

    def error(model, C):
        model = model(C=C, gamma=0.02, epsilon=0.1).fit(X[:300], y[:300])
        return np.mean((model.predict(X[300:]) - y[300:]) ** 2)

    ours, peer = (min(error(model, C) for C in (0.1, 1.0, 10.0)) for model in (SVR, PeerSVR))
    assert ours <= 1.05 * peer


def test_grids_pipelines_clones_and_pickles():
    X, y = data()
    search = GridSearchCV(make_pipeline(StandardScaler(), SVR()), {"svr__C": [0.1, 10], "svr__epsilon": [0.1, "auto"]})
    best = search.fit(X, y).best_estimator_
    assert best.score(X, y) > 0.8
    model = clone(best[-1]).fit(X, y)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.parametrize("epsilon", [0.1, "auto"])
def test_a_warm_start_goes_on(epsilon):
    X, y = data(800)
    model = SVR(C=1.0, epsilon=epsilon, warm_start=True).fit(X, y)
    cold = SVR(C=1.2, epsilon=epsilon).fit(X, y)
    warm = model.set_params(C=1.2).fit(X, y)
    assert warm.n_iter_ <= cold.n_iter_
    assert warm.relative_gap_ <= 0.01
    np.testing.assert_allclose(warm.predict(X), cold.predict(X), atol=0.1)
    moved = model.fit(X, y + 0.1)  # other targets
    assert moved.relative_gap_ <= 0.01


def test_threads_make_no_difference():
    X, y = data(1500)
    assert np.array_equal(SVR(n_jobs=1).fit(X, y).predict(X), SVR(n_jobs=2).fit(X, y).predict(X))


def test_targets_inside_of_the_tube_need_no_support_vectors():
    X, y = data()
    model = SVR(epsilon=100.0).fit(X, y)
    assert (len(model.support_), model.relative_gap_, model.stop_reason_) == (0, 0.0, "gap")
    assert not model.predict(X).any()


def test_limits_end_a_fit_with_a_certified_model():
    X, y = data(2000)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = SVR(C=100, max_iter=3).fit(X, y)
    assert model.relative_gap_ > 0.01
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = SVR(C=1e8, epsilon=0.0, tol=1e-8, max_time=0.5).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": -0.1}, "'epsilon' .* Got -0.1"),
        ({"epsilon": np.nan}, "'epsilon' .* Got nan"),
        ({"epsilon": None}, "'epsilon' .* Got None"),
        ({"C": None}, "'C' .* Got None"),
        ({"C": "1"}, "'C' .* Got '1'"),
        ({"C": 1e300}, "lower C"),
        ({"epsilon": np.inf}, "'epsilon' .* Got inf"),
        ({"epsilon": "small"}, "'epsilon' .* Got 'small'"),
        ({"C": 0.0}, "'C' .* Got 0.0"),
        ({"solver": "smo"}, "'solver' .* Got 'smo'"),
        ({"solver": "cvm", "kernel": "linear"}, "constant"),
        ({"kernel": "precomputed"}, "square"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = data(30)
    model = SVR().fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.set_params(**parameters).fit(X, y)
    assert not hasattr(model, "support_")


@pytest.mark.parametrize(
    ("y", "weights", "message"),
    [
        (np.full(30, np.nan), None, "NaN"),
        (np.full(30, 1e200), None, "scale y"),
        (np.full(30, 1e-200), None, "scale y"),
        (np.array(["a", "b", "c"] * 10), None, "could not convert|dtype|numeric"),
        (np.ones((30, 2, 2)), None, "dim 3"),
        (np.ones(29), None, "inconsistent"),
        (np.ones(30), np.zeros(30), "non-zero"),
        (np.ones(30), -np.ones(30), "[Nn]egative"),
    ],
)
def test_bad_targets_and_weights_are_named(y, weights, message):
    with pytest.raises(ValueError, match=message):
        SVR().fit(data(30)[0], y, weights)


@pytest.mark.parametrize("solver", ["block", "swap2"])
@pytest.mark.parametrize("epsilon", [0.1, "auto"])
def test_a_checkpoint_continues_to_the_last_bit(tmp_path, solver, epsilon):
    """The radius of the simplex is part of the standing of a run."""
    X, y = data(600)
    settings = {"C": 10.0, "epsilon": epsilon, "solver": solver, "tol": 1e-5}
    whole = SVR(**settings).fit(X, y)
    path = tmp_path / "fit.checkpoint"
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        SVR(**settings, checkpoint=path, max_iter=4).fit(X, y)
    resumed = SVR(**settings, checkpoint=path).fit(X, y)
    assert np.array_equal(resumed.predict(X), whole.predict(X))
    assert resumed.n_iter_ == whole.n_iter_
    with pytest.raises(ValueError, match="another fit"):
        SVR(**settings, checkpoint=path).fit(X, 2 * y)


def test_scaled_targets_are_another_problem_for_a_warm_start():
    """Its linear term on the simplex is the same; the radius is not."""
    X, y = data(300)
    model = SVR(epsilon=0.1, warm_start=True).fit(X, y)
    scaled = model.set_params(epsilon=0.2).fit(X, 2 * y)
    np.testing.assert_allclose(scaled.predict(X), 2 * SVR(epsilon=0.1).fit(X, y).predict(X), atol=0.2)
    assert scaled.relative_gap_ <= 0.01


def test_callbacks_see_the_fit_and_may_end_it():
    X, y = data(2000)
    seen = []
    with pytest.warns(ConvergenceWarning, match="callback"):
        model = SVR(C=100, tol=1e-6, callbacks=lambda progress: seen.append(progress) or len(seen) < 3).fit(X, y)
    assert (len(seen), model.stop_reason_) == (3, "callback")
    assert seen[0].pair == ()
    assert seen[-1].value > 0


def test_a_certificate_that_finds_a_larger_gap_once_does_not_end_the_fit():
    """Rows that were left out violate twice in a row: the gap was 0.08 when the fit ended by "precision"."""
    rng = np.random.default_rng(44)
    rows = rng.integers(-2, 3, size=(48, 3)) / 2.0
    y = rows[:, 0] * rows[:, 1] + rng.normal(size=48)
    model = SVR(C=1e4, gamma=0.5, epsilon=0.1, expectile=0.9).fit(rows, y)
    assert model.stop_reason_ == "gap" and model.relative_gap_ <= model.tol
