"""The registry against the paper and the data, and ``load`` on files that are valid, damaged or malicious."""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import hashlib
import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from swapsvm.cli import main
from swapsvm.datasets import Dataset, DatasetError, files, kdd, load, names, recipes
from swapsvm.datasets.recipes import RECIPES, Rows
from swapsvm.datasets.registry import DataFile, Entry, registry

PAPER = {  # [SWAP14], Table "Features of the selected datasets": m, t, K, m_max, m_min, n
    "USPS": (7291, 2007, 10, 2199, 1098, 256),
    "Pendigits": (7494, 3498, 10, 1560, 1438, 16),
    "Letter": (15000, 5000, 26, 1213, 1081, 16),
    "Protein": (17766, 6621, 3, 13701, 9568, 357),
    "Shuttle": (43500, 14500, 7, 40856, 17, 9),
    "IJCNN": (49990, 91701, 2, 49990, 49990, 22),
    "MNIST": (60000, 10000, 10, 13007, 11263, 780),
    "USPS-Ext": (266079, 75383, 2, 266079, 266079, 676),
    "KDD-10pc": (395216, 98805, 5, 390901, 976, 127),
    "KDD-Full": (4898431, 311029, 2, 4898431, 4898431, 127),
    "Reuters": (7770, 3299, 2, 7770, 7770, 8315),
    "Adult a1a": (1605, 30956, 2, 1605, 1605, 123),
    "Adult a2a": (2265, 30296, 2, 2265, 2265, 123),
    "Adult a3a": (3185, 29376, 2, 3185, 3185, 123),
    "Adult a4a": (4781, 27780, 2, 4781, 4781, 123),
    "Adult a5a": (6414, 26147, 2, 6414, 6414, 123),
    "Adult a6a": (11220, 21341, 2, 11220, 11220, 123),
    "Adult a7a": (16100, 16461, 2, 16100, 16100, 123),
    "Web w1a": (2477, 47272, 2, 2477, 2477, 300),
    "Web w2a": (3470, 46279, 2, 3470, 3470, 300),
    "Web w3a": (4912, 44837, 2, 4912, 4912, 300),
    "Web w4a": (7366, 42383, 2, 7366, 7366, 300),
    "Web w5a": (9888, 39861, 2, 9888, 9888, 300),
    "Web w6a": (17188, 32561, 2, 17188, 17188, 300),
    "Web w7a": (24692, 25057, 2, 24692, 24692, 300),
    "Web w8a": (49749, 14951, 2, 49749, 49749, 300),
}
LABELS = {  # of the training rows; mnist, usps-ext and kddcup10 have tests of their own
    "a1a": {-1: 1210, 1: 395},
    "a9a": {-1: 24720, 1: 7841},
    "w1a": {-1: 2405, 1: 72},
    "w8a": {-1: 48270, 1: 1479},
    "reuters": {-1: 7232, 1: 538},
    "shuttle": {1: 34108, 2: 37, 3: 132, 4: 6748, 5: 2458, 6: 6, 7: 11},
    "usps": {1: 1194, 2: 1005, 3: 731, 4: 658, 5: 652, 6: 556, 7: 664, 8: 645, 9: 542, 10: 644},
    "pendigits": {0: 780, 1: 779, 2: 780, 3: 719, 4: 780, 5: 720, 6: 720, 7: 778, 8: 719, 9: 719},
    "protein-val": {0: 1489, 1: 703, 2: 679},
    "letter": None,
    "ijcnn1": {-1: 45137, 1: 4853},
}
with_data = pytest.mark.skipif(
    "SWAPSVM_DATA" not in os.environ, reason="SWAPSVM_DATA does not name a folder with the files of the registry"
)


@pytest.fixture(scope="module", autouse=True)
def shared_cache(tmp_path_factory):
    """A cache directory for this file, so that no archive is unpacked twice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SWAPSVM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache directory for one test."""
    monkeypatch.setenv("SWAPSVM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path, monkeypatch, cache):
    """A folder of data files for one test."""
    monkeypatch.setenv("SWAPSVM_DATA", str(tmp_path))
    return tmp_path


def file_of(text: bytes, name="tiny", **changes) -> DataFile:
    """The registry entry of a text."""
    fields = {"bytes": len(text), "text": f"sha256:{hashlib.sha256(text).hexdigest()}"} | changes
    return DataFile(name, **fields)


TRAIN, TEST = b"1 1:0.5\n-1 2:2\n1 3:1\n", b"-1 1:1\n"


@pytest.fixture
def tiny(monkeypatch, folder):
    """An entry ``tiny`` in the registry, without its files."""
    entry = Entry(
        "tiny", file_of(TRAIN), file_of(TEST, "tiny.t"), rows=3, test_rows=1, classes=2, features=3, values=""
    )
    monkeypatch.setitem(registry(), "tiny", entry)
    return entry


# ---- the registry -------------------------------------------------------------------------------------------------


def test_registry_is_the_table_of_the_paper():
    keys = ("rows", "test_rows", "classes", "largest_pair", "smallest_pair", "features")
    entries = [entry for entry in registry().values() if entry.paper]
    assert {entry.paper: tuple(getattr(entry, key) for key in keys) for entry in entries} == PAPER


@pytest.mark.parametrize("entry", registry().values(), ids=lambda entry: entry.name)
def test_entry_can_be_checked_and_downloaded(entry):
    assert entry.recipe in RECIPES
    for file in entry.files:
        assert (file.text or file.archive) and file.address.startswith("https://")
        for checksum in filter(None, (file.text, file.archive)):
            algorithm, digest = checksum.split(":")
            assert len(bytes.fromhex(digest)) == hashlib.new(algorithm).digest_size
    if not entry.classes:
        assert (entry.largest_pair, entry.smallest_pair) == (None, None)


def test_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown data set 'a0a': use one of usps, .*w8a"):
        load("a0a")


def test_unfit_dtype_is_refused():
    with pytest.raises(ValueError, match="float32 or float64, not int64"):
        load("a1a", dtype=int)


# ---- the data -----------------------------------------------------------------------------------------------------


def pair_sizes(y):
    counts = np.unique(y, return_counts=True)[1]
    pairs = [a + b for a, b in combinations(counts.tolist(), 2)]
    return max(pairs), min(pairs)


@with_data
@pytest.mark.parametrize("name", LABELS)
def test_data_agree_with_the_registry(name):
    data, entry = load(name), registry()[name]
    assert data.X_train.shape == (entry.rows, entry.features)
    assert pair_sizes(data.y_train) == (entry.largest_pair, entry.smallest_pair)
    assert data.y_train.dtype == np.int64 and data.X_train.dtype == np.float64
    assert isinstance(data.X_train, np.ndarray) == entry.dense != sparse.issparse(data.X_train)
    if LABELS[name]:
        assert dict(zip(*np.unique(data.y_train, return_counts=True), strict=True)) == LABELS[name]
    if entry.test_rows:
        assert data.X_test.shape == (entry.test_rows, entry.features)
        assert set(data.y_test) <= set(data.y_train)
    else:
        assert data.X_test is data.y_test is None


@with_data
@pytest.mark.parametrize(("name", "lowest", "highest"), [("abalone", 1, 29), ("cadata", 14999, 500001)])
def test_regression_has_targets(name, lowest, highest):
    data = load(name, dtype=np.float32)
    assert data.task == "regression"
    assert data.X_train.dtype == np.float32 and data.y_train.dtype == np.float64
    assert (data.y_train.min(), data.y_train.max()) == (lowest, highest)


@with_data
def test_every_file_of_the_collection_is_known():
    known = {file.name for entry in registry().values() for file in entry.files}
    there = {path.stem for path in Path(os.environ["SWAPSVM_DATA"]).glob("*.bz2")}
    assert there - known == set()
    assert known - there <= {"protein", "protein.t", "kddcup99"}


@with_data
def test_mnist_is_scaled_to_one():
    file = registry()["mnist"].test  # the training rows take seconds
    X, y = files.read_file(files.find(file), file, 780)
    (images, _), rest = recipes.unit_pixels(Rows(X, y), None)
    assert rest is None
    assert images.shape == (10000, 780) and images.max() == 1 and images.data.min() == 1 / 255
    assert np.bincount(y.astype(int)).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


@with_data
def test_usps_ext_holds_every_shift():
    file = registry()["usps"].test  # the training rows would take half a gigabyte
    digits = Rows(*files.read_file(files.find(file), file, 256))
    wide = recipes.shift(digits)
    assert wide.X.shape == (75383, 676) and wide.X.has_sorted_indices
    ones = digits.take(np.flatnonzero(digits.y <= 2))
    for down, right, image in [(0, 0, 0), (5, 5, 100), (10, 3, 622)]:
        frame = np.zeros((26, 26))
        frame[down : down + 16, right : right + 16] = (ones.X[image].toarray().reshape(16, 16) + 1) / 2
        row = (down * 11 + right) * 623 + image
        assert_array_equal(wide.X[row].toarray().reshape(26, 26), frame)
        assert wide.y[row] == ones.y[image]


@with_data
def test_kddcup10_is_split_and_scaled():
    data = load("kddcup10", dtype=np.float32)
    assert (data.X_train.min(), data.X_train.max()) == (0, 1)
    assert data.X_test.min() == 0
    assert set(data.X_train.max(axis=0).toarray().ravel().tolist()) == {0, 1}
    counts = np.bincount(data.y_train)[1:] + np.bincount(data.y_test)[1:]
    assert counts.tolist() == [97278, 391458, 4107, 1126, 52]
    largest, smallest = pair_sizes(data.y_train)
    assert abs(largest - 390901) < 500 and abs(smallest - 976) < 50  # the paper drew another split of the same size


# ---- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ending", "pack"), [("", bytes), (".bz2", bz2.compress), (".gz", gzip.compress)])
def test_load_reads_plain_and_packed_files(ending, pack, tiny, folder, cache):
    for file, text in ((tiny.train, TRAIN), (tiny.test, TEST)):
        (folder / f"{file.name}{ending}").write_bytes(pack(text))
    data = load("tiny")
    assert_array_equal(data.X_train.toarray(), [[0.5, 0, 0], [0, 2, 0], [0, 0, 1]])
    assert_array_equal(data.y_train, [1, -1, 1])
    assert_array_equal(data.X_test.toarray(), [[1, 0, 0]])
    kept = {path.name: path.read_bytes() for path in cache.glob("*")}
    assert kept == ({"tiny": TRAIN, "tiny.t": TEST} if ending else {})


def test_dataset_is_frozen(tiny, folder):
    (folder / "tiny").write_bytes(TRAIN), (folder / "tiny.t").write_bytes(TEST)
    data = load("tiny")
    assert isinstance(data, Dataset)
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.name = "other"


def test_dense_set_is_an_array(tiny, folder, monkeypatch):
    (folder / "tiny").write_bytes(TRAIN), (folder / "tiny.t").write_bytes(TEST)
    monkeypatch.setitem(registry(), "tiny", dataclasses.replace(tiny, dense=True))
    assert_array_equal(load("tiny").X_test, [[1, 0, 0]])


def test_own_folder_comes_before_the_cache(tiny, folder, cache):
    cache.mkdir()
    for place in (folder, cache):
        (place / "tiny").write_bytes(TRAIN)
    assert files.find(tiny.train) == folder / "tiny"
    (folder / "tiny").unlink()
    assert files.find(tiny.train) == cache / "tiny"


@pytest.mark.parametrize(
    ("platform", "place"),
    [("linux", "home/.cache/swapsvm"), ("darwin", "home/Library/Caches/swapsvm"), ("win32", "local/swapsvm/cache")],
)
def test_cache_is_where_the_platform_has_it(platform, place, tmp_path, monkeypatch):
    monkeypatch.delenv("SWAPSVM_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    monkeypatch.setattr("sys.platform", platform)
    assert files.cache_folder() == tmp_path / place


def test_cache_that_cannot_be_written_does_not_matter(tiny, folder, monkeypatch):
    (folder / "tiny.gz").write_bytes(gzip.compress(TRAIN)), (folder / "tiny.t").write_bytes(TEST)
    (folder / "blocked").write_bytes(b"")
    monkeypatch.setenv("SWAPSVM_CACHE", str(folder / "blocked" / "cache"))
    assert load("tiny").X_train.shape == (3, 3)


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("tiny", TRAIN[:-1], "its text has sha256:"),
        ("tiny", TRAIN.replace(b"2:2", b"2:3"), "its text has sha256:"),
        ("tiny", TRAIN.replace(b"2:2", b"x:2"), "line 2: an index must be"),
        ("tiny", TRAIN.replace(b"3:1", b"4:1"), "line 3: indices end at the number of features, 3"),
        ("tiny", TRAIN + b"\n", f"more than {len(TRAIN)} bytes"),
        ("tiny", b"<html>\n</html>", "line 1: a label"),
        ("tiny.bz2", bz2.compress(TRAIN.replace(b"2:2", b"x:2")), "line 2: an index must be"),
        ("tiny.bz2", bz2.compress(TRAIN)[:-5], "ended before"),
        ("tiny.gz", gzip.compress(TRAIN, mtime=0)[:-5], "ended before"),
        ("tiny.bz2", b"BZh9" + b"\0" * 50, "Invalid data stream"),
        ("tiny.gz", b"\x1f\x8b" + b"\0" * 50, "compression method"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_damaged_file_is_named_with_the_checksum_it_should_have(name, content, fault, tiny, folder, cache):
    (folder / name).write_bytes(content)
    with pytest.raises(DatasetError, match=fault) as caught:
        load("tiny")
    assert str(folder / name) in str(caught.value) and tiny.train.text in str(caught.value)
    assert not list(cache.glob("*"))


@pytest.mark.parametrize(("ending", "pack"), [("bz2", bz2.compress), ("gz", gzip.compress)])
def test_bomb_is_refused_at_the_size_of_the_registry(ending, pack, tiny, folder, monkeypatch):
    (folder / f"tiny.{ending}").write_bytes(pack(b"1 1:1\n" * 500_000))
    read = []
    monkeypatch.setattr(files, "pieces", lambda path, real=files.pieces: (read.append(p) or p for p in real(path)))
    with pytest.raises(DatasetError, match=f"more than {len(TRAIN)} bytes"):
        load("tiny")
    assert sum(map(len, read)) < 1_000_000


def test_published_archive_may_hold_another_text(tiny, folder, cache):
    text = TRAIN.replace(b"0.5", b".50")
    archive = bz2.compress(text)
    file = dataclasses.replace(tiny.train, archive=f"md5:{hashlib.md5(archive).hexdigest()}")
    (folder / "tiny.bz2").write_bytes(archive)
    X, _ = files.read_file(folder / "tiny.bz2", file, 3)
    assert X[0, 0] == 0.5
    assert not list(cache.glob("*"))  # as plain text it could not be checked
    (folder / "tiny").write_bytes(text)
    with pytest.raises(DatasetError, match="of the archive"):
        files.read_file(folder / "tiny", file, 3)


def test_wrong_sizes_are_refused(tiny, folder, monkeypatch):
    (folder / "tiny").write_bytes(TRAIN), (folder / "tiny.t").write_bytes(TEST)
    monkeypatch.setitem(registry(), "tiny", dataclasses.replace(tiny, rows=4))
    with pytest.raises(DatasetError, match=r"\(3, 1, 2\), but should have \(4, 1, 2\)"):
        load("tiny")


def test_fractional_class_is_refused(tiny, folder, monkeypatch):
    text = TRAIN.replace(b"-1", b"0.5")
    monkeypatch.setitem(registry(), "tiny", dataclasses.replace(tiny, train=file_of(text)))
    (folder / "tiny").write_bytes(text)
    with pytest.raises(DatasetError, match="not an integer"):
        load("tiny")


# ---- recipes ------------------------------------------------------------------------------------------------------


def rows(cells, labels):
    return Rows(sparse.csr_matrix(np.array(cells, dtype=float)), np.array(labels))


def test_kdd_scaling_is_by_the_training_rows():
    (train, _), (test, _) = recipes.scale_kdd(
        rows([[0, 0.25, 1, 0], [np.e - 1, 0.5, 0, 0]], [1, 2]), rows([[np.e**2 - 1, 1, 1, 3]], [1])
    )
    assert_allclose(train.toarray(), [[0, 0.5, 1, 0], [1, 1, 0, 0]])
    assert_allclose(test.toarray(), [[2, 2, 1, 3]])


def test_kdd_full_has_two_classes():
    train, test = recipes.kdd_attacks(rows([[1], [1], [0]], [1, 2, 5]), rows([[1]], [4]))
    assert (train.y.tolist(), test.y.tolist()) == ([1, 2, 2], [2])


def test_kdd_split_never_changes(monkeypatch):
    monkeypatch.setattr(recipes, "KDD_TRAINING_ROWS", 8)
    cells = np.arange(10.0)[:, None]
    train, test = recipes.kdd_split(rows(cells, np.arange(10)), None)
    assert (train.y.tolist(), test.y.tolist()) == ([0, 1, 2, 3, 4, 6, 7, 8], [5, 9])


CONNECTION = (
    "0,tcp,http,SF,181,5450,0,0,0.00,0,0,1,0,0,0,0,0,0,0,0,0,0,8,8,0.00,0,0,0,1.00,0,0,9,9,1.00,0,0.11,0,0,0,0,0"
)
ENCODED = b"3:1 29:1 85:1 87:181 88:5450 89:1 96:1 105:1 107:1 109:8 110:8 115:1 118:9 119:9 120:1 122:0.11\n"


def test_kdd_columns_are_those_of_the_paper():
    assert sum(map(len, kdd.attributes())) == registry()["kddcup99"].features
    assert len(kdd.attributes()) == 41


@pytest.mark.parametrize("size", [1, 7, 100, 10000])
def test_published_kdd_file_is_rewritten(size):
    text = f"{CONNECTION},normal.\n{CONNECTION},smurf.\n{CONNECTION},xlock.".encode()
    pieces = [text[begin : begin + size] for begin in range(0, len(text), size)]
    assert b"".join(kdd.to_svmlight(pieces)) == b"1 " + ENCODED + b"2 " + ENCODED + b"4 " + ENCODED


@pytest.mark.parametrize(
    "line",
    ["", "1 1:1", f"{CONNECTION},tea.", CONNECTION.replace("tcp", "tpc") + ",normal.", f"{CONNECTION},0,normal."],
)
def test_what_is_no_connection_is_refused(line):
    with pytest.raises(ValueError, match="is not a connection of KDD Cup 99"):
        list(kdd.to_svmlight([f"{line}\n".encode()]))


def test_line_without_end_is_refused():
    with pytest.raises(ValueError, match="a line of more than"):
        list(kdd.to_svmlight([b"0" * 6000] * 2))


def test_published_kdd_file_is_read_from_the_folder(tiny, folder, cache):
    svmlight = b"1 " + ENCODED
    file = file_of(svmlight, original="original.gz")
    (folder / "original.gz").write_bytes(gzip.compress(f"{CONNECTION},normal.\n".encode()))
    X, y = files.read_file(files.find(file), file, 127)
    assert X.shape == (1, 127) and y.tolist() == [1]
    assert (cache / "tiny").read_bytes() == svmlight


# ---- the command line ---------------------------------------------------------------------------------------------


def test_command_lists_what_is_there(tiny, folder, cache, capsys):
    (folder / "tiny").write_bytes(TRAIN)
    cache.mkdir()
    assert main(["datasets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "rows", "test", "rows", "features", "classes", "where"]
    assert [line.split()[0] for line in lines[1:]] == names()
    assert lines[-1].split(maxsplit=5) == ["tiny", "3", "1", "3", "2", "missing: tiny.t"]
    (cache / "tiny.t").write_bytes(TEST)
    assert main(["datasets"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith(f"  {folder}, {cache}")


def test_command_fetches_what_is_there_already(tiny, folder, capsys):
    (folder / "tiny").write_bytes(TRAIN), (folder / "tiny.t").write_bytes(TEST)
    assert main(["datasets", "fetch", "tiny"]) == 0
    assert capsys.readouterr().out == f"tiny: {folder / 'tiny'}\ntiny.t: {folder / 'tiny.t'}\n"


@pytest.mark.parametrize("argv", [["fetch"], ["fetch", "a0a"], ["fetch", "tiny"], ["drop"]])
def test_command_refuses_in_one_line(argv, tiny, capsys):
    assert main(["datasets", *argv]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and "error: " in shown.err
