"""Callbacks, the progress bar, the log, and the picture of a trace."""

import io
import logging

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification

from swapsvm import SVC, ConvergenceWarning, FitProgress, plot_trace
from swapsvm.fitting.bar import Bar, shortened
from swapsvm.fitting.progress import format_place, format_progress

X, Y = make_classification(3000, 10, n_informative=6, flip_y=0.2, random_state=0)
DIGITS, LABELS = load_digits(return_X_y=True)


def test_a_callback_sees_the_fit():
    seen = []
    model = SVC(solver="swap", C=10, tol=1e-3, callbacks=seen.append).fit(X, Y)
    assert seen and all(isinstance(p, FitProgress) for p in seen)
    assert [p.iteration for p in seen] == sorted(p.iteration for p in seen)
    last = seen[-1]
    assert last.pair == (0, 1) and last.pairs == 1 and last.iteration <= model.n_iter_[0]
    assert last.target == pytest.approx(1e-3 * abs(last.value)) and 0 <= last.part <= 1
    assert last.support > 0 and last.evaluations > 0 and last.relative_gap < seen[0].relative_gap


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_that_returns_false_ends_all_pairs(n_jobs):
    calls = []

    def enough(progress):
        calls.append(progress)
        return len(calls) < 3

    with pytest.warns(ConvergenceWarning, match="stopped by 'callback'"):
        model = SVC(solver="swap", tol=1e-9, callbacks=[enough, calls.append], n_jobs=n_jobs).fit(DIGITS, LABELS)
    assert model.stop_reason_ == "callback" and len(model.results_) == 45
    assert {r.stop_reason for r in model.results_} <= {"callback", "gap"}
    assert all(r.weights.sum() == pytest.approx(1) for r in model.results_)
    assert model.score(DIGITS, LABELS) > 0.5  # every pair has at least its start


def test_nothing_but_false_stops():
    for answer in (None, 0, True, ""):
        assert SVC(callbacks=lambda p, answer=answer: answer).fit(X, Y).stop_reason_ == "gap"


def test_pairs_are_counted():
    seen = []
    SVC(solver="swap2", tol=1e-6, callbacks=seen.append).fit(DIGITS, LABELS)
    assert {p.pairs for p in seen} == {45} and max(p.pairs_done for p in seen) > 30
    assert {p.pair for p in seen} <= {(a, b) for a in range(10) for b in range(a + 1, 10)}


def test_an_error_in_a_callback_comes_out():
    def broken(progress):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        SVC(callbacks=broken).fit(X, Y)


def test_what_is_no_callback_is_refused():
    with pytest.raises(ValueError, match="callbacks='x' is not callable"):
        SVC(callbacks=["x"]).fit(X, Y)


def test_an_estimator_with_callbacks_can_be_cloned():
    assert clone(SVC(callbacks=print, verbose=1)).callbacks is print


def test_lines_where_there_is_no_terminal(capsys):
    SVC(solver="swap", C=10, tol=1e-4, verbose=1).fit(X, Y)
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("swapsvm: pair 1 of 1, gap ")
    assert "support vectors" in captured.err and "kernel values" in captured.err


def test_a_bar_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    SVC(solver="swap", C=10, tol=1e-4, verbose=1).fit(X, Y)
    assert "pair 1 of 1" in screen.getvalue()


def test_the_bar_follows_the_pairs():
    progress = FitProgress(5, 1.0, 0.1, 0.01, 20, 400, 0.1, pair=("a", "b"), pairs_done=2, pairs=3, target=0.001)
    assert format_progress(progress) == "gap 1.0e-01, 20 support vectors, 4e+02 kernel values, 1.0 s"
    bar = Bar(3)
    assert shortened(format_progress(progress), 40) == "gap 1.0e-01, 20 support vectors"
    bar(format_place(progress), progress.pairs_done + progress.part, format_progress(progress))
    assert bar._bars.tasks[0].fields["place"] == "pair 3 of 3"
    assert bar._bars.tasks[0].completed == pytest.approx(2.5)  # half of the factors between 0.1 and 0.001


def test_the_log_has_a_line_for_each_pair(caplog):
    with caplog.at_level(logging.INFO, logger="swapsvm"):
        SVC().fit(DIGITS, LABELS)
    lines = [r.getMessage() for r in caplog.records if "kernel values" in r.getMessage()]
    assert len(lines) == 45 and "gap after" in lines[0]


@pytest.mark.parametrize(("x", "label"), [("seconds", "seconds"), ("iteration", "iterations")])
def test_a_picture_of_the_trace(x, label, tmp_path):
    model = SVC(solver="swap", tol=1e-3).fit(X, Y)
    ax = plot_trace(model, x=x)
    assert ax.get_xlabel() == label and ax.get_yscale() == "log" and len(ax.lines) == 2
    drawn = ax.lines[0].get_ydata()
    assert np.all(np.diff(drawn) <= 0) and drawn[-1] <= 2e-3  # records thin out
    ax.figure.savefig(tmp_path / "trace.png")


def test_pictures_that_cannot_be_drawn():
    with pytest.raises(ValueError, match="call fit first"):
        plot_trace(SVC())
    with pytest.raises(ValueError, match="x='time' must be one of"):
        plot_trace(SVC().fit(X, Y), x="time")
