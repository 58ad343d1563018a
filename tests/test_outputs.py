"""SVR with several outputs: the models of as many fits, over one set of support vectors."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.datasets import load_linnerud
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.preprocessing import scale

from swapsvm import SVR, ConvergenceWarning, files
from swapsvm.kernels import Linear, Rbf, Sum


def data(m=200, features=4, outputs=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, features))
    X[rng.random(X.shape) < 0.3] = 0
    return X, np.tanh(X @ rng.normal(size=(features, outputs))) + 0.1 * rng.normal(size=(m, outputs))


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [120, 1300])
def test_each_output_has_the_bits_of_a_fit_of_its_own(store, dtype, rows):
    X, Y = data(rows)
    X, weights = store(X.astype(dtype)), np.random.default_rng(1).uniform(0.5, 2.0, rows)
    weights[:5] = 0
    settings = {"C": 3.0, "gamma": 0.3, "epsilon": 0.05}
    together, again = (SVR(**settings, n_jobs=n).fit(X, Y, weights) for n in (1, 2))
    np.testing.assert_array_equal(together.dual_coef_, again.dual_coef_)
    for k, y in enumerate(Y.T):
        alone, own = SVR(**settings).fit(X, y, weights), np.flatnonzero(together.dual_coef_[k])
        np.testing.assert_array_equal(together.support_[own], alone.support_)
        np.testing.assert_array_equal(together.dual_coef_[k, own], alone.dual_coef_[0])
        np.testing.assert_allclose(together.predict(X)[:, k], alone.predict(X), atol=1e-5)
        assert together.intercept_[k] == alone.intercept_[0]
        found = together.primal_value_[k], together.dual_value_[k], together.n_iter_[k]
        assert found == (alone.primal_value_, alone.dual_value_, alone.n_iter_)


@pytest.mark.parametrize("settings", [{"kernel": "linear"}, {"epsilon": "auto"}, {"expectile": 0.8, "solver": "swap2"}])
def test_attributes_have_an_entry_for_each_output(settings):
    X, Y = data()
    model = SVR(tol=1e-6, **settings).fit(X, Y)
    judge = MultiOutputRegressor(SVR(tol=1e-6, **settings)).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), judge.predict(X), atol=1e-4)
    assert model.predict(X).shape == Y.shape and model.dual_coef_.shape == (3, len(model.support_))
    assert model.intercept_.shape == model.epsilon_.shape == model.primal_value_.shape == model.n_iter_.shape == (3,)
    np.testing.assert_allclose(model.epsilon_, [each.epsilon_ for each in judge.estimators_], rtol=1e-3)
    assert model.relative_gap_ == max(result.relative_primal_gap for result in model.results_) <= 1e-6
    assert set(model.trace_["pair"]) == {0, 1, 2}
    assert model.score(X, Y) == pytest.approx(r2_score(Y, model.predict(X)))


def test_a_linear_fit_without_a_tube_is_ridge_regression():
    X, Y = map(scale, load_linnerud(return_X_y=True))
    found = SVR(kernel="linear", C=2.0, epsilon=0.0, tol=1e-10).fit(X, Y)
    extended = np.column_stack([X, np.ones(len(X))])  # the bias is regularized
    judge = Ridge(alpha=0.5, fit_intercept=False).fit(extended, Y)
    np.testing.assert_allclose(np.column_stack([found.coef_, found.intercept_]), judge.coef_, atol=1e-5)


def test_one_column_is_one_output_and_no_column_is_refused():
    X, Y = data()
    one, flat = SVR().fit(X, Y[:, :1]), SVR().fit(X, Y[:, 0])
    np.testing.assert_array_equal(one.predict(X)[:, 0], flat.predict(X))
    assert one.predict(X).shape == (200, 1)
    with pytest.raises(ValueError, match=r"y has no column \(its shape is \(200, 0\)\)"):
        SVR().fit(X, Y[:, :0])
    with pytest.raises(ValueError, match="sparse"):
        SVR().fit(X, sp.csr_array(Y))


def test_equal_rows_are_merged_if_all_outputs_are_equal():
    X, Y = data(600)
    X, Y = np.vstack([X, X, X[:100]]), np.vstack([Y, Y, Y[:100] + np.eye(3)[2]])
    model = SVR(epsilon=0.0, tol=1e-8).fit(X, Y)
    assert len(model.support_) == 700
    judge = SVR(epsilon=0.0, tol=1e-8).fit(X[:700], Y[:700])
    assert np.abs(model.predict(X[:9]) - judge.predict(X[:9])).max() > 0.01
    singles = [SVR(epsilon=0.0, tol=1e-8).fit(X, y).predict(X) for y in Y.T]
    np.testing.assert_allclose(model.predict(X), np.transpose(singles), atol=1e-4)


def test_outputs_share_at_most_the_given_number_of_vectors():
    X, Y = data(400)
    few, best = SVR(max_vectors=40, C=2.0).fit(X, Y), SVR(C=2.0, tol=1e-6).fit(X, Y)
    assert len(few.support_) <= 40 and few.dual_coef_.shape[0] == 3
    assert (few.dual_value_ <= best.primal_value_).all() and (best.dual_value_ <= few.primal_value_).all()


def test_fits_continue_output_by_output(tmp_path):
    X, Y = data(300)
    settings = {"solver": "swap2", "tol": 1e-5, "checkpoint": tmp_path / "fit"}
    with pytest.warns(ConvergenceWarning, match="output 0"):
        SVR(max_iter=9, **settings).fit(X, Y)
    resumed, straight = SVR(**settings).fit(X, Y), SVR(solver="swap2", tol=1e-5).fit(X, Y)
    np.testing.assert_array_equal(resumed.dual_coef_, straight.dual_coef_)
    with pytest.raises(ValueError, match="labels or weights differ"):
        SVR(**settings).fit(X, Y + 1)
    warm = SVR(warm_start=True, tol=1e-6).fit(X[:250], Y[:250]).fit(X, Y)
    np.testing.assert_allclose(warm.predict(X), SVR(tol=1e-6).fit(X, Y).predict(X), atol=1e-3)


def test_callbacks_hear_of_each_output():
    X, Y = data()
    seen = set()
    SVR(callbacks=lambda progress: seen.add(progress.pair)).fit(X, Y)
    assert seen == {(0,), (1,), (2,)}


def test_models_are_pickled_and_cross_validated():
    X, Y = data()
    model = SVR(kernel=Sum([(Rbf(gamma="scale"), slice(0, 2)), (Linear(), [3])])).partial_fit(X, Y)
    by_skops = skops.io.loads(skops.io.dumps(model), trusted=files.TRUSTED_TYPES)
    for copied in (by_skops, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copied.predict(X), model.predict(X))
        assert copied.partial_fit(X[:9], Y[:9]).shape_fit_ == (209, 4)
    assert (cross_val_score(SVR(C=5), X, Y, cv=3) > 0.5).all()
