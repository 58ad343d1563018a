"""The models that a file can hold, and the forms of all that they consist of."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from ..container import require
from .descriptions import ESTIMATORS, Description
from .forms import RECORDS, VALUES, Forms
from .steps import PIPELINE, STEPS, final_model

MODELS: dict[type, Description] = {description.type: description for description in (*ESTIMATORS, PIPELINE)}
FORMS = Forms([*VALUES, *RECORDS, *ESTIMATORS, *STEPS])


def check_savable(model: BaseEstimator) -> None:
    """Raise ``ValueError`` unless this is a fitted model that a file can hold."""
    description_of(model).verify(model)
    description_of(final_model(model))


def description_of(model: object) -> Description:
    """The description of the type of a model, or of the type that it is derived from."""
    found = [MODELS[base] for base in type(model).__mro__ if base in MODELS]
    names = ", ".join(cls.__name__ for cls in MODELS)
    require(found, f"an object of type {type(model).__name__} cannot be saved as a model, only one of {names}")
    return found[0]
