"""Ctrl-C inside a fit."""

import signal
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

from swapsvm import SVC, ConvergenceWarning

from .pressing import Press

ENDLESS = {"C": 1e4, "tol": 0.0, "eps": 0.0, "gamma": 0.02, "max_time": 60.0}  # a gap of 0 is never reached


def hard(classes=2):
    """Too many rows in each pair of classes for a single step."""
    return make_classification(3000 * classes, 20, n_informative=10, n_classes=classes, flip_y=0.3, random_state=0)


@pytest.mark.parametrize("solver", ["block", "swap", "cvm"])
@pytest.mark.parametrize(("classes", "n_jobs"), [(2, 1), (3, 1), (3, 2)])
def test_the_model_so_far_is_kept(solver, classes, n_jobs):
    X, y = hard(classes)
    pressed = Press()
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="stopped by 'interrupted'"):
        model = SVC(solver=solver, n_jobs=n_jobs, on_interrupt="keep", callbacks=[pressed], **ENDLESS).fit(X, y)
    assert time.perf_counter() - began < 10  # less than a second on an idle machine
    pressed.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert model.stop_reason_ == "interrupted" and len(model.results_) == classes * (classes - 1) // 2
    for result in model.results_:
        assert result.weights.sum() == pytest.approx(1) and result.weights.min() >= 0
        assert np.isfinite(result.gap) and result.gap > 0
    assert model.predict(X[:5]).shape == (5,)


def test_by_default_it_raises_and_leaves_nothing():
    X, y = hard()
    pressed = Press()
    model = SVC(callbacks=[pressed], **ENDLESS)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    pressed.join()
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_the_next_fit_is_not_stopped():
    X, y = hard()
    pressed = Press()
    with pytest.warns(ConvergenceWarning):
        SVC(on_interrupt="keep", callbacks=[pressed], **ENDLESS).fit(X, y)
    pressed.join()
    assert SVC(on_interrupt="keep").fit(X, y).stop_reason_ == "gap"


def test_other_threads_and_other_handlers_are_left_alone():
    X, y = make_classification(300, 5, random_state=0)
    found = []
    thread = threading.Thread(target=lambda: found.append(SVC(on_interrupt="keep").fit(X, y).stop_reason_))
    thread.start()
    thread.join()
    assert found == ["gap"]

    def own(number, frame):
        raise AssertionError

    before = signal.signal(signal.SIGINT, own)
    try:
        SVC(on_interrupt="keep").fit(X, y)
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_bad_choice():
    with pytest.raises(ValueError, match=r"'on_interrupt' .* {'raise', 'keep'}. Got 'ignore'"):
        SVC(on_interrupt="ignore").fit([[0.0], [1.0]], [0, 1])
