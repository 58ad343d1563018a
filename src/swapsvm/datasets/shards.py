"""``Shards``: rows that lie in several files, of which only some are in memory at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np

from ..arrays import ArrayLike, CsrMatrix, Matrix
from ..columns import is_sparse
from ..container import require
from ..parameters import check_integer
from .budget import bytes_of, memory_share
from .csr_files import csr_of
from .items import Item, Wanted
from .labels import as_integers, checked_labels, joined_labels
from .opening import PathOrArray, open_items
from .parts import Part, is_single

CHECKED = 1 << 12  # rows that are searched for NaN at a time


class Shards:
    """Rows in several files or arrays, read one shard at a time.

    Opening reads headers only, except of svmlight text, which is scanned. Files that are malformed or do not fit
    together are refused then; NaN and infinity are found when a shard is read. Arrays, npy files and Parquet files of
    several row groups are cut into several shards if they are large in comparison with the memory limit.

    Parameters
    ----------
    source : path, array, or list of paths or arrays
        A folder, whose files are taken in the order of their names; a file; a list of files; or an array
        (``numpy.ndarray``, ``numpy.memmap``, CSR) or a list of them, which are not copied. Files are

        - ``NAME.npy``: a dense matrix,
        - ``NAME.npz``: a CSR matrix as ``scipy.sparse.save_npz`` writes it,
        - ``NAME.parquet`` or ``.pq``: columns of numbers, one of which can be labels,
        - ``NAME.svm``, ``.libsvm``, ``.svmlight``, ``.txt`` or without extension: svmlight text with labels, also
          compressed (``.gz``, ``.bz2``).

        The labels of npy and npz files are in ``NAME.labels.npy`` beside them. In a folder, hidden files, names that
        begin with ``_`` or ``README``, and ``.json`` and ``.md`` files are ignored; any other file is an error.
    y : array or list of arrays, optional
        Labels of all rows, or one array for each file or array, instead of those in the files.
    n_features : int, optional
        Number of columns: dense shards must have as many, sparse ones at most as many. By default that of the widest.
    label : str, optional
        Label column of Parquet files, by name or by number (1 is the first, -1 the last). By default the first, or none
        if ``y`` is given or there are exactly ``n_features`` columns.
    memory_limit : int or str, optional
        Bytes of rows that users of the shards hold in memory at a time, or text such as ``"500M"`` or ``"1G"``. By
        default a quarter of the memory. A shard that is larger and cannot be cut is an error.

    Attributes
    ----------
    shape : (int, int)
        Number of rows and of features.
    dtype : numpy.dtype
        float32 if all shards are in float32, else float64.
    is_sparse : bool
        Whether shards are CSR matrices.
    counts : list of int
        Rows of each shard; a shard can be empty.
    offsets : ndarray of int
        Number of rows before each shard, and at the end of all rows.
    names : list of str
        Names of the shards for messages.
    y : ndarray or None
        Labels of all rows.
    memory_limit : int
        In bytes.

    Raises
    ------
    ValueError
        If a file is malformed or truncated, or shards do not fit together; the message names the file.
    FileNotFoundError
        If a file does not exist.

    Examples
    --------
    >>> import numpy as np
    >>> from swapsvm.datasets import Shards
    >>> shards = Shards([np.eye(3), np.ones((2, 3))], y=[[0, 1, 0], [1, 1]])
    >>> shards.shape, shards.counts, shards.y.tolist()
    ((5, 3), [3, 2], [0, 1, 0, 1, 1])
    >>> shards.take(0, [2, 0]).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """

    ndim = 2

    def __init__(
        self,
        source: str | os.PathLike[str] | Matrix | Sequence[PathOrArray],
        *,
        y: ArrayLike | Sequence[ArrayLike] | None = None,
        n_features: int | None = None,
        label: str | None = None,
        memory_limit: int | str | None = None,
    ) -> None:
        if n_features is not None:
            check_integer("n_features", n_features, lambda n: n >= 1, "a positive integer")
        self.memory_limit = memory_share(4) if memory_limit is None else bytes_of("memory_limit", memory_limit)
        items = open_items(source, Wanted(label, n_features, y is None, self.memory_limit))
        self._parts = [part for item in items for part in item.parts]
        self.counts = [part.shape[0] for part in self._parts]
        self.offsets = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        self.names = [_name_of(part, len(item.parts) == 1) for item in items for part in item.parts]
        self.is_sparse = self._parts[0].sparse
        self.dtype = np.dtype(np.float32 if all(is_single(part.dtype) for part in self._parts) else np.float64)
        require(self.offsets[-1], f"the shards have no rows: {', '.join(self.names[:3])}")
        self.shape = (int(self.offsets[-1]), _width(self._parts, n_features))
        self.y = _labels_in_files(items) if y is None else _given_labels(y, items)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "dense"
        return f"<Shards: {self.shape[0]} x {self.shape[1]} {kind} rows of {self.dtype} in {len(self.counts)} shards>"

    def read(self, k: int) -> Matrix:
        """Read a shard.

        Parameters
        ----------
        k : int
            Number of the shard.

        Returns
        -------
        ndarray or csr_array
            The rows with all ``shape[1]`` columns in ``dtype``: C-contiguous, or canonical CSR with int32 indices. Rows
            of an array in memory are a view where they already are of this type and layout.

        Raises
        ------
        ValueError
            If a value is not finite, the message has the name of the file and the row in it; or if the file has been
            changed since it was opened.
        """
        part = self._parts[k]
        return self._checked(part, part.read(), range(part.shape[0]))

    def take(self, k: int, rows: ArrayLike) -> Matrix:
        """Read some rows of a shard.

        Only these rows are read from npy files, and only their row groups from Parquet files; other files are read as a
        whole.

        Parameters
        ----------
        k : int
            Number of the shard.
        rows : array of int
            Numbers of rows within the shard, in any order.

        Returns
        -------
        ndarray or csr_array
            As from ``read``.
        """
        part, places = self._parts[k], np.asarray(rows)
        places = places.astype(np.int64) if not places.size else places
        require(places.ndim == 1 and places.dtype.kind in "iu", f"rows must be a list of integers, not {places.dtype}")
        outside = places[(places < 0) | (places >= part.shape[0])]
        require(not outside.size, f"{self.names[k]} has {part.shape[0]} rows, no row {outside[:1]}")
        return self._checked(part, part.take(places), places)

    def _checked(self, part: Part, X: Matrix, rows: range | np.ndarray) -> Matrix:
        """X, which has these rows of the part, in the type and layout of all shards; every value is finite."""
        shape = (len(rows), self.shape[1] if part.sparse else part.shape[1])
        require(X.shape[0] == shape[0], f"{part.name}: has {X.shape[0]} instead of {shape[0]} rows")
        with np.errstate(over="ignore"):  # extended precision to infinity, which is found below
            converted = self._csr(X, shape) if is_sparse(X) else np.require(X, self.dtype, ["C", "A"])
        bad = first_bad_row(converted)
        if bad is not None:
            where = f"{part.name}: row {part.first + int(rows[bad])} (the first row is 0)"
            raise ValueError(f"{where} has a value that is NaN or infinite")
        return np.asarray(converted) if isinstance(converted, np.ndarray) else converted

    def _csr(self, X: CsrMatrix, shape: tuple[int, int]) -> CsrMatrix:
        """X as canonical CSR with int32 indices; a matrix of the user is never modified."""
        converted = csr_of(X.data.astype(self.dtype, copy=False), X.indices, X.indptr, shape)
        if not converted.has_canonical_format:
            converted = converted.copy()
            converted.sum_duplicates()
        return converted


def _name_of(part: Part, alone: bool) -> str:
    """The name of the file, with the rows if the file has several parts."""
    return part.name if alone else f"{part.name}[{part.first}:{part.first + part.shape[0]}]"


def _width(parts: Sequence[Part], n_features: int | None) -> int:
    """The number of features, on which dense parts must agree."""
    first = parts[0]
    width = n_features or (max(part.shape[1] for part in parts) if first.sparse else first.shape[1])
    for part in parts:
        kinds = f"{part.name}: is {_storage(part)}, but {first.name} is {_storage(first)}"
        require(part.sparse == first.sparse, kinds)
        fits = part.shape[1] <= width if part.sparse else part.shape[1] == width
        of = f"n_features={n_features}" if n_features else f"the {width} of {first.name}"
        require(fits, f"{part.name}: has {part.shape[1]} features, not {of}")
    require(width, f"{first.name}: has no features")
    return int(width)


def _storage(part: Part) -> str:
    return "sparse" if part.sparse else "dense"


def _labels_in_files(items: Sequence[Item]) -> np.ndarray | None:
    """The labels of all files; whole numbers are integers."""
    y = joined_labels([(item.name, item.y) for item in items])
    return as_integers(y) if y is not None and y.dtype.kind == "f" else y


def _given_labels(y: ArrayLike | Sequence[ArrayLike], items: Sequence[Item]) -> np.ndarray:
    """Labels that the user passes: of all rows, or of each file or array."""
    if isinstance(y, list | tuple) and y and all(np.ndim(part) == 1 for part in y):
        require(len(y) == len(items), f"y has {len(y)} arrays for {len(items)} shards")
        parts = zip(items, map(np.asarray, y), strict=True)
        named = [(f"y of {item.name}", checked_labels(f"y of {item.name}", part, item.n_rows)) for item, part in parts]
        return np.asarray(joined_labels(named))
    return checked_labels("y", np.asarray(y), sum(item.n_rows for item in items))


def first_bad_row(X: Matrix) -> int | None:
    """The first row with a value that is not finite, if there is one."""
    values = X.data if is_sparse(X) else np.asarray(X)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):  # no temporary array for data that are finite
            return None
    return next(_bad_rows(X), None)


def _bad_rows(X: Matrix) -> Iterator[int]:
    if is_sparse(X):
        for place in np.flatnonzero(~np.isfinite(X.data)):
            yield int(np.searchsorted(X.indptr, place, side="right")) - 1
        return
    for begin in range(0, len(X), CHECKED):
        bad = ~np.isfinite(X[begin : begin + CHECKED]).all(axis=1)
        yield from (begin + int(row) for row in np.flatnonzero(bad))
