"""Sampling: the cost of an iteration does not depend on the number of rows, and the result is still certified."""

import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification

from swapsvm import SVC, ConvergenceWarning, Sampling
from swapsvm.gram import Gram
from swapsvm.kernels import Rbf
from swapsvm.problems import L2SVC
from swapsvm.solvers import SOLVERS, make_solver
from swapsvm.state import KernelState, Limits


def problem(copies, dtype=np.float64):
    X, y = make_classification(300, 6, flip_y=0.1, random_state=0)
    X, y = np.tile(X, (copies, 1)).astype(dtype), np.tile(y, copies)
    gram = Gram(Rbf(0.2), X, groups=[np.flatnonzero(y == 1), np.flatnonzero(y == 0)])
    return L2SVC.of(gram, 0, 1, C=10.0)


def cost_of_moves(copies, solver, moves):
    state = KernelState(problem(copies), sampling=59, seed=0)
    state.set_weights([0, state.size - 1], [0.5, 0.5])
    before = state.evaluations
    supports = []
    for _ in range(moves):
        state.run(make_solver(solver), Limits(moves=1))
        supports.append(state.support_size)
    return state.evaluations - before, supports


@pytest.mark.parametrize("solver", ["fw", "mfw", "swap", "swap2"])
def test_kernel_values_of_an_iteration_do_not_depend_on_the_rows(solver):
    """At most (59 + 3) kernel values per active vertex and iteration, for 300 rows and for 30000."""
    for copies in (1, 100):
        cost, supports = cost_of_moves(copies, solver, 60)
        assert cost <= 62 * sum(s + 1 for s in supports) + 60
        assert cost < 60 * 62 * 62  # far from 60 columns of 30000


@pytest.mark.parametrize("solver", sorted(set(SOLVERS) - {"fw", "block"}))
def test_the_end_is_certified(solver):
    X, y = make_classification(1000, 6, flip_y=0.05, random_state=0)
    sampled = SVC(C=10, gamma=0.2, solver=solver, sampling=59, tol=1e-2).fit(X, y)
    assert sampled.stop_reason_ == "gap" and sampled.relative_gap_ <= 1e-2
    result = sampled.results_[0]
    assert result.samplings > 0
    exact = SVC(C=10, gamma=0.2, tol=1e-4).fit(X, y).results_[0]
    assert exact.value - result.value <= result.gap + exact.gap
    assert exact.value - result.value >= -exact.gap


def test_a_violator_outside_of_the_samples_reopens_the_run():
    """One row in 3000 contradicts its neighbours: samples of 2 hardly ever see it, the full pass does."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 2)) + np.where(np.arange(3000) % 2, 3.0, -3.0)[:, None]
    y = np.arange(3000) % 2
    y[0] = 1
    X[0] = [-3.0, -3.0]
    model = SVC(C=10, gamma=0.2, solver="swap2", sampling=2, start_size=4, tol=1e-2, random_state=1).fit(X, y)
    assert 0 in model.support_
    assert model.relative_gap_ <= 1e-2


def test_a_trusted_sample_ends_the_run_and_the_certificate_says_how_good_that_is():
    X, y = make_classification(3000, 6, flip_y=0.05, weights=[0.95], random_state=0)
    settings = {"C": 10, "gamma": 0.2, "solver": "swap2", "tol": 0, "eps": 1e-6}
    with pytest.warns(ConvergenceWarning, match="stopped by 'sample'"):
        model = SVC(sampling=Sampling(size=20, with_active=False, trusted=1), **settings).fit(X, y)
    certified = SVC(sampling=20, **settings).fit(X, y)
    assert model.stop_reason_ == "sample" and model.n_iter_[0] < certified.n_iter_[0]
    assert model.dual_gap_ > 1e-6 >= certified.dual_gap_
    value = model.results_[0].value
    assert value <= certified.results_[0].value + certified.dual_gap_
    assert certified.results_[0].value - value <= model.dual_gap_


def test_more_trust_takes_longer():
    X, y = make_classification(3000, 6, flip_y=0.05, weights=[0.95], random_state=0)
    drawn = []
    for trusted in (1, 7, 40):
        sampling = Sampling(size=10, with_active=False, trusted=trusted)
        with pytest.warns(ConvergenceWarning):
            model = SVC(C=10, gamma=0.2, solver="swap", tol=0, eps=1e-6, sampling=sampling).fit(X, y)
        drawn.append(model.results_[0].samplings)
    assert drawn == sorted(drawn) and drawn[0] < drawn[2]


def test_samples_without_violators_do_not_outlast_a_limit_of_time():
    """A run that waits for this many empty samples in a row would never end by itself."""
    X, y = make_classification(3000, 6, flip_y=0.05, weights=[0.95], random_state=0)
    sampling = Sampling(size=5, with_active=False, trusted=10**9)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the certificate can find the gap reached by then
        model = SVC(C=10, gamma=0.2, solver="swap2", tol=0, eps=1e-3, sampling=sampling, max_time=0.3).fit(X, y)
    assert time.perf_counter() - began < 3
    assert model.stop_reason_ in ("max_time", "gap")


@pytest.mark.parametrize("settings", [{"size": 0}, {"size": 1.5}, {"trusted": 0}])
def test_bad_samplings(settings):
    with pytest.raises(ValueError, match="must be a positive"):
        Sampling(**settings)


def test_a_gap_beyond_double_precision_ends_the_run():
    X, y = make_classification(300, 5, random_state=0)
    with pytest.warns(ConvergenceWarning, match="precision"):
        model = SVC(solver="swap2", sampling=59, tol=0).fit(X, y)
    assert model.relative_gap_ < 1e-9


def test_the_block_engine_refuses_to_sample():
    with pytest.raises(ValueError, match="solver='block' requires every row"):
        SVC(solver="block", sampling=59).fit([[0.0], [1.0]], [0, 1])


def test_float32_and_float64_samples():
    state = KernelState(problem(2, np.float32), sampling=20, seed=3)
    state.set_weights([0, 599], [0.5, 0.5])
    state.run(make_solver("swap"), Limits(moves=100))
    seen = state.value
    state.certify()
    assert state.value == pytest.approx(seen, rel=1e-4)
