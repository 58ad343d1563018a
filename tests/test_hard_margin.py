"""C = inf: the hard margin, compared with a quadratic program and geometry, or the proof that there is none."""

import pickle
import warnings

import numpy as np
import pytest
from qpsolvers import solve_qp
from sklearn.datasets import load_iris

from swapsvm import SVC, SVCCV, ConvergenceWarning, NotSeparableError, reduce_support
from swapsvm.geometry import min_norm_point
from swapsvm.kernels import Linear, Poly, Rbf

from .reference import kernel_values

HARD = {"C": float("inf"), "tol": 1e-8}


def two_classes(m=60, d=3, apart=5.0, seed=0):
    y = np.arange(m) % 2
    return np.random.default_rng(seed).normal(size=(m, d)) + apart * y[:, None], y


def hard_margin_program(X, y):
    """min |w|^2 + b^2 with y (w'x + b) >= 1, as a quadratic program in (w, b)."""
    rows = np.where(y == 1, 1.0, -1.0)[:, None] * np.hstack([X, np.ones((len(X), 1))])
    n = rows.shape[1]
    precision = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of sparse matrices
        found = solve_qp(np.eye(n), np.zeros(n), -rows, -np.ones(len(rows)), solver="clarabel", **precision)
    return found[:-1], found[-1]


@pytest.mark.parametrize("solver", ["fw", "mfw", "swap", "swap2", "fcfw", "block"])
@pytest.mark.parametrize("m", [60, 400])
def test_every_solver_agrees_with_a_quadratic_program(solver, m):
    X, y = two_classes(m)
    tol = 1e-4 if solver == "fw" else 1e-8
    model = SVC(C=float("inf"), kernel="linear", solver=solver, tol=tol).fit(X, y)
    w, b = hard_margin_program(X, y)
    close = {"rtol": 0, "atol": np.sqrt(tol) * np.linalg.norm(w)}
    np.testing.assert_allclose(model.coef_[0], w, **close)
    np.testing.assert_allclose(model.intercept_[0], b, **close)
    assert (np.where(y == 1, 1, -1) * model.decision_function(X)).min() >= 1 - tol
    assert model.stop_reason_ == "gap"


@pytest.mark.parametrize(
    ("options", "kernel"),
    [
        ({"kernel": "rbf", "gamma": 0.5}, Rbf(gamma=0.5)),
        ({"kernel": "rbf", "gamma": 0.5, "solver": "cvm"}, Rbf(gamma=0.5)),
        ({"kernel": "poly", "gamma": 0.3, "coef0": 1.0, "degree": 2}, Poly(gamma=0.3, coef0=1.0, degree=2)),
        ({"kernel": "linear", "sampling": 20, "solver": "swap2"}, Linear()),
    ],
)
def test_kernels_and_sampling_agree_with_a_quadratic_program(options, kernel):
    X, y = two_classes(40, 2, apart=6.0)
    K = kernel_values(kernel, X)
    values, vectors = np.linalg.eigh(K)
    features = vectors * np.sqrt(np.maximum(values, 0.0))  # their inner products are the kernel values
    w, b = hard_margin_program(features, y)
    model = SVC(**HARD, **options).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), features @ w + b, atol=1e-3)


def test_it_is_the_norm_point_of_the_signed_rows():
    X, y = two_classes(500, 4)
    model = SVC(**HARD, kernel="linear").fit(X, y)
    found = min_norm_point(np.where(y == 1, 1.0, -1.0)[:, None] * np.hstack([X, np.ones((500, 1))]))
    hyperplane = found.point / found.upper_bound**2
    np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), hyperplane, rtol=1e-3, atol=1e-4)
    assert 1 / np.sqrt(-model.results_[0].value) == pytest.approx(1 / found.upper_bound, rel=1e-5)


def test_more_than_two_classes():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(NotSeparableError, match=r"separates classes .*1.* and .*2.* with a margin above") as caught:
        SVC(C=float("inf"), kernel="linear").fit(X, y)
    assert [int(c) for c in caught.value.classes] == [1, 2]
    blobs = np.random.default_rng(0).normal(size=(90, 2)) + 9 * np.array([[0, 0], [1, 0], [0, 1]])[np.arange(90) % 3]
    model = SVC(C=float("inf"), kernel="linear").fit(blobs, np.arange(90) % 3)
    assert model.score(blobs, np.arange(90) % 3) == 1.0


def test_weights_have_no_effect_but_zero():
    X, y = two_classes()
    X[0], weights = X[1], np.random.default_rng(0).uniform(0.5, 3.0, len(y))
    weights[0] = 0.0  # else a row of the wrong class
    plain = SVC(**HARD, kernel="linear").fit(X[1:], y[1:])
    weighted = SVC(**HARD, kernel="linear", class_weight="balanced").fit(X, y, weights)
    np.testing.assert_allclose(weighted.coef_, plain.coef_, rtol=1e-6)


@pytest.mark.parametrize("solver", ["fw", "mfw", "swap", "swap2", "fcfw", "block"])
@pytest.mark.parametrize("m", [60, 2000])
def test_classes_that_overlap_are_refused_with_a_certificate(solver, m):
    X, y = two_classes(m, apart=0.5)
    with pytest.raises(NotSeparableError, match="C=inf needs separable classes") as caught:
        SVC(C=float("inf"), kernel="linear", solver=solver).fit(X, y)
    error = caught.value
    assert error.weights.min() > 0 and error.weights.sum() == pytest.approx(1)
    signs = np.where(y[error.rows] == 1, 1.0, -1.0)
    point = (error.weights * signs) @ np.hstack([X, np.ones((m, 1))])[error.rows]
    size = np.sqrt(1 + (X**2).sum(axis=1).max())
    assert np.linalg.norm(point) <= error.margin <= 1.1e-6 * size


def test_equal_rows_of_two_classes_are_refused_for_any_kernel():
    X, y = two_classes(50, 2, apart=0.0)
    X, y = np.vstack([X, X[:1]]), np.append(y, 1 - y[0])
    for kernel in ("rbf", "laplacian", "linear"):
        with pytest.raises(NotSeparableError, match=r"margin above .*e-0"):
            SVC(C=float("inf"), kernel=kernel).fit(X, y)


def test_single_precision_is_not_what_decides():
    X, y = two_classes(1500, 3, apart=0.0)
    X[:, 0] = np.where(y == 1, 100.0, 100.1)  # a margin of 5e-6 of the size: float32 has 6e-8 of its square
    for rows in (X, X.astype(np.float32)):
        model = SVC(C=float("inf"), kernel="linear", tol=1e-2).fit(rows, y)  # double resolves a gap of 2e-3
        margins = np.where(y == 1, 1, -1) * model.decision_function(rows)
        assert margins.min() > 0.98 and model.score(rows, y) == 1.0 and model.stop_reason_ == "gap"


def test_limits_hold_and_say_so():
    X, y = two_classes(1000, 10, apart=0.2)
    for limit, reason in (({"max_iter": 3}, "max_iter"), ({"max_time": 1e-6}, "max_time")):
        with pytest.warns(ConvergenceWarning, match=reason):
            model = SVC(C=float("inf"), kernel="linear", solver="fw", start_size=2, **limit).fit(X, y)
        assert model.relative_gap_ > 2  # nothing is proved to be separated


def test_a_failed_fit_leaves_nothing_and_its_error_travels():
    X, y = two_classes(apart=0.0)
    model = SVC(C=1.0, kernel="linear").fit(X, y).set_params(C=float("inf"))
    with pytest.raises(NotSeparableError) as caught:
        model.fit(X, y)
    assert not hasattr(model, "dual_coef_")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value) and copy.margin == caught.value.margin


def test_a_model_of_it_is_not_reduced():
    X, y = two_classes()
    with pytest.raises(ValueError, match="fit with a finite C"):
        reduce_support(SVC(**HARD).fit(X, y), X, y, max_vectors=2)


def test_a_search_does_not_take_it():
    with pytest.raises(ValueError, match=r"hard margin \(C=inf\)"):
        SVCCV(Cs=[1.0, float("inf")]).fit(*two_classes())
