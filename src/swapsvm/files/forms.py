"""Values in a file: what JSON has as it is, everything else as an object whose one key names its form.

    {"float": "inf"}    {"tuple": [...]}    {"table": [[key, value], ...]}    {"array": name}    {"Rbf": {"gamma": 0.5}}

The list of forms is closed, and a form is read by its own function: nothing in a file chooses what is called.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from ..container import Json, as_list, as_mapping, as_sizes, as_text, require
from ..datasets.csr_files import check_csr
from ..kernels import KERNELS, Sum
from ..models import AgainstRest, Center, Expansion, Outputs, Pairwise, Vectors
from ..state import Sampling

Arrays = dict[str, np.ndarray]  # of numbers or fixed-width text
CSR_ARRAYS = ("data", "indices", "indptr")


class UnwritableError(ValueError):
    """The value has no form in a file."""


class Form(Protocol):
    """How values of one type are written and read."""

    @property
    def kind(self) -> str:
        """The key of their objects."""

    @property
    def type(self) -> type:
        """Their type."""

    def write(self, value: Any, writer: Writer, path: str) -> Json:
        """The content of the object; ``path`` is the place of the value in the file."""

    def read(self, content: Json, reader: Reader) -> object:
        """The value of this content, or ``ValueError``."""


class Forms:
    """The forms that a file can have."""

    def __init__(self, forms: Iterable[Form]) -> None:
        listed = list(forms)
        self.by_kind = {form.kind: form for form in listed}
        self._by_type = {form.type: form for form in listed}

    def of(self, value: object, path: str) -> Form:
        """The form of the type, or of the nearest type that it is derived from."""
        for base in type(value).__mro__:
            if base in self._by_type:
                return self._by_type[base]
        raise UnwritableError(f"{path}={_shortened(value)} of type {type(value).__name__} cannot be saved")


class Writer:
    """Turns values into JSON, and collects their arrays."""

    def __init__(self, forms: Forms) -> None:
        self.arrays: Arrays = {}
        self._forms = forms

    def json(self, value: object, path: str) -> Json:
        """The value as JSON."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
            return value
        if isinstance(value, list):
            return self.items(value, path)
        form = self._forms.of(value, path)
        return {form.kind: form.write(value, self, path)}

    def items(self, values: Iterable[object], path: str) -> list[Json]:
        """Each of some values."""
        return [self.json(value, joined(path, str(k))) for k, value in enumerate(values)]

    def array(self, array: np.ndarray, path: str) -> str:
        """The name of an array that is stored."""
        self.arrays[path] = array
        return path


class Reader:
    """Turns JSON back into values, and takes their arrays."""

    def __init__(self, forms: Forms, arrays: Arrays) -> None:
        self._forms, self._arrays = forms, arrays

    def value(self, json: Json) -> Any:  # of any form; who asks checks what it is
        """The value of this JSON."""
        if isinstance(json, list):
            return [self.value(item) for item in json]
        if not isinstance(json, dict):
            return json
        require(len(json) == 1, f"a value of unknown form {_shortened(json)}")
        [(kind, content)] = json.items()
        require(kind in self._forms.by_kind, f"a value of unknown form {kind[:40]!r}")
        return self._forms.by_kind[kind].read(content, self)

    def array(self, name: Json) -> np.ndarray:
        """A stored array, which only one value can take."""
        require(as_text(name) in self._arrays, f"it has no array {name!r} (any more)")
        return self._arrays.pop(as_text(name))

    def end(self) -> None:
        """``ValueError`` if an array is left over."""
        for name in self._arrays:
            raise ValueError(f"it has an array {name[:40]!r} that belongs to nothing")


def joined(path: str, name: str) -> str:
    """The path of a part of a value."""
    return f"{path}.{name}" if path else name


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True)
class Plain:
    """A type whose values are turned into simpler ones by one function, and back by another."""

    kind: str
    type: type
    write: Callable[[Any, Writer, str], Json]
    read: Callable[[Any, Reader], object]


@dataclass(frozen=True)
class Record:
    """A frozen dataclass: its fields. Its constructor, or who asks for it, checks them."""

    type: type

    @property
    def kind(self) -> str:
        return self.type.__name__

    def write(self, value: Any, writer: Writer, path: str) -> Json:
        names = [field.name for field in fields(self.type)]
        return {name: writer.json(getattr(value, name), joined(path, name)) for name in names}

    def read(self, content: Json, reader: Reader) -> object:
        given = as_mapping(content)
        known = {field.name for field in fields(self.type)}
        for name in given:
            require(name in known, f"a {self.kind} has no {name[:40]!r}")
        return self.type(**{name: reader.value(value) for name, value in given.items()})


# ---- plain values -------------------------------------------------------------------------------------------------


def _special(content: Json) -> float:
    require(content in ("inf", "-inf", "nan"), f"a number of unknown form {_shortened(content)}")
    return float(str(content))


def _read_slice(content: Json, reader: Reader) -> slice:
    ends = as_list(content)
    right = len(ends) == 3 and all(end is None or type(end) in (int, str) for end in ends)
    require(right, f"a slice of unknown form {_shortened(content)}")
    return slice(*ends)


def _write_table(table: Mapping[object, object], writer: Writer, path: str) -> Json:
    return [
        [writer.json(key, path), writer.json(value, joined(path, _step(key, k)))]
        for k, (key, value) in enumerate(table.items())
    ]


def _step(key: object, place: int) -> str:
    """The part of a path: a name if the key is one, else its place."""
    return key if isinstance(key, str) and key.isidentifier() else str(place)


def _read_table(content: Json, reader: Reader) -> dict[object, object]:
    return {reader.value(key): reader.value(value) for key, value in map(as_list, as_list(content))}


# ---- arrays -------------------------------------------------------------------------------------------------------


def _write_array(values: np.ndarray, writer: Writer, path: str) -> Json:
    kind = values.dtype.kind
    if not (kind == "U" or (kind in "biuf" and values.dtype.itemsize <= 8)) or values.ndim not in (1, 2):
        raise ValueError(f"{path} of type {values.dtype} cannot be saved: only numbers, booleans and text can")
    return writer.array(values, path)


def _write_objects(values: np.ndarray, writer: Writer, path: str) -> Json:
    """An array of objects: all text, or each value by itself."""
    require(values.ndim == 1, f"{path} cannot be saved: it is an array of objects of shape {values.shape}")
    if not len(values) or not all(isinstance(value, str) for value in values):
        return writer.items(values, path)
    texts = values.astype(str)
    if not (texts == values).all():
        raise ValueError(f"{path} has text that ends in a null character, which cannot be saved")
    return writer.array(texts, path)


def _read_objects(content: Json, reader: Reader) -> np.ndarray:
    if isinstance(content, str):
        return reader.array(content).astype(object)
    values = [reader.value(value) for value in as_list(content)]
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


class ArrayForm:
    """Arrays: of objects in one form, of numbers and text in the other."""

    kind, type = "array", np.ndarray

    def write(self, values: np.ndarray, writer: Writer, path: str) -> Json:
        if values.dtype == object:
            return {"objects": _write_objects(values, writer, path)}
        return _write_array(values, writer, path)

    def read(self, content: Json, reader: Reader) -> np.ndarray:
        if isinstance(content, dict):
            [(kind, values)] = content.items()
            require(kind == "objects", f"an array of unknown form {kind[:40]!r}")
            return _read_objects(values, reader)
        return reader.array(content)


def _write_masked(values: np.ma.MaskedArray, writer: Writer, path: str) -> Json:
    require(not np.ma.getmaskarray(values).any(), f"{path} cannot be saved: some of its values are masked")
    return writer.json(np.asarray(values.data), path)


def _read_masked(content: Json, reader: Reader) -> np.ma.MaskedArray:
    values = reader.value(content)
    require(isinstance(values, np.ndarray), "its masked values are not an array")
    return np.ma.MaskedArray(values, mask=False)


def _write_csr(rows: sp.csr_matrix, writer: Writer, path: str) -> Json:
    shape: list[Json] = [int(size) for size in rows.shape]
    return {"shape": shape, **{name: writer.array(getattr(rows, name), joined(path, name)) for name in CSR_ARRAYS}}


def _csr_reader(cls: type) -> Callable[[Json, Reader], object]:
    def read(content: Json, reader: Reader) -> object:
        parts = as_mapping(content)
        shape = as_sizes(parts["shape"])
        data, indices, indptr = (reader.array(parts[name]) for name in CSR_ARRAYS)
        check_csr(data, indices, indptr, shape)
        return cls((data, indices, indptr), shape=shape)

    return read


def _write_type(value: type | np.dtype, writer: Writer, path: str) -> Json:
    """Such as np.float64: the type of the output of an encoder."""
    try:
        name = np.dtype(value).name
    except TypeError:
        name = ""
    if name not in TYPES:
        raise UnwritableError(f"{path}={value!r} cannot be saved: it is not one of {list(TYPES)}")
    return name


def _read_type(content: Json, reader: Reader) -> object:
    require(isinstance(content, str) and content in TYPES, f"a number of unknown type {_shortened(content)}")
    return np.dtype(str(content)).type


TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
VALUES: list[Form] = [
    Plain("type", type, _write_type, _read_type),
    Plain("dtype", np.dtype, _write_type, _read_type),
    Plain("float", float, lambda value, writer, path: repr(value), lambda content, reader: _special(content)),
    Plain(
        "tuple",
        tuple,
        lambda value, writer, path: writer.items(value, path),
        lambda content, reader: tuple(reader.value(item) for item in as_list(content)),
    ),
    Plain(
        "slice",
        slice,
        lambda value, writer, path: writer.items((value.start, value.stop, value.step), path),
        _read_slice,
    ),
    Plain("table", dict, _write_table, _read_table),
    ArrayForm(),
    Plain("masked", np.ma.MaskedArray, _write_masked, _read_masked),
    *(Plain(cls.__name__, cls, _write_csr, _csr_reader(cls)) for cls in (sp.csr_matrix, sp.csr_array)),
]
RECORDS: list[Form] = [
    Record(cls)
    for cls in (*KERNELS.values(), Sum, Sampling, Vectors, Expansion, Outputs, Center, Pairwise, AgainstRest)
]
