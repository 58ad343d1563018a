"""The block engine: hard cases, little memory, pairs in parallel, kept values, limits of single precision."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, make_classification
from threadpoolctl import threadpool_limits

import swapsvm.solvers.block as block_module
from swapsvm import SVC, Gram, maximize
from swapsvm.fitting.workers import workers_for
from swapsvm.kernels import Function, Linear, Precomputed, Rbf
from swapsvm.problems import L2SVC, L2SVR, Quadratic
from swapsvm.rays import Correction
from swapsvm.solvers import make_solver
from swapsvm.solvers.block import Falls
from swapsvm.solvers.direct import Proximal, step_on
from swapsvm.state import Effort, KernelState

ROWS, LABELS = make_classification(3000, 12, flip_y=0.1, random_state=0)


def gap_in_double(model, X, y):
    """P / D - 1 and the relative gap of the simplex, from public attributes of a two-class RBF model, on all rows.

    A support vector shares its weight with the rows of its class that equal it.
    """
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    weights = np.zeros(len(X))
    for vector, coef in zip(model.support_, np.abs(model.dual_coef_[0]), strict=True):
        equal = (X[vector] == X).all(axis=1) & (sign == sign[vector])
        weights[equal] += coef / equal.sum()
    weights /= weights.sum()
    K = np.exp(-model.gamma_ * cdist(X, X[model.support_], "sqeuclidean")) + 1.0
    margins = sign * (K @ model.dual_coef_[0]) / np.abs(model.dual_coef_[0]).sum()
    h = margins + weights / model.C
    f, norm = weights @ h, weights @ margins
    multiple = minimize_scalar(
        lambda t: t**2 * norm + model.C * (np.maximum(1 - t * margins, 0) ** 2).sum(),
        bounds=(0.0, 10 / f),
        method="bounded",
        options={"xatol": 1e-13 / f},
    )
    return f * multiple.fun - 1, 2 * (f - h.min()) / f


HARD = {
    "huge C": (ROWS, LABELS, {"C": 1e9}),
    "tiny C": (ROWS, LABELS, {"C": 1e-9}),
    "duplicated rows": (np.repeat(ROWS[:300], 10, 0), np.repeat(LABELS[:300], 10), {"C": 10}),
    "contradicting duplicates": (np.repeat(ROWS[:1500], 2, 0), np.tile([0, 1], 1500), {"C": 10}),
    "unscaled features of size 1e6": (ROWS * np.logspace(0, 6, 12), LABELS, {"C": 10}),
    "offset of 1e6": (ROWS + 1e6, LABELS, {"C": 10}),
    "tiny gamma": (ROWS, LABELS, {"C": 10, "gamma": 1e-9}),
    "huge gamma": (ROWS, LABELS, {"C": 10, "gamma": 1e9}),
    "99.9% one class": (ROWS, (np.arange(3000) < 3).astype(int), {"C": 10}),
    "identical rows, labels differ": (np.ones((3000, 5)), LABELS, {"C": 10}),
}


@pytest.mark.filterwarnings("ignore::swapsvm.ScalingWarning")  # rightly
@pytest.mark.parametrize("name", HARD)
def test_hard_cases_converge_with_a_certificate_that_holds(name):
    X, y, options = HARD[name]
    model = SVC(**{"tol": 1e-2, **options}).fit(X, y)
    assert model.stop_reason_ == "gap"
    recomputed, simplex = gap_in_double(model, X, y)
    rounding = 1e-5  # of the certificate, which includes it; the judge has less
    assert recomputed - 1e-7 <= model.relative_gap_ <= (1 + 2e-3) * recomputed + rounding
    assert simplex == pytest.approx(model.simplex_gap_, rel=1e-3, abs=1e-5)
    assert model.relative_gap_ <= 1e-2


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_value_is_that_of_the_other_solvers(storage, dtype):
    X = storage(ROWS.astype(dtype))
    block = SVC(C=4, tol=1e-3).fit(X, LABELS).results_[0]
    swaps = SVC(C=4, tol=1e-3, solver="swap2").fit(X, LABELS).results_[0]
    assert block.value == pytest.approx(swaps.value, rel=1e-3)
    assert -swaps.gap <= swaps.value - block.value <= block.gap


@pytest.mark.parametrize("cache_size", [0, 1, 4])
def test_a_working_set_smaller_than_the_support(cache_size):
    """A noisy problem: 2300 support vectors, working sets of 512 to 1024 of them."""
    y = np.where(np.random.default_rng(0).random(3000) < 0.3, 1 - LABELS, LABELS)
    small = SVC(C=1, cache_size=cache_size, tol=1e-2).fit(ROWS, y)
    assert small.relative_gap_ <= 1e-2
    assert len(small.support_) > 1024
    recomputed, simplex = gap_in_double(small, ROWS, y)
    assert recomputed == pytest.approx(small.relative_gap_, rel=2e-3)
    assert simplex == pytest.approx(small.simplex_gap_, rel=1e-3)


def test_evaluations_stay_near_the_floor():
    X, y = make_classification(12_000, 8, flip_y=0.02, class_sep=1.5, random_state=0)
    model = SVC(C=4).fit(X, y)
    assert len(model.support_) > 1000
    assert model.n_evaluations_ <= 8 * len(model.support_) * len(X)


# ---- class pairs --------------------------------------------------------------------------------------------


def test_pairs_side_by_side_are_the_same_as_one_after_the_other():
    X, y = load_digits(return_X_y=True)
    one, two = (SVC(C=10, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.support_, two.support_)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.n_iter_, two.n_iter_)
    assert one.n_evaluations_ == two.n_evaluations_
    assert one.dual_gap_ == two.dual_gap_


def test_one_large_pair_gets_the_threads_for_itself():
    groups = [np.arange(0, 900), np.arange(900, 1800), np.arange(1800, 1900)]
    gram = Gram(Linear(), np.zeros((1900, 2)), groups=groups)
    assert workers_for(gram, [1800, 1000, 1000], 2) == 1
    assert workers_for(gram, [1000, 1000], 2) == 2
    assert workers_for(gram, [1000, 1000], 1) == 1
    called = Gram(Function(lambda A, B: A @ B.T), np.zeros((1900, 2)), groups=groups)
    assert workers_for(called, [1000, 1000], 2) == 1  # a user's function is possibly not thread-safe


def test_an_error_in_one_pair_ends_all():
    X, y = load_digits(return_X_y=True)
    X[y == 3] *= 1e200  # its distances overflow
    began = time.perf_counter()
    with pytest.raises(ValueError, match="finite"):
        SVC(n_jobs=2, gamma=1e-3, kernel="poly", C=1e4, tol=1e-12).fit(X, y)
    assert time.perf_counter() - began < 30


def test_ctrl_c_ends_pairs_side_by_side():
    X, y = make_classification(6000, 20, n_informative=10, n_classes=4, flip_y=0.3, random_state=0)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        SVC(C=1e4, tol=1e-9, n_jobs=2).fit(X, y)
    assert time.perf_counter() - began < 10


# ---- when memory pays ---------------------------------------------------------------------------------------


def test_what_is_worth_keeping():
    X = np.zeros((50, 784))
    assert not Gram(Rbf(1.0), X[:, :22]).memory_pays
    assert Gram(Rbf(1.0), X).memory_pays
    assert not Gram(Rbf(1.0), X, cache_size=0).memory_pays
    assert not Gram(Rbf(1.0), sp.csr_array(X)).memory_pays  # rows without entries
    assert Gram(Function(lambda A, B: A @ B.T), X[:, :2]).memory_pays
    assert not Gram(Precomputed(), np.eye(5)).memory_pays


def test_kept_values_are_computed_once_and_change_nothing(monkeypatch):
    monkeypatch.setattr("swapsvm.gram.LARGEST_WHOLE", 0)  # all values of the problem would be in memory
    X, y = make_classification(4000, 150, n_informative=30, random_state=0)
    kept, fresh = SVC(C=4).fit(X, y), SVC(C=4, cache_size=0).fit(X, y)
    assert kept.results_[0].trace.memory_pays
    assert not fresh.results_[0].trace.memory_pays
    assert kept.cache_counts_["hits"] > 0
    assert kept.n_evaluations_ < 0.7 * fresh.n_evaluations_
    assert kept.results_[0].value == pytest.approx(fresh.results_[0].value, rel=2e-2)
    assert max(kept.relative_gap_, fresh.relative_gap_) <= 1e-2


def test_a_cache_too_small_for_all_lines_still_serves():
    X, y = make_classification(3000, 150, n_informative=30, random_state=0)
    model = SVC(C=4, cache_size=6).fit(X, y)
    assert model.relative_gap_ <= 1e-2
    assert model.cache_counts_["bytes"] <= 6 * 2**20


# ---- steps that do little -----------------------------------------------------------------------------------


def products(rows, seed=0):
    """The sign of a product of three features, a twentieth of the labels flipped: ill-conditioned with a large C."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, 5))
    return X, np.sign(X[:, 0] * X[:, 1] * X[:, 2]) * np.where(rng.random(rows) < 0.05, -1, 1)


def test_falls_count_slow_steps_and_stalled_ones():
    falls, seen = Falls(), []
    for gap in (1.0, 0.1, 0.05, 0.04, 0.001, 0.002, 0.0009, 0.0001):
        falls = Falls(*falls.history)  # nothing is lost where a run goes on
        falls.note(gap)
        seen.append((falls.slow, falls.stalled))
    assert seen == [(0, 0), (0, 0), (1, 0), (2, 1), (0, 0), (1, 1), (2, 2), (0, 0)]


def test_a_run_that_stalls_in_single_precision_goes_on_in_double(monkeypatch, caplog):
    monkeypatch.setattr("swapsvm.gram.LARGEST_WHOLE", 0)
    monkeypatch.setattr(block_module, "LARGEST_DIRECT", 0)
    monkeypatch.setattr(block_module, "suitable_landmarks", lambda state, support: None)
    groups = [np.flatnonzero(LABELS == 1), np.flatnonzero(LABELS == 0)]
    problem = L2SVC.of(Gram(Rbf(0.1), ROWS, dtype=np.float32, groups=groups), 0, 1, 10.0, None)
    patient = maximize(problem, solver="block", tol=1e-6)
    monkeypatch.setattr(block_module, "STALLED", 1e-9)  # every step is taken to
    with caplog.at_level("INFO", logger="swapsvm.run"):
        found = maximize(problem, solver="block", tol=1e-6)
    assert "in double" in caplog.text
    assert found.stop_reason == "gap" and found.relative_gap <= 1e-6
    assert found.value == pytest.approx(patient.value, rel=1e-6)


def test_small_sets_on_which_blocks_are_slow_are_solved_by_factors(monkeypatch):
    monkeypatch.setattr("swapsvm.gram.LARGEST_WHOLE", 0)
    X, y = products(1200)
    model = SVC(C=1e5, gamma=0.6).fit(X, y)
    monkeypatch.setattr(block_module, "LARGEST_DIRECT", 0)
    slow = SVC(C=1e5, gamma=0.6).fit(X, y)
    assert model.stop_reason_ == slow.stop_reason_ == "gap"
    assert model.n_iter_[0] < slow.n_iter_[0]
    assert model.dual_value_ <= slow.primal_value_ and slow.dual_value_ <= model.primal_value_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_step_by_factors_solves_the_problem_on_its_variables(dtype):
    X, y = products(400)
    groups = [np.flatnonzero(y > 0), np.flatnonzero(y < 0)]
    state = KernelState(L2SVC.of(Gram(Rbf(0.6), X, dtype=dtype, groups=groups), 0, 1, 1e3, None))
    some = np.arange(0, 400, 2)
    state.set_weights(some, np.full(200, 1 / 200))
    state.move(step_on(state, some[::-1]))
    assert np.isin(state.support, some).all()
    face = state.face(some)
    assert 0 <= face.gap <= (1e-4 if dtype == np.float32 else 1e-8) * face.scale


def test_a_step_by_factors_is_not_made_where_weights_have_any_sum():
    state = KernelState(L2SVR.of(Gram(Rbf(0.6), ROWS[:100]), ROWS[:100, 0], 1.0, 0.1))
    state.set_weights(np.arange(state.size), np.ones(state.size))
    assert step_on(state, np.arange(state.size)) is None


def test_solving_a_set_directly_does_not_depend_on_the_threads_of_blas(monkeypatch):
    """Products and factors of a thousand variables are cut among threads, which changes their rounding."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2500, 5))
    y = np.sign(np.prod(X[:, :3], axis=1) + 0.1 * rng.normal(size=2500))
    found, solved = [], []
    monkeypatch.setattr(block_module, "step_on", lambda *given: solved.append(step_on(*given)) or solved[-1])
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(SVC(C=1e5, callbacks=lambda progress: None).fit(X, y).dual_coef_)
    assert len(solved) >= 2
    np.testing.assert_array_equal(*found)


def test_a_step_by_factors_ends_where_the_run_is_to_end():
    X, y = products(400)
    groups = [np.flatnonzero(y > 0), np.flatnonzero(y < 0)]
    state = KernelState(L2SVC.of(Gram(Rbf(0.6), X, groups=groups), 0, 1, 1e3, None))
    state.set_weights(np.arange(400), np.full(400, 1 / 400))
    factors, looks = [], iter([False, True])
    with pytest.MonkeyPatch.context() as patch:
        factor = Proximal._factor
        patch.setattr(Proximal, "_factor", lambda self, rows: factors.append(rows) or factor(self, rows))
        patch.setattr(KernelState, "is_stopped", lambda self: next(looks))
        step_on(state, np.arange(400))
    assert len(factors) == 2


# ---- the state ----------------------------------------------------------------------------------------------


def test_variables_left_out_come_back_with_the_certificate():
    sign = np.where(LABELS == 1, 1.0, -1.0)
    gram = Gram(Rbf(0.1), ROWS, groups=[np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)])
    state = KernelState(L2SVC.of(gram, 0, 1, 4.0, None))
    first = np.array([0, state.size - 1])
    state.set_weights(first, np.array([0.5, 0.5]))
    whole = state.gap
    state.restrict(np.arange(100))
    state.move(state.solve_on(np.union1d(first, np.arange(100)), Effort(64, 10, 0.1, 0.1, make_solver("swap2"), 0.0)))
    assert len(state.violators(state.size)) <= 100
    state.certify()
    assert len(state.violators(state.size)) > 100
    assert state.gap < whole


# ---- prediction ---------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 5), st.sampled_from([1e-3, 0.1, 10.0]), st.integers(0, 1000), st.booleans())
def test_a_prediction_is_the_class_of_the_decision_values(n_classes, gamma, seed, sparse):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((80, 3)), rng.integers(0, n_classes, 80)
    if len(np.unique(y)) < 2:
        return
    model = SVC(C=100, gamma=gamma).fit(X, y)
    test = rng.standard_normal((200, 3))
    test = sp.csr_array(test) if sparse else test
    values = model.decision_function(test)
    expected = np.argmax(values, axis=1) if values.ndim == 2 else (values > 0).astype(int)
    np.testing.assert_array_equal(model.predict(test), model.classes_[expected])


def test_rows_on_the_boundary_are_decided_in_double():
    """Mirrored classes: the boundary is x = 0, and points 1e-9 from it get the sign that double precision gives."""
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [1.2, 0.3], [-1.2, 0.3]])
    model = SVC(C=10, gamma=0.5).fit(X, [1, 0, 1, 0])
    near = np.column_stack([np.array([1e-9, -1e-9, 1e-12, -1e-12]), np.zeros(4)])
    np.testing.assert_array_equal(model.predict(near), (model.decision_function(near) > 0).astype(int))
    np.testing.assert_array_equal(model.predict(near[:2]), [1, 0])


def test_a_model_of_float32_predicts_float64_rows():
    model = SVC(C=4).fit(ROWS.astype(np.float32), LABELS)
    np.testing.assert_array_equal(model.predict(ROWS), model.predict(ROWS.astype(np.float32)))


@pytest.mark.parametrize("size", [1e-27, 1e-20, 1e20])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_data_beyond_the_range_of_single_precision(size, storage):
    X = ROWS[:1500] * size
    model = SVC(C=10).fit(storage(X), LABELS[:1500])
    same = SVC(C=10).fit(ROWS[:1500], LABELS[:1500])
    np.testing.assert_array_equal(model.predict(storage(X)), (model.decision_function(storage(X)) > 0).astype(int))
    assert (model.predict(storage(X)) == same.predict(ROWS[:1500])).mean() > 0.99


def test_a_class_without_support_vectors_does_not_weaken_the_bound():
    X, y = load_digits(n_class=4, return_X_y=True)
    model = SVC(C=10).fit(X, y, sample_weight=(y != 3).astype(float))
    assert model.n_support_[3] == 0
    values = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), np.argmax(values, axis=1))


# ---- certificates of states that were changed in other ways -------------------------------------------------------


def an_svm(n=200):
    sign = np.where(LABELS[:n] == 1, 1.0, -1.0)
    gram = Gram(Rbf(0.1), ROWS[:n].astype(np.float32), groups=[np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)])
    return KernelState(L2SVC.of(gram, 0, 1, 4.0, None))


def test_new_weights_get_a_certificate_of_their_own():
    first, second = an_svm(), an_svm()
    first.set_weights(np.array([0, 199]), np.array([0.5, 0.5]))
    for state in (first, second):
        state.set_weights(np.array([3, 150]), np.array([0.2, 0.8]))
    assert first.gap == second.gap


def test_a_placeholder_is_not_taken_for_a_gradient():
    state = an_svm()
    state.set_weights(np.array([3, 150]), np.array([0.2, 0.8]))
    gap = state.gap
    state.restrict(np.array([3]))
    state.restrict(np.arange(200))
    state.certify()
    assert state.gap == pytest.approx(gap, rel=1e-12)


def test_a_sum_afresh_gives_weight_to_variables_that_were_left_out():
    state = an_svm()
    state.set_weights(np.array([3, 150]), np.array([0.2, 0.8]))
    state.restrict(np.array([3]))
    state.move(Correction(np.array([3, 150, 77]), np.array([0.2, 0.5, 0.3]), fused=True, afresh=True))
    value = state.value
    state.certify()
    assert value == pytest.approx(state.value, rel=1e-6)  # kernel values of the sum are float32


@pytest.mark.parametrize("cache_size", [0.25, 1, 2, 8])
def test_two_variables_of_one_row_share_its_line(cache_size):
    X = np.random.default_rng(0).standard_normal((600, 150))
    gram = Gram(Rbf(0.003), X, cache_size=cache_size)
    problem = Quadratic(gram, ((0, 1.0), (0, -1.0)), ridge=0.05)
    result = maximize(problem, "block", tol=1e-4)
    assert result.stop_reason == "gap"
    assert result.value == pytest.approx(-0.05 / 1200, rel=1e-2)  # weights cancel in pairs: only the ridge is left


def test_single_precision_data_do_not_hold_up_a_small_tol():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 4)).astype(np.float32)
    y = X[:, 0] + 0.5 * rng.standard_normal(700) > 0
    single, double = (SVC(tol=1e-6).fit(rows, y) for rows in (X, X.astype(np.float64)))
    assert single.relative_gap_ <= 1e-6
    assert single.n_iter_[0] <= double.n_iter_[0] + 2
