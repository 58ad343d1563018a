"""Memory is proportional to the bytes of a file: at most 64 times, and within the stated limits if compressed."""

import bz2
import gzip
import hashlib
import io
import json
import struct
import zipfile
from contextlib import suppress

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from swapsvm import SVC
from swapsvm.container import CHECKSUM, PREFIX
from swapsvm.datasets import read_svmlight
from swapsvm.estimators.svdd import check_resolved
from swapsvm.files import Request, import_libsvm, load, read_table, save
from swapsvm.files.native import MODEL
from swapsvm.fitting.checkpoint import CHECKPOINT
from swapsvm.fitting.diagnosis import Sample
from swapsvm.kernels import Rbf, resolve_gamma

from .footprint import MEGABYTE, peak_of

FACTOR = 64  # bytes of memory for each byte of a file
BESIDE = 32 * MEGABYTE  # allowed for every reader
SIZE = 1_000_000  # bytes of a file, large enough for its factor to matter


def read_or_refused(call):
    """The bytes that a reader takes to read or refuse something."""

    def attempt():
        with suppress(ValueError):
            call()

    return peak_of(attempt)


def repeated(line, begin=b""):
    return begin + line * (SIZE // len(line))


TEXTS = {
    "rows without entries.svm": repeated(b"1\n", b"1 1:1\n"),
    "short rows.svm": repeated(b"1 1:1\n"),
    "one long row.svm": b"1 " + b" ".join(b"%d:1" % i for i in range(1, SIZE // 9)) + b"\n",
    "different labels.csv": b"".join(b"a%x,1\n" % i for i in range(SIZE // 8)),
    "short rows.csv": repeated(b"1,1\n"),
    "one long row.csv": repeated(b"11,") + b"11\n",
    "wide characters.csv": repeated("\U0001f600,1\n".encode()),
    "no labels.csv": repeated(b"1\n"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_tables(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(TEXTS[name])
    request = Request(n_features=1) if name == "no labels.csv" else None
    assert peak_of(lambda: read_table(path, request=request)) < FACTOR * len(TEXTS[name]) + BESIDE


def libsvm(n_classes, n_vectors):
    zeros, counts = b"0 " * (n_classes * (n_classes - 1) // 2), [n_vectors] + [0] * (n_classes - 1)
    labels = b" ".join(b"%d" % i for i in range(n_classes))
    head = b"svm_type c_svc\nkernel_type linear\nnr_class %d\ntotal_sv %d\nrho %b\n" % (n_classes, n_vectors, zeros)
    head += b"label %b\nnr_sv %b\nSV\n" % (labels, b" ".join(b"%d" % count for count in counts))
    return head + b"1\n" * n_vectors


@pytest.mark.parametrize(("n_classes", "n_vectors"), [(1000, 0), (2, SIZE // 2)])
def test_models_of_libsvm(n_classes, n_vectors, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(libsvm(n_classes, n_vectors))
    assert path.stat().st_size >= SIZE
    assert peak_of(lambda: import_libsvm(path)) < FACTOR * path.stat().st_size + BESIDE


# ---- containers --------------------------------------------------------------------------------------------------


def sealed(format, header, arrays=b""):
    length = PREFIX.size + len(header) + len(arrays) + CHECKSUM
    content = PREFIX.pack(format.magic, format.version, length, len(header)) + header + arrays
    return content + hashlib.sha256(content).digest()


HEADERS = {
    "lists": b'{"estimator": "SVC", "versions": {"swapsvm": "0"}, "arrays": [' + repeated(b"[],") + b"[]]}",
    "objects": b'{"estimator": "SVC", "versions": {"swapsvm": "0"}, "arrays": [' + repeated(b"{},") + b"{}]}",
    "keys": b"{" + b",".join(b'"%x":[]' % i for i in range(SIZE // 10)) + b"}",
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_of_models(name, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(sealed(MODEL, HEADERS[name]))
    assert read_or_refused(lambda: load(path)) < FACTOR * path.stat().st_size + BESIDE


@pytest.mark.parametrize("name", HEADERS)
def test_headers_of_checkpoints(name, tmp_path):
    path = tmp_path / "checkpoint"
    path.write_bytes(sealed(CHECKPOINT, HEADERS[name]))
    X, y = np.eye(4), [0, 1, 0, 1]
    SVC().fit(X, y)
    assert read_or_refused(lambda: SVC(checkpoint=path).fit(X, y)) < FACTOR * path.stat().st_size + BESIDE


def test_a_model_of_many_columns_and_few_entries(tmp_path):
    """Loading it, and the weights of a linear kernel, which are as many as columns."""
    columns = 2**22
    X = sp.csr_matrix(([1.0, 1.0, 2.0, 2.0], ([0, 1, 2, 3], [0, 1, 0, 1])), shape=(4, 2))
    model = SVC(kernel="linear").fit(X, [0, 1, 0, 1])
    save(model, tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    length = PREFIX.unpack(content[: PREFIX.size])[3]
    header = json.loads(content[PREFIX.size : PREFIX.size + length])
    attributes = header["model"]["SVC"]["attributes"]
    rows = attributes["model_"]["Pairwise"]["vectors"]["Vectors"]["rows"]["csr_matrix"]
    attributes["n_features_in_"] = rows["shape"][1] = columns
    arrays = content[PREFIX.size + length : -CHECKSUM]
    (tmp_path / "model").write_bytes(sealed(MODEL, json.dumps(header).encode(), arrays))
    assert peak_of(lambda: load(tmp_path / "model")) < BESIDE
    wide = load(tmp_path / "model")
    assert wide.coef_.shape == (1, columns)
    assert peak_of(lambda: wide.coef_) < 3 * 8 * columns + BESIDE


# ---- wide rows ---------------------------------------------------------------------------------------------------


def test_an_index_costs_nothing_by_itself():
    text = b"1 16777216:1\n-1 1:1\n" * 30
    assert peak_of(lambda: read_svmlight(text)) < BESIDE
    X, _ = read_svmlight(text)
    for rule in ("scale", "mean_sq_dist"):
        assert peak_of(lambda rule=rule: resolve_gamma(rule, Rbf, X)) < BESIDE
    assert peak_of(lambda: Sample.of(X, np.arange(60), 2)) < BESIDE
    assert peak_of(lambda: check_resolved(X, np.ones(X.shape[0]), 1.0)) < BESIDE


def test_wide_rows_without_entries():
    X = sp.csr_array((60, 2**24))
    assert resolve_gamma("scale", Rbf, X) == 1.0
    check_resolved(X, np.ones(X.shape[0]), 1.0)


def test_gamma_of_wide_rows_is_that_of_all_columns():
    rng = np.random.default_rng(0)
    few = sp.csr_array(rng.normal(size=(40, 3)))
    columns, wide = np.array([5, 2**19, 2**21 - 1], np.int32), 2**21
    X = sp.csr_array((few.data, columns[few.indices], few.indptr), shape=(40, wide))
    variance = (few.data**2).sum() / (40 * wide) - (few.data.sum() / (40 * wide)) ** 2
    assert resolve_gamma("scale", Rbf, X) == pytest.approx(1 / (wide * variance), rel=1e-12)
    assert resolve_gamma("mean_sq_dist", Rbf, X) == pytest.approx(resolve_gamma("mean_sq_dist", Rbf, few), rel=1e-12)


# ---- compressed text ---------------------------------------------------------------------------------------------

PACKERS = {".bz2": bz2.compress, ".gz": gzip.compress}
BOMBS = {"rows.svm": b"1\n", "rows.csv": b"1,1,1,1,1,1,1,1\n"}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("stream", [False, True])
def test_bombs_are_refused(name, ending, stream, tmp_path):
    path = tmp_path / (name + ending)
    path.write_bytes(PACKERS[ending](repeated(BOMBS[name]) * 5))

    def read():
        source = NoSeeking(path.read_bytes()) if stream else path
        with pytest.raises(ValueError, match=r"expands to more than 128 times .* decompress it first"):
            read_table(source, name.rpartition(".")[2].replace("svm", "svmlight"))

    assert peak_of(read) < FACTOR * max(4 * MEGABYTE, 128 * path.stat().st_size)


class NoSeeking(io.BytesIO):
    """A pipe, as far as a reader can tell."""

    def seekable(self):
        return False


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("stream", [False, True])
def test_text_that_compresses_well_is_read(ending, stream):
    """Repeated rows, as in KDD Cup 99: more than 4 MB of text, 20 to 128 times smaller when compressed."""
    rng = np.random.default_rng(0)
    rows = [b"1 " + b" ".join(b"%d:%d" % (j, rng.integers(9)) for j in range(1, 40)) + b"\n" for _ in range(60)]
    text = b"".join(rows[k] for k in rng.integers(60, size=30_000))
    packed = PACKERS[ending](text)
    assert len(text) > 4 * MEGABYTE and 20 < len(text) / len(packed) < 128
    X, _ = read_svmlight(NoSeeking(packed) if stream else packed)
    assert X.shape == (30_000, 39)


# ---- npz and Parquet ---------------------------------------------------------------------------------------------


def test_an_archive_that_lies_about_its_compressed_size(tmp_path):
    """Beyond the limit of deflate, in a zip that declares the corresponding length."""
    path, content = tmp_path / "X.npz", io.BytesIO()
    np.save(content, np.zeros((2 * 10**7, 1)))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("X.npy", content.getvalue())
        packed = archive.getinfo("X.npy").compress_size
    lie = path.read_bytes().replace(struct.pack("<I", packed), struct.pack("<I", 10**8))
    path.write_bytes(lie)

    def read():
        with pytest.raises(ValueError, match=r"X\.npy has an impossible size"):
            read_table(path, request=Request(n_features=1))

    assert peak_of(read) < BESIDE


def parquet(path, labels, **options):
    table = pyarrow.table({"kind": labels, "a": pyarrow.array(np.zeros(len(labels)))})
    pyarrow.parquet.write_table(table, path, compression="zstd", store_schema=False, **options)


@pytest.mark.parametrize("encoding", ["dictionary", "DELTA_BYTE_ARRAY"])
def test_long_labels_of_parquet_are_not_repeated(encoding, tmp_path):
    path, count, values = tmp_path / "rows.parquet", 30_000, [4096 * "a", 4096 * "a" + "b"]
    labels = pyarrow.DictionaryArray.from_arrays(np.arange(count, dtype=np.int32) % 2, values)
    if encoding == "dictionary":
        parquet(path, labels)
    else:
        texts = labels.cast(pyarrow.large_string())
        parquet(path, texts, use_dictionary=False, column_encoding={"kind": encoding, "a": "PLAIN"})
    read_table(path)  # once, for what pyarrow loads
    assert peak_of(lambda: read_table(path)) < BESIDE < 4096 * count / 3
    table = read_table(path)
    assert table.y.tolist() == values * (count // 2) and table.X.shape == (count, 1)


def test_contents_out_of_proportion_are_refused(tmp_path):
    path, texts = tmp_path / "rows.parquet", [4096 * "a"] * 10_000
    table = pyarrow.table({"kind": texts, "a": np.zeros(len(texts))})
    options = {"use_dictionary": False, "compression": "zstd", "compression_level": 19}
    pyarrow.parquet.write_table(table, path, data_page_size=2**26, **options)

    def read():
        with pytest.raises(ValueError, match="bytes of content, which is too many for a file of its size"):
            read_table(path)

    assert peak_of(read) < BESIDE


def test_text_among_the_features_is_refused_before_it_is_read(tmp_path):
    path, count = tmp_path / "rows.parquet", 400_000
    texts = pyarrow.DictionaryArray.from_arrays(np.zeros(count, np.int32), ["a" * 4096])
    table = pyarrow.table({"kind": pyarrow.array(np.arange(count) % 2), "a": texts})
    pyarrow.parquet.write_table(table, path, store_schema=False)

    def read():
        with pytest.raises(ValueError, match="column 'a' has type string, which is not a number"):
            read_table(path)

    assert peak_of(read) < BESIDE


@pytest.mark.parametrize("kind", ["text", "numbers"])
@pytest.mark.parametrize("stored", [True, False])
def test_categories_of_parquet_are_labels(kind, stored, tmp_path):
    values = {"text": ["b", "a"], "numbers": [3, 1]}[kind]
    labels = pyarrow.DictionaryArray.from_arrays(np.array([0, 1, 1, 0], np.int8), values)
    table = pyarrow.table({"kind": labels, "a": [1.0, 2.0, 3.0, 4.0]})
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet", store_schema=stored, row_group_size=3)
    assert read_table(tmp_path / "rows.parquet").y.tolist() == [values[k] for k in (0, 1, 1, 0)]
