"""Parameters are checked by scikit-learn's constraints, and wrong ones are answered with what to do instead."""

import inspect
import pickle
import re

import numpy as np
import pytest
import sklearn.svm
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.estimator_checks import check_param_validation

from swapsvm import SVC, SVCCV, SVDD, SVR, SVRCV, OneClassSVM
from swapsvm.dask import SVC as DaskSVC
from swapsvm.estimators.declaration import check_declared

ESTIMATORS = [SVC, SVR, OneClassSVM, SVDD, SVCCV, SVRCV]
X = np.random.default_rng(0).normal(size=(40, 2))
Y = np.arange(40) % 2


def bad_values(name):
    """Values that no parameter of that name takes, beside those of a type that none of them takes."""
    positive = (0, -1.0, np.nan, "1", 10**400)
    not_negative = (-1e-9, np.nan, np.inf, None, "1", 10**400)
    counts = (0, -2, 1.5, 2.0, "2", 10**400)
    words = ("", "Any", None, b"rbf")
    flags = (None, 1, "yes")
    return {
        "C": (*positive, None),
        "gamma": (*positive, np.inf, "Scale", None),
        "epsilon": (*not_negative, "Auto"),
        "expectile": (0, 1, -0.1, np.nan, "0.5", None),
        "slack": not_negative,
        "contamination": (0, 0.51, np.nan, "most", None),
        "coef0": (np.nan, np.inf, "1", None, 10**400),
        "degree": (*counts, 2**31, None),
        "tol": not_negative,
        "eps": not_negative,
        "max_iter": (*counts, np.inf, None),
        "max_time": positive,
        "start_size": (*counts, None),
        "sampling": counts,
        "cache_size": (-1, np.nan, np.inf, "1", 10**400),
        "max_vectors": counts,
        "n_jobs": counts,
        "random_state": (-1, 1.5, "0", np.random.default_rng(0)),
        "callbacks": (0, 1.5),
        "verbose": (-1, 0.5, "yes", None),
        "checkpoint": (0, b"file"),
        "class_weight": ("auto", 1.0, [1.0, 2.0]),
        "scoring": ("best", 1),
        "cv": (1, 0.5, "KFold"),
        "Cs": (0, -1, 2.5, "1", [], [[1.0]], [0.0], [None], None),
        "gammas": (0, -1, 2.5, "scale", [], [[1.0]], [0.0], ["Scale"], None),
        "epsilons": (0, -1, 2.5, "auto", [], [[1.0]], [-1.0], [None], None),
        **dict.fromkeys(("warm_start", "break_ties", "refit"), flags),
        **dict.fromkeys(("kernel", "solver", "on_interrupt", "multiclass", "decision_function_shape", "rule"), words),
    }[name]


def declared(cls):
    return list(inspect.signature(cls).parameters)


@pytest.mark.parametrize(("cls", "name"), [(cls, name) for cls in ESTIMATORS for name in declared(cls)])
def test_bad_types_and_values_are_errors_that_name_the_parameter(cls, name):
    for value in (object(), 1j, *bad_values(name)):
        model = cls().set_params(**{name: value})
        message = rf"^The '{name}(\[\d\])?' parameter of {cls.__name__} must be .* Got .* instead\.$"
        with pytest.raises(InvalidParameterError, match=message):
            model.fit(X, Y)
        assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_scikit_learns_own_check_of_parameters(cls):
    assert list(cls._parameter_constraints) == declared(cls)
    check_param_validation(cls.__name__, cls())


@pytest.mark.parametrize("cls", [*ESTIMATORS, DaskSVC])
def test_defaults_are_allowed_although_their_constraints_are_skipped(cls):
    cls()._validate_params()
    check_declared(cls())


def test_numbers_of_numpy_and_copies_of_defaults_are_allowed():
    given = {"C": np.float32(2), "max_iter": np.int64(50), "tol": np.float64(1e-3), "warm_start": np.bool_(False)}
    model = SVC(
        **given, kernel=np.str_("rbf"), gamma=np.float32(0.5), sampling=None, max_time=np.inf, random_state=None
    )
    assert pickle.loads(pickle.dumps(clone(model))).fit(X, Y).stop_reason_ == "gap"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (SVC, (sklearn.svm.SVC, sklearn.svm.NuSVC, sklearn.svm.LinearSVC)),
        (SVR, (sklearn.svm.SVR, sklearn.svm.NuSVR, sklearn.svm.LinearSVR)),
        (OneClassSVM, (sklearn.svm.OneClassSVM,)),
        (SVDD, (sklearn.svm.OneClassSVM,)),
        (SVCCV, (sklearn.svm.SVC, sklearn.svm.NuSVC)),
        (SVRCV, (sklearn.svm.SVR, sklearn.svm.NuSVR)),
    ],
)
def test_every_parameter_of_scikit_learn_is_taken_or_explained(ours, theirs):
    ignored = {"max_iter"} if ours in (SVCCV, SVRCV) else set()
    names = {name for cls in theirs for name in declared(cls)} - set(declared(ours)) - ignored
    assert names
    for name in names:
        with pytest.raises(TypeError, match=rf"^{ours.__name__} has no parameter '{name}': \w.+"):
            ours(**{name: 1})
        with pytest.raises(ValueError, match=rf"^{ours.__name__} has no parameter '{name}': \w.+"):
            ours().set_params(**{name: 1})


@pytest.mark.parametrize("cls", [*ESTIMATORS, DaskSVC])
def test_what_is_explained_is_no_parameter(cls):
    assert not set(cls.INSTEAD) & set(declared(cls))


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (lambda: SVC(probability=True), r"CalibratedClassifierCV\(SVC\(\.\.\.\), ensemble=False\)"),
        (lambda: SVC(C=2.0, shrinking=False), "shrinks by itself"),
        (lambda: SVR(nu=0.5), "epsilon='auto'"),
        (lambda: OneClassSVM(nu=0.1), "contamination=0.1"),
        (lambda: SVCCV(gamma=1.0), "gammas"),
        (lambda: DaskSVC(probability=True), "CalibratedClassifierCV"),
    ],
)
def test_the_advice(make, advice):
    with pytest.raises(TypeError, match=advice):
        make()


def test_other_mistakes_are_answered_as_usual():
    with pytest.raises(TypeError, match="unexpected keyword argument 'gama'"):
        SVC(gama=1.0)
    with pytest.raises(TypeError, match="positional"):
        SVC(1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'gama' for estimator SVC"):
        SVC().set_params(gama=1.0)
    with pytest.raises(ValueError, match="has no parameter 'nu'"):
        GridSearchCV(SVC(), {"nu": [0.1]}, cv=2, error_score="raise").fit(X, Y)


def test_a_subclass_can_have_such_a_parameter():
    class WithProbability(SVC):
        def __init__(self, probability=True, C=1.0):
            super().__init__(C=C)
            self.probability = probability

    assert clone(WithProbability(probability=False, C=3.0)).set_params(C=2.0).fit(X, Y).C == 2.0


def test_signatures_show_what_is_taken():
    for cls in ESTIMATORS:
        for shown in (inspect.signature(cls), inspect.signature(cls.__init__)):
            kinds = {parameter.kind for parameter in shown.parameters.values()}
            assert not kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
        assert re.fullmatch(r"\w+\(\)", repr(cls()))
