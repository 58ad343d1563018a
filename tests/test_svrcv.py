"""SVRCV: the scores of GridSearchCV(SVR), tubes that are given or learned, and what it shares with SVCCV."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1, make_regression
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from swapsvm import SVR, SVRCV, Gram
from swapsvm.kernels import Rbf

CS, GAMMAS, EPSILONS = [0.25, 1.0, 16.0], [0.005, 0.05], [0.3, 0.05, "auto"]


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return scale(X), scale(y)


def sparse_set():
    X, y = make_friedman1(300, 20, noise=0.5, random_state=0)
    X[X < 0.4] = 0.0
    return sp.csr_array(X), scale(y)


def wide():
    """Enough features for kernel values to be worth keeping: folds and tubes share a Gram."""
    X, y = make_regression(240, 150, n_informative=30, noise=20, random_state=0)
    return X, scale(y)


SETS = {"diabetes": diabetes, "sparse": sparse_set, "wide": wide}


def split_scores(search):
    return np.array([search.cv_results_[f"split{k}_test_score"] for k in range(search.n_splits_)])


def grid_search(Cs, gammas, epsilons, tol=1e-7, **options):
    grid = {"C": Cs, "epsilon": epsilons, "gamma": gammas}
    return GridSearchCV(SVR(tol=tol), grid, **{"cv": 3, **options})


@pytest.mark.parametrize("name", SETS)
def test_scores_are_those_of_grid_search(name):
    X, y = SETS[name]()
    gammas = [0.001, 0.005] if name == "wide" else GAMMAS
    ours = SVRCV(CS, gammas, cv=3, epsilons=EPSILONS, tol=1e-7).fit(X, y)
    theirs = grid_search(CS, gammas, EPSILONS).fit(X, y)
    np.testing.assert_allclose(split_scores(ours), split_scores(theirs), atol=5e-4)  # |dw|^2 <= 2e-7 |w|^2
    np.testing.assert_array_equal(ours.cv_results_["rank_test_score"], theirs.cv_results_["rank_test_score"])
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert set(theirs.cv_results_) <= set(ours.cv_results_)
    assert (ours.best_params_, ours.best_index_) == (theirs.best_params_, theirs.best_index_)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-12)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-12)


def test_at_the_default_tolerance_scores_differ_little():
    X, y = diabetes()
    ours = SVRCV(CS, GAMMAS, cv=3, epsilons=EPSILONS).fit(X, y)
    theirs = grid_search(CS, GAMMAS, EPSILONS, tol=1e-3).fit(X, y)
    np.testing.assert_allclose(split_scores(ours), split_scores(theirs), atol=0.02)
    assert (ours.cv_results_["max_relative_gap"] <= 1e-3).all()
    assert set(ours.cv_results_["stop_reason"]) == {"gap"}


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", None])
def test_scorers_and_splitters(scoring):
    X, y = diabetes()
    cv = ShuffleSplit(3, random_state=1)
    ours = SVRCV(CS, [0.02], cv=cv, epsilons=[0.1], scoring=scoring, tol=1e-7).fit(X, y)
    theirs = grid_search(CS, [0.02], [0.1], cv=cv, scoring=scoring).fit(X, y)
    np.testing.assert_allclose(split_scores(ours), split_scores(theirs), atol=1e-4)


@pytest.mark.parametrize("epsilon", [0.1, "auto"])
def test_weights_count_as_repeated_rows_in_fits_and_scores(epsilon):
    X, y = diabetes()
    X, y = X[:150], y[:150]
    rng = np.random.default_rng(5)
    times, folds = rng.integers(0, 4, 150), rng.integers(0, 3, 150)
    again = np.repeat(np.arange(150), times)

    def splits(of):
        return [(np.flatnonzero(of != k), np.flatnonzero(of == k)) for k in range(3)]

    settings = {"epsilons": [epsilon], "tol": 1e-10}
    weighted = SVRCV(CS, GAMMAS, cv=splits(folds), **settings).fit(X, y, sample_weight=times)
    repeated = SVRCV(CS, GAMMAS, cv=splits(folds[again]), **settings).fit(X[again], y[again])
    np.testing.assert_allclose(split_scores(weighted), split_scores(repeated), atol=1e-5)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)


def test_kernels_without_gamma():
    X, y = diabetes()
    linear = SVRCV(CS, cv=3, kernel="linear", epsilons=[0.1], tol=1e-6).fit(X, y)
    assert linear.cv_results_["params"] == [{"C": C, "epsilon": 0.1} for C in CS]
    precomputed = SVRCV(CS, cv=3, kernel="precomputed", epsilons=[0.1], tol=1e-6).fit(X @ X.T, y)
    np.testing.assert_allclose(split_scores(precomputed), split_scores(linear), atol=1e-3)


def test_a_grid_of_tubes_by_its_size_follows_the_spread_of_y():
    X, y = diabetes()
    found = [SVRCV([1.0], [0.02], cv=3, epsilons=count).fit(X, 10 * y).cv_results_["param_epsilon"] for count in (1, 3)]
    np.testing.assert_allclose(found[0], [1.0])
    np.testing.assert_allclose(found[1], [0.25, 1.0, 4.0])


def test_the_learned_tube_is_that_of_the_refitted_model():
    X, y = diabetes()
    search = SVRCV([1.0], [0.02], cv=3, epsilons=["auto"], tol=1e-6).fit(X, y)
    assert search.best_params_["epsilon"] == "auto"
    assert search.best_estimator_.epsilon_ == SVR(C=1.0, gamma=0.02, epsilon="auto", tol=1e-6).fit(X, y).epsilon_ > 0


@pytest.mark.parametrize("data", [diabetes, wide])
def test_scores_do_not_depend_on_threads_and_order(data):
    X, y = data()
    one, two = (SVRCV(CS, GAMMAS, cv=3, epsilons=EPSILONS, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(split_scores(one), split_scores(two))
    turned = SVRCV(CS[::-1], GAMMAS[::-1], cv=3, epsilons=EPSILONS[::-1]).fit(X, y)
    assert turned.cv_results_["params"] == one.cv_results_["params"][::-1]
    np.testing.assert_array_equal(split_scores(turned), split_scores(one)[:, ::-1])


def test_folds_and_tubes_share_kernel_values(monkeypatch):
    made, original = [], Gram.__init__

    def counted(self, *arguments, **options):
        original(self, *arguments, **options)
        made.append(self)

    monkeypatch.setattr(Gram, "__init__", counted)
    X, y = wide()
    SVRCV(CS, [0.005], cv=5, epsilons=EPSILONS, refit=False, n_jobs=1).fit(X, y)
    computed = sum(gram.evaluations for gram in made if isinstance(gram.kernel, Rbf))
    assert computed <= 1.2 * len(y) ** 2  # each value once, and a few for estimates


def test_the_map_is_that_of_the_chosen_tube():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    X, y = diabetes()
    search = SVRCV(CS, GAMMAS, cv=3, epsilons=EPSILONS).fit(X, y)
    ax = search.plot_scores()
    chosen = EPSILONS.index(search.best_params_["epsilon"])
    scores = search.cv_results_["mean_test_score"].reshape(3, 3, 2)[:, chosen]
    np.testing.assert_array_equal(np.asarray(ax.collections[0].get_array()).reshape(2, 3), scores.T)
    assert ax.lines[-1].get_xydata().tolist() == [[search.best_params_["C"], search.best_params_["gamma"]]]
    pyplot.close(ax.figure)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilons": []}, "'epsilons' parameter of SVRCV"),
        ({"epsilons": 0}, "'epsilons' parameter of SVRCV"),
        ({"epsilons": [-0.1]}, r"'epsilons\[0\]' .* Got -0.1"),
        ({"epsilons": ["wide"]}, r"'epsilons\[0\]' .* Got 'wide'"),
        ({"Cs": [1.0, np.inf]}, r"'Cs\[1\]' .* Got inf"),
        ({"rule": "first"}, "'rule' .* Got 'first'"),
        ({"cv": [(np.arange(5), np.arange(5, 9))]}, "split 0 of cv trains on no row"),
    ],
)
def test_bad_parameters(options, message):
    X, y = diabetes()
    weights = np.r_[np.zeros(5), np.ones(len(y) - 5)]
    with pytest.raises(ValueError, match=message):
        SVRCV(**{"Cs": [1.0], "gammas": [0.1], **options}).fit(X, y, sample_weight=weights)


def test_there_is_no_decision_function_and_clones_keep_their_settings():
    search = SVRCV(3, [0.1], epsilons=2, rule="one_standard_error")
    assert not hasattr(search, "decision_function") and clone(search).get_params() == search.get_params()


@parametrize_with_checks([SVRCV(Cs=[1, 16], gammas=["scale"], cv=3, epsilons=[0.1])])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
