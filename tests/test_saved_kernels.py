"""Kernels as parameters, sums of kernels and several outputs in files: what comes back, and what is refused."""

from __future__ import annotations

import copy
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from campaign.formats import sealed
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from swapsvm import SVC, SVCCV, SVDD, SVR, OneClassSVM
from swapsvm.cli import main
from swapsvm.container import PREFIX
from swapsvm.files import export_libsvm, import_libsvm, load, save
from swapsvm.kernels import KERNELS, Laplacian, Linear, Poly, Precomputed, Rbf, Sum

from .saved import SUM, X, assert_same_predictions, fitted, target, targets, y
from .test_onnx import assert_outputs_alike

NAMES = ["länge", "b", "c", "d"]
GAMMAS = st.sampled_from(["scale", "auto", "mean_sq_dist", 0.3, 2])
TERMS = st.one_of(
    st.just(Linear()),
    st.builds(Rbf, GAMMAS),
    st.builds(Laplacian, GAMMAS),
    st.builds(Poly, GAMMAS, st.sampled_from([0, 1.5]), st.integers(1, 3)),
)
POSITIONS = st.integers(-4, 3)
COLUMNS = st.one_of(
    POSITIONS,
    st.lists(POSITIONS, min_size=1, max_size=5),
    st.lists(POSITIONS, min_size=1, max_size=3).map(np.array),
    st.lists(st.booleans(), min_size=4, max_size=4).filter(any),
    st.sampled_from([slice(None), slice(1, None, 2), slice(-2, None), slice(None, None, -1), slice(0, np.int64(2))]),
)
BY_NAME = st.one_of(
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=4),
    st.sampled_from([slice("b", "d"), slice(None, "b"), slice("länge", None, 2)]),
)


@st.composite
def sums(draw, columns):
    terms = draw(st.lists(st.tuples(TERMS, columns), min_size=1, max_size=4))
    weights = st.lists(st.floats(1e-3, 1e3), min_size=len(terms), max_size=len(terms))
    return Sum(terms, weights=draw(st.none() | weights))


def fit(cls, kernel, rows):
    few = {"slack": 0.1} if cls in (OneClassSVM, SVDD) else {}
    return cls(kernel=kernel, max_iter=50, **few).fit(rows, {SVC: y, SVR: targets}.get(cls))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), cls=st.sampled_from([SVC, SVR, OneClassSVM, SVDD]))
@pytest.mark.filterwarnings("ignore")  # of fits that are short, and of scales
def test_any_sum_comes_back(data, cls, tmp_path):
    named = data.draw(st.booleans())
    stored = [np.asarray, np.float32, sp.csr_matrix, sp.csr_array]
    rows = pd.DataFrame(X, columns=NAMES) if named else data.draw(st.sampled_from(stored))(X)
    kernel = data.draw(sums(BY_NAME | COLUMNS if named else COLUMNS))
    try:
        model = fit(cls, kernel, rows)
    except ValueError as refusal:  # large kernel values in single precision: there is nothing to save
        if getattr(rows, "dtype", None) == np.float32 and "in this precision" in str(refusal):
            reject()
        raise
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.kernel == model.kernel and again.model_.vectors.kernel == model.model_.vectors.kernel
    assert_same_predictions(model, again, rows)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kernel=sums(COLUMNS), cls=st.sampled_from([SVC, SVR, OneClassSVM, SVDD]))
@pytest.mark.filterwarnings("ignore")
def test_any_sum_is_computed_by_a_runtime(kernel, cls, tmp_path):
    assert_outputs_alike(fit(cls, kernel, X / 10), X / 10, tmp_path / "model.onnx")


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "precomputed"])
def test_kernels_as_parameters(name, tmp_path):
    own = KERNELS[name]() if name == "linear" else KERNELS[name](gamma=0.05)
    model = SVC(kernel=own).fit(X, y)
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").kernel == own
    assert_outputs_alike(model, X, tmp_path / "model.onnx")
    if name == "laplacian":
        with pytest.raises(ValueError, match=r"no kernel 'laplacian', only .*another extension"):
            export_libsvm(model, tmp_path / "model.libsvm")
        return
    export_libsvm(model, tmp_path / "model.libsvm")
    again = import_libsvm(tmp_path / "model.libsvm")
    assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_a_pipeline_with_a_sum_and_several_outputs(tmp_path):
    pipeline = make_pipeline(StandardScaler(), SVR(kernel=SUM)).fit(X, targets)
    save(pipeline, tmp_path / "model")
    assert_same_predictions(pipeline, load(tmp_path / "model"), X)
    assert assert_outputs_alike(pipeline, X, tmp_path / "model.onnx") == ["value"]


def test_a_pipeline_with_a_search_over_a_sum(tmp_path):
    search = SVCCV(kernel=SUM, Cs=[1, 4], cv=2)
    pipeline = make_pipeline(StandardScaler(), search).fit(X, y)
    save(pipeline, tmp_path / "model")
    assert_same_predictions(pipeline, load(tmp_path / "model"), X)
    assert assert_outputs_alike(pipeline, X, tmp_path / "model.onnx") == ["label", "decision"]


def test_parameters_of_the_problem_come_back(tmp_path):
    for model, name, value in (
        (fitted("SVR of an expectile"), "expectile", 0.8),
        (fitted("SVC with broken ties"), "break_ties", True),
        (fitted("SVRCV of an expectile"), "expectile", 0.3),
    ):
        save(model, tmp_path / "model")
        assert load(tmp_path / "model").get_params()[name] == value


def test_batches_are_not_saved(tmp_path):
    """So a loaded estimator cannot continue, as after ``fit``; a clone begins anew."""
    save(fitted("SVR in batches"), tmp_path / "model")
    again = load(tmp_path / "model")
    assert not hasattr(again, "partial_fit")
    assert clone(again).partial_fit(X[:20], targets[:20]).shape_fit_ == (20, 4)


# ---- what is refused ----------------------------------------------------------------------------------------------


class Wider(Rbf):
    """A kernel that a file would take for its base."""


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (SVC(kernel=Wider(0.1)).fit(X, y), "Wider.* cannot be saved"),
        (SVC(kernel=Sum([(Wider(0.1), [0])])).fit(X, y), "Wider.* cannot be saved"),
        (SVC(kernel=Rbf(0.1)).fit(X, y).set_params(kernel=Rbf(0.2)), "not the kernel of its fit"),
        (SVC(kernel=SUM).fit(X, y).set_params(kernel=Sum(SUM.terms)), "not the kernel of its fit"),
        (SVC(kernel=SUM).fit(X, y).set_params(kernel="rbf"), "not the kernel of its fit"),
        (SVC(kernel=Rbf("scale")).fit(X, y).set_params(kernel=Linear()), "not the kernel of its fit"),
        (SVC(kernel=Sum([(Linear(), [0])])).fit(X, y).set_params(kernel=Sum([(Linear(), [1])])), "not the kernel of"),
        (SVC(kernel="precomputed").fit(X @ X.T, y).set_params(kernel=Precomputed()), "write kernel='precomputed'"),
        (SVCCV(Cs=1, cv=2, kernel=Sum([(Wider(0.1), [0])])).fit(X, y), "Wider.* cannot be saved"),
        (SVR().fit(X, targets).set_fitted(epsilon_=0.1), r"epsilon_ has the shape \(\), its outputs \(3,\)"),
        (SVR().fit(X, target).set_fitted(n_iter_=np.array([1])), r"n_iter_ has the shape \(1,\), its outputs \(\)"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_save_refuses(model, complaint, tmp_path):
    with pytest.raises(ValueError, match=complaint):
        save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_libsvm_has_regressions_of_one_column(tmp_path):
    model = fitted("SVR of one column")
    export_libsvm(model, tmp_path / "model.libsvm")
    again = import_libsvm(tmp_path / "model.libsvm")
    assert_array_equal(again.predict(sp.csr_array(X)), model.predict(sp.csr_array(X))[:, 0])


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("SVC with a sum", "LIBSVM has no kernel 'sum', only .*: use another extension: .onnx"),
        ("SVR of three outputs", "one output, not of 3: fit an SVR for each, or use another extension: .onnx"),
    ],
)
def test_libsvm_refuses_and_names_the_way_out(name, complaint, tmp_path):
    with pytest.raises(ValueError, match=complaint):
        export_libsvm(fitted(name), tmp_path / "model.libsvm")
    assert not list(tmp_path.iterdir())


# ---- damage -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Prefix, header and body of a file."""
    found = {}
    for name in ("SVC with a sum", "SVR of three outputs"):
        path = tmp_path_factory.mktemp("parts") / "model"
        save(fitted(name), path)
        content = path.read_bytes()
        magic, version, _, length = PREFIX.unpack(content[: PREFIX.size])
        header, body = content[PREFIX.size : PREFIX.size + length], content[PREFIX.size + length : -32]
        found[name] = magic, version, json.loads(header), body
    return found


def changed(parts, path, change):
    magic, version, header, body = copy.deepcopy(parts)
    [(_, model)] = header["model"].items()
    change(model)
    path.write_bytes(sealed(magic, version, json.dumps(header).encode(), body))
    return path


def kernel_of(model):
    return model["attributes"]["model_"]["Pairwise"]["vectors"]["Vectors"]["kernel"]["Sum"]


def set_columns(columns):
    def change(model):
        kernel_of(model)["terms"]["tuple"][1]["tuple"][1] = columns

    return change


def set_weights(weights):
    def change(model):
        for kernel in (kernel_of(model), model["parameters"]["kernel"]["Sum"]):
            kernel["weights"] = weights

    return change


def set_kernel(kernel):
    def change(model):
        kernel_of(model)["terms"]["tuple"][0]["tuple"][0] = kernel

    return change


def set_chosen(columns):
    def change(model):
        for kernel in (kernel_of(model), model["parameters"]["kernel"]["Sum"]):
            kernel["terms"]["tuple"][1]["tuple"][1] = columns

    return change


CHANGES = {
    "other columns": set_columns({"tuple": [1, 3]}),
    "columns of the wrong type": set_columns({"tuple": [True, 1]}),
    "a column that does not exist": set_chosen({"tuple": [3, 4]}),
    "a negative column": set_chosen({"tuple": [3, -1]}),
    "no column": set_chosen({"tuple": []}),
    "a slice that was not resolved": set_chosen({"slice": [0, 2, None]}),
    "a very long slice": set_columns({"slice": [0, 2**40, None]}),
    "a slice of fractions": set_chosen({"slice": [0.5, 2, None]}),
    "a slice of two": set_chosen({"slice": [0, 2]}),
    "a negative weight": set_weights({"tuple": [1.0, -1.0, 1.0, 1.0]}),
    "a weight of zero": set_weights({"tuple": [1.0, 0.0, 1.0, 1.0]}),
    "an infinite weight": set_weights({"tuple": [{"float": "inf"}, 1.0, 1.0, 1.0]}),
    "a weight too few": set_weights({"tuple": [1.0]}),
    "a huge weight": set_weights({"tuple": [10**400, 1.0, 1.0, 1.0]}),
    "a text as weights": set_weights("abcd"),
    "a rule in the model": set_kernel({"Rbf": {"gamma": "scale"}}),
    "another kernel": set_kernel({"Laplacian": {"gamma": 0.5}}),
    "a kernel matrix": set_kernel({"Precomputed": {}}),
    "a sum in a sum": set_kernel({"Sum": {"terms": {"tuple": [{"tuple": [{"Linear": {}}, 0]}]}, "weights": None}}),
    "a number as kernel": set_kernel(3),
    "no terms": lambda model: kernel_of(model).update(terms=[]),
    "no terms at all": lambda model: kernel_of(model).pop("terms"),
    "a term too few": lambda model: kernel_of(model).update(weights=None, terms=kernel_of(model)["terms"]["tuple"][:1]),
    "a name without names": set_chosen("age"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_damaged_sums_are_refused(change, parts, tmp_path):
    path = changed(parts["SVC with a sum"], tmp_path / "model", change)
    with pytest.raises(ValueError, match="model: "):
        load(path)


def set_attribute(name, value):
    return lambda model: model["attributes"].update({name: value})


def without_output(model):
    model["attributes"]["model_"]["Outputs"]["coef"] = {"array": "epsilon_"}
    del model["attributes"]["epsilon_"]


@pytest.mark.parametrize(
    "change",
    [
        set_attribute("epsilon_", 0.5),
        set_attribute("n_iter_", 7),
        without_output,
        lambda model: model["attributes"]["model_"]["Outputs"].update(intercept=0.5),
        lambda model: model["attributes"].update(model_={"Expansion": model["attributes"]["model_"]["Outputs"]}),
    ],
)
def test_damaged_outputs_are_refused(change, parts, tmp_path):
    path = changed(parts["SVR of three outputs"], tmp_path / "model", change)
    with pytest.raises(ValueError, match="model: "):
        load(path)


# ---- the command line ---------------------------------------------------------------------------------------------


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, X=X, y=target)
    return str(path)


def test_info_lists_the_terms(tmp_path, capsys):
    save(fitted("SVC with a sum"), tmp_path / "model")
    assert main(["info", str(tmp_path / "model"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["kernel"] == "sum"
    assert facts["terms"][1] == {"kernel": "linear", "columns": [3, 1], "weight": 0.5}
    assert main(["info", str(tmp_path / "model")]) == 0
    assert "0.5 * linear of columns 3, 1" in capsys.readouterr().out


def test_info_of_several_outputs(tmp_path, capsys):
    save(fitted("SVR of three outputs"), tmp_path / "model")
    assert main(["info", str(tmp_path / "model"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["outputs"] == 3 and facts["epsilon"] == [0.05] * 3 and len(facts["primal_value"]) == 3


def test_predictions_of_several_outputs_are_columns(rows, tmp_path, capsys):
    model = fitted("SVR of three outputs")
    save(model, tmp_path / "model")
    np.savez(tmp_path / "bare.npz", X=X)
    assert main(["predict", str(tmp_path / "bare.npz"), str(tmp_path / "model"), str(tmp_path / "out.csv")]) == 0
    assert_array_equal(np.loadtxt(tmp_path / "out.csv", delimiter=","), model.predict(X))
    assert main(["predict", rows, str(tmp_path / "model")]) == 2
    assert "predicts 3 numbers for each row" in capsys.readouterr().err


def test_one_column_is_compared_with_labels(rows, tmp_path, capsys):
    model = fitted("SVR of one column")
    save(model, tmp_path / "model")
    assert main(["predict", rows, str(tmp_path / "model"), str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["r2"] == pytest.approx(model.score(X, target))


def test_convert(tmp_path, capsys):
    save(fitted("SVC with a sum"), tmp_path / "model")
    assert main(["convert", str(tmp_path / "model"), str(tmp_path / "model.onnx")]) == 0
    assert main(["convert", str(tmp_path / "model"), str(tmp_path / "model.libsvm")]) == 2
    assert "LIBSVM has no kernel 'sum'" in capsys.readouterr().err
