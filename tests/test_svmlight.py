"""The svmlight reader, against scikit-learn's and on malicious input."""

from __future__ import annotations

import bz2
import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from swapsvm._core import SvmlightReader
from swapsvm.datasets import read_svmlight
from swapsvm.datasets.svmlight import parse

PACKERS = {"plain": bytes, "bzip2": bz2.compress, "gzip": gzip.compress}
FINITE = st.floats(allow_nan=False, allow_infinity=False)
WRITABLE = st.floats(-1e300, 1e300)  # scikit-learn sums them, and rounds the largest doubles to infinity


@st.composite
def tables(draw):
    """A CSR matrix with empty rows and columns, and labels."""
    rows, columns = draw(st.integers(1, 8)), draw(st.integers(1, 12))
    cells = draw(st.lists(st.one_of(st.just(0.0), WRITABLE), min_size=rows * columns, max_size=rows * columns))
    labels = draw(st.lists(st.integers(-3, 3), min_size=rows, max_size=rows))
    return sparse.csr_matrix(np.reshape(cells, (rows, columns))), np.array(labels)


def dumped(X, y, **options):
    file = io.BytesIO()
    dump_svmlight_file(X, y, file, zero_based=False, **options)
    return file.getvalue()


def cut(text, size):
    return [text[begin : begin + size] for begin in range(0, len(text), size)]


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from(sorted(PACKERS)), st.booleans(), st.booleans())
def test_reads_what_scikit_learn_writes(table, packer, with_query, with_comment):
    X, y = table
    query = np.arange(len(y)) if with_query else None
    text = dumped(X, y, query_id=query, comment="of hypothesis" if with_comment else None)
    read_X, read_y = read_svmlight(PACKERS[packer](text), n_features=X.shape[1])
    judge_X, judge_y = load_svmlight_file(io.BytesIO(text), n_features=X.shape[1], zero_based=False)
    assert_array_equal(read_X.toarray(), judge_X.toarray())
    assert_array_equal(read_y, judge_y)


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(1, 30))
def test_pieces_may_end_anywhere(table, size):
    text = dumped(*table)
    whole_X, whole_y = parse([text], 0)
    X, y = parse(cut(text, size), 0)
    assert (whole_X != X).nnz == 0
    assert_array_equal(y, whole_y)


@settings(max_examples=200, deadline=None)
@given(FINITE, FINITE)
def test_numbers_are_read_to_the_last_bit(label, value):
    X, y = read_svmlight(f"{label!r} 1:{value!r}".encode())
    assert (y[0], X[0, 0]) == (label, value)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=60), st.text("0123456789+-.eEinfa:# \t\r\n\0qd", max_size=60).map(str.encode)))
def test_any_bytes_are_read_or_refused(text):
    try:
        X, y = read_svmlight(text)
    except ValueError:
        return
    assert X.shape[0] == len(y)
    assert np.isfinite(X.data).all() and np.isfinite(y).all()
    assert X.has_canonical_format


@pytest.mark.parametrize(
    ("text", "X", "y"),
    [
        (b"", [], []),
        (b"\n \n# only comments\n", [], []),
        (b"-1", [[]], [-1]),
        (b"+1 1:+2\r\n-1\t2:-.5E1\r\n", [[2, 0], [0, -5]], [1, -1]),
        (b"1 qid:7 2:3#no blank before\n", [[0, 3]], [1]),
        (b"1 1: .5 2:  3\n", [[0.5, 3]], [1]),  # as in LIBSVM's protein
        (b"1 1:0\n", [[0]], [1]),
        (b"1 1:2", [[2]], [1]),
    ],
)
def test_what_the_format_allows(text, X, y):
    read_X, read_y = read_svmlight(text)
    assert_array_equal(read_X.toarray(), np.reshape(X, read_X.shape))
    assert_array_equal(read_y, y)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (b"x 1:2", "a label must be a finite number, not 'x'"),
        (b"1,2 1:2", "a label must be a finite number, not '1,2'"),
        (b"nan 1:2", "a label must be a finite number, not 'nan'"),
        (b"1 2:3 2:4", "indices must increase within a row, not '2'"),
        (b"1 3:3 2:4", "indices must increase within a row, not '2'"),
        (b"1 0:3", "indices start at 1, not '0'"),
        (b"1 -4:3", "indices start at 1, not '-4'"),
        (b"1 10:3", "indices end at the number of features, 9, not '10'"),
        (b"1 2147483648:3", "an index must be an integer below 2^31, not '2147483648'"),
        (b"1 99999999999999999999:3", "an index must be an integer below 2^31"),
        (b"1 1.5:3", "an index must be an integer"),
        (b"1 :3", "an index must be an integer below 2^31, not ''"),
        (b"1 2", "an entry must be index:value, not '2'"),
        (b"1 2:", "a value must be a finite number, not ''"),
        (b"1 2:x", "a value must be a finite number, not 'x'"),
        (b"1 2:inf", "a value must be a finite number, not 'inf'"),
        (b"1 2:1e999", "a value must be a finite number, not '1e999'"),
        (b"1 2:0x10", "a value must be a finite number, not '0x10'"),
        (b"1 2:1_0", "a value must be a finite number"),
        (b"1 2:+-1", "a value must be a finite number"),
        (b"1 2:3:4", "a value must be a finite number, not '3:4'"),
        (b"1 2:\xff\0\n", r"a value must be a finite number, not '\xff\x00'"),
        (b"1 qid:x 2:3", "qid must be an integer, not 'x'"),
        (b"1 2:3 qid:1", "an index must be an integer below 2^31, not 'qid'"),
        (b"1 2:" + b"9" * 1000 + b"x", "not '" + "9" * 40 + "...'"),
        (b"__import__('os').abort() 1:1", "a label must be a finite number"),
    ],
)
def test_malformed_entry_is_named_with_file_and_line(row, complaint, tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"1 1:1\n\n" + row)
    with pytest.raises(ValueError, match=r"bad\.txt: line 3: ") as caught:
        read_svmlight(path, n_features=9 if row == b"1 10:3" else None)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("packer", ["bzip2", "gzip"])
def test_damaged_archive_is_named(packer, tmp_path):
    packed = PACKERS[packer](b"1 1:1 2:0.25\n" * 1000)
    path = tmp_path / "bad.packed"
    for damaged in (packed[:-9], packed[:20] + b"\xff\xfe" + packed[22:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"bad\.packed: "):
            read_svmlight(path)


def test_sources(tmp_path):
    path = tmp_path / "rows.gz"
    path.write_bytes(gzip.compress(b"1 2:3\n"))
    with path.open("rb") as file:
        for source in (path, str(path), path.read_bytes(), file):
            X, y = read_svmlight(source)
            assert X.toarray().tolist() == [[0, 3]] and y.tolist() == [1]
        assert not file.closed
    with path.open() as file, pytest.raises(ValueError, match="binary mode"):
        read_svmlight(file)
    with pytest.raises(FileNotFoundError):
        read_svmlight(tmp_path / "nothing")


def test_number_of_features():
    assert read_svmlight(b"1 2:3", n_features=5)[0].shape == (1, 5)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match=f"at least 1, not {wrong}"):
            read_svmlight(b"", n_features=wrong)
    with pytest.raises(TypeError):
        read_svmlight(b"", n_features=1.5)


def test_largest_index_costs_no_memory():
    X, _ = read_svmlight(b"1 2147483647:1\n" * 3)
    assert X.shape == (3, 2**31 - 1) and X.nnz == 3
    assert X.indptr.nbytes + X.indices.nbytes < 100


def test_reader_can_be_used_again_after_its_end():
    reader = SvmlightReader(0)
    for _ in range(2):
        reader.feed(b"1 5:2\n2 1:1")
        labels, data, indices, indptr, features = reader.finish()
        assert (labels.tolist(), data.tolist(), indices.tolist()) == ([1, 2], [2, 1], [4, 0])
        assert (indptr.tolist(), features) == ([0, 1, 2], 5)
