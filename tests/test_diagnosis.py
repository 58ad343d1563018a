"""Warnings about badly scaled columns and gamma, and data without warnings."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
    make_moons,
)
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler

from swapsvm import SVC, SVCCV, ConvergenceWarning, Gram, ScalingWarning, datasets
from swapsvm.cli import main
from swapsvm.fitting.diagnosis import Sample, is_identity, warn_of_scaling
from swapsvm.kernels import Laplacian, Rbf, resolve_gamma

RANDOM = np.random.default_rng(0)
WINE, CULTIVARS = load_wine(return_X_y=True)
MOONS, SIDES = make_moons(400, noise=0.1, random_state=0)


def said(X, kernel="rbf", gamma="scale", **parameters):
    """The warnings of a fit, with labels that do not matter."""
    y = np.arange(X.shape[0]) % 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SVC(kernel=kernel, gamma=gamma, **parameters, max_iter=1).fit(X, y)
    return [str(warning.message) for warning in caught if warning.category is ScalingWarning]


# ---- columns ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "columns"),
    [(load_wine, "1 of 13 columns (X[:, 12])"), (load_breast_cancer, "2 of 30 columns (X[:, [23, 3]])")],
)
def test_raw_measurements(load, columns):
    X, _ = load(return_X_y=True)
    (message,) = said(X)
    assert columns in message and "StandardScaler" in message
    assert said(StandardScaler().fit_transform(X)) == []


def test_it_matters_for_the_accuracy():
    """A warning is correct if scaling helps on held-out rows."""
    for load in (load_wine, load_breast_cancer):
        X, X_test, y, y_test = train_test_split(*load(return_X_y=True), random_state=0)
        with pytest.warns(ScalingWarning):
            raw = SVC(C=10).fit(X, y).score(X_test, y_test)
        scaler = StandardScaler().fit(X)
        assert SVC(C=10).fit(scaler.transform(X), y).score(scaler.transform(X_test), y_test) > raw + 0.02


def test_names_of_columns_and_the_way_out_of_sparse_data():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(WINE, columns=load_wine().feature_names)
    with pytest.warns(ScalingWarning, match=r"1 of 13 columns \('proline'\)"):
        SVC().fit(frame, CULTIVARS)
    assert "MaxAbsScaler" in said(sp.csr_array(WINE))[0]


def one_hot(rows, levels):
    return np.eye(levels)[RANDOM.integers(levels, size=rows)]


REASONABLE = {
    "iris": load_iris().data,
    "digits": load_digits().data,
    "diabetes": load_diabetes().data,
    "standardized and one-hot": np.c_[RANDOM.normal(size=(2000, 5)), one_hot(2000, 50)],
    "one standardized and rare 0/1": np.c_[RANDOM.normal(size=(2000, 1)), RANDOM.random((2000, 30)) < 0.002],
    "heavy tails": RANDOM.standard_cauchy((2000, 10)),
    "components": RANDOM.normal(size=(2000, 50)) * np.exp(-np.arange(50.0)),
    "components of eigh": RANDOM.normal(size=(2000, 50)) * np.exp(np.arange(-50.0, 0.0)),
    "one column": RANDOM.normal(size=(200, 1)),
    "one column that varies": np.c_[1e6 * RANDOM.normal(size=200), np.ones((200, 9))],
    "all the same": np.ones((100, 3)),
    "large numbers": 1e6 + 1e3 * RANDOM.normal(size=(200, 8)),
    "one outlier": np.where(np.arange(2000).reshape(200, 10) == 10, 1e9, RANDOM.normal(size=(200, 10))),
    "few rows": WINE[:49],
}


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("name", REASONABLE)
def test_nothing_is_said_of_reasonable_data(name, kernel):
    X = REASONABLE[name]
    distance = np.abs(X[1:] - X[:-1]).sum(axis=1).mean()  # "scale" is made for squared distances
    gamma = 1 / max(distance, 1.0) if kernel == "laplacian" else "scale"
    assert said(X, kernel, gamma) == said(sp.csr_array(X), kernel, gamma) == []


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid", "precomputed", lambda a, b: a @ b.T])
def test_nothing_is_said_of_other_kernels(kernel):
    X = StandardScaler().fit_transform(WINE) * np.geomspace(1, 1e4, 13)
    gamma = 1e-9 if kernel in ("poly", "sigmoid") else "scale"
    assert said(X @ X.T if kernel == "precomputed" else X, kernel, gamma, coef0=1.0) == []


@pytest.mark.parametrize("name", ["a1a", "w1a", "usps", "letter", "pendigits", "shuttle", "reuters", "abalone"])
def test_nothing_is_said_of_registered_data(name):
    try:
        X = datasets.load(name).X_train
    except datasets.DatasetError:
        pytest.skip(f"{name} is not on this machine")
    for kernel in (Rbf, Laplacian):
        warn_of_scaling(Gram(kernel(resolve_gamma("scale", kernel, X)), X), lambda: float(X.shape[0]))


@given(seed=st.integers(0, 99), rows=st.integers(50, 300), columns=st.integers(2, 40), ratio=st.floats(1.0, 10.0))
@settings(max_examples=40, deadline=None)
def test_scales_within_a_factor_of_ten_are_no_trouble(seed, rows, columns, ratio):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * ratio ** rng.random(columns)
    warn_of_scaling(Gram(Rbf(resolve_gamma("scale", Rbf, X)), X), lambda: float(rows))


@given(seed=st.integers(0, 99), columns=st.integers(4, 40), factor=st.floats(1e3, 1e8))
@settings(max_examples=40, deadline=None)
def test_one_column_in_tiny_units_is_found(seed, columns, factor):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, columns))
    large = int(rng.integers(columns))
    X[:, large] *= factor * np.sqrt(columns)
    steps = np.diff(Sample.of(X, np.arange(200), 2).spreads)
    assume((steps > 0).any() and (steps < 0).any())  # sorted columns count as principal components
    with pytest.warns(ScalingWarning, match=rf"1 of {columns} columns \(X\[:, {large}\]\)"):
        warn_of_scaling(Gram(Rbf(resolve_gamma("scale", Rbf, X)), X), lambda: 200.0)


# ---- gamma ------------------------------------------------------------------------------------------------------


def test_a_gamma_that_makes_the_identity():
    (message,) = said(MOONS, gamma=1e6)
    assert message.startswith("gamma=1e+06 is so large") and "about" in message
    X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    with pytest.warns(ScalingWarning, match="identity within 1%"):
        model = SVC(gamma=1.0).fit(X, y)
    assert model.score(X, y) == 1 and model.score(X_test, y_test) < 0.2
    np.testing.assert_allclose(rbf_kernel(X[:200], gamma=1.0), np.eye(200), atol=0.01)


def test_a_gamma_that_makes_a_constant():
    with pytest.warns(ScalingWarning, match="gamma=1e-09 is so small"):
        model = SVC(gamma=1e-9).fit(MOONS, SIDES)
    assert np.ptp(model.decision_function(MOONS)) < 0.01
    # with a C that compensates for it the kernel acts as a linear one, and separates
    with pytest.warns(ConvergenceWarning, match="precision"):  # which rounding of kernel values close to 1 hides
        model = SVC(gamma=1e-9, C=1e10).fit(MOONS, SIDES)
    assert model.score(MOONS, SIDES) > 0.8


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("exponent", range(-12, 13))
def test_gammas_that_are_bad_and_gammas_that_are_not(kernel, exponent):
    """The exact matrix shows the identity; a gamma within a factor 100 of the usual one never causes a warning."""
    gamma = 10.0**exponent
    matrix = {"rbf": rbf_kernel, "laplacian": laplacian_kernel}[kernel](MOONS, gamma=gamma)
    sums = matrix.sum(axis=1) - 1
    found = said(MOONS, kernel, gamma)
    if np.mean(sums < 0.01) == 1:
        assert "so large" in found[0]
    elif np.mean(sums < 0.01) < 0.5:
        assert not any("so large" in message for message in found)
    if (1 - matrix).mean() * len(MOONS) > 0.05:
        assert not any("so small" in message for message in found)
    elif (1 - matrix).mean() * len(MOONS) < 0.005:
        assert "so small" in found[0]


@pytest.mark.parametrize("load", [load_digits, load_iris, lambda **_: make_moons(400, noise=0.2, random_state=0)])
def test_an_alarm_of_a_large_gamma_is_true(load):
    """The accuracy on other rows is then hardly better than guessing."""
    X, X_test, y, y_test = train_test_split(*load(return_X_y=True), random_state=0)
    guess = np.bincount(y_test).max() / len(y_test)
    alarms = 0
    for gamma in np.geomspace(1e-3, 1e6, 10):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            score = SVC(C=10, gamma=gamma).fit(X, y).score(X_test, y_test)
        alarm = any("so large" in str(warning.message) for warning in caught)
        assert score < guess + 0.1 if alarm else True
        alarms += alarm
    assert 0 < alarms < 9


def test_repeated_rows_are_no_identity():
    """A row and its copies are alike, whatever gamma."""
    X = np.repeat(MOONS[:50], 4, axis=0)
    assert not is_identity(Gram(Rbf(1e9), X), np.arange(200))
    assert is_identity(Gram(Rbf(1e9), MOONS), np.arange(400))


def test_columns_and_gamma_are_one_warning():
    (message,) = said(WINE, gamma=1e3)
    assert "1 of 13 columns" in message and "so large" in message


def test_numbers_out_of_range_are_not_diagnosed():
    warn_of_scaling(Gram(Rbf(1.0), 1e200 * MOONS), lambda: 400.0)
    warn_of_scaling(Gram(Rbf(1.0), 1e-320 * MOONS[:, ::-1].copy()), lambda: np.inf)


# ---- how often --------------------------------------------------------------------------------------------------


def test_once_for_a_fit_of_many_pairs_at_the_line_of_the_user():
    with pytest.warns(ScalingWarning) as caught:
        SVC().fit(WINE, CULTIVARS)
    assert len(caught) == 1 and caught[0].filename == __file__


def test_once_for_a_search():
    with pytest.warns(ScalingWarning) as caught:
        SVCCV([1, 10], [1e-9, 1e9, 1.0], cv=3).fit(WINE, CULTIVARS)
    assert [warning.category for warning in caught].count(ScalingWarning) == 1
    SVCCV([1, 10], [1e-9, 1e9, 1.0], cv=3).fit(MOONS, SIDES)  # the winner is a good one


def test_once_for_each_fit_of_a_grid():
    with pytest.warns(ScalingWarning) as caught:
        GridSearchCV(SVC(), {"C": [1, 10]}, cv=2).fit(WINE, CULTIVARS)
    assert len(caught) == 5  # like ConvergenceWarning: the fits are independent


def test_it_costs_little():
    X, _ = make_classification(2000, 30, random_state=0)
    gram, evaluations = Gram(Rbf(0.03), X), []
    warn_of_scaling(gram, lambda: evaluations.append(1) or 1.0)
    assert gram.evaluations == 0 and not evaluations  # distances of 128 pairs, no kernel value, no problem


@pytest.mark.parametrize("command", [["train"], ["tune", "-c", "1", "-g", "2", "-v", "2"]])
def test_commands_say_it_in_one_line(command, tmp_path, capsys):
    rows = np.c_[CULTIVARS, WINE]
    np.savetxt(tmp_path / "wine.csv", rows, delimiter=",", header="label," + ",".join("abcdefghijklm"), comments="")
    verb, *options = command
    assert main([verb, str(tmp_path / "wine.csv"), str(tmp_path / "model"), "--label", "label", *options]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert len(lines) == 1 and lines[0].startswith("swapsvm: warning: About 9") and "StandardScaler" in lines[0]
