"""How estimators declare themselves: parameters with their documentation, and attributes of the fitted model.

A class decorated with ``estimator`` is a dataclass whose fields are its parameters. Its constructor takes them by
keyword, its own before those of its bases, after those that can also be given by position. ``{parameters}`` in its
docstring becomes the documentation of all of them. What a parameter is allowed to be is declared with it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import Field, dataclass, field, fields
from functools import wraps
from textwrap import indent
from typing import Any, Generic, Self, TypeVar, dataclass_transform, overload

from sklearn.utils._param_validation import validate_parameter_constraints

from .constraints import Constraints

Default = TypeVar("Default")
Class = TypeVar("Class")
Value = TypeVar("Value")


def parameter(*, default: Default, kind: str, text: str, allowed: Constraints, kw_only: bool = True) -> Default:
    """A parameter with its default, its type in words, what it means, and the constraints of which it meets one."""
    about = {"kind": kind, "text": text, "allowed": allowed}
    value: Default = field(default=default, kw_only=kw_only, metadata=about)
    return value


def same_parameter(owner: Any, name: str, *, default: Default) -> Default:
    """A parameter that means what it means in another estimator."""
    return parameter(default=default, **owner.__dataclass_fields__[name].metadata)


def constraints_of(owner: Any, name: str) -> Constraints:
    """What a parameter of an estimator is allowed to be."""
    allowed: Constraints = owner.__dataclass_fields__[name].metadata["allowed"]
    return allowed


def check_declared(estimator: Any) -> None:
    """``InvalidParameterError`` if a parameter is not what it is declared to be.

    Defaults are, and are recognized without a look at constraints: most parameters of most fits are defaults.
    """
    for declared in fields(estimator):
        value = getattr(estimator, declared.name)
        if value is not declared.default:
            check_value(estimator, declared.name, value, declared.metadata["allowed"])


def check_value(estimator: object, name: str, value: object, allowed: Constraints) -> None:
    """``InvalidParameterError`` that names a parameter of an estimator if its value meets none of the constraints."""
    validate_parameter_constraints({name: allowed}, {name: value}, type(estimator).__name__)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter, same_parameter))
def estimator(cls: type[Class]) -> type[Class]:
    """Make the parameters of a class its constructor and its documentation."""
    own = inspect.get_annotations(cls)
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(cls)  # its fields are known at run time only
    ordered = sorted(fields(made), key=lambda found: (bool(found.kw_only), found.name not in own))
    signature = inspect.signature(made.__init__)
    names = ["self", *(found.name for found in ordered)]
    made.__init__ = _explaining(made.__init__, cls)
    made.__init__.__signature__ = signature.replace(parameters=[signature.parameters[name] for name in names])
    made._parameter_constraints = {found.name: found.metadata["allowed"] for found in ordered}
    if made.__doc__ is not None:  # None under python -OO
        documented = [_documented(found) for found in ordered]
        made.__doc__ = inspect.cleandoc(made.__doc__).replace("{parameters}", "\n".join(documented))
    return cls


def _explaining(init: Callable[..., None], cls: Any) -> Callable[..., None]:
    """The constructor, with a message of its own for names in ``INSTEAD`` of the class."""

    @wraps(init)
    def explaining(self: object, *values: object, **parameters: object) -> None:
        try:
            init(self, *values, **parameters)
        except TypeError as error:
            explain(cls, parameters, error)
            raise

    return explaining


def explain(cls: Any, names: Iterable[str], error: Exception) -> None:
    """Raise an error of the same type that says what to do instead, if one of the names is in ``INSTEAD``."""
    for name in names:
        if name in getattr(cls, "INSTEAD", ()):
            raise type(error)(f"{cls.__name__} has no parameter {name!r}: {cls.INSTEAD[name]}") from None


def _documented(declared: Field[Any]) -> str:
    default, about = declared.default, declared.metadata
    shown = f'"{default}"' if isinstance(default, str) else default
    return f"{declared.name} : {about['kind']}, default={shown}\n{indent(inspect.cleandoc(about['text']), '    ')}"


class ModelAttribute(Generic[Value]):
    """A read-only attribute that is read from ``model_``, and missing before the fit."""

    def __init__(self, read: Callable[[Any], Value]) -> None:  # of an Expansion or a ByClass
        self._read = read

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object, owner: type) -> Value | Self:
        if instance is None:
            return self
        model = vars(instance).get("model_")
        if model is None:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r} before it is fitted")
        return self._read(model)

    def __set__(self, instance: object, value: object) -> None:
        raise AttributeError(f"{self._name} is read from model_ and cannot be set")
