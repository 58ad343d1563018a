"""Python on a page is executed when the site is built, and its output is shown below it.

The blocks of a page run in order, in one namespace and in one empty folder. Below a block stand what it printed, the
value of its last expression and the figures that it left open. A block that raises an exception fails the build. The
directive ``{drawn}`` shows only the output of its code. A block after the comment ``% not executed`` is shown as it is.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from swapsvm.datasets import DatasetError

STYLE = Path(__file__).parent.parent / "gallery.mplstyle"
NOT_HERE = "Not executed: {error}"
SKIP = "not executed"
EARLY = 100  # before Sphinx collects the images of a page


class Drawn(SphinxDirective):
    """Code whose output is shown, and which is not shown itself."""

    has_content = True
    option_spec: ClassVar = {"alt": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        code = "\n".join(self.content)
        block = nodes.literal_block(code, code, language="python", drawn=True, alt=self.options.get("alt", ""))
        block.source, block.line = self.get_source_info()
        return [block]


def execute_page(app: Sphinx, page: nodes.document) -> None:
    """Execute the blocks of a page and put their output below them."""
    blocks = [block for block in page.findall(nodes.literal_block) if is_executed(app, block)]
    if blocks:
        with own_folder(), quiet_figures():
            names: dict[str, Any] = {"__name__": "__main__"}
            for block in blocks:
                show(block, run(block, names, app.env.docname))


def is_executed(app: Sphinx, block: nodes.literal_block) -> bool:
    """Python of the page itself: no included source file, and no example of a docstring."""
    code = block.astext()
    if block.get("language") != "python" or "source" in block or code.startswith(">>>"):
        return False
    before = block.parent[block.parent.index(block) - 1]
    return not (isinstance(before, nodes.comment) and before.astext().strip() == SKIP)


@contextlib.contextmanager
def own_folder() -> Iterator[None]:
    """Some pages write files."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)


@contextlib.contextmanager
def quiet_figures() -> Iterator[None]:
    """Figures in the style of the site; those of others are not shown."""
    import matplotlib.pyplot as plt

    plt.close("all")
    with plt.rc_context(fname=str(STYLE)):
        try:
            yield
        finally:
            plt.close("all")


def run(block: nodes.literal_block, names: dict[str, Any], page: str) -> list[nodes.Node]:
    """The output of a block, as nodes."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error")
            value = value_of(block.astext(), f"{page}, line {block.line}", names)
    except DatasetError as error:  # the site is built without network
        return [text_node(NOT_HERE.format(error=error))]
    except Exception as error:
        raise ExtensionError(f"{page}, line {block.line}: {type(error).__name__}: {error}", error) from error
    shown = [*figures_of(value), *open_figures()]
    text = printed.getvalue() + ("" if value is None or shown else f"{value!r}\n")
    return [*([text_node(text)] if text else []), *(image_node(figure, block.get("alt", "")) for figure in shown)]


def value_of(code: str, place: str, names: dict[str, Any]) -> Any:
    """Execute the code; the value is that of its last line if this is an expression."""
    tree = ast.parse(code, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, place, "exec"), names)
    return eval(compile(ast.Expression(last.value), place, "eval"), names) if last else None


def figures_of(value: Any) -> list[Any]:
    """A figure, or the figure of axes, that is not pyplot's."""
    import matplotlib.pyplot as plt
    from matplotlib.artist import Artist

    figure = value.get_figure(root=True) if isinstance(value, Artist) else None
    return [figure] if figure is not None and figure not in map(plt.figure, plt.get_fignums()) else []


def open_figures() -> list[Any]:
    """The figures of pyplot, which are closed."""
    import matplotlib.pyplot as plt

    figures = [plt.figure(number) for number in plt.get_fignums()]
    plt.close("all")
    return figures


def text_node(text: str) -> nodes.literal_block:
    text = text.rstrip("\n")  # the same twice: otherwise Sphinx takes it for a parsed literal
    return nodes.literal_block(text, text, language="none", classes=["output"])


def image_node(figure: Any, alt: str) -> nodes.image:
    """The picture is a part of the page, so the build leaves no files behind."""
    image = io.BytesIO()
    figure.savefig(image, format="svg", bbox_inches="tight", metadata={"Date": None})
    code = base64.b64encode(image.getvalue()).decode()
    return nodes.image(
        uri=f"data:image/svg+xml;base64,{code}", alt=alt or "The figure drawn by this code", classes=["drawn"]
    )


def show(block: nodes.literal_block, output: list[nodes.Node]) -> None:
    """Put the output below the block, or in its place."""
    place = block.parent.index(block)
    if block.get("drawn"):
        block.parent[place : place + 1] = output
    else:
        block.parent[place + 1 : place + 1] = output


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("drawn", Drawn)
    app.connect("doctree-read", execute_page, priority=EARLY)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
