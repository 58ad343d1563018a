"""How estimators declare themselves: parameters with their documentation, and attributes of the fitted model.

A class decorated with ``estimator`` is a dataclass whose fields are its parameters. Its constructor takes them by
keyword, its own before those of its bases, after those that can also be given by position. ``{parameters}`` in its
docstring becomes the documentation of all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from textwrap import indent
from typing import Any, Generic, Self, TypeVar, dataclass_transform, overload

Default = TypeVar("Default")
Class = TypeVar("Class")
Value = TypeVar("Value")


def parameter(*, default: Default, kind: str, text: str, kw_only: bool = True) -> Default:
    """A parameter with its default, its type in words, and what it means."""
    value: Default = field(default=default, kw_only=kw_only, metadata={"kind": kind, "text": text})
    return value


def same_parameter(owner: Any, name: str, *, default: Default) -> Default:
    """A parameter that means what it means in another estimator."""
    return parameter(default=default, **owner.__dataclass_fields__[name].metadata)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter, same_parameter))
def estimator(cls: type[Class]) -> type[Class]:
    """Make the parameters of a class its constructor and its documentation."""
    own = inspect.get_annotations(cls)
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(cls)  # its fields are known at run time only
    ordered = sorted(fields(made), key=lambda found: (bool(found.kw_only), found.name not in own))
    signature = inspect.signature(made.__init__)
    names = ["self", *(found.name for found in ordered)]
    made.__init__.__signature__ = signature.replace(parameters=[signature.parameters[name] for name in names])
    if made.__doc__ is not None:  # None under python -OO
        documented = [_documented(found.name, found.default, **found.metadata) for found in ordered]
        made.__doc__ = inspect.cleandoc(made.__doc__).replace("{parameters}", "\n".join(documented))
    return cls


def _documented(name: str, default: object, kind: str, text: str) -> str:
    shown = f'"{default}"' if isinstance(default, str) else default
    return f"{name} : {kind}, default={shown}\n{indent(inspect.cleandoc(text), '    ')}"


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
