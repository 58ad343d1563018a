"""SVCCV: the scores of GridSearchCV for less work, the rules that choose, the map, limits and interrupts."""

import _thread
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from swapsvm import SVC, SVCCV, Gram
from swapsvm.kernels import Rbf
from swapsvm.models.sums import Sums
from swapsvm.problems import L2SVC
from swapsvm.selection.layout import pieces
from swapsvm.selection.scores import Fit as ScoredFit
from swapsvm.selection.scores import best, one_standard_error, results_of
from swapsvm.state import KernelState

CS, GAMMAS = [0.25, 4.0, 64.0], [0.02, 0.2]


def sparse_set():
    X, y = make_classification(400, 60, n_informative=12, random_state=3)
    X[np.abs(X) < 1.2] = 0.0
    return sp.csr_array(X), np.where(y, "spam", "ham")


def few_digits(rows=400):
    X, y = load_digits(n_class=6, return_X_y=True)
    return X[:rows] / 16, y[:rows]


def wide(rows=300):
    """Enough features for kernel values to be worth keeping: folds share a Gram."""
    return make_classification(rows, 150, n_informative=20, n_classes=3, random_state=0)


SETS = {"iris": lambda: load_iris(return_X_y=True), "digits": few_digits, "sparse": sparse_set, "wide": wide}


def split_scores(search):
    return np.array([search.cv_results_[f"split{k}_test_score"] for k in range(search.n_splits_)])


def fits_of(scores):
    return [[ScoredFit(score, 1.0, 0.5, 1e-3, "gap") for score in row] for row in scores]


# ---- the same as GridSearchCV -------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::swapsvm.ScalingWarning")  # of the larger gamma, which is to score badly
@pytest.mark.parametrize("name", SETS)
def test_scores_are_those_of_grid_search(name):
    X, y = SETS[name]()
    gammas = [0.002, 0.01] if name == "wide" else GAMMAS
    ours = SVCCV(CS, gammas, cv=3, tol=1e-7).fit(X, y)
    theirs = GridSearchCV(SVC(tol=1e-7), {"C": CS, "gamma": gammas}, cv=3).fit(X, y)
    one_row = 1 / (len(y) // 3)  # any gap can change the label of a row at the boundary
    assert np.abs(split_scores(ours) - split_scores(theirs)).max() <= 1.01 * one_row
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=max(1e-3, 1.01 / len(y)))
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert set(theirs.cv_results_) <= set(ours.cv_results_)
    for key, column in theirs.cv_results_.items():
        if key.startswith("param_"):
            np.testing.assert_array_equal(ours.cv_results_[key], column)


def test_a_small_tolerance_makes_the_scores_equal():
    X, y = few_digits()
    ours = SVCCV(CS, GAMMAS, cv=4, tol=1e-6).fit(X, y)
    theirs = GridSearchCV(SVC(tol=1e-6), {"C": CS, "gamma": GAMMAS}, cv=4).fit(X, y)
    np.testing.assert_array_equal(split_scores(ours), split_scores(theirs))
    np.testing.assert_array_equal(ours.cv_results_["rank_test_score"], theirs.cv_results_["rank_test_score"])
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_
    assert ours.score(X, y) == theirs.score(X, y)


@pytest.mark.parametrize(
    "cv",
    [KFold(3, shuffle=True, random_state=1), ShuffleSplit(4, random_state=2), [(np.r_[:200], np.r_[200:400])]],
    ids=["kfold", "shuffle", "one split"],
)
def test_any_cv_of_scikit_learn(cv):
    X, y = sparse_set()
    ours = SVCCV(CS, [0.01], cv=cv, tol=1e-6).fit(X, y)
    theirs = GridSearchCV(SVC(tol=1e-6), {"C": CS, "gamma": [0.01]}, cv=cv).fit(X, y)
    np.testing.assert_array_equal(split_scores(ours), split_scores(theirs))


def test_a_row_that_a_split_repeats_counts_twice():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    cv = [(rng.integers(0, 150, 150), np.arange(150)) for _ in range(3)]
    ours = SVCCV(CS, GAMMAS, cv=cv, class_weight="balanced").fit(X, y)
    theirs = GridSearchCV(SVC(class_weight="balanced"), {"C": CS, "gamma": GAMMAS}, cv=cv).fit(X, y)
    np.testing.assert_allclose(split_scores(ours), split_scores(theirs), atol=1.01 / 150)


@pytest.mark.parametrize("weights", [{0: 1, 1: 5, 2: 1}, "balanced"])
def test_class_weights_are_those_of_each_fold(weights):
    X, y = load_iris(return_X_y=True)
    X, y = X[20:], y[20:]
    ours = SVCCV(CS, GAMMAS, cv=3, class_weight=weights, tol=1e-8).fit(X, y)
    theirs = GridSearchCV(SVC(class_weight=weights, tol=1e-8), {"C": CS, "gamma": GAMMAS}, cv=3).fit(X, y)
    np.testing.assert_array_equal(split_scores(ours), split_scores(theirs))


def test_groups_reach_the_splitter():
    X, y = load_iris(return_X_y=True)
    groups = np.arange(150) % 7
    ours = SVCCV(CS, GAMMAS, cv=GroupKFold(3), tol=1e-8).fit(X, y, groups=groups)
    theirs = GridSearchCV(SVC(tol=1e-8), {"C": CS, "gamma": GAMMAS}, cv=GroupKFold(3)).fit(X, y, groups=groups)
    np.testing.assert_array_equal(split_scores(ours), split_scores(theirs))
    with pytest.raises(ValueError, match="groups"):
        SVCCV(CS, GAMMAS, cv=GroupKFold(3)).fit(X, y)


def test_weights_count_as_repeated_rows_in_fits_and_scores():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(5)
    times, folds = rng.integers(0, 4, 150), rng.integers(0, 3, 150)
    again = np.repeat(np.arange(150), times)

    def splits(of):
        return [(np.flatnonzero(of != k), np.flatnonzero(of == k)) for k in range(3)]

    weighted = SVCCV(CS, GAMMAS, cv=splits(folds), tol=1e-10).fit(X, y, sample_weight=times)
    repeated = SVCCV(CS, GAMMAS, cv=splits(folds[again]), tol=1e-10).fit(X[again], y[again])
    np.testing.assert_allclose(split_scores(weighted), split_scores(repeated))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-5)


def test_kernels_without_gamma_have_a_grid_of_C():
    X, y = load_iris(return_X_y=True)
    linear = SVCCV(CS, GAMMAS, cv=3, kernel="linear").fit(X, y)
    assert linear.cv_results_["params"] == [{"C": C} for C in CS]
    assert linear.best_estimator_.kernel == "linear" and len(linear.gammas_) == 0
    function = SVCCV(CS, cv=3, kernel=lambda A, B: A @ B.T, n_jobs=2).fit(X, y)
    precomputed = SVCCV(CS, cv=3, kernel="precomputed").fit(X @ X.T, y)
    np.testing.assert_allclose(split_scores(function), split_scores(linear), atol=1.01 / 50)
    np.testing.assert_allclose(split_scores(precomputed), split_scores(linear), atol=1.01 / 50)
    assert precomputed.predict(X @ X.T).shape == (150,)
    with pytest.raises(ValueError, match="no gamma"):
        linear.plot_scores()


def test_grids_by_their_sizes_and_rules():
    X, y = load_iris(return_X_y=True)
    search = SVCCV(3, 2, cv=3).fit(X, y)
    scale = SVC().fit(X, y).gamma_
    np.testing.assert_allclose(search.gammas_, [scale / 4, scale])
    assert sorted({params["C"] for params in search.cv_results_["params"]}) == [1 / 8, 1 / 4, 1 / 2]
    named = SVCCV([1.0], ["scale", "auto"], cv=3).fit(X, y)
    np.testing.assert_allclose(named.gammas_, [scale, 1 / 4])
    assert named.best_params_["gamma"] in ("scale", "auto")
    assert named.best_estimator_.gamma_ in named.gammas_


def test_the_order_of_the_grid_is_the_users():
    X, y = load_iris(return_X_y=True)
    up = SVCCV([0.25, 4.0, 64.0], GAMMAS, cv=3).fit(X, y).cv_results_
    down = SVCCV([64.0, 4.0, 0.25], GAMMAS[::-1], cv=3).fit(X, y).cv_results_
    assert down["params"] == up["params"][::-1]
    np.testing.assert_array_equal(down["mean_test_score"], up["mean_test_score"][::-1])


# ---- scorers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "roc_auc_ovr", None, make_scorer(f1_score, average="macro")])
def test_scorers(scoring):
    X, y = load_iris(return_X_y=True)
    if scoring == "roc_auc_ovr":
        X, y, scoring = X[50:], y[50:], "roc_auc"
    ours = SVCCV(CS, GAMMAS, cv=3, scoring=scoring, tol=1e-8).fit(X, y)
    theirs = GridSearchCV(SVC(tol=1e-8), {"C": CS, "gamma": GAMMAS}, cv=3, scoring=scoring).fit(X, y)
    np.testing.assert_allclose(split_scores(ours), split_scores(theirs), atol=1e-12)
    assert ours.score(X, y) == theirs.score(X, y)


def test_a_callable_sees_a_fitted_model():
    X, y = load_iris(return_X_y=True)
    search = SVCCV(CS, [0.2], cv=3, scoring=lambda model, X, y: -model.n_support_.sum()).fit(X, y)
    assert search.best_params_["C"] == 64.0  # the fewest support vectors
    assert (search.cv_results_["mean_test_score"] < 0).all()


@pytest.mark.filterwarnings("ignore::swapsvm.ScalingWarning")
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SETS)
def test_models_scored_together_have_the_scores_of_each(name, weighted, multiclass):
    """Without ``scoring`` each model is an estimator with a score of its own, which is the accuracy as well."""
    X, y = SETS[name]()
    weights = np.random.default_rng(0).uniform(0.5, 3, len(y)) if weighted else None
    settings = {"cv": 3, "multiclass": multiclass, "refit": False}
    joint, each = (SVCCV(CS, GAMMAS, scoring=scoring, **settings).fit(X, y, weights) for scoring in ("accuracy", None))
    np.testing.assert_array_equal(split_scores(joint), split_scores(each))
    np.testing.assert_array_equal(joint.cv_results_["max_relative_gap"], each.cv_results_["max_relative_gap"])


@pytest.mark.parametrize(
    "limit", ["scoring.MOST_COEFFICIENTS", "paths.MOST_KEPT"], ids=["one model at a time", "layouts made again"]
)
def test_limits_of_memory_change_no_score(limit, monkeypatch):
    X, y = few_digits()
    plain = SVCCV(CS, GAMMAS, cv=3, refit=False).fit(X, y)
    monkeypatch.setattr(f"swapsvm.selection.{limit}", 0)
    small = SVCCV(CS, GAMMAS, cv=3, refit=False).fit(X, y)
    np.testing.assert_array_equal(split_scores(small), split_scores(plain))


def test_models_of_a_fold_are_evaluated_at_once(monkeypatch):
    asked, original = [], Sums.of

    def counted(self, rows, single, threads):
        asked.append(rows.shape[0])
        return original(self, rows, single, threads)

    monkeypatch.setattr(Sums, "of", counted)
    X, y = load_iris(return_X_y=True)
    SVCCV([0.25, 1.0, 4.0, 16.0, 64.0], GAMMAS, cv=3, refit=False).fit(X, y)
    assert asked == [50] * 6  # for each gamma and fold


# ---- rules --------------------------------------------------------------------------------------------------


def test_one_standard_error_takes_the_smallest_C_then_the_widest_kernel():
    candidates = [{"C": C, "gamma": gamma} for C in (1.0, 2.0, 4.0) for gamma in (0.5, 0.1)]
    scores = [[0.5, 0.5], [0.6, 0.6], [0.88, 0.88], [0.89, 0.89], [0.85, 0.95], [0.7, 0.7]]
    results = results_of(candidates, fits_of(scores))
    gammas = np.array([params["gamma"] for params in candidates])
    assert best(results, gammas) == 4
    assert one_standard_error(results, gammas) == 3  # the best is 0.9, its standard error 0.05
    results = results_of(candidates, fits_of([*scores[:4], [0.9, 0.9], scores[5]]))
    assert one_standard_error(results, gammas) == 4  # without spread only the best is allowed


def test_the_rule_reaches_the_refitted_model():
    X, y = load_iris(return_X_y=True)
    top, simple = (SVCCV(CS, GAMMAS, cv=5, rule=rule).fit(X, y) for rule in ("best", "one_standard_error"))
    assert simple.best_params_["C"] <= top.best_params_["C"]
    assert simple.best_params_["C"] == simple.best_estimator_.C
    assert top.best_score_ - simple.best_score_ <= top.cv_results_["std_test_score"][top.best_index_] / 2


def test_ties_share_their_rank():
    results = results_of([{"C": 1}, {"C": 2}, {"C": 3}], fits_of([[0.5, 0.7], [0.9, 0.9], [0.6, 0.6]]))
    np.testing.assert_array_equal(results["rank_test_score"], [2, 1, 2])
    np.testing.assert_allclose(results["std_test_score"], [0.1, 0.0, 0.0], atol=1e-12)


# ---- paths --------------------------------------------------------------------------------------------------


def test_another_ridge_costs_no_kernel_value_and_is_the_problem_of_the_other_C():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 3)), rng.uniform(0.5, 2, 60)
    gram = Gram(Rbf(0.5), X, groups=[np.arange(20), np.arange(20, 35), np.arange(35, 60)])
    at = {C: L2SVC.of(gram, [0, 1], 2, C, weights) for C in (1.0, 8.0)}
    state, fresh = KernelState(at[1.0]), KernelState(at[8.0])
    for each in (state, fresh):
        each.set_weights(np.arange(30), np.ones(30))
    before = gram.evaluations
    state.set_ridge(at[8.0].ridge)
    assert gram.evaluations == before
    assert state.value == pytest.approx(fresh.value, rel=1e-12)
    assert state.gap == pytest.approx(fresh.gap, rel=1e-12)
    with pytest.raises(ValueError, match="ridge"):
        state.set_ridge(np.ones(3))


def test_a_problem_of_several_groups_is_that_of_their_union():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 4))
    cut = Gram(Rbf(0.3), X, groups=[np.arange(10), np.arange(10, 30), np.arange(30, 50)])
    whole = Gram(Rbf(0.3), X, groups=[np.arange(30), np.arange(30, 50)])
    one, two = KernelState(L2SVC.of(cut, [0, 1], [2], 4.0)), KernelState(L2SVC.of(whole, 0, 1, 4.0))
    for each in (one, two):
        each.set_weights(np.arange(50), np.arange(1.0, 51.0))
    assert one.value == pytest.approx(two.value, rel=1e-13)
    assert one.gap == pytest.approx(two.gap, rel=1e-13)


@pytest.fixture
def grams(monkeypatch):
    """Every Gram that is made."""
    made, original = [], Gram.__init__

    def counted(self, *arguments, **options):
        original(self, *arguments, **options)
        made.append(self)

    monkeypatch.setattr(Gram, "__init__", counted)
    return made


def computed(grams):
    """Kernel values, except those read from a matrix."""
    return sum(gram.evaluations for gram in grams if isinstance(gram.kernel, Rbf))


@pytest.mark.parametrize(("cache_size", "part"), [(None, 0.15), (0.6, 0.7)], ids=["whole matrices", "lines"])
def test_folds_share_kernel_values_where_memory_pays(grams, cache_size, part):
    X, y = wide()
    SVCCV([1.0, 4.0, 16.0], [0.005], cv=5, refit=False, n_jobs=1, cache_size=cache_size).fit(X, y)
    shared = computed(grams)
    grams.clear()
    for train, _ in StratifiedKFold(5).split(X, y):
        for C in (1.0, 4.0, 16.0):
            SVC(C=C, gamma=0.005, n_jobs=1).fit(X[train], y[train])
    assert shared < part * computed(grams)


def test_a_path_computes_fewer_kernel_values_than_fits_from_nothing(grams):
    X, y = make_classification(1500, 20, flip_y=0.2, random_state=0)
    Cs, train = [0.5, 1.0, 2.0, 4.0, 8.0], np.arange(1400)
    SVCCV(Cs, [0.05], cv=[(train, np.arange(1400, 1500))], refit=False, n_jobs=1).fit(X, y)
    path = computed(grams)
    grams.clear()
    for C in Cs:
        SVC(C=C, gamma=0.05, n_jobs=1).fit(X[train], y[train])
    assert path < 0.75 * computed(grams)


def test_pieces_are_rows_of_the_same_folds():
    trained = np.array([[1, 0], [0, 1], [1, 0], [0, 0], [1, 1]], dtype=bool)
    found = {tuple(pattern): list(rows) for rows, pattern in pieces(np.array([0, 1, 2, 3, 4]), trained)}
    assert found == {(True, False): [0, 2], (False, True): [1], (True, True): [4]}


@pytest.mark.parametrize(("data", "cache_size"), [(sparse_set, None), (wide, None), (wide, 0.2)])
def test_scores_do_not_depend_on_threads(data, cache_size):
    X, y = data()
    one, two = (SVCCV(CS, [0.01, 0.05], cv=3, n_jobs=n, cache_size=cache_size).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(split_scores(one), split_scores(two))
    np.testing.assert_array_equal(one.cv_results_["max_relative_gap"], two.cv_results_["max_relative_gap"])
    assert one.best_params_ == two.best_params_


def test_every_fit_is_certified():
    X, y = few_digits()
    search = SVCCV(CS, GAMMAS, cv=3, tol=1e-3).fit(X, y)
    assert (search.cv_results_["max_relative_gap"] <= 1e-3).all()
    assert set(search.cv_results_["stop_reason"]) == {"gap"}


# ---- limits, errors, interrupts -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Cs": []}, "'Cs' parameter of SVCCV"),
        ({"Cs": 0}, "'Cs' parameter of SVCCV"),
        ({"Cs": 2.5}, "'Cs' parameter of SVCCV"),
        ({"Cs": [1.0, -1.0]}, r"'Cs\[1\]' parameter of SVCCV .* Got -1.0"),
        ({"gammas": []}, "'gammas' parameter of SVCCV"),
        ({"gammas": [0.0]}, r"'gammas\[0\]' .* Got 0.0"),
        ({"gammas": ["wide"]}, r"'gammas\[0\]' .* Got 'wide'"),
        ({"rule": "first"}, "'rule' .* Got 'first'"),
        ({"tol": -1.0}, "tol"),
        ({"max_time": 0.0}, "max_time"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"kernel": "unknown"}, "'kernel' .* Got 'unknown'"),
        ({"scoring": "unknown"}, "unknown"),
        ({"cv": 1}, "'cv' parameter"),
        ({"cv": KFold(3)}, "split 0 of cv trains on 1 class"),
    ],
)
def test_bad_parameters(options, message):
    X, y = load_iris(return_X_y=True)
    X, y = (X[50:], np.r_[np.zeros(40), np.ones(60)]) if options.get("cv") is None else (X[:90], np.arange(90) < 30)
    with pytest.raises(ValueError, match=message):
        SVCCV(**{"Cs": [1.0], "gammas": [0.1], **options}).fit(X, y)


def test_an_error_in_a_scorer_ends_the_search_and_leaves_no_model():
    X, y = load_iris(return_X_y=True)

    def broken(model, X, y):
        raise RuntimeError("no score")

    search = SVCCV(CS, GAMMAS, cv=3).fit(X, y)
    with pytest.raises(RuntimeError, match="no score"):
        search.set_params(scoring=broken, n_jobs=2).fit(X, y)
    assert not hasattr(search, "cv_results_") and not hasattr(search, "best_estimator_")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_the_search(n_jobs):
    X, y = make_classification(2000, 20, flip_y=0.3, random_state=0)
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    began = time.perf_counter()
    search = SVCCV(np.geomspace(1, 1e6, 20), np.geomspace(0.01, 1, 10), cv=5, tol=1e-6, n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert time.perf_counter() - began < 20  # the whole would take minutes
    assert not hasattr(search, "classes_")
    timer.join()


def test_without_refit_there_is_no_model():
    X, y = load_iris(return_X_y=True)
    search = SVCCV(CS, GAMMAS, cv=3, refit=False).fit(X, y)
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(AttributeError, match="refit=True"):
        search.predict(X)


# ---- the map ------------------------------------------------------------------------------------------------


def test_the_map_shows_scores_and_marks_the_chosen():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    X, y = load_iris(return_X_y=True)
    search = SVCCV([4.0, 0.25, 64.0], [0.2, 0.02], cv=3).fit(X, y)
    ax = search.plot_scores()
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.lines[-1].get_xydata().tolist() == [[search.best_params_["C"], search.best_params_["gamma"]]]
    drawn = np.asarray(ax.collections[0].get_array()).reshape(2, 3)
    scores = search.cv_results_["mean_test_score"].reshape(3, 2)  # as given: C by gamma
    np.testing.assert_array_equal(drawn, scores[[1, 0, 2]][:, [1, 0]].T)
    assert search.plot_scores(ax) is ax
    pyplot.close(ax.figure)


# ---- scikit-learn -------------------------------------------------------------------------------------------


@parametrize_with_checks([SVCCV(Cs=[1, 16], gammas=["scale"], cv=3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_clones_keep_their_settings():
    search = SVCCV(3, [0.1], cv=4, rule="one_standard_error", class_weight={0: 2})
    assert clone(search).get_params() == search.get_params()
