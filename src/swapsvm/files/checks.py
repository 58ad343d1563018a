"""Whether the fields of a model fit together: shapes, sums, bounds of indices, finite numbers.

The compiled core does not check its arrays, so a model from a file is checked before it is used, and a model in memory
before it is written.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from ..container import require
from ..datasets.csr_files import are_integers
from ..estimators import SVC, SVR
from ..estimators.base import KernelMachine
from ..estimators.detector import Detector
from ..models import ByClass, Outputs, Vectors, scheme_of
from ..selection.search import Search
from .kernel_checks import check_fitted_kernel, check_parameter, is_function
from .kinds import are_numbers, is_finite, is_size


def check_classifier(model: SVC) -> None:
    """Raise ``ValueError`` unless the fitted attributes of an SVC describe one model."""
    check_machine(model, model.shape_fit_[0])
    n_classes, found = len(model.classes_), model.model_
    require(n_classes >= 2, "it has fewer than two classes")
    require(len(model.class_weight_) == n_classes, f"class_weight_ does not have {n_classes} entries")
    kind = scheme_of(model.multiclass, n_classes).model_type
    require(isinstance(found, kind), f"its parameter multiclass={model.multiclass!r} is not that of its fit")
    _check_coefficients(found, n_classes)
    for name in ("primal_value_", "dual_value_"):
        same = getattr(model, name).shape == model.n_iter_.shape
        require(same, f"its {name} does not have a number for each entry of n_iter_")


def check_regression(model: SVR) -> None:
    """The same for an SVR of one or of several outputs."""
    check_machine(model, model.shape_fit_[0])
    found = model.model_
    outputs = (len(found.intercept),) if isinstance(found, Outputs) else ()
    require(outputs != (0,), "it has no output")
    for name in ("epsilon_", "n_iter_", "primal_value_", "dual_value_"):
        shape = np.shape(getattr(model, name))
        require(shape == outputs, f"its {name} has the shape {shape}, its outputs {outputs}")


def check_detector(model: Detector) -> None:
    """The same for a detector of outliers."""
    check_machine(model, None)
    require(model.C_ > 0, f"its C_={model.C_!r} is not positive")
    require(model.model_.intercept == -model.offset_, f"its offset_={model.offset_!r} is not that of its model")
    needed = model.kernel == "precomputed"
    length = getattr(model.model_, "length", 1.0 if needed else None)
    require((length is not None) == needed, f"its k(x, x)={length!r} does not belong to kernel={model.kernel!r}")


def check_machine(model: KernelMachine, n_rows: int | None) -> None:
    """Parameters, kernel and support vectors; ``n_rows`` is the number of training rows, if it is known."""
    check_parameter(model.kernel)
    model.check_parameters()
    check_names(model)
    check_fitted_kernel(model)
    _check_vectors(model.model_.vectors, model.n_features_in_, n_rows)


def check_names(model: BaseEstimator) -> None:
    """The names of the features, if there are any."""
    names, n_features = getattr(model, "feature_names_in_", None), model.n_features_in_
    require(names is None or len(names) == n_features, f"feature_names_in_ does not have {n_features} entries")


def _check_vectors(vectors: Vectors, n_features: int, n_rows: int | None) -> None:
    rows, support, precomputed = vectors.rows, vectors.support, vectors.kernel.name == "precomputed"
    if precomputed:
        require(n_rows in (None, n_features), "its kernel matrix is not square")
        n_rows = n_features
    inside = len(support) == 0 or (support.min() >= 0 and support.max() < (2**31 if n_rows is None else n_rows))
    require(inside, f"support_ has rows beyond the {n_rows} of the fit")
    shape = (0, 0) if precomputed else (len(support), n_features)
    require(rows.shape == shape, f"its support vectors have shape {rows.shape}, not {shape}")
    require(is_finite(rows if isinstance(rows, np.ndarray) else rows.data), "its support vectors are not finite")


def _check_coefficients(model: ByClass, n_classes: int) -> None:
    present, counts, total = model.present, model.counts, len(model.vectors)
    ordered = isinstance(present, tuple) and all(map(is_size, present)) and list(present) == sorted(set(present))
    require(ordered, "its present classes are not in order")
    require(len(present) >= 2 and present[-1] < n_classes, f"its present classes are not two or more of {n_classes}")
    counted = isinstance(counts, np.ndarray) and are_integers(counts, (n_classes,))
    require(counted, f"n_support_ is not {n_classes} integers")
    require(counts.min() >= 0 and sum(map(int, counts)) == total, f"n_support_ does not add up to {total}")
    lines, n_functions = model.lines_and_functions(n_classes)
    shape = (lines, total)
    full = are_numbers(model.coef, 2) and model.coef.shape == shape
    require(full, f"dual_coef_ is not a table {shape} of finite numbers in float64")
    constants = are_numbers(model.intercept) and len(model.intercept) == n_functions
    require(constants, f"intercept_ is not {n_functions} finite numbers in float64")


def check_search(search: Search[SVC] | Search[SVR]) -> None:
    """Raise ``ValueError`` unless a search describes its grid, its scores and its choice."""
    if is_function(search.kernel) or callable(search.scoring):
        raise ValueError("a search with a Python function cannot be saved: save its best_estimator_, or pickle it")
    check_parameter(search.kernel)
    search.check_parameters()
    candidates = _candidates(search)
    require(0 <= search.best_index_ < len(candidates), f"best_index_ is not one of {len(candidates)} candidates")
    require(candidates[search.best_index_] == search.best_params_, "best_params_ is not the candidate of best_index_")
    score = search.cv_results_["mean_test_score"][search.best_index_]
    require(score == search.best_score_, f"best_score_={search.best_score_!r} is not that of best_index_")
    refitted = hasattr(search, "best_estimator_")
    require(bool(search.refit) == refitted, f"its parameter refit={search.refit!r} is not that of its fit")
    check_names(search)
    for name in ("n_features_in_", "classes_") if refitted else ():
        same = np.asarray(getattr(search, name, None) == getattr(search.best_estimator_, name, None)).all()
        require(same, f"its {name} is not that of best_estimator_")


def _candidates(search: Search[SVC] | Search[SVR]) -> list[dict[str, object]]:
    """The candidates, if each has an entry in every column of the results."""
    columns = dict(search.cv_results_)
    candidates = columns.pop("params", None)
    listed = isinstance(candidates, list) and candidates and all(isinstance(one, dict) for one in candidates)
    require(listed, "its cv_results_ has no candidates")
    for name, column in columns.items():
        right = isinstance(column, np.ndarray) and column.shape == (len(candidates),)
        require(isinstance(name, str) and right, f"the column {name!r} of cv_results_ is not {len(candidates)} values")
    scores = columns.get("mean_test_score")
    require(scores is not None and scores.dtype == np.float64, "its cv_results_ has no mean_test_score")
    n_Cs = int(search.Cs) if isinstance(search.Cs, int | np.integer) else len(search.Cs)
    whole = len(candidates) % (n_Cs * max(len(search.gammas_), 1)) == 0
    require(whole, f"its {len(candidates)} candidates are not a grid")
    return candidates
