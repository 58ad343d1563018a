"""Raw results: JSON lines, one per run, each appended in one write."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict, cast

Record = dict[str, Any]  # one line: a JSON object whose fields depend on the file
Settings = dict[str, Any]  # parameters of an estimator by name
Measure = Literal["accuracy", "seconds", "model_size", "iterations", "evaluations", "gap", "relative_gap"]


class Measures(TypedDict):
    """What was measured in a run; times are in seconds."""

    seconds: float
    certificate_seconds: float
    fit_wall_seconds: float
    accuracy: float
    model_size: int
    iterations: int
    evaluations: int
    samplings: int
    gap: float
    relative_gap: float
    stop_reasons: list[str]
    cut: bool


class Run(TypedDict):
    """A line of ``runs.jsonl``."""

    experiment: str
    data: str
    method: str
    seed: int
    parameters: Settings
    measures: Measures
    curve: NotRequired[dict[str, list[float]]]
    environment: dict[str, Any]


def append(path: Path, record: Mapping[str, object]) -> None:
    """Append a line in one write, after removing an incomplete last line that a killed process left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(0)
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)
        file.write((json.dumps(record) + "\n").encode())
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> list[Record]:
    """All complete lines; none if the file does not exist."""
    if not path.exists():
        return []
    whole = path.read_text("utf-8").rpartition("\n")[0]
    return [parsed(line, f"{path}, line {number}") for number, line in enumerate(whole.split("\n"), 1) if line]


def read_runs(path: Path) -> list[Run]:
    """The lines of ``runs.jsonl``."""
    return cast(list[Run], read(path))


def parsed(line: str, where: str) -> Record:
    """One line as an object."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where} is not JSON ({error}): correct or remove it") from None
    if not isinstance(record, dict):
        raise ValueError(f"{where} is not a JSON object: correct or remove it")
    return record
