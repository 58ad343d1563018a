"""SVC against LIBLINEAR, whose L2-loss dual is the same problem, and an exact quadratic program."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.linalg import cholesky, solve_triangular
from sklearn.svm import LinearSVC

from swapsvm import SVC
from swapsvm.fitting.session import SMALL
from swapsvm.kernels import make_kernel
from swapsvm.solvers import SOLVERS

from . import reference
from .cases import overlapping_rows, random_rows

ROWS = SMALL * 5 // 8  # of each class: too many for the direct step, so that the solver itself is judged
KERNELS = {"rbf": {"gamma": 0.2}, "poly": {"gamma": 0.2, "coef0": 1.0, "degree": 4}}
UNEVEN = {("cvm", "linear"), ("cvm", "poly")}  # cvm needs a constant diagonal
solvers = pytest.mark.parametrize("solver", SOLVERS)


def two_classes(rows=ROWS, d=4):
    """Two overlapping classes; the first rows are those of the positive class True."""
    return overlapping_rows(rows, d), np.arange(2 * rows) < rows


def three_classes(rows=12):
    X = random_rows(3 * rows, 2)
    X[:rows, 0] += 1.5
    X[rows : 2 * rows, 1] += 1.5
    return X, np.repeat(["a", "b", "c"], rows)


def liblinear(X, y, C, sample_weight=None):
    """The judge: its C is half of ours, and its bias is regularized as ours is."""
    judge = LinearSVC(
        loss="squared_hinge", dual=True, intercept_scaling=1, C=C / 2, tol=1e-10, max_iter=10**7, random_state=0
    )
    return judge.fit(X, y, sample_weight)


def model(solver, **options):
    """A model fitted to a tight gap. Frank-Wolfe, with its O(1/k), to a looser one; primal minus dual is a square."""
    return SVC(solver=solver, tol={"fw": 1e-3, "block": 1e-15}.get(solver, 1e-9), **options)


def assert_close(actual, expected, solver="swap2"):
    """Equal up to a share of the largest entry: the root of the gap for "fw"."""
    atol = (5e-2 if solver == "fw" else 1e-6) * np.abs(expected).max()
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


@pytest.mark.filterwarnings("ignore:.*stopped by 'precision'")  # as intended by tol=1e-15
@pytest.mark.parametrize("solver", [solver for solver in SOLVERS if (solver, "linear") not in UNEVEN])
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_a_linear_kernel_gives_liblinears_model(solver, C):
    X, y = two_classes()
    new = random_rows(50, 4, seed=1)
    ours, judge = model(solver, kernel="linear", C=C).fit(X, y), liblinear(X, y, C)
    assert_close(ours.coef_, judge.coef_, solver)
    assert_close(ours.intercept_, judge.intercept_, solver)
    assert_close(ours.decision_function(new), judge.decision_function(new), solver)


@pytest.mark.parametrize("C", [1e-3, 10.0])
def test_liblinears_model_for_small_and_large_C(C):
    X, y = two_classes()
    ours, judge = model("swap2", kernel="linear", C=C).fit(X, y), liblinear(X, y, C)
    assert_close(ours.coef_, judge.coef_)
    assert_close(ours.intercept_, judge.intercept_)


@pytest.mark.filterwarnings("ignore:.*stopped by 'precision'")  # as intended by tol=1e-15
@pytest.mark.parametrize(("solver", "kernel"), [pair for pair in product(SOLVERS, KERNELS) if pair not in UNEVEN])
def test_a_cholesky_factor_makes_any_kernel_linear(solver, kernel):
    X, y = two_classes(d=8)
    new = random_rows(50, 8, seed=1)
    function = make_kernel(kernel, **KERNELS[kernel])
    factor = cholesky(reference.kernel_values(function, X), lower=True)
    judge = liblinear(factor, y, C=1.0)
    ours = model(solver, kernel=kernel, **KERNELS[kernel], C=1.0).fit(X, y)
    assert_close(ours.decision_function(X), judge.decision_function(factor), solver)
    features = solve_triangular(factor, reference.kernel_values(function, X, new), lower=True).T
    assert_close(ours.decision_function(new), judge.decision_function(features), solver)


def test_liblinear_weighs_samples_as_we_do():
    X, y = two_classes()
    weights = np.random.default_rng(2).uniform(0.1, 3.0, len(y))
    ours, judge = model("swap2", kernel="linear").fit(X, y, weights), liblinear(X, y, 1.0, weights)
    assert_close(ours.coef_, judge.coef_)
    assert_close(ours.intercept_, judge.intercept_)


@pytest.mark.parametrize("solver", ["mfw", "swap", "swap2", "fcfw"])  # weights make the diagonal uneven: no cvm
@pytest.mark.parametrize("kernel", KERNELS)
def test_weights_are_repeated_rows(solver, kernel):
    X, y = two_classes(rows=100)
    weights = np.random.default_rng(3).integers(0, 4, len(y))
    weighted = model(solver, kernel=kernel, **KERNELS[kernel]).fit(X, y, sample_weight=weights)
    repeated = model(solver, kernel=kernel, **KERNELS[kernel]).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    new = random_rows(50, 4, seed=1)
    assert_close(weighted.decision_function(new), repeated.decision_function(new))
    assert np.count_nonzero(weights) >= SMALL
    assert not np.isin(weighted.support_, np.flatnonzero(weights == 0)).any()


def expected_decisions(X, positive, C, new, kernel):
    """Decisions at new points by the quadratic program."""
    y = np.where(positive, 1.0, -1.0)
    Q = reference.l2_svm_matrix(reference.kernel_values(kernel, X), y, C)
    a = reference.exact_weights(Q)
    return reference.decision_values(reference.kernel_values(kernel, new, X), y, a, -reference.value(Q, a))


@solvers
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_two_classes_against_the_quadratic_program(solver, C):
    X, y = two_classes(rows=15, d=2)
    new = random_rows(30, 2, seed=1)
    ours = SVC(C=C, gamma=0.5, solver=solver).fit(X, y)
    expected = expected_decisions(X, y, C, new, make_kernel("rbf", gamma=0.5))
    assert_close(ours.decision_function(new), expected)
    np.testing.assert_array_equal(ours.predict(new), expected > 0)


@solvers
def test_three_classes_against_the_quadratic_program(solver):
    X, y = three_classes()
    new = random_rows(30, 2, seed=1)
    ours = SVC(C=10.0, gamma=0.5, solver=solver, decision_function_shape="ovo").fit(X, y)
    votes = {name: np.zeros(len(new)) for name in "abc"}
    for k, (first, second) in enumerate(combinations("abc", 2)):
        rows = np.isin(y, [first, second])
        expected = expected_decisions(X[rows], y[rows] == first, 10.0, new, make_kernel("rbf", gamma=0.5))
        assert_close(ours.decision_function(new)[:, k], expected)
        votes[first] += expected > 0
        votes[second] += expected <= 0
    counts = np.array([votes[name] for name in "abc"])
    clear = counts.max(axis=0) == 2  # two votes of three decide
    assert clear.sum() > 20
    np.testing.assert_array_equal(ours.predict(new)[clear], np.array(list("abc"))[counts.argmax(axis=0)][clear])


def test_the_margin_has_unit_scale():
    # y_i f(x_i) = 1 - xi_i with xi_i = b_i / C at every support vector.
    X, y = two_classes(rows=15, d=2)
    ours = SVC(C=3.0, gamma=0.5).fit(X, y)
    margins = np.where(y, 1.0, -1.0)[ours.support_] * ours.decision_function(X)[ours.support_]
    np.testing.assert_allclose(margins, 1.0 - np.abs(ours.dual_coef_[0]) / 3.0, atol=1e-6)
