"""Sampling: the cost of an iteration does not depend on the number of rows, and the result is still certified."""

import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from swapsvm import SVC, ConvergenceWarning, Sampling, maximize
from swapsvm.gram import Gram
from swapsvm.kernels import Rbf
from swapsvm.problems import L2SVC
from swapsvm.run import Run
from swapsvm.solvers import SOLVERS, make_solver
from swapsvm.state import KernelState, Limits
from swapsvm.state.sampling import SampleLooks
from swapsvm.stopping import make_stop

ROWS = np.random.default_rng(5).normal(size=(300, 4))


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


class Scripted:
    """Stands for a compiled state whose samples show these gaps, one after the other."""

    def __init__(self, *gaps):
        self.gaps, self.gap = list(gaps), 0.0

    def look(self):
        self.gap = self.gaps.pop(0)


@pytest.mark.parametrize("trusted", [1, 2, 3, 7])
def test_exactly_the_trusted_number_of_samples_ends_a_run(trusted):
    looks, core = SampleLooks(Sampling(trusted=trusted)), Scripted(*[0.0] * 20)
    assert looks.claim(core, 1e-6) == "sample"
    assert len(core.gaps) == 20 - (trusted - 1)  # the first was drawn by the last move
    result = at_the_optimum(Sampling(20, with_active=False, trusted=trusted))
    assert result.samplings == trusted
    assert result.iterations == 1


def test_a_violator_starts_the_count_of_empty_samples_again():
    looks, core = SampleLooks(Sampling(trusted=3)), Scripted(0.0, 5.0, 0.0, 0.0, 0.0)
    assert looks.claim(core, 1e-6) is None
    assert core.gaps == [0.0, 0.0, 0.0]
    core.look()  # after the move that the violator led to
    assert looks.claim(core, 1e-6) == "sample"
    assert core.gaps == []


def at_the_optimum(sampling, solver="swap2", eps=1e-6):
    """A run that begins where no sample can have a violator."""
    exact = maximize(problem(1), "swap2", tol=0, eps=1e-9)
    return maximize(problem(1), solver, tol=0, eps=eps, start=exact.weights, sampling=sampling)


@pytest.mark.parametrize(("trusted", "each"), [(None, 1), (1, 1), (4, 4)])
def test_the_tolerance_falls_in_levels_to_that_of_the_run(trusted, each):
    """0.01 / 2^13 > 1e-6 > 0.01 / 2^14: 14 levels, and the last one at 1e-6."""
    looks, core = SampleLooks(Sampling(trusted=trusted, first_level=0.01)), Scripted(*[0.0] * 100)
    reason = None
    while reason is None:
        reason = looks.claim(core, 1e-6)
    assert reason == ("sample" if trusted else "unconfirmed")
    assert (looks.level, 100 - len(core.gaps)) == (14, 15 * each - 1)
    result = at_the_optimum(Sampling(20, with_active=False, trusted=trusted, first_level=0.01))
    assert (result.samplings, result.iterations) == (15 * each, 1)


def test_a_level_ends_only_at_a_sample_without_a_violator_of_it():
    looks, core = SampleLooks(Sampling(trusted=1, first_level=0.01)), Scripted(0.004, 0.004, 0.002)
    assert looks.claim(core, 1e-3) is None
    assert (looks.level, looks.tolerance) == (2, 0.0025)  # 0.004 is below 0.01 and 0.005, and the next one is not
    assert core.gaps == [0.002]
    core.look()
    assert looks.claim(Scripted(1.0), 1e-3) is None
    assert looks.tolerance == 0.00125


def test_a_tolerance_of_levels_never_falls_below_that_of_the_run():
    looks = SampleLooks(Sampling(trusted=1, first_level=1e-4))
    assert looks.claim(Scripted(), 1e-3) == "sample"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["fw", "mfw", "swap", "swap2", "cvm", "fcfw"])
@pytest.mark.parametrize("trusted", [1, None])
def test_every_solver_goes_through_the_levels(solver, trusted):
    eps = 1e-4 if solver == "fw" else 1e-5
    levels = int(np.ceil(np.log2(0.01 / eps)))
    sampling = Sampling(60, with_active=solver == "fw", trusted=trusted, first_level=0.01, balanced=True)
    state = KernelState(problem(4), sampling=sampling, seed=1)
    run = Run(state, make_solver(solver), make_stop(0.0, eps, -1, None))
    run.begin(None, 20, np.random.default_rng(0))
    tolerances = []
    until_stop = state.run
    state.run = lambda chooser, limits: tolerances.append(max(state.tolerance, eps)) or until_stop(chooser, limits)
    result = run.finish()
    assert state.snapshot()["sampling_level"].item() == levels
    assert result.samplings > levels
    assert tolerances == sorted(tolerances, reverse=True)
    assert len(set(tolerances)) >= 3  # moves were made at several levels
    assert result.stop_reason in (("gap",) if trusted is None else ("sample", "gap"))
    assert result.gap <= eps or trusted == 1


@given(seed=st.integers(0, 2**32), size=st.integers(1, 80), balanced=st.booleans(), outside=st.booleans())
@settings(deadline=None, max_examples=50)
def test_what_a_sample_consists_of(seed, size, balanced, outside):
    few, many = 30, 270
    gram = Gram(Rbf(0.2), ROWS, groups=[np.arange(few), np.arange(few, few + many)])
    rule = Sampling(size, with_active=False, balanced=balanced, outside_active=outside)
    state = KernelState(L2SVC.of(gram, 0, 1, C=10.0), sampling=rule, seed=seed)
    active = np.r_[0:25, 100:250]
    state.set_weights(active, np.ones(len(active)))
    sample = state.core.sample
    assert len(sample) == size
    assert ((sample >= 0) & (sample < few + many)).all()
    if balanced:
        assert (sample < few).sum() == (size + 1) // 2
    if outside:
        assert not np.isin(sample, active).any()
    elif size > 20:
        assert np.isin(sample, active).any()


def test_a_sample_has_every_variable_that_may_be_drawn():
    gram = Gram(Rbf(0.2), ROWS[:12], groups=[np.arange(4), np.arange(4, 12)])
    for outside, expected in ((False, set(range(12))), (True, {2, 3, *range(7, 12)})):
        rule = Sampling(300, with_active=False, balanced=True, outside_active=outside)
        state = KernelState(L2SVC.of(gram, 0, 1, C=10.0), sampling=rule, seed=0)
        state.set_weights([0, 1, 4, 5, 6], np.ones(5))
        seen = set()
        for _ in range(20):
            state.core.look()
            seen |= set(state.core.sample.tolist())
        assert seen == expected


def test_where_every_variable_is_active_samples_outside_of_them_are_empty():
    gram = Gram(Rbf(0.2), ROWS[:4], groups=[np.arange(2), np.arange(2, 4)])
    rule = Sampling(8, with_active=False, trusted=1, outside_active=True)
    state = KernelState(L2SVC.of(gram, 0, 1, C=10.0), sampling=rule, seed=0)
    state.set_weights(np.arange(4), np.arange(1.0, 5.0))
    assert len(state.core.sample) == 0
    assert state.toward() in range(4) and state.gap > 0  # then the active ones are all that is left to look at


@pytest.mark.parametrize(("few", "expected"), [(150, 10), (3, 3)])
def test_a_run_begins_with_as_many_rows_of_each_class(few, expected):
    gram = Gram(Rbf(0.2), ROWS, groups=[np.arange(few), np.arange(few, 300)])
    state = KernelState(L2SVC.of(gram, 0, 1, C=10.0), sampling=59)
    first = state.start_variables(20, np.random.default_rng(0))
    assert ((first < few).sum(), (first >= few).sum()) == (expected, 10)
    assert len(set(first)) == len(first)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_estimator_passes_the_rule_on():
    X, y = make_classification(400, 6, flip_y=0.05, random_state=0)
    rule = Sampling(60, with_active=False, trusted=1, first_level=0.01, balanced=True, outside_active=True)
    settings = {"C": 10, "gamma": 0.2, "solver": "cvm", "tol": 0, "eps": 1e-6}
    by_levels, at_once = (
        SVC(sampling=replace(rule, first_level=first), **settings).fit(X, y).results_[0] for first in (0.01, None)
    )
    assert by_levels.samplings >= 15
    assert by_levels.trace.array()["gap"].tolist() != at_once.trace.array()["gap"].tolist()


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


@pytest.mark.parametrize(
    "settings",
    [{"size": 0}, {"size": 1.5}, {"trusted": 0}, *({"first_level": bad} for bad in (0, -1.0, np.inf, np.nan, "0.01"))],
)
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
