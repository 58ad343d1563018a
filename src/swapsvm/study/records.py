"""Raw results: JSON lines, one a run, appended whole."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def append(path: Path, record: Record) -> None:
    """One write to the end of the file, after what a process that died there may have left of a line is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(0)
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)
        file.write((json.dumps(record) + "\n").encode())
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> list[Record]:
    """All whole lines; none if the file is not there."""
    if not path.exists():
        return []
    whole = path.read_text("utf-8").rpartition("\n")[0]
    return [parsed(line, f"{path}, line {number}") for number, line in enumerate(whole.split("\n"), 1) if line]


def parsed(line: str, where: str) -> Record:
    """One line as an object."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where} is not JSON ({error}): mend it or remove it") from None
    if not isinstance(record, dict):
        raise ValueError(f"{where} is not a JSON object: mend it or remove it")
    return record
