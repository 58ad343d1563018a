"""Whether the fields of a model fit together: shapes, sums, bounds of indices, finite numbers.

The compiled core does not check its arrays, so a model from a file is checked before it is used, and a model in memory
before it is written.
"""

from __future__ import annotations

import numpy as np

from ..container import require
from ..datasets.csr_files import are_integers
from ..estimators import SVC
from ..models import ByClass, Vectors, scheme_of


def check_svc(model: SVC) -> None:
    """Raise ``ValueError`` unless the fitted attributes of an SVC describe one model."""
    model.check_parameters()
    kernel = model.model_.vectors.kernel
    require(model.kernel == kernel.name, f"its parameter kernel={model.kernel!r} is not the kernel of its fit")
    if kernel.name != "precomputed":
        kernel.spec()  # the core checks types and ranges
    _check_classes(model)
    kind = scheme_of(model.multiclass, len(model.classes_)).model_type
    require(isinstance(model.model_, kind), f"its parameter multiclass={model.multiclass!r} is not that of its fit")
    _check_coefficients(model.model_, len(model.classes_))
    _check_sizes(model)
    _check_vectors(model.model_.vectors, model.n_features_in_, model.shape_fit_[0])
    _check_certificate(model)


def _check_classes(model: SVC) -> None:
    n_classes = len(model.classes_)
    require(model.classes_.ndim == 1 and n_classes >= 2, "it has fewer than two classes")
    require(len(np.unique(model.classes_)) == n_classes, "its classes are not distinct")
    require(_is_finite(model.classes_), "its classes are not finite")
    require(model.class_weight_.shape == (n_classes,), f"class_weight_ does not have {n_classes} entries")
    require(_are_numbers(model.class_weight_), "class_weight_ has entries that are not finite numbers")


def _check_coefficients(model: ByClass, n_classes: int) -> None:
    present, counts, total = model.present, model.counts, len(model.vectors)
    ordered = all(map(_is_size, present)) and list(present) == sorted(set(present))
    require(ordered, "its present classes are not in order")
    require(len(present) >= 2 and present[-1] < n_classes, f"its present classes are not two or more of {n_classes}")
    require(are_integers(counts, (n_classes,)), f"n_support_ is not {n_classes} integers")
    require(counts.min() >= 0 and sum(map(int, counts)) == total, f"n_support_ does not add up to {total}")
    lines, n_functions = model.lines_and_functions(n_classes)
    shape = (lines, total)
    require(_are_numbers(model.coef, shape), f"dual_coef_ is not a table {shape} of finite numbers")
    require(_are_numbers(model.intercept, (n_functions,)), f"intercept_ is not {n_functions} finite numbers")
    require(model.coef.dtype == np.float64 == model.intercept.dtype, "its coefficients are not in float64")


def _check_sizes(model: SVC) -> None:
    require(len(model.shape_fit_) == 2 and all(map(_is_size, model.shape_fit_)), "shape_fit_ is not two sizes")
    n_features, names = model.n_features_in_, getattr(model, "feature_names_in_", None)
    require(_is_size(n_features) and n_features >= 1, "n_features_in_ is not a positive integer below 2**31")
    require(names is None or names.shape == (n_features,), f"feature_names_in_ does not have {n_features} entries")


def _check_vectors(vectors: Vectors, n_features: int, n_rows: int) -> None:
    rows, support, precomputed = vectors.rows, vectors.support, vectors.kernel.name == "precomputed"
    require(are_integers(support) and support.ndim == 1, "support_ is not a list of integers")
    inside = len(support) == 0 or (support.min() >= 0 and support.max() < n_rows)
    require(inside, f"support_ has rows beyond the {n_rows} of the fit")
    shape = (0, 0) if precomputed else (len(support), n_features)
    require(rows.shape == shape, f"its support vectors have shape {rows.shape}, not {shape}")
    require(rows.dtype in (np.float32, np.float64), f"its support vectors are of type {rows.dtype}")
    require(_is_finite(rows if isinstance(rows, np.ndarray) else rows.data), "its support vectors are not finite")
    require(not precomputed or n_features == n_rows, "its kernel matrix is not square")


def _check_certificate(model: SVC) -> None:
    require(are_integers(model.n_iter_) and model.n_iter_.ndim == 1, "n_iter_ is not a list of integers")
    for name in ("primal_value_", "dual_value_"):
        values = getattr(model, name, None)
        listed = isinstance(values, np.ndarray) and values.dtype == np.float64 and values.shape == model.n_iter_.shape
        require(listed, f"its certificate has {name}={values!r}, which is not a number for each pair of classes")
    for name in ("dual_gap_", "relative_gap_", "simplex_gap_"):
        gap = getattr(model, name, None)
        require(isinstance(gap, float) and gap == gap, f"its certificate has {name}={gap!r}, which is not a number")
    reason, status = getattr(model, "stop_reason_", None), getattr(model, "fit_status_", None)
    require(isinstance(reason, str), f"its certificate has stop_reason_={reason!r}, which is not text")
    require(type(status) is int and status in (0, 1), f"its certificate has fit_status_={status!r}, not 0 or 1")
    count = getattr(model, "n_evaluations_", None)
    counted = isinstance(count, int | np.integer) and not isinstance(count, bool) and 0 <= count < 2**63
    require(counted, f"its certificate has n_evaluations_={count!r}, which is not a count")


def _is_size(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**31


def _are_numbers(values: np.ndarray, shape: tuple[int, ...] | None = None) -> bool:
    return values.dtype.kind == "f" and shape in (None, values.shape) and _is_finite(values)


def _is_finite(values: np.ndarray) -> bool:
    return values.dtype.kind != "f" or bool(np.isfinite(values).all())
