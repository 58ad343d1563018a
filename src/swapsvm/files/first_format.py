"""Files of format 1, which held an SVC, in the header of the present format."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..container import Json, as_list, as_mapping, as_text, require
from ..kernels import KERNELS
from .forms import CSR_ARRAYS, Arrays

PLAIN = ("class_weight_", "n_iter_")
VALUES = ("primal_value_", "dual_value_")  # the first files have neither these nor simplex_gap_
TEXTS = ("classes_", "feature_names_in_")  # which can be arrays of objects; names are optional
MODELS = {"ovo": "Pairwise", "ovr": "AgainstRest"}


def upgraded(header: dict[str, Json], arrays: Arrays) -> dict[str, Json]:
    """The header as this version would have written it. Arrays keep their names."""
    require(header.get("estimator") == "SVC", f"it holds {header.get('estimator')!r}, which is not an SVC")
    parameters = as_mapping(header["parameters"])
    objects = as_list(header["objects"])
    for name in VALUES:
        arrays.setdefault(name, np.full(arrays["n_iter_"].shape, np.nan))
    certificate = as_mapping(header["certificate"])
    attributes: dict[str, Json] = {
        "model_": _model(header, parameters, arrays),
        "n_features_in_": header["n_features_in_"],
        "shape_fit_": {"tuple": header["shape_fit_"]},
        **_stored(name for name in (*PLAIN, *VALUES)),
        **{name: _text(name, name in objects) for name in TEXTS if name == "classes_" or name in arrays},
        "simplex_gap_": certificate.get("relative_gap_"),  # the one that the first files stopped at
        **certificate,
    }
    content: Json = {"parameters": {k: _parameter(v) for k, v in parameters.items()}, "attributes": attributes}
    return {"versions": header["versions"], "model": {"SVC": content}}


def _parameter(value: Json) -> Json:
    return {"Sampling": value["sampling"]} if isinstance(value, dict) and "sampling" in value else value


def _model(header: dict[str, Json], parameters: dict[str, Json], arrays: Arrays) -> Json:
    kernel = as_mapping(header["kernel"])
    name, multiclass = as_text(kernel["name"]), parameters["multiclass"]
    require(name in KERNELS, f"its kernel {name!r} is unknown")
    require(isinstance(multiclass, str) and multiclass in MODELS, f"its multiclass={multiclass!r} is unknown")
    of_kernel: Json = {KERNELS[name].__name__: kernel["parameters"]}
    vectors: Json = {"kernel": of_kernel, "support": {"array": "support_"}, "rows": _rows(header)}
    parts = {"counts": "n_support_", "coef": "dual_coef_", "intercept": "intercept_"}
    fields: dict[str, Json] = {name: {"array": stored} for name, stored in parts.items()}
    fields |= {"vectors": {"Vectors": vectors}, "present": {"tuple": header["present"]}}
    two = len(arrays["classes_"]) == 2  # classes are a pair in any case
    return {"Pairwise" if two else MODELS[as_text(multiclass)]: fields}


def _rows(header: dict[str, Json]) -> Json:
    storage = header["storage"]
    if storage == "dense":
        return {"array": "vectors"}
    require(storage in ("csr_matrix", "csr_array"), f"its support vectors are stored as {storage!r}, which is unknown")
    names: dict[str, Json] = {name: name for name in CSR_ARRAYS}
    return {as_text(storage): {"shape": header["vectors_shape"], **names}}


def _stored(names: Iterable[str]) -> dict[str, Json]:
    return {name: {"array": name} for name in names}


def _text(name: str, as_objects: bool) -> Json:
    return {"array": {"objects": name}} if as_objects else {"array": name}
