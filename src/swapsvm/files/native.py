"""The package's own format: a prefix, a header in JSON, arrays as they lie in memory, a checksum.

    magic      12 bytes   as in PNG: a byte beyond ASCII and both line ends show what a transfer as text has done
    version     4 bytes   of this format
    length      8 bytes   of the whole file
    header      8 bytes   length of the header
    ...                   the header: JSON in ASCII; its ``arrays`` list name, type and shape of each array
    ...                   the arrays, in that order, C-contiguous
    checksum   32 bytes   SHA-256 of everything before it

All numbers are little-endian. A reader looks at the prefix, then at the checksum, and only then at the rest.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..estimators import SVC
from .checks import check_text, require
from .parts import Parts, put_together, taken_apart
from .writing import PathLike, whole_file

MAGIC = b"\x89swapsvm\r\n\x1a\n"
VERSION = 1
PREFIX = struct.Struct("<12sIQQ")
CHECKSUM = hashlib.sha256().digest_size
PIECE = 1 << 20  # bytes
TYPE = re.compile(r"[<|](b1|[iu][1248]|f[248]|U[0-9]{1,9})")


def save(model: SVC, path: PathLike) -> None:
    """Write a fitted SVC to a file.

    The file appears as a whole or not at all. Support vectors, coefficients, parameters and the certificate are kept
    bit for bit; ``trace_``, ``results_`` and ``cache_counts_`` are not. A parameter that is an object of the running
    program (such as a ``RandomState``) comes back as its default.

    Parameters
    ----------
    model : SVC
        Fitted; its kernel may be any but a callable.
    path : str or path
        Where to; what is there is replaced.

    Raises
    ------
    ValueError
        If the model is not fitted or has something that cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from swapsvm import SVC
    >>> from swapsvm.files import load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.swapsvm")
    ...     save(SVC(C=16).fit(X, y), path)
    ...     model = load(path)
    >>> model.predict(X[:2]).tolist(), model.stop_reason_
    ([0, 0], 'gap')
    """
    parts = taken_apart(model)
    arrays = {name: _little_endian(values) for name, values in parts.arrays.items()}
    listing = [{"name": name, "type": a.dtype.str, "shape": a.shape} for name, a in arrays.items()]
    header = json.dumps({**parts.header, "arrays": listing}, allow_nan=False).encode("ascii")
    length = PREFIX.size + len(header) + sum(array.nbytes for array in arrays.values()) + CHECKSUM
    digest = hashlib.sha256()
    with whole_file(path) as file:
        for piece in (PREFIX.pack(MAGIC, VERSION, length, len(header)), header, *map(_bytes, arrays.values())):
            digest.update(piece)
            file.write(piece)
        file.write(digest.digest())


def load(path: PathLike) -> SVC:
    """Read what ``save`` wrote.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    SVC
        Predicts as the saved one, bit for bit.

    Raises
    ------
    ValueError
        If the file is not a model, is truncated, damaged, or of a newer version; the message says which.
    """
    with Path(path).open("rb") as file, _faults_named(path):
        return put_together(_read(file))


def read_header(path: PathLike) -> dict[str, Any]:
    """The header of a file that ``save`` wrote, once its checksum is found right."""
    with Path(path).open("rb") as file, _faults_named(path):
        return _checked_header(file)[0]


@contextmanager
def _faults_named(path: PathLike) -> Iterator[None]:
    """Whatever is wrong with the content as a ``ValueError`` that names the file."""
    try:
        yield
    except KeyError as missing:
        raise ValueError(f"{path}: its header lacks {missing}") from None
    except (TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path}: its header is malformed: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _checked_header(file: BinaryIO) -> tuple[dict[str, Any], int]:
    """The header, and how many bytes of arrays come after it."""
    size = os.fstat(file.fileno()).st_size
    length = _check_prefix(file.read(PREFIX.size), size)
    _check_digest(file, size)
    file.seek(PREFIX.size)
    header = json.loads(file.read(length))
    require(header.get("estimator") == "SVC", f"it holds {header.get('estimator')!r}, which is not an SVC")
    return header, size - PREFIX.size - length - CHECKSUM


def _read(file: BinaryIO) -> Parts:
    header, room = _checked_header(file)
    listing = [(entry["name"], _type(entry["type"]), _shape(entry["shape"])) for entry in header["arrays"]]
    total = sum(dtype.itemsize * math.prod(shape) for _, dtype, shape in listing)
    require(total == room, f"its arrays take {total} bytes but {room} are there")
    return Parts(header, {name: _read_array(file, dtype, shape) for name, dtype, shape in listing})


def _check_prefix(prefix: bytes, size: int) -> int:
    """The length of the header of a file that begins so and is so long."""
    require(prefix[: len(MAGIC)] == MAGIC, "is not a model saved by swapsvm")
    require(len(prefix) == PREFIX.size, "is truncated: it ends within its first bytes")
    _, version, length, header_length = PREFIX.unpack(prefix)
    require(
        version <= VERSION,
        f"was written by a newer swapsvm (format {version}; this one reads up to {VERSION}): upgrade swapsvm",
    )
    require(version == VERSION, f"is damaged: there is no format {version}")
    require(size >= length, f"is truncated: {size} of {length} bytes are there")
    require(size == length, f"is damaged: it has {size} bytes instead of {length}")
    require(PREFIX.size + header_length + CHECKSUM <= size, "is damaged: its header is longer than the file")
    return int(header_length)


def _check_digest(file: BinaryIO, size: int) -> None:
    """Nothing, unless the last bytes are not the checksum of all before them."""
    file.seek(0)
    digest, left = hashlib.sha256(), size - CHECKSUM
    while left:
        piece = file.read(min(PIECE, left))
        require(piece, "is truncated: it became shorter while it was read")
        digest.update(piece)
        left -= len(piece)
    require(file.read() == digest.digest(), "is damaged: its checksum does not match")


def _type(name: Any) -> np.dtype:
    require(isinstance(name, str) and TYPE.fullmatch(name), f"it has an array of unknown type {name!r}")
    return np.dtype(name)


def _shape(sizes: Any) -> tuple[int, ...]:
    require(
        isinstance(sizes, list) and len(sizes) <= 2 and all(type(size) is int and size >= 0 for size in sizes),
        f"it has an array of impossible shape {sizes!r}",
    )
    return tuple(sizes)


def _read_array(file: BinaryIO, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    array = np.frombuffer(file.read(dtype.itemsize * math.prod(shape)), dtype).reshape(shape)
    if dtype.kind == "U" and array.size:
        check_text(array)
    return array.astype(dtype.newbyteorder("="))  # a copy: writable, aligned, in the machine's order


def _little_endian(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, values.dtype.newbyteorder("<"))


def _bytes(array: np.ndarray) -> Any:
    """The memory of the array: no copy."""
    return array.reshape(-1).view(np.uint8).data if array.nbytes else b""
