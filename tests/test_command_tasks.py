"""The tasks of the command line: classes, numbers, novelty; what is refused or suggested, and what Ctrl-C keeps."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_iris
from sklearn.metrics import balanced_accuracy_score, mean_squared_error, r2_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from swapsvm import SVC, SVDD, SVR, SVRCV, ConvergenceWarning, OneClassSVM, reduce_support
from swapsvm.cli import main
from swapsvm.commands.output import warnings_in_lines
from swapsvm.commands.tasks import checked_targets
from swapsvm.commands.train import to_continue
from swapsvm.commands.tune import TO_CONTINUE
from swapsvm.datasets import loading
from swapsvm.datasets.registry import registry
from swapsvm.files import import_libsvm as load_libsvm
from swapsvm.files import load, save
from swapsvm.result import CONTINUE

from .pressing import Press
from .test_commands import ran, refused

X, TARGETS = load_diabetes(return_X_y=True)
TARGETS = TARGETS / 100
MADE = np.random.default_rng(0)
CLOUD = MADE.normal(size=(300, 3))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def numbers(folder):
    """Rows with numbers to predict."""
    np.savez(folder / "numbers.npz", X=X, y=TARGETS)
    return "numbers.npz"


# ---- the tasks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["regress", "3"])
def test_numbers_are_learned_and_scored(task, numbers, capsys):
    out = ran(capsys, "train", numbers, "model", "-q", "-s", task, "-c", 4, "-p", 0.2, "-t", 0)
    model, judge = load("model"), SVR(C=4, epsilon=0.2, kernel="linear").fit(X, TARGETS)
    assert "support vectors; relative gap" in out and isinstance(model, SVR)
    assert (model.on_interrupt, model.verbose) == ("raise", 0)  # those of the command are not the model's
    facts = json.loads(ran(capsys, "predict", numbers, "model", "--json"))
    assert facts["values"] == model.predict(X).tolist()
    np.testing.assert_allclose(facts["values"], judge.predict(X), rtol=1e-9)
    assert facts["mean_squared_error"] == pytest.approx(mean_squared_error(TARGETS, judge.predict(X)))
    assert facts["r2"] == pytest.approx(r2_score(TARGETS, judge.predict(X)))
    text = ran(capsys, "predict", numbers, "model", "values")
    assert text == f"mean squared error = {facts['mean_squared_error']:.6g}\nR^2 = {facts['r2']:.4g} (442 rows)\n"
    assert [float(line) for line in Path("values").read_text().splitlines()] == facts["values"]


def test_numbers_are_cross_validated(numbers, capsys):
    facts = json.loads(ran(capsys, "train", numbers, "-s", 3, "-v", 4, "--json"))
    found = cross_val_predict(SVR(), X, TARGETS, cv=KFold(4, shuffle=True, random_state=0))
    assert facts["mean_squared_error"] == pytest.approx(mean_squared_error(TARGETS, found))
    assert facts["r2"] == pytest.approx(r2_score(TARGETS, found))
    lines = ran(capsys, "train", numbers, "-s", 3, "-v", 4).splitlines()
    assert [line.partition(" = ")[0] for line in lines] == [
        "cross-validation mean squared error",
        "cross-validation R^2",
    ]


def test_numbers_are_tuned(numbers, capsys):
    words = ("tune", numbers, "best", "-q", "-s", 3, "-c", "1,4", "-g", "1,4", "-p", "0.2,auto", "-v", 3)
    facts = json.loads(ran(capsys, *words, "--json"))
    judge = SVRCV(Cs=[1, 4], gammas=[1, 4], epsilons=[0.2, "auto"], cv=3).fit(X, TARGETS)
    assert (facts["points"], facts["r2"], facts["best"]) == (8, judge.best_score_, judge.best_params_)
    np.testing.assert_array_equal(load("best").predict(X), judge.predict(X))
    assert "cross-validation R^2 = " in ran(capsys, *words)
    save(judge, "search")  # a search is a model as well
    assert json.loads(ran(capsys, "info", "search", "--json"))["estimator"] == "SVR"
    assert json.loads(ran(capsys, "predict", numbers, "search", "--json"))["r2"] == pytest.approx(
        judge.score(X, TARGETS)
    )


@pytest.mark.parametrize(("words", "judge"), [([], OneClassSVM()), (["--ball"], SVDD())])
@pytest.mark.parametrize("task", ["novelty", "2"])
def test_outliers_are_found_and_scored(task, words, judge, folder, capsys):
    np.savetxt("cloud.csv", CLOUD, delimiter=",")
    words = [*words, "--contamination", 0.1, "--slack", 0.02]
    ran(capsys, "train", "cloud.csv", "model", "-q", "-s", task, "--label", 0, *words)
    judge = judge.set_params(contamination=0.1, slack=0.02).fit(CLOUD)
    model = load("model")
    assert type(model) is type(judge)
    np.testing.assert_array_equal(model.decision_function(CLOUD), judge.decision_function(CLOUD))
    assert ran(capsys, "predict", "cloud.csv", "model", "labels") == "outliers = 10% (30/300)\n"
    labels = np.where(CLOUD[:, 0] > 1, -1, 1)
    np.savez("rows.npz", X=CLOUD, y=labels)
    facts = json.loads(ran(capsys, "predict", "rows.npz", "model", "--json"))
    found = judge.predict(CLOUD)
    assert facts["labels"] == found.tolist() and facts["accuracy"] == (found == labels).mean()
    assert facts["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(labels, found))
    assert "balanced accuracy = " in ran(capsys, "predict", "rows.npz", "model", "labels")
    info = json.loads(ran(capsys, "info", "model", "--json"))
    assert (info["task"], info["slack"], info["support_vectors"]) == ("novelty", 0.02, len(judge.support_))


def test_rows_without_labels_need_none_for_novelty(folder, capsys):
    np.savez("rows.npz", X=CLOUD)
    np.save("X.npy", CLOUD)
    for name in ("rows.npz", "X.npy"):
        ran(capsys, "train", name, "model", "-q", "-s", 2)
        assert load("model").n_features_in_ == 3
    assert "no array y" in refused(capsys, "train", "rows.npz", "model")


@pytest.mark.parametrize("task", [0, 2, 3])
def test_folders_of_shards_serve_all_tasks(task, folder, capsys):
    rows = MADE.normal(size=(2000, 3)).astype(np.float32)
    np.savez("rows.npz", X=rows, y=(rows[:, 0] > 0).astype(int))
    ran(capsys, "shard", "rows.npz", "shards", "--rows", 500)
    ran(capsys, "train", "shards", "model", "-q", "-s", task, "-e", 0.01, "--memory", "20K", "--features", 3)
    assert "has 3 features, not n_features=4" in refused(capsys, "train", "shards", "m", "-s", task, "--features", 4)
    facts = json.loads(ran(capsys, "predict", "shards", "model", "--memory", "20K", "--json"))
    assert facts["rows"] == 2000
    assert facts["accuracy"] > 0.9 if task == 0 else facts["r2"] > 0.5 if task == 3 else facts["outliers"] > 0


def test_a_pipeline_is_served(numbers, capsys):
    pipe = make_pipeline(StandardScaler(), SVR()).fit(X, TARGETS)
    save(pipe, "pipe")
    assert json.loads(ran(capsys, "predict", numbers, "pipe", "--json"))["r2"] == pytest.approx(pipe.score(X, TARGETS))
    facts = json.loads(ran(capsys, "info", "pipe", "--json"))
    assert facts["steps"] == ["StandardScaler", "SVR"] and facts["features"] == 10


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (OneClassSVM(), "this is OneClassSVM: .* set its threshold.* Train again with a smaller --slack"),
        (SVDD(), "this is SVDD: .* set its threshold.* Train again with a smaller --slack"),
        (make_pipeline(StandardScaler(), SVC()), "this is Pipeline: reduce its last step in Python"),
    ],
)
def test_only_supervised_machines_are_reduced(model, complaint, folder, capsys):
    save(model.fit(X, (TARGETS > 1).astype(int)), "model")
    said = refused(capsys, "reduce", "model", "numbers.npz", "small", "--max-vectors", 5)
    assert re.search(f"only an SVC or SVR can be reduced, {complaint}", said)


@pytest.mark.parametrize("epsilon", ["0.1", "auto"])
def test_a_regression_is_reduced(epsilon, numbers, capsys):
    ran(capsys, "train", numbers, "model", "-q", "--task", "regress", "-c", 10, "-p", epsilon)
    facts = json.loads(ran(capsys, "reduce", "model", numbers, "small", "--max-vectors", 9, "--json"))
    small, model = load("small"), load("model")
    expected = reduce_support(model, X, TARGETS, max_vectors=9)
    assert facts["support_vectors"] == len(small.support_) == 9 < facts["of"] == len(model.support_)
    assert facts["relative_gap"] == small.relative_gap_ == pytest.approx(expected.relative_gap_)
    assert facts["epsilon"] == small.epsilon_ == model.epsilon_
    np.testing.assert_array_equal(small.predict(X), expected.predict(X))
    told = json.loads(ran(capsys, "predict", numbers, "small", "--json"))
    assert told["r2"] == pytest.approx(r2_score(TARGETS, expected.predict(X)))
    ran(capsys, "convert", "small", "small.libsvm")
    np.testing.assert_allclose(load_libsvm("small.libsvm").predict(X), small.predict(X), rtol=1e-6)


def test_a_regression_is_reduced_to_an_r2(numbers, capsys):
    np.savez("rest.npz", X=X[300:], y=TARGETS[300:])
    np.savez("some.npz", X=X[:300], y=TARGETS[:300])
    ran(capsys, "train", "some.npz", "model", "-q", "--task", "regress", "-c", 10)
    ran(capsys, "reduce", "model", "some.npz", "small", "--max-accuracy-loss", 0.02, "--validation", "rest.npz")
    small, model = load("small"), load("model")
    assert len(small.support_) < len(model.support_) / 2
    assert small.score(X[300:], TARGETS[300:]) >= model.score(X[300:], TARGETS[300:]) - 0.02
    np.savez("text.npz", X=X[:300], y=np.array(["a", "b", "c"] * 100))
    assert "text.npz: its labels are text" in refused(capsys, "reduce", "model", "text.npz", "m", "--max-vectors", 9)


# ---- labels that do not suit the task -------------------------------------------------------------------------------


def draws(*chances, rows=4000):
    """Integers 0, 1, ... with these chances."""
    return np.random.default_rng(0).choice(len(chances), rows, p=np.array(chances) / sum(chances))


CLASSES = {
    "two": np.array([1, -1] * 5),
    "letters": draws(*[1] * 26),
    "a thousand balanced": np.arange(5000) % 1000,
    "faces, five of each": np.repeat(np.arange(40), 5),
    "unequal": draws(*np.arange(1, 54), rows=15000),
    "floats that are whole": np.array([0.0, 1.0] * 5),
    "few rare ones": np.concatenate([draws(*[1] * 30), [31]]),
    "text": np.array(["a", "b"] * 5, dtype=object),
}
NUMBERS = {
    "fractions": np.array([0.5, 1.5] * 5),
    "rings of shells": np.random.default_rng(0).gamma(9, 1.1, 4177).astype(int),
    "prices": (np.random.default_rng(0).lognormal(5, 1, 20000)).astype(int) * 100,
    "counts": np.random.default_rng(0).poisson(50, 1000),
    "years": 2011 - np.random.default_rng(0).geometric(0.1, 400_000).clip(max=89),
    "numbers of rows": np.arange(300),
    "names of rows": np.array([f"row {k}" for k in range(300)], dtype=object),
}


@pytest.mark.parametrize("kind", CLASSES)
def test_classes_are_taken_for_classes(kind):
    np.testing.assert_array_equal(checked_targets(None, CLASSES[kind], "data"), CLASSES[kind])


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_are_not_taken_for_classes_unless_one_says_so(kind):
    with pytest.raises(ValueError, match=r"^data: .*--task classify"):
        checked_targets(None, NUMBERS[kind], "data")
    targets = checked_targets("classify", NUMBERS[kind], "data")
    assert [str(label) for label in NUMBERS[kind].tolist()] == [str(label) for label in targets.tolist()]


@given(y=st.lists(st.integers(-5, 5), min_size=1) | st.lists(st.sampled_from("abc"), min_size=1))
@settings(max_examples=30)
def test_few_labels_are_always_classes(y):
    assert checked_targets(None, np.array(y), "data").tolist() == y


def test_an_explicit_task_overrides_the_rule(folder, capsys):
    np.savez("halves.npz", X=CLOUD, y=np.where(CLOUD[:, 0] > 0, 0.5, 1.5))
    assert "numbers with fractions: use --task regress" in refused(capsys, "train", "halves.npz", "model")
    assert "use --task regress" in refused(capsys, "tune", "halves.npz")
    ran(capsys, "train", "halves.npz", "model", "-q", "--task", "classify")
    assert json.loads(ran(capsys, "predict", "halves.npz", "model", "--json"))["accuracy"] > 0.9
    assert load("model").classes_.tolist() == ["0.5", "1.5"]


REFUSED = [
    ("train words.csv m -s 3", "its labels are text, such as 'red', but --task regress needs numbers"),
    ("train words.csv m -s 2", r"is one of its columns a label\? Name it with --label, or use --label 0"),
    ("train words.csv m --label 0", "has no label column '0'"),
    ("train words.csv m --label hue", "has no label column 'hue'.*choose one with --label"),
    (
        "train last.csv m",
        r"'red' is not a number \(the labels are in column 1, 'a': choose another column with --label\)",
    ),
    ("train rows.svm m --label 2", "rows.svm: has its labels in a place of their own: --label is for CSV and Parquet"),
    ("train words.csv m -s 1", "there is no nu: use -s 0"),
    ("train words.csv m -s 4", "there is no nu: use -s 3 with -p auto"),
    ("train words.csv m -s 5", "invalid choice: '5'"),
    ("train words.csv m -n 0.5", "-n: there is no nu"),
    ("train words.csv m -b 1", "-b: there are no probabilities"),
    ("train words.csv m -p x", "'x' is neither a number nor auto"),
    ("train words.csv m -p 1", "-p is an option of --task regress, not of classify"),
    ("train words.csv m -s 3 --multiclass ovr", "--multiclass is an option of --task classify, not of regress"),
    ("train words.csv m -s 2 -c 2", "-c is an option of --task classify and regress, not of novelty"),
    ("train words.csv m -s 3 -wred 2", "-w is an option of --task classify, not of regress"),
    ("train words.csv m -s 3 --ball", "--ball is an option of --task novelty, not of regress"),
    ("train words.csv -s 2 -v 3", "a detector has no score to cross-validate"),
    ("tune words.csv m -p 1", "-p is an option of --task regress, not of classify"),
    ("tune words.csv m -s 2", "2: a detector has no score to compare: choose --slack and --contamination"),
    ("train words.csv m --gama 1", "unknown option --gama: did you mean --gamma"),
    ("train words.csv m --gama=1", "unknown option --gama: did you mean --gamma"),
    ("predict words.csv m --kernel rbf", "unknown option --kernel: it is an option of train, tune"),
    ("train words.csv m --wxyz", r"unknown option --wxyz \(see"),
    ("trian words.csv m", "unknown command 'trian': did you mean train"),
    ("sing", "unknown command 'sing': use one of train, predict"),
]


@pytest.mark.parametrize(("request_", "complaint"), REFUSED)
def test_requests_that_do_not_fit_are_refused_with_the_way_out(request_, complaint, folder, capsys):
    (folder / "words.csv").write_text("color,a,b\n" + "red,1,2\nblue,3,1\n" * 4)
    (folder / "last.csv").write_text("a,b,color\n" + "1,2,red\n3,1,blue\n" * 4)
    (folder / "rows.svm").write_text("1 1:1\n2 2:1\n" * 4)
    assert re.search(complaint, refused(capsys, *request_.split()))
    assert not (folder / "m").exists()


def test_a_model_of_numbers_is_not_scored_by_text(numbers, folder, capsys):
    ran(capsys, "train", numbers, "model", "-q", "-s", 3)
    np.savez("text.npz", X=X[:3], y=np.array(["a", "b", "c"]))
    assert "the model predicts numbers" in refused(capsys, "predict", "text.npz", "model")


# ---- names of data sets ---------------------------------------------------------------------------------------------


@pytest.fixture
def few_rows(monkeypatch):
    """A data set of the registry without its files."""
    rows, labels = load_iris(return_X_y=True)
    iris = loading.Dataset("a1a", rows[::2], labels[::2], rows[1::2], labels[1::2], "classification", "as measured")
    monkeypatch.setattr("swapsvm.commands.reading.load", lambda name: iris)


def test_a_data_set_is_named_like_a_file(few_rows, folder, capsys):
    assert main(["train", "a1a", "model", "-q"]) == 0
    assert "a1a is the data set of that name" in capsys.readouterr().err
    assert main(["predict", "a1a.t", "model", "labels", "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["rows"] == 75 and shown.err.count("note") == 1


def test_a_file_is_preferred_to_a_data_set_and_the_choice_is_said(few_rows, folder, capsys):
    (folder / "a1a").write_text("1 1:1\n-1 2:1\n1 1:2\n-1 2:2\n")
    assert main(["train", "a1a", "model", "-q"]) == 0
    shown = capsys.readouterr()
    assert "a1a is the file in this folder, not the data set of that name" in shown.err and shown.err.count("note") == 1
    assert shown.out.startswith("4 of 4 rows")


def test_names_without_test_rows_and_unknown_names(folder, monkeypatch, capsys):
    assert registry()["cadata"].test is None
    assert "No such file" in refused(capsys, "train", "a1b", "model")
    assert "No such file" in refused(capsys, "train", "./a1a", "model")


def test_data_sets_as_json(capsys):
    listed = json.loads(ran(capsys, "datasets", "--json"))["datasets"]
    assert [entry["name"] for entry in listed] == list(registry())
    assert listed[0].keys() == {"name", "rows", "test_rows", "features", "classes", "files"}


# ---- progress and Ctrl-C ---------------------------------------------------------------------------------------------


def test_ctrl_c_keeps_the_model_so_far(folder, monkeypatch, capsys):
    rows, labels = MADE.normal(size=(6000, 5)), MADE.integers(0, 2, 6000)
    dump_svmlight_file(rows, labels, "data", zero_based=False)
    pressed, plain = Press(), SVC.fit
    monkeypatch.setattr(SVC, "fit", lambda self, X, y: plain(self.set_params(callbacks=[pressed]), X, y))
    assert main(["train", "data", "model", "-c", "1e4", "-e", "0", "--max-time", "60", "--json"]) == 130
    shown = capsys.readouterr()
    pressed.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert "swapsvm: warning: interrupted: model is the model so far\n" in shown.err
    assert json.loads(shown.out)["stop_reason"] == load("model").stop_reason_ == "interrupted"
    assert "train with --checkpoint FILE: the same command then resumes" in shown.err and "warm_start" not in shown.err
    assert json.loads(ran(capsys, "predict", "data", "model", "--json"))["rows"] == 6000


def test_after_ctrl_c_a_training_resumes_from_its_checkpoint(folder, monkeypatch, capsys):
    rows, labels = MADE.normal(size=(6000, 5)), MADE.integers(0, 2, 6000)
    dump_svmlight_file(rows, labels, "data", zero_based=False)
    plain, moves, pressed = SVC.fit, [], []
    monkeypatch.setattr(SVC, "fit", lambda self, X, y: plain(self.set_params(callbacks=heard), X, y))

    def heard(progress):
        moves.append(progress.iteration)
        if moves[0] < progress.iteration and not pressed:  # however slow the machine is
            pressed.append(os.kill(os.getpid(), signal.SIGINT))

    words = ["train", "data", "model", "-c", "1e4", "-e", "0", "--checkpoint", "saved"]
    assert main([*words, "--max-time", "60"]) == 130
    shown = capsys.readouterr().err
    assert "for a smaller one run the same command again: it resumes from saved." in shown and "warm_start" not in shown
    done, calls = int(load("model").n_iter_[0]), len(moves)
    main([*words, "--max-time", "1"])
    assert moves[0] < done <= moves[calls]


def test_advice_after_ctrl_c_names_options(capsys):
    assert to_continue(SVR(max_vectors=9)) == "train again and let it run longer"
    with warnings_in_lines(TO_CONTINUE):
        warnings.warn(f"the fit stopped; for a smaller one {CONTINUE}.", ConvergenceWarning, stacklevel=1)
    assert capsys.readouterr().err == f"swapsvm: warning: the fit stopped; for a smaller one {TO_CONTINUE}.\n"


def test_ctrl_c_while_the_commands_are_imported(monkeypatch, capsys):
    class Interrupting:
        def find_spec(self, name, *_):
            if name == "swapsvm.commands.program":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "swapsvm.commands.program", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    assert main(["info", "model"]) == 130
    assert capsys.readouterr().err == "swapsvm: interrupted\n"


def test_a_search_without_a_scored_candidate_says_so(numbers, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("swapsvm.fitting.session.Session.each", interrupted)
    assert main(["tune", numbers, "model", "--task", "regress"]) == 130
    assert capsys.readouterr().err.endswith("swapsvm: interrupted before a candidate was scored on all folds\n")
    assert not Path("model").exists()


def test_progress_ends_with_a_certified_line_and_can_be_silenced(numbers, capsys):
    assert main(["train", numbers, "model", "-s", "3"]) == 0
    *_, last = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"swapsvm: problem 1 of 1, certified gap \S+, \S+ kernel values, \d+\.\d s", last)
    assert main(["train", numbers, "model", "-s", "3", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_bar_stays_on_the_terminal(numbers, monkeypatch, capsys):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    assert main(["train", numbers, "model", "-s", "3"]) == 0
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue()).rstrip()
    assert re.search(r"^problem 1 of 1 +━+ certified gap [\d.e-]+, ", re.split(r"[\r\n]", shown)[-1])
