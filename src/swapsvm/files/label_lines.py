"""Labels as lines of text, one label a line whatever it contains, and back.

A label is written as it is, unless that would not be one line: text with line breaks, text that begins with a double
quote and text that is not Unicode is written as a string of JSON. So a line that begins with a double quote is JSON,
and every other one is the label itself.
"""

from __future__ import annotations

import json
from typing import Any

QUOTE = '"'


def to_line(label: Any) -> str:
    """The label as one line, without its end."""
    text = str(label)
    return json.dumps(text) if text.startswith(QUOTE) or not _is_plain_line(text) else text


def from_line(line: str) -> str:
    """The text of the label that ``to_line`` was given."""
    return str(json.loads(line)) if line.startswith(QUOTE) else line


def _is_plain_line(text: str) -> bool:
    """Whether no reader of lines would divide it, and it can be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return len(f"{text}|".splitlines()) == 1
