"""What scikit-learn and its users expect of every estimator: explained mistakes, and a link to its page."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from .declaration import explain

PAGE = "{site}/api/generated/{module}.{name}.html"  # of the built site
ABSENT = "leave it out"
INSTEAD = {
    "shrinking": f"{ABSENT}. The solver shrinks by itself, and certificates are over all rows",
    "dual": f"{ABSENT}. The dual is solved in any case, and the certificate reports both values",
    "fit_intercept": f"{ABSENT}. There is always an intercept, and it is regularized",
    "intercept_scaling": f"{ABSENT}. The intercept is regularized as any other weight",
}


class ScikitEstimator(BaseEstimator):
    """A wrong parameter that scikit-learn's own class has is answered with what to do instead (``INSTEAD``)."""

    INSTEAD: ClassVar[Mapping[str, str]] = INSTEAD

    _doc_link_module = "swapsvm"

    def set_params(self, **params: Any) -> Self:  # of any parameters
        """Set parameters by name; those of nested objects as ``name__parameter``."""
        try:
            return super().set_params(**params)
        except ValueError as error:
            explain(type(self), params, error)
            raise

    @property
    def _doc_link_template(self) -> str:
        """The page of the estimator; empty, which is no link, as long as there is no published site."""
        return PAGE if site() else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        over_dask = type(self).__module__.startswith("swapsvm.dask.")
        module = "swapsvm.dask" if over_dask else "swapsvm"
        return {"site": site(), "module": module, "name": type(self).__name__}


@cache
def site() -> str:
    """The address that the metadata of the installed package calls Documentation, or nothing."""
    try:
        addresses = metadata("swapsvm").get_all("Project-URL", [])
    except PackageNotFoundError:  # only the sources are here
        return ""
    named = dict(address.split(", ", 1) for address in addresses)
    return named.get("Documentation", "").rstrip("/")
