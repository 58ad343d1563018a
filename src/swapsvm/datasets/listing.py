"""The data sets of the registry, and which of them are on this machine, as aligned text."""

from __future__ import annotations

from .files import find
from .registry import Entry, registry

HEADER = ("name", "rows", "test rows", "features", "classes", "where")


def listing() -> str:
    """One line per data set."""
    lines = [HEADER, *map(cells_of, registry().values())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(align(line, widths) + "\n" for line in lines)


def cells_of(entry: Entry) -> tuple[str, ...]:
    """The cells of one data set."""
    sizes = (f"{size:,}" if size else "-" for size in (entry.rows, entry.test_rows, entry.features, entry.classes))
    return (entry.name, *sizes, where(entry))


def where(entry: Entry) -> str:
    """The folders of its files, or the names of missing files."""
    paths = {file.name: find(file) for file in entry.files}
    missing = [name for name, path in paths.items() if path is None]
    if missing:
        return f"missing: {', '.join(missing)}"
    return ", ".join(sorted({str(path.parent) for path in paths.values() if path}))


def align(cells: tuple[str, ...], widths: list[int]) -> str:
    """Align text to the left and numbers to the right."""
    name, *sizes, place = cells
    numbers = (size.rjust(width) for size, width in zip(sizes, widths[1:-1], strict=True))
    return "  ".join([name.ljust(widths[0]), *numbers, place])
