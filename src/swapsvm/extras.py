"""Packages that not everybody has: their lack is an error that says who needs them and how to install them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

DASK = '"dask[array]" distributed'
INSTALLED_AS = {"dask": DASK, "distributed": DASK}  # others by their own names


@contextmanager
def needed_by(user: str) -> Iterator[None]:
    """Around the imports of such packages, and nothing else. ``user`` is what needs them, such as a function."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "swapsvm"):
            raise
        command = f"pip install {INSTALLED_AS.get(package, package)}"
        raise ImportError(f"{user} needs {package}: {command}", name=package) from error
