"""Changes that make a valid file malformed: of bytes, of numbers in text, of values in a JSON header."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np

Random = np.random.Generator

WHOLE = (0, 1, -1, 2, 7, 127, 128, 255, 256, 2**15, 2**16, 2**24, 2**25 + 1, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1)
TEXTS = (
    b"0", b"-0", b"1", b"-1", b"1e308", b"1e400", b"-1e-400", b"nan", b"inf", b"2147483647", b"2147483648", b"33554433",
    b"99999999999999999999", b"1e5", b"0x10", b"1_0", b"", b":", b"1:1", b"qid:1", b"#", b"\x00", b"\xff\xfe",
    b"\xef\xbb\xbf", b"\n", b"\r", b'"', b",", b"\t", b"1" * 400, b" " * 300, b"-" * 50, b"[" * 5000,
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 10**40, 0.5, -1.5, 1e308, 1e-320, "", "a", "nan", "SVC", "rbf",
    "precomputed", [], [0], [1, 2], {}, {"a": 1}, [[]] * 3, "x" * 500, [0] * 200, {"name": "rbf", "parameters": {}},
)  # fmt: skip
NUMBER = re.compile(rb"[-+]?[0-9]+(?:\.[0-9]*)?(?:e[-+]?[0-9]+)?")


def of_bytes(rng: Random, data: bytes) -> bytes:
    """Some changes of bytes, anywhere."""
    for _ in range(int(rng.integers(1, 5))):
        data = BYTES[int(rng.integers(len(BYTES)))](rng, data)
    return data


def _place(rng: Random, data: bytes) -> int:
    return int(rng.integers(len(data) + 1))


def _flipped(rng: Random, data: bytes) -> bytes:
    at = int(rng.integers(max(len(data), 1)))
    return data[:at] + bytes(b ^ (1 << int(rng.integers(8))) for b in data[at : at + 1]) + data[at + 1 :]


def _overwritten(rng: Random, data: bytes) -> bytes:
    """An integer of 1 to 8 bytes that is often too large."""
    width = int(rng.choice([1, 2, 4, 8]))
    value = int(rng.choice(np.array(WHOLE, dtype=object))) % 2 ** (8 * width)
    at = _place(rng, data)
    return data[:at] + value.to_bytes(width, "little") + data[at + width :]


def _removed(rng: Random, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + data[at + int(rng.integers(1, 20)) :]


def _repeated(rng: Random, data: bytes) -> bytes:
    at, end = sorted((_place(rng, data), _place(rng, data)))
    return data[:end] + data[at:end] * int(rng.integers(1, 4)) + data[end:]


def _truncated(rng: Random, data: bytes) -> bytes:
    return data[: _place(rng, data)]


def _inserted(rng: Random, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + TEXTS[int(rng.integers(len(TEXTS)))] + data[at:]


def _renumbered(rng: Random, data: bytes) -> bytes:
    """Replace a number by another text."""
    found = list(NUMBER.finditer(data[:100_000]))
    if not found:
        return _inserted(rng, data)
    chosen = found[int(rng.integers(len(found)))]
    return data[: chosen.start()] + TEXTS[int(rng.integers(len(TEXTS)))] + data[chosen.end() :]


def _reordered(rng: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.integers(len(lines), size=2)
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


BYTES = (_flipped, _overwritten, _removed, _repeated, _truncated, _inserted, _renumbered, _renumbered, _reordered)


# ---- JSON and arrays ----------------------------------------------------------------------------------------------


def of_header(rng: Random, header: dict[str, Any]) -> dict[str, Any]:
    """Replace or remove some values of a header."""
    changed = copy.deepcopy(header)
    for _ in range(int(rng.integers(1, 4))):
        places = list(_places(changed))
        inside, key = places[int(rng.integers(len(places)))]
        if rng.random() < 0.2:
            del inside[key]
        else:
            inside[key] = _changed_value(rng, inside[key])
    return changed


def _places(value: Any) -> Any:
    """Every container and key in a value."""
    entries = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    for key, entry in entries:
        yield value, key
        if isinstance(entry, dict | list):
            yield from _places(entry)


def _changed_value(rng: Random, value: Any) -> Any:
    if type(value) in (int, float) and rng.random() < 0.5:
        return value + [1, -1, -value, value, 2**31, 1e300][int(rng.integers(6))]
    return copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])


def of_array(rng: Random, array: np.ndarray) -> np.ndarray:
    """Another shape, type or number."""
    changed = array.copy()
    choice = rng.random()
    if choice < 0.2 and array.dtype.kind in "biuf":
        return changed.astype(rng.choice(["<f8", "<f4", "<i4", "<i8", "<u8", "|b1", "<f2", "|i1"]), copy=False)
    if choice < 0.4:
        return changed[: int(rng.integers(len(changed) + 1))] if changed.ndim else changed
    if choice < 0.5:
        return np.concatenate([changed, changed]) if changed.ndim else changed
    if choice < 0.6:
        return changed.reshape(-1)[None] if rng.random() < 0.5 else changed.reshape(-1)
    if changed.size and changed.dtype.kind in "iuf":
        at = rng.integers(changed.size, size=int(rng.integers(1, 4)))
        extremes = [0, -1, 1, 2**31 - 1, -(2**31), 1e300, -1e300, np.nan, np.inf, 5e-324, changed.size]
        usable = extremes if changed.dtype.kind == "f" else [0, 1, 2**31 - 1, changed.size, changed.size - 1, 10**5]
        with np.errstate(all="ignore"):
            changed.flat[at] = np.array(usable[int(rng.integers(len(usable)))]).astype(changed.dtype)
    return changed
