"""Every estimator in the native format and in skops, and damage to its file."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from campaign.formats import in_container
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold

import swapsvm
from swapsvm import SVC, SVCCV, SVDD, SVR, SVRCV, Checkpoint, OneClassSVM
from swapsvm.files import TRUSTED_TYPES, load, save
from swapsvm.files.native import read_version
from swapsvm.files.registry import MODELS

from .saved import MAKERS, X, assert_same_predictions, fitted, target, y

every = pytest.mark.parametrize("name", MAKERS)
NOT_SAVED = ("trace_", "results_", "cache_counts_", "scorer_", "best_estimator_", "model_", "cv_results_")


def returned(model, path):
    save(model, path)
    return load(path)


def attributes_of(model):
    """The fitted attributes that a file keeps."""
    return {name for name in vars(model) if name.endswith("_") and not name.startswith("_")} - {*NOT_SAVED}


def assert_same_model(model, again):
    """The same type, parameters and attributes."""
    assert type(again) is type(model)
    assert repr(again.get_params()) == repr(model.get_params())
    assert attributes_of(again) == attributes_of(model)
    for name in attributes_of(model):
        value, other = getattr(model, name), getattr(again, name)
        assert_array_equal(other, value, err_msg=name)
        assert getattr(other, "dtype", None) == getattr(value, "dtype", None) or np.ndim(value) == 0


def test_every_estimator_is_among_the_cases():
    assert {type(fitted(name)) for name in MAKERS} == {cls for cls in MODELS if cls.__module__.startswith("swapsvm")}


@every
def test_a_model_comes_back_to_the_last_bit(name, tmp_path):
    model = fitted(name)
    again = returned(model, tmp_path / "model")
    assert_same_model(model, again)
    assert_same_predictions(model, again, X)
    assert_same_predictions(model, again, sp.csr_matrix(X))
    assert read_version(tmp_path / "model") == swapsvm.__version__


@every
def test_a_loaded_model_is_saved_as_the_same_bytes(name, tmp_path):
    again = returned(fitted(name), tmp_path / "first")
    save(again, tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


@pytest.mark.parametrize("cls", [SVR, OneClassSVM, SVDD])
def test_precomputed_kernels_come_back(cls, tmp_path):
    K = np.exp(-0.2 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = cls(kernel="precomputed").fit(K, target)
    assert_same_predictions(model, returned(model, tmp_path / "model"), K)


@pytest.mark.parametrize("cls", [SVR, OneClassSVM, SVDD, partial(SVRCV, Cs=2, gammas=2, cv=2)])
def test_names_of_features_come_back(cls, tmp_path):
    table = pd.DataFrame(X, columns=["länge", "b\nreite", "b", "c"])
    model = cls().fit(table, target)
    again = returned(model, tmp_path / "model")
    assert_array_equal(again.feature_names_in_, model.feature_names_in_, strict=True)
    assert_same_predictions(model, again, table)


# ---- searches -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SVCCV", "SVRCV"])
def test_the_results_of_a_search_come_back(name, tmp_path):
    search = fitted(name)
    again = returned(search, tmp_path / "model")
    assert list(again.cv_results_) == list(search.cv_results_)
    for column, values in search.cv_results_.items():
        assert_array_equal(again.cv_results_[column], values, err_msg=column)
        assert type(again.cv_results_[column]) is type(values)
    assert pd.DataFrame(again.cv_results_).equals(pd.DataFrame(search.cv_results_))
    labels = y if name == "SVCCV" else target
    assert again.score(X, labels) == search.score(X, labels)
    assert_same_model(search.best_estimator_, again.best_estimator_)


def test_scores_of_a_loaded_search_are_drawn(tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    search = SVCCV(Cs=2, gammas=[0.1, "scale"], cv=2).fit(X, y)
    (mesh, *_), (expected, *_) = (
        found.plot_scores().collections for found in (returned(search, tmp_path / "model"), search)
    )
    assert_array_equal(mesh.get_array(), expected.get_array())


@pytest.mark.parametrize(
    "options",
    [
        {"refit": False},
        {"kernel": "linear"},
        {"scoring": "balanced_accuracy", "rule": "one_standard_error"},
        {"Cs": np.array([1.0, 2.0]), "gammas": np.array([0.1])},
        {"cv": KFold(2)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_searches_of_other_settings_come_back(options, tmp_path):
    search = SVCCV(**{"Cs": 2, "gammas": 1, "cv": 2, **options}).fit(X[::2], y[::2])
    again = returned(search, tmp_path / "model")
    assert (again.best_params_, again.best_score_) == (search.best_params_, search.best_score_)
    if search.refit:
        assert again.score(X, y) == search.score(X, y)
    else:
        with pytest.raises(AttributeError, match="use refit=True"):
            again.predict(X)


# ---- what is refused before it is written -------------------------------------------------------------------------


DAYS = np.array(["2024-01-01", "2024-01-02", "2024-01-03"], "datetime64[D]")


class Derived(SVR):
    """A type that is not in the file format."""


def ignoring(*arguments):
    return 1.0


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (SVR(), "this SVR is not fitted"),
        (SVCCV(), "this SVCCV is not fitted"),
        (Derived().fit(X, target), r"Derived cannot be saved, only a SVR itself: .*to_local\(\)"),
        (SVR(kernel=lambda A, B: A @ B.T).fit(X, target), "a Python function cannot be saved"),
        (SVCCV(Cs=1, gammas=1, cv=2, scoring=ignoring).fit(X, y), "save its best_estimator_"),
        (SVDD().fit(X).set_params(kernel="linear"), "not the kernel of its fit"),
        (SVDD().fit(X).set_fitted(offset_=3.0), "offset_=3.0 is not that of its model"),
        (SVR().fit(X, target).set_fitted(epsilon_=None), "epsilon_=None is not a finite number"),
        (
            SVC().fit(X, np.array(["2024-01-01", "2024-01-02", "2024-01-03"], "datetime64[D]")[y]),
            "numbers, booleans or text",
        ),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_save_refuses(model, complaint, tmp_path):
    with pytest.raises(ValueError, match=complaint):
        save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


# ---- shapes and labels --------------------------------------------------------------------------------------------

SHAPES = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LABELS = (
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6).filter(lambda text: not text.endswith("\0"))
    | st.sampled_from(["a\nb", '"', "\r\n", "ﬁ", "🙂", "", " "]),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(-1e6, 1e6, width=32).filter(float.is_integer),
    st.booleans(),
)


@SHAPES
@given(data=st.data())
def test_any_labels_and_shapes_come_back(data, tmp_path):
    labels = data.draw(
        st.sampled_from(LABELS).flatmap(lambda kind: st.lists(kind, min_size=2, max_size=4, unique=True))
    )
    rows, columns = data.draw(st.integers(len(labels), 12)), data.draw(st.integers(1, 5))
    values = np.random.default_rng(rows * columns).normal(size=(rows, columns))
    values = data.draw(st.sampled_from([np.asarray, np.float32, sp.csr_matrix, sp.csr_array]))(values)
    own = np.array(labels, object if isinstance(labels[0], str) and data.draw(st.booleans()) else None)
    if len(np.unique(own)) < len(labels):  # trailing null characters of fixed-width text
        return
    cls = data.draw(st.sampled_from([SVC, SVR, OneClassSVM, SVDD]))
    numbers = np.arange(rows, dtype=float)
    model = cls(kernel=data.draw(st.sampled_from(["rbf", "laplacian", "poly"])))
    model.fit(values, own[np.arange(rows) % len(labels)] if cls is SVC else numbers)
    again = returned(model, tmp_path / "model")
    assert_same_model(model, again)
    assert_same_predictions(model, again, values)


# ---- damage -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    """The bytes of each file."""
    folder = tmp_path_factory.mktemp("family")
    for name in MAKERS:
        save(fitted(name), folder / name)
    return {name: (folder / name).read_bytes() for name in MAKERS}


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(list(MAKERS)), seed=st.integers(0, 2**32 - 1))
def test_damaged_files_are_read_or_refused(name, seed, contents, tmp_path):
    """Changes of the header and of arrays under a correct checksum."""
    path = tmp_path / "model"
    path.write_bytes(in_container(np.random.default_rng(seed), contents[name]))
    try:
        model = load(path)
    except ValueError as error:
        assert str(path) in str(error)  # noqa: PT017
        return
    if hasattr(model, "predict") and model.n_features_in_ == X.shape[1] and getattr(model, "refit", True):
        try:
            assert len(model.predict(X[:3])) == 3
        except ValueError:  # names of features, for one
            return


def test_a_file_names_the_versions_that_wrote_it(contents):
    for content in contents.values():
        header = json.loads(content[32 : 32 + int.from_bytes(content[24:32], "little")])
        assert {"swapsvm", "scikit-learn", "numpy", "scipy", "python"} == set(header["versions"])


# ---- skops --------------------------------------------------------------------------------------------------------


@every
def test_skops_reads_what_it_is_told_to_trust(name):
    io = pytest.importorskip("skops.io")
    model = fitted(name)
    content = io.dumps(model)
    assert set(io.get_untrusted_types(data=content)) <= set(TRUSTED_TYPES)
    again = io.loads(content, trusted=TRUSTED_TYPES)
    assert_same_predictions(model, again, X)
    assert again.get_params().keys() == model.get_params().keys()


def test_skops_reads_a_model_with_a_checkpoint(tmp_path, monkeypatch):
    io = pytest.importorskip("skops.io")
    monkeypatch.chdir(tmp_path)
    model = SVR(checkpoint=Checkpoint("a")).fit(X, target)
    assert_same_predictions(model, io.loads(io.dumps(model), trusted=TRUSTED_TYPES), X)
