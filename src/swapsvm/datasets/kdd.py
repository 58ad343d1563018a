"""KDD Cup 99 as UCI publishes it, comma-separated with symbolic attributes, rewritten as svmlight text.

The 41 attributes in their order; the seven symbolic ones become 0/1 columns, one per value. With the 34 continuous ones
these are the 127 columns of [SWAP14], named in ``kdd_columns.txt``. Classes: 1 normal, 2 dos, 3 probe, 4 r2l, 5 u2r.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.resources import files

LONGEST_LINE = 10_000  # bytes; real ones have less than 200
CLASSES = {
    1: "normal",
    2: "apache2 back land mailbomb neptune pod processtable smurf teardrop udpstorm",
    3: "ipsweep mscan nmap portsweep saint satan",
    4: "ftp_write guess_passwd httptunnel imap multihop named phf sendmail snmpgetattack snmpguess spy warezclient "
    "warezmaster worm xlock xsnoop",
    5: "buffer_overflow loadmodule perl ps rootkit sqlattack xterm",
}
CLASS_OF = {name: number for number, names in CLASSES.items() for name in names.split()}


@cache
def attributes() -> list[dict[str, int]]:
    """For each attribute the columns of its values; a continuous attribute has one column, under ``""``."""
    columns: dict[str, dict[str, int]] = {}
    names = files(__package__).joinpath("kdd_columns.txt").read_text("utf-8").split()
    for number, name in enumerate(names, start=1):
        attribute, _, value = name.partition("=")
        columns.setdefault(attribute, {})[value] = number
    return list(columns.values())


def to_svmlight(text: Iterable[bytes]) -> Iterator[bytes]:
    """The same rows as svmlight text."""
    for piece in whole_lines(text):
        yield "".join(map(encode, piece.decode("ascii").splitlines())).encode("ascii")


def whole_lines(text: Iterable[bytes]) -> Iterator[bytes]:
    """The text cut at ends of lines."""
    rest = b""
    for piece in text:
        lines, newline, rest = (rest + piece).rpartition(b"\n")
        if len(rest) > LONGEST_LINE:
            raise ValueError(f"a line of more than {LONGEST_LINE} bytes")
        yield lines + newline
    yield rest


@lru_cache(maxsize=1 << 16)  # attacks by floods of packets give many equal lines
def encode(line: str) -> str:
    """One connection."""
    *fields, label = line.split(",")
    try:
        entries = (entry(field, columns) for field, columns in zip(fields, attributes(), strict=True))
        return " ".join([str(CLASS_OF[label.rstrip(".")]), *filter(None, entries)]) + "\n"
    except (KeyError, ValueError) as error:
        raise ValueError(f"{line[:80]!r} is not a connection of KDD Cup 99 ({error})") from None


def entry(field: str, columns: dict[str, int]) -> str:
    """``column:value``, or nothing for zero."""
    if "" not in columns:
        return f"{columns[field]}:1"
    return f"{columns['']}:{float(field):.15g}" if float(field) else ""
