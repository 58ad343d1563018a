"""LIBSVM's model text, judged by LIBSVM itself."""

from __future__ import annotations

import os
import re
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris

from swapsvm import SVC, SVCCV, SVDD, SVR, OneClassSVM
from swapsvm.files import export_libsvm, import_libsvm, load, save

from .saved import fitted

svmutil = pytest.importorskip("libsvm.svmutil", reason="LIBSVM's own Python package is the judge")

KERNELS = {"linear": 0, "poly": 1, "rbf": 2, "sigmoid": 3}
X, y = load_iris(return_X_y=True)


def digits():
    data, labels = load_digits(return_X_y=True)
    return data[:500] / 16, labels[:500]


def sparse_binary():
    rng = np.random.default_rng(0)
    rows = sp.csr_array(sp.random(300, 40, 0.1, "csr", np.float64, rng))
    return rows, np.where(rows.sum(axis=1) + 0.3 * rng.standard_normal(300) > 2, 1, -1)


DATA = {"iris": lambda: (X, y), "digits": digits, "sparse binary": sparse_binary}


def judged(model, rows):
    """Labels and decision values of LIBSVM."""
    rows = sp.csr_matrix(rows)
    labels, _, values = svmutil.svm_predict(np.zeros(rows.shape[0]), rows, model, "-q")
    return np.array(labels), np.array(values)


def ours(model, rows):
    """Labels by votes, ties to the first as in LIBSVM, and decision values of pairs in LIBSVM's orientation."""
    values = model.set_params(decision_function_shape="ovo").decision_function(rows)
    return model.predict(rows), values.reshape(len(values), -1)


def vote_ties(values, n_classes):
    """Rows that have no single winner."""
    from swapsvm.models import count_votes

    votes, _ = count_votes(values, n_classes, list(range(n_classes)))
    return (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("data", DATA)
def test_libsvm_predicts_as_the_exported_model(data, kernel, tmp_path):
    rows, labels = DATA[data]()
    model = SVC(C=0.5, kernel=kernel, gamma=0.02, coef0=0.3, degree=2).fit(rows, labels)
    export_libsvm(model, tmp_path / "model.libsvm")
    their_labels, their_values = judged(svmutil.svm_load_model(str(tmp_path / "model.libsvm")), rows)
    our_labels, our_values = ours(model, rows)
    assert_allclose(their_values, our_values, rtol=1e-6, atol=1e-6)
    clear = ~vote_ties(our_values, len(model.classes_))
    assert clear.mean() > 0.98
    assert_array_equal(their_labels[clear], our_labels[clear])


@pytest.mark.parametrize("order", ["rising", "falling", "mixed"])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("kernel", KERNELS)
def test_an_imported_model_predicts_as_libsvm(kernel, data, order, tmp_path):
    """LIBSVM keeps labels in the order in which they first occur."""
    rows, labels = DATA[data]()
    key = {"rising": np.argsort(labels), "falling": np.argsort(-labels), "mixed": np.arange(len(labels))[::-1]}[order]
    rows, labels = sp.csr_matrix(rows)[key], labels[key]
    theirs = svmutil.svm_train(labels, rows, f"-q -t {KERNELS[kernel]} -g 0.02 -r 0.3 -d 2 -c 4")
    svmutil.svm_save_model(str(tmp_path / "theirs"), theirs)
    model = import_libsvm(tmp_path / "theirs")
    theirs = svmutil.svm_load_model(str(tmp_path / "theirs"))
    their_labels, their_values = judged(theirs, rows)
    assert_array_equal(model.classes_, np.unique(labels))
    our_labels, our_values = ours(model, rows)
    if len(model.classes_) == 2:
        assert_allclose(our_values, their_values * theirs.get_labels()[0], rtol=1e-6, atol=1e-6)
    clear = ~vote_ties(our_values, len(model.classes_))
    assert clear.mean() > 0.98
    assert_array_equal(our_labels[clear], their_labels[clear])


@pytest.mark.parametrize("data", DATA)
def test_export_and_import_keep_the_decision_function_to_the_last_bit(data, tmp_path):
    rows, labels = DATA[data]()
    rows = sp.csr_matrix(rows)
    model = SVC(C=4).fit(rows, labels)
    export_libsvm(model, tmp_path / "model.libsvm")
    again = import_libsvm(tmp_path / "model.libsvm")
    for name in ("classes_", "n_support_", "dual_coef_", "intercept_"):
        assert_array_equal(getattr(again, name), getattr(model, name))
    assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    assert (again.stop_reason_, again.relative_gap_) == ("imported", np.inf)


def test_an_imported_model_can_be_saved_in_our_format(tmp_path):
    export_libsvm(SVC().fit(X, y), tmp_path / "text")
    model = import_libsvm(tmp_path / "text")
    save(model, tmp_path / "native")
    assert_array_equal(load(tmp_path / "native").decision_function(X), model.decision_function(X))


def test_a_class_without_rows_is_left_out(tmp_path):
    model = SVC().fit(X, y, sample_weight=np.where(y == 1, 0.0, 1.0))
    export_libsvm(model, tmp_path / "text")
    assert_array_equal(judged(svmutil.svm_load_model(str(tmp_path / "text")), X)[0], model.predict(X))
    assert_array_equal(import_libsvm(tmp_path / "text").classes_, [0, 2])


# ---- one function: regression and detectors -----------------------------------------------------------------------

FUNCTIONS = {"SVR": SVR(C=4, epsilon=0.05), "OneClassSVM": OneClassSVM(contamination=0.1)}


def values_of(model, rows):
    return model.predict(rows) if isinstance(model, SVR) else model.decision_function(rows)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("data", ["iris", "sparse binary"])
def test_libsvm_computes_the_values_of_one_function(data, name, kernel, tmp_path):
    rows, labels = DATA[data]()
    gamma = {"sigmoid": 1e-3}.get(kernel, 0.05)
    model = clone(FUNCTIONS[name]).set_params(kernel=kernel, gamma=gamma, coef0=0.3, degree=2)
    model.fit(rows, labels.astype(float))
    export_libsvm(model, tmp_path / "model.libsvm")
    their_labels, their_values = judged(svmutil.svm_load_model(str(tmp_path / "model.libsvm")), rows)
    assert_allclose(their_values[:, 0], values_of(model, rows), rtol=1e-6, atol=1e-8)
    clear = np.abs(their_values[:, 0]) > 1e-9
    assert_allclose(their_labels[clear], model.predict(rows)[clear], rtol=1e-6, atol=1e-8)
    again = import_libsvm(tmp_path / "model.libsvm")
    assert type(again) is type(model)
    assert_allclose(values_of(again, sp.csr_matrix(rows)), values_of(model, rows), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("contamination", ["auto", 0.1])
def test_a_ball_in_a_radial_kernel_is_a_one_class_model(contamination, tmp_path):
    ball = SVDD(gamma=0.3, contamination=contamination).fit(X)
    export_libsvm(ball, tmp_path / "model.libsvm")
    labels, values = judged(svmutil.svm_load_model(str(tmp_path / "model.libsvm")), X)
    assert_allclose(values[:, 0], ball.decision_function(X), atol=1e-12)
    assert_array_equal(labels, ball.predict(X))
    again = import_libsvm(tmp_path / "model.libsvm")
    assert_allclose(again.decision_function(X), ball.decision_function(X), atol=1e-12)
    save(again, tmp_path / "native")
    assert_array_equal(load(tmp_path / "native").decision_function(X), again.decision_function(X))


@pytest.mark.parametrize("kind", ["3", "4", "2"], ids=["epsilon_svr", "nu_svr", "one_class"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_imported_functions_predict_as_libsvm(kernel, kind, tmp_path):
    rows, labels = sparse_binary()
    options = f"-q -s {kind} -t {KERNELS[kernel]} -g 0.02 -r 0.3 -d 2 -c 4 -n 0.2"
    svmutil.svm_save_model(str(tmp_path / "theirs"), svmutil.svm_train(labels + 0.5, sp.csr_matrix(rows), options))
    model = import_libsvm(tmp_path / "theirs")
    their_labels, their_values = judged(svmutil.svm_load_model(str(tmp_path / "theirs")), rows)
    assert type(model) is {"2": OneClassSVM}.get(kind, SVR)
    assert_allclose(values_of(model, rows), their_values[:, 0], rtol=1e-6, atol=1e-6)
    assert_allclose(model.predict(rows), their_labels, rtol=1e-6, atol=1e-6)
    assert model.stop_reason_ == "imported"


@pytest.mark.parametrize("name", ["SVCCV", "SVRCV"])
def test_of_a_search_the_chosen_model_is_written(name, tmp_path):
    search = fitted(name)
    export_libsvm(search, tmp_path / "search")
    export_libsvm(search.best_estimator_, tmp_path / "best")
    assert (tmp_path / "search").read_bytes() == (tmp_path / "best").read_bytes()


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (
            SVDD(kernel="linear").fit(X),
            r"has no SVDD with kernel='linear', only \['rbf'\]: use another",
        ),
        (SVR(kernel="laplacian").fit(X, y), "LIBSVM has no kernel 'laplacian'"),
        (SVCCV(Cs=1, gammas=1, cv=2, refit=False).fit(X, y), "use refit=True"),
        (SVC(kernel="laplacian").fit(X, y), "LIBSVM has no kernel 'laplacian'"),
        (SVC(kernel="precomputed").fit(X @ X.T, y), "LIBSVM has no kernel 'precomputed'"),
        (SVC().fit(X, np.array(["a", "b", "c"])[y]), "labels are integers"),
        (SVC().fit(X, y + 2.0**40), "labels are integers"),
        (SVC(), "not fitted"),
    ],
)
def test_export_refuses(model, complaint, tmp_path):
    with pytest.raises(ValueError, match=complaint):
        export_libsvm(model, tmp_path / "text")
    assert os.listdir(tmp_path) == []


# ---- malformed text ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "model.libsvm"
    export_libsvm(SVC().fit(X[::10], y[::10]), path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def texts(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "model.libsvm"
    export_libsvm(SVR().fit(X[::10], y[::10]), path)
    return [text, path.read_bytes()]


def replaced(pattern, new):
    return lambda text: re.sub(pattern, new, text, count=1, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda text: b"", "ends before the line SV"),
        (lambda text: text[:50], "ends before the line SV"),
        (lambda text: b"\x89PNG\r\n", "line 1: .*is not an entry of a LIBSVM model"),
        (replaced(rb"^svm_type c_svc", b"svm_type one_class"), "one function: nr_class 2 .*, not 3, 3"),
        (replaced(rb"^svm_type c_svc", b"svm_type svdd"), "svm_type 'svdd' is unknown: use one of .*'c_svc'"),
        (replaced(rb"^kernel_type rbf", b"kernel_type precomputed"), "kernel_type 'precomputed'"),
        (replaced(rb"^gamma .*", b"gamma -1"), "gamma=-1.0 must be a positive"),
        (replaced(rb"^gamma .*", b"gamma nan"), "gamma 'nan' is not a finite number"),
        (replaced(rb"^gamma .*", b"gamma"), "line 3: gamma needs one value"),
        (replaced(rb"^gamma .*", b"weight 1"), "line 3: 'weight' is not an entry"),
        (replaced(rb"^gamma .*\n", b""), "no gamma"),
        (replaced(rb"^gamma .*", b"svm_type c_svc"), "line 3: svm_type occurs twice"),
        (replaced(rb"^nr_class .*", b"nr_class 4"), "label does not list 4"),
        (replaced(rb"^nr_class .*", b"nr_class 99999999999999"), "nr_class has an entry"),
        (replaced(rb"^nr_class .*", b"nr_class 1"), "at least two classes"),
        (replaced(rb"^label .*", b"label 1 1 2"), "3 different labels"),
        (replaced(rb"^label .*", b"label 1 2.5 3"), "label has an entry that is not an integer"),
        (replaced(rb"^total_sv .*", b"total_sv 2000000000"), "total_sv is 2000000000"),
        (replaced(rb"^rho .*", b"rho 1 2"), "rho does not list"),
        (replaced(rb"^rho .*", b"rho 1 2 inf"), "rho 'inf' is not a finite number"),
        (replaced(rb"^nr_sv .*", b"nr_sv -5 10 10"), "nr_sv does not list"),
        (lambda text: text.rsplit(b"\n", 2)[0], "is truncated: it has 14 of 15"),
        (lambda text: text + b"0 0 1:1\n", "line 25: more than the 15 support vectors"),
        (replaced(rb"^SV\n.*", b"SV\n1"), "line 10: 2 coefficients are needed"),
        (replaced(rb"^SV\n.*", b"SV\n1 1:2"), "line 10: coefficient '1:2'"),
        (replaced(rb"^SV\n.*", b"SV\n1 1 0:1"), "line 10: "),
        (replaced(rb"^SV\n.*", b"SV\n1 1 -3:1"), "line 10: "),
        (replaced(rb"^SV\n.*", b"SV\n1 1 99999999999:1"), "line 10: "),
        (replaced(rb"^SV\n.*", b"SV\n1 1 2:1 1:1"), "line 10: "),
        (replaced(rb"^SV\n.*", b"SV\n1 1 1:nan"), "line 10: "),
    ],
)
def test_malformed_text_is_refused_with_its_line(change, complaint, text, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(change(text))
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: .*{complaint}") as caught:
        import_libsvm(path)
    assert "\n" not in str(caught.value)


def test_memory_follows_from_the_file(tmp_path):
    """The header declares a thousand million, the file has a hundred bytes."""
    path = tmp_path / "model"
    path.write_bytes(
        b"svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2000000000\nrho 0\nlabel 0 1\n"
        b"nr_sv 1000000000 1000000000\nSV\n1 2147483647:1\n"
    )
    with pytest.raises(ValueError, match="is truncated: it has 1 of 2000000000"):
        import_libsvm(path)


FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TOKENS = st.sampled_from(
    [b"nan", b"-1", b"1e999", b"99999999999", b":", b"1:", b":1", b"\0", b"\xff", b"0x1p3", b"\r", b""]
)


def read_or_refused(content, path):
    """The content is read as a model that predicts, or refused, in memory proportional to its size."""
    path.write_bytes(content)
    tracemalloc.start()
    try:
        model = import_libsvm(path)
        assert len(model.predict(sp.csr_matrix((2, model.n_features_in_)))) == 2
    except ValueError as error:
        assert str(error).startswith(f"{path}: ") and "\n" not in str(error)  # noqa: PT017
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 60 * len(content) + 2_000_000


@FUZZ
@given(data=st.data())
def test_any_change_of_a_token_is_read_or_refused(data, texts, tmp_path):
    text = data.draw(st.sampled_from(texts))
    tokens = re.split(rb"(\s+)", text)
    at = data.draw(st.integers(0, len(tokens) - 1))
    tokens[at] = data.draw(TOKENS | st.binary(max_size=6) | st.sampled_from(tokens))
    read_or_refused(b"".join(tokens), tmp_path / "model")


@FUZZ
@given(data=st.data())
def test_any_damage_is_read_or_refused(data, texts, tmp_path):
    text = data.draw(st.sampled_from(texts))
    at = data.draw(st.integers(0, len(text) - 1))
    byte = bytes([text[at] ^ (1 << data.draw(st.integers(0, 7)))])
    read_or_refused(text[:at] + (byte + text[at + 1 :] if data.draw(st.booleans()) else b""), tmp_path / "model")


@pytest.mark.parametrize("name", ["iris", "sparse binary"])
def test_models_with_a_budget_of_vectors(name, tmp_path):
    rows, labels = DATA[name]()
    model = SVC(C=8, max_vectors=20).fit(rows, labels)
    assert len(model.support_) <= 20
    export_libsvm(model, tmp_path / "few.libsvm")
    their_labels, their_values = judged(svmutil.svm_load_model(str(tmp_path / "few.libsvm")), rows)
    our_labels, our_values = ours(model, rows)
    assert_allclose(their_values, our_values, atol=1e-6)
    assert_array_equal(their_labels, our_labels)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_number_of_features_survives_the_text(kernel, tmp_path):
    rows, labels = DATA["iris"]()
    model = SVC(kernel=kernel, gamma=0.05).fit(sp.csr_matrix(np.pad(rows, ((0, 0), (0, 3)))), labels)
    export_libsvm(model, tmp_path / "model.libsvm")
    again = import_libsvm(tmp_path / "model.libsvm")
    assert again.n_features_in_ == 7
    wide = sp.csr_matrix(np.pad(rows, ((0, 0), (0, 3)), constant_values=0.5))
    their_values = judged(svmutil.svm_load_model(str(tmp_path / "model.libsvm")), wide)[1]
    assert_allclose(their_values, ours(model, wide)[1], rtol=1e-6, atol=1e-6)
    assert_allclose(ours(again, wide)[1], ours(model, wide)[1], rtol=1e-9, atol=1e-12)


def test_libsvms_own_text_takes_wider_rows_as_libsvm_does(tmp_path):
    theirs = svmutil.svm_train(y, sp.csr_matrix(X), "-q -g 0.1")
    svmutil.svm_save_model(str(tmp_path / "theirs.libsvm"), theirs)
    wide = np.pad(X, ((0, 0), (0, 2)), constant_values=0.7)
    ported = import_libsvm(tmp_path / "theirs.libsvm", n_features=6)
    assert_allclose(ours(ported, wide)[1], judged(theirs, wide)[1], rtol=1e-6, atol=1e-9)
    for bad in (0, 3):
        with pytest.raises(ValueError, match=r"n_features=0 must be at least 1|line \d+.*4"):
            import_libsvm(tmp_path / "theirs.libsvm", n_features=bad)
