"""The commands train, predict, info and convert, and the tables that they read."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import threading
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import dump_svmlight_file, load_iris

from swapsvm import SVC, reduce_support
from swapsvm.cli import main
from swapsvm.files import import_libsvm, load, save
from swapsvm.files.label_lines import from_line, to_line
from swapsvm.files.table import Request
from swapsvm.files.tables import FORMATS, format_of, read_table

X, y = load_iris(return_X_y=True)
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


def write_svmlight(path, labels=y):
    dump_svmlight_file(X, labels, str(path), zero_based=False)


def write_csv(path, labels=y, header=True, delimiter=",", last=False, packed=bytes):
    columns = [*NAMES, "kind"] if last else ["kind", *NAMES]
    cells = [[*row, label] if last else [label, *row] for row, label in zip(X.tolist(), labels.tolist(), strict=True)]
    lines = [delimiter.join(map(str, row)) for row in ([columns] if header else []) + cells]
    path.write_bytes(packed("\n".join(lines).encode()))


def write_parquet(path, labels=y):
    columns = {"kind": pyarrow.array(labels.tolist()), **dict(zip(NAMES, X.T, strict=True))}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def write_npy(path, labels=y):
    np.save(path, X)
    np.save(path.with_name("y.npy"), labels)


WRITERS = {
    "data.svm": write_svmlight,
    "names.csv": write_csv,
    "bare.csv": lambda path: write_csv(path, header=False),
    "tabs.tsv": lambda path: write_csv(path, delimiter="\t"),
    "semicolons.csv": lambda path: write_csv(path, delimiter=";"),
    "packed.csv.gz": lambda path: write_csv(path, packed=gzip.compress),
    "packed.csv.bz2": lambda path: write_csv(path, packed=bz2.compress),
    "data.parquet": write_parquet,
    "data.npz": lambda path: np.savez(path, X=X, y=y),
    "packed.npz": lambda path: np.savez_compressed(path, X=np.asfortranarray(X), y=y.astype(float)),
    "X.npy": write_npy,
}


PROGRESS = re.compile(r"swapsvm: (fit|pair) \d+ of \d+, |swapsvm: \d+ of \d+ fits, ")  # of a search


def ran(capsys, *argv):
    """The output of a command that succeeds."""
    code = main([str(word) for word in argv])
    shown = capsys.readouterr()
    assert (code, [line for line in shown.err.splitlines() if not PROGRESS.match(line)]) == (0, [])
    return shown.out


def refused(capsys, *argv):
    """The error line of a command that is refused."""
    assert main([str(word) for word in argv]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.fullmatch(r"swapsvm( \w+)?: error: [^\n]+\n", shown.err)
    return shown.err


@pytest.fixture
def data(tmp_path):
    write_svmlight(tmp_path / "data.svm")
    return tmp_path / "data.svm"


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_model(name, tmp_path, capsys):
    WRITERS[name](tmp_path / name)
    ran(capsys, "train", tmp_path / name, tmp_path / "model", "-c", 2, "-g", 0.5)
    model, judge = load(tmp_path / "model"), SVC(C=2, gamma=0.5).fit(X, y)
    assert_array_equal(model.support_, judge.support_)
    np.testing.assert_allclose(model.dual_coef_, judge.dual_coef_, rtol=1e-9)
    assert_array_equal(model.classes_, judge.classes_, strict=True)
    ran(capsys, "predict", tmp_path / name, tmp_path / "model", tmp_path / "labels")
    assert_array_equal(np.loadtxt(tmp_path / "labels"), judge.predict(X))


def test_text_labels(tmp_path, capsys):
    kinds = np.array(["setosa", "versi color", "virginica"])[y]
    write_csv(tmp_path / "data.csv", kinds)
    ran(capsys, "train", tmp_path / "data.csv", tmp_path / "model", "-wsetosa", "2")
    model = load(tmp_path / "model")
    assert model.class_weight == {"setosa": 2.0}
    said = ran(capsys, "predict", tmp_path / "data.csv", tmp_path / "model", tmp_path / "labels")
    predicted = (tmp_path / "labels").read_text().splitlines()
    assert predicted == model.predict(X).tolist()
    right = (np.array(predicted) == kinds).sum()
    assert f"({right}/150)" in said


@pytest.mark.parametrize("place", ["kind", "5", "-1"])
@pytest.mark.parametrize("header", [True, False])
def test_label_column_by_name_and_place(place, header, tmp_path):
    write_csv(tmp_path / "data.csv", header=header, last=True)
    if place == "kind" and not header:
        with pytest.raises(ValueError, match=r"has no label column 'kind' \(there is no header line\)"):
            read_table(tmp_path / "data.csv", None, Request("kind"))
        return
    table = read_table(tmp_path / "data.csv", None, Request(place))
    assert_array_equal(table.X, X)
    assert_array_equal(table.y, y, strict=True)


def test_a_label_that_names_two_columns_is_refused(tmp_path):
    (tmp_path / "data.csv").write_text("a,a,b\n1,0,6\n2,1,7\n")
    with pytest.raises(ValueError, match=r"data\.csv: has 2 columns 'a': choose one by its place"):
        read_table(tmp_path / "data.csv", None, Request("a"))
    assert_array_equal(read_table(tmp_path / "data.csv", None, Request("2")).y, [0, 1])


def test_a_place_is_no_name_among_numbers(tmp_path):
    (tmp_path / "data.csv").write_text("1,2,3\n4,5,6\n")
    assert_array_equal(read_table(tmp_path / "data.csv", None, Request("1")).y, [1, 4])
    assert_array_equal(read_table(tmp_path / "data.csv", None, Request("2")).y, [2, 5])


def test_a_name_is_preferred_to_a_place(tmp_path):
    (tmp_path / "data.csv").write_text("a,b,1\n4,5,6\n")
    assert_array_equal(read_table(tmp_path / "data.csv", None, Request("1")).y, [6])


@pytest.mark.parametrize("label", ["0", "4", "-4", "--1", "c", "", "1.5", "99999999999"])
def test_a_label_column_that_is_not_there_is_refused(label, tmp_path):
    (tmp_path / "data.csv").write_text("1,2,3\n4,5,6\n")
    with pytest.raises(ValueError, match=f"data.csv: has no label column {label!r}"):
        read_table(tmp_path / "data.csv", None, Request(label))


def test_rows_without_labels_are_predicted(tmp_path, data, capsys):
    ran(capsys, "train", data, tmp_path / "model")
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",")
    np.savez(tmp_path / "rows.npz", X=X)
    np.save(tmp_path / "rows.npy", X)
    expected = load(tmp_path / "model").predict(X).tolist()
    for name in ("rows.csv", "rows.npz", "rows.npy"):
        out = ran(capsys, "predict", tmp_path / name, tmp_path / "model")
        assert [int(line) for line in out.splitlines()] == expected


def test_options_reach_the_model(data, tmp_path, capsys):
    options = "-c 3 -t 1 -g 0.1 -d 2 -r 0.5 -m 50 -e 0.001 -w0 2 -w 1 0.5 --solver swap2 --max-time 100 --jobs 1"
    ran(capsys, "train", data, tmp_path / "model", *options.split())
    model = load(tmp_path / "model")
    expected = {"C": 3, "kernel": "poly", "gamma": 0.1, "degree": 2, "coef0": 0.5, "cache_size": 50, "tol": 0.001}
    expected |= {"class_weight": {0: 2.0, 1: 0.5}, "solver": "swap2", "max_time": 100, "n_jobs": 1}
    assert expected.items() <= model.get_params().items()


@pytest.mark.parametrize(("number", "kernel"), list(enumerate(["linear", "poly", "rbf", "sigmoid"])))
def test_kernels_by_number_and_by_name(number, kernel, data, tmp_path, capsys):
    for word in (number, kernel):
        ran(capsys, "train", data, tmp_path / "model", "-t", word, "-g", 0.001, "-c", 0.1)
        assert load(tmp_path / "model").kernel == kernel


def test_negative_labels_have_weights(tmp_path, capsys):
    write_svmlight(tmp_path / "data", np.where(y == 0, 1, -1))
    ran(capsys, "train", tmp_path / "data", tmp_path / "model", "-w-1", "3", "-w+1", "2")
    assert load(tmp_path / "model").class_weight == {-1: 3.0, 1: 2.0}


def test_a_precomputed_kernel(tmp_path, capsys):
    np.savez(tmp_path / "K.npz", X=X @ X.T, y=y)
    ran(capsys, "train", tmp_path / "K.npz", tmp_path / "model", "-t", 4)
    assert "accuracy = 9" in ran(capsys, "predict", tmp_path / "K.npz", tmp_path / "model", tmp_path / "labels")


def test_cross_validation_prints_an_accuracy_and_writes_nothing(data, tmp_path, capsys):
    facts = json.loads(ran(capsys, "train", data, "-v", 5, "--json"))
    assert 0.9 < facts["accuracy"] <= 1
    assert facts["folds"] == 5
    assert list(tmp_path.iterdir()) == [data]
    text = ran(capsys, "train", data, "-v", 5)
    assert (
        text == f"cross-validation accuracy = {100 * facts['accuracy']:.4g}% ({round(150 * facts['accuracy'])}/150)\n"
    )


def test_json_of_train_predict_and_info(data, tmp_path, capsys):
    trained = json.loads(ran(capsys, "train", data, tmp_path / "model", "--json"))
    model = load(tmp_path / "model")
    told = json.loads(ran(capsys, "info", tmp_path / "model", "--json"))
    for facts in (trained, told):
        assert facts["classes"] == [0, 1, 2]
        assert facts["support_vectors"] == len(model.support_) == sum(facts["support_vectors_by_class"])
        assert (facts["stop_reason"], facts["relative_gap"]) == ("gap", model.relative_gap_)
        assert facts["gamma"] == model.gamma_
    assert trained["rows"] == 150 and trained["seconds"] > 0
    assert told["format"] == "native" and told["bytes"] == (tmp_path / "model").stat().st_size
    predicted = json.loads(ran(capsys, "predict", data, tmp_path / "model", "--json"))
    assert predicted["labels"] == model.predict(X).tolist()
    assert predicted["accuracy"] == model.score(X, y)


def test_info_for_people(data, tmp_path, capsys):
    ran(capsys, "train", data, tmp_path / "model")
    lines = ran(capsys, "info", tmp_path / "model").splitlines()
    assert any(re.fullmatch(r"stop reason +gap", line) for line in lines)
    assert any(re.fullmatch(r"classes +0, 1, 2", line) for line in lines)


def test_labels_go_to_stdout_and_the_score_to_stderr(data, tmp_path, capsys):
    ran(capsys, "train", data, tmp_path / "model")
    assert main(["predict", str(data), str(tmp_path / "model")]) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 150
    assert re.fullmatch(r"accuracy = \d+\.?\d*% \(\d+/150\)\n", shown.err)


ODD_LABELS = ["two\nlines", 'a "quote"', '"begins with one', "\u2028separator", "", " blanks ", "back\\slash", "plain"]


@pytest.mark.parametrize("label", [*ODD_LABELS, "lone \ud800 surrogate", "ends\n", "\r", 3, 2.5, True])
def test_every_label_is_one_line_and_comes_back(label):
    line = to_line(label)
    assert len(f"{line}|".splitlines()) == 1 and from_line(line) == str(label)
    assert line == str(label) or line.startswith('"')


@given(label=st.text(max_size=20))
def test_any_text_is_one_line_and_comes_back(label):
    line = to_line(label)
    line.encode()
    assert len(f"{line}|".splitlines()) == 1 and from_line(line) == label


def test_labels_with_line_breaks_are_predicted_a_line_each(tmp_path, capsys):
    labels = np.array(["first\nkind", "second\nkind", '"third"'], dtype=object)[y]
    model = SVC().fit(X, labels)
    save(model, tmp_path / "model")
    np.savez(tmp_path / "rows.npz", X=X)
    ran(capsys, "predict", tmp_path / "rows.npz", tmp_path / "model", tmp_path / "labels")
    lines = (tmp_path / "labels").read_text().splitlines()
    assert [from_line(line) for line in lines] == model.predict(X).tolist()
    assert r'"first\nkind", "second\nkind"' in ran(capsys, "info", tmp_path / "model")


def test_labels_go_to_a_pipe_and_the_score_to_stdout(data, tmp_path, capsys):
    ran(capsys, "train", data, tmp_path / "model")
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    assert "accuracy" in ran(capsys, "predict", data, tmp_path / "model", pipe)
    reader.join(30)
    assert len(got[0].splitlines()) == len(X) and stat.S_ISFIFO(os.stat(pipe).st_mode)


def test_convert_both_ways(data, tmp_path, capsys):
    ran(capsys, "train", data, tmp_path / "model")
    ran(capsys, "convert", tmp_path / "model", tmp_path / "model.libsvm")
    ran(capsys, "convert", tmp_path / "model.libsvm", tmp_path / "again")
    rows = sp.csr_matrix(X)
    expected = load(tmp_path / "model").decision_function(rows)
    assert_array_equal(import_libsvm(tmp_path / "model.libsvm").decision_function(rows), expected)
    assert_array_equal(load(tmp_path / "again").decision_function(rows), expected)
    assert json.loads(ran(capsys, "info", tmp_path / "model.libsvm", "--json"))["relative_gap"] is None


def test_sparse_rows_may_lack_the_last_features_but_have_no_others(tmp_path, capsys):
    """A feature that the rows lack is zero; one that the model lacks would be left out silently."""
    (tmp_path / "narrow").write_text("1 1:1\n-1 1:-1\n1 1:2\n-1 1:-2\n")
    (tmp_path / "wide").write_text("1 1:1 5:0.5\n-1 1:-1 2:3\n")
    ran(capsys, "train", tmp_path / "wide", tmp_path / "model", "-g", 0.1)
    out = json.loads(ran(capsys, "predict", tmp_path / "narrow", tmp_path / "model", "--json"))
    padded = np.pad([[1.0], [-1], [2], [-2]], ((0, 0), (0, 4)))
    assert out["labels"] == load(tmp_path / "model").predict(padded).tolist()
    ran(capsys, "train", tmp_path / "narrow", tmp_path / "model", "-g", 0.1)
    said = refused(capsys, "predict", tmp_path / "wide", tmp_path / "model")
    assert "wide: has a feature 5, but the model was trained on 1: `swapsvm train --features 5`" in said
    ran(capsys, "train", tmp_path / "narrow", tmp_path / "model", "-g", 0.1, "--features", 5)
    assert load(tmp_path / "model").n_features_in_ == 5
    ran(capsys, "predict", tmp_path / "wide", tmp_path / "model", "--json")
    assert "has a feature 5, but --features asks for 3" in refused(
        capsys, "train", tmp_path / "wide", "m", "--features", 3
    )


@pytest.mark.parametrize("format", ["svmlight", "csv"])
def test_rows_from_stdin(format, data, tmp_path, monkeypatch, capsys):
    if format == "csv":
        write_csv(data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data.read_bytes())))
    ran(capsys, "train", "-", tmp_path / "model", "--format", format)
    assert load(tmp_path / "model").n_features_in_ == 4


def test_progress_is_for_terminals(data, tmp_path, monkeypatch, capsys):
    ran(capsys, "train", data, tmp_path / "model")  # nothing on stderr
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["train", str(data), str(tmp_path / "model")]) == 0
    stages, _, bar = capsys.readouterr().err.partition("features\n")
    assert stages == f"reading {data}\ntraining on 150 rows x 4 " and "of 3" in bar


def test_an_early_end_is_one_line_and_the_model_is_saved(data, tmp_path, capsys):
    argv = [
        "train",
        str(data),
        str(tmp_path / "model"),
        "--max-time",
        "1e-9",
        "-e",
        "1e-12",
        "--solver",
        "fw",
        "--json",
        "--quiet",
    ]
    assert main(argv) == 0
    shown = capsys.readouterr()
    assert re.fullmatch(r"swapsvm: warning: [^\n]*max_time[^\n]*\n", shown.err)
    assert json.loads(shown.out)["stop_reason"] == load(tmp_path / "model").stop_reason_ == "max_time"


def test_a_warning_of_predict_is_one_line(tmp_path, capsys):
    save(SVC().fit(pd.DataFrame(X, columns=NAMES), y), tmp_path / "model")
    write_csv(tmp_path / "data.csv")
    assert main(["predict", str(tmp_path / "data.csv"), str(tmp_path / "model"), str(tmp_path / "labels")]) == 0
    assert re.fullmatch(r"swapsvm: warning: [^\n]*feature names[^\n]*\n", capsys.readouterr().err)


def test_ctrl_c_leaves_no_file(data, tmp_path, monkeypatch, capsys):
    def interrupted(self, X, y):
        raise KeyboardInterrupt

    monkeypatch.setattr(SVC, "fit", interrupted)
    assert main(["train", str(data), str(tmp_path / "model")]) == 130
    assert capsys.readouterr().err == "swapsvm: interrupted\n"
    assert list(tmp_path.iterdir()) == [data]


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["train", "DATA"], "MODEL is missing: name the output file, or cross-validate"),
        (["train", "missing.svm", "MODEL"], "No such file"),
        (["train", "DATA", "no/such/model"], "there is no folder"),
        (["train", "DATA", "."], "is a folder"),
        (["train", "DATA", "MODEL", "-c", "0"], "'C' parameter of SVC must be a float .* Got 0.0"),
        (["train", "DATA", "MODEL", "-c", "x"], "invalid float value: 'x'"),
        (["train", "DATA", "MODEL", "-t", "7"], "'7' is neither a number from 0 to 4 nor one of linear"),
        (["train", "DATA", "MODEL", "-t", "4"], "a precomputed kernel must be dense"),
        (["train", "DATA", "MODEL", "-g", "wide"], "'wide' is neither a number nor one of scale"),
        (["train", "DATA", "MODEL", "-w9", "1"], "unknown label '9'; the labels are 0, 1, 2"),
        (["train", "DATA", "MODEL", "-w1", "much"], "the weight 'much' is not a number"),
        (["train", "DATA", "MODEL", "-v", "1"], "at least 2 folds"),
        (["train", "DATA", "-v", "0"], "at least 2 folds"),
        (["train", "DATA", "m.libsvm", "-t", "laplacian"], "LIBSVM has no kernel 'laplacian'"),
        (["train", "DATA", "MODEL", "--format", "csv"], "has no|is not a number|cells"),
        (["train", "-", "MODEL", "--format", "npz"], "cannot be read from a stream"),
        (["predict", "DATA", "DATA"], "neither a model saved by swapsvm nor one of LIBSVM"),
        (["predict", "narrow.csv", "SAVED"], "the rows have 2 features, not the 4"),
        (["info", "DATA"], "neither a model saved by swapsvm nor one of LIBSVM"),
        (["info", "missing"], "No such file"),
        (["convert", "SAVED", "no/such.libsvm"], "there is no folder"),
        (["reduce", "SAVED", "DATA", "small"], "one of the arguments --max-vectors --max-accuracy-loss is required"),
        (["reduce", "SAVED", "DATA", "small", "--max-vectors", "0"], "max_vectors=0 must be a positive integer"),
        (["reduce", "SAVED", "DATA", "small", "--max-accuracy-loss", "0.1"], "belong together"),
        (["reduce", "SAVED", "narrow.csv", "small", "--max-vectors", "5"], "the rows have 2 features, not the 4"),
        (["reduce", "SAVED", "DATA", "no/such", "--max-vectors", "5"], "there is no folder"),
    ],
)
def test_bad_requests_are_refused_in_one_line(argv, complaint, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "narrow.csv").write_text("0,1,2\n1,3,4\n")
    main(["train", str(data), "saved"])
    capsys.readouterr()
    words = {"DATA": str(data), "MODEL": "model", "SAVED": "saved"}
    assert re.search(complaint, refused(capsys, *(words.get(word, word) for word in argv)))
    assert not (tmp_path / "model").exists()


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch, capsys):
    write_parquet(tmp_path / "data.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "a Parquet file needs pyarrow: pip install pyarrow" in refused(
        capsys, "train", tmp_path / "data.parquet", tmp_path / "model"
    )


LIMITED = """
import os, resource, sys
from swapsvm.cli import main
os.chdir(sys.argv[1])
main(["train", "small", "model"])  # imports everything
used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + int(sys.argv[2]),) * 2)
for name in ("X.npy", "data.npz"):
    print("code", main(["train", name, "model", "-g", "1e-4", "-m", "1", "--jobs", "1"]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA counts private memory on Linux only")
def test_a_training_goes_on_from_its_checkpoint(data, tmp_path, capsys):
    model, checkpoint = tmp_path / "model", tmp_path / "fit.ckpt"
    command = [
        "train",
        str(data),
        str(model),
        "--solver",
        "fw",
        "-e",
        "1e-3",
        "--checkpoint",
        str(checkpoint),
        "--json",
    ]
    main(command)
    first = json.loads(capsys.readouterr().out)
    main(command)
    again = json.loads(capsys.readouterr().out)
    assert checkpoint.exists() and load(model).checkpoint is None
    assert again["iterations"] == first["iterations"] and again["stop_reason"] == "gap"
    assert main([*command, "-c", "7"]) == 2
    assert "is of another fit: C, labels or weights differ" in capsys.readouterr().err
    assert main([*command, "-v", "3"]) == 2
    assert "--checkpoint cannot be combined with -v" in capsys.readouterr().err


def test_a_memory_mapped_table_is_trained_on_without_loading_it(tmp_path):
    """The process may reserve half of the bytes that X takes; the same X in an archive does not fit."""
    labels = np.arange(4000) % 2
    rows = np.random.default_rng(0).random((4000, 4000), dtype=np.float32) + labels[:, None].astype(np.float32)
    np.save(tmp_path / "X.npy", rows)
    np.save(tmp_path / "y.npy", labels)
    np.savez(tmp_path / "data.npz", X=rows, y=labels)
    write_svmlight(tmp_path / "small")
    argv = [sys.executable, "-c", LIMITED, str(tmp_path), str(rows.nbytes // 2)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    assert re.findall(r"^code (\d+)$", done.stdout, flags=re.MULTILINE) == ["0", "2"], done.stdout + done.stderr


# ---- completion --------------------------------------------------------------------------------------------------


def completed(script, *words):
    """What bash offers for the last word."""
    line = f"COMP_WORDS=({' '.join(map(shlex.quote, words))}) COMP_CWORD={len(words) - 1}; _swapsvm"
    argv = ["bash", "-c", f'{script}\n{line}; printf "%s\\n" "${{COMPREPLY[@]}}"']
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_verbs_options_and_choices(capsys):
    script = ran(capsys, "completion", "bash")
    assert completed(script, "swapsvm", "tra") == ["train"]
    models = ["train", "predict", "tune", "reduce", "info", "convert"]
    verbs = [*models, "shard", "datasets", "demo", "reproduce", "completion"]
    assert completed(script, "swapsvm", "") == [*verbs, "--help", "--version"]
    assert completed(script, "swapsvm", "train", "data", "--ga") == ["--gamma"]
    assert completed(script, "swapsvm", "train", "data", "--solver", "swap") == ["swap", "swap2"]
    assert completed(script, "swapsvm", "predict", "--format", "np") == ["npz", "npy"]
    assert completed(script, "swapsvm", "completion", "") == ["bash", "zsh", "fish"]
    assert completed(script, "swapsvm", "datasets", "f") == ["fetch"]
    assert completed(script, "swapsvm", "info", "") == []  # bash then offers files


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_every_verb_and_option(shell, capsys):
    script = ran(capsys, "completion", shell)
    for word in ("train", "predict", "cost", "max-time", "svmlight"):
        assert word in script
    if shutil.which(shell):
        subprocess.run([shell, "-n", "/dev/stdin"], input=script, text=True, check=True)


# ---- malformed tables --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "has no rows"),
        ("\n\n", "has no rows"),
        ("kind,a,b\n", "has no rows"),
        ("1\n2\n", "has no features"),
        ("1,2,3\n1,2\n", "line 2: 2 cells instead of 3"),
        ("1,2,3\n\n1,2,x\n", "line 3: column 3: 'x' is not a number"),
        ("1,2,3\n1,2,nan\n", "line 2: column 3: 'nan' is a missing value"),
        ("1,2,3\n1,1e999,4\n", "line 2: column 2: '1e999' is not a finite number"),
        ("1,2,3\n,1,4\n", "line 2: the label is empty"),
        ('1,2,"3\n', "unexpected end of data"),
        ("1,2," + "9" * 200_000 + "\n", "field larger than"),
        ("1,2,\xff\n", r"is not UTF-8 text \(it has the byte 0xff\): save it as UTF-8"),
    ],
)
def test_malformed_csv(text, complaint, tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=f"{re.escape(str(path))}: .*({complaint})"):
        read_table(path)


def test_a_huge_index_takes_no_memory(tmp_path):
    """Vectors of that length would take 16 GB: a child with less memory still trains and predicts."""
    (tmp_path / "data").write_text("1 2147483647:1\n-1 1:1\n")
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (3 << 30,) * 2); "
        "from swapsvm.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    for words in (["train", "data", "model"], ["predict", "data", "model", "labels"]):
        command = [sys.executable, "-c", limited, words[0], *(str(tmp_path / word) for word in words[1:])]
        ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
        assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "labels").read_text().split() == ["1", "-1"]


def npy_bytes(header, content=b""):
    text = (str(header) + "\n").encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is not a readable np[yz] file"),
        (b"\x93NUMPY", "is not a readable np[yz] file"),
        (npy_bytes({"descr": "<f8", "fortran_order": False, "shape": (2**50, 2)}), "does not take 0 bytes"),
        (npy_bytes({"descr": "<f8", "fortran_order": False, "shape": (-1, -2)}, b"\0" * 16), "impossible"),
        (npy_bytes({"descr": "<f8", "fortran_order": False, "shape": (2, 2)}, b"\0" * 31), "does not take 31 bytes"),
        (npy_bytes({"descr": "|O", "fortran_order": False, "shape": (1, 1)}, b"\0" * 8), "Python objects"),
        (
            npy_bytes({"descr": "<V8", "fortran_order": False, "shape": (1, 1)}, b"\0" * 8),
            "is neither numbers nor text",
        ),
        (npy_bytes("__import__('os').abort()"), "is not a readable np[yz] file"),
        (npy_bytes({"descr": "<f8", "fortran_order": False, "shape": (3,)}, b"\0" * 24), "1-dimensional"),
    ],
)
def test_malformed_arrays(content, complaint, tmp_path):
    (tmp_path / "X.npy").write_bytes(content)
    np.save(tmp_path / "y.npy", y)
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        archive.writestr("X.npy", content)
        archive.write(tmp_path / "y.npy", "y.npy")
    for name in ("X.npy", "data.npz"):
        with pytest.raises(ValueError, match=complaint):
            read_table(tmp_path / name)


def test_object_arrays_are_not_unpickled(tmp_path):
    class Loud:
        def __reduce__(self):
            return (pytest.fail, ("executed",))

    np.savez(tmp_path / "data.npz", X=np.array([[Loud()]], dtype=object), y=np.zeros(1))
    with pytest.raises(ValueError, match="Python objects"):
        read_table(tmp_path / "data.npz")


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ({"y": y}, "it has no array X, only"),
        ({"X": X}, "it has no array y with the labels"),
        ({"X": X, "y": y[1:]}, r"the labels have shape \(149,\)"),
        ({"X": X.astype(str), "y": y}, "not a matrix of numbers"),
        ({"X": X, "y": np.full(150, np.nan)}, "not all finite"),
        ({"X": np.empty((0, 4)), "y": np.empty(0)}, "has no rows"),
    ],
)
def test_npz_with_wrong_arrays(arrays, complaint, tmp_path):
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(ValueError, match=complaint):
        read_table(tmp_path / "data.npz")


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"kind": [0, 1], "a": [1.0, None]}, "column 'a' has 1 missing values"),
        ({"kind": [0, None], "a": [1.0, 2.0]}, "label column 'kind' has 1 missing values"),
        ({"kind": [0, 1], "a": ["x", "y"]}, "column 'a' has type string, which is not a number"),
        ({"kind": [0, 1]}, "has no features"),
        ({"kind": [[0], [1]], "a": [1.0, 2.0]}, "neither numbers nor text"),
    ],
)
def test_malformed_parquet(columns, complaint, tmp_path):
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "data.parquet")
    with pytest.raises(ValueError, match=complaint):
        read_table(tmp_path / "data.parquet")


def test_a_parquet_bomb_is_refused(tmp_path):
    """A long column of one value takes a few bytes in the file."""
    ones = pyarrow.array(np.ones(3_000_000, np.int8))
    pyarrow.parquet.write_table(pyarrow.table({"kind": ones, "a": ones, "b": ones}), tmp_path / "data.parquet")
    with pytest.raises(ValueError, match="too many for a file of its size"):
        read_table(tmp_path / "data.parquet")


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.csv", "csv"),
        ("A.CSV.GZ", "csv"),
        ("a.tsv", "csv"),
        ("a.pq", "parquet"),
        ("a.bz2", "svmlight"),
        ("a", "svmlight"),
    ],
)
def test_formats_by_ending(name, format):
    assert format_of(name) == format


FUZZ = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
WRITTEN = {"csv": write_csv, "npz": WRITERS["data.npz"], "npy": write_npy, "parquet": write_parquet}


def read_or_refused(path, format):
    """The file gives finite-sized rows or a ``ValueError`` that names it, in bounded memory."""
    tracemalloc.start()
    try:
        table = read_table(path, format, Request(n_features=3))
        assert table.X.ndim == 2
        assert table.y is None or len(table.y) == table.X.shape[0]
    except ValueError as error:
        assert str(path) in str(error)  # noqa: PT017
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 60 * path.stat().st_size + 2_000_000


@pytest.mark.parametrize("format", WRITTEN)
@FUZZ
@given(data=st.data())
def test_damaged_tables_are_read_or_refused(format, data, tmp_path):
    path = tmp_path / f"X.{format}"
    WRITTEN[format](path)
    content = path.read_bytes()
    at = data.draw(st.integers(0, min(len(content) - 1, 200)) | st.integers(0, len(content) - 1))
    byte = bytes([content[at] ^ (1 << data.draw(st.integers(0, 7)))])
    path.write_bytes(content[:at] + (byte + content[at + 1 :] if data.draw(st.booleans()) else b""))
    read_or_refused(path, format)


@pytest.mark.parametrize("format", FORMATS)
@FUZZ
@given(content=st.binary(max_size=200) | st.text("0123456789.,;eEnaif\"'\t\r\n-+ ", max_size=100).map(str.encode))
def test_any_bytes_are_read_or_refused(format, content, tmp_path):
    path = tmp_path / f"X.{format}"
    path.write_bytes({"npy": b"\x93NUMPY\x01\x00"}.get(format, b"") + content)
    read_or_refused(path, format)


@pytest.mark.parametrize(
    "option", [("-m", "1e308"), ("-m", "99999999999999999999"), ("--jobs", "99999999999999999999")]
)
def test_more_than_enough_is_served(option, data, tmp_path, capsys):
    ran(capsys, "train", data, tmp_path / "model", *option)
    assert main(["predict", str(data), str(tmp_path / "model"), str(tmp_path / "labels")]) == 0


OPTIONS = ["-c", "-t", "-g", "-d", "-r", "-m", "-e", "-v", "-w", "-w1", "--solver", "--max-time", "--jobs", "--label"]
VALUES = ["0", "1", "2", "-1", "0.5", "nan", "inf", "1e308", "1e-308", "99999999999999999999", "x", "", "-", "1=2", "ü"]


@FUZZ
@given(words=st.lists(st.tuples(st.sampled_from(OPTIONS), st.sampled_from(VALUES)), max_size=3))
def test_any_options_are_served_or_refused_in_one_line(words, tmp_path, capsys):
    (tmp_path / "data").write_text("1 1:1\n1 1:2\n-1 2:1\n-1 2:2 3:1\n1 1:1.5\n-1 3:1\n")
    argv = [str(tmp_path / "data"), str(tmp_path / "model"), *(word for pair in words for word in pair)]
    code = main(["train", *argv])
    lines = capsys.readouterr().err.splitlines()
    assert code in (0, 2)
    assert [line for line in lines if "error: " in line] == (lines[-1:] if code else [])
    assert all(line.startswith("swapsvm") for line in lines)


def test_tune_chooses_saves_and_says_so(data, tmp_path, capsys):
    words = ("tune", data, tmp_path / "model", "-c", "0.5,8", "-g", "0.05,0.5", "-v", 3)
    facts = json.loads(ran(capsys, *words, "--json"))
    assert facts["points"] == 4 and facts["folds"] == 3 and 0.5 < facts["accuracy"] <= 1
    assert facts["best"]["C"] in (0.5, 8) and facts["best"]["gamma"] in (0.05, 0.5)
    info = json.loads(ran(capsys, "info", tmp_path / "model", "--json"))
    assert info["C"] == facts["best"]["C"] and info["gamma"] == facts["best"]["gamma"]
    text = ran(capsys, "tune", data, "-c", 2, "-g", 2, "-v", 3, "--rule", "one_standard_error")
    assert text.startswith("best of 4 points in 3 folds: C = ") and "model:" not in text


def test_a_grid_that_is_none(data, capsys):
    assert main(["tune", str(data), "-c", "1,x"]) == 2
    assert "'1,x' is neither a number of values nor a comma-separated list of values" in capsys.readouterr().err


def test_reduce_saves_a_smaller_model_with_its_certificate(data, tmp_path, capsys):
    ran(capsys, "train", data, tmp_path / "model", "-c", 1)
    words = ("reduce", tmp_path / "model", data, tmp_path / "small", "--max-vectors", 8)
    facts = json.loads(ran(capsys, *words, "--json"))
    small, model = load(tmp_path / "small"), load(tmp_path / "model")
    expected = reduce_support(model, sp.csr_matrix(X), y, max_vectors=8)
    assert facts["support_vectors"] == len(small.support_) == 8 < facts["of"] == len(model.support_)
    assert facts["relative_gap"] == small.relative_gap_ == pytest.approx(expected.relative_gap_)
    assert_array_equal(small.predict(X), expected.predict(X))
    assert ran(capsys, *words).startswith(f"8 of {facts['of']} support vectors; relative gap ")
    told = json.loads(ran(capsys, "info", tmp_path / "small", "--json"))
    assert (told["support_vectors"], told["stop_reason"]) == (8, "reduced")


def test_reduce_to_an_accuracy_on_wider_rows(data, tmp_path, capsys):
    ran(capsys, "train", data, tmp_path / "model", "-c", 1, "--features", 5)
    wide = sp.hstack([sp.csr_matrix(X), sp.csr_matrix(np.ones((150, 1)))]).tocsr()
    dump_svmlight_file(wide, y, str(tmp_path / "wide.svm"), zero_based=False)
    words = ("--max-accuracy-loss", 0.01, "--validation", tmp_path / "wide.svm", "--max-time", 100)
    facts = json.loads(ran(capsys, "reduce", tmp_path / "model", data, tmp_path / "small", *words, "--json"))
    assert facts["support_vectors"] < facts["of"] / 2 and facts["features"] == 5
    assert load(tmp_path / "small").max_time == 100
    score = json.loads(ran(capsys, "predict", tmp_path / "wide.svm", tmp_path / "small", "--json"))["accuracy"]
    full = json.loads(ran(capsys, "predict", tmp_path / "wide.svm", tmp_path / "model", "--json"))["accuracy"]
    assert score >= full - 0.01


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_train_takes_classes_in_pairs_or_against_the_rest(tmp_path, multiclass):
    data, model = tmp_path / "iris.svm", tmp_path / "model"
    dump_svmlight_file(*load_iris(return_X_y=True), str(data), zero_based=False)
    assert main(["train", str(data), str(model), "--multiclass", multiclass]) == 0
    assert load(model).multiclass == multiclass


def test_a_folder_of_shards_is_trained_and_predicted(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 4)).astype(np.float32)
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1, -1)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    folder, model = tmp_path / "folder", tmp_path / "model"
    assert main(["shard", str(tmp_path / "rows.npz"), str(folder), "--rows", "200"]) == 0
    assert main(["train", str(folder), str(model), "--memory", "20K"]) == 0
    assert main(["predict", str(folder), str(model), "--json"]) == 0
    assert '"accuracy": 0.9' in capsys.readouterr().out
    assert main(["train", str(folder), "-v", "3"]) != 0
    assert "-v needs rows in memory" in capsys.readouterr().err
