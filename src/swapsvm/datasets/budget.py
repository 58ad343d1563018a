"""Numbers of bytes: of this machine's memory, and as users write them."""

from __future__ import annotations

import os
import re

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([KMGT]?)(?:I?B)?", re.IGNORECASE)
USUAL_MEMORY = 4 << 30  # bytes, on systems that do not tell


def bytes_of(name: str, amount: int | str) -> int:
    """A number of bytes, or text such as ``"500M"`` or ``"1.5G"``; units are powers of 1024."""
    if isinstance(amount, str) and (found := AMOUNT.fullmatch(amount.strip())):
        amount = int(float(found[1]) * UNITS[found[2].upper()])
    if isinstance(amount, bool) or not isinstance(amount, int) or amount < 1:
        raise ValueError(f'{name}={amount!r} must be a positive number of bytes, or text such as "500M" or "1G"')
    return amount


def memory_share(parts: int) -> int:
    """All memory divided by ``parts``: not what is free, since results must not depend on the load of the machine."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        memory = USUAL_MEMORY
    return int(memory) // parts


def in_units(amount: int) -> str:
    """A number of bytes as text for people, such as ``"1.5 GB"``."""
    unit = next((unit for unit in "TGMK" if amount >= UNITS[unit]), "")
    return f"{amount / UNITS[unit]:.3g} {unit}B" if unit else f"{amount} bytes"
