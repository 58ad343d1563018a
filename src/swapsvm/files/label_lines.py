"""Labels as lines of text, one label per line whatever it contains, and back.

Text with line breaks, text that begins with a double quote and text that is not valid Unicode is written as a JSON
string; every other label is written as it is. So a line that begins with a double quote is JSON.
"""

from __future__ import annotations

import json

QUOTE = '"'


def to_line(label: object) -> str:
    """The label as one line, without a line break."""
    text = str(label)
    return json.dumps(text) if text.startswith(QUOTE) or not _is_plain_line(text) else text


def from_line(line: str) -> str:
    """The text of a label that ``to_line`` wrote."""
    return str(json.loads(line)) if line.startswith(QUOTE) else line


def is_unicode(text: str) -> bool:
    """Whether the text can be encoded, which a lone surrogate cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_plain_line(text: str) -> bool:
    """Whether the text can be encoded and has no line break of any kind."""
    return is_unicode(text) and len(f"{text}|".splitlines()) == 1
