"""Rows in several files: every format gives the same rows and labels, and every bad file is named."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import pickle
import subprocess
import sys
import zipfile
from itertools import pairwise

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import dump_svmlight_file

from swapsvm.datasets import Shards
from swapsvm.datasets.budget import bytes_of, in_units

from .footprint import MEGABYTE, peak_of

X = np.random.default_rng(0).normal(size=(12, 4)).round(6)  # text has 16 digits
Y = np.arange(12) % 3
CUTS = [0, 5, 5, 6, 12]  # an empty shard and one of a single row
COLUMNS = ["a", "b", "c", "d"]


def save_npy(path, X, y):
    np.save(path.with_suffix(".npy"), X)
    np.save(path.with_suffix(".labels.npy"), y)


def save_npz(path, X, y, compressed=True):
    sp.save_npz(path.with_suffix(".npz"), sp.csr_array(X), compressed=compressed)
    np.save(path.with_suffix(".labels.npy"), y)


def save_parquet(path, X, y, groups=3):
    table = pyarrow.table({"kind": y, **{f"x{j}": X[:, j] for j in range(X.shape[1])}})
    pyarrow.parquet.write_table(table, path.with_suffix(".parquet"), row_group_size=groups)


def save_text(path, X, y, ending=".svm", packed=bytes):
    file = io.BytesIO()
    if len(X):
        dump_svmlight_file(X, y, file, zero_based=False)
    path.with_suffix(ending).write_bytes(packed(file.getvalue()))


WRITERS = {
    "npy": save_npy,
    "npy in columns": lambda path, X, y: save_npy(path, np.asfortranarray(X), y),
    "npz": save_npz,
    "npz stored": lambda path, X, y: save_npz(path, X, y, compressed=False),
    "parquet": save_parquet,
    "svmlight": save_text,
    "no extension": lambda path, X, y: save_text(path, X, y, ""),
    "gzip": lambda path, X, y: save_text(path, X, y, ".txt.gz", gzip.compress),
    "bzip2": lambda path, X, y: save_text(path, X, y, ".libsvm.bz2", bz2.compress),
}
SPARSE = {"npz", "npz stored", "svmlight", "no extension", "gzip", "bzip2"}


def write(folder, writer, X=X, y=Y, cuts=CUTS):
    folder.mkdir(exist_ok=True)
    for k, (begin, end) in enumerate(pairwise(cuts)):
        writer(folder / f"part-{k}", X[begin:end], y[begin:end])
    return folder


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def whole(shards):
    return np.concatenate([dense(shards.read(k)) for k in range(len(shards.counts))])


def assert_is_normal(matrix, shards):
    """The layout that the compiled core takes as it is."""
    assert matrix.dtype == shards.dtype and matrix.shape[1] == shards.shape[1]
    if shards.is_sparse:
        assert isinstance(matrix, sp.csr_array) and matrix.indices.dtype == np.int32 and matrix.has_canonical_format
    else:
        assert type(matrix) is np.ndarray and matrix.flags.c_contiguous and matrix.flags.aligned


@st.composite
def tables(draw):
    """Rows with many zeros, labels, and where to cut them; some parts are empty, some have one row."""
    rows, columns = draw(st.integers(1, 9)), draw(st.integers(1, 5))
    value = st.one_of(st.just(0.0), st.integers(-(10**6), 10**6).map(lambda n: n / 64))
    cells = draw(st.lists(value, min_size=rows * columns, max_size=rows * columns))
    labels = draw(st.lists(st.integers(-3, 3), min_size=rows, max_size=rows))
    inner = sorted(draw(st.lists(st.integers(0, rows), max_size=3)))
    return np.reshape(cells, (rows, columns)), np.array(labels), [0, *inner, rows]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables())
@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_rows_and_labels(name, tmp_path_factory, table):
    rows, labels, cuts = table
    folder = write(tmp_path_factory.mktemp("shards"), WRITERS[name], rows, labels, cuts)
    shards = Shards(folder, n_features=rows.shape[1] if name in SPARSE else None)
    assert shards.shape == rows.shape and len(shards) == len(rows) and shards.ndim == 2
    assert shards.counts == np.diff(cuts).tolist() and shards.offsets.tolist() == cuts
    assert shards.is_sparse == (name in SPARSE) and shards.dtype == np.float64
    assert_array_equal(whole(shards), rows)
    assert_array_equal(shards.y, labels, strict=True)
    for k, count in enumerate(shards.counts):
        assert_is_normal(shards.read(k), shards)
        for places in (np.arange(count)[::-2], [], np.zeros(min(count, 1) * 3, np.int32)):
            taken = shards.take(k, places)
            assert_is_normal(taken, shards)
            assert_array_equal(dense(taken), rows[cuts[k] : cuts[k + 1]][np.asarray(places, int)])


def test_files_can_be_listed_and_one_file_is_enough(tmp_path):
    folder = write(tmp_path / "data", save_npy)
    shards = Shards([str(folder / "part-3.npy"), folder / "part-0.npy"])
    assert_array_equal(whole(shards), np.concatenate([X[6:], X[:5]]))
    assert_array_equal(shards.y, np.concatenate([Y[6:], Y[:5]]))
    assert shards.names == [str(folder / "part-3.npy"), str(folder / "part-0.npy")]
    assert_array_equal(whole(Shards(folder / "part-0.npy")), X[:5])


def test_sparse_shards_get_the_width_of_the_widest(tmp_path):
    save_npz(tmp_path / "a", X[:, :2], Y)
    save_npz(tmp_path / "b", X, Y)
    shards = Shards(tmp_path)
    assert shards.shape == (24, 4) and shards.read(0).shape == (12, 4)
    assert Shards(tmp_path, n_features=9).read(1).shape == (12, 9)


def test_single_precision_stays_only_if_all_shards_have_it(tmp_path):
    save_npy(tmp_path / "a", X.astype(np.float32), Y)
    save_parquet(tmp_path / "b", X.astype(np.float32), Y)
    assert Shards(tmp_path).dtype == np.float32 == Shards(tmp_path).read(1).dtype
    save_npy(tmp_path / "c", X, Y)
    shards = Shards(tmp_path)
    assert shards.dtype == np.float64 == shards.read(0).dtype
    assert_array_equal(shards.read(0), X.astype(np.float32))


@pytest.mark.parametrize("dtype", ["int8", "uint64", "bool", "float16", ">f8", ">i4"])
def test_other_numbers_are_converted(tmp_path, dtype):
    values = (X > 0).astype(dtype)
    save_npy(tmp_path / "a", values, Y)
    assert Shards(tmp_path).read(0).dtype == np.float64
    assert_array_equal(Shards(tmp_path).read(0), values.astype(float))
    assert_array_equal(Shards([values]).take(0, [3]), values[[3]].astype(float))
    assert Shards([X.astype(">f4")]).read(0).dtype == np.float32


def test_a_csr_matrix_is_made_canonical_without_changing_it(tmp_path):
    loose = sp.csr_array((np.arange(1.0, 5), np.array([2, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 3))
    sp.save_npz(tmp_path / "a.npz", loose)
    for shards in (Shards([loose]), Shards(tmp_path)):
        assert_is_normal(shards.read(0), shards)
        assert_array_equal(shards.read(0).toarray(), [[2, 0, 1], [0, 7, 0]])
    assert loose.indices.tolist() == [2, 0, 1, 1] and loose.data.tolist() == [1, 2, 3, 4]


def test_rows_of_a_csr_matrix_that_are_taken_are_summed_up():
    shards = Shards([sp.csr_matrix(X)])
    assert_array_equal(shards.take(0, [7, 7, 1]).toarray(), X[[7, 7, 1]])


# ---- labels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [Y, Y.tolist(), [Y[:5], Y[5:]], (list(Y[:5]), Y[5:]), np.array(list("abc"))[Y]])
def test_labels_can_be_given(y):
    shards = Shards([X[:5], X[5:]], y=y)
    assert_array_equal(shards.y, y if len(y) == 12 else Y)


def test_given_labels_replace_those_in_files(tmp_path):
    save_parquet(tmp_path / "a", X, Y)
    (tmp_path / "a.labels.npy").write_bytes(b"never read")
    save_npy(tmp_path / "b", np.column_stack([X, X[:, 0]]), Y)
    shards = Shards(tmp_path, y=[Y + 5, Y + 9])
    assert_array_equal(shards.y, np.append(Y + 5, Y + 9))
    assert shards.shape == (24, 5)  # without a label column all columns are features


def test_rows_without_labels(tmp_path):
    np.save(tmp_path / "a.npy", X)
    assert Shards(tmp_path).y is None
    save_parquet(tmp_path / "b", X, Y)
    shards = Shards(tmp_path / "b.parquet", n_features=5)
    assert shards.y is None and shards.shape == (12, 5)


@pytest.mark.parametrize("label", ["kind", "1", "-5"])
def test_the_label_column_of_parquet(tmp_path, label):
    texts = np.array(["no", "perhaps", "yes"])[Y]
    save_parquet(tmp_path / "a", X, texts)
    shards = Shards(tmp_path, label=label)
    assert_array_equal(shards.y, texts)
    assert_array_equal(shards.read(0), X)


def test_text_labels_of_different_lengths_beside_an_empty_shard(tmp_path):
    for name, labels in {"a": ["x"], "b": [], "c": ["yes", "z"]}.items():
        np.save(tmp_path / f"{name}.npy", np.zeros((len(labels), 2)))
        np.save(tmp_path / f"{name}.labels.npy", np.array(labels))
    assert Shards(tmp_path).y.tolist() == ["x", "yes", "z"]


def test_whole_numbers_are_integers(tmp_path):
    save_text(tmp_path / "a", X, Y)
    save_text(tmp_path / "b", X, Y + 0.5)
    assert Shards([tmp_path / "a.svm"]).y.dtype == np.int64
    assert_array_equal(Shards(tmp_path).y, np.append(Y, Y + 0.5), strict=True)


# ---- cutting, memory and pickling -----------------------------------------------------------------------------------


@pytest.mark.parametrize("matrix", [X, np.asfortranarray(X), sp.csr_matrix(X), sp.csc_array(X), X[::2], X[:, 1:3]])
def test_an_array_is_cut(matrix):
    judge = dense(matrix)
    shards = Shards(matrix, memory_limit=4 * 80)
    assert len(shards.counts) > 2 and max(shards.counts) <= 80 // (8 * judge.shape[1])
    assert_array_equal(whole(shards), judge)
    assert shards.names[0] == f"X[0:{shards.counts[0]}]"
    assert_is_normal(shards.read(1), shards)
    assert_array_equal(dense(shards.take(1, [0])), judge[[shards.offsets[1]]])


def test_a_dense_array_in_memory_is_not_copied():
    shards = Shards(X, memory_limit=400)
    assert np.shares_memory(shards.read(1), X)


@pytest.mark.parametrize("writer", [save_npy, WRITERS["npy in columns"], save_parquet])
def test_large_files_are_cut(tmp_path, writer):
    writer(tmp_path / "a", X, Y)
    file = next(path for path in tmp_path.iterdir() if "labels" not in path.name)
    shards = Shards(tmp_path, memory_limit=4 * 3 * 32)
    assert max(shards.counts) <= 3 and shards.names[0] == f"{file}[0:{shards.counts[0]}]"
    assert_array_equal(whole(shards), X)
    assert_array_equal(shards.y, Y)
    begin = shards.offsets[2]
    assert_array_equal(shards.take(2, [1, 0]), X[[begin + 1, begin]])


@pytest.mark.parametrize("writer", [save_npz, save_text])
def test_files_that_cannot_be_cut_must_fit(tmp_path, writer):
    writer(tmp_path / "a", X, Y)
    with pytest.raises(
        ValueError, match=r"a\.\w+: takes 672 bytes in memory, more than memory_limit=600 bytes: cut it"
    ):
        Shards(tmp_path, memory_limit=600)
    Shards(tmp_path, memory_limit=700)


@pytest.mark.parametrize(
    ("amount", "n_bytes"), [(5, 5), ("5", 5), ("1.5K", 1536), ("500M", 500 << 20), ("1 GiB", 1 << 30), ("2tb", 2 << 40)]
)
def test_memory_limits(amount, n_bytes):
    assert Shards(X, memory_limit=amount).memory_limit == n_bytes == bytes_of("memory", amount)


@pytest.mark.parametrize("amount", [0, -1, 1.5, True, "", "G", "1X", "-1G", "0", "1e3"])
def test_bad_memory_limits(amount):
    with pytest.raises(ValueError, match=r"memory_limit=.* must be a positive number of bytes, or text such as"):
        Shards(X, memory_limit=amount)


def test_bytes_for_people():
    assert [in_units(n) for n in (12, 2048, 3 << 29)] == ["12 bytes", "2 KB", "1.5 GB"]


@pytest.fixture
def mapped(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    return np.load(tmp_path / "rows.npy", mmap_mode="r")


@pytest.mark.parametrize("view", [lambda m: m, lambda m: m[3:9], lambda m: m[2:][1:]], ids=["all", "some", "twice"])
def test_memory_maps_are_read_from_their_file(mapped, view):
    shards = Shards(view(mapped), memory_limit=400)
    assert_array_equal(whole(shards), view(X))
    assert_array_equal(shards.take(1, [1, 0]), view(X)[[shards.offsets[1] + 1, shards.offsets[1]]])
    assert type(shards.read(0)) is np.ndarray and not np.shares_memory(shards.read(0), mapped)


@pytest.mark.parametrize("view", [lambda m: m[::2], lambda m: m[:, 1:]], ids=["every other row", "some columns"])
def test_memory_maps_with_gaps_are_read_through_the_map(mapped, view):
    assert_array_equal(whole(Shards(view(mapped), memory_limit=400)), view(X))


def test_a_map_at_an_odd_place_and_one_with_private_changes(tmp_path):
    (tmp_path / "raw").write_bytes(b"odd" + bytes(5000) + X.tobytes())
    assert_array_equal(whole(Shards(np.memmap(tmp_path / "raw", float, "r", 5003, X.shape))), X)
    private = np.memmap(tmp_path / "raw", float, "c", 5003, X.shape)
    private[0] = 7
    assert_array_equal(whole(Shards(private))[0], np.full(4, 7))


@pytest.mark.parametrize("name", WRITERS)
def test_shards_can_be_pickled(tmp_path, name, monkeypatch):
    write(tmp_path / "data", WRITERS[name])
    monkeypatch.chdir(tmp_path)
    sent = pickle.dumps(Shards("data"))
    monkeypatch.chdir("/")
    shards = pickle.loads(sent)
    assert_array_equal(whole(shards), X)
    assert_array_equal(shards.y, Y)


def test_a_memory_map_is_pickled_as_a_path(tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((1000, 100)))
    sent = pickle.dumps(Shards(np.load(tmp_path / "rows.npy", mmap_mode="r")[100:], memory_limit="100K"))
    assert len(sent) < 20_000
    code = "import pickle, sys; s = pickle.load(sys.stdin.buffer); print(sum(s.read(k).sum() for k in range(29)))"
    found = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True)
    assert found.stdout.split() == [b"90000.0"]


@pytest.mark.parametrize("storage", [np.array, sp.csr_array])
def test_arrays_in_memory_are_pickled_once(storage):
    rows = np.random.default_rng(0).normal(size=(1000, 10))
    shards = Shards(storage(rows), memory_limit="40K")
    assert len(shards.counts) > 5 and len(pickle.dumps(shards)) < 1.7 * rows.nbytes
    assert_array_equal(whole(pickle.loads(pickle.dumps(shards))), rows)


def test_opening_an_array_copies_nothing():
    rows = sp.csr_array(sp.random(100_000, 100, 0.1, "csr", np.float64, np.random.default_rng(0)))
    assert peak_of(lambda: Shards(rows, memory_limit="10M")) < 2 * MEGABYTE


@pytest.mark.parametrize("name", ["npy", "npz stored", "parquet"])
def test_reading_a_shard_takes_the_memory_of_a_shard(tmp_path, name):
    rows, size = np.random.default_rng(0).normal(size=(20_000, 50)), 8 * 20_000 * 50
    for k in range(3):
        WRITERS[name](tmp_path / f"part-{k}", rows, np.zeros(len(rows)), *([5000] if name == "parquet" else []))
    factor = 1.5 if name in SPARSE else 1  # indices

    def read_all():
        shards = Shards(tmp_path)
        for k in range(3):
            shards.read(k)

    read_all()  # imports
    # all three at once would take at least 3 * size, and buffers; PyArrow's allocator keeps some megabytes
    assert peak_of(read_all) < 2 * factor * size + 7 * MEGABYTE


def test_taking_a_few_rows_of_an_npy_file_reads_little(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((100_000, 100), np.float32))
    shards = Shards(tmp_path)
    assert peak_of(lambda: shards.take(0, [99_999, 5])) < 2 * MEGABYTE


# ---- bad input ------------------------------------------------------------------------------------------------------


def refused(source, match, error=ValueError, **options):
    with pytest.raises(error, match=match):
        Shards(source, **options)


def test_widths_differ(tmp_path):
    save_npy(tmp_path / "a", X, Y)
    save_npy(tmp_path / "b", X[:, :3], Y)
    refused(tmp_path, r"b\.npy: has 3 features, not the 4 of .*a\.npy$")
    refused(tmp_path / "a.npy", r"a\.npy: has 4 features, not n_features=3$", n_features=3)
    refused([sp.csr_array(X)], r"array 0: has 4 features, not n_features=3$", n_features=3)
    refused([X], r"n_features=0 must be a positive integer", n_features=0)


def test_an_index_beyond_n_features_has_its_line(tmp_path):
    (tmp_path / "a.svm").write_bytes(b"1 1:1\n1 9:1\n")
    refused(tmp_path, r"a\.svm: line 2: indices end at the number of features, 3", n_features=3)


def test_dense_beside_sparse(tmp_path):
    save_npy(tmp_path / "a", X, Y)
    save_npz(tmp_path / "b", X, Y)
    refused(tmp_path, r"b\.npz: is sparse, but .*a\.npy is dense")
    refused([sp.csr_array(X), X], r"array 1: is dense, but array 0 is sparse")


@pytest.mark.parametrize("values", [X.astype(complex), np.array([["a"]]), np.zeros(3, "M8[s]"), np.zeros((1, 1), "V8")])
def test_types_that_are_no_numbers(tmp_path, values):
    np.save(tmp_path / "a.npy", values)
    refused(
        tmp_path, r"a\.npy: is (not a readable npy file: its type .* is neither|\d-dimensional of .*, not a matrix)"
    )
    refused([values], r"array 0: is \d-dimensional of .*, not a matrix of numbers")


def test_objects_are_never_unpickled(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1, None]], dtype=object), allow_pickle=True)
    refused(tmp_path, r"a\.npy: is not a readable npy file: it holds Python objects, which are never loaded")
    refused([np.array([[1, None]], dtype=object)], r"array 0: is 2-dimensional of object, not a matrix of numbers")
    save_npy(tmp_path / "a", X, Y)
    np.save(tmp_path / "a.labels.npy", np.array(["x"] * 12, dtype=object), allow_pickle=True)
    refused(tmp_path, r"a\.labels\.npy: is not a readable npy file: it holds Python objects")


@pytest.mark.parametrize("shape", [(12,), (2, 3, 2)])
def test_arrays_that_are_no_matrices(tmp_path, shape):
    np.save(tmp_path / "y.npy", np.zeros(shape))
    hint = r"; labels belong in NAME.labels.npy" if len(shape) == 1 else "$"
    refused(tmp_path, rf"y\.npy: is {len(shape)}-dimensional of float64, not a matrix of numbers{hint}")
    refused([np.zeros(shape)], rf"array 0: is {len(shape)}-dimensional")


def test_missing_files(tmp_path):
    refused(tmp_path / "no.npy", r"no\.npy", FileNotFoundError)
    refused([tmp_path / "no.svm"], r"no\.svm", FileNotFoundError)
    save_npy(tmp_path / "a", X, Y)
    np.save(tmp_path / "b.labels.npy", Y)
    refused(tmp_path, r"b\.labels\.npy: the shard of these labels is missing")


@pytest.mark.parametrize("name", ["npy", "npz", "npz stored", "parquet", "gzip"])
def test_truncated_files(tmp_path, name):
    WRITERS[name](tmp_path / "a", X, Y)
    path = next(path for path in tmp_path.iterdir() if "labels" not in path.name)
    content = path.read_bytes()
    for length in (0, 1, 7, 100, len(content) - 1):
        path.write_bytes(content[:length])
        if (name, length) != ("gzip", 0):  # an empty text has no rows
            refused(tmp_path, rf"{path.name}: ")
    path.write_bytes(content)
    assert_array_equal(whole(Shards(tmp_path)), X)


def test_an_npy_file_that_is_too_long(tmp_path):
    save_npy(tmp_path / "a", X, Y)
    (tmp_path / "a.npy").write_bytes((tmp_path / "a.npy").read_bytes() + b"more")
    refused(tmp_path, r"a\.npy: is not a readable npy file: an array \(12, 4\) of float64 does not take 388 bytes")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["npy", "npz", "parquet"])
def test_a_value_that_is_not_finite_in_the_third_shard(tmp_path, name, bad):
    rows = np.vstack([X, X, X])
    rows[29, 2] = bad
    folder = write(tmp_path / "data", WRITERS[name], rows, np.zeros(36), [0, 12, 24, 36])
    shards = Shards(folder)
    shards.read(1)
    match = r"part-2\.\w+: row 5 \(the first row is 0\) has a value that is NaN or infinite"
    with pytest.raises(ValueError, match=match):
        shards.read(2)
    with pytest.raises(ValueError, match=match):
        shards.take(2, [8, 5, 1])
    assert_array_equal(dense(shards.take(2, [8, 1])), rows[[32, 25]])


def test_the_row_of_a_bad_value_counts_from_the_begin_of_the_file(tmp_path):
    rows = X.copy()
    rows[10, 0] = np.nan
    np.save(tmp_path / "a.npy", rows)
    shards = Shards(tmp_path, memory_limit=400)
    with pytest.raises(ValueError, match=r"a\.npy: row 10 "):
        shards.read(len(shards.counts) - 1)


def test_large_values_are_finite():
    assert_array_equal(Shards([np.full((2, 2), 1e308)]).read(0), np.full((2, 2), 1e308))


def test_labels_that_are_missing_or_do_not_fit(tmp_path):
    save_npy(tmp_path / "a", X, Y)
    np.save(tmp_path / "b.npy", X)
    refused(tmp_path, r"b\.npy: has no labels, but other shards have some")
    np.save(tmp_path / "b.labels.npy", Y[:5])
    refused(tmp_path, r"b\.labels\.npy: the labels have shape \(5,\), not \(12,\), one per row")
    np.save(tmp_path / "b.labels.npy", np.array(["x"] * 12))
    refused(tmp_path, r"b\.npy: the labels are text, but those of .*a\.npy are numbers")
    np.save(tmp_path / "b.labels.npy", np.full(12, np.nan))
    refused(tmp_path, r"b\.labels\.npy: the labels are not all finite")
    refused(tmp_path, r"y has 1 arrays for 2 shards", y=[Y])
    refused(tmp_path, r"y of .*b\.npy: the labels have shape \(5,\), not \(12,\)", y=[Y, Y[:5]])
    refused(tmp_path, r"y: the labels have shape \(12,\), not \(24,\)", y=Y)
    refused(tmp_path, r"y of .*a\.npy: the labels are text, but those of y of .*b\.npy are numbers", y=[["x"] * 12, Y])


def test_sources_without_shards(tmp_path):
    refused(tmp_path, "has no shards")
    refused([], "the list of shards is empty")
    refused(None, "NoneType is not a source of shards: name a folder, files or arrays")
    refused([[1.0, 2.0]], "shard 0 is a list, neither a file nor an array")
    refused([tmp_path], "is a folder: name it alone, or name files")
    (tmp_path / "a.svm").touch()
    refused(tmp_path, r"the shards have no rows: .*a\.svm$")
    refused([np.ones((3, 0))], "array 0: has no features")


def test_other_files_of_a_folder(tmp_path):
    save_npy(tmp_path / "a", X, Y)
    for name in (".hidden", "README.txt", "_SUCCESS", "meta.json", "notes.md"):
        (tmp_path / name).write_text("not data")
    assert Shards(tmp_path).names == [str(tmp_path / "a.npy")]
    (tmp_path / "b.csv").touch()
    refused(
        tmp_path, r"b\.csv: is not a shard: the extension must be one of \.npy, .*; convert it with `swapsvm shard`"
    )
    (tmp_path / "b.csv").rename(tmp_path / "b.npy.gz")
    refused(tmp_path, r"b\.npy\.gz: is not a shard")
    (tmp_path / "b.npy.gz").unlink()
    (tmp_path / "b").mkdir()
    refused(tmp_path, r"b: is a folder: shards must be files")


@pytest.mark.parametrize("name", ["npy", "npz", "parquet", "svmlight"])
def test_files_that_are_changed_between_passes(tmp_path, name):
    folder = write(tmp_path / "data", WRITERS[name])
    shards = Shards(folder)
    shards.read(3)
    WRITERS[name](folder / "part-3", X[:3], Y[:3])
    for call in (lambda: shards.read(3), lambda: shards.take(3, [0])):
        with pytest.raises(
            ValueError, match=r"part-3\.\w+: has been changed since it was opened: open the shards again"
        ):
            call()
    next(path for path in folder.glob("part-3.*") if "labels" not in path.name).unlink()
    with pytest.raises(FileNotFoundError, match=r"part-3"):
        shards.read(3)


def test_a_file_of_the_same_size_with_another_time(tmp_path):
    save_npy(tmp_path / "a", X, Y)
    shards = Shards(tmp_path)
    os.utime(tmp_path / "a.npy", (1, 1))
    with pytest.raises(ValueError, match=r"has been changed since it was opened"):
        shards.read(0)


@pytest.mark.parametrize("rows", [[12], [-1], [0.5], [[0]], [True]])
def test_rows_that_are_not_there(rows):
    with pytest.raises(ValueError, match=r"X has 12 rows, no row|rows must be a list of integers"):
        Shards(X).take(0, rows)


def with_member(path, name, values):
    """Write a CSR archive in which one array is replaced."""
    arrays = {
        "indices": [0, 1],
        "indptr": [0, 1, 2],
        "format": b"csr",
        "shape": [2, 2],
        "data": [1.0, 2.0],
        name: values,
    }
    np.savez(path, **{key: np.array(value) for key, value in arrays.items() if value is not None})


@pytest.mark.parametrize(
    ("name", "values", "match"),
    [
        ("indices", None, "it has no CSR matrix as scipy.sparse.save_npz writes it"),
        ("format", b"csc", "its matrix is stored as csc: convert it to CSR"),
        ("shape", [2], "is not that of a matrix"),
        ("shape", [2, 2**40], "at most 2\\*\\*31 - 1 are supported"),
        ("shape", [3, 2], "indptr is not 4 integers"),
        ("data", [1.0], "indices and data differ in length"),
        ("data", ["a", "b"], "neither numbers nor text"),
        ("data", [1j, 2j], "neither numbers nor text"),
    ],
)
def test_archives_that_are_refused_when_they_are_opened(tmp_path, name, values, match):
    with_member(tmp_path / "a.npz", name, values)
    refused(tmp_path, rf"a\.npz: is not a readable npz file: .*{match}")


@pytest.mark.parametrize(
    ("name", "values", "match"),
    [
        ("indices", [0, 2], "indices are not all within the 2 columns"),
        ("indices", [0, -1], "indices are not all within the 2 columns"),
        ("indptr", [0, 3, 2], "indptr decreases"),
        ("indptr", [1, 1, 2], "indptr does not span the data"),
        ("indptr", [0.0, 1.0, 2.0], "indptr is not 3 integers"),
    ],
)
def test_archives_that_are_refused_when_they_are_read(tmp_path, name, values, match):
    with_member(tmp_path / "a.npz", name, values)
    with pytest.raises(ValueError, match=rf"a\.npz: is not a readable npz file: {match}"):
        Shards(tmp_path).read(0)


def test_a_damaged_archive(tmp_path):
    save_npz(tmp_path / "a", X, Y, compressed=False)
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[content.index(X[0].tobytes())] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npz: is not a readable npz file: Bad CRC-32"):
        Shards(tmp_path).read(0)


def test_an_archive_that_declares_an_impossible_size(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_BZIP2) as archive:
        for name, values in {"format": b"csr", "shape": [1, 1], "data": np.zeros(10**7)}.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.save(file, np.array(values))
        for name, values in {"indices": np.zeros(10**7, np.int32), "indptr": [0, 10**7]}.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.save(file, np.array(values))
    refused(tmp_path, r"a\.npz: is not a readable npz file: data\.npy has an impossible size")


def test_parquet_files_that_are_refused(tmp_path):
    table = {"kind": Y, "x": [None, *X[1:, 0]], "name": ["a"] * 12}
    pyarrow.parquet.write_table(pyarrow.table(table), tmp_path / "a.parquet")
    refused(tmp_path, r"a\.parquet: column 'name' has type string, which is not a number: leave it out, encode it")
    refused(tmp_path, r"has no label column 'no' \(the columns are kind, x, name\)", label="no")
    del table["name"]
    pyarrow.parquet.write_table(pyarrow.table(table), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet: column 'x' has 1 missing values: leave such rows out"):
        Shards(tmp_path).read(0)
    twice = pyarrow.table([Y, Y, Y], names=["kind", "x", "x"])
    pyarrow.parquet.write_table(twice, tmp_path / "a.parquet")
    refused(tmp_path, r"two of its columns have the same name")


def test_the_representation_has_the_sizes():
    assert repr(Shards([X, X])) == "<Shards: 24 x 4 dense rows of float64 in 2 shards>"
