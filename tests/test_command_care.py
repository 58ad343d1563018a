"""What the command line must not do: replace its inputs, ignore a request silently, or refuse only after the work."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from swapsvm import SVC, SVCCV
from swapsvm.cli import main
from swapsvm.files import export_libsvm, load, save

from .test_commands import X, ran, refused, write_csv, write_npy, write_svmlight, y

NAMES = np.array(["rose", "lily", "iris"])[y]
UNKNOWN = {"handle_unknown": "use_encoded_value", "unknown_value": -1}


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    """Files of the same rows with numbers and with names as labels, and a model of each."""
    monkeypatch.chdir(tmp_path)
    write_svmlight(tmp_path / "data.svm")
    write_csv(tmp_path / "data.csv", NAMES)
    write_npy(tmp_path / "X.npy")
    ran(capsys, "shard", "data.svm", "shards")
    ran(capsys, "train", "data.svm", "model", "-q")
    ran(capsys, "train", "data.csv", "named", "-q")
    return tmp_path


@pytest.mark.parametrize(
    "request_",
    [
        "train data.svm data.svm",
        "train data.svm same.svm",
        "train X.npy y.npy --labels y.npy",
        "tune data.svm data.svm -c 1 -g 1",
        "predict data.svm model data.svm",
        "predict data.svm model model",
        "reduce model data.svm data.svm --max-vectors 9",
        "reduce model data.svm data.csv --max-accuracy-loss 0.1 --validation data.csv",
    ],
)
def test_a_file_to_read_is_never_replaced(request_, folder, capsys):
    (folder / "same.svm").symlink_to("data.svm")
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert "is a file to read, which the output would replace: name another" in refused(capsys, *request_.split())
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


REFUSED = [
    ("predict X.npy model --labels none.npy", "the labels file none.npy does not exist: name it with --labels"),
    ("predict data.svm model --labels y.npy", "data.svm: has its labels in a place of their own: --labels is for npy"),
    ("train shards m --labels y.npy", "--labels is for a file that is read as a whole: leave it out for shards"),
    ("train data.csv m --format csv --memory 1G", "--format is for a file that is read as a whole: leave it out"),
    ("train - m --memory 1G", "--memory needs a file: standard input cannot be read again"),
    ("train  m", "DATA is empty: name a file"),
    ("predict data.csv named --label 9", r"has no label column '9' \(there are 5 columns\): choose one"),
    ("train data.svm -v 51", "-v 51: there are only 50 rows of the most frequent label: use at most 50 folds"),
    ("train data.svm -s 3 -v 151", "-v 151: there are only 150 rows: use at most 150 folds"),
    ("tune data.svm -c 1 -g 1 -v 51", "-v 51: there are only 50 rows of the most frequent label"),
    ("train data.svm m -w1", "-w 1: write -w LABEL WEIGHT or --weight LABEL=WEIGHT"),
    ("train data.svm m --weight =2", "-w =2: write -w LABEL WEIGHT or --weight LABEL=WEIGHT"),
    ("train data.svm m --features 0", "'0' is not an integer from 1 to 2147483647"),
    ("train data.svm m --features 99999999999", "'99999999999' is not an integer from 1 to 2147483647"),
    ("reduce model data.svm m --max-vectors 9 --max-time 0", "'max_time' parameter of SVC must be .* Got 0.0"),
    ("reduce model data.svm m --max-vectors 9 --validation data.svm", "--max-accuracy-loss and --validation FILE.*tog"),
    ("reduce model data.svm m --max-accuracy-loss 0.1", "--max-accuracy-loss and --validation FILE.*belong together"),
    (
        "reduce model data.csv m --max-vectors 9",
        "y has the label 'rose', which is none of the model's classes.*0, 1, 2",
    ),
    ("train holes.npz m", "holes.npz: has values that are NaN or infinite: leave these rows out, or fit a pipeline"),
    ("tune holes.npz m -c 1 -g 1", "holes.npz: has values that are NaN or infinite"),
    ("reduce text.libsvm data.svm m --max-vectors 9", "no certificate .it was imported.*fit it here"),
]


@pytest.mark.parametrize(("request_", "complaint"), REFUSED)
def test_what_cannot_be_done_is_refused_in_one_line(request_, complaint, folder, capsys):
    export_libsvm(load("model"), "text.libsvm")
    np.savez("holes.npz", X=np.where(X > 7, np.nan, X), y=y)
    assert re.search(complaint, refused(capsys, *request_.split(" ")))
    assert not (folder / "m").exists()


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        ("train data.csv m.libsvm", "LIBSVM's labels are integers"),
        ("train data.svm m.libsvm --multiclass ovr", "LIBSVM has pairs of classes only, not multiclass='ovr'"),
        ("tune data.csv m.libsvm -c 1 -g 1", "LIBSVM's labels are integers"),
        ("train huge.npz m.onnx", "labels of type uint64, .* cannot be exported to ONNX"),
    ],
)
def test_a_format_that_does_not_suit_the_labels_is_refused_before_the_training(
    request_, complaint, folder, monkeypatch, capsys
):
    def fit(self, *args, **kwargs):
        raise AssertionError("trained in vain")

    np.savez("huge.npz", X=X, y=y.astype(np.uint64) + np.uint64(2**63))
    monkeypatch.setattr("swapsvm.estimators.base.KernelMachine.fit", fit)
    monkeypatch.setattr("swapsvm.selection.search.Search.fit", fit)
    assert re.search(complaint, refused(capsys, *request_.split()))


def test_two_classes_against_the_rest_are_a_pair_for_libsvm(folder, capsys):
    write_svmlight(folder / "two.svm", y > 0)
    ran(capsys, "train", "two.svm", "two.libsvm", "-q", "--multiclass", "ovr")
    assert (folder / "two.libsvm").read_text().startswith("svm_type c_svc")


def test_a_model_that_cross_validation_does_not_write_is_said(folder, capsys):
    assert main(["train", "data.svm", "m", "-v", "3"]) == 0
    assert capsys.readouterr().err == "swapsvm: note: -v saves no model: m is not written\n"
    assert not (folder / "m").exists()


def test_labels_of_other_data_are_said(folder, capsys):
    assert main(["predict", "data.csv", "model", "labels"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "accuracy = 0% (0/150)\n"
    complaint = "none of the labels (iris, lily, rose) is a class of the model (0, 1, 2): see --label"
    assert shown.err == f"swapsvm: warning: data.csv: {complaint}\n"


def test_a_closed_standard_input_is_said(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed: name a file" in refused(capsys, "predict", "-", "model")


@pytest.mark.skipif(os.name != "posix", reason="a shell is needed")
@pytest.mark.parametrize(
    ("words", "code"),
    [("info model >&-", 0), ("info model 2>&-", 0), ("train none m 2>&-", 2), ("info model | true", 141)],
)
def test_streams_can_be_closed(words, code, folder):
    program, *pipe = words.split(" |")
    command = f"{sys.executable} -c 'import sys, swapsvm.cli; sys.exit(swapsvm.cli.main())' {program}"
    script = " |".join([f"set -o pipefail; {command}", *pipe])
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (code, "")


def test_text_that_the_terminal_cannot_show_is_said(folder, monkeypatch, capsys):
    write_csv(folder / "wide.csv", np.array(["é", "b", "c"])[y])
    ran(capsys, "train", "wide.csv", "wide", "-q")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    line = refused(capsys, "predict", "wide.csv", "wide")
    assert r"this output cannot show '\xe9' (ascii): set PYTHONIOENCODING=utf-8, or name an output file" in line


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes")
def test_a_model_in_a_pipe_is_refused_for_what_it_is(folder, capsys):
    read, write = os.pipe()
    os.write(write, (folder / "model").read_bytes())
    os.close(write)
    assert "is a pipe, which cannot be read twice: save its content to a file" in refused(
        capsys, "info", f"/dev/fd/{read}"
    )
    os.close(read)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a system without /dev/full")
def test_a_full_disk_is_named(folder, capsys):
    assert refused(capsys, "predict", "data.svm", "model", "/dev/full").endswith("/dev/full: No space left on device\n")


@pytest.mark.parametrize(
    "steps",
    [
        [("no", "passthrough"), ("scale", StandardScaler())],
        [("no", None), ("inner", Pipeline([("no", "passthrough"), ("scale", StandardScaler())]))],
        [("empty", Pipeline([("no", "passthrough")])), ("one", OrdinalEncoder(**UNKNOWN))],
    ],
)
def test_a_pipeline_whose_first_step_does_nothing_is_served(steps, folder, capsys):
    model = Pipeline([*steps, ("model", SVC())]).fit(X, y)
    save(model, "piped")
    assert re.search(r"^features +4$", ran(capsys, "info", "piped"), re.MULTILINE)
    assert ran(capsys, "predict", "data.svm", "piped", "out").startswith("accuracy")
    assert_array_equal(np.loadtxt("out", dtype=int), model.predict(X))
    ran(capsys, "convert", "piped", "piped.onnx")


def test_columns_of_no_row_are_dropped_and_foreign_ones_refused(folder):
    columns = ColumnTransformer([("all", StandardScaler(), [0, 1]), ("words", OneHotEncoder(), [])])
    model = Pipeline([("columns", columns), ("model", SVC())]).fit(X, y)
    save(model, "piped")
    assert_array_equal(load("piped").predict(X), model.predict(X))
    name, step, _ = model[0].transformers_[0]
    model[0].transformers_[0] = (name, step, [0])
    with pytest.raises(ValueError, match="the step 'all' was not fitted to 1 columns"):
        save(model, "piped")


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_pipeline_of_named_columns_takes_tables_without_names(folder, capsys):
    table = pd.DataFrame(X, columns=list("abcd"))
    columns = ColumnTransformer([("one", StandardScaler(), ["d", "a"]), ("rest", MinMaxScaler(), slice("b", "c"))])
    model = Pipeline([("columns", columns), ("model", SVC())]).fit(table, y)
    save(model, "piped")
    again = load("piped")
    for rows in (table, table[list("dcba")], X):
        assert_array_equal(again.decision_function(rows), model.decision_function(table))
    assert again[0].get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()
    assert main(["predict", "data.svm", "piped", "out"]) == 0
    assert_array_equal(np.loadtxt("out", dtype=int), model.predict(table))


@pytest.mark.parametrize("request_", ["info search", "predict data.svm search"])
def test_a_search_without_a_model_says_so(request_, folder, capsys):
    save(SVCCV(Cs=[1], gammas=[0.1], cv=2, refit=False).fit(X, y), "search")
    assert "this SVCCV has no model of all rows: it was fitted with refit=False" in refused(capsys, *request_.split())


def test_a_pipeline_reads_all_shards_and_says_that_it_must(folder, capsys):
    model = Pipeline([("scale", StandardScaler()), ("model", SVC())]).fit(X, y)
    save(model, "piped")
    ran(capsys, "predict", "shards", "piped", "out")
    assert_array_equal(np.loadtxt("out", dtype=int), model.predict(X))
    save(SVC(kernel="precomputed").fit(X @ X.T, y), "matrix")
    for name in ("piped", "matrix"):
        line = refused(capsys, "predict", "data.svm", name, "--memory", "1G")
        assert "--memory: a pipeline or a precomputed kernel needs all rows in memory" in line


def test_a_text_of_libsvm_serves_the_rows_that_it_was_trained_on(folder, capsys):
    (folder / "wide.svm").write_text("".join(f"{k % 2} 1:{k % 2}{' 9:0.01' * (k > 30)}\n" for k in range(32)))
    ran(capsys, "train", "wide.svm", "wide.libsvm", "-q", "--max-vectors", 2)
    assert "100%" in ran(capsys, "predict", "wide.svm", "wide.libsvm", "labels")
    text = (folder / "wide.libsvm").read_text()
    assert "9:0.0" in text
    (folder / "short.libsvm").write_text(text.replace(" 9:0.0", ""))  # as LIBSVM writes it
    assert main(["predict", "wide.svm", "short.libsvm", "others"]) == 0
    said = capsys.readouterr().err
    assert said == "swapsvm: warning: wide.svm: has a feature 9; short.libsvm mentions 1, the others are 0 there\n"
    assert (folder / "others").read_text() == (folder / "labels").read_text()


def test_errors_about_labels_name_the_option_where_it_exists(folder, capsys):
    rows = "".join(f"{k / 7},{k % 3}\n" for k in range(40))
    (folder / "bare.csv").write_text("a,b\n" + rows)
    (folder / "bare.svm").write_text(rows.replace(",", " 1:"))
    assert "or name the label column with --label" in refused(capsys, "train", "bare.csv", "m")
    assert "--label" not in refused(capsys, "train", "bare.svm", "m")


@pytest.mark.parametrize("request_", ["info {}", "predict data.svm {}", "convert {} again"])
def test_onnx_is_not_read_and_the_message_says_where_it_is(request_, folder, capsys):
    ran(capsys, "convert", "model", "model.onnx")
    said = refused(capsys, *request_.format("model.onnx").split())
    assert "model.onnx: ONNX models are written here, but not read: use onnxruntime" in said


@pytest.mark.parametrize(
    "request_",
    [
        "train data.svm -q new",
        "train -c 2 data.svm --jobs 1 new -q",
        "train data.svm -w1 2 new -w0 3",
        "train -q -- data.svm new",
        "tune data.svm -c 1 -g 1 new",
        "predict data.svm model --json new",
        "reduce model --max-vectors 9 data.svm new",
        "shard data.svm --rows 50 new",
    ],
)
def test_options_stand_anywhere(request_, folder, capsys):
    ran(capsys, *request_.split())
    assert (folder / "new").exists()


def test_an_argument_too_many_is_refused_by_the_verb(folder, capsys):
    assert "swapsvm train: error: unrecognized arguments: more" in refused(capsys, "train", "data.svm", "m", "more")
    assert not (folder / "m").exists()


IN_COLUMN_2 = r"table.csv: line 3: column 2, 'age': "
CELLS = [  # a cell of the column age, the option --label, what is said
    ("", "--label kind", IN_COLUMN_2 + "'' is a missing value: leave such rows out, or fit a pipeline in Python that"),
    ("NA", "--label kind", IN_COLUMN_2 + "'NA' is a missing value: leave such rows out"),
    ("nan", "", IN_COLUMN_2 + "'nan' is a missing value: leave such rows out"),
    ("-inf", "--label kind", IN_COLUMN_2 + "'-inf' is not a finite number: leave such rows out"),
    ("old", "--label kind", IN_COLUMN_2 + "'old' is not a number: leave the column out, or fit a pipeline in Python"),
    ("old", "", IN_COLUMN_2 + r"'old' is not a number \(the labels are in column 1, 'size': choose another column"),
]


@pytest.mark.parametrize(("cell", "label", "complaint"), CELLS)
def test_a_bad_cell_is_named_with_its_column_and_the_way_out(cell, label, complaint, folder, capsys):
    (folder / "table.csv").write_text(f"size,age,kind\n1,2,3\n4,{cell},6\n")
    assert re.search(complaint, refused(capsys, "train", "table.csv", "m", *label.split()))


def test_the_column_of_a_bad_cell_is_counted_with_the_labels_before_it(folder, capsys):
    (folder / "table.csv").write_text("kind,age,size\n1,2,3\n4,5,x\n")
    assert "line 3: column 3, 'size': 'x' is not a number" in refused(capsys, "train", "table.csv", "m")
    (folder / "table.csv").write_text("1,2,3\n4,5,x\n")
    assert "line 2: column 3: 'x' is not a number" in refused(capsys, "train", "table.csv", "m")


def test_a_first_row_with_a_missing_value_is_no_header(folder, capsys):
    (folder / "table.csv").write_text("0,,1\n" + "1,2,3\n0,4,5\n" * 3)
    assert "line 1: column 2: '' is a missing value" in refused(capsys, "train", "table.csv", "m")
    (folder / "table.csv").write_text(",age,kind\n" + "1,2,x\n2,4,y\n" * 3)  # written by pandas, with its index
    assert json.loads(ran(capsys, "train", "table.csv", "m", "-q", "--label", "kind", "--json"))["rows"] == 6
