"""The compiled core inside a process: SIMD levels, threads, forks, interrupts."""

import multiprocessing
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import make_classification

from swapsvm import SVC, _core

HARD = {"n_samples": 8000, "n_features": 20, "flip_y": 0.3, "random_state": 0}


def test_simd_levels():
    levels = _core.simd_levels()
    assert levels[-1] == "portable"
    assert _core.simd_level() in levels
    with pytest.raises(ValueError, match="simd level 'v9' is not available"):
        _core.select_simd("v9")


@pytest.mark.parametrize("level", _core.simd_levels())
def test_environment_chooses_the_level(level):
    code = "from swapsvm import _core; import sys; sys.stdout.write(_core.simd_level())"
    environment = {**os.environ, "SWAPSVM_SIMD": level}
    out = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert out.stdout == level


def test_every_level_trains_the_same_model():
    X, y = make_classification(500, 9, flip_y=0.1, random_state=0)
    before = _core.simd_level()
    decisions = []
    for level in _core.simd_levels():
        _core.select_simd(level)
        decisions.append(SVC(C=5, tol=1e-10).fit(X, y).decision_function(X))
    _core.select_simd(before)
    for decision in decisions[1:]:
        np.testing.assert_allclose(decision, decisions[0], atol=1e-6)


def _fit_in_child(queue):
    X, y = make_classification(5000, 10, random_state=1)
    queue.put(float(SVC().fit(X, y).score(X, y)))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_of_a_threaded_parent_can_fit():
    X, y = make_classification(5000, 10, random_state=1)
    expected = SVC().fit(X, y).score(X, y)  # the parent's threads exist now
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_fit_in_child, args=(queue,))
    child.start()
    child.join(60)
    hung = child.is_alive()
    if hung:
        child.kill()
    assert not hung
    assert queue.get(timeout=5) == expected


def test_python_threads_share_the_machine():
    """Two fits in two threads: the GIL is released, and neither disturbs the other."""
    X, y = make_classification(3000, 10, flip_y=0.2, random_state=1)
    expected = SVC(C=3).fit(X, y).dual_coef_
    found = [None, None]

    def fit(k):
        found[k] = SVC(C=3).fit(X, y).dual_coef_

    threads = [threading.Thread(target=fit, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for dual_coef in found:
        np.testing.assert_array_equal(dual_coef, expected)


def test_one_model_answers_several_threads():
    X, y = make_classification(300, 10, n_informative=5, n_classes=3, random_state=1)
    model = SVC(C=3).fit(X, y)
    expected = SVC(C=3).fit(X, y).decision_function(X)
    found, start = [], threading.Barrier(4)

    def predict():
        start.wait()
        found.extend(model.decision_function(X) for _ in range(5))

    threads = [threading.Thread(target=predict) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    for decision in found:
        np.testing.assert_array_equal(decision, expected)


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="a Python with a GIL")
def test_the_module_leaves_the_gil_off():
    code = "import sys; from swapsvm import SVC, _core; sys.stdout.write(str(sys._is_gil_enabled()))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (out.stdout, out.stderr) == ("False", "")


@pytest.mark.skipif(sys.platform == "win32", reason="no signals between processes")
def test_ctrl_c_is_heard_inside_fit():
    X, y = make_classification(**HARD)
    model = SVC(C=1e4, tol=1e-9)
    sent = []

    def interrupt():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert time.perf_counter() - sent[0] < 0.5
    assert not hasattr(model, "classes_")


def test_a_model_that_outlives_the_interpreter_is_no_leak_to_report():
    code = "from swapsvm import SVC; m = SVC().fit([[0], [1]], [0, 1]); m.predict([[2]]); "
    code += "import ctypes; ctypes.pythonapi.Py_IncRef(ctypes.py_object(m))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == out.stderr == ""
