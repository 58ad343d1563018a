"""The benchmark runner measures what it reports, survives its competitors and computes its own verdicts."""

import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks import (
    certificate,
    datasets,
    ellipsoid,
    geometry,
    novelty,
    report,
    run,
    selection,
    suites,
    summary,
    targets,
    tune,
)
from benchmarks.kinds import names
from benchmarks.objective import Task
from benchmarks.solvers import COMPETITORS, PEERS
from sklearn.datasets import load_iris
from sklearn.svm import SVC as SklearnSVC

from swapsvm import SVC
from swapsvm.study import records

TINY = "synthetic m=300 features=5"
WHERE = {"cpu": "a CPU", "cores": 2, "simd": "v3", "swapsvm": "0", "commit": "abc", "versions": {"peer": "1"}}


def task_of(solver, **changes):
    fields = {"suite": "peers", "data": TINY, "repetition": 0, "threads": 1, "dtype": "float64", "limit": 60.0}
    return Task(solver=solver, **{**fields, **changes})


def record_of(solver, data="one", suite="peers", **numbers):
    fixed = {
        **asdict(task_of(solver, data=data, suite=suite)),
        "status": "ok",
        "stage": "done",
        "time": "2026",
        "where": WHERE,
    }
    shape = {"rows": 6000, "features": 5, "density": 1.0, "sparse": False, "classes": 2}
    return {"status": "ok", "stage": "done", **fixed, **shape, **numbers}


@pytest.fixture
def prepared(tmp_path):
    run.prepare(task_of("block"), tmp_path)
    return tmp_path


# ---- solvers and data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, made in COMPETITORS.items() if made(1.0, 0.5, 1).is_installed()])
def test_every_installed_competitor_fits_and_predicts(name):
    competitor = COMPETITORS[name](1.0, 0.5, 1)
    split = datasets.load(TINY)
    competitor.renew()
    competitor.fit(*competitor.convert(split.X, split.y))
    assert np.mean(competitor.predict(split.X_test) == split.y_test) > 0.7
    assert 0 < competitor.support_size() <= len(split.y)


def test_suites_name_known_solvers_and_data():
    known = {*datasets.REAL, *datasets.WEB}
    for suite in [*suites.full(), *suites.quick(), *suites.held_back()]:
        assert set(suite.solvers) <= set(COMPETITORS)
        for name in suite.data:
            assert name in known or names.is_known(name) or datasets.synthetic(name).name == name


def test_competitors_alternate():
    suite = suites.Suite("peers", (TINY,), ("block", "intelex"), 2)
    tasks = list(suites.tasks_of(suite, suites.Conditions(1, "float64", 1.0, False)))
    assert [(t.repetition, t.solver) for t in tasks] == [(0, "block"), (0, "intelex"), (1, "intelex"), (1, "block")]


def test_every_real_set_has_parameters():
    tuned = datasets.tuned_parameters()
    assert set(tuned) == set(datasets.REAL)
    assert all(entry["C"] > 0 and entry["gamma"] > 0 for entry in tuned.values())


@pytest.mark.parametrize("density", [1.0, 0.1])
def test_gamma_scale_is_that_of_scikit_learn(density):
    X = datasets.Synthetic(rows=300, features=30, density=density).load().X
    y = np.arange(X.shape[0]) % 2
    assert datasets.gamma_scale(X) == pytest.approx(SklearnSVC(gamma="scale").fit(X, y)._gamma)


def test_tuning_takes_the_smaller_parameters_of_equals():
    choices = [tune.Choice(C, g, {"hinge": 5, "squared_hinge": 5}) for C in (4.0, 1.0) for g in (2.0, 1.0)]
    assert min(choices, key=lambda c: c.rank) == choices[3]
    best = tune.Choice(64.0, 16.0, {"hinge": 4, "squared_hinge": 7})
    assert min([*choices, best], key=lambda c: c.rank) == best


def test_samples_for_tuning_hold_every_class():
    y = np.repeat([0, 1, 2], [5000, 300, 7])
    assert np.bincount(y[tune.sample(y, 500)]).tolist() == [471, 28, 6]


# ---- certificates ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_independent_certificate_agrees(storage, classes):
    X, y = load_iris(return_X_y=True)
    X, y = storage(np.tile(X, (2, 1))), np.tile(y, 2) % classes
    model = SVC(C=8.0, gamma=0.3, tol=1e-2).fit(X, y)
    assert certificate.relative_gap(model, X, y) == pytest.approx(model.relative_gap_, rel=2e-3, abs=1e-9)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_the_independent_certificate_knows_that_equal_rows_share_a_weight(storage):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((3000, 2)), 1) + 0.0  # many are equal; no -0
    y = (X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(3000) > 0).astype(int)
    model = SVC(C=8.0, gamma=0.3).fit(storage(X), y)
    assert len(np.unique(X[model.support_], axis=0)) < len(model.support_) < 0.9 * len(X)  # one for each class
    assert certificate.relative_gap(model, storage(X), y) == pytest.approx(model.relative_gap_, rel=2e-2, abs=1e-6)


def test_the_independent_certificate_sees_a_changed_model():
    X, y = load_iris(return_X_y=True)
    model = SVC(C=8.0, gamma=0.3).fit(X, y)
    factors = np.linspace(0.5, 1.5, model.dual_coef_.shape[1])
    model.model_ = replace(model.model_, coef=model.dual_coef_ * factors)
    assert certificate.relative_gap(model, X, y) > 0.05


# ---- runs -----------------------------------------------------------------------------------------------------


def test_a_run_is_measured_and_verified(prepared):
    outcome = run.in_own_process(task_of("block", verify=True), prepared)
    assert outcome["status"] == "ok" and outcome["stage"] == "done"
    assert outcome["fit_seconds"] > 0 and outcome["predict_seconds"] > 0 and outcome["peak_bytes"] >= 0
    assert outcome["evaluations"] > 0 and outcome["floor"] == outcome["support"] * 300
    assert outcome["verified_gap"] == pytest.approx(outcome["relative_gap"], rel=2e-3, abs=1e-9)


def test_convergence_runs_keep_their_trace(prepared):
    outcome = run.in_own_process(task_of("swap", suite="convergence"), prepared)
    assert len(outcome["trace"]["gap"]) == len(outcome["trace"]["seconds"]) > 1


def test_a_crash_is_recorded(prepared):
    outcome = run.in_own_process(task_of("block", options={"max_time": -1.0}), prepared)
    assert outcome["status"] == "crashed" and outcome["stage"] == "warm-up"
    assert "max_time" in outcome["message"]


@pytest.mark.parametrize(("ending", "status"), [(signal.SIGSEGV, "crashed"), (signal.SIGALRM, "timeout")])
def test_signals_tell_a_crash_from_a_limit(ending, status):
    assert run.status_of(-ending) == status


def test_a_fit_without_end_is_ended(tmp_path):
    run.prepare(task_of("fw", data="synthetic m=2000"), tmp_path)
    outcome = run.in_own_process(task_of("fw", limit=1.0, options={"tol": 1e-12}), tmp_path)
    assert outcome["status"] == "timeout" and outcome["stage"] in ("warm-up", "fit")


def test_finished_runs_are_not_repeated_nor_failures_asked_again(tmp_path):
    path = tmp_path / "results.jsonl"
    records.append(path, record_of("block"))
    records.append(path, {**record_of("libsvm"), "status": "timeout"})
    records.append(path, {"status": "absent", "solver": "thundersvm", "message": "thundersvm-cpu"})
    runner = run.Runner(path, WHERE)
    due = [
        t.key for s in ("block", "libsvm") for r in (0, 1) if runner.is_due(t := task_of(s, data="one", repetition=r))
    ]
    assert due == [task_of("block", data="one", repetition=1).key]


def load_nothing(name):
    raise FileNotFoundError("no file")


def test_absent_peers_and_data_are_named(tmp_path, monkeypatch, capsys):
    path = tmp_path / "results.jsonl"
    monkeypatch.setattr(PEERS[0], "is_installed", lambda: False)
    monkeypatch.setattr(datasets, "load", load_nothing)
    monkeypatch.setattr(suites, "full", lambda: [suites.Suite("peers", ("lost",), ("block", PEERS[0].name), 1)])
    run.main(["--output", str(path), "--suites", "peers"])
    absent = records.read(path)
    assert [r["status"] for r in absent] == ["absent", "absent"]
    assert PEERS[0].name in capsys.readouterr().out
    assert "lost is absent: no file" in report.report(absent, {}, "results")


def test_two_competitors_from_command_to_report(tmp_path, monkeypatch):
    path = tmp_path / "results.jsonl"
    monkeypatch.setattr(suites, "quick", lambda: [suites.Suite("peers", (TINY,), ("block", "scikit-learn"), 1)])
    run.main(["--quick", "--threads", "1", "--output", str(path)])
    found = {r["solver"]: r for r in records.read(path)}
    assert {s: r["status"] for s, r in found.items()} == {"block": "ok", "scikit-learn": "ok"}
    assert abs(found["block"]["accuracy"] - found["scikit-learn"]["accuracy"]) < 0.1
    report.main([str(path)])
    assert "scikit-learn" in (tmp_path / "results" / "report.md").read_text()


# ---- numbers --------------------------------------------------------------------------------------------------


def test_exponents_of_powers():
    sizes = np.array([10, 20, 50, 200.0])
    found = summary.exponent(sizes, 3e-4 * sizes**1.37)
    assert (found.value, found.error) == (pytest.approx(1.37), pytest.approx(0, abs=1e-12))


def test_ratios_and_their_bounds():
    slow = [record_of("intelex", fit_seconds=t) for t in (3.0, 4.0, 9.0)]
    own = [record_of("block", fit_seconds=t) for t in (1.0, 2.0, 3.0)]
    ended = {**record_of("libsvm"), "status": "timeout", "limit": 60.0}
    table = summary.Table([*slow, *own, ended], "peers")
    assert table.ratio("one", "intelex", "block", "fit_seconds") == summary.Ratio(2.0, 2.0, 3.0)
    assert table.ratio("one", "libsvm", "block", "fit_seconds") == summary.Ratio(30.0, 30.0, 30.0, ">")
    assert table.ratio("one", "thundersvm", "block", "fit_seconds") is None
    assert summary.geometric_mean([1.0, 4.0]) == pytest.approx(2.0)


def test_our_own_failure_counts_against_us():
    found = [record_of("intelex", fit_seconds=6.0), {**record_of("block"), "status": "crashed", "limit": 60.0}]
    assert summary.Table(found, "peers").ratio("one", "intelex", "block", "fit_seconds").value == 0.1
    assert targets.worst_ratio("intelex")(found) == 0.1


def test_verdicts_are_computed():
    fast = [record_of("block", fit_seconds=1.0, accuracy=0.9), record_of("intelex", fit_seconds=4.5, accuracy=0.902)]
    verdicts = {(t.what, t.against): t.verdict(t.measure(fast)) for t in targets.TARGETS}
    assert verdicts["fit, geometric mean of all sets", "intelex"] == "met"
    assert verdicts["accuracy, points, worst of the ten sets, common C and gamma", "the best peer"] == "**not met**"
    assert verdicts["fit, worst set", "libsvm"] == "not measured"


def test_a_report_of_everything_has_all_figures(tmp_path):
    own = {"evaluations": 50, "floor": 10, "iterations": 3, "relative_gap": 0.009, "stop_reason": "gap"}
    own |= {"cache_bytes": 1, "cache_budget": 2**24, "model_bytes": 10, "verified_gap": 0.009}
    common = {"predict_seconds": 0.1, "accuracy": 0.9, "support": 7, "peak_bytes": 2**26, "C": 1.0, "gamma": 0.5}
    found = [record_of(s, fit_seconds=t, **common, **own) for s, t in (("block", 1.0), ("intelex", 3.0))]
    found += [{**record_of("libsvm"), "status": "timeout"}, {**record_of("thundersvm"), "status": "crashed"}]
    for rows in (100, 200, 400):
        shape = {"data": f"w{rows}", "rows": rows, "fit_seconds": rows**1.5}
        found += [{**record_of("block", suite=s, **common, **own), **shape} for s in ("web", "memory")]
    trace = {"seconds": [0.1, 1.0], "evaluations": [1, 2], "gap": [1.0, 0.001]}
    found.append(record_of("swap", suite="convergence", fit_seconds=1.0, trace=trace, **common, **own))
    text = report.write(found, tmp_path, "results").read_text()
    figures = {path.stem for path in (tmp_path / "figures").glob("*.png")}
    assert figures == {"fit", "predict", "floor", "memory", "scaling", "convergence"}
    assert "1.50 ± 0.00" in text and "> 60" in text and "libsvm on one: timeout" in text


def test_lines_are_appended_whole(tmp_path):
    path = tmp_path / "new" / "results.jsonl"
    for number in range(3):
        records.append(path, {"number": number})
    assert records.read(path) == [{"number": 0}, {"number": 1}, {"number": 2}]


def test_a_search_is_measured_in_its_own_process(tmp_path):
    output = tmp_path / "selection.jsonl"
    words = ["--data", TINY, "--Cs", "2", "--gammas", "1", "--threads", "1", "--output", str(output)]
    selection.main([*words, "--searches", "SVCCV", "scikit-learn"])
    found = records.read(output)
    assert [(r["search"], r["status"], r["cut"], len(r["mean_scores"])) for r in found] == [
        ("SVCCV", "ok", True, 2),
        ("scikit-learn", "ok", True, 2),
    ]
    assert all(r["best_score"] > 0.6 and 0 < r["seconds"] < 60 for r in found)
    assert found[0]["grid"] == found[1]["grid"]
    selection.main([*words, "--searches", "SVCCV", "--limit", "0.001"])
    assert records.read(output)[-1]["status"] == "timeout"
    selection.main([*words, "--searches", "SVCCV"])
    text = (tmp_path / "report.md").read_text()
    ratio = found[1]["cpu_seconds"] / records.read(output)[-1]["cpu_seconds"]  # on one thread
    assert (
        f"| scikit-learn | {found[1]['seconds']:.3g} s |" in text and f"the ratios: scikit-learn {ratio:.3g}." in text
    )
    assert "| CPU / SVCCV's |" in text
    several = [{**line, "threads": 2} for line in records.read(output)]
    assert "| wall / SVCCV's |" in selection.report(several)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # Frank-Wolfe is cut
def test_every_solver_has_its_line_in_the_table_of_ellipsoids(monkeypatch):
    monkeypatch.setattr(ellipsoid, "MOST", 300)
    head, _, *lines = ellipsoid.solvers(200, 2)
    assert head.split(" | ")[1] == "iterations"
    assert [line.split(" | ")[0].strip("| ") for line in lines] == list(ellipsoid.SOLVERS)
    assert all(float(line.split(" | ")[3]) < 1 for line in lines)


def test_balls_are_measured_and_reported(tmp_path, monkeypatch):
    tasks = {"growth": [(m, 3) for m in (300, 600)], "dimensions": [(300, 5)], "miniball, 3 dimensions": [(300, 3)]}
    monkeypatch.setattr(geometry, "SUITES", tasks)
    geometry.main(["--output", str(tmp_path / "bench.jsonl"), "--repetitions", "1"])
    found = records.read(tmp_path / "bench.jsonl")
    assert all(r["relative_gap"] <= float(r["name"]) for r in found if r["name"] != "miniball")
    text = (tmp_path / "report.md").read_text()
    assert "| 600 | 3 | " in text and (tmp_path / "ball.png").stat().st_size > 10_000


def test_a_ball_that_takes_too_long_is_ended():
    before = signal.signal(signal.SIGPROF, geometry.too_late)

    def endless(X):
        while True:
            pass

    try:
        assert geometry.timed(endless, np.eye(2), 0.05)["error"] == "more than 0.05 s"
    finally:
        signal.signal(signal.SIGPROF, before)


def test_a_detector_is_measured_in_its_own_process(tmp_path):
    output, few = tmp_path / "runs.jsonl", ["--rows", "300", "--repetitions", "1"]
    novelty.main([*few, "--output", str(output)])
    found = records.read(output)
    assert [r["detector"] for r in found] == list(novelty.DETECTORS)
    assert all(r["status"] == "ok" and r["auc"] > 0.9 and 0 < r["support"] <= 300 for r in found)
    assert all(r["outside"] == pytest.approx(0.1, abs=0.02) for r in found[:-1])
    cut = ["--detectors", "scikit-learn nu=0.1", "--limit", "0.01", "--rows", "20000", "300", "--repetitions", "2"]
    novelty.main(["--output", str(output), *cut])
    assert [r["status"] for r in records.read(output)[len(found) :]] == ["timeout"]  # and not tried again
    assert "| 20000 | scikit-learn nu=0.1 | 1 | > 0.01 |" in (tmp_path / "report.md").read_text()


ROOT = Path(__file__).parents[1]
LIMITED = """
import numpy as np
from benchmarks.out_of_core import Peak, given_back, limited
from swapsvm.models.schemes import OneVersusOne
before, peak = given_back(), Peak()
with limited(32 << 20, peak):
    few = np.ones(1 << 20)
    try:
        many = np.ones(1 << 23)
    except MemoryError:
        print("limited")
    try:
        OneVersusOne().model(None, None, [], {})
    except Exception:
        many = np.ones(1 << 23)
        print("lifted", peak.bytes - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_DATA as Linux has it")
def test_the_limit_of_the_benchmark_holds_until_a_model_is_made():
    """More memory than that is refused; the peak is that of before."""
    words = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split()
    assert words[:2] == ["limited", "lifted"] and int(words[2]) < 32 << 20
