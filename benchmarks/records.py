"""Raw results: JSON lines, one a run, appended whole."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def append(path: Path, record: Record) -> None:
    """One write to the end of the file: a line is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(file, (json.dumps(record) + "\n").encode())
        os.fsync(file)
    finally:
        os.close(file)


def read(path: Path) -> list[Record]:
    """All lines; none if the file is not there."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
