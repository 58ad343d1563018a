"""What the parts of a model share."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a model. Only its fields are pickled and copied: whatever is derived from them is computed again."""

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}
