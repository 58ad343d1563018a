"""``write_shards``: large files cut and converted into a folder of shards, in two passes at a steady memory.

The first pass checks the content and counts rows, columns and entries. The second one writes. The folder appears when
it is complete, or not at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike
from scipy import sparse

from ..arrays import CsrMatrix, Matrix
from ..columns import is_sparse
from ..container import require
from ..datasets.budget import bytes_of
from ..datasets.csr_files import csr_of
from ..datasets.items import cuts
from ..datasets.labels import labels_file
from ..datasets.parts import Stamp, row_bytes, stamp_of
from ..parameters import check_integer
from ..writing import whole_folder
from .row_streams import PIECE, Stream, bytes_in, stream_of
from .survey import Progress, Survey, survey

FORMATS = ("npy", "npz")
TYPES = ("float32", "float64")
MEMORY = "256M"
OWN_FILE = re.compile(r"part-[0-9]{5,}\.(npy|npz|labels\.npy)")
Sources = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Written(NamedTuple):
    """What ``write_shards`` has written: sizes, number of shards, bytes of all files, and the format."""

    rows: int
    features: int
    shards: int
    bytes: int
    format: str


class Form(NamedTuple):
    """How shards are written: format, type, number of columns, and the rows or bytes that complete one."""

    format: Literal["npy", "npz"]
    dtype: np.dtype
    columns: int
    rows: int
    bytes: int


def write_shards(
    sources: Sources,
    folder: str | os.PathLike[str],
    *,
    rows: int | None = None,
    memory: int | str = MEMORY,
    format: str | None = None,
    dtype: DTypeLike | None = None,
    label: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Written:
    """Cut and convert large files into shards that ``swapsvm.datasets.Shards`` reads.

    svmlight text, CSV, Parquet and npy are streamed twice: the first pass checks and counts, the second one writes. An
    npz archive is read as a whole. The folder appears when it is complete; an error or Ctrl-C leaves nothing behind.

    Parameters
    ----------
    sources : path or list of paths
        Files that ``read_table`` reads, or folders of shards; their rows are joined in this order.
    folder : path
        The folder to write, which must not exist or be empty. Its files are ``part-00000.npy``, a dense matrix, or
        ``part-00000.npz``, a CSR matrix, and ``part-00000.labels.npy``, and so on.
    rows : int, optional
        Rows of a shard; by default as many as a quarter of ``memory`` holds.
    memory : int or str
        Bytes for rows, about, or text such as ``"256M"`` or ``"1G"``.
    format : {"npy", "npz"}, optional
        Dense or sparse; by default sparse for svmlight and CSR files in which at least half of all values are zero.
    dtype : {numpy.float32, numpy.float64}, optional
        By default float32 if all rows are in float32, else float64.
    label : str, optional
        CSV, Parquet: the label column, by name or number (1 is the first, -1 the last). By default the first.
    force : bool
        Replace a folder of shards.
    progress : callable, optional
        Called with what was done (``"counted"`` or ``"wrote"``), to how many rows, and of how many (None if unknown).

    Returns
    -------
    Written
        ``rows``, ``features``, ``shards``, ``bytes`` and ``format``.

    Raises
    ------
    ValueError
        If a source is malformed, sources do not fit together, or the folder has other files.

    Examples
    --------
    >>> from swapsvm.datasets import Shards
    >>> from swapsvm.files import write_shards
    >>> written = write_shards("train.svm", "folder", rows=100_000)  # doctest: +SKIP
    >>> X = Shards("folder")  # doctest: +SKIP
    """
    require(format in (None, *FORMATS), f"format={format!r} must be one of {list(FORMATS)}")
    require(dtype is None or np.dtype(dtype) in TYPES, f"dtype={dtype!r} must be one of {list(TYPES)}")
    if rows is not None:
        check_integer("rows", rows, lambda n: n >= 1, "a positive integer")
    budget, goal = bytes_of("memory", memory), Path(os.path.realpath(folder))
    check_target_folder(goal, force)
    paths = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    require(paths, "there are no files to cut")
    streams = [stream_of(path, label, budget) for path in paths]
    stamps = [stamp_of(os.fspath(path)) for path in paths]
    report = progress or (lambda done, rows, total: None)
    found = survey(streams, report)
    form = form_of(found, rows, budget, format, found.dtype(dtype))
    with whole_folder(goal) as draft:
        written = write_all(streams, found, form, draft, report)
        check_unchanged(paths, stamps)
    return written


def check_target_folder(goal: Path, force: bool) -> None:
    """Raise unless the folder can be written: only a folder of shards is ever replaced."""
    if goal.exists() and not goal.is_dir():
        raise NotADirectoryError(f"{goal}: is a file: name a folder")
    if not goal.parent.is_dir():
        raise FileNotFoundError(f"{goal}: there is no folder {goal.parent}")
    names = sorted(os.listdir(goal)) if goal.is_dir() else []
    require(force or not names, f"{goal}: is not empty: name another folder, or replace its shards (--force)")
    foreign = [name for name in names if not OWN_FILE.fullmatch(name)]
    require(not foreign, f"{goal}: cannot be replaced: {', '.join(foreign[:1])} is no file of a folder of shards")


def check_unchanged(paths: Sequence[str | os.PathLike[str]], stamps: Sequence[Stamp]) -> None:
    """``ValueError`` if a source has been changed since it was opened."""
    for path, stamp in zip(paths, stamps, strict=True):
        require(stamp_of(os.fspath(path)) == stamp, f"{path}: has been changed while it was read")


def form_of(found: Survey, rows: int | None, memory: int, format: str | None, dtype: np.dtype) -> Form:
    """The form of the shards; those of npz are cut by bytes, since their rows differ in length."""
    if (format or ("npz" if found.sparse and found.mostly_zero else "npy")) == "npz":
        return Form("npz", dtype, found.columns, rows or found.rows, found.rows * memory if rows else memory // 4)
    fitting = max(1, memory // 4 // row_bytes(found.columns, dtype))
    return Form("npy", dtype, found.columns, rows or fitting, found.rows * memory)


def write_all(streams: Sequence[Stream], found: Survey, form: Form, folder: Path, progress: Progress) -> Written:
    """The second pass."""
    shards = done = size = 0
    for shard in cut(converted(streams, found, form), form):
        path = folder / f"part-{shards:05d}.{form.format}"
        WRITERS[form.format](path, shard.rows, form.columns)
        if found.labelled:
            with written_file(labels_file(path)) as file:
                np.save(file, np.concatenate(shard.labels), allow_pickle=False)
        done, shards = done + sum(X.shape[0] for X in shard.rows), shards + 1
        size += sum(one.stat().st_size for one in folder.glob(f"{path.stem}.*"))
        progress("wrote", done, found.rows)
    require(done == found.rows, f"{streams[0].name}: {found.rows} rows were counted, but {done} were read")
    return Written(found.rows, found.columns, shards, size, form.format)


def converted(streams: Iterable[Stream], found: Survey, form: Form) -> Iterator[tuple[Matrix, np.ndarray]]:
    """All blocks in the type, storage and kind of labels to write."""
    for stream in streams:
        for X, y in stream.blocks(form.bytes // 8):
            labels = np.empty(X.shape[0]) if y is None else found.kind.converted(y)
            if form.format == "npz":
                yield as_csr(X, form), labels
            else:
                yield from dense_blocks(X, labels, form)


def as_csr(X: Matrix, form: Form) -> CsrMatrix:
    """Rows as CSR with all columns."""
    rows = X.tocsr() if is_sparse(X) else sparse.csr_array(np.asarray(X))
    return csr_of(rows.data.astype(form.dtype, copy=False), rows.indices, rows.indptr, (X.shape[0], form.columns))


def dense_blocks(X: Matrix, labels: np.ndarray, form: Form) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows as dense arrays with all columns; few sparse rows at a time, since they can become much larger."""
    if not is_sparse(X):
        yield np.ascontiguousarray(X, form.dtype), labels
        return
    rows = as_csr(X, form)
    for begin, end in cuts(X.shape[0], row_bytes(form.columns, form.dtype), PIECE):
        yield rows[begin:end].toarray(), labels[begin:end]


def cut(blocks: Iterable[tuple[Matrix, np.ndarray]], form: Form) -> Iterator[Pending]:
    """The blocks of each shard."""
    shard = Pending(form)
    for X, y in blocks:
        begin = 0
        while begin < X.shape[0]:
            begin = shard.add(X, y, begin)
            if shard.full:
                yield shard
                shard = Pending(form)
    if shard.rows:
        yield shard


class Pending:
    """The blocks of the shard that is being filled."""

    def __init__(self, form: Form) -> None:
        self.rows: list[Matrix] = []
        self.labels: list[np.ndarray] = []
        self.full = False
        self._left, self._room = form.rows, form.bytes

    def add(self, X: Matrix, y: np.ndarray, begin: int) -> int:
        """Add the rows of a block from ``begin`` on that belong to this shard; returns the end of what was added."""
        end = min(X.shape[0], begin + self._left)
        part = X if end - begin == X.shape[0] else X[begin:end]
        self._room -= bytes_in(part)
        self.full = self._room < 0 and bool(self.rows)
        if self.full:
            return begin
        self.rows.append(part)
        self.labels.append(y[begin:end])
        self._left -= end - begin
        self.full = self._left == 0
        return end


@contextmanager
def written_file(path: Path) -> Iterator[BinaryIO]:
    """A new file, on the disk at the end."""
    with path.open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def write_dense(path: Path, blocks: Sequence[Matrix], columns: int) -> None:
    """Write blocks one after the other under one header, without joining them."""
    dtype = blocks[0].dtype
    shape = (sum(X.shape[0] for X in blocks), columns)
    header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    with written_file(path) as file:
        npy.write_array_header_1_0(file, header)
        for X in blocks:
            file.write(np.ascontiguousarray(X).data)


def write_csr(path: Path, blocks: Sequence[Matrix], columns: int) -> None:
    """Write a CSR matrix uncompressed: every pass over the rows reads it."""
    with written_file(path) as file:
        sparse.save_npz(file, sparse.vstack(blocks, format="csr"), compressed=False)


WRITERS = {"npy": write_dense, "npz": write_csr}
