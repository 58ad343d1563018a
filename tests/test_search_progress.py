"""What a search shows of itself: fits as they end in any thread, a bar or lines, and a last line."""

import io
import re
import time
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification

from swapsvm import SVCCV, SVRCV
from swapsvm.cli import main
from swapsvm.fitting import progress as displays

X, Y = load_iris(return_X_y=True)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    ("search", "fits"),
    [(SVCCV([1, 4], [0.1, 1.0], cv=3), 36), (SVRCV([1, 4], [0.1], cv=3, epsilons=[0.1, "auto"]), 12)],
)
def test_fits_are_counted_as_they_end(search, fits, n_jobs, monkeypatch, capsys):
    monkeypatch.setattr(displays, "SECONDS_PER_LINE", 0.0)
    search.set_params(verbose=1, n_jobs=n_jobs, refit=False).fit(X, Y)
    shown = capsys.readouterr()
    *lines, last = shown.err.splitlines()
    assert shown.out == "" and re.fullmatch(rf"swapsvm: {fits} of {fits} fits, \d+\.\d s", last)
    numbers = [int(re.fullmatch(rf"swapsvm: fit (\d+) of {fits}, \d+\.\d s", line)[1]) for line in lines]
    assert numbers == sorted(numbers) and set(numbers) == set(range(1, fits + 1))  # each of them, not whole paths


def test_lines_come_every_few_seconds(capsys):
    SVCCV([1, 4], [0.1, 1.0], cv=3, verbose=1, refit=False).fit(X, Y)
    assert len(capsys.readouterr().err.splitlines()) <= 3  # the first, the last, and one more on a slow machine


def test_nothing_is_shown_without_being_asked(capsys):
    SVCCV([1, 4], [0.1], cv=3).fit(X, Y)
    assert capsys.readouterr().err == ""


def test_the_bar_moves_as_fits_end_in_a_compiled_path(monkeypatch):
    rows, labels = make_classification(2000, 20, flip_y=0.3, random_state=0)
    done = []
    display = lambda total: nullcontext(lambda place, count, text: done.append(count))  # noqa: E731
    monkeypatch.setattr("swapsvm.selection.progress.open_display", display)
    SVCCV([1, 2, 4], [0.1], cv=2, verbose=1, n_jobs=1, refit=False).fit(rows, labels)
    assert done == [0, 1, 2, 3, 4, 5, 6, 6]  # and the last state


def test_the_bar_moves_inside_of_fits(monkeypatch):
    monkeypatch.setattr("swapsvm.gram.LARGEST_WHOLE", 0)  # each fit would be one step
    rows, labels = make_classification(3000, 20, flip_y=0.3, random_state=0)
    seen = []
    monkeypatch.setattr(
        "swapsvm.selection.progress.open_display",
        lambda total: nullcontext(lambda place, done, text: seen.append((time.perf_counter(), done))),
    )
    SVCCV([1e3, 1e5], [0.1, 1.0], cv=2, verbose=1, n_jobs=1, refit=False, tol=1e-6).fit(rows, labels)
    times, done = np.array(seen).T
    assert np.diff(times).max() < 1.0 and (done[0], done[-1]) == (0, 8)
    assert (done % 1 > 0).any()  # parts of fits, between whole ones


def test_a_bar_on_a_terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    SVCCV([1, 4], [0.1, 1.0], cv=3, verbose=1, refit=False).fit(X, Y)
    assert " of 36" in screen.getvalue() and "\r\x1b[2K36 of 36 fits" in screen.getvalue()


def test_the_refit_is_shown_and_the_result_is_the_same(capsys):
    quiet, shown = (SVCCV([1, 4], [0.1], cv=3, verbose=verbose).fit(X, Y) for verbose in (0, 1))
    lines = capsys.readouterr().err.splitlines()
    assert any("fits, " in line for line in lines) and any("pair 1 of 3" in line for line in lines)
    np.testing.assert_array_equal(quiet.cv_results_["mean_test_score"], shown.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(quiet.decision_function(X), shown.decision_function(X))
    assert shown.best_estimator_.verbose == 0


def test_a_failed_search_has_no_last_line(capsys):
    def broken(model, X, y):
        raise RuntimeError("no score")

    with pytest.raises(RuntimeError, match="no score"):
        SVCCV([1, 4], [0.1], cv=3, scoring=broken, verbose=1).fit(X, Y)
    assert "fits," not in capsys.readouterr().err


def test_tune_shows_a_bar_or_lines(tmp_path, monkeypatch, capsys):
    data = tmp_path / "rows.csv"
    np.savetxt(data, np.column_stack([Y, X]), delimiter=",", fmt="%.6g")
    words = ["tune", str(data), "-c", "2", "-g", "2", "-v", "3"]
    assert main([*words, "--json"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("swapsvm: fit 1 of 36") and lines[-1].startswith("swapsvm: 36 of 36 fits")
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    assert main(words) == 0
    assert "of 36" in screen.getvalue() and "36 of 36 fits" in screen.getvalue()
