"""scikit-learn's metadata routing: weights and groups reach fits and scores where they are requested."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer, r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from swapsvm import SVC, SVCCV, SVDD, SVR, SVRCV, OneClassSVM

X, Y = load_iris(return_X_y=True)
X = X[:, :2]
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(Y)).astype(float)
GROUPS = np.arange(len(Y)) % 5
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


@pytest.fixture(autouse=True)
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def weighted_scores(model, folds, score=accuracy_score):
    """What fits and scores with weights give, by hand."""
    found = []
    for train, test in folds.split(X, Y):
        model.fit(X[train], Y[train], sample_weight=WEIGHTS[train])
        found.append(score(Y[test], model.predict(X[test]), sample_weight=WEIGHTS[test]))
    return np.array(found)


@pytest.mark.parametrize("cls", [SVC, SVR, OneClassSVM, SVDD, SVCCV, SVRCV])
def test_weights_can_be_requested(cls):
    model = cls().set_fit_request(sample_weight=True)
    assert model.get_metadata_routing().consumes("fit", ["sample_weight"]) == {"sample_weight"}
    if hasattr(cls, "score"):
        model.set_score_request(sample_weight=True)
        assert model.get_metadata_routing().consumes("score", ["sample_weight"]) == {"sample_weight"}


@pytest.mark.parametrize("model", [SVC(), SVR(), OneClassSVM(), SVDD(), SVCCV([1.0], [0.5], 2)], ids=repr)
def test_a_pipeline_passes_weights_on(model):
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipe = make_pipeline(scaler, model.set_fit_request(sample_weight=True)).fit(X, Y, sample_weight=WEIGHTS)
    rows = StandardScaler().fit_transform(X)
    assert_array_equal(pipe.predict(X), model.fit(rows, Y, sample_weight=WEIGHTS).predict(rows))
    assert (pipe.predict(X) != model.fit(rows, Y).predict(rows)).any()


def test_what_is_not_requested_is_an_error_that_names_the_request():
    with pytest.raises(UnsetMetadataPassedError, match="set_fit_request"):
        GridSearchCV(SVC(), {"C": [1.0]}, cv=2).fit(X, Y, sample_weight=WEIGHTS)


def test_grid_search_weighs_fits_and_scores():
    model = SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    search = GridSearchCV(model, {"C": [0.1, 10.0]}, cv=FOLDS).fit(X, Y, sample_weight=WEIGHTS)
    for place, C in enumerate((0.1, 10.0)):
        scores = [search.cv_results_[f"split{fold}_test_score"][place] for fold in range(3)]
        assert_allclose(scores, weighted_scores(SVC(C=C), FOLDS))


def test_cross_validate_weighs_fits_and_scores():
    scorer = make_scorer(r2_score).set_score_request(sample_weight=True)
    model = SVR().set_fit_request(sample_weight=True)
    folds = KFold(3, shuffle=True, random_state=0)
    found = cross_validate(model, X, Y, cv=folds, scoring=scorer, params={"sample_weight": WEIGHTS})
    assert_allclose(found["test_score"], weighted_scores(SVR(), folds, r2_score))


def test_stacking_passes_weights_on():
    first = SVC().set_fit_request(sample_weight=True)
    last = LogisticRegression().set_fit_request(sample_weight=False)
    stack = StackingClassifier([("svc", first)], last, cv=FOLDS).fit(X, Y, sample_weight=WEIGHTS)
    assert_array_equal(stack.named_estimators_["svc"].dual_coef_, SVC().fit(X, Y, WEIGHTS).dual_coef_)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_scorer_of_a_search_gets_the_weights_that_it_requests(n_jobs):
    plain = make_scorer(accuracy_score)
    asking = make_scorer(accuracy_score).set_score_request(sample_weight=True)

    def scores(scoring, weights=WEIGHTS):
        search = SVCCV([0.1, 10.0], [0.5], FOLDS, scoring=scoring, n_jobs=n_jobs).fit(X, Y, sample_weight=weights)
        return np.array([search.cv_results_[f"split{fold}_test_score"] for fold in range(3)])

    by_hand = [weighted_scores(SVC(C=C, gamma=0.5), FOLDS) for C in (0.1, 10.0)]
    assert_allclose(scores(asking), np.transpose(by_hand))
    assert_allclose(scores(asking), scores("accuracy"))
    assert np.abs(scores(asking) - scores(plain)).max() > 1e-3
    assert_allclose(scores(asking, None), scores(plain, None))


def test_the_score_of_a_search_is_weighted():
    search = SVRCV([1.0], [0.5], 3, epsilons=[0.1]).fit(X, Y, sample_weight=WEIGHTS)
    assert search.score(X, Y, sample_weight=WEIGHTS) == r2_score(Y, search.predict(X), sample_weight=WEIGHTS)


def test_groups_reach_the_splitter_of_a_search_in_a_pipeline():
    search = SVCCV([1.0], [0.5], GroupKFold(5)).set_fit_request(groups=True, sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=True)
    pipe = make_pipeline(scaler, search).fit(X, Y, sample_weight=WEIGHTS, groups=GROUPS)
    rows = StandardScaler().fit_transform(X, sample_weight=WEIGHTS)
    own = SVCCV([1.0], [0.5], GroupKFold(5)).fit(rows, Y, sample_weight=WEIGHTS, groups=GROUPS)
    assert pipe[-1].best_score_ == own.best_score_
