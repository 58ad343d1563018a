"""The site, built by ``make docs`` without network; a warning is an error."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import swapsvm

HERE = Path(__file__).parent
REPRODUCTION = HERE / "reproduction" / "report.html"  # made by `swapsvm reproduce`; linked if it exists
WAY_BACK = (
    '<p style="grid-column: 1 / -1; margin: 0; padding: 0.6rem 1.5rem; border-bottom: 1px solid #dde2ea">'
    '<a href="../index.html">swapsvm</a> / <a href="../benchmarks/index.html">Benchmarks</a> / '
    '<a href="../benchmarks/study.html">The study of the paper</a></p>'
)

sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent)]  # the charts are drawn by the package benchmarks
os.environ.setdefault("MPLBACKEND", "Agg")

project = "swapsvm"
author = "the swapsvm authors"
version = release = swapsvm.__version__
html_title = f"swapsvm {version}"

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
    "mathml",
    "executed",
    "api_pages",
]
exclude_patterns = ["build", "reproduction", "_extensions"]

# ---- pages --------------------------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
myst_substitutions = {
    "reproduction": (
        '<a href="../reproduction/report.html">The report of a complete run</a> has all tables, tests and figures.'
        if REPRODUCTION.exists()
        else "This copy of the site was built without a complete run."
    )
}

# ---- API ----------------------------------------------------------------------------------------------------------

autodoc_member_order = "bysource"
REQUESTS = "set_fit_request, set_partial_fit_request, set_score_request"  # scikit-learn's
autodoc_default_options = {"exclude-members": f"__version__, {REQUESTS}"}
autodoc_typehints = "none"  # numpydoc's sections say the types in words
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# ---- gallery ------------------------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib", "gallery.use_style"),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "notebook_extensions": set(),
    "show_signature": False,
    "show_memory": False,
    "thumbnail_size": (640, 360),
    "write_computation_times": False,
    "doc_module": ("swapsvm",),
    "backreferences_dir": "examples/backreferences",
    "min_reported_time": 1e9,
    "copyfile_regex": r"$^",
}
suppress_warnings = ["config.cache"]

# ---- HTML ---------------------------------------------------------------------------------------------------------

html_theme = "furo"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
copybutton_exclude = ".linenos, .gp, .go"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5c8f", "color-brand-content": "#0b5c8f"},
    "dark_css_variables": {"color-brand-primary": "#6cb6e6", "color-brand-content": "#6cb6e6"},
}


def copy_reproduction(app: Any, error: Exception | None) -> None:
    """Copy the report of the study, which is one self-contained file, and add a way back to the site."""
    if error is None and REPRODUCTION.exists():
        target = Path(app.outdir) / "reproduction"
        target.mkdir(exist_ok=True)
        report = REPRODUCTION.read_text("utf-8")
        (target / REPRODUCTION.name).write_text(report.replace("<body>", f"<body>\n{WAY_BACK}", 1), "utf-8")


def keep_bars(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """A bar in a docstring is a bar, as in |x - z|, not reStructuredText's substitution."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            pieces = re.split(r"(``.*?``)", line)
            lines[number] = "".join(p if p.startswith("``") else p.replace("|", r"\|") for p in pieces)


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", keep_bars, priority=900)  # after numpydoc
    app.connect("build-finished", copy_reproduction)
