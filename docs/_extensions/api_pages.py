"""A page for each public class and function: the directive ``names:: MODULE`` lists those of a module with links.

The names are those of ``__all__``, so a new one needs no line here. The pages are written to ``docs/api/generated``.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from docutils.statemachine import StringList
from sklearn.base import BaseEstimator
from sphinx.application import Sphinx
from sphinx.ext.autosummary import Autosummary

import swapsvm

USE = re.compile(r"^\.\. names:: (\S+)$", re.MULTILINE)
FOLDER = "generated"
EARLY = 100  # before Sphinx looks for pages
PAGE = """{title}
{line}

.. currentmodule:: {module}

.. auto{kind}:: {name}
{options}
.. minigallery:: {module}.{name}
   :add-heading: Examples in the gallery
"""
MEMBERS = "   :members:\n"
# Of scikit-learn's classes, an estimator inherits what is ours and the mixins' predict and score.
ESTIMATOR = """   :members:
   :inherited-members: BaseEstimator, _MetadataRequester
   :member-order: groupwise
   :exclude-members: set_fit_request, set_partial_fit_request, set_score_request, set_fitted,
       check_parameters, value_type
"""


class Names(Autosummary):
    """A table of the classes and functions of a module, with their first lines and pages."""

    has_content = False
    required_arguments = 1

    def run(self) -> list[Any]:
        module = self.arguments[0]
        self.content = StringList(documented(module), source=module)
        self.options |= {"toctree": FOLDER, "nosignatures": None}
        return super().run()


def documented(module: str) -> list[str]:
    """The public classes and functions, except those that the package itself exports."""
    home = importlib.import_module(module)
    own = [name for name in home.__all__ if home is swapsvm or name not in swapsvm.__all__ or is_other(home, name)]
    return [name for name in own if inspect.isclass(found := getattr(home, name)) or inspect.isfunction(found)]


def is_other(home: Any, name: str) -> bool:
    """Whether a name means something else in this module, as ``swapsvm.dask.SVC`` does."""
    return getattr(home, name) is not getattr(swapsvm, name)


def write_pages(app: Sphinx) -> None:
    """Write the pages that changed, and remove those of names that are gone."""
    folder = Path(app.srcdir) / "api" / FOLDER
    folder.mkdir(exist_ok=True)
    modules = [found for page in sorted(folder.parent.glob("*.md")) for found in USE.findall(page.read_text("utf-8"))]
    pages = {
        folder / f"{module}.{name}.rst": page_of(module, name) for module in modules for name in documented(module)
    }
    for path in set(folder.glob("*.rst")) - pages.keys():
        path.unlink()
    for path, text in pages.items():
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def page_of(module: str, name: str) -> str:
    """The source of a page."""
    found = getattr(importlib.import_module(module), name)
    kind = "function" if inspect.isfunction(found) else "exception" if issubclass(found, BaseException) else "class"
    members = ESTIMATOR if inspect.isclass(found) and issubclass(found, BaseEstimator) else MEMBERS
    options = "" if kind == "function" else members
    return PAGE.format(title=name, line="=" * len(name), module=module, kind=kind, name=name, options=options)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("sphinx.ext.autosummary")
    app.add_directive("names", Names)
    app.connect("builder-inited", write_pages, priority=EARLY)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
