"""Data files on this machine: finding them, and checking them against the registry.

A file is searched in ``$SWAPSVM_DATA`` and in the cache directory (``$SWAPSVM_CACHE``, or the platform's default), as
plain text or compressed. It is verified on every reading: hashing costs a tenth of parsing. The uncompressed text of a
compressed file is kept in the cache, because bzip2 takes several times as long as parsing.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import numpy as np
from scipy import sparse

from ..writing import whole_file
from .kdd import to_svmlight
from .registry import DataFile, DatasetError
from .svmlight import content_errors_named, parse, pieces

EXTENSIONS = ("", ".bz2", ".gz")  # plain text first: it is the fastest


def cache_folder() -> Path:
    """The folder of downloads and uncompressed texts: ``$SWAPSVM_CACHE``, or the platform's default."""
    named = os.environ.get("SWAPSVM_CACHE")
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "swapsvm" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "swapsvm"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "swapsvm"


def find(file: DataFile) -> Path | None:
    """The copy to read, if there is one."""
    named = os.environ.get("SWAPSVM_DATA")
    folders = [*([Path(named).expanduser()] if named else []), cache_folder()]
    names = [f"{file.name}{extension}" for extension in EXTENSIONS] + ([file.original] if file.original else [])
    candidates = (folder / name for name in names for folder in folders)
    return next((path for path in candidates if path.is_file()), None)


def download_name(file: DataFile) -> str:
    """The name of the published file, as ``find`` expects it."""
    extension = Path(file.address or "").suffix
    return file.original or file.name + (extension if extension in EXTENSIONS else "")


def read_file(path: Path, file: DataFile, features: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    """The rows and labels of a copy, verified."""
    text = verified(path, file)
    if path.name != file.name and not is_archive(path, file):
        text = kept(text, cache_folder() / file.name)
    with errors_named(path, file), closing(text):
        return parse(text, features)


def check(path: Path, file: DataFile) -> None:
    """Raise unless the copy matches the registry."""
    with errors_named(path, file):
        if not is_archive(path, file):
            for _ in verified(path, file):
                pass


@contextmanager
def errors_named(path: Path, file: DataFile) -> Iterator[None]:
    """Turn errors about the content into a ``DatasetError`` with the file and the expected checksum."""
    try:
        with content_errors_named(f"{path} is not {file.name} of the registry ({file.expected})"):
            yield
    except ValueError as error:
        raise DatasetError(f"{error}; delete or replace it") from None


def verified(path: Path, file: DataFile) -> Generator[bytes, None, None]:
    """Yield the text; raise if it is too long or, at the end, if its checksum is wrong."""
    algorithm, _, wanted = (file.text or "sha256:").partition(":")
    digest, size = hashlib.new(algorithm), 0
    for piece in to_svmlight(pieces(path)) if path.name == file.original else pieces(path):
        size += len(piece)
        if size > file.bytes:
            raise ValueError(f"its text has more than {file.bytes} bytes")
        digest.update(piece)
        yield piece
    if digest.hexdigest() != wanted and not is_archive(path, file):
        raise ValueError(f"its text has {algorithm}:{digest.hexdigest()}")


def is_archive(path: Path, file: DataFile) -> bool:
    """Whether the copy is the published archive, byte for byte."""
    if file.archive is None:
        return False
    algorithm, _, wanted = file.archive.partition(":")
    with path.open("rb") as archive:
        return hashlib.file_digest(archive, algorithm).hexdigest() == wanted


def kept(text: Iterable[bytes], path: Path) -> Generator[bytes, None, None]:
    """Yield the text and, unless the folder is read-only, save it to ``path`` once it is complete."""
    with ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(whole_file(path))
        except OSError:
            yield from text
            return
        for piece in text:
            file.write(piece)
            yield piece
