"""Limits and interrupts inside long computations: a stopped step has no effect, and claims are proven."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

from swapsvm import SVC, ConvergenceWarning, maximize
from swapsvm._core import Stopped, StopToken
from swapsvm.fitting.workers import side_by_side
from swapsvm.gram import Gram
from swapsvm.kernels import Rbf
from swapsvm.problems import L2SVC, L2SVR, OneClass
from swapsvm.run import Run
from swapsvm.solvers import make_solver
from swapsvm.state import KernelState, Sampling
from swapsvm.stopping import make_stop

from .pressing import Press

ENDLESS = {"C": 1e4, "tol": 0.0, "eps": 0.0, "gamma": 0.02, "max_time": 60.0}


def noisy(rows, columns=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, np.sign(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=rows))


@pytest.fixture(autouse=True)
def several_steps(monkeypatch):
    """Otherwise problems as small as these take one step, whose time is in ``choose``."""
    monkeypatch.setattr("swapsvm.gram.LARGEST_WHOLE", 0)


def problem_of(rows=600, dtype=np.float64, **options):
    X, y = noisy(rows)
    groups = [np.flatnonzero(y > 0), np.flatnonzero(y < 0)]
    return L2SVC.of(Gram(Rbf(0.3), X.astype(dtype), groups=groups, n_threads=1, **options), 0, 1, 1.0)


def regression():
    X, y = noisy(300)
    return L2SVR.of(Gram(Rbf(0.3), X, n_threads=1), y, 10.0, 0.1)


PROBLEMS = {
    "svc": problem_of,
    "svc in single precision": lambda: problem_of(dtype=np.float32),
    "svc with kept lines": lambda: problem_of(cache_size=100),
    "svr": regression,
    "one class": lambda: OneClass.of(Gram(Rbf(0.3), noisy(400)[0], n_threads=1), 0.1),
}


def begun(problem, **options):
    run = Run(KernelState(problem, **options), make_solver("block"), make_stop(1e-3, 0.0, -1, None))
    run.begin(None, 20, np.random.default_rng(0))
    return run


def expired():
    token = StopToken()
    token.set_seconds_left(0.0)
    return token


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_step_that_is_stopped_leaves_the_state_as_it_was(name):
    state = begun(PROBLEMS[name]()).state
    correction = make_solver("block").choose(state)
    before = state.snapshot()
    state.limit(token=expired())
    with pytest.raises(Stopped):
        state.move(correction)
    assert same(state.snapshot(), before)
    state.limit()
    state.move(correction)
    assert not same(state.snapshot(), before)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_certificate_that_is_stopped_leaves_the_weights(name):
    state = begun(PROBLEMS[name]()).state
    state.move(make_solver("block").choose(state))
    weights, value, gap = state.weights, state.value, state.gap
    state.limit(token=expired())
    with pytest.raises(Stopped):
        state.certify()
    assert not state.certified
    np.testing.assert_allclose(state.weights, weights, rtol=1e-14)
    np.testing.assert_allclose([state.value, state.gap], [value, gap], rtol=1e-6)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("moves", [0, 1, 3])
def test_what_is_proven_without_a_pass_is_a_bound(name, moves):
    run = begun(PROBLEMS[name]())
    state, solver = run.state, make_solver("block").chooser()
    for _ in range(moves):
        state.move(solver.choose(state))
    evaluations = state.evaluations
    state.prove()
    assert state.certified and state.evaluations - evaluations <= state.support_size**2
    proven, value = state.gap, state.value
    state.certify()
    assert proven >= state.gap * (1 - 1e-6)
    assert value == pytest.approx(state.value, rel=1e-4)


def test_single_moves_and_samples_can_be_proven_too():
    for options in ({}, {"sampling": Sampling(20)}):
        run = Run(KernelState(problem_of(), **options), make_solver("swap"), make_stop(0.5, 0.0, 50, None))
        run.begin(None, 20, np.random.default_rng(0))
        run._block(30)
        run.state.prove()
        proven = run.state.gap
        run.state.certify()
        assert proven >= run.state.gap * (1 - 1e-9)


def test_without_time_for_a_pass_the_result_says_so(monkeypatch):
    def never(self):
        raise Stopped

    problem = problem_of()
    optimum = maximize(problem, "block", tol=1e-6).value
    monkeypatch.setattr(KernelState, "certify", never)
    with pytest.warns(ConvergenceWarning, match="best bound proven without a pass over all rows"):
        result = maximize(problem, "block", tol=1e-3)
    assert result.stop_reason == "max_time" and not result.full_pass
    assert optimum - result.value <= result.gap < np.inf
    assert result.relative_gap < 10  # that of the ridge alone: a'Qa >= 1 / sum(1 / ridge)

    monkeypatch.setattr(KernelState, "prove", never)
    with pytest.warns(ConvergenceWarning):
        result = maximize(problem, "block", tol=1e-3)
    assert not result.full_pass and optimum - result.value <= result.gap  # the last certified point: the start
    assert np.count_nonzero(result.weights) <= 20


def test_a_limit_is_kept_by_a_problem_far_too_large_for_it():
    X, y = noisy(200_000, 10)
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = SVC(max_time=2.0, n_jobs=1).fit(X, y)
    assert time.perf_counter() - began < 4  # 2.5 on an idle machine
    assert np.isfinite(model.relative_gap_) and model.score(X[:500], y[:500]) > 0.6


@pytest.mark.parametrize("choice", ["keep", "raise"])
def test_ctrl_c_is_answered_inside_of_a_pass(choice):
    X, y = noisy(300_000, 20)
    pressed = Press(1.0)
    model = SVC(on_interrupt=choice, n_jobs=1, C=100, callbacks=[pressed])
    if choice == "raise":
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    else:
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            assert model.fit(X, y).stop_reason_ == "interrupted"
    pressed.join()


def test_ctrl_c_in_one_fit_does_not_end_another():
    X, y = make_classification(3000, 20, n_informative=10, flip_y=0.3, random_state=0)
    others = []

    def fit_another():
        for _ in range(100):
            others.append(SVC(C=10.0, tol=1e-5, n_jobs=1).fit(X, y))
            if done.is_set():
                return

    done = threading.Event()
    thread = threading.Thread(target=fit_another)
    thread.start()
    pressed = Press(0.5)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        SVC(on_interrupt="keep", n_jobs=1, callbacks=[pressed], **ENDLESS).fit(X, y)
    done.set()
    thread.join()
    pressed.join()
    assert {model.stop_reason_ for model in others} == {"gap"}


LIMITED = """
import resource, sys
import numpy as np
import sklearn.svm
from swapsvm import SVC
megabytes, threads = int(sys.argv[1]), int(sys.argv[2])
X = np.random.default_rng(0).normal(size=(20000, 10))
X.T @ X  # the buffers of the BLAS library, which ends the process if it cannot have them
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20,) * 2)
try:
    SVC(n_jobs=threads, tol=0.5).fit(X, X[:, 0] > 0).predict(X)
    print("fitted")
except MemoryError:
    print("MemoryError")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_AS as Linux has it")
@pytest.mark.parametrize("megabytes", [0, 2, 8, 32])
def test_short_memory_is_an_error_not_a_crash(megabytes):
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, str(megabytes), "64"], capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() in ("fitted", "MemoryError")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wide_sparse_rows_take_what_their_entries_take(dtype):
    columns = 2**31 - 2
    where = [0, columns - 1, 5, columns - 2, 2**25, 7, 2**25 + 1, 9]
    X = sp.csr_array((np.arange(1, 9, dtype=dtype), (np.arange(8), where)), shape=(8, columns))
    y = np.arange(8) % 2
    narrow = sp.csr_array((X.data, (np.arange(8), np.argsort(np.argsort(where)))), shape=(8, 8))
    for gamma in (0.01, "scale"):
        wide, same_rows = SVC(gamma=gamma).fit(X, y), SVC(gamma=0.01).fit(narrow, y)
        np.testing.assert_array_equal(wide.predict(X), y)
        if gamma == 0.01:
            np.testing.assert_allclose(wide.decision_function(X), same_rows.decision_function(narrow), rtol=1e-5)


def test_the_error_of_one_pair_is_not_hidden_by_those_it_stops():
    def do(task, cancelled):
        if task == 2:
            raise ValueError("the error")
        cancelled.wait(5)
        raise Stopped

    with pytest.raises(ValueError, match="the error"):
        side_by_side([0, 1, 2], 3, do)

    def stopped(task, cancelled):
        raise Stopped

    for workers in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            side_by_side([0, 1], workers, stopped)


REPEATED = """
import resource
import numpy as np
import scipy.sparse as sp
from swapsvm import SVC
resource.setrlimit(resource.RLIMIT_AS, (4 << 30,) * 2)
columns = np.tile(np.array([5, 5, 0], np.int64) * 300_000_000, 50)
X = sp.csr_matrix((np.arange(1.0, 151.0), columns, np.arange(0, 151, 3)), shape=(50, 2**31 - 1))
print(SVC(gamma=0.5).fit(X, np.arange(50) % 2).stop_reason_)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_AS as Linux has it")
def test_wide_rows_with_repeated_and_unsorted_columns_take_no_more():
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", REPEATED], capture_output=True, text=True, timeout=120)
    assert ran.stdout.strip() == "gap", ran.stderr


def test_threads_that_never_begin_are_not_waited_for(monkeypatch):
    began = []
    monkeypatch.setattr("_thread.start_new_thread", lambda work, arguments: began.append(work))  # and dies at once
    assert side_by_side([1, 2, 3], 3, lambda task, cancelled: 10 * task) == [10, 20, 30]
    assert len(began) == 2

    def none(work, arguments):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("_thread.start_new_thread", none)
    assert side_by_side([1, 2, 3], 3, lambda task, cancelled: 10 * task) == [10, 20, 30]
