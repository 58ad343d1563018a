"""Pipelines of scikit-learn's steps and a model: the native file, and ONNX judged by onnxruntime."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from campaign.formats import in_container
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from swapsvm import SVC, SVCCV, SVDD, SVR, OneClassSVM
from swapsvm.files import TRUSTED_TYPES, export_libsvm, export_onnx, load, save

from .saved import assert_same_predictions
from .test_onnx import OUTPUTS

onnxruntime = pytest.importorskip("onnxruntime", reason="the judge")

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, 1]
y = (X[:, 0] + 0.3 * X[:, 3] > 0.2).astype(int)
GAPS = np.where(rng.random(X.shape) < 0.1, np.nan, X)
SMALL = np.column_stack([rng.integers(0, 3, 60), rng.integers(0, 2, 60), rng.normal(size=60)]).astype(float)
TABLE = pd.DataFrame(
    {
        "age": rng.normal(40, 10, 60),
        "city": rng.choice(["Zürich", "São\nPaulo", "東京"], 60),
        "rooms": rng.integers(0, 4, 60),
        "kind": rng.choice(["q", "r"], 60),
    }
)
ENCODED = ColumnTransformer(
    [
        ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
        ("city", OneHotEncoder(handle_unknown="ignore"), ["city"]),
        ("rooms", OneHotEncoder(drop="first", sparse_output=False), [2]),
    ],
    remainder=OrdinalEncoder(),
)
SELECTED = ColumnTransformer(
    [("numbers", RobustScaler(), make_column_selector(dtype_include=float)), ("no", "drop", ["city"])],
    transformer_weights={"numbers": 2.0},
)
MIXED = ColumnTransformer(
    [
        ("a", OneHotEncoder(categories=[[0.0, 1.0, 2.0]], handle_unknown="ignore", dtype=np.float32), [0]),
        ("b", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), slice(1, 2)),
    ],
    remainder="passthrough",
)
CASES = {
    "standard": (make_pipeline(StandardScaler(), SVC()), X),
    "standard without mean": (make_pipeline(StandardScaler(with_mean=False), SVR()), X),
    "standard without deviation": (make_pipeline(StandardScaler(with_std=False), "passthrough", SVR()), X),
    "range, clipped": (make_pipeline(MinMaxScaler((-1, 2), clip=True), OneClassSVM()), X),
    "largest": (make_pipeline(MaxAbsScaler(), SVDD()), X),
    "robust": (make_pipeline(RobustScaler(quantile_range=(10.0, 90.0), unit_variance=True), SVC()), X),
    "l1": (make_pipeline(Normalizer("l1"), SVC()), X),
    "l2": (make_pipeline(Normalizer("l2"), SVC()), X),
    "max": (make_pipeline(Normalizer("max"), SVR(kernel="laplacian")), X),
    "mean": (make_pipeline(SimpleImputer(), StandardScaler(), SVC()), GAPS),
    "median": (make_pipeline(SimpleImputer(strategy="median"), SVR()), GAPS),
    "most frequent": (make_pipeline(SimpleImputer(strategy="most_frequent", missing_values=0), SVC()), SMALL),
    "constant": (make_pipeline(SimpleImputer(strategy="constant", fill_value=-1.0), SVC()), GAPS),
    "categories": (make_pipeline(OneHotEncoder(), SVC()), SMALL[:, :2]),
    "numbers of categories": (make_pipeline(OrdinalEncoder(), SVC()), SMALL[:, :2]),
    "columns": (make_pipeline(MIXED, SVC()), SMALL),
    "columns of text": (make_pipeline(ENCODED, SVC()), TABLE),
    "selected columns": (make_pipeline(SELECTED, SVR()), TABLE),
    "a search": (make_pipeline(StandardScaler(), SVCCV(Cs=2, gammas=2, cv=2)), X),
    "a pipeline in a pipeline": (make_pipeline(make_pipeline(SimpleImputer(), MinMaxScaler()), SVC()), GAPS),
}
every = pytest.mark.parametrize("name", CASES)


@cache
def fitted(name):
    pipeline, rows = CASES[name]
    return pipeline.fit(rows, y), rows


def returned(model, path):
    save(model, path)
    return load(path)


@every
def test_a_pipeline_comes_back_to_the_last_bit(name, tmp_path):
    pipeline, rows = fitted(name)
    again = returned(pipeline, tmp_path / "first")
    assert_same_predictions(pipeline, again, rows)
    assert_same_predictions(pipeline, again, rows[::-1])
    assert [type(step) for _, step in again.steps] == [type(step) for _, step in pipeline.steps]
    save(again, tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


@every
def test_a_loaded_pipeline_can_be_fitted_again(name, tmp_path):
    pipeline, rows = fitted(name)
    again = returned(pipeline, tmp_path / "model").fit(rows, y)
    assert_same_predictions(pipeline, again, rows)


def test_columns_are_found_by_name(tmp_path):
    pipeline, rows = fitted("columns of text")
    again = returned(pipeline, tmp_path / "model")
    assert_array_equal(again.predict(rows[rows.columns[::-1]]), pipeline.predict(rows))
    assert_array_equal(again[:-1].get_feature_names_out(), pipeline[:-1].get_feature_names_out())


def test_unknown_categories_are_treated_as_before(tmp_path):
    pipeline, rows = fitted("columns of text")
    again = returned(pipeline, tmp_path / "model")
    other = rows.assign(city="Wien")
    assert_array_equal(again.decision_function(other), pipeline.decision_function(other))
    with pytest.raises(ValueError, match="unknown categories"):
        again.predict(rows.assign(kind="s"))


def test_output_of_steps_in_tables_comes_back(tmp_path):
    pipeline = make_pipeline(StandardScaler(), SVC()).set_output(transform="pandas")
    rows = pd.DataFrame(X, columns=list("abcd"))
    again = returned(pipeline.fit(rows, y), tmp_path / "model")
    assert_array_equal(again.decision_function(rows), pipeline.decision_function(rows))
    assert_array_equal(again[-1].feature_names_in_, list("abcd"))


@pytest.mark.parametrize(
    ("pipeline", "complaint"),
    [
        (make_pipeline(PCA(2), SVC()), "the step 'pca', a PCA, cannot be saved: supported are .*'StandardScaler'"),
        (make_pipeline(FunctionTransformer(np.log1p), SVC()), "a FunctionTransformer, cannot be saved"),
        (make_pipeline(SimpleImputer(add_indicator=True), SVC()), "without indicator"),
        (make_pipeline(OneHotEncoder(max_categories=2), SVC()), "OneHotEncoder.*replace rare categories"),
        (Pipeline([("scale", StandardScaler())]), "type StandardScaler cannot be saved as a model"),
        (make_pipeline(ColumnTransformer([("p", PCA(1), [0, 1])]), SVC()), "the step 'p', a PCA"),
    ],
    ids=lambda value: "" if isinstance(value, str) else value.steps[0][0],
)
def test_steps_that_are_not_supported_are_refused(pipeline, complaint, tmp_path):
    pipeline.fit(np.abs(SMALL), y)
    for write in (save, export_onnx):
        with pytest.raises(ValueError, match=complaint):
            write(pipeline, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_pipeline_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(ValueError, match="this StandardScaler is not fitted"):
        save(make_pipeline(StandardScaler(), SVC()), tmp_path / "model")


def test_libsvm_has_no_steps(tmp_path):
    with pytest.raises(ValueError, match=r"LIBSVM has no Pipeline, .*use another extension: \.onnx"):
        export_libsvm(fitted("standard")[0], tmp_path / "model")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(list(CASES)), seed=st.integers(0, 2**32 - 1))
@pytest.mark.filterwarnings("ignore")  # of values that overflow, and of scikit-learn about them
def test_damaged_files_are_read_or_refused(name, seed, tmp_path):
    pipeline, _ = fitted(name)
    path, content = tmp_path / "damaged", tmp_path / name
    if not content.exists():
        save(pipeline, content)
    path.write_bytes(in_container(np.random.default_rng(seed), content.read_bytes()))
    try:
        again = load(path)
    except ValueError as error:
        assert str(path) in str(error)  # noqa: PT017
        return
    save(again, path)


@every
def test_skops_needs_nothing_more_for_steps(name):
    io = pytest.importorskip("skops.io")
    pipeline, rows = fitted(name)
    if name == "selected columns":  # a selector is a further object
        return
    assert_same_predictions(pipeline, io.loads(io.dumps(pipeline), trusted=TRUSTED_TYPES), rows)


# ---- ONNX ---------------------------------------------------------------------------------------------------------


def session_of(pipeline, path):
    export_onnx(pipeline, path)
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def fed(session, rows):
    """The inputs of a session from an array, or from the columns of a table."""
    if [entry.name for entry in session.get_inputs()] == ["X"]:
        return {"X": np.asarray(rows, dtype=np.float64)}
    types = {"tensor(string)": object, "tensor(double)": np.float64}
    return {entry.name: rows[[entry.name]].to_numpy(types[entry.type]) for entry in session.get_inputs()}


@pytest.mark.parametrize("name", [name for name in CASES if name != "selected columns"])
def test_the_runtime_predicts_as_the_pipeline(name, tmp_path):
    pipeline, rows = fitted(name)
    session = session_of(pipeline, tmp_path / "model.onnx")
    names = [output.name for output in session.get_outputs()]
    for output, values in zip(names, session.run(None, fed(session, rows)), strict=True):
        judge = getattr(pipeline, OUTPUTS[output])(rows)
        if output == "label":
            assert_array_equal(values, judge)
        else:
            assert_allclose(values, judge, rtol=1e-9, atol=1e-9)


def test_columns_that_are_dropped_are_no_inputs(tmp_path):
    pipeline = make_pipeline(
        ColumnTransformer([("city", OneHotEncoder(), ["city"]), ("age", StandardScaler(), ["age"])]), SVR()
    ).fit(TABLE, y)
    session = session_of(pipeline, tmp_path / "model.onnx")
    assert [entry.name for entry in session.get_inputs()] == ["age", "city"]
    assert_allclose(session.run(["value"], fed(session, TABLE))[0], pipeline.predict(TABLE), atol=1e-9)


def test_unknown_categories_in_the_runtime(tmp_path):
    """They are ignored where scikit-learn ignores them, and NaN where it raises."""
    pipeline, rows = fitted("columns of text")
    session = session_of(pipeline, tmp_path / "model.onnx")
    other = rows.assign(city="Wien")
    assert_allclose(session.run(["decision"], fed(session, other))[0], pipeline.decision_function(other), atol=1e-9)
    assert np.isnan(session.run(["decision"], fed(session, rows.assign(kind="s")))[0]).all()


@pytest.mark.parametrize("name", ["cast_0", "constant_0", "equal_1", "X", "n", "two words", "é\n"])
def test_a_column_can_have_any_other_name(name, tmp_path):
    table = TABLE.rename(columns={"age": name})
    columns = [("age", StandardScaler(), [name]), ("city", OneHotEncoder(), ["city"])]
    pipeline = make_pipeline(ColumnTransformer(columns), SVC()).fit(table, y)
    export_onnx(pipeline, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    feeds = {name: table[[name]].to_numpy(), "city": table[["city"]].to_numpy(object)}
    (decision,) = session.run(["decision"], feeds)
    assert_allclose(decision, pipeline.decision_function(table), atol=1e-9)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        (np.arange(60) % 3 + 2**60, r"categories above 2\*\*53, such as .*1152921504606846978.*: use text"),
        (np.array(["\ud800", "b"], dtype=object)[np.arange(60) % 2], "the category .* is not valid Unicode"),
        (
            np.array(["2020-01-01", "2020-02-01"], dtype="M8[s]")[y],
            "is not a list of numbers, booleans or text for each",
        ),
    ],
)
def test_categories_that_would_be_mistaken_are_refused(values, complaint, tmp_path):
    table = pd.DataFrame({"kind": pd.Series(values, dtype=values.dtype), "age": TABLE["age"]})
    columns = [("kind", OneHotEncoder(), ["kind"]), ("age", StandardScaler(), ["age"])]
    pipeline = make_pipeline(ColumnTransformer(columns), SVC()).fit(table, y)
    with pytest.raises(ValueError, match=complaint):
        export_onnx(pipeline, tmp_path / "model.onnx")


def test_a_column_without_a_name_is_refused(tmp_path):
    table = TABLE[["age", "city"]].rename(columns={"age": ""})
    columns = [("age", StandardScaler(), [0]), ("city", OneHotEncoder(), [1])]
    with pytest.raises(ValueError, match="no empty names: name each column"):
        export_onnx(make_pipeline(ColumnTransformer(columns), SVC()).fit(table, y), tmp_path / "model.onnx")


def test_a_column_with_the_name_of_an_output_is_refused(tmp_path):
    pipeline = make_pipeline(OneHotEncoder(), SVR()).fit(TABLE[["city"]].rename(columns={"city": "value"}), y)
    with pytest.raises(ValueError, match="the name of an output: rename it"):
        export_onnx(pipeline, tmp_path / "model.onnx")
