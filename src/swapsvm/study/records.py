"""Raw results: JSON lines, one per run, each appended in one write."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict, TypeVar, cast

from .provenance import Provenance

Line = TypeVar("Line", bound=Mapping[str, object])
Record = dict[str, Any]  # one line: a JSON object whose fields depend on the file
Settings = dict[str, Any]  # parameters of an estimator by name
Measure = Literal["accuracy", "seconds", "model_size", "iterations", "evaluations", "gap", "relative_gap"]


class Measures(TypedDict):
    """What was measured in a run; times are in seconds. Peers have less to tell, and nothing if they were cut."""

    seconds: float
    stop_reasons: list[str]
    cut: bool
    certificate_seconds: NotRequired[float]
    fit_wall_seconds: NotRequired[float]
    accuracy: NotRequired[float]
    model_size: NotRequired[int]
    iterations: NotRequired[int]
    evaluations: NotRequired[int]
    cache_hits: NotRequired[int]
    samplings: NotRequired[int]
    gap: NotRequired[float]
    relative_gap: NotRequired[float]


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
    provenance: NotRequired[Provenance]  # the first lines had none


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


def digest_of(line: Mapping[str, object]) -> str | None:
    """The digest of the sources that made a line; None if it has none and is stale."""
    found = cast(Provenance | None, line.get("provenance"))
    return found["digest"] if found else None


def newest(lines: Sequence[Line]) -> list[Line]:
    """The lines of the sources that made the last line of their method; those of others are not comparable."""
    last = {line["method"]: digest for line in lines if (digest := digest_of(line))}
    return [line for line in lines if (digest := digest_of(line)) and digest == last[line["method"]]]


def parsed(line: str, where: str) -> Record:
    """One line as an object."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where} is not JSON ({error}): correct or remove it") from None
    if not isinstance(record, dict):
        raise ValueError(f"{where} is not a JSON object: correct or remove it")
    return record
