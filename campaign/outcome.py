"""The outcomes of trials."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FINE = ("held", "refused", "outside", "undecided", "left out")  # every other verdict is a fault
LAST_WORDS = (  # of libraries that end the process themselves
    "cannot allocate memory for thread-local data",  # glibc, at a thread's first access to a thread-local variable
    "OpenBLAS error: Memory allocation",
    "OpenBLAS: malloc failed",
    "histogram size mismatch",  # Arrow 26, when asked for the sizes of a column whose statistics are malformed
)
ROOT = Path(__file__).parent.parent
ADDRESS = re.compile("0x[0-9a-f]{6,}")
LONGEST = 300  # characters of a detail that are kept


def is_outside(words: str) -> bool:
    """Whether this is the last message of another library."""
    return any(known in words for known in LAST_WORDS)


@dataclass(frozen=True)
class Outcome:
    """The end of a trial.

    ``kind`` is what was tried (an estimator, a format). The verdict ``"undecided"`` means that the judge itself was not
    precise enough, ``"outside"`` that another library ended the process, which no caller can prevent, ``"left out"``
    that something is not installed. ``number`` is the measured number, if any.
    """

    kind: str
    verdict: str
    detail: str = ""
    number: float | None = None
    material: bytes = b""  # the malformed file, if the trial had one
    suffix: str = ""

    def __str__(self) -> str:
        measured = "" if self.number is None else f" ({self.number:.6g})"
        return f"{self.kind}: {self.verdict}{measured} {self.detail}".strip()

    @property
    def is_fault(self) -> bool:
        return self.verdict not in FINE

    @property
    def signature(self) -> str:
        """Equal for similar faults: numbers, paths and quoted values are ignored."""
        general = re.sub(r"'[^']*'|\"[^\"]*\"|\S*/\S*|[-+]?[0-9.]+(e[-+]?[0-9]+)?|\[.*\]", "*", self.detail)
        return f"{self.kind}: {self.verdict}: {general[:80]}"

    def as_line(self) -> str:
        detail = ADDRESS.sub("0x*", self.detail.replace(f"{ROOT}/", ""))[:LONGEST]
        entries = asdict(self) | {"detail": detail, "material": base64.b64encode(self.material).decode()}
        return json.dumps({name: value for name, value in entries.items() if value not in ("", None)})


def from_line(line: str) -> Outcome:
    """The inverse of ``as_line``."""
    entries: dict[str, Any] = json.loads(line)
    return Outcome(**entries | {"material": base64.b64decode(entries.get("material", ""))})
