"""The limit of a whole search: what is scored first, what is chosen, and that the limit is kept."""

import signal
import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris, make_classification

from swapsvm import SVC, SVCCV, SVR, SVRCV, ConvergenceWarning
from swapsvm.cli import main
from swapsvm.files import load
from swapsvm.selection.limits import LAST_SCORES, REFIT, SearchTime

CS, GAMMAS = [0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0], [0.01, 0.1, 1.0]


@pytest.fixture
def ticking(monkeypatch):
    """Searches by a clock that counts looks: of runs, which look often; compiled paths would hardly ever."""
    monkeypatch.setattr("swapsvm.gram.LARGEST_WHOLE", 0)

    def restart():
        monkeypatch.setattr(SVCCV, "_clock", staticmethod(Ticking()))

    restart()
    return restart


class Ticking:
    """A clock that advances with every look at it."""

    def __init__(self, step=0.001):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def hard(rows=3000):
    return make_classification(rows, 20, flip_y=0.3, random_state=0)


def scored(search):
    means = search.cv_results_["mean_test_score"]
    return np.isfinite(means).reshape(len(search.Cs), -1)


def test_enough_time_changes_nothing_but_the_order():
    X, y = load_iris(return_X_y=True)
    plain = SVCCV(CS, GAMMAS, cv=3, tol=1e-8).fit(X, y)
    limited = SVCCV(CS, GAMMAS, cv=3, tol=1e-8, max_time=600).fit(X, y)
    np.testing.assert_array_equal(limited.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
    assert limited.best_params_ == plain.best_params_
    assert limited.best_estimator_.max_time is None


@pytest.mark.parametrize("epsilon", [0.1, "auto"])
def test_a_regression_visits_its_path_in_any_order(epsilon):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=150)
    plain, limited = (
        SVRCV(CS, GAMMAS, cv=3, epsilons=[epsilon], tol=1e-8, max_time=limit).fit(X, y) for limit in (None, 600)
    )
    means = [search.cv_results_["mean_test_score"] for search in (plain, limited)]
    np.testing.assert_allclose(*means, atol=1e-3)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("refit", [False, True])
def test_the_limit_is_kept_and_the_best_so_far_is_chosen(n_jobs, refit):
    X, y = hard()
    search = SVCCV(np.geomspace(1, 1e6, 12), np.geomspace(0.01, 1, 6), cv=3, max_time=2.0, n_jobs=n_jobs, refit=refit)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        search.fit(X, y)
    assert time.perf_counter() - began < 3.5
    found, messages = search.cv_results_, [str(warning.message) for warning in caught]
    count = int(np.isfinite(found["mean_test_score"]).sum())
    assert 0 < count < 72 and any(f"ended the search when {count} of 72 candidates" in text for text in messages)
    missed = np.isnan(found["mean_test_score"])
    assert (found["stop_reason"][missed] == "max_time").all() and np.isinf(found["max_relative_gap"][missed]).all()
    assert search.best_score_ == np.nanmax(found["mean_test_score"]) and np.isfinite(search.best_score_)
    assert found["rank_test_score"][missed].min() > found["rank_test_score"][~missed].max()
    assert hasattr(search, "best_estimator_") == refit


@pytest.mark.usefixtures("ticking")
def test_a_coarse_subset_of_every_gamma_comes_first():
    X, y = load_iris(return_X_y=True)
    search = SVCCV(CS, GAMMAS, cv=3, max_time=2.0, n_jobs=1, refit=False)
    with pytest.warns(ConvergenceWarning):
        search.fit(X, y)
    reached = scored(search)
    assert reached[[1, 4]].all() and not reached.all()


def test_more_time_scores_more(ticking):
    X, y = load_iris(return_X_y=True)
    counts = []
    for seconds in (1.0, 2.0, 4.0):
        ticking()
        search = SVCCV(CS, GAMMAS, cv=3, max_time=seconds, n_jobs=1, refit=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            counts.append(int(scored(search.fit(X, y)).sum()))
    assert 0 < counts[0] < counts[1] < counts[2]


@pytest.mark.parametrize("search", [SVCCV(CS, GAMMAS, max_time=1e-6), SVRCV(CS, GAMMAS, max_time=1e-6)])
def test_without_any_score_there_is_an_error_with_a_way_out(search):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"max_time=1e-06 .* on all 5 folds: raise max_time, use fewer folds"):
        search.fit(X, y)
    assert not hasattr(search, "cv_results_")


@pytest.mark.parametrize(("search", "model"), [(SVCCV, SVC), (SVRCV, SVR)])
def test_the_refit_gets_what_is_left(search, model, monkeypatch):
    given, fit = [], model.fit

    def recorded(self, *arguments):
        given.append(self.max_time)
        return fit(self, *arguments)

    monkeypatch.setattr(model, "fit", recorded)
    X, y = load_iris(return_X_y=True)
    search([1.0], [0.1], cv=2, max_time=600).fit(X, y)
    assert 500 < given[0] < 600
    search([1.0], [0.1], cv=2).fit(X, y)
    assert given[1] is None


def test_slow_scores_are_in_the_limit():
    X, y = load_iris(return_X_y=True)

    def slow(model, X, y):
        time.sleep(0.05)
        return float(np.mean(model.predict(X) == y))

    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = SVCCV(CS, GAMMAS, cv=3, scoring=slow, max_time=1.5, n_jobs=1).fit(X, y)  # 3.2 s without
    assert time.perf_counter() - began < 2.5 and 0 < scored(search).sum() < 21


def test_parts_of_the_limit():
    clock = Ticking(0.0)
    limit = SearchTime(100.0, True, clock)
    jobs = limit.for_jobs([10, 10, 10, 10], workers=1)
    paths = 100 * (1 - REFIT - LAST_SCORES)
    assert jobs.end_of_paths(10) == pytest.approx(paths / 4)
    clock.now = 10.0
    jobs.spend(5.0, 5.0)  # as many seconds for scores: half of a share is for them
    assert jobs.end_of_paths(10) == pytest.approx(10 + (paths - 10) / 3 / 2)
    assert not limit.is_over() and limit.left() == 90.0
    clock.now = 81.0
    assert limit.is_over() and not SearchTime(100.0, False, clock).is_over()
    clock.now = 1000.0
    assert 0 < limit.left() < 0.01
    assert limit.order(7) == [1, 4, 0, 2, 3, 5, 6] and SearchTime(None, True, clock).order(3) == [0, 1, 2]
    assert SearchTime(None, True, clock).left() is None and not SearchTime(None, True, clock).is_over()


@pytest.mark.usefixtures("ticking")
def test_the_map_leaves_out_what_was_not_scored():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning):
        search = SVCCV(CS, GAMMAS, cv=3, max_time=2.0, n_jobs=1, refit=False).fit(X, y)
    ax = search.plot_scores()
    ax.figure.canvas.draw()
    np.testing.assert_array_equal(np.ma.getmaskarray(ax.collections[0].get_array()).ravel(), ~scored(search).T.ravel())
    pyplot.close(ax.figure)


def test_tune_has_the_limit(tmp_path, capsys):
    X, y = hard(1500)
    data = tmp_path / "rows.csv"
    np.savetxt(data, np.column_stack([y, X]), delimiter=",", fmt="%.6g")
    main(["tune", str(data), "-c", "20", "-g", "8", "-v", "3", "-e", "1e-6", "--max-time", "1", "--jobs", "1"])
    caught = capsys.readouterr()
    count = int(caught.out.split()[2])
    assert 0 < count < 160 and caught.out.startswith(f"best of {count} of 160 points in 3 folds")
    assert f"when {count} of 160 candidates were scored on all folds" in caught.err


# ---- Ctrl-C -------------------------------------------------------------------------------------------------------


class Pressing:
    """A scorer that sends Ctrl-C when it is called for the n-th time."""

    def __init__(self, n):
        self.left = n

    def __call__(self, model, X, y):
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)
        return model.score(X, y)


INTERRUPTED = {"Cs": [1.0, 2.0, 4.0], "gammas": [0.01, 0.1, 1.0], "cv": 2}


@pytest.mark.parametrize("refit", [True, False])
def test_ctrl_c_keeps_the_best_so_far(refit):
    X, y = load_iris(return_X_y=True)
    search = SVCCV(**INTERRUPTED, n_jobs=1, refit=refit, on_interrupt="keep", scoring=Pressing(11))
    with pytest.warns(ConvergenceWarning, match=r"Ctrl-C ended .* candidates .* search again"):
        search.fit(X, y)
    found = search.cv_results_
    missed = np.isnan(found["mean_test_score"])
    assert 0 < missed.sum() < 9 and (found["stop_reason"][missed] == "interrupted").all()
    assert search.best_score_ == np.nanmax(found["mean_test_score"])
    if refit:
        best = search.best_estimator_
        alone = SVC(**search.best_params_, n_jobs=1).fit(X, y)
        assert (best.stop_reason_, best.on_interrupt) == ("gap", "raise")
        assert_array_equal(best.decision_function(X), alone.decision_function(X))


@pytest.mark.parametrize(("choice", "call"), [("raise", 11), ("keep", 1)])
def test_ctrl_c_raises_by_default_and_before_there_is_a_candidate(choice, call):
    X, y = load_iris(return_X_y=True)
    search = SVCCV(**INTERRUPTED, n_jobs=1, on_interrupt=choice, scoring=Pressing(call))
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert not hasattr(search, "cv_results_")


def test_ctrl_c_during_tune_writes_the_best_so_far(tmp_path, monkeypatch, capsys):
    X, y = load_iris(return_X_y=True)
    np.savez(tmp_path / "iris.npz", X=X, y=y)
    fit = SVCCV.fit
    monkeypatch.setattr(SVCCV, "fit", lambda self, *data: fit(self.set_params(scoring=Pressing(11)), *data))
    argv = ["tune", str(tmp_path / "iris.npz"), str(tmp_path / "model"), "-c", "1,2,4", "-g", "0.01,0.1,1", "-v", "2"]
    assert main([*argv, "--jobs", "1", "-q"]) == 130
    shown = capsys.readouterr()
    assert "Ctrl-C ended the search when" in shown.err and " of 9 points in 2 folds" in shown.out
    assert load(tmp_path / "model").stop_reason_ == "gap"
