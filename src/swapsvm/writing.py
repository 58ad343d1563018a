"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PathLike = str | os.PathLike[str]


@contextmanager
def whole_file(path: PathLike) -> Iterator[BinaryIO]:
    """A file to write, which takes its name only at the end, once its content is on the disk.

    The draft stands in the same folder, because only there renaming is one step; an error removes it.
    """
    goal = Path(path)
    if not goal.parent.is_dir():
        raise FileNotFoundError(f"{goal}: there is no folder {goal.parent}")
    draft = goal.with_name(f".{goal.name}-{secrets.token_hex(8)}")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, goal)
    finally:
        draft.unlink(missing_ok=True)
