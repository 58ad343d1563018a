"""Columns of pandas and polars as rows, labels and weights."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from swapsvm import SVC, SVCCV, SVDD, SVR, SVRCV, OneClassSVM

X, Y = load_iris(return_X_y=True)
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
TEXTS = np.array(["setosa", "versicolor", "virginica"])[Y]
WEIGHTS = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
FRAMES = {"pandas": pd.DataFrame(X, columns=NAMES), "polars": pl.DataFrame(X, schema=NAMES)}
SERIES = {"pandas": pd.Series, "polars": pl.Series}
MODELS = [SVC(), SVR(), OneClassSVM(), SVDD(), SVCCV([1.0], [0.1], 2), SVRCV([1.0], [0.1], 2, epsilons=[0.1])]
each_library = pytest.mark.parametrize("library", FRAMES)
# scikit-learn before 1.9 does not see the names of polars 2
NAMED = [library for library, frame in FRAMES.items() if hasattr(StandardScaler().fit(frame), "feature_names_in_")]


@each_library
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_frames_and_series_are_rows_targets_and_weights(model, library):
    series, frame = SERIES[library], FRAMES[library]
    model.fit(frame, series(Y.astype(float)), series(WEIGHTS))
    assert_array_equal(getattr(model, "feature_names_in_", []), NAMES if library in NAMED else [])
    found = model.predict(frame)
    assert type(found) is np.ndarray
    assert_array_equal(found, model.fit(X, Y.astype(float), WEIGHTS).predict(X))
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("library", NAMED)
def test_other_columns_are_refused_as_in_scikit_learn(library):
    model = SVC().fit(FRAMES[library], TEXTS)
    other = pd.DataFrame(X, columns=[*NAMES[:3], "width"])
    with pytest.raises(ValueError, match=r"(?s)Feature names unseen at fit time:\n- width\n.*missing:\n- petal width"):
        model.predict(other if library == "pandas" else pl.DataFrame(X, schema=list(other.columns)))
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict(FRAMES[library][NAMES[::-1]])
    with pytest.raises(ValueError, match="missing:\n- petal width"):
        model.predict(FRAMES[library][NAMES[:3]])
    with pytest.warns(UserWarning, match="X does not have valid feature names, but SVC was fitted with feature names"):
        model.predict(X)
    with pytest.warns(UserWarning, match="X has feature names, but SVC was fitted without feature names"):
        SVC().fit(X, TEXTS).predict(FRAMES[library])


LABELS = {
    "text": (pd.Series(TEXTS), TEXTS),
    "pandas object": (pd.Series(TEXTS, dtype=object), TEXTS),
    "pandas string": (pd.Series(TEXTS, dtype="string"), TEXTS),
    "pandas arrow": (pd.Series(TEXTS, dtype="string[pyarrow]"), TEXTS),
    "pandas categorical": (pd.Series(TEXTS, dtype="category"), TEXTS),
    "pandas Int64": (pd.Series(Y, dtype="Int64"), Y),
    "pandas UInt8": (pd.Series(Y, dtype="UInt8"), Y.astype(np.uint8)),
    "pandas arrow integers": (pd.Series(Y, dtype="int64[pyarrow]"), Y),
    "pandas bool": (pd.Series(Y > 0), Y > 0),
    "pandas boolean": (pd.Series(Y > 0, dtype="boolean"), Y > 0),
    "polars text": (pl.Series(TEXTS), TEXTS),
    "polars categorical": (pl.Series(TEXTS, dtype=pl.Categorical), TEXTS),
    "polars enumeration": (pl.Series(TEXTS, dtype=pl.Enum(np.unique(TEXTS).tolist())), TEXTS),
    "polars integers": (pl.Series(Y), Y),
    "polars booleans": (pl.Series(Y > 0), Y > 0),
}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("model", [SVC(), SVCCV([1.0], [0.1], 2)], ids=["SVC", "SVCCV"])
def test_labels_of_any_column(model, name):
    given, plain = LABELS[name]
    found = model.fit(X, given).predict(X)
    assert_array_equal(found, model.fit(X, plain).predict(X))
    if plain.dtype.kind != "U":
        assert found.dtype == plain.dtype
    assert (found == plain).mean() > 0.9


def rows_of(values):
    return values * 50


MISSING = {
    "pandas Int64": pd.Series(rows_of([0, 1, None]), dtype="Int64"),
    "pandas boolean": pd.Series(rows_of([True, False, None]), dtype="boolean"),
    "pandas string": pd.Series(rows_of(["a", "b", None]), dtype="string"),
    "pandas object": pd.Series(rows_of(["a", "b", None]), dtype=object),
    "pandas categorical": pd.Series(rows_of(["a", "b", None]), dtype="category"),
    "text": pd.Series(rows_of(["a", "b", np.nan])),
    "polars integers": pl.Series(rows_of([0, 1, None])),
    "polars text": pl.Series(rows_of(["a", "b", None])),
    "polars booleans": pl.Series(rows_of([True, False, None])),
    "polars categorical": pl.Series(rows_of(["a", "b", None]), dtype=pl.Categorical),
}


@pytest.mark.parametrize("name", MISSING)
@pytest.mark.parametrize("model", [SVC(), SVCCV([1.0], [0.1], 2)], ids=["SVC", "SVCCV"])
def test_missing_labels_are_an_error_that_says_so(model, name):
    with pytest.raises(ValueError, match=r"y has missing labels, the first at row 2:|Input (y )?contains NaN"):
        model.fit(X, MISSING[name])


@pytest.mark.parametrize("missing", [pd.Series([1.0, None] * 75, dtype="Float64"), pl.Series([1.0, None] * 75)])
def test_missing_targets_and_weights_are_errors_that_say_so(missing):
    with pytest.raises(ValueError, match="Input y contains NaN"):
        SVR().fit(X, missing)
    with pytest.raises(ValueError, match="Input sample_weight contains NaN"):
        SVC().fit(X, Y, sample_weight=missing)


def holed(frame, kind):
    frame = frame.round().astype(kind)
    frame.iloc[3, 1] = pd.NA
    return frame


@pytest.mark.parametrize(
    "frame",
    [
        *(holed(FRAMES["pandas"], kind) for kind in ("Float64", "Int64", "float64[pyarrow]")),
        holed(FRAMES["pandas"] > 2, "boolean"),
        FRAMES["polars"].with_columns(pl.when(pl.col(NAMES[0]) > 5).then(pl.col(NAMES[0]))),
        FRAMES["polars"].cast(pl.Int64).with_columns(pl.when(pl.col(NAMES[0]) > 5).then(pl.col(NAMES[0]))),
    ],
    ids=["Float64", "Int64", "arrow", "boolean", "polars", "polars integers"],
)
def test_missing_entries_are_an_error_that_says_so(frame):
    with pytest.raises(ValueError, match="Input X contains NaN"):
        SVC().fit(frame, Y)
    model = OneClassSVM().fit(FRAMES["polars" if isinstance(frame, pl.DataFrame) else "pandas"])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.predict(frame)


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (FRAMES["pandas"].astype("float32"), np.float32),
        (FRAMES["pandas"].astype("Float32"), np.float32),
        (FRAMES["pandas"].astype("Float64"), np.float64),
        (FRAMES["pandas"].astype({NAMES[0]: "Float32"}), np.float64),
        (FRAMES["pandas"].round().astype("Int64"), np.float64),
        (FRAMES["polars"].cast(pl.Float32), np.float32),
        (FRAMES["polars"].cast({NAMES[0]: pl.Float32}), np.float64),
        (FRAMES["polars"].cast(pl.Int32), np.float64),
    ],
)
def test_single_precision_stays_single(frame, expected):
    model = SVC().fit(frame, Y)
    assert model.support_vectors_.dtype == expected
    assert model.score(frame, Y) > 0.9


@each_library
def test_pipelines_hand_frames_on(library):
    scaler = StandardScaler().set_output(transform=library)
    model = make_pipeline(scaler, SVC()).fit(FRAMES[library], TEXTS)
    assert hasattr(model[-1], "feature_names_in_") == (library in NAMED)
    plain = make_pipeline(StandardScaler(), SVC()).fit(X, TEXTS)
    assert_array_equal(model.predict(FRAMES[library]), plain.predict(X))
