"""A fitted SVC as named arrays and plain values, and back.

What predicts is kept to the last bit; of the certificate, the numbers. ``trace_``, ``results_`` and ``cache_counts_``
describe the run rather than the model, are as long as the training data, and stay behind.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import __version__
from ..container import require
from ..estimators import SVC
from ..kernels import KERNELS, Function
from ..models import Pairwise, Vectors
from .checks import check_csr, check_model
from .json_values import UnwritableError, decoded, encoded

ARRAYS = ("classes_", "class_weight_", "support_", "n_support_", "dual_coef_", "intercept_", "n_iter_")
CERTIFICATE = ("dual_gap_", "relative_gap_", "stop_reason_", "fit_status_", "n_evaluations_")
LOCAL = ("checkpoint",)  # parameters that mean something on this machine only
CSR = {"csr_matrix": sp.csr_matrix, "csr_array": sp.csr_array}


@dataclass(frozen=True)
class Parts:
    """``header`` has only what JSON has; ``arrays`` are numbers or text of fixed width."""

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


def check_savable(model: Any) -> None:
    """``ValueError`` unless this is a fitted SVC whose kernel has a name."""
    if not isinstance(model, SVC):
        raise ValueError(f"only an SVC can be saved, not {type(model).__name__}; of a search, save its best_estimator_")
    if not hasattr(model, "model_"):
        raise ValueError("this SVC is not fitted: call fit before saving it")
    if callable(model.kernel) or isinstance(model.model_.vectors.kernel, Function):
        raise ValueError("a kernel that is a Python function cannot be saved, only those with a name: pickle the model")
    check_model(model)


def taken_apart(model: Any) -> Parts:
    """The parts of a fitted SVC."""
    check_savable(model)
    arrays = {name: _plain(name, getattr(model, name)) for name in ARRAYS}
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names_in_"] = _plain("feature_names_in_", model.feature_names_in_)
    storage, vectors = _vectors_apart(model.support_vectors_)
    return Parts(_header(model, storage), {**arrays, **vectors})


def put_together(parts: Parts) -> SVC:
    """The SVC of these parts; ``ValueError`` if they do not fit together."""
    header, arrays = parts.header, dict(parts.arrays)
    model = SVC(**_parameters(header["parameters"]))
    kernel = header["kernel"]
    require(kernel["name"] in KERNELS, f"its kernel {kernel['name']!r} is unknown")
    model.n_features_in_ = header["n_features_in_"]
    model.shape_fit_ = tuple(header["shape_fit_"])
    for name, value in header["certificate"].items():
        require(name in CERTIFICATE, f"its certificate has an unknown entry {name!r}")
        setattr(model, name, decoded(value))
    for name in CERTIFICATE:
        require(name in header["certificate"], f"its certificate lacks {name!r}")
    rows = _vectors_together(header, arrays)
    for name in arrays:
        require(name in ARRAYS or name == "feature_names_in_", f"it has an unknown array {name!r}")
    fitted = KERNELS[kernel["name"]](**kernel["parameters"])
    model.model_ = Pairwise(
        Vectors(fitted, arrays.pop("support_"), rows),
        arrays.pop("n_support_"),
        arrays.pop("dual_coef_"),
        arrays.pop("intercept_"),
        tuple(header["present"]),
    )
    for name, values in arrays.items():
        setattr(model, name, values.astype(object) if name in header["objects"] else values)
    check_model(model)
    return model


def _header(model: SVC, storage: str) -> dict[str, Any]:
    kernel = model.model_.vectors.kernel
    texts = ["classes_", *(["feature_names_in_"] if hasattr(model, "feature_names_in_") else [])]
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


def _parameter(name: str, value: Any) -> Any:
    """A parameter's value; for an object of the running program (a generator, a callback) or a path the default."""
    default = SVC().get_params(deep=False)[name]
    try:
        return encoded(default if name in LOCAL else value)
    except UnwritableError:
        return encoded(default)


def _parameters(header: dict[str, Any]) -> dict[str, Any]:
    known = SVC().get_params(deep=False)
    for name in header:
        require(name in known, f"its parameter {name!r} is unknown to swapsvm {__version__}")
    return {name: decoded(value) for name, value in header.items()}


def _plain(name: str, values: Any) -> np.ndarray:
    """Numbers as they are, text in an array of fixed width; nothing else."""
    array = np.asarray(values)
    if array.dtype == object and all(isinstance(value, str) for value in array):
        array = array.astype(str)
    if array.dtype.kind not in "biufU" or (array.dtype.itemsize > 8 and array.dtype.kind != "U"):
        raise ValueError(f"{name} of type {array.dtype} cannot be saved: only numbers, booleans and text can")
    if not np.array_equal(array, np.asarray(values)):
        raise ValueError(f"{name} has text that ends in a null character, which cannot be saved")
    return array


def _vectors_apart(vectors: Any) -> tuple[str, dict[str, np.ndarray]]:
    if not sp.issparse(vectors):
        return "dense", {"vectors": vectors}
    storage = "csr_array" if isinstance(vectors, sp.sparray) else "csr_matrix"
    return storage, {"data": vectors.data, "indices": vectors.indices, "indptr": vectors.indptr}


def _vectors_together(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    shape, storage = tuple(header["vectors_shape"]), header["storage"]
    if storage == "dense":
        vectors = arrays.pop("vectors")
        require(vectors.shape == shape, f"its support vectors have shape {vectors.shape}, not {shape}")
        return vectors
    require(storage in CSR, f"its support vectors are stored as {storage!r}, which is unknown")
    data, indices, indptr = (arrays.pop(name) for name in ("data", "indices", "indptr"))
    check_csr(data, indices, indptr, shape)
    return CSR[storage]((data, indices, indptr), shape=shape)
