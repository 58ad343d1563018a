"""Fitted models as explainers of other packages take them.

A decision value of an RBF model is a sum of products over the features,

    f(x) = sum_i alpha_i prod_j exp(-gamma (x_ij - x_j)^2) + intercept,

so its Shapley values can be computed exactly in polynomial time (Mohammadi, Chau and Muandet, arXiv:2505.16516), as the
``ProductKernelExplainer`` of the package shapiq does. A feature that is left out there has the factor 1.
"""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .arrays import MatrixLike
from .columns import is_sparse
from .estimators import SVC, SVDD, SVR, OneClassSVM
from .kernels import Rbf
from .models import Center, Expansion, Pairwise

if TYPE_CHECKING:
    from shapiq.explainer.product_kernel import ProductKernelModel

__all__ = ["ProductKernel", "product_kernel", "product_kernel_model"]

Model = SVC | SVR | OneClassSVM | SVDD


class ProductKernel(NamedTuple):
    """f(x) = sum_i alpha_i prod_j exp(-gamma (vectors_ij - x_j)^2) + intercept."""

    alpha: np.ndarray
    vectors: np.ndarray
    gamma: float
    intercept: float

    def predict(self, X: MatrixLike) -> np.ndarray:
        """f(x) of each row."""
        return Rbf(self.gamma)(X, self.vectors) @ self.alpha + self.intercept

    @property
    def baseline(self) -> float:
        """The value without any feature."""
        return float(self.alpha.sum() + self.intercept)


def product_kernel(model: Model, output: int = 0) -> ProductKernel:
    """One function of a fitted model with an RBF kernel.

    Parameters
    ----------
    model : SVC, SVR, OneClassSVM or SVDD
        A fitted model.
    output : int
        Which function: of ``SVC`` with several classes the column of its decision values for pairs of classes
        (``decision_function_shape="ovo"``), or with ``multiclass="ovr"`` the class; of ``SVR`` with several outputs the
        output.

    Returns
    -------
    ProductKernel
        Its value is ``decision_function``, or ``predict`` of a regression.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from swapsvm import SVC
    >>> from swapsvm.explain import product_kernel
    >>> X, y = load_iris(return_X_y=True)
    >>> function = product_kernel(SVC(decision_function_shape="ovo").fit(X, y), output=2)
    >>> function.vectors.shape[1], bool(abs(function.baseline) < 10)
    (4, True)
    """
    if not isinstance(model, Model):
        kind = type(model).__name__
        way_out = "of a search pass best_estimator_, of a pipeline its last step, and rows as they reach it"
        raise ValueError(f"{kind} is not one of SVC, SVR, OneClassSVM and SVDD: {way_out}")
    check_is_fitted(model)
    vectors = model.model_.vectors
    if not isinstance(vectors.kernel, Rbf):
        raise ValueError(f"exact Shapley values need the kernel 'rbf', not {vectors.kernel.name!r}")
    coef, intercept = _function(model, output)
    used = np.flatnonzero(coef)
    rows = vectors.rows[used]
    dense = np.asarray(rows.toarray() if is_sparse(rows) else rows, np.float64)
    return ProductKernel(coef[used], dense, float(vectors.kernel.gamma), intercept)


def product_kernel_model(model: Model, output: int = 0) -> ProductKernelModel:
    """The same as the ``ProductKernelExplainer`` of shapiq takes it.

    Parameters
    ----------
    model : SVC, SVR, OneClassSVM or SVDD
        A fitted model with an RBF kernel.
    output : int
        Which function, as in ``product_kernel``.

    Returns
    -------
    shapiq.explainer.product_kernel.ProductKernelModel

    Raises
    ------
    ImportError
        Without shapiq: ``pip install shapiq``.
    """
    try:
        from shapiq.explainer.product_kernel import ProductKernelModel
    except ImportError as error:
        raise ImportError("product_kernel_model needs the package shapiq, 1.4 or later: pip install shapiq") from error
    function = product_kernel(model, output)
    n, d = function.vectors.shape
    found = ProductKernelModel(
        X_train=function.vectors,
        alpha=function.alpha,
        n=n,
        d=d,
        gamma=function.gamma,
        kernel_type="rbf",
        intercept=function.intercept,
    )
    vars(found)["predict"] = function.predict  # shapiq refuses explainers of objects without it
    return found


def _function(model: Model, output: int) -> tuple[np.ndarray, float]:
    """The coefficient of each vector in a function, and its constant."""
    found = model.model_
    if isinstance(found, Expansion):
        functions, constants = found.coef[None, :], np.array([found.intercept])
        if isinstance(found, Center):  # k(x, x) = 1
            functions, constants = 2 * functions, constants - 1 - found.squared_norm
    elif isinstance(found, Pairwise) and found.n_classes > 2:
        functions, constants = np.array([found.coefficients(pair) for pair in found.pairs]), found.intercept
    else:
        functions, constants = found.coef, found.intercept
    whole = isinstance(output, Integral) and not isinstance(output, bool)
    if not (whole and 0 <= output < len(constants)):
        raise ValueError(f"output={output!r} is not one of the {len(constants)} functions of this model, from 0 on")
    return functions[output], float(constants[output])
