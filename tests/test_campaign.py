"""The judges of the campaign: each must reject manipulated results and accept correct ones."""

import os
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from campaign import certificates, files, formats, kills, limits, mutation, report, shapes, threads
from campaign.arithmetic import Exact, Extended
from campaign.batch import Batch, random_numbers
from campaign.children import Ended, in_child
from campaign.outcome import Outcome, from_line
from campaign.problems import Problem, draw_problem
from campaign.schedule import Plan, run_part

from swapsvm import ConvergenceWarning, geometry
from swapsvm.study import records

from .cases import overlapping_rows

ROOT = Path(__file__).parent.parent
RUN = {"kernel": "rbf", "gamma": 0.3, "solver": "swap2", "tol": 1e-2, "n_jobs": 1}  # leaves a gap to judge
X = overlapping_rows(100)
Y = np.arange(len(X)) // 100
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, size=len(X))
PROBLEMS = {
    "SVC": Problem("SVC", {**RUN, "C": 10.0}, X, Y, WEIGHTS),
    "SVC, three classes": Problem("SVC", {**RUN, "C": 10.0}, np.vstack([X, X + 1]), np.r_[Y, Y + 1]),
    "SVR": Problem("SVR", {**RUN, "C": 10.0, "epsilon": 0.1}, X, X[:, 0] ** 2, WEIGHTS),
    "SVR, learned tube": Problem("SVR", {**RUN, "C": 10.0, "epsilon": "auto"}, X, X[:, 0] ** 2),
    "OneClassSVM": Problem("OneClassSVM", {**RUN, "slack": 0.01}, X, None, WEIGHTS),
    "SVDD": Problem("SVDD", {**RUN, "kernel": "linear", "slack": 0.01}, X),
}


def fitted(problem):
    arguments = (problem.X,) if problem.y is None else (problem.X, problem.y)
    return problem.model.fit(*arguments, sample_weight=problem.weights)


def doctored(model, **changes):
    model.results_[0] = replace(model.results_[0], **changes)
    model.dual_gap_ = max(result.gap for result in model.results_)
    return model


# ---- certificates -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_right_certificate_holds_and_a_smaller_one_does_not(name):
    pytest.importorskip("gmpy2")
    problem = PROBLEMS[name]
    model = fitted(problem)
    outcome = certificates.judge(problem, model)
    assert outcome.verdict == "held" and 0 < outcome.number <= 1  # the true gap, as a fraction of the reported one
    result = model.results_[0]
    first = certificates.claims_of(problem, model)[0]
    smaller = result.primal_gap * certificates.judged_gap(problem, model, first).number * (1 - 1e-6)
    assert certificates.judge(problem, doctored(model, primal_gap=smaller)).verdict == "understated"
    assert certificates.judge(problem, doctored(model, primal_gap=result.primal_gap * 2)).verdict == "held"
    if result.simplex_gap != result.primal_gap:
        halved = doctored(model, simplex_gap=result.simplex_gap / 2)
        assert certificates.judge(problem, halved).verdict == "understated"


def test_a_relative_gap_that_is_too_small_is_found():
    model = fitted(PROBLEMS["SVC"])
    scale = model.results_[0].scale
    assert certificates.judge(PROBLEMS["SVC"], doctored(model, scale=2 * scale)).verdict == "understated"


@pytest.mark.parametrize(
    "changes", [{"gap": -1e-20}, {"gap": np.nan}, {"value": np.inf}, {"relative_gap": 0.02, "stop_reason": "gap"}]
)
def test_impossible_numbers_are_found(changes):
    problem = PROBLEMS["SVC"]
    assert certificates.judge(problem, doctored(fitted(problem), **changes)).verdict == "claim"


@pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM", "SVDD"])
def test_a_model_that_is_not_the_certified_one_is_found(name):
    model = fitted(PROBLEMS[name])
    true = model.model_
    model.model_ = replace(true, coef=true.coef * (1 + 1e-7))
    found = certificates.prediction_error(PROBLEMS[name], model)
    model.model_ = true
    assert certificates.prediction_error(PROBLEMS[name], model) < 1e-9
    model.model_ = replace(true, vectors=replace(true.vectors, rows=true.vectors.rows + 1e-3))
    assert max(found, certificates.prediction_error(PROBLEMS[name], model)) > 1e-9


def test_kernel_values_beyond_single_precision_are_no_error():
    far = np.float32(np.r_[X[:20], X[:1] + 20])
    problem = Problem("OneClassSVM", {**RUN, "slack": 0.0}, far, None, np.r_[np.ones(20), 0.0])
    assert certificates.prediction_error(problem, fitted(problem)) < 1e-3


@pytest.mark.parametrize("name", ["SVC", "SVR", "SVR, learned tube", "OneClassSVM", "SVDD"])
def test_both_arithmetics_agree_within_the_error_that_they_claim(name):
    pytest.importorskip("gmpy2")
    whole, some = PROBLEMS[name], slice(70, 130)
    y, weights = (None if values is None else values[some] for values in (whole.y, whole.weights))
    problem = replace(whole, parameters=whole.parameters | {"max_iter": 1}, X=X[some], y=y, weights=weights)
    with pytest.warns(ConvergenceWarning):
        model = fitted(problem)
    [claim] = certificates.claims_of(problem, model)
    rough, exact = (certificates.true_gap(kind, problem, model, claim) for kind in (Extended, Exact()))
    assert abs(rough.gap - exact.gap) <= rough.error < 1e-9 * exact.gap
    assert exact.error < 1e-60


def test_hostile_problems_are_the_same_for_the_same_seed():
    first, second = (draw_problem(random_numbers(certificates.PART, 3, 5)) for _ in range(2))
    assert str(first) == str(second) and np.array_equal(first.rows, second.rows)


@pytest.mark.parametrize("name", shapes.JUDGES)
def test_bounds_of_geometry_hold_and_doctored_ones_do_not(name):
    points = [X, X + 9] if name == "polytope_distance" else [X + 9]
    found = getattr(geometry, name)(*points, tol=1e-4)
    assert shapes.judge(name, points, found, 1e-4) == ""
    higher = replace(found, lower_bound=1.01 * found.upper_bound, upper_bound=1.02 * found.upper_bound)
    assert "lower bound" in shapes.judge(name, points, higher, 0.1)
    low = {"lower_bound": 0.9 * found.lower_bound, "upper_bound": 0.99 * found.lower_bound, "stop_reason": "max_iter"}
    shrunk = replace(found, **low, **({"radius": 0.99 * found.radius} if "ball" in name else {}))
    assert ("outside" if "ball" in name else "upper bound") in shapes.judge(name, points, shrunk, 1e-4)
    assert shapes.judge(name, points, replace(found, lower_bound=0.5 * found.upper_bound), 1e-4).startswith(
        "stopped by"
    )


# ---- files --------------------------------------------------------------------------------------------------------


def reader(read, use=lambda found: None):
    return formats.Format("made up", ".x", lambda: [b""], mutation.of_bytes, read, use)


def raising(error):
    def read(path):
        raise error

    return read


@pytest.mark.parametrize(
    ("read", "verdict"),
    [
        (lambda path: path, "held"),
        (raising(ValueError("malformed.x: line 3")), "refused"),
        (raising(OSError("no malformed.x")), "refused"),
        (raising(ValueError("line 3")), "unnamed"),
        (raising(KeyError("malformed.x")), "error"),
        (raising(TypeError("malformed.x")), "error"),
        (raising(MemoryError()), "memory"),
        (lambda path: np.ones(1 << 24), "memory"),
        (lambda path: Path(".draft").touch(), "stray"),
    ],
)
def test_readers_are_judged(read, verdict, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert in_child(lambda: files.judged(reader(read), b"content").verdict, 20).value == verdict


def test_a_slow_reader_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "SECONDS", 0.05)

    def compute(path):
        until = time.process_time() + 0.3
        while time.process_time() < until:
            pass

    assert in_child(lambda: files.judged(reader(compute), b"").verdict, 20).value == "slow"


def test_mutations_get_behind_the_checksum(tmp_path):
    [original, *_] = formats.model_files()
    path, complaints = tmp_path / "model", []
    for number in range(60):
        path.write_bytes(formats.in_container(np.random.default_rng(number), original))
        try:
            formats.files.load(path)
        except (ValueError, TypeError) as error:
            complaints.append(str(error))
    behind = [
        text for text in complaints if not any(word in text for word in ("checksum", "truncated", "bytes instead"))
    ]
    assert len(behind) > 30 and len(set(behind)) > 10


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("format", [f for f in formats.FORMATS if f.name != "parquet"], ids=lambda f: f.name)
def test_valid_files_are_read(format, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pack = {".bz2": formats.bz2.compress, ".gz": formats.gzip.compress}.get(Path(f"x{format.suffix}").suffix, bytes)
    readable = [content for content in format.seeds() if b"<U1" not in content and b"|b1" not in content]
    for content in readable[:2]:
        Path(f"x{format.suffix}").write_bytes(pack(content))
        format.use(format.read(Path(f"x{format.suffix}")))


# ---- children and batches -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "status"),
    [
        (lambda: 3, "returned"),
        (lambda: [][1], "raised"),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "SIGSEGV"),
        (lambda: os.abort(), "SIGABRT"),
        (lambda: os._exit(3), "exit 3"),
        (lambda: time.sleep(60), "hang"),
    ],
)
def test_every_end_of_a_child_has_a_name(function, status):
    assert in_child(function, 1.0).status == status


class AnsweredLate:
    """An answer whose sending is interrupted."""

    def __reduce__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        return int, ()


def test_ctrl_c_after_the_work_does_not_lose_its_answer():
    ended = in_child(AnsweredLate, 20)
    assert (ended.status, ended.value) == ("returned", 0)


@dataclass
class Dying:
    """A part that dies in some trials."""

    name: str = "dying"
    patience: float = 0.5

    def prepare(self):
        pass

    def trial(self, rng):
        choice = rng.integers(4)
        if choice == 0:
            os.abort()
        if choice == 1 and self.patience:
            time.sleep(60)
        return Outcome("made up", "held" if choice == 2 else "wrong", f"choice {choice}")

    def material(self, rng):
        return Outcome("made up", "", "about it", None, b"malformed", ".x")


def test_a_batch_outlives_its_trials():
    batch, found, over = Batch(Dying(), 0, 10, 12, time.monotonic() + 60), [], False
    while not over:
        fresh, over = batch.poll()
        found += fresh
        time.sleep(0.01)
    assert [number for number, _ in found] == list(range(10, 22))
    expected = ["crash", "hang", "held", "wrong"]
    assert [outcome.verdict for _, outcome in found] == [
        expected[random_numbers(Dying(), 0, number).integers(4)] for number in range(10, 22)
    ]
    assert {outcome.material for _, outcome in found if outcome.verdict == "crash"} == {b"malformed"}


class Unprepared(Dying):
    def prepare(self):
        raise FileNotFoundError("no scratch folder")


def test_what_fails_before_a_trial_is_no_fault(tmp_path):
    with pytest.raises(RuntimeError, match="could not be prepared: FileNotFoundError: no scratch folder"):
        run_part(Unprepared(), Plan(5.0, 0, 1, tmp_path), 5.0, lambda text: None)


class Counting(Dying):
    def trial(self, rng):
        time.sleep(0.01)
        return Outcome("made up", "wrong", f"{rng.integers(10**6)} is wrong", 1.5)


def test_a_run_goes_on_where_the_last_one_ended(tmp_path):
    plan, said = Plan(1.0, 5, 1, tmp_path), []
    faults = [run_part(Counting("counting"), plan, 0.3, said.append) for _ in range(2)]
    first, second = records.read(tmp_path / "counting.jsonl")
    assert first["first"] == 0 and second["first"] == first["count"] > 0
    assert faults == [first["count"], second["count"]]
    assert any("trial 0 of seed 5" in text for text in said)
    table = "\n".join(report.page([first, second]))
    assert f"| counting | made up | {sum(faults)} | 0 | 0 | 0 | {sum(faults)} | 1.5 |" in table
    assert "made up: wrong" in table


def test_outcomes_travel_as_lines():
    outcome = Outcome("a", "crash", "why", 2.0, b"\x00\xff", ".x")
    assert from_line(outcome.as_line()) == outcome and outcome.is_fault
    assert Outcome("a", "x", "took 3.5 s").signature == Outcome("a", "x", "took 71 s").signature


# ---- limits, kills, threads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ended", "verdict"),
    [
        (Ended("returned"), "held"),
        (Ended("raised", (["MemoryError"], "")), "refused"),
        (Ended("raised", (["OSError"], "[Errno 12] Cannot allocate memory")), "refused"),
        (Ended("raised", (["ValueError"], "not a readable npz file")), "error"),
        (Ended("SIGABRT", None, "terminate called after throwing an instance of 'std::bad_alloc'"), "crash"),
        (Ended("exit 1"), "crash"),
        (Ended("hang"), "hang"),
    ],
)
def test_ends_below_a_limit_are_judged(ended, verdict):
    assert limits.judged_end("made up", ended, "").verdict == verdict


def test_a_limit_of_memory_is_met():
    assert limits.judged_memory("made up", lambda: np.ones(1 << 24), 1 << 20).verdict == "refused"
    assert limits.judged_memory("made up", lambda: os.abort(), 1 << 20).verdict == "crash"


@pytest.mark.parametrize(
    ("write", "verdict"),
    [
        (lambda path: path.write_bytes(b"n" * 100), "lost"),
        (lambda path: path.with_name(".draft").write_bytes(b"n" * 100), "stray"),
        (lambda path: path.unlink(), "stray"),
        (lambda path: limits.files.save(limits._model(), path), "refused"),
    ],
)
def test_writers_are_judged(write, verdict, tmp_path):
    (tmp_path / "goal").write_bytes(b"old" * 30)
    outcome = limits.judged_disk("made up", lambda: write(tmp_path / "goal"), tmp_path, b"old" * 30, 50)
    assert outcome.verdict == verdict


@pytest.mark.parametrize(
    ("value", "present", "verdict"),
    [
        ([(-1.0, 1e-3, "gap")], ["fit"], "held"),
        ([(-1.0, 1e-3, "gap")], ["fit", ".fit-0"], "stray"),
        ([(-2.0, 1e-3, "gap")], ["fit"], "lost"),
        ([(-1.0, 1e-3, "precision")], ["fit"], "lost"),
    ],
)
def test_fits_that_go_on_are_judged(value, present, verdict):
    whole = Ended("returned", [(-1.0005, 1e-3, "gap")])
    assert kills.judged_resumption("made up", Ended("returned", value), whole, present, "").verdict == verdict
    assert kills.judged_resumption("made up", Ended("SIGSEGV"), whole, present, "").verdict == "crash"


@pytest.mark.parametrize(
    ("reason", "seconds", "keep", "verdict"),
    [
        ("interrupted", 0.1, True, "held"),
        ("interrupted", 0.7, True, "late"),
        ("begun", 0.1, True, "error"),
        ("begun", 0.1, False, "held"),
        ("max_time", 0.1, True, "error"),
    ],
)
def test_answers_to_an_interrupt_are_judged(reason, seconds, keep, verdict):
    ended = Ended("returned", (reason, 0.0))
    assert kills.judged_answer("made up", ended, seconds, keep=keep, about="").verdict == verdict


def test_scenes_are_judged():
    assert threads.judged_scene("made up", Ended("returned", ""), "").verdict == "held"
    assert threads.judged_scene("made up", Ended("returned", "differs"), "").verdict == "wrong"
    assert threads.judged_scene("made up", Ended("hang"), "").verdict == "hang"


# ---- the committed table ------------------------------------------------------------------------------------------


def test_the_committed_table_is_that_of_the_committed_lines(tmp_path):
    report.write_report(ROOT / "campaign" / "results", tmp_path / "page.md")
    assert (tmp_path / "page.md").read_text() == (ROOT / "docs" / "notes" / "reliability.md").read_text()
