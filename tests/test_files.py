"""The native format: what is restored, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import stat
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

from swapsvm import SVC, ConvergenceWarning, Sampling
from swapsvm.container import CHECKSUM, PREFIX
from swapsvm.files import TRUSTED_TYPES, load, save
from swapsvm.files.native import MODEL, read_version
from swapsvm.kernels import KERNELS

X, y = load_iris(return_X_y=True)
STORAGES = {"dense": np.asarray, "csr_matrix": sp.csr_matrix, "csr_array": sp.csr_array}
LABELS = {
    "integers": np.array([-3, 5, 70_000_000_000]),
    "small integers": np.array([0, 1, 2], np.uint8),
    "floats": np.array([0.0, 1.0, 2.0]),
    "text": np.array(["Zürich", "São Paulo", "東京"]),
    "text as objects": np.array(["a", "bb", "ccc"], object),
}
COMPARED = [
    "classes_",
    "class_weight_",
    "support_",
    "n_support_",
    "dual_coef_",
    "intercept_",
    "n_iter_",
    "dual_gap_",
    "relative_gap_",
    "stop_reason_",
    "fit_status_",
    "n_evaluations_",
    "n_features_in_",
    "shape_fit_",
]


def returned(model, path):
    save(model, path)
    return load(path)


def assert_same_model(model, again, rows):
    """The same attributes, and the same predictions to the last bit."""
    for name in COMPARED:
        assert_array_equal(getattr(again, name), getattr(model, name), err_msg=name, strict=name.endswith("coef_"))
    assert again.classes_.dtype == model.classes_.dtype
    assert again.support_vectors_.dtype == model.support_vectors_.dtype
    assert type(again.support_vectors_) is type(model.support_vectors_)
    assert again.get_params() == model.get_params()
    assert again.model_.vectors.kernel == model.model_.vectors.kernel
    assert_array_equal(again.decision_function(rows), model.decision_function(rows), strict=True)
    assert_array_equal(again.predict(rows), model.predict(rows), strict=True)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("kernel", [name for name in KERNELS if name != "precomputed"])
def test_a_model_comes_back_to_the_last_bit(kernel, storage, dtype, classes, tmp_path):
    kept = y < classes
    rows = STORAGES[storage](X[kept].astype(dtype))
    model = SVC(C=3, kernel=kernel, gamma=0.01, coef0=0.1).fit(rows, y[kept])
    again = returned(model, tmp_path / "model")
    assert_same_model(model, again, rows)
    assert getattr(again, "gamma_", None) == getattr(model, "gamma_", None)


def test_a_precomputed_kernel_comes_back(tmp_path):
    K = X @ X.T
    model = SVC(kernel="precomputed").fit(K, y)
    assert_same_model(model, returned(model, tmp_path / "model"), K)


@pytest.mark.parametrize("labels", LABELS)
def test_labels_of_any_kind_come_back(labels, tmp_path):
    model = SVC().fit(X, LABELS[labels][y])
    assert_same_model(model, returned(model, tmp_path / "model"), X)


def test_boolean_labels_come_back(tmp_path):
    model = SVC().fit(X, y == 1)
    assert_same_model(model, returned(model, tmp_path / "model"), X)


def test_feature_names_come_back(tmp_path):
    table = pd.DataFrame(X, columns=["länge", "breite", "b", "c"])
    model = SVC().fit(table, y)
    again = returned(model, tmp_path / "model")
    assert_array_equal(again.feature_names_in_, model.feature_names_in_, strict=True)
    assert_array_equal(again.predict(table), model.predict(table))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(table[["b", "c", "länge", "breite"]])


def test_a_class_without_rows_comes_back(tmp_path):
    model = SVC().fit(X, y, sample_weight=np.where(y == 1, 0.0, 1.0))
    again = returned(model, tmp_path / "model")
    assert_same_model(model, again, X)
    assert 1 not in again.predict(X)


def test_unusual_parameters_come_back(tmp_path):
    settings = {"class_weight": {0: 1.0, 2: np.float32(0.1)}, "sampling": Sampling(30, False), "solver": "swap"}
    model = SVC(C=np.float64(2), max_time=np.inf, n_jobs=1, **settings).fit(X, y)
    assert returned(model, tmp_path / "model").get_params() == model.get_params()


def test_the_reason_of_an_early_end_comes_back(tmp_path):
    with pytest.warns(ConvergenceWarning):
        model = SVC(max_iter=1, tol=1e-9, solver="fw").fit(np.tile(X, (2, 1)), np.tile(y, 2))
    assert_same_model(model, returned(model, tmp_path / "model"), X)
    assert model.stop_reason_ == "max_iter"


def test_an_object_of_the_running_program_comes_back_as_the_default(tmp_path):
    model = SVC(random_state=np.random.RandomState(0)).fit(X, y)
    assert returned(model, tmp_path / "model").random_state == SVC().random_state


def test_a_loaded_model_can_be_saved_and_fitted_again(tmp_path):
    model = returned(SVC(C=4).fit(X, y), tmp_path / "first")
    save(model, tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert_array_equal(model.fit(X, y).dual_coef_, SVC(C=4).fit(X, y).dual_coef_)


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (SVC(), "not fitted"),
        (SVC(kernel=lambda A, B: A @ B.T).fit(X, y), "a Python function cannot be saved"),
        (SVC().fit(X, y).set_params(kernel="linear"), "not the kernel of its fit"),
        (load_iris, "type function cannot be saved as a model, only one of SVC, SVR"),
    ],
)
def test_save_refuses(model, complaint, tmp_path):
    with pytest.raises(ValueError, match=complaint):
        save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file_and_no_draft(tmp_path, monkeypatch):
    path = tmp_path / "model"
    save(SVC().fit(X, y), path)
    old = path.read_bytes()

    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save(SVC(C=2).fit(X, y), path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_a_saved_file_has_the_usual_permissions(tmp_path):
    save(SVC().fit(X, y), tmp_path / "model")
    (tmp_path / "other").touch()
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == stat.S_IMODE((tmp_path / "other").stat().st_mode)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        save(SVC().fit(X, y), tmp_path / "missing" / "model")


# ---- what is refused ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The bytes of a small model with CSR support vectors."""
    path = tmp_path_factory.mktemp("saved") / "model"
    save(SVC().fit(sp.csr_matrix(X[::10]), y[::10]), path)
    return path.read_bytes()


def split(content):
    """The header and the bytes of the arrays."""
    _, _, _, length = PREFIX.unpack(content[: PREFIX.size])
    return json.loads(content[PREFIX.size : PREFIX.size + length]), content[PREFIX.size + length : -CHECKSUM]


def split_arrays(header, arrays):
    """The bytes of each array."""
    parts, at = {}, 0
    for entry in header["arrays"]:
        size = np.dtype(entry["type"]).itemsize * int(np.prod(entry["shape"]))
        parts[entry["name"]] = arrays[at : at + size]
        at += size
    return parts


def sealed(header, arrays, version=MODEL.version):
    """A file with this content and a correct checksum."""
    text = json.dumps(header).encode() if isinstance(header, dict) else header
    length = PREFIX.size + len(text) + len(arrays) + CHECKSUM
    content = PREFIX.pack(MODEL.magic, version, length, len(text)) + text + arrays
    return content + hashlib.sha256(content).digest()


def refusal(content, path):
    """The error message of a file with this content."""
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: ") as caught:
        load(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda content: b"", "is not a model saved by swapsvm"),
        (lambda content: pickle.dumps(SVC()), "is not a model saved by swapsvm"),
        (lambda content: b"svm_type c_svc\n", "is not a model saved by swapsvm"),
        (lambda content: content.replace(b"\r\n", b"\n", 1), "is not a model saved by swapsvm"),
        (lambda content: content[:14], "is truncated: it ends within"),
        (lambda content: content[:-1], "is truncated: it has .* of .* bytes"),
        (lambda content: content + b"\0", "is damaged: it has"),
        (lambda content: content[:200] + b"?" + content[201:], "is damaged: its checksum"),
        (lambda content: content[:-1] + bytes([content[-1] ^ 1]), "is damaged: its checksum"),
        (lambda content: sealed(*split(content), version=MODEL.version + 1), "written by a newer swapsvm .*upgrade"),
        (lambda content: sealed(*split(content), version=0), "format 0 does not exist"),
        (lambda content: sealed(b"[" * 100_000, b""), "header is malformed"),
        (lambda content: sealed(b"[]", b""), "header is malformed"),
        (lambda content: sealed(b"\xff", b""), "utf-8"),
    ],
)
def test_files_that_are_no_model_are_refused(change, complaint, saved, tmp_path):
    assert re.search(complaint, refusal(change(saved), tmp_path / "model"))


def attributes_of(header):
    return header["model"]["SVC"]["attributes"]


CERTIFICATES = {
    "dual_gap_": [None, "0", [0.0], 10**400, {"float": "nan"}],
    "relative_gap_": [None, "inf", {"table": []}],
    "stop_reason_": [None, 3, ["gap"]],
    "fit_status_": [None, 7, 0.5, True, "0"],
    "n_evaluations_": [None, -1, 1.5, "many", 2**63],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, bad in CERTIFICATES.items() for value in bad])
def test_certificates_that_are_none_are_refused(name, value, saved, tmp_path):
    header, arrays = split(saved)
    attributes_of(header)[name] = value
    assert f"its {name}=" in refusal(sealed(header, arrays), tmp_path / "model")


@pytest.mark.parametrize("name", [*CERTIFICATES, "model_", "classes_", "primal_value_"])
def test_models_that_lack_an_attribute_are_refused(name, saved, tmp_path):
    header, arrays = split(saved)
    del attributes_of(header)[name]
    assert f"its SVC lacks '{name}'" in refusal(sealed(header, arrays), tmp_path / "model")


CHANGES = {
    "versions": ({"numpy": "2"}, "do not name the version of swapsvm"),
    "model": ({"Rbf": {"gamma": 1.0}}, "it has an array"),
    "model.SVC.parameters": ({"flux": 1}, "'flux' is unknown"),
    "model.SVC.attributes.fun_": (1, "a SVC has no 'fun_'"),
    "model.SVC.attributes.n_features_in_": (5, "support vectors have shape"),
    "model.SVC.attributes.shape_fit_": ({"tuple": [3, 4]}, "rows beyond the 3 of the fit"),
    "model.SVC.attributes.model_.Pairwise.present": ({"tuple": [0, 9]}, "present classes"),
    "model.SVC.attributes.model_.Pairwise.vectors.Vectors.kernel": ({"Rbf": {"gamma": -1.0}}, "gamma=-1.0"),
    "model.SVC.attributes.model_.Pairwise.vectors.Vectors.rows": ({"coo_matrix": {}}, "unknown form 'coo_matrix'"),
    "model.SVC.attributes.model_.Pairwise.vectors.Vectors.rows.csr_matrix.shape": ([10**9, 4], "indptr is not"),
    "arrays": ([], "arrays take 0 bytes"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_headers_that_do_not_fit_are_refused(name, saved, tmp_path):
    header, arrays = split(saved)
    *way, last = name.split(".")
    place = header
    for key in way:
        place = place[key]
    place[last], complaint = CHANGES[name]
    assert complaint in refusal(sealed(header, arrays), tmp_path / "model")


@pytest.mark.parametrize("name", ["versions", "model", "arrays"])
def test_headers_that_lack_something_are_refused(name, saved, tmp_path):
    header, arrays = split(saved)
    del header[name]
    refusal(sealed(header, arrays), tmp_path / "model")


def entry_of(header, name):
    return next(entry for entry in header["arrays"] if entry["name"].endswith(name))


@pytest.mark.parametrize(
    ("name", "change", "complaint"),
    [
        ("classes_", {"type": "|O"}, "unknown type"),
        ("classes_", {"type": "<V8"}, "unknown type"),
        ("classes_", {"shape": [-3]}, "impossible shape"),
        ("classes_", {"shape": [2**62, 2**62]}, "arrays take"),
        ("model_.coef", {"type": "<i8"}, "dual_coef_ is not a table"),
        ("intercept", {"name": "coef_"}, "it has no array"),
        ("indices", {"type": "<f4"}, "indices and data differ"),
        ("data", {"type": "<i8"}, "is not a model of classes"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, change, complaint, saved, tmp_path):
    header, arrays = split(saved)
    entry_of(header, name).update(change)
    assert complaint in refusal(sealed(header, arrays), tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("indices", 2**30, "indices are not all within"),
        ("indices", -1, "indices are not all within"),
        ("indptr", 7, "indptr"),
        ("counts", 99, "n_support_ does not add up"),
        ("support", -1, "support_ has rows beyond"),
        ("model_.coef", np.nan, "dual_coef_ is not"),
        ("intercept", np.inf, "intercept_ is not"),
        ("data", np.nan, "not finite"),
        ("classes_", 1, "not a list of distinct labels"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(name, value, complaint, saved, tmp_path):
    header, arrays = split(saved)
    offset = 0
    for entry in header["arrays"]:
        if entry["name"].endswith(name):
            break
        offset += np.dtype(entry["type"]).itemsize * int(np.prod(entry["shape"]))
    new = np.array([value], entry["type"]).tobytes()
    assert complaint in refusal(sealed(header, arrays[:offset] + new + arrays[offset + len(new) :]), tmp_path / "model")


# ---- any bytes ---------------------------------------------------------------------------------------------------

MOST_BESIDE = 2_000_000  # bytes that tracing finds in imports and in scikit-learn's checks, whatever the file
FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(data=st.data())
def test_any_damage_is_refused(data, saved, tmp_path):
    at = data.draw(st.integers(0, len(saved) - 1))
    kind = data.draw(st.sampled_from(["flip", "cut", "insert", "remove"]))
    bit = bytes([saved[at] ^ (1 << data.draw(st.integers(0, 7)))])
    changed = {"flip": bit + saved[at + 1 :], "cut": b"", "insert": b"x" + saved[at:], "remove": saved[at + 1 :]}
    refusal(saved[:at] + changed[kind], tmp_path / "model")


@FUZZ
@given(content=st.binary(max_size=300), begins=st.booleans())
def test_any_bytes_are_refused(content, begins, tmp_path):
    refusal(MODEL.magic + content if begins else content, tmp_path / "model")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@FUZZ
@given(data=st.data())
def test_any_value_in_a_sealed_header_is_read_or_refused(data, saved, tmp_path):
    """A checksum proves nothing about who wrote it."""
    header, arrays = split(saved)
    place = header
    for _ in range(data.draw(st.integers(0, 2))):
        inner = [value for value in (place.values() if isinstance(place, dict) else place) if value]
        inner = [value for value in inner if isinstance(value, dict | list)]
        place = data.draw(st.sampled_from(inner)) if inner else place
    key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
    place[key] = data.draw(JSON | st.sampled_from([2**31, 2**63, 10**400, -1, 1e308]))
    (tmp_path / "model").write_bytes(sealed(header, arrays))
    tracemalloc.start()
    try:
        model = load(tmp_path / "model")
        if model.n_features_in_ < 10**6:
            rows = sp.csr_matrix((2, model.n_features_in_))
            assert len(model.predict(rows if model.kernel != "precomputed" else rows.toarray())) == 2
        save(model, tmp_path / "again")
    except ValueError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 20 * len(saved) + MOST_BESIDE


# ---- pickles -----------------------------------------------------------------------------------------------------


def test_a_pickled_model_predicts_the_same():
    model = SVC(C=2, warm_start=True).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_same_model(model, again, X)
    assert_array_equal(again.trace_, model.trace_)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("sampling", [None, Sampling(30)])
def test_skops_reads_what_it_is_told_to_trust(kernel, sampling):
    io = pytest.importorskip("skops.io")
    rows = X @ X.T if kernel == "precomputed" else X
    solver = "block" if sampling is None else "swap"
    model = SVC(kernel=kernel, gamma=0.01, sampling=sampling, solver=solver).fit(rows, y)
    content = io.dumps(model)
    assert set(io.get_untrusted_types(data=content)) <= set(TRUSTED_TYPES)
    again = io.loads(content, trusted=TRUSTED_TYPES)
    assert_same_model(model, again, rows)
    assert_array_equal(again.trace_, model.trace_)


# ---- older formats -----------------------------------------------------------------------------------------------

OLD_FILES = Path(__file__).parent / "old_files"
OLD = {"dense": lambda rows: rows, "sparse": lambda rows: sp.csr_matrix(rows.astype(np.float32))}


@pytest.mark.parametrize("name", OLD)
def test_files_of_format_1_are_read(name, tmp_path):
    """Files of an earlier version of swapsvm, and what it predicted."""
    path = OLD_FILES / f"format-1-{name}.swapsvm"
    expected = json.loads((OLD_FILES / "format-1.json").read_text("utf-8"))[name]
    model, rows = load(path), OLD[name](X[::10])
    np.testing.assert_allclose(model.decision_function(rows), expected["decisions"], rtol=1e-12)
    assert model.predict(rows).tolist() == expected["labels"]
    assert (model.relative_gap_, model.C) == (expected["gap"], expected["C"])
    assert read_version(path) == "0.1.0"
    assert_same_model(model, returned(model, tmp_path / "model"), rows)


def test_the_first_files_without_primal_and_dual_values_are_read(tmp_path):
    header, arrays = split((OLD_FILES / "format-1-dense.swapsvm").read_bytes())
    parts = split_arrays(header, arrays)
    del header["certificate"]["simplex_gap_"]
    header["arrays"] = [entry for entry in header["arrays"] if entry["name"] not in ("primal_value_", "dual_value_")]
    kept = b"".join(parts[entry["name"]] for entry in header["arrays"])
    (tmp_path / "model").write_bytes(sealed(header, kept, version=1))
    old = load(tmp_path / "model")
    assert old.simplex_gap_ == old.relative_gap_
    assert np.isnan(old.primal_value_).all() and old.dual_value_.shape == (3,)


OLD_CHANGES = {
    "estimator": ("SVR", "not an SVC"),
    "parameters": ({"multiclass": "ovo", "flux": 1}, "'flux' is unknown"),
    "kernel": ({"name": "rbf", "parameters": {"gamma": -1.0}}, "gamma=-1.0"),
    "shape_fit_": ([3, 4], "rows beyond the 3 of the fit"),
    "present": ([0, 9], "present classes"),
    "certificate": ({"fun_": 1}, "has no 'fun_'"),
    "storage": ("coo", "'coo', which is unknown"),
}


@pytest.mark.parametrize("name", OLD_CHANGES)
def test_old_headers_that_do_not_fit_are_refused(name, tmp_path):
    header, arrays = split((OLD_FILES / "format-1-sparse.swapsvm").read_bytes())
    value, complaint = OLD_CHANGES[name]
    assert complaint in refusal(sealed({**header, name: value}, arrays, version=1), tmp_path / "model")
    del header[name]
    refusal(sealed(header, arrays, version=1), tmp_path / "model")


def test_both_values_survive_a_file(tmp_path):
    model = SVC(C=4.0).fit(*load_iris(return_X_y=True))
    save(model, tmp_path / "model.svm")
    again = load(tmp_path / "model.svm")
    for name in ("primal_value_", "dual_value_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    assert (again.relative_gap_, again.simplex_gap_) == (model.relative_gap_, model.simplex_gap_)
