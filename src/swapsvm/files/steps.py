"""Pipelines: what a file keeps of scikit-learn's own steps. The list of them is closed.

Parameters and public fitted attributes are saved. What else a step remembers of its fit differs between versions of
scikit-learn, so a step that needs it is fitted again, to an example of few rows that leads to the same state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
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

from ..container import require
from .checks import check_names
from .descriptions import ESTIMATORS, NAMES, ROWS, Attributes, Description
from .kinds import Kind, is_finite

ColumnStep = tuple[str, Any, list[int]]
OUTPUTS = (None, "default", "pandas", "polars")


def _are_statistics(values: object) -> bool:
    return values is None or _are_values(values)


def _are_values(values: object) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biufUO"


def _are_counts(values: object) -> bool:
    if isinstance(values, np.ndarray):
        return values.ndim == 1 and is_finite(values)
    return isinstance(values, int | float | np.integer)


def _are_categories(values: object) -> bool:
    return isinstance(values, list) and all(_are_values(own) and len(own) for own in values)


def _is_output(value: object) -> bool:
    return isinstance(value, dict) and set(value) <= {"transform"} and value.get("transform") in OUTPUTS


STATISTICS = Kind("a list of values, one for each feature", _are_statistics)
COUNTS = Kind("a count, or one for each feature", _are_counts)
CATEGORIES = Kind("a list of numbers, booleans or text for each feature", _are_categories)
OPTIONAL: Attributes = {**NAMES, "_sklearn_output_config": Kind("what set_output sets", _is_output)}


def set_attributes(step: BaseEstimator, attributes: Mapping[str, object]) -> None:
    """Give a step its fitted attributes."""
    for name, value in attributes.items():
        setattr(step, name, value)


def check_step(step: BaseEstimator) -> None:
    """``ValueError`` unless parameters are valid and each feature has its values."""
    clone(step).fit(np.zeros((1, 1)))  # scikit-learn checks the parameters
    check_features(step)


def check_features(step: BaseEstimator) -> None:
    """``ValueError`` unless each feature has its values."""
    check_names(step)
    for name in DESCRIPTIONS[type(step)].attributes:
        value = getattr(step, name)
        several = isinstance(value, list | np.ndarray)
        right = not several or len(value) == step.n_features_in_
        require(right, f"{name} of {type(step).__name__} does not have {step.n_features_in_} entries")


def check_imputer(imputer: SimpleImputer) -> None:
    """The same for an imputer."""
    require(
        not imputer.add_indicator, "SimpleImputer(add_indicator=True) cannot be saved: use a step without indicator"
    )
    check_features(imputer)


def restore_imputer(imputer: SimpleImputer, attributes: Mapping[str, object]) -> None:
    """Fit to one row, the statistics themselves; of columns without any value it is 0."""
    statistics = numbers_of(np.asarray(attributes["statistics_"]))
    imputer.fit(np.where(statistics == statistics, statistics, 0)[None].astype(statistics.dtype))
    set_attributes(imputer, attributes)


def numbers_of(statistics: np.ndarray) -> np.ndarray:
    """As numbers, if they are numbers: a constant value makes them objects."""
    if statistics.dtype != object or any(isinstance(value, str) for value in statistics):
        return statistics
    return statistics.astype(np.float64)


def check_encoder(encoder: OneHotEncoder | OrdinalEncoder) -> None:
    """The same for an encoder of categories."""
    kind = type(encoder).__name__
    for name in ("min_frequency", "max_categories"):
        unset = getattr(encoder, name) is None
        require(unset, f"{kind}({name}=...) cannot be saved: replace rare categories before the pipeline")
    require(isinstance(encoder.dtype, type | np.dtype), f"{kind}(dtype={encoder.dtype!r}) is not a type of numbers")
    check_features(encoder)


def restore_encoder(encoder: OneHotEncoder | OrdinalEncoder, attributes: Mapping[str, object]) -> None:
    """Fit to rows that have every category."""
    categories: Any = attributes["categories_"]
    example = np.empty((max(map(len, categories)), len(categories)), dtype=object)
    for k, own in enumerate(categories):
        example[:, k] = np.resize(own, len(example))
    encoder.fit(example)
    found = [len(own) for own in encoder.categories_]
    require(found == [len(own) for own in categories], "its categories are not distinct")
    set_attributes(encoder, attributes)


# ---- columns ------------------------------------------------------------------------------------------------------

REMAINDER = "remainder"  # scikit-learn's name of the step for all other columns
MOST_COLUMNS = 2**24  # of the row that a ColumnTransformer is fitted to


def columns_parameters(model: ColumnTransformer) -> dict[str, object]:
    """Its parameters, with fitted steps and the positions of their columns."""
    steps = fitted_columns(model)
    rest = [step for name, step, own in steps if name == REMAINDER and own]
    listed = [step for step in steps if step[0] != REMAINDER]
    found: dict[str, object] = model.get_params(deep=False)
    found.pop("force_int_remainder_cols", None)  # of scikit-learn below 1.9, without effect on predictions
    return {**found, "transformers": listed, "remainder": rest[0] if rest else "drop"}


def fitted_columns(model: ColumnTransformer) -> list[ColumnStep]:
    """Name, fitted step (or "drop" or "passthrough") and positions of columns."""
    names = list(getattr(model, "feature_names_in_", ()))
    steps: list[ColumnStep] = []
    left = set(range(model.n_features_in_))
    for name, step, columns in model.transformers_:
        own = sorted(left) if name == REMAINDER else positions(name, columns, names, model.n_features_in_)
        left -= set(own)
        idle = type(step) is FunctionTransformer and step.func is None
        acting = "passthrough" if idle else step
        steps.append((name, acting if own else "drop", own))  # a step without columns is never fitted
    return steps


def positions(step: str, columns: Any, names: list[str], n_features: int) -> list[int]:
    """The positions of columns that are given by names, by positions, by a slice or by a mask."""
    single = isinstance(columns, str | int)
    require(not single, f"the columns {columns!r} of the step {step!r} must be a list: use [{columns!r}]")
    if isinstance(columns, slice):
        start, stop = (names.index(end) if isinstance(end, str) else end for end in (columns.start, columns.stop))
        stop = stop + 1 if isinstance(columns.stop, str) else stop  # a slice of names has its end
        return list(range(n_features)[start : stop : columns.step])
    listed = np.asarray(columns).tolist()
    if any(isinstance(column, bool) for column in listed):
        return [k for k, chosen in enumerate(listed) if chosen]
    return [names.index(column) if isinstance(column, str) else range(n_features)[column] for column in listed]


def restore_columns(model: ColumnTransformer, attributes: Mapping[str, Any]) -> None:
    """Fit to one row with steps that do nothing, and then put the fitted steps into their places."""
    fitted, rest = {name: step for name, step, _ in model.transformers}, model.remainder
    n_features, names = attributes["n_features_in_"], attributes.get("feature_names_in_")
    require(n_features < MOST_COLUMNS, f"it has {n_features} features: at most {MOST_COLUMNS} are supported")
    idle = {name: "drop" if step == "drop" else "passthrough" for name, step in [*fitted.items(), (REMAINDER, rest)]}
    model.set_params(transformers=[(name, idle[name], own) for name, _, own in model.transformers])
    model.set_params(remainder=idle[REMAINDER]).fit(np.zeros((1, n_features)))

    def named(own: list[int]) -> list[Any]:
        return own if names is None else [names[k] for k in own]

    fitted[REMAINDER] = rest
    model.transformers_ = [  # by position, which scikit-learn takes for rows with and without names
        (name, done if isinstance(fitted[name], str) else fitted[name], own)
        for (name, _, own), (_, done, _) in zip(fitted_columns(model), model.transformers_, strict=True)
    ]
    model.transformers = [(name, _unfitted(fitted[name]), named(own)) for name, _, own in model.transformers]
    model.remainder = _unfitted(rest)
    set_attributes(model, attributes)


def _unfitted(step: Any) -> Any:
    return step if isinstance(step, str) else clone(step)


def check_columns(model: ColumnTransformer) -> None:
    """``ValueError`` unless each step can be saved."""
    check_names(model)
    for name, step, own in fitted_columns(model):
        _check_known(name, step, ("drop", "passthrough"))
        first = first_step(step)
        fits = first is None or first.n_features_in_ == len(own)
        require(fits, f"the step {name!r} was not fitted to {len(own)} columns")


# ---- pipelines ----------------------------------------------------------------------------------------------------


def check_pipeline(pipeline: Pipeline) -> None:
    """``ValueError`` unless its steps can be saved; the last one can be a model."""
    listed = isinstance(pipeline.steps, list) and len(pipeline.steps) > 0
    pairs = listed and all(isinstance(step, tuple) and len(step) == 2 for step in pipeline.steps)
    require(pairs, "the steps of a pipeline are not a list of names and estimators")
    *steps, (name, last) = pipeline.steps
    for step_name, step in steps:
        _check_known(step_name, step, ("passthrough", None))
    if type(last) in MODELS:
        MODELS[type(last)].verify(last)
    else:
        _check_known(name, last, ("passthrough", None))


def first_step(model: Any) -> Any:
    """The first step of a pipeline that does something and knows its columns; of anything else, that itself."""
    if type(model) is not Pipeline:
        return None if model in ("drop", "passthrough", None) else model
    return next((first for _, step in model.steps if (first := first_step(step)) is not None), None)


def final_model(model: Any) -> Any:
    """The last step of a pipeline, else the model itself."""
    return model.steps[-1][1] if type(model) is Pipeline else model


def _check_known(name: object, step: object, words: tuple[object, ...]) -> None:
    if not isinstance(step, BaseEstimator):
        require(step in words, f"the step {name!r}={step!r} is not an estimator")
        return
    inner = type(step) is Pipeline and type(final_model(step)) in MODELS
    require(not inner, f"the step {name!r} is a pipeline with a model: list its steps in the pipeline around it")
    known, models = ([cls.__name__ for cls in listed] for listed in (DESCRIPTIONS, MODELS))
    complaint = f"the step {name!r}, a {type(step).__name__}, cannot be saved"
    require(type(step) in DESCRIPTIONS, f"{complaint}: supported are {known}, and as the last step {models}")
    DESCRIPTIONS[type(step)].verify(step)


def _scaler(cls: type[BaseEstimator], *attributes: str, counted: bool = True) -> Description:
    values = dict.fromkeys(attributes, STATISTICS)
    counts = {"n_samples_seen_": COUNTS} if counted else {}
    return Description(cls, {**ROWS, **values, **counts}, check_step, OPTIONAL, set_attributes)


def _encoder(cls: type[BaseEstimator]) -> Description:
    return Description(cls, {**ROWS, "categories_": CATEGORIES}, check_encoder, OPTIONAL, restore_encoder)


SPARSE = Kind("True or False", lambda value: isinstance(value, bool))
PIPELINE = Description(Pipeline, {}, check_pipeline, {}, set_attributes, local=("memory",))
STEPS: list[Description] = [
    _scaler(StandardScaler, "mean_", "var_", "scale_"),
    _scaler(MinMaxScaler, "scale_", "min_", "data_min_", "data_max_", "data_range_"),
    _scaler(MaxAbsScaler, "scale_", "max_abs_"),
    _scaler(RobustScaler, "center_", "scale_", counted=False),
    _scaler(Normalizer, counted=False),
    Description(SimpleImputer, {**ROWS, "statistics_": STATISTICS}, check_imputer, OPTIONAL, restore_imputer),
    _encoder(OneHotEncoder),
    _encoder(OrdinalEncoder),
    Description(
        ColumnTransformer,
        {**ROWS, "sparse_output_": SPARSE},
        check_columns,
        OPTIONAL,
        restore_columns,
        parameters_of=columns_parameters,
    ),
    PIPELINE,
]
MODELS = {description.type: description for description in ESTIMATORS}
DESCRIPTIONS = {description.type: description for description in STEPS}
