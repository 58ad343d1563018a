"""Each wrong input is a clear error that names the value, and leaves nothing half-fitted behind."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import check_is_fitted

from swapsvm import SVC, SVCCV, SVDD, SVR, OneClassSVM, maximize
from swapsvm.problems import Concave, Quadratic
from swapsvm.solvers import SOLVERS
from swapsvm.stopping import Gap, Iterations, Seconds

from .footprint import MEGABYTE, peak_of

X = np.random.default_rng(0).standard_normal((30, 3))
Y = np.arange(30) % 2


def replaced(value):
    Z = X.copy()
    Z[3, 1] = value
    return Z


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({}, (replaced(np.nan), Y), "NaN"),
        ({}, (replaced(np.inf), Y), "infinity"),
        ({}, (sp.csr_array(replaced(np.nan)), Y), "NaN"),
        ({}, (1e200 * X, Y), "gamma='scale' cannot be computed: values of X have squares out of the range of a double"),
        ({"gamma": "mean_sq_dist"}, (sp.csr_array(1e200 * X), Y), "gamma='mean_sq_dist' cannot be computed"),
        ({}, (X, np.zeros(30)), "at least two classes.*1 class"),
        ({}, (np.empty((0, 3)), np.empty(0)), "0 sample"),
        ({}, (X, Y[:-1]), "inconsistent numbers of samples"),
        ({}, (X, Y + 0.5 * X[:, 0]), "continuous"),
        ({}, (X, Y, -np.ones(30)), "Negative values in data passed to `sample_weight`"),
        ({}, (X, Y, np.zeros(30)), "at least one non-zero number"),
        ({}, (X, Y, np.where(Y, 1.0, 0.0)), "at least two classes with positive weight"),
        ({}, (X, Y, np.full(30, np.nan)), "NaN"),
        ({"C": 0}, (X, Y), r"'C' parameter of SVC must be a float in the range \(0.0, inf\]"),
        ({"C": -1.0}, (X, Y), "'C' parameter.* Got -1.0 instead"),
        ({"C": np.inf}, (np.vstack([X, X]), np.append(Y, 1 - Y)), "C=inf needs separable classes: no hyperplane"),
        ({"C": np.nan}, (X, Y), "'C' parameter.* Got nan instead"),
        (
            {"solver": "smo"},
            (X, Y),
            "'solver' parameter of SVC must be a str among {" + ", ".join(map(repr, SOLVERS)) + "}",
        ),
        ({"kernel": "gauss"}, (X, Y), "'kernel' parameter .* {'linear', 'rbf', .*} or a callable. Got 'gauss'"),
        ({"gamma": "wide"}, (X, Y), "'gamma' parameter .* {'scale', 'auto', 'mean_sq_dist', 'cvm'} or a float"),
        ({"gamma": 0.0}, (X, Y), "'gamma' parameter .* Got 0.0 instead"),
        ({"tol": -1}, (X, Y), "'tol' parameter"),
        ({"eps": np.nan}, (X, Y), "'eps' parameter"),
        ({"max_iter": 0}, (X, Y), r"'max_iter' parameter .* an int in the range \[1, inf\) or a int among {-1}"),
        ({"max_time": 0.0}, (X, Y), r"'max_time' parameter .* a float in the range \(0.0, inf\] or None"),
        ({"start_size": 0}, (X, Y), "'start_size' parameter"),
        ({"sampling": 0}, (X, Y), "'sampling' parameter"),
        ({"cache_size": -5}, (X, Y), "'cache_size' parameter"),
        ({"n_jobs": 0}, (X, Y), "'n_jobs' parameter"),
        ({"kernel": "poly", "degree": 2**31}, (X, Y), r"'degree' .* in the range \[1, 2147483647\]"),
        ({"kernel": "poly", "degree": 2.5}, (X, Y), "'degree' parameter .* an int"),
        ({"decision_function_shape": "all"}, (X, Y), "'decision_function_shape' parameter .* Got 'all'"),
        ({"class_weight": {0: -1.0, 1: 1.0}}, (X, Y), "class_weight=.* none negative"),
        ({"kernel": "precomputed"}, (X, Y), r"square .*X has shape \(30, 3\)"),
        ({"kernel": "precomputed"}, (np.triu(X @ X.T), Y), "symmetric"),
        ({"kernel": lambda A, B: np.ones((2, 2))}, (X, Y), r"returned an array of shape \(2, 2\)"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, (X, Y), "returned values that are not finite"),
        ({"solver": "cvm", "kernel": "linear"}, (X, Y), "minimum enclosing ball.*constant.*solver='fcfw'"),
        ({"solver": "cvm"}, (X, Y, 1.0 + Y), "minimum enclosing ball"),
    ],
)
def test_fit_refuses(options, data, message):
    model = SVC(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(*data)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


NO_NUMBERS = [None, "a", [1], {}, 1j, np.array([1.0, 2.0]), 10**400, np.nan]
NUMBERS = {
    SVC: ["C", "degree", "gamma", "coef0", "tol", "eps", "max_iter", "max_time", "start_size", "cache_size", "n_jobs"],
    SVR: ["C", "epsilon", "gamma", "tol"],
    OneClassSVM: ["slack", "contamination", "gamma", "tol"],
    SVDD: ["slack", "contamination", "gamma", "tol"],
}
OPTIONAL = ("max_time", "cache_size", "n_jobs", "sampling")
CASES = [(cls, name, value) for cls, names in NUMBERS.items() for name in names for value in NO_NUMBERS]


@pytest.mark.parametrize(("cls", "name", "value"), [*CASES, *((SVC, "sampling", value) for value in NO_NUMBERS)])
def test_parameters_that_are_no_numbers_are_named(cls, name, value):
    if value is None and name in OPTIONAL:
        pytest.skip("means the default")
    model = cls(kernel="poly").set_params(**{name: value})
    with pytest.raises(InvalidParameterError, match=rf"^The '{name}' parameter of {cls.__name__} must be "):
        model.fit(X, Y)


def test_an_asymmetric_kernel_function_is_refused_with_its_values():
    def skewed(A, B):
        return A @ B.T + A[:, :1] - B[:, 0]

    message = r"not symmetric: for the rows x = X\[\d+\] and z = X\[\d+\] k\(x, z\) is (.*) but k\(z, x\) is (.*)\. "
    for model in (SVC(kernel=skewed), SVR(kernel=skewed), OneClassSVM(kernel=skewed), SVCCV(kernel=skewed)):
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y)


def test_rounding_of_single_precision_is_no_asymmetry():
    def rounded(A, B):
        return (A @ B.T).astype(np.float32) * (1 + 1e-6 * np.arange(len(B), dtype=np.float32))

    SVC(kernel=rounded).fit(X, Y)


@pytest.mark.parametrize("model", [SVC(solver="swap2"), SVC(), SVR(solver="swap2"), SVDD(solver="swap2")], ids=repr)
def test_a_callback_that_writes_into_sparse_rows_does_no_harm(model):
    """The core would follow these indices to wherever they point."""
    rows = sp.csr_array(np.random.default_rng(0).normal(size=(400, 3)))
    whole, called = sp.csr_array(rows, copy=True), []

    def vandal(progress):
        called.append(progress)
        rows.indices[:] = 2**30
        rows.indptr[:] = 2**30

    labels = np.random.default_rng(1).integers(0, 2, 400)
    model = clone(model).set_params(tol=1e-8, callbacks=vandal)
    found = model.fit(rows, labels).support_
    assert called
    np.testing.assert_array_equal(found, model.set_params(callbacks=None).fit(whole, labels).support_)


def test_a_sample_is_no_larger_than_the_problem():
    model = SVC(sampling=10**8, solver="swap2")
    assert peak_of(lambda: model.fit(X, Y)) < 50 * MEGABYTE
    assert model.stop_reason_ == "gap"


def test_a_kernel_that_is_not_positive_gives_no_model():
    """With a'Qa < 0 the decision function would have the wrong sign."""
    K = -np.eye(30) + 0.0
    with pytest.raises(ValueError, match="not positive semidefinite"):
        SVC(kernel="precomputed", C=10).fit(K, Y)


def test_predict_refuses_another_number_of_features():
    model = SVC().fit(X, Y)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="30 features"):
        SVC(kernel="precomputed").fit(X @ X.T, Y).predict(X @ X[:5].T)


def test_a_failing_fit_leaves_no_model():
    """Neither a partial new model nor the old model under new parameters."""
    model = SVC().fit(X, Y)
    with pytest.raises(ValueError, match="solver"):
        model.set_params(solver="none").fit(-X, 1 - Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def concave(value=None, gradient=None, **options):
    b = np.array([0.1, 0.3, 0.6])
    return Concave(
        value=value or (lambda a: -((a - b) ** 2).sum()),
        gradient=gradient or (lambda a: -2 * (a - b)),
        size=3,
        **options,
    )


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (concave(gradient=lambda a: np.array([1.0, np.nan, 0.0])), r"gradient\(a\) is nan at index 1"),
        (concave(gradient=lambda a: np.zeros(2)), r"must have shape \(3,\)"),
        (concave(value=lambda a: np.nan), r"value\(a\) is nan"),
        (concave(value=lambda a: (a**2).sum(), gradient=lambda a: 2 * a), "not concave"),
        (concave(value=lambda a: -a[2], gradient=lambda a: np.array([0.0, 0.0, 1.0])), "not concave, or its gradient"),
    ],
)
@pytest.mark.parametrize("solver", ["fw", "swap", "swap2", "fcfw"])
def test_maximize_refuses_bad_functions(problem, message, solver):
    with pytest.raises(ValueError, match=message):
        maximize(problem, solver=solver, tol=1e-9, start=[0.5, 0.4, 0.1], max_iter=100)


@pytest.mark.parametrize("solver", ["swap2", "fcfw"])
def test_second_order_steps_refuse_a_bad_hessian(solver):
    problem = concave(hessian=lambda a, i, j: np.full(len(i), np.nan))
    with pytest.raises(ValueError, match="hessian"):
        maximize(problem, solver=solver, tol=1e-9, start=[0.5, 0.4, 0.1], max_iter=100)


def test_maximize_refuses_bad_arguments():
    with pytest.raises(ValueError, match="size=0 must be a positive integer"):
        Concave(value=np.sum, gradient=np.ones_like, size=0)
    with pytest.raises(ValueError, match="start must be 3 finite weights"):
        maximize(concave(), start=[1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match="sampling=5 needs a kernel problem"):
        maximize(concave(), sampling=5)
    with pytest.raises(ValueError, match="hessian"):
        maximize(concave(), solver="cvm")
    with pytest.raises(ValueError, match="ridge"):
        maximize(Quadratic(Quadratic.of_matrix(np.eye(3)).gram, ridge=np.ones(2)))


@pytest.mark.parametrize("make", [lambda: Gap(tol=np.nan), lambda: Iterations(0), lambda: Seconds(-1.0)])
def test_stop_rules_refuse_bad_numbers(make):
    with pytest.raises(ValueError, match="must be"):
        make()
