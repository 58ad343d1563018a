"""``swapsvm shard``: every format is cut into the same shards, at a steady memory, completely or not at all."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import dump_svmlight_file

from swapsvm import writing
from swapsvm.cli import main
from swapsvm.commands.output import ProgressLine
from swapsvm.datasets import Shards, read_svmlight
from swapsvm.datasets.svmlight import blocks
from swapsvm.files import read_table, sharding, write_shards

from .footprint import MEGABYTE, peak_of

X = np.random.default_rng(0).normal(size=(20, 4)).round(6)  # text has 16 digits
Y = np.arange(20) % 3
THIN = np.where(np.abs(X) > 1, X, 0)
TEXTS = np.array(["no", "perhaps", "yes"])[Y]


def save_svmlight(path, X=X, y=Y, packed=bytes):
    file = io.BytesIO()
    dump_svmlight_file(X, y, file, zero_based=False)
    path.write_bytes(packed(file.getvalue()))


def save_csv(path, X=X, y=Y, packed=bytes):
    lines = [",".join(map(str, [label, *row])) for label, row in zip(y.tolist(), X.tolist(), strict=True)]
    path.write_bytes(packed("\n".join(["kind,a,b,c,d"[: 4 + 2 * X.shape[1]], *lines]).encode()))


def save_parquet(path, X=X, y=Y):
    columns = {"kind": y, **{f"x{j}": X[:, j] for j in range(X.shape[1])}}
    pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=7)


def save_npy(path, X=X, y=Y):
    np.save(path, X)
    np.save(path.with_name("y.npy"), y)


def save_csr(path, X=X, y=Y):
    sp.save_npz(path, sp.csr_matrix(X))
    np.save(path.with_suffix(".labels.npy"), y)


WRITERS = {
    "data.svm": save_svmlight,
    "data": save_svmlight,
    "data.svm.gz": lambda path: save_svmlight(path, packed=gzip.compress),
    "data.bz2": lambda path: save_svmlight(path, packed=bz2.compress),
    "data.csv": save_csv,
    "data.csv.gz": lambda path: save_csv(path, packed=gzip.compress),
    "data.parquet": save_parquet,
    "X.npy": save_npy,
    "data.npz": lambda path: np.savez(path, X=X, y=Y),
    "csr.npz": save_csr,
}


def ran(capsys, *argv):
    """The output of a command that succeeds."""
    code = main(["shard", *map(str, argv)])
    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    return shown.out


def refused(capsys, folder, *argv):
    """The error line of a command that is refused, and has left nothing in the folder."""
    before = sorted(folder.rglob("*"))
    assert main(["shard", *map(str, argv)]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and re.fullmatch(r"swapsvm( \w+)?: error: [^\n]+\n", shown.err)
    assert sorted(folder.rglob("*")) == before
    return shown.err


def whole(folder):
    """Rows and labels of a folder of shards."""
    shards = Shards(folder)
    rows = [shards.read(k) for k in range(len(shards.counts))]
    return np.concatenate([part.toarray() if sp.issparse(part) else part for part in rows]), shards.y


@pytest.mark.parametrize("form", ["npy", "npz"])
@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_shards(name, form, tmp_path, capsys):
    WRITERS[name](tmp_path / name)
    said = ran(capsys, tmp_path / name, tmp_path / "shards", "--rows", 6, "--format", form)
    assert Shards(tmp_path / "shards").counts == [6, 6, 6, 2]
    names = [f"part-0000{k}.{ending}" for k in range(4) for ending in ("labels.npy", form)]
    assert sorted(os.listdir(tmp_path / "shards")) == names
    size = sum(path.stat().st_size for path in (tmp_path / "shards").iterdir())
    assert said == f"{tmp_path / 'shards'}: 20 rows x 4 features in 4 {form} shards, {size / 1024:.3g} KB\n"
    rows, labels = whole(tmp_path / "shards")
    assert_array_equal(rows, X)
    assert_array_equal(labels, Y, strict=True)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_rows_come_back(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("data")
    rows, columns = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 5))
    value = st.one_of(st.just(0.0), st.integers(-100, 100).map(lambda n: n / 4))
    table = np.reshape(data.draw(st.lists(value, min_size=rows * columns, max_size=rows * columns)), (rows, columns))
    labels = np.array(data.draw(st.lists(st.sampled_from([0, 1, 2.5]), min_size=rows, max_size=rows)))
    save_svmlight(folder / "data", table, labels)
    judge, y = read_svmlight(folder / "data")
    if judge.shape[1] == 0:
        return
    options = {"rows": data.draw(st.integers(1, 10)), "format": data.draw(st.sampled_from([None, "npy", "npz"]))}
    written = write_shards(folder / "data", folder / "shards", **options)
    assert (written.rows, written.features) == judge.shape and written.shards == -(-rows // options["rows"])
    read, read_y = whole(folder / "shards")
    assert_array_equal(read, judge.toarray())
    assert_array_equal(read_y, y)


def test_text_that_is_mostly_zero_stays_sparse(tmp_path, capsys):
    save_svmlight(tmp_path / "thin", THIN)
    save_svmlight(tmp_path / "full", X)
    assert "1 npz shard," in ran(capsys, tmp_path / "thin", tmp_path / "a")
    assert "1 npy shard," in ran(capsys, tmp_path / "full", tmp_path / "b")
    assert_array_equal(whole(tmp_path / "a")[0], THIN)
    save_csv(tmp_path / "thin.csv", THIN)
    assert "1 npy shard," in ran(capsys, tmp_path / "thin.csv", tmp_path / "c")


def test_shards_agree_on_columns_that_occur_late(tmp_path, capsys):
    (tmp_path / "data").write_bytes(b"1 1:1\n" * 5 + b"0 9:1\n")
    ran(capsys, tmp_path / "data", tmp_path / "shards", "--rows", 2)
    assert [sp.load_npz(path).shape for path in sorted((tmp_path / "shards").glob("*.npz"))] == [(2, 9)] * 3


@pytest.mark.parametrize("form", ["npy", "npz"])
def test_shards_take_a_quarter_of_the_memory(tmp_path, form):
    rows = np.random.default_rng(0).normal(size=(5000, 20))
    np.save(tmp_path / "rows.npy", rows)
    write_shards(tmp_path / "rows.npy", tmp_path / "shards", memory="400K", format=form)
    sizes = [path.stat().st_size for path in (tmp_path / "shards").iterdir()]
    assert max(sizes) < 1.05 * 100 * 1024 and len(sizes) >= 8
    assert_array_equal(whole(tmp_path / "shards")[0], rows)
    assert Shards(tmp_path / "shards").y is None


@pytest.mark.parametrize(("dtype", "found"), [(None, "f8"), ("float32", "f4"), ("float64", "f8")])
def test_types(tmp_path, capsys, dtype, found):
    save_svmlight(tmp_path / "data", THIN)
    ran(capsys, tmp_path / "data", tmp_path / "shards", *(["--dtype", dtype] if dtype else []))
    shards = Shards(tmp_path / "shards")
    assert shards.dtype == found
    assert_array_equal(shards.read(0).toarray(), THIN.astype(found))


def test_single_precision_stays(tmp_path):
    save_npy(tmp_path / "X.npy", X.astype(np.float32))
    write_shards(tmp_path / "X.npy", tmp_path / "shards")
    assert Shards(tmp_path / "shards").dtype == np.float32


def test_several_inputs_are_joined(tmp_path, capsys):
    save_csv(tmp_path / "a.csv", X[:7], Y[:7])
    save_parquet(tmp_path / "b.parquet", X[7:], Y[7:])
    ran(capsys, tmp_path / "a.csv", tmp_path / "b.parquet", tmp_path / "shards", "--rows", 5)
    rows, labels = whole(tmp_path / "shards")
    assert_array_equal(rows, X)
    assert_array_equal(labels, Y, strict=True)


def test_shards_can_be_cut_again(tmp_path, capsys):
    save_svmlight(tmp_path / "data", THIN)
    ran(capsys, tmp_path / "data", tmp_path / "shards", "--rows", 3)
    ran(capsys, tmp_path / "shards", tmp_path / "shards", "--rows", 8, "--force")
    assert Shards(tmp_path / "shards").counts == [8, 8, 4]
    assert_array_equal(whole(tmp_path / "shards")[0], THIN)
    assert sorted(os.listdir(tmp_path)) == ["data", "shards"]


# ---- labels ---------------------------------------------------------------------------------------------------------


def test_the_label_column(tmp_path, capsys):
    pyarrow.parquet.write_table(pyarrow.table({"a": X[:, 0], "kind": TEXTS}), tmp_path / "data.parquet")
    ran(capsys, tmp_path / "data.parquet", tmp_path / "shards", "--label", "kind", "--rows", 7)
    rows, labels = whole(tmp_path / "shards")
    assert_array_equal(rows, X[:, :1])
    assert_array_equal(labels, TEXTS)


@pytest.mark.parametrize(
    "labels",
    [["1", "2", "-3"], ["1", "2.5", "3"], ["1", "2", "x"], ["1.0", "2", "3"], ["01", "1", "nan"]],
    ids=str,
)
def test_labels_of_csv_are_those_of_the_whole_file(tmp_path, labels):
    """The kind of the labels of the first shard is only known at the end of the file."""
    (tmp_path / "data.csv").write_text("".join(f"{label},{k}\n" for k, label in enumerate(labels)))
    write_shards(tmp_path / "data.csv", tmp_path / "shards", rows=1)
    judge = read_table(tmp_path / "data.csv").y
    assert whole(tmp_path / "shards")[1].tolist() == judge.tolist()


def test_labels_of_one_kind_in_all_shards(tmp_path):
    save_svmlight(tmp_path / "data", y=np.append(Y[:-1], 0.5))
    write_shards(tmp_path / "data", tmp_path / "shards", rows=5)
    kinds = [np.load(path).dtype for path in (tmp_path / "shards").glob("*.labels.npy")]
    assert kinds == [np.float64] * 4


# ---- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "has no rows"),
        (b"1\n0\n", "has no features"),
        (b"1 1:1\n0 x:1\n", "line 2: an index must be an integer"),
        (b"1 1:1\n0 1:nan\n", "line 2: a value must be a finite number"),
    ],
)
def test_bad_text(tmp_path, capsys, content, match):
    (tmp_path / "data.svm").write_bytes(content)
    assert re.search(rf"data\.svm: {match}", refused(capsys, tmp_path, tmp_path / "data.svm", tmp_path / "shards"))


def test_bad_values(tmp_path, capsys):
    bad = X.copy()
    bad[13, 1] = np.nan
    save_parquet(tmp_path / "data.parquet", bad)
    np.savez(tmp_path / "data.npz", X=bad, y=Y)
    save_npy(tmp_path / "X.npy", bad)
    for name in ("data.parquet", "data.npz", "X.npy"):
        said = refused(capsys, tmp_path, tmp_path / name, tmp_path / "shards")
        assert f"{name}: row 13 (the first row is 0) has a value that is NaN or infinite" in said


def test_values_that_single_precision_cannot_hold(tmp_path, capsys):
    (tmp_path / "data").write_bytes(b"1 1:1\n0 1:-1e300\n")
    said = refused(capsys, tmp_path, tmp_path / "data", tmp_path / "shards", "--dtype", "float32")
    assert "dtype=float32 cannot hold 1e+300: use float64" in said


def test_inputs_that_do_not_fit_together(tmp_path, capsys):
    save_csv(tmp_path / "a.csv")
    save_csv(tmp_path / "narrow.csv", X[:, :3])
    save_csv(tmp_path / "text.csv", y=TEXTS)
    save_svmlight(tmp_path / "sparse.svm")
    save_parquet(tmp_path / "b.parquet")
    np.save(tmp_path / "bare.npy", X)
    for names, match in {
        ("a.csv", "narrow.csv"): r"narrow\.csv: has 3 features, not the 4 of .*a\.csv",
        ("a.csv", "sparse.svm"): r"sparse\.svm: is sparse, but .*a\.csv is dense",
        ("b.parquet", "text.csv"): r"text\.csv: the labels are text, but those of .*b\.parquet are numbers",
        ("text.csv", "b.parquet"): r"b\.parquet: the labels are numbers, but those of .*text\.csv are text",
        ("a.csv", "bare.npy"): r"bare\.npy: has no labels, but .*a\.csv has some",
        ("a.csv", "no.csv"): r"no\.csv: No such file",
    }.items():
        paths = [tmp_path / name for name in names]
        assert re.search(match, refused(capsys, tmp_path, *paths, tmp_path / "shards"))


def test_bad_requests(tmp_path, capsys):
    save_csv(tmp_path / "a.csv")
    for words, match in {
        ("--rows", "0"): "rows=0 must be a positive integer",
        ("--memory", "much"): "memory='much' must be a positive number of bytes",
        ("--rows", "5", "--memory", "1G"): "not allowed with argument",
        ("--format", "csv"): "invalid choice: 'csv'",
        ("--dtype", "int8"): "invalid choice: 'int8'",
        ("--label", "none"): "has no label column 'none'",
    }.items():
        assert match in refused(capsys, tmp_path, tmp_path / "a.csv", tmp_path / "shards", *words)
    assert "cannot be read twice" in refused(capsys, tmp_path, "-", tmp_path / "shards")
    assert "there is no folder" in refused(capsys, tmp_path, tmp_path / "a.csv", tmp_path / "no" / "shards")
    assert "is a file: name a folder" in refused(capsys, tmp_path, tmp_path / "a.csv", tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"format='csv' must be one of \['npy', 'npz'\]"):
        write_shards(tmp_path / "a.csv", tmp_path / "shards", format="csv")
    with pytest.raises(ValueError, match=r"dtype='int8' must be one of \['float32', 'float64'\]"):
        write_shards(tmp_path / "a.csv", tmp_path / "shards", dtype="int8")
    with pytest.raises(ValueError, match="there are no files to cut"):
        write_shards([], tmp_path / "shards")


def test_a_label_that_is_too_long(tmp_path, capsys):
    (tmp_path / "a.csv").write_text(f"{'x' * 1001},1\n")
    assert "has a label of 1001 characters" in refused(capsys, tmp_path, tmp_path / "a.csv", tmp_path / "shards")


# ---- completely or not at all ---------------------------------------------------------------------------------------


def test_only_a_folder_of_shards_is_replaced(tmp_path, capsys):
    save_csv(tmp_path / "a.csv")
    goal = tmp_path / "shards"
    goal.mkdir()
    ran(capsys, tmp_path / "a.csv", goal, "--rows", 3)
    assert "is not empty" in refused(capsys, tmp_path, tmp_path / "a.csv", goal)
    ran(capsys, tmp_path / "a.csv", goal, "--force")
    assert sorted(os.listdir(goal)) == ["part-00000.labels.npy", "part-00000.npy"]
    (goal / "thesis.txt").touch()
    said = refused(capsys, tmp_path, tmp_path / "a.csv", goal, "--force")
    assert "cannot be replaced: thesis.txt is no file of a folder of shards" in said


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("disk full"), MemoryError])
def test_an_error_leaves_nothing_behind(tmp_path, capsys, monkeypatch, error):
    save_csv(tmp_path / "a.csv")
    ran(capsys, tmp_path / "a.csv", tmp_path / "shards")
    before = {path: path.read_bytes() for path in (tmp_path / "shards").iterdir()}
    calls = []

    def failing(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise error
        return sharding.write_dense(*arguments)

    monkeypatch.setitem(sharding.WRITERS, "npy", failing)
    code = main(["shard", str(tmp_path / "a.csv"), str(tmp_path / "shards"), "--rows", "2", "--force"])
    assert code == (130 if error is KeyboardInterrupt else 2) and len(calls) == 3
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "shards"]
    assert {path: path.read_bytes() for path in (tmp_path / "shards").iterdir()} == before


def test_a_full_disk_and_a_write_protected_folder_are_named(tmp_path, capsys, monkeypatch):
    save_csv(tmp_path / "a.csv")

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setitem(sharding.WRITERS, "npy", full)
        said = refused(capsys, tmp_path, tmp_path / "a.csv", tmp_path / "shards")
        assert f"{tmp_path / 'shards'}: No space left on device" in said
    monkeypatch.setattr(writing, "_permits", lambda path, mode: False)
    said = refused(capsys, tmp_path, tmp_path / "a.csv", tmp_path / "shards")
    assert f"{tmp_path / 'shards'}: the folder {tmp_path} is write-protected" in said


def test_a_folder_that_cannot_be_replaced_is_restored(tmp_path, monkeypatch):
    save_csv(tmp_path / "a.csv")
    write_shards(tmp_path / "a.csv", tmp_path / "shards")
    renamed = os.rename

    def failing(source, goal):
        if os.path.basename(source) == "new":
            raise OSError("no")
        renamed(source, goal)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match="no"):
        write_shards(tmp_path / "a.csv", tmp_path / "shards", rows=2, force=True)
    assert_array_equal(whole(tmp_path / "shards")[0], X)
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "shards"]


def test_a_file_that_changes_meanwhile(tmp_path):
    save_csv(tmp_path / "a.csv")

    def change(done, rows, total):
        if done == "wrote":
            os.utime(tmp_path / "a.csv", (1, 1))

    with pytest.raises(ValueError, match=r"a\.csv: has been changed while it was read"):
        write_shards(tmp_path / "a.csv", tmp_path / "shards", progress=change)
    assert os.listdir(tmp_path) == ["a.csv"]


# ---- output and memory ----------------------------------------------------------------------------------------------


def test_the_answer_as_json(tmp_path, capsys):
    save_svmlight(tmp_path / "data")
    facts = json.loads(ran(capsys, tmp_path / "data", tmp_path / "shards", "--rows", 6, "--json"))
    assert facts.pop("seconds") > 0 and facts.pop("bytes") > X.nbytes
    assert facts == {"folder": str(tmp_path / "shards"), "rows": 20, "features": 4, "shards": 4, "format": "npy"}


def test_progress_is_a_line_on_a_terminal(tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    with ProgressLine() as line:
        line.show("counted 10 rows")
        line.show("not so soon")
        line.show("counted 20 rows")
    assert sys.stderr.getvalue() == "\rcounted 10 rows\rcounted 20 rows\n"
    seen = []
    save_csv(tmp_path / "a.csv")
    write_shards(tmp_path / "a.csv", tmp_path / "shards", rows=9, progress=lambda *at: seen.append(at))
    assert seen == [("counted", 20, None), ("wrote", 9, 20), ("wrote", 18, 20), ("wrote", 20, 20)]


def test_text_in_blocks_is_the_text(tmp_path, monkeypatch):
    monkeypatch.setattr("swapsvm.datasets.svmlight.BLOCK", 100)
    monkeypatch.setattr("swapsvm.datasets.svmlight.PIECE", 64)
    save_svmlight(tmp_path / "data", THIN)
    found = list(blocks(tmp_path / "data", 4))
    assert len(found) > 2
    assert_array_equal(sp.vstack([rows for rows, _ in found]).toarray(), THIN)
    assert_array_equal(np.concatenate([labels for _, labels in found]), Y)
    (tmp_path / "data").write_bytes((tmp_path / "data").read_bytes() + b"1 x")
    with pytest.raises(ValueError, match=r"data: line 21: an entry must be index:value"):
        list(blocks(tmp_path / "data"))


LINE = b"1 " + b" ".join(b"%d:0.%d25" % (3 * j, j) for j in range(1, 60)) + b"\n"  # 59 entries


@pytest.mark.parametrize("form", ["npy", "npz"])
def test_memory_does_not_grow_with_the_file(tmp_path, form):
    """A text of 40 MB; its CSR matrix would take 44 MB, its rows as a dense matrix 88 MB."""
    (tmp_path / "data").write_bytes(LINE * (40 * MEGABYTE // len(LINE)))
    write_shards(tmp_path / "data", tmp_path / "warm", rows=50_000, format=form)  # imports
    peak = peak_of(lambda: write_shards(tmp_path / "data", tmp_path / "shards", memory="16M", format=form))
    assert peak < 32 * MEGABYTE


def test_the_command_runs_within_a_limit_of_memory(tmp_path):
    """The whole process, with the interpreter and its libraries, stays below a limit that the content exceeds."""
    resource = pytest.importorskip("resource")
    (tmp_path / "data").write_bytes(LINE * (30 * MEGABYTE // len(LINE)))
    code = (
        "import resource, sys; from swapsvm.cli import main; import swapsvm.commands.program\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "code = main(['shard', *sys.argv[1:]])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
        "sys.exit(code)"
    )
    words = [str(tmp_path / "data"), str(tmp_path / "shards"), "--memory", "8M"]
    found = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    unit = 1 if sys.platform == "darwin" else 1024
    assert resource and int(found.stdout.split()[-1]) * unit < 24 * MEGABYTE
