"""ONNX graphs, judged by onnxruntime."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris

from swapsvm import SVC, SVCCV, SVDD, SVR, OneClassSVM
from swapsvm.cli import main
from swapsvm.files import export_onnx, save
from swapsvm.kernels import KERNELS

from . import saved
from .saved import MAKERS, fitted
from .test_files import LABELS

onnxruntime = pytest.importorskip("onnxruntime", reason="the judge")
pytest.importorskip("onnx")

X, y = load_iris(return_X_y=True)


def judged(path, rows):
    """Labels and decision values of the runtime."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    wanted = np.float64 if session.get_inputs()[0].type == "tensor(double)" else np.float32
    labels, decisions = session.run(["label", "decision"], {"X": rows.astype(wanted)})
    return np.asarray(labels), decisions


@pytest.mark.parametrize("count", [4, 20])
def test_models_with_a_budget_of_vectors(tmp_path, count):
    for labels in (y, y > 0):
        model = SVC(C=8, max_vectors=count).fit(X, labels)
        assert len(model.support_) <= count
        assert_judged_alike(model, X, tmp_path / "few.onnx")


def assert_judged_alike(model, rows, path):
    export_onnx(model, path)
    labels, decisions = judged(path, rows)
    expected = model.decision_function(rows)
    assert decisions.shape == expected.shape
    assert_allclose(decisions, expected, rtol=1e-4, atol=1e-4)
    assert_array_equal(labels, model.predict(rows))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel(kernel, dtype, classes, tmp_path):
    rows, labels = X[y < classes].astype(dtype), y[y < classes]
    rows = rows @ rows.T if kernel == "precomputed" else rows
    model = SVC(C=0.5, kernel=kernel, gamma=0.02, coef0=0.3, degree=2).fit(rows, labels)
    assert_judged_alike(model, rows, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    single = dtype == np.float32 and kernel != "precomputed"
    assert session.get_inputs()[0].type == ("tensor(float)" if single else "tensor(double)")


# ---- the rest of the family ---------------------------------------------------------------------------------------

OUTPUTS = {"label": "predict", "value": "predict", "decision": "decision_function", "score": "score_samples"}


def assert_outputs_alike(model, rows, path, expected=None):
    """Every output of the runtime against the method that it stands for."""
    export_onnx(model, path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    wanted = np.float64 if session.get_inputs()[0].type == "tensor(double)" else np.float32
    for name, values in zip(names, session.run(None, {"X": rows.astype(wanted)}), strict=True):
        judge = getattr(model, OUTPUTS[name])(rows)
        assert np.shape(values) == judge.shape
        if name == "label":
            assert_array_equal(values, judge)
        else:
            assert_allclose(values, judge, rtol=1e-9, atol=1e-9)
    return names


@pytest.mark.parametrize("name", MAKERS)
def test_every_estimator(name, tmp_path):
    names = assert_outputs_alike(fitted(name), saved.X, tmp_path / "model.onnx")
    assert names in (["label", "decision"], ["value"], ["label", "decision", "score"])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("cls", [SVR, OneClassSVM, SVDD])
def test_every_kernel_of_the_family(cls, kernel, tmp_path):
    rows = X / 10
    K = np.exp(-((rows[:, None] - rows[None]) ** 2).sum(axis=2))
    gamma = 0.01 if kernel == "sigmoid" else 0.5
    model = cls(kernel=kernel, gamma=gamma, coef0=0.3, degree=2).fit(K if kernel == "precomputed" else rows, X[:, 3])
    assert_outputs_alike(model, K if kernel == "precomputed" else rows, tmp_path / "model.onnx")


def test_a_search_without_a_model_is_refused(tmp_path):
    with pytest.raises(ValueError, match="use refit=True"):
        export_onnx(SVCCV(Cs=1, gammas=1, cv=2, refit=False).fit(X, y), tmp_path / "model.onnx")


@pytest.mark.parametrize("labels", LABELS)
def test_labels(labels, tmp_path):
    model = SVC().fit(X, LABELS[labels][y])
    assert_judged_alike(model, X, tmp_path / "model.onnx")


@pytest.mark.parametrize(
    ("labels", "complaint"),
    [
        (np.array(["2024-01-01", "2024-01-02", "2024-01-03"], "datetime64[D]"), "2024.*numbers, booleans or text"),
        (np.array([2**63, 2**63 + 2, 2**63 + 4], np.uint64), "labels of type .*812.*64-bit integers, floats"),
    ],
    ids=["dates", "large integers"],
)
def test_labels_that_onnx_has_no_type_for_are_refused(labels, complaint, tmp_path):
    model = SVC().fit(X, labels[y])
    with pytest.raises(ValueError, match=complaint):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_boolean_labels(tmp_path):
    assert_judged_alike(SVC().fit(X, y == 1), X, tmp_path / "model.onnx")


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_ten_classes_from_sparse_rows(shape, tmp_path):
    rows, labels = load_digits(return_X_y=True)
    model = SVC(C=4, decision_function_shape=shape).fit(sp.csr_matrix(rows[:600] / 16), labels[:600])
    assert_judged_alike(model, rows[600:] / 16, tmp_path / "model.onnx")


def test_data_far_from_the_origin(tmp_path):
    assert_judged_alike(SVC(gamma=0.5).fit(X + 1e6, y), X + 1e6, tmp_path / "model.onnx")


def test_a_class_without_rows(tmp_path):
    model = SVC().fit(X, y, sample_weight=np.where(y == 1, 0.0, 1.0))
    assert_judged_alike(model, X, tmp_path / "model.onnx")


def test_any_number_of_rows(tmp_path):
    model = SVC().fit(X, y)
    export_onnx(model, tmp_path / "model.onnx")
    for n in (0, 1, 7):
        assert len(judged(tmp_path / "model.onnx", X[:n])[0]) == n


def test_only_plain_operators(tmp_path):
    """Not the operator for support vector machines, about which runtimes disagree."""
    import onnx

    export_onnx(SVC().fit(X, y), tmp_path / "model.onnx")
    proto = onnx.load(tmp_path / "model.onnx")
    assert {node.domain for node in proto.graph.node} == {""}
    assert [opset.domain for opset in proto.opset_import] == [""]


def test_too_large_models_are_refused_before_they_are_dense(tmp_path):
    rows = sp.csr_matrix(X)
    wide = sp.csr_matrix((rows.data, rows.indices, rows.indptr), shape=(len(X), 10**9))
    model = SVC(gamma=0.1).fit(wide, y)
    with pytest.raises(ValueError, match="ONNX files hold 2 GiB"):
        export_onnx(model, tmp_path / "model.onnx")


def test_a_label_that_is_not_unicode_is_refused_by_name(tmp_path):
    model = SVC().fit(X, np.array(["\ud800", "b", "c"], dtype=object)[np.arange(len(X)) % 3])
    with pytest.raises(ValueError, match=r"the label '.ud800' is not valid Unicode, which ONNX needs"):
        export_onnx(model, tmp_path / "model.onnx")


def test_convert(tmp_path, capsys):
    model = SVC().fit(X, y)
    save(model, tmp_path / "model")
    assert main(["convert", str(tmp_path / "model"), str(tmp_path / "model.onnx")]) == 0
    assert_array_equal(judged(tmp_path / "model.onnx", X)[0], model.predict(X))


def test_without_onnx_the_extra_is_named_before_the_work(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="export_onnx needs onnx: pip install onnx"):
        export_onnx(SVC().fit(X, y), tmp_path / "model.onnx")
    assert main(["train", "no-such-file", str(tmp_path / "model.onnx")]) == 2
    assert capsys.readouterr().err == "swapsvm: error: export_onnx needs onnx: pip install onnx\n"
