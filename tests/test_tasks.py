"""scikit-learn's own callbacks: what they see of a fit, and how they end it."""

import copy
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from swapsvm import SVC, SVCCV, ConvergenceWarning
from swapsvm.files import load, save

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 or later")

from swapsvm.fitting.callbacks import ROUNDS  # noqa: E402 - after the version is known

X, Y = make_classification(600, 10, n_informative=6, flip_y=0.2, random_state=0)
DIGITS, LABELS = (values[:400] for values in load_digits(return_X_y=True))


class Recorder:
    """Records the arguments of the hooks of a fit; ends tasks with a given name."""

    def __init__(self, ended=None):
        self.events, self.ended = [], ended

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name, context.task_id, None))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name, context.task_id, None))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name, context.task_id, None))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        self.events.append(("end", context.task_name, context.task_id, (X, y, metadata, fitted_estimator)))
        return context.task_name == self.ended

    def of(self, event, name=None):
        return [found for found in self.events if found[0] == event and name in (None, found[1])]

    def models(self, name):
        return [told for *_, told in self.of("end", name) if told[3] is not None]


class Everywhere(Recorder):
    """A callback that propagates to inner estimators."""

    max_propagation_depth = None


def test_rounds_of_two_classes():
    seen = Recorder()
    model = SVC(solver="swap2", tol=1e-4).set_callbacks(seen).fit(X, Y)
    kinds = [event for event, *_ in seen.events]
    assert kinds[:2] == ["setup", "begin"] and kinds[-2:] == ["end", "teardown"]
    assert [n for _, _, n, _ in seen.of("begin", "round")] == list(range(ROUNDS))
    assert [n for _, _, n, _ in seen.of("end", "round")] == list(range(ROUNDS))
    assert len(seen.models("round")) > 5
    values = [objective(told[3]) for told in seen.models("round")]
    assert np.all(np.diff(values) >= -1e-9 * values[-1])  # weights of a run that only improves
    assert values[-1] == pytest.approx(objective(model), rel=1e-3)
    assert not hasattr(model, "_callback_fit_ctx") and not hasattr(model, "_tasks")


def objective(model):
    """The dual value 1'b - b'Qb / 2 of a model's coefficients b = |dual_coef_|."""
    coef, vectors = model.dual_coef_[0], model.support_vectors_
    distances = ((vectors[:, None] - vectors[None]) ** 2).sum(axis=2)
    quadratic = coef @ (np.exp(-model.gamma_ * distances) + 1) @ coef + coef @ coef / model.C
    return np.abs(coef).sum() - quadratic / 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_pairs_are_tasks_of_their_own(n_jobs):
    seen = Recorder()
    weights = np.linspace(0.5, 1.5, len(LABELS))
    model = SVC(tol=1e-3, n_jobs=n_jobs).set_callbacks(seen).fit(DIGITS, LABELS, weights)
    pairs = [found for found in seen.of("end") if found[1].startswith("classes")]
    assert len(pairs) == 45 and sorted(n for _, _, n, _ in pairs) == list(range(45))
    for _, name, _, (rows, labels, metadata, fitted) in pairs:
        assert name == "classes {} and {}".format(*fitted.classes_)
        assert set(labels) == set(fitted.classes_) and len(rows) == len(labels) == len(metadata["sample_weight"])
        assert fitted.score(rows, labels) > 0.95
    for _, _, n, (rows, _, _, fitted) in pairs[:5]:  # the model of a pair is that pair of the whole model
        ovo = copy.copy(model).set_params(decision_function_shape="ovo").decision_function(rows)[:, n]
        np.testing.assert_allclose(fitted.decision_function(rows), -ovo, atol=1e-9)
    rows, labels, metadata, fitted = seen.of("end", "fit")[0][3]
    assert rows is DIGITS and labels is LABELS and metadata["sample_weight"] is weights
    np.testing.assert_array_equal(fitted.predict(DIGITS), model.predict(DIGITS))


def test_models_are_made_only_for_those_who_ask(monkeypatch):
    class Cheap(Recorder):
        def on_fit_task_end(self, estimator, context):
            return False

    monkeypatch.setattr(SVC, "_part_attributes", lambda *_: pytest.fail("nobody asked"))
    SVC().set_callbacks(Cheap(), callback.ProgressBar()).fit(X, Y)


@pytest.mark.parametrize("warm_start", [False, True])
def test_the_fit_is_the_same_with_callbacks(warm_start):
    plain, watched = SVC(tol=1e-3, warm_start=warm_start), SVC(tol=1e-3, warm_start=warm_start)
    watched.set_callbacks(callback.ScoringMonitor(scoring="accuracy"))
    for C in (1.0, 4.0):
        for model in (plain, watched):
            model.set_params(C=C).fit(X, Y)
        np.testing.assert_array_equal(plain.dual_coef_, watched.dual_coef_)


def test_a_round_ends_its_pair_and_a_pair_all():
    with pytest.warns(ConvergenceWarning, match="stopped by 'callback'"):
        model = SVC(tol=1e-8, solver="swap").set_callbacks(Recorder(ended="round")).fit(DIGITS, LABELS)
    assert {r.stop_reason for r in model.results_} == {"callback"} and len(model.results_) == 45
    last = Recorder(ended="classes 0 and 1")
    with pytest.warns(ConvergenceWarning, match="stopped by 'callback'"):
        model = SVC(tol=1e-8, solver="swap", n_jobs=1).set_callbacks(last).fit(DIGITS, LABELS)
    assert [r.stop_reason for r in model.results_].count("callback") == 44
    assert model.score(DIGITS, LABELS) > 0.5  # every pair has at least its start


def test_a_scoring_monitor_and_a_bar():
    monitor = callback.ScoringMonitor(scoring=["accuracy", "roc_auc"])
    model = SVC(solver="swap2", tol=1e-4).set_callbacks(monitor, callback.ProgressBar()).fit(X, Y, np.ones(len(Y)))
    log = monitor.get_logs().data
    assert log[0]["task_name"] == "fit" and log[0]["accuracy"] == model.score(X, Y)
    assert len(log) > 5 and {row["task_name"] for row in log[1:]} == {"round"}
    assert log[-1]["accuracy"] == pytest.approx(log[0]["accuracy"], abs=0.01)


def test_names_of_columns_are_kept():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(DIGITS, columns=[f"pixel {k}" for k in range(64)])
    monitor = callback.ScoringMonitor(scoring="accuracy")
    SVC().set_callbacks(monitor).fit(frame, pandas.Series(LABELS))  # a warning of other names would be an error
    assert len(monitor.get_logs().data) > 45


def test_a_precomputed_kernel():
    monitor = callback.ScoringMonitor(scoring="accuracy")
    few = slice(0, 100)
    SVC(kernel="precomputed").set_callbacks(monitor).fit(DIGITS[few] @ DIGITS[few].T, LABELS[few])
    assert monitor.get_logs().data[0]["accuracy"] == 1


def test_without_rounds():
    """A fit that starts at its solution, and one that is stopped at once, also give complete trees."""
    seen = Recorder()
    model = SVC(warm_start=True).fit(X, Y).set_callbacks(seen).fit(X, Y)
    assert len(seen.of("begin")) == len(seen.of("end")) and model.stop_reason_ == "gap"
    seen = Recorder()
    with pytest.warns(ConvergenceWarning):
        SVC(max_iter=1).set_callbacks(seen).fit(X, Y)
    assert len(seen.of("begin")) == len(seen.of("end")) == 2


def test_a_gap_of_zero_has_rounds_too():
    seen = Recorder()
    with pytest.warns(ConvergenceWarning):
        SVC(tol=0, eps=0, solver="swap2", max_iter=20000).set_callbacks(seen).fit(X, Y)
    assert len(seen.models("round")) > 3


def test_an_error_in_a_hook_comes_out_and_callbacks_are_torn_down():
    class Broken(Recorder):
        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("mine")

    seen = Broken()
    model = SVC(n_jobs=2).set_callbacks(seen)
    with pytest.raises(RuntimeError, match="mine"):
        model.fit(DIGITS, LABELS)
    assert seen.events[-1][0] == "teardown" and not hasattr(model, "classes_") and not hasattr(model, "_tasks")


def test_callbacks_of_both_kinds_live_together():
    own, seen = [], Recorder()
    model = SVC(callbacks=own.append, solver="swap2").set_callbacks(seen)
    assert model.get_params()["callbacks"] == own.append
    other = clone(model)
    assert other.callbacks is model.callbacks and other._skl_callbacks is model._skl_callbacks
    other.fit(X, Y)
    assert own and seen.models("round")
    seen.events.clear()
    model.set_callbacks().fit(X, Y)
    assert not seen.events
    with pytest.raises(TypeError, match="FitCallback"):
        model.set_callbacks(own.append)


def test_a_fitted_model_travels_without_the_rows(tmp_path):
    model = SVC().set_callbacks(callback.ScoringMonitor(scoring="accuracy")).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    save(model, tmp_path / "model.swapsvm")
    np.testing.assert_array_equal(load(tmp_path / "model.swapsvm").predict(X), model.predict(X))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_inside_of_a_search_and_a_pipeline(n_jobs):
    monitor = callback.ScoringMonitor(scoring="accuracy")
    pipeline = make_pipeline(StandardScaler(), SVC(n_jobs=1).set_callbacks(monitor))
    search = GridSearchCV(pipeline, {"svc__C": [1, 10]}, cv=2, n_jobs=n_jobs)
    search.set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(X, Y)
    log = monitor.get_logs()
    assert log.estimator_name == "GridSearchCV"
    fits = [row for row in log.data if row["task_name"] == "fit"]
    assert len(fits) == 5 and all(row["estimator_name"] == "SVC" for row in fits)


def test_the_outer_estimator_sees_the_rounds():
    seen = Everywhere()
    GridSearchCV(SVC(), {"C": [1, 10]}, cv=2).set_callbacks(seen).fit(X, Y)
    assert len(seen.of("begin", "round")) >= 5 * 2 and [e for e, *_ in seen.events].count("setup") == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_search_shows_its_paths_and_its_refit(n_jobs):
    seen = Everywhere()
    search = SVCCV([1, 10], [0.1, 1.0], cv=3, n_jobs=n_jobs).set_callbacks(seen, callback.ProgressBar()).fit(X, Y)
    paths = [n for _, _, n, _ in seen.of("end", "path")]
    assert len(paths) >= 2 and sorted(paths) == list(range(len(paths))) == sorted(
        n for _, _, n, _ in seen.of("begin", "path")
    )
    assert len(seen.of("end", "search")) == 1 and len(seen.of("begin", "round")) == len(seen.of("end", "round")) > 1
    root = seen.of("end", "fit")[-1][3]
    np.testing.assert_array_equal(root[3].predict(X), search.predict(X))
    seen.events.clear()
    SVCCV([1], [0.1], cv=2, refit=False).set_callbacks(seen).fit(X, Y)
    assert len(seen.of("begin")) == len(seen.of("end")) and not seen.of("begin", "round")


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to oneself")
@pytest.mark.parametrize("choice", ["raise", "keep"])
def test_ctrl_c(choice):
    seen = Recorder()
    model = SVC(C=1e6, tol=1e-12, solver="fw", on_interrupt=choice, max_time=60).set_callbacks(seen)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    if choice == "raise":
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y)
        assert not hasattr(model, "classes_")
    else:
        with pytest.warns(ConvergenceWarning, match="'interrupted'"):
            model.fit(X, Y)
        assert seen.events[-2][:2] == ("end", "fit")
    timer.join()
    assert seen.events[-1][0] == "teardown"


def test_a_slow_callback_does_not_make_moves_single():
    """The frequency of looks depends on the moves, not on the observers."""
    calls = []

    def slow(progress):
        calls.append(progress.iteration)
        time.sleep(0.06)

    SVC(C=100, solver="swap", tol=1e-3, callbacks=slow).fit(X, Y)
    assert max(np.diff(calls)) > 500


OLDER = """
import sys
import pytest
import sklearn.callback
import sklearn.model_selection
from sklearn.base import clone
from sklearn.datasets import load_iris

there, sys.modules["sklearn.callback"] = sklearn.callback, None  # importing it is an ImportError, as before 1.9
from swapsvm import SVC, SVCCV
sys.modules["sklearn.callback"] = there

X, y = load_iris(return_X_y=True)
for model in (SVC(), SVCCV(2, 2)):
    assert clone(model).fit(X, y).score(X, y) > 0.9 and not hasattr(model, "set_callbacks")
    with pytest.raises(AttributeError, match="set_callbacks needs scikit-learn 1.9 or later, this is"):
        model.set_callbacks
"""


def test_older_versions_have_no_callbacks():
    ran = subprocess.run([sys.executable, "-c", OLDER], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
