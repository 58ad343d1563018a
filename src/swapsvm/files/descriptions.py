"""What a file keeps of each estimator: its parameters, and the fitted attributes that are listed here, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from typing import Any

from sklearn.base import BaseEstimator

from ..container import Json, as_mapping, require
from ..estimators import SVC, SVDD, SVR, OneClassSVM
from ..selection import SVCCV, SVRCV
from . import kinds
from .checks import check_classifier, check_detector, check_regression, check_search
from .forms import Reader, UnwritableError, Writer, joined
from .kinds import Kind, either

Attributes = dict[str, Kind]
RUNNING = ("callbacks", "checkpoint", "cv", "random_state")  # parameters that can be objects of a running program


def set_fitted(model: Any, attributes: Mapping[str, object]) -> None:  # of any estimator of the package
    """Give an estimator its fitted attributes."""
    model.set_fitted(**attributes)


def own_parameters(model: BaseEstimator) -> dict[str, object]:
    """The parameters of an estimator."""
    return dict(model.get_params(deep=False))


@dataclass(frozen=True)
class Description:
    """The form of an estimator.

    ``attributes`` are those that every fit sets, ``optional`` those that some fits set; ``check`` raises
    ``ValueError`` unless they fit together, and ``restore`` gives them to a new estimator. ``local`` names parameters
    that only have a meaning on this machine: they are not saved. ``parameters_of`` are those to save.
    """

    type: type[BaseEstimator]
    attributes: Attributes
    check: Callable[[Any], None]
    optional: Attributes = field(default_factory=dict)
    restore: Callable[[Any, Mapping[str, object]], None] = set_fitted
    local: tuple[str, ...] = ()
    parameters_of: Callable[[Any], dict[str, object]] = own_parameters

    @property
    def kind(self) -> str:
        return self.type.__name__

    def write(self, model: Any, writer: Writer, path: str) -> Json:
        self.verify(model)
        parameters = self.parameters_of(model).items()
        names = [name for name in (*self.attributes, *self.optional) if hasattr(model, name)]
        return {
            "parameters": {name: self._parameter(name, value, writer, path) for name, value in parameters},
            "attributes": {name: writer.json(getattr(model, name), joined(path, name)) for name in names},
        }

    def _parameter(self, name: str, value: object, writer: Writer, path: str) -> Json:
        """The value; the default for paths, and for generators and callbacks of the running program."""
        try:
            return writer.json(self._default(name) if name in self.local else value, joined(path, name))
        except UnwritableError:
            if name in RUNNING:
                return writer.json(self._default(name), joined(path, name))
            raise

    def _default(self, name: str) -> object:
        return signature(self.type).parameters[name].default

    def read(self, content: Json, reader: Reader) -> BaseEstimator:
        parts = as_mapping(content)
        parameters, attributes = as_mapping(parts["parameters"]), as_mapping(parts["attributes"])
        known = signature(self.type).parameters
        for name in parameters:
            require(name in known, f"its parameter {name[:40]!r} is unknown to {self._package()}")
        for name in attributes:
            require(name in (self.attributes | self.optional), f"a {self.kind} has no {name[:40]!r}")
        for name in self.attributes:
            require(name in attributes, f"its {self.kind} lacks {name!r}")
        model = self.type(**{name: reader.value(value) for name, value in parameters.items()})
        found = {name: reader.value(value) for name, value in attributes.items()}
        for name, value in found.items():
            (self.attributes | self.optional)[name].check(name, value)
        self.restore(model, found)
        self.check(model)
        return model

    def _package(self) -> str:
        name = self.type.__module__.partition(".")[0]
        return f"{name} {import_module(name).__version__}"

    def verify(self, model: BaseEstimator) -> None:
        """``ValueError`` unless this is a fitted estimator of exactly this type that fits together."""
        kind = type(model)
        derived = f"a {kind.__module__}.{kind.__name__} cannot be saved, only a {self.kind} itself"
        require(kind is self.type, f"{derived}: convert it, as to_local() does")
        for name, wanted in self.attributes.items():
            require(hasattr(model, name), f"this {self.kind} is not fitted: call fit before saving it")
            wanted.check(name, getattr(model, name))
        for name, wanted in self.optional.items():
            if hasattr(model, name):
                wanted.check(name, getattr(model, name))
        self.check(model)


ROWS: Attributes = {"n_features_in_": kinds.SIZE}
NAMES: Attributes = {"feature_names_in_": kinds.TEXTS}  # only if the training data had names
CERTIFICATE: Attributes = {
    "dual_gap_": kinds.NUMBER,
    "relative_gap_": kinds.NUMBER,
    "simplex_gap_": kinds.NUMBER,
    "stop_reason_": kinds.TEXT,
    "fit_status_": kinds.STATUS,
    "n_evaluations_": kinds.COUNT,
}
SEVERAL: Attributes = {"n_iter_": kinds.COUNTS, "primal_value_": kinds.BOUNDS, "dual_value_": kinds.BOUNDS}
ONE: Attributes = {"primal_value_": kinds.BOUND, "dual_value_": kinds.BOUND}
CLASSES: Attributes = {"classes_": kinds.LABELS}
DETECTOR: Attributes = {"offset_": kinds.FINITE, "C_": kinds.NUMBER, "n_iter_": kinds.COUNTS, **ONE}
SEARCH: Attributes = {
    "cv_results_": kinds.TABLE,
    "best_index_": kinds.COUNT,
    "best_params_": kinds.TABLE,
    "best_score_": kinds.BOUND,
    "gammas_": kinds.NUMBERS,
    "n_splits_": kinds.COUNT,
}


def machine(cls: type[BaseEstimator], check: Callable[[Any], None], attributes: Attributes) -> Description:
    """The description of an estimator with a model."""
    every = {**ROWS, **attributes, **CERTIFICATE}
    return Description(cls, every, check, NAMES, local=("checkpoint",))


def search(cls: type[BaseEstimator], best: type[BaseEstimator], attributes: Attributes) -> Description:
    """The description of a search for the settings of an estimator."""
    chosen = Kind(f"an {best.__name__}", lambda value: type(value) is best)
    refitted = {"best_estimator_": chosen, "refit_time_": kinds.NUMBER}
    return Description(cls, {**ROWS, **attributes, **SEARCH}, check_search, {**NAMES, **refitted})


CLASSIFIER: Attributes = {
    "model_": kinds.BY_CLASS,
    **CLASSES,
    "class_weight_": kinds.NUMBERS,
    "shape_fit_": kinds.SHAPE,
    **SEVERAL,
}
REGRESSION: Attributes = {
    "model_": either(kinds.EXPANSION, kinds.OUTPUTS),
    "epsilon_": either(kinds.FINITE, kinds.NUMBERS),
    "shape_fit_": kinds.SHAPE,
    "n_iter_": either(kinds.COUNT, kinds.COUNTS),
    "primal_value_": either(kinds.BOUND, kinds.BOUNDS),
    "dual_value_": either(kinds.BOUND, kinds.BOUNDS),
}
ESTIMATORS: list[Description] = [
    machine(SVC, check_classifier, CLASSIFIER),
    machine(SVR, check_regression, REGRESSION),
    machine(OneClassSVM, check_detector, {"model_": kinds.EXPANSION, **DETECTOR}),
    machine(SVDD, check_detector, {"model_": kinds.CENTER, **DETECTOR}),
    search(SVCCV, SVC, CLASSES),
    search(SVRCV, SVR, {}),
]
