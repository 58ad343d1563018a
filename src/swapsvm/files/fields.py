"""The fields of a fitted SVC in a file: JSON values in the header, and named arrays.

Everything that predicts is kept bit for bit, and the numbers of the certificate are kept. ``trace_``, ``results_`` and
``cache_counts_`` describe the run, are as long as the training data, and are not saved.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from dataclasses import asdict

import numpy as np
import scipy.sparse as sp

from .. import __version__
from ..arrays import Matrix
from ..container import Json, as_list, as_mapping, as_sizes, as_text, require
from ..datasets.csr_files import check_csr
from ..estimators import SVC
from ..kernels import KERNELS, Function, Kernel
from ..models import SCHEMES, Vectors, scheme_of
from ..state import Sampling
from .checks import check_svc

MODEL_ARRAYS = ("support_", "n_support_", "dual_coef_", "intercept_")
VALUES = ("primal_value_", "dual_value_")  # files of earlier versions have neither these nor simplex_gap_
ARRAYS = ("classes_", "class_weight_", *MODEL_ARRAYS, "n_iter_", *VALUES)
NAMES = "feature_names_in_"  # only if the training data had names
CERTIFICATE = ("dual_gap_", "relative_gap_", "simplex_gap_", "stop_reason_", "fit_status_", "n_evaluations_")
LOCAL = ("checkpoint",)  # parameters that only have a meaning on this machine
CSR = {"csr_matrix": sp.csr_matrix, "csr_array": sp.csr_array}
CSR_ARRAYS = ("data", "indices", "indptr")
Header = dict[str, Json]
Arrays = dict[str, np.ndarray]  # of numbers or fixed-width text


class UnwritableError(TypeError):
    """The value is not a number, text, or a list or mapping of these."""


def check_savable(model: SVC) -> None:
    """Raise ``ValueError`` unless this is a fitted SVC whose kernel has a name."""
    kind = type(model).__name__
    require(isinstance(model, SVC), f"only an SVC can be saved, not {kind}; of a search, save its best_estimator_")
    require(hasattr(model, "model_"), "this SVC is not fitted: call fit before saving it")
    if callable(model.kernel) or isinstance(model.model_.vectors.kernel, Function):
        raise ValueError("a kernel that is a Python function cannot be saved: use one with a name, or pickle the model")
    check_svc(model)


def fields_of(model: SVC) -> tuple[Header, Arrays]:
    """The fields of a fitted SVC."""
    check_savable(model)
    names = [name for name in (*ARRAYS, NAMES) if hasattr(model, name)]
    arrays = {name: _plain(name, getattr(model, name)) for name in names}
    rows = model.model_.vectors.rows
    if isinstance(rows, np.ndarray):
        return _header(model, "dense"), {**arrays, "vectors": rows}
    storage = "csr_array" if isinstance(rows, sp.sparray) else "csr_matrix"
    return _header(model, storage), {**arrays, **{name: getattr(rows, name) for name in CSR_ARRAYS}}


def _header(model: SVC, storage: str) -> Header:
    kernel = model.model_.vectors.kernel
    texts = [name for name in ("classes_", NAMES) if hasattr(model, name)]
    return {
        "estimator": "SVC",
        "versions": {"swapsvm": __version__, "numpy": np.__version__, "python": platform.python_version()},
        "parameters": {name: _parameter(name, value) for name, value in model.get_params(deep=False).items()},
        "kernel": {
            "name": kernel.name,
            "parameters": {name: encoded(getattr(kernel, name)) for name in kernel.parameter_names()},
        },
        "n_features_in_": int(model.n_features_in_),
        "shape_fit_": [int(size) for size in model.shape_fit_],
        "present": [int(c) for c in model.model_.present],
        "certificate": {name: encoded(getattr(model, name)) for name in CERTIFICATE},
        "storage": storage,
        "vectors_shape": [int(size) for size in model.support_vectors_.shape],
        "objects": [name for name in texts if getattr(model, name).dtype == object],
    }


def _parameter(name: str, value: object) -> Json:
    """The value of a parameter; the default for paths and for objects such as generators and callbacks."""
    default = SVC().get_params(deep=False)[name]
    try:
        return encoded(default if name in LOCAL else value)
    except UnwritableError:
        return encoded(default)


def _plain(name: str, values: np.ndarray) -> np.ndarray:
    """Numbers as they are, text in an array of fixed width; nothing else."""
    array = np.asarray(values)
    if array.dtype == object and all(isinstance(value, str) for value in array):
        array = array.astype(str)
    if array.dtype.kind not in "biufU" or (array.dtype.itemsize > 8 and array.dtype.kind != "U"):
        raise ValueError(f"{name} of type {array.dtype} cannot be saved: only numbers, booleans and text can")
    if not np.array_equal(array, np.asarray(values)):
        raise ValueError(f"{name} has text that ends in a null character, which cannot be saved")
    return array


def svc_of(header: Header, arrays: Arrays) -> SVC:
    """The SVC of these fields, which are taken out of ``arrays``; ``ValueError`` if they do not fit together."""
    parameters, certificate = _parameters(as_mapping(header["parameters"])), as_mapping(header["certificate"])
    rows = _rows(header, arrays)
    for name in arrays:
        require(name in (*ARRAYS, NAMES), f"it has an unknown array {name!r}")
    vectors = Vectors(_kernel(as_mapping(header["kernel"])), arrays.pop("support_"), rows)
    counts, coef, intercept = (arrays.pop(name) for name in MODEL_ARRAYS[1:])
    objects = as_list(header["objects"])
    for name in VALUES:
        arrays.setdefault(name, np.full(arrays["n_iter_"].shape, np.nan))
    model = SVC().set_params(**parameters)
    require(model.multiclass in SCHEMES, f"its multiclass={model.multiclass!r} is unknown")
    kind = scheme_of(model.multiclass, len(arrays["classes_"])).model_type
    model.set_fitted(
        model_=kind(vectors, counts, coef, intercept, as_sizes(header["present"])),
        n_features_in_=header["n_features_in_"],
        shape_fit_=as_sizes(header["shape_fit_"]),
        **_certificate(certificate),
        **{name: values.astype(object) if name in objects else values for name, values in arrays.items()},
    )
    check_svc(model)
    return model


def _parameters(header: Header) -> dict[str, object]:
    known = SVC().get_params(deep=False)
    for name in header:
        require(name in known, f"its parameter {name!r} is unknown to swapsvm {__version__}")
    return {name: decoded(value) for name, value in header.items()}


def _certificate(header: Header) -> dict[str, object]:
    for name in header:
        require(name in CERTIFICATE, f"its certificate has an unknown entry {name!r}")
    header = {"simplex_gap_": header.get("relative_gap_"), **header}  # the one that earlier versions stopped at
    for name in CERTIFICATE:
        require(name in header, f"its certificate lacks {name!r}")
    return {name: decoded(header[name]) for name in CERTIFICATE}


def _kernel(header: Header) -> Kernel:
    name, parameters = as_text(header["name"]), as_mapping(header["parameters"])
    require(name in KERNELS, f"its kernel {name!r} is unknown")
    return KERNELS[name](**parameters)


def _rows(header: Header, arrays: Arrays) -> Matrix:
    """Take the support vectors out of the arrays."""
    shape, storage = as_sizes(header["vectors_shape"]), header["storage"]
    if storage == "dense":
        vectors = arrays.pop("vectors")
        require(vectors.shape == shape, f"its support vectors have shape {vectors.shape}, not {shape}")
        return vectors
    require(storage in CSR, f"its support vectors are stored as {storage!r}, which is unknown")
    data, indices, indptr = (arrays.pop(name) for name in CSR_ARRAYS)
    check_csr(data, indices, indptr, shape)
    return CSR[as_text(storage)]((data, indices, indptr), shape=shape)


def encoded(value: object) -> Json:
    """Plain values as they are; what JSON lacks as an object whose one key names the kind."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [encoded(item) for item in value]
    if isinstance(value, Mapping):
        return {"table": [[encoded(key), encoded(item)] for key, item in value.items()]}
    if isinstance(value, Sampling):
        return {"sampling": asdict(value)}
    raise UnwritableError(f"{value!r} has no form in a file")


def decoded(value: Json) -> object:
    """The value that ``encoded`` was given (tuples come back as lists)."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    [(kind, content)] = value.items()
    if kind == "float" and content in ("inf", "-inf", "nan"):
        return float(str(content))
    if kind == "table":
        return {decoded(key): decoded(item) for key, item in map(as_list, as_list(content))}
    if kind == "sampling":
        return Sampling(**as_mapping(content))  # type: ignore[arg-type]  # its constructor checks the fields
    raise ValueError(f"a value of unknown kind {kind!r}")
