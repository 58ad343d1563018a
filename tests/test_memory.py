"""Continued fits: exactly, from the solution of another problem, after a kill; and refused checkpoints."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics.pairwise import rbf_kernel

from swapsvm import SVC, Checkpoint, ConvergenceWarning, Gram, Sampling
from swapsvm.container import opened
from swapsvm.fitting.checkpoint import CHECKPOINT
from swapsvm.kernels import Rbf
from swapsvm.problems import L2SVC, Concave
from swapsvm.run import Run
from swapsvm.solvers import SOLVERS, make_solver, policy
from swapsvm.state import KernelState, open_state
from swapsvm.stopping import make_stop

X, Y = make_classification(1500, 8, n_informative=5, flip_y=0.1, random_state=0)
SETTINGS = {"C": 10.0, "gamma": 0.1, "tol": 1e-5, "eps": 0.0}
FEW = dict.fromkeys(SOLVERS, 40) | {"fcfw": 15, "cvm": 15, "block": 2}  # iterations of the first leg
SAMPLINGS = [59, Sampling(20, with_active=False), Sampling(60, False, trusted=2, first_level=0.2, balanced=True)]
solvers = pytest.mark.parametrize("solver", sorted(SOLVERS))


@pytest.fixture(autouse=True)
def several_steps(monkeypatch):
    """Otherwise the block engine solves problems as small as these in one step, and there is nothing to continue."""
    monkeypatch.setattr("swapsvm.gram.LARGEST_WHOLE", 0)


def cut(model, *data):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        return model.fit(*data)


def assert_same_run(one, other):
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    np.testing.assert_array_equal(one.n_iter_, other.n_iter_)
    assert one.dual_gap_ == other.dual_gap_
    for name in ("pair", "iteration", "support", "kind", "value", "gap"):
        np.testing.assert_array_equal(one.trace_[name], other.trace_[name])


@solvers
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_a_warm_start_continues_to_the_last_bit(solver, storage):
    data = (X if storage == "dense" else sp.csr_array(np.where(np.abs(X) > 1, X, 0)), Y)
    model = cut(SVC(solver=solver, **SETTINGS, max_iter=FEW[solver], warm_start=True), *data)
    cut(model, *data)
    whole = cut(SVC(solver=solver, **SETTINGS, max_iter=2 * FEW[solver]), *data)
    assert model.n_iter_[0] == 2 * FEW[solver]
    assert_same_run(model, whole)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["active", "alone", "levels"])
def test_a_sampled_run_continues_with_the_samples_it_would_have_drawn(sampling):
    options = {"solver": "swap", **SETTINGS, "sampling": sampling}
    model = cut(SVC(**options, max_iter=60, warm_start=True), X, Y)
    cut(model, X, Y)
    assert_same_run(model, cut(SVC(**options, max_iter=120), X, Y))


def test_all_pairs_of_classes_continue():
    X, y = load_digits(return_X_y=True)
    options = {"solver": "swap2", "tol": 1e-6, "C": 10}
    model = cut(SVC(**options, max_iter=30, warm_start=True), X, y)
    cut(model, X, y)
    assert_same_run(model, cut(SVC(**options, max_iter=60), X, y))


def test_a_smaller_tol_continues_as_well():
    model = SVC(solver="swap2", C=10, gamma=0.1, tol=1e-2, warm_start=True).fit(X, Y)
    first = model.n_iter_[0]
    model.set_params(tol=1e-5).fit(X, Y)
    whole = SVC(solver="swap2", C=10, gamma=0.1, tol=1e-5).fit(X, Y)
    assert first < model.n_iter_[0]
    assert_same_run(model, whole)


def test_a_run_that_has_gone_on_to_double_continues_there():
    rows = Gram(Rbf(0.1), X.astype(np.float32), groups=[np.flatnonzero(c == Y) for c in (0, 1)])
    problem = L2SVC.of(rows, 1, 0, 10.0)

    def run(iterations):
        return Run(open_state(problem), make_solver("swap2"), make_stop(0.0, 1e-15, iterations, None))

    part = run(50)
    part.begin(None, 20, np.random.default_rng(0))
    part.finish()
    assert part.state.single and part._refine() and not part.state.single
    standing = part.standing()
    part._stop = make_stop(0.0, 1e-15, 100, None)
    rest = run(50)
    rest.go_on(standing)
    assert not rest.state.single
    np.testing.assert_array_equal(rest.finish().weights, part.finish().weights)
    assert rest.iteration == part.iteration == 100


@solvers
def test_a_run_on_a_users_own_function_continues(solver):
    center = np.random.default_rng(0).dirichlet(np.ones(30))
    g = Concave(
        lambda a: -((a - center) ** 2).sum(),
        lambda a: -2 * (a - center),
        30,
        lambda a, i, j: np.where(i == j, -2.0, 0.0),
    )

    def run(iterations):
        new = Run(open_state(g), make_solver(solver), make_stop(0.0, 1e-12, iterations, None), remembers=True)
        new.begin(None, 3, np.random.default_rng(0))
        return new

    part, whole = run(4), run(7)
    part.finish()
    rest = Run(open_state(g), make_solver(solver), make_stop(0.0, 1e-12, 3, None))
    rest.go_on(part.last_standing)
    np.testing.assert_array_equal(rest.finish().weights, whole.finish().weights)


def test_limits_count_from_where_a_fit_goes_on():
    calls = []
    options = {"solver": "fw", "C": 100, "tol": 1e-9, "warm_start": True}
    model = SVC(**options, max_time=0.3, callbacks=calls.append)
    for k in range(2):
        with pytest.warns(ConvergenceWarning, match="max_time"):
            model.fit(X, Y)
        assert calls[-1].seconds >= 0.25 * (k + 1)  # the certificate is part of the limit
    assert model.trace_["seconds"][-1] >= 0.5 and (np.diff(model.trace_["seconds"]) >= 0).all()


@pytest.mark.parametrize(
    "change",
    [
        {"C": 12.0},
        {"class_weight": {0: 2.0}},
        {"solver": "mfw"},
        {"gamma": 0.11},
    ],
    ids=str,
)
def test_what_is_not_the_same_problem_starts_from_the_old_solution(change):
    model = SVC(solver="swap2", **{**SETTINGS, "tol": 1e-4}, warm_start=True).fit(X, Y)
    model.set_params(**change).fit(X, Y)
    cold = SVC(**{**model.get_params(), "warm_start": False}).fit(X, Y)
    assert model.relative_gap_ <= 1e-4 and model.n_iter_[0] < cold.n_iter_[0]
    np.testing.assert_allclose(model.decision_function(X), cold.decision_function(X), atol=0.05)


@pytest.mark.parametrize("solver", ["swap2", "block"])
def test_appended_rows_enter_with_weight_0(solver):
    # close to 1e-4 the rounding of single precision, which differs between machines, decides how many blocks are needed
    tol = 1e-5 if solver == "block" else 1e-3  # decisions differ by the root of primal minus dual
    few = SVC(solver=solver, **{**SETTINGS, "tol": tol}, warm_start=True).fit(X[:1450], Y[:1450])
    before = few.results_[0].value
    few.fit(X, Y)
    assert few.trace_["value"][0] == pytest.approx(before, rel=1e-9)
    cold = SVC(solver=solver, **{**SETTINGS, "tol": tol}).fit(X, Y)
    assert few.n_iter_[0] < cold.n_iter_[0]
    np.testing.assert_allclose(few.decision_function(X), cold.decision_function(X), atol=0.05)


def test_two_classes_stay_a_pair_of_three():
    """Signs are turned: of two classes the second is positive, of a pair of several the first."""
    rows, labels = np.vstack([X, X[:50] + 3.0]), np.append(Y, np.full(50, 2))
    model = SVC(solver="swap2", **SETTINGS, warm_start=True).fit(X, Y)
    model.set_params(tol=1e-4).fit(rows, labels)
    cold = SVC(solver="swap2", **{**SETTINGS, "tol": 1e-4}).fit(rows, labels)
    assert model.n_iter_[0] == 1 < cold.n_iter_[0]
    assert model.results_[0].value == pytest.approx(cold.results_[0].value, rel=2e-4)


def test_a_new_class_keeps_the_pairs_that_were_there():
    X, y = load_digits(return_X_y=True)
    old = y < 5
    model = SVC(C=10, tol=1e-3, warm_start=True, solver="swap2").fit(X[old], y[old])
    order = np.concatenate([np.flatnonzero(old), np.flatnonzero(y == 5)])
    model.fit(X[order], y[order])
    fresh = SVC(C=10, tol=1e-3, solver="swap2", gamma=model.gamma_).fit(X[order], y[order])
    assert model.n_iter_.sum() < fresh.n_iter_.sum()
    assert (model.predict(X[order]) == fresh.predict(X[order])).mean() > 0.999


# ---- checkpoints ------------------------------------------------------------------------------------------------


@solvers
def test_a_checkpoint_is_gone_on_from(solver, tmp_path):
    path = tmp_path / "fit.ckpt"
    cut(SVC(solver=solver, **SETTINGS, max_iter=FEW[solver], checkpoint=path), X, Y)
    model = cut(SVC(solver=solver, **SETTINGS, max_iter=FEW[solver], checkpoint=path), X, Y)
    whole = cut(SVC(solver=solver, **SETTINGS, max_iter=2 * FEW[solver]), X, Y)
    assert_same_run(model, whole)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["active", "alone", "levels"])
def test_a_sampled_run_is_gone_on_from_its_checkpoint(sampling, tmp_path):
    options = {"solver": "swap", **SETTINGS, "sampling": sampling}
    for _ in range(2):
        model = cut(SVC(**options, max_iter=60, checkpoint=tmp_path / "fit.ckpt"), X, Y)
    assert_same_run(model, cut(SVC(**options, max_iter=120), X, Y))


def test_a_finished_fit_is_certified_again_from_its_checkpoint(tmp_path):
    X, y = load_digits(return_X_y=True)
    options = {"C": 10, "checkpoint": tmp_path / "digits.ckpt", "n_jobs": 2}
    first = SVC(**options).fit(X, y)
    again = SVC(**options).fit(X, y)
    assert again.stop_reason_ == "gap" and again.dual_gap_ == pytest.approx(first.dual_gap_, rel=1e-6)
    np.testing.assert_array_equal(again.predict(X), first.predict(X))
    np.testing.assert_array_equal(again.n_iter_, first.n_iter_)


SCRIPT = """
import sys
from swapsvm import SVC, Checkpoint
from tests.test_memory import SLOW, slow_data
SVC(**SLOW, solver=sys.argv[2], checkpoint=Checkpoint(sys.argv[1], 0.0)).fit(*slow_data(sys.argv[3]))
"""
SLOW = {"C": 1e3, "gamma": 0.5, "tol": 1e-4, "cache_size": 0.5}


def slow_data(storage):
    X, y = make_classification(4000, 6, n_informative=6, n_redundant=0, flip_y=0.3, random_state=1)
    return (sp.csr_array(np.where(np.abs(X) > 0.5, X, 0)), y) if storage == "sparse" else (X, y)


@pytest.mark.parametrize(("solver", "storage"), [("swap2", "dense"), ("block", "dense"), ("block", "sparse")])
def test_a_killed_process_is_gone_on_from(solver, storage, tmp_path):
    path = tmp_path / "killed.ckpt"
    command = [sys.executable, "-c", SCRIPT, str(path), solver, storage]
    process = subprocess.Popen(command, cwd=Path(__file__).parent.parent)
    versions, limit = set(), time.monotonic() + 60
    while len(versions) < 4 and time.monotonic() < limit and process.poll() is None:
        if path.exists():
            versions.add(path.stat().st_mtime_ns)
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not [name for name in os.listdir(tmp_path) if name != path.name and not name.startswith(".swapsvm-")]
    data = slow_data(storage)
    seen = []
    model = SVC(**SLOW, solver=solver, checkpoint=path, callbacks=seen.append).fit(*data)
    whole = SVC(**SLOW, solver=solver).fit(*data)
    assert seen[0].iteration > 1 and model.stop_reason_ == "gap"
    assert os.listdir(tmp_path) == [path.name]  # the draft of the killed process has been removed
    if storage == "dense" and not whole.results_[0].trace.kinds["surrogate"]:
        np.testing.assert_array_equal(model.dual_coef_, whole.dual_coef_)
        assert model.n_iter_[0] == whole.n_iter_[0]
    else:  # the rounding of sparse kernel values depends on which row is scattered; surrogate steps begin anew
        assert model.results_[0].value == pytest.approx(whole.results_[0].value, rel=2e-4)


@pytest.mark.parametrize("cut_after", [2, 3, 8, 20])
def test_blocks_are_continued_to_the_last_bit_wherever_they_were_cut(cut_after, tmp_path, monkeypatch):
    """The choice between kinds of steps depends on the support of samples that are over by then."""
    monkeypatch.setattr(policy.Outlook, "cost_of_blocks", lambda outlook: 0.0)
    data, path = slow_data("dense"), tmp_path / "cut.ckpt"
    whole = SVC(**SLOW).fit(*data)
    cut(SVC(**SLOW, checkpoint=path, max_iter=cut_after), *data)
    model = SVC(**SLOW, checkpoint=path).fit(*data)
    assert whole.results_[0].trace.kinds.keys() == {"corrective"}
    np.testing.assert_array_equal(model.dual_coef_, whole.dual_coef_)
    assert model.n_iter_[0] == whole.n_iter_[0]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint") / "fit.ckpt"
    cut(SVC(solver="fcfw", **SETTINGS, max_iter=5, checkpoint=path), X, Y)
    return path


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"C": 11.0}, "C, labels or weights differ"),
        ({"gamma": 0.2}, "kernel differ"),
        ({"solver": "swap"}, "solver differ"),
        ({"sampling": 59}, "solver differ"),
        ({"class_weight": "balanced"}, "labels or weights differ"),
        ({"X": X + 1e-9}, "rows differ"),
        ({"X": X.astype(np.float32)}, "rows, precision of kernel values differ"),
        ({"y": 1 - Y}, "labels or weights differ"),
    ],
    ids=["C", "gamma", "solver", "sampling", "class_weight", "rows", "dtype", "labels"],
)
def test_a_checkpoint_of_another_fit_is_refused(written, change, what):
    rows, labels = change.pop("X", X), change.pop("y", Y)
    model = SVC(**{"solver": "fcfw", **SETTINGS, "checkpoint": written, **change})
    with pytest.raises(ValueError, match=f"{what}.*Remove it, or name another file"):
        model.fit(rows, labels)
    assert not hasattr(model, "dual_coef_")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_checkpoint_is_refused(written, tmp_path, data):
    content = bytearray(written.read_bytes())
    path = tmp_path / "damaged.ckpt"
    kind = data.draw(st.sampled_from(["flip", "cut", "grow", "other"]))
    if kind == "flip":
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    elif kind == "cut":
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    elif kind == "grow":
        content += data.draw(st.binary(min_size=1, max_size=40))
    else:
        content = data.draw(st.binary(max_size=200))
    path.write_bytes(content)
    with pytest.raises(ValueError, match=str(path)):
        SVC(solver="fcfw", **SETTINGS, checkpoint=path).fit(X, Y)


def resealed(path, change):
    """A checkpoint with other arrays or numbers and a matching checksum."""
    with opened(path) as file:
        header, arrays = CHECKPOINT.read(file)
    header.pop("arrays")
    change(header["runs"]["0"], arrays)
    return header, arrays


@pytest.mark.parametrize(
    "change",
    [
        lambda run, arrays: arrays.update({"0/active": arrays["0/active"] + 100_000}),
        lambda run, arrays: arrays.update({"0/active": arrays["0/active"] * 0}),
        lambda run, arrays: arrays.update({"0/weights": -arrays["0/weights"]}),
        lambda run, arrays: arrays.update({"0/weights": arrays["0/weights"][:-1]}),
        lambda run, arrays: arrays.update({"0/weights": arrays["0/weights"] * np.nan}),
        lambda run, arrays: arrays.update({"0/h": arrays["0/h"][:-1]}),
        lambda run, arrays: arrays.update({"0/h": arrays["0/h"] * np.nan}),
        lambda run, arrays: arrays.update({"0/slots": np.zeros(9, np.int32)}),
        lambda run, arrays: arrays.update({"0/slots": np.arange(100_000, dtype=np.int32)}),
        lambda run, arrays: arrays.update({"0/toward": arrays["0/toward"] * 0 - 5}),
        lambda run, arrays: arrays.update({"0/away": arrays["0/away"] + 2**40}),
        lambda run, arrays: arrays.update({"0/capacity": arrays["0/capacity"] * 0 - 5}),
        lambda run, arrays: arrays.update({"0/capacity": arrays["0/capacity"] + 2**40}),
        lambda run, arrays: arrays.update({"0/toward": arrays["0/toward"][:0]}),
        lambda run, arrays: arrays.update({"0/quadratic": np.empty(0)}),
        lambda run, arrays: arrays.update({"0/quadratic": np.zeros(1, np.int64)}),
        lambda run, arrays: arrays.update({"0/radius": np.zeros(1)}),
        lambda run, arrays: arrays.update({"0/live": arrays["0/live"] * 0}),
        lambda run, arrays: arrays.update({"0/live": arrays["0/live"] * 2}),
        lambda run, arrays: arrays.update({"0/fresh": np.full(1, 7, np.uint8)}),
        lambda run, arrays: arrays.update({"0/patience": np.empty(0)}),
        lambda run, arrays: arrays.update({"0/empty_samples": np.array(["a"])}),
        lambda run, arrays: arrays.update({"0/sampling_level": np.array([-1])}),
        lambda run, arrays: arrays.update({"0/trace": np.ones(5)}),
        lambda run, arrays: arrays.update({"0/trace": np.full(7, 1e300)}),
        lambda run, arrays: arrays.pop("0/h"),
        lambda run, arrays: run.update(iteration="x"),
        lambda run, arrays: run.update(history=3),
        lambda run, arrays: run.update(history=[-1]),
        lambda run, arrays: run.update(history=[1.5]),
        lambda run, arrays: run.update(seconds=None),
        lambda run, arrays: run.update(kinds=[]),
        lambda run, arrays: run.pop("certified"),
        lambda run, arrays: run.update(certified=-1.0),
    ],
)
def test_a_checkpoint_that_lies_is_refused(written, tmp_path, change):
    path = tmp_path / "lying.ckpt"
    CHECKPOINT.write(path, *resealed(written, change))
    with pytest.raises(ValueError, match=str(path)):
        SVC(solver="fcfw", **SETTINGS, checkpoint=path).fit(X, Y)


def test_a_checkpoint_of_the_first_format_is_refused(written, tmp_path):
    path = tmp_path / "older.ckpt"
    content = bytearray(written.read_bytes())
    content[12:16] = (1).to_bytes(4, "little")  # the version comes after the magic number
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"older\.ckpt: was written by an older swapsvm"):
        SVC(solver="fcfw", **SETTINGS, checkpoint=path).fit(X, Y)


def test_no_certificate_is_believed(written, tmp_path):
    """With a wrong gradient the run takes bad steps, but its report is true."""
    path = tmp_path / "astray.ckpt"
    CHECKPOINT.write(path, *resealed(written, lambda run, arrays: arrays.update({"0/h": arrays["0/h"] * 0 + 0.01})))
    model = SVC(solver="fcfw", **{**SETTINGS, "tol": 1e-2}, checkpoint=path).fit(X, Y)
    honest = SVC(**{**SETTINGS, "tol": 1e-2}).fit(X, Y)
    assert model.relative_gap_ <= 1e-2
    assert model.results_[0].value == pytest.approx(honest.results_[0].value, rel=2e-2)


@pytest.mark.parametrize("checkpoint", [3, b"bytes", Checkpoint])
def test_what_is_no_path_is_refused(checkpoint):
    with pytest.raises(ValueError, match=r"'checkpoint' parameter of SVC must be .*PathLike.* Got"):
        SVC(checkpoint=checkpoint).fit(X, Y)


@pytest.mark.parametrize("seconds", [-1, np.nan, "3", None])
def test_seconds_are_a_number(seconds):
    with pytest.raises(ValueError, match="must be a finite number"):
        Checkpoint("a", seconds)


@pytest.mark.parametrize(
    ("place", "error", "match"),
    [
        ("none/a", FileNotFoundError, "there is no folder"),
        ("", IsADirectoryError, "is a folder"),
        ("a", PermissionError, "is write-protected"),
    ],
)
def test_a_place_that_cannot_be_written_to_is_refused_before_the_work(tmp_path, monkeypatch, place, error, match):
    if error is PermissionError:  # a superuser can write anywhere
        monkeypatch.setattr(os, "access", lambda *_, **__: False)
    seen = []
    with pytest.raises(error, match=match):
        SVC(checkpoint=tmp_path / place, callbacks=seen.append).fit(X, Y)
    assert not seen


def test_a_pipe_is_no_checkpoint(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a device or a pipe"):
        SVC(checkpoint=tmp_path / "pipe").fit(X, Y)


def test_a_checkpoint_behind_a_link(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("target")
    SVC(checkpoint=link).fit(X, Y)
    assert link.is_symlink() and (tmp_path / "target").is_file()


def test_a_write_that_fails_does_not_end_the_fit(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    checkpoint = Checkpoint(folder / "a", seconds=0)
    model = SVC(solver="swap2", **SETTINGS, checkpoint=checkpoint, callbacks=lambda _: shutil.rmtree(folder, True))
    with pytest.warns(RuntimeWarning, match="could not be written; the fit continues"):
        model.fit(X, Y)
    assert model.stop_reason_ == "gap"


class Bell:
    """A kernel function with a width that can be set."""

    def __init__(self, gamma):
        self.gamma = gamma

    def __call__(self, rows, others):
        return rbf_kernel(rows, others, gamma=self.gamma)


def test_a_kernel_function_that_has_changed_starts_anew():
    bell = Bell(0.1)
    model = SVC(kernel=bell, solver="swap2", warm_start=True).fit(X, Y)
    bell.gamma = 1.0
    model.fit(X, Y)
    whole = SVC(kernel=Bell(1.0), solver="swap2").fit(X, Y)
    assert model.stop_reason_ == "gap"
    assert model.results_[0].value == pytest.approx(whole.results_[0].value, rel=2e-2)


def test_a_kernel_function_is_known_by_its_values(tmp_path):
    def fit(bell, **options):
        return SVC(kernel=bell, solver="swap2", C=10.0, tol=1e-4, checkpoint=tmp_path / "a", **options)

    cut(fit(Bell(0.1), max_iter=20), X, Y)
    with pytest.raises(ValueError, match="kernel differ"):
        fit(Bell(0.2)).fit(X, Y)
    model = fit(Bell(0.1)).fit(X, Y)  # another object, as in another process
    assert_same_run(model, SVC(kernel=Bell(0.1), solver="swap2", C=10.0, tol=1e-4).fit(X, Y))


def test_numbers_of_no_run_are_refused_by_the_name_of_their_file(tmp_path, monkeypatch):
    X, y = make_classification(200, 5, flip_y=0.3, random_state=0)
    path = tmp_path / "run.ckpt"
    with pytest.warns(ConvergenceWarning):
        SVC(checkpoint=path, solver="swap", tol=1e-6, max_iter=5).fit(X, y)
    monkeypatch.setattr(KernelState, "gap", property(lambda self: np.nan))
    with pytest.raises(ValueError, match=r"run\.ckpt: its numbers are not those of a run"):
        SVC(checkpoint=path, solver="swap", tol=1e-6).fit(X, y)
