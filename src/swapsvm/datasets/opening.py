"""From a folder, a list of files or arrays to items."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeGuard

import numpy as np

from ..arrays import Matrix
from ..columns import is_sparse
from ..container import require
from .array_items import open_array
from .file_items import open_file, opener_of
from .items import Item, Wanted
from .labels import ENDING

NO_SHARDS = (".json", ".md")  # descriptions of the data
PathOrArray = str | os.PathLike[str] | Matrix


def open_items(source: object, wanted: Wanted) -> list[Item]:
    """Open everything; the first bad file or array is named."""
    if isinstance(source, str | os.PathLike):
        return [open_file(path, wanted) for path in (files_of(source) if os.path.isdir(source) else [source])]
    if is_array(source):
        return [open_array("X", source, wanted)]
    if not isinstance(source, list | tuple):
        raise ValueError(f"{type(source).__name__} is not a source of shards: name a folder, files or arrays")
    require(source, "the list of shards is empty")
    return [_open(place, one, wanted) for place, one in enumerate(source)]


def _open(place: int, source: object, wanted: Wanted) -> Item:
    if isinstance(source, str | os.PathLike):
        return open_file(source, wanted)
    if is_array(source):
        return open_array(f"array {place}", source, wanted)
    raise ValueError(f"shard {place} is a {type(source).__name__}, neither a file nor an array")


def is_array(source: object) -> TypeGuard[Matrix]:
    """Whether this is an array or a sparse matrix."""
    return isinstance(source, np.ndarray) or is_sparse(source)


def files_of(folder: str | os.PathLike[str]) -> list[Path]:
    """The shards of a folder, sorted by name; other files must be hidden, begin with _ or README, or describe data."""
    found = sorted(path for path in Path(folder).iterdir() if not _is_description(path))
    labels = [path for path in found if path.name.endswith(ENDING)]
    shards = [path for path in found if not path.name.endswith(ENDING)]
    for path in shards:
        require(not path.is_dir(), f"{path}: is a folder: shards must be files")
        opener_of(path)
    require(shards, f"{folder}: has no shards")
    stems = {path.with_suffix("").name for path in shards}
    for path in labels:
        require(path.name.removesuffix(ENDING) in stems, f"{path}: the shard of these labels is missing")
    return shards


def _is_description(path: Path) -> bool:
    return path.name.startswith((".", "_", "README")) or path.suffix.lower() in NO_SHARDS
