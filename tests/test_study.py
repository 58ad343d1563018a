"""The study: what is run, what is kept, what is claimed."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

from swapsvm.cli import main
from swapsvm.datasets import DatasetError
from swapsvm.study import claims, records
from swapsvm.study.claims import CLAIMS, Status
from swapsvm.study.protocol import (
    EVERY_SET,
    EXPERIMENTS,
    FULL,
    GROUPS,
    METHODS,
    PAPER_METHODS,
    QUICK,
    Scale,
    Task,
    data_named,
    named,
    tasks_of,
)
from swapsvm.study.runs import curve, due, following, run_all
from swapsvm.study.summary import Results
from swapsvm.study.tuning import LARGE_COSTS, Point, as_toml, grid_of, stored_parameters, tune


def record(experiment, data, method, seconds=1.0, *, seed=0, accuracy=0.9, cut=False, limit=60.0, **measures):
    return {
        "experiment": experiment,
        "data": data,
        "method": method,
        "seed": seed,
        "parameters": {"C": 1.0, "gamma": 0.5, "max_time": limit},
        "measures": {"seconds": seconds, "accuracy": accuracy, "cut": cut, "model_size": 100, **measures},
    }


def task(method="swap", data="w1a", seed=0, budget=60.0):
    return Task("paper", data, method, seed, 1.0, 0.5, budget)


# ---- what is run --------------------------------------------------------------------------------------------------


def test_the_groups_are_the_26_sets_of_the_paper():
    assert len(EVERY_SET) == len(set(EVERY_SET)) == 26


def test_the_paper_s_protocol():
    settings = Task("paper", "w8a", "swap", 0, 16.0, 0.02, 60.0).settings()
    assert settings["start_size"] == 20 and settings["tol"] == 0 and settings["eps"] == 1e-6
    assert settings["sampling"].size == 59 and not settings["sampling"].with_active
    assert settings["n_jobs"] == 1 and settings["cache_size"] == 200
    assert Task("paper", "w8a", "block", 0, 16.0, 0.02, 60.0).settings()["sampling"] is None


def test_the_polynomial_experiment_is_the_paper_s():
    experiment = EXPERIMENTS["polynomial"]
    assert "cvm" not in experiment.methods
    assert set(experiment.data) == {*GROUPS["web"], "shuttle", "reuters"}
    tasks = list(tasks_of(Scale(("polynomial",), ("w1a",), ("swap",), 1.0, 1), {"w1a": {"C": 2.0, "gamma": 0.25}}))
    assert tasks[0].gamma == 0.5  # 1 / mean squared distance, twice the Gaussian's 1 / (2 mean)
    assert tasks[0].settings()["kernel"] == "poly" and tasks[0].settings()["degree"] == 2


def test_every_set_that_can_be_had_has_parameters():
    stored = stored_parameters()
    assert set(stored) >= set(EVERY_SET) - {"protein", "kddcup99"}
    for name, chosen in stored.items():
        assert chosen["gamma"] > 0 and np.log2(chosen["C"]) == int(np.log2(chosen["C"])), name


def test_the_first_repetition_of_everything_comes_before_the_second():
    stored = {name: {"C": 1.0, "gamma": 1.0} for name in EVERY_SET}
    tasks = list(tasks_of(FULL, stored))
    seeds = [t.seed for t in tasks]
    assert seeds == sorted(seeds) and max(seeds) == 2
    assert {t.method for t in tasks if t.experiment == "paper"} == set(METHODS)
    assert len(tasks) == len({t.key for t in tasks})
    assert {t.data for t in tasks_of(QUICK, stored)} == set(QUICK.data)


def test_names_of_groups_and_sets():
    assert data_named(["web", "w1a", "usps"]) == (*GROUPS["web"], "usps")
    with pytest.raises(ValueError, match="--only wbe: use some of web"):
        data_named(["wbe"])
    with pytest.raises(ValueError, match="--methods smo"):
        named("--methods", ["smo"], METHODS)


# ---- what is kept -------------------------------------------------------------------------------------------------


def test_a_finished_run_is_not_due_again():
    known = [record("paper", "w1a", "swap")]
    assert due([task(), task(seed=1), task("fw")], known) == [task(seed=1), task("fw")]


def test_a_cut_run_is_due_again_only_with_more_seconds():
    known = [record("paper", "w1a", "swap", cut=True, limit=60.0)]
    assert due([task(), task(seed=1), task(budget=90.0)], known) == [task(budget=90.0)]


def test_other_parameters_are_another_run():
    other = Task("paper", "w1a", "swap", 0, 2.0, 0.5, 60.0)
    assert due([other], [record("paper", "w1a", "swap")]) == [other]


def test_repetitions_of_what_was_cut_are_left_out():
    waiting = iter([task(seed=1), task("fw", seed=1), task("mfw", seed=1)])
    cut = {(*task().key[:3], *task().key[4:])}
    assert [t.method for t in following(waiting, 2, cut)] == ["fw", "mfw"]


def test_a_torn_line_is_dropped_and_the_file_goes_on(tmp_path):
    path = tmp_path / "runs.jsonl"
    records.append(path, {"a": 1})
    with path.open("a") as file:
        file.write('{"b": 2, "c"')
    assert records.read(path) == [{"a": 1}]
    records.append(path, {"d": 3})
    assert records.read(path) == [{"a": 1}, {"d": 3}]


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"a": 1}\nnot json\n')
    with pytest.raises(ValueError, match="line 2 is not JSON"):
        records.read(path)


def test_medians_of_repetitions_and_limits_of_cut_runs():
    results = Results(
        [
            *(record("paper", "w1a", "swap", s, seed=k) for k, s in enumerate([3.0, 1.0, 2.0])),
            record("paper", "w1a", "fw", 61.5, cut=True, limit=60.0),
        ]
    )
    assert results.median("paper", "w1a", "swap", "seconds") == 2.0
    assert results.median("paper", "w1a", "fw", "seconds") == 60.0 and results.cut("paper", "w1a", "fw")
    assert results.median("paper", "w1a", "cvm", "seconds") is None
    data, scores = results.scores("paper", "seconds", ("swap", "fw"))
    assert data == ["w1a"] and scores.tolist() == [[2.0, 60.0]]


def test_a_longer_attempt_replaces_a_cut_one():
    runs = [record("paper", "w1a", "fw", cut=True, limit=5.0), record("paper", "w1a", "fw", 30.0, limit=60.0)]
    for order in (runs, runs[::-1]):
        results = Results(order)
        assert results.median("paper", "w1a", "fw", "seconds") == 30.0 and not results.cut("paper", "w1a", "fw")


def test_curves_are_thinned_and_never_rise():
    trace = np.zeros(5000, [(n, float) for n in ("iteration", "evaluations", "support", "seconds", "value", "gap")])
    trace["iteration"] = np.arange(1, 5001)
    trace["gap"] = np.random.default_rng(0).exponential(1 / trace["iteration"])
    thinned = curve(trace)
    assert len(thinned["gap"]) <= 320 and thinned["iteration"][-1] == 5000
    assert np.all(np.diff(thinned["gap"]) <= 0)


# ---- runs of a real set -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small_study(tmp_path_factory):
    """Two methods on w1a, with what was reported of them."""
    path = tmp_path_factory.mktemp("study") / "runs.jsonl"
    scale = Scale(("paper", "relative", "convergence"), ("w1a",), ("swap2", "block"), 20.0, 1)
    heard = []
    tasks = list(tasks_of(scale, {"w1a": {"C": 16.0, "gamma": 0.0245}}))
    run_all(due(tasks, []), path, 2, lambda t, r: heard.append(t))
    return path, tasks, heard


def test_runs_are_lines_with_all_that_is_needed_to_repeat_them(small_study):
    path, tasks, heard = small_study
    found = records.read(path)
    assert len(found) == len(tasks) == len(heard) == 6
    for line in found:
        assert {"experiment", "data", "method", "seed", "parameters", "measures", "environment"} <= set(line)
        assert {"C", "gamma", "tol", "eps", "start_size", "cache_size", "max_time", "sampling"} <= set(
            line["parameters"]
        )
        assert {"cpu", "python", "versions"} <= set(line["environment"])
        assert 0.97 < line["measures"]["accuracy"] < 0.985
        assert line["measures"]["relative_gap"] > 0 and line["measures"]["evaluations"] > 0
        assert ("curve" in line) == (line["experiment"] == "convergence")
        json.dumps(line, allow_nan=False)


def test_nothing_is_due_afterwards(small_study):
    path, tasks, _ = small_study
    assert due(tasks, records.read(path)) == []


def test_both_protocols_end_as_they_say(small_study):
    results = Results(records.read(small_study[0]))
    for method in ("swap2", "block"):
        assert results.median("relative", "w1a", method, "relative_gap") <= 0.01
    assert results.runs("paper", "w1a", "swap2")[0]["measures"]["samplings"] > 7
    assert results.median("paper", "w1a", "block", "gap") <= 1e-6


# ---- tuning -------------------------------------------------------------------------------------------------------


def test_grids_are_the_paper_s():
    cross_validated = list(grid_of("usps"))
    assert len(cross_validated) == 121
    assert min(p.C for p in cross_validated) == 2**-5 and max(p.C for p in cross_validated) == 2**15
    widths = sorted({1 / (2 * p.gamma) for p in cross_validated})
    assert widths[0] == 2**-15 and widths[-1] == 2**5
    assert [p.C for p in grid_of("w1a")] == list(LARGE_COSTS) == [2.0**k for k in range(13)]


def test_tuning_takes_the_best_and_goes_on_where_it_stopped(tmp_path, monkeypatch):
    fitted = []

    def fit_fold(name, point, fold, folds, budget):
        fitted.append(point.C)
        right = {4.0: 90, 8.0: 95, 16.0: 95}.get(point.C, 50)
        return {"data": name, "C": point.C, "gamma": point.gamma, "fold": fold, "right": right, "rows": 100}

    monkeypatch.setattr("swapsvm.study.tuning.fit_fold", fit_fold)
    path = tmp_path / "tuning.jsonl"
    assert tune("w1a", path, 1.0, lambda r: None).C == 8.0  # the smaller of two that are as good
    assert len(fitted) == 13
    tune("w1a", path, 1.0, lambda r: None)
    assert len(fitted) == 13
    assert as_toml({"w1a": Point(8.0, 0.5)}).endswith("[w1a]\nC = 8.0\ngamma = 0.5\n")


def test_cross_validation_drops_who_is_behind_after_one_fold(tmp_path, monkeypatch):
    def fit_fold(name, point, fold, folds, budget):
        good = point.C == 32.0 and point.gamma == 1 / 64
        near = point.C == 128.0 and point.gamma == 1 / 64
        right = 96 if good else (97 if fold == 0 else 90) if near else 60
        return {"data": name, "C": point.C, "gamma": point.gamma, "fold": fold, "right": right, "rows": 100}

    monkeypatch.setattr("swapsvm.study.tuning.fit_fold", fit_fold)
    path = tmp_path / "tuning.jsonl"
    assert tune("pendigits", path, 1.0, lambda r: None) == Point(32.0, 1 / 64)
    assert len(records.read(path)) == 121 + 2 * 9


# ---- claims -------------------------------------------------------------------------------------------------------


def study_where(seconds, cut=(), data=GROUPS["web"]):
    return Results([record("paper", d, m, s, cut=m in cut) for d in data for m, s in seconds.items()])


def test_faster_on_all_sets():
    verdict = claims.always_faster(study_where({"swap": 1.0, "mfw": 2.0}), GROUPS["web"], "swap", "mfw")
    assert verdict == (Status.CONFIRMED, "SWAP is faster than MFW on 8 of 8 sets")
    verdict = claims.always_faster(study_where({"swap": 3.0, "mfw": 2.0}), GROUPS["web"], "swap", "mfw")
    assert verdict.status == Status.NOT_CONFIRMED


def test_a_cut_run_is_slower_than_a_finished_one_but_two_cut_ones_say_nothing():
    one = study_where({"swap": 59.0, "mfw": 60.0}, cut=("mfw",))
    assert claims.always_faster(one, GROUPS["web"], "swap", "mfw").status == Status.CONFIRMED
    two = study_where({"swap": 60.0, "mfw": 60.0}, cut=("mfw", "swap"))
    assert claims.always_faster(two, GROUPS["web"], "swap", "mfw").status == Status.NOT_TESTABLE


def test_most_of_the_time_is_more_than_half():
    half = Results(
        [record("paper", d, m, s) for k, d in enumerate(GROUPS["web"]) for m, s in (("swap", k < 4), ("mfw", k >= 4))]
    )
    assert claims.always_faster(half, GROUPS["web"], "swap", "mfw", least=0.5).status == Status.NOT_CONFIRMED


def test_speedups_with_a_cut_cvm_are_lower_bounds():
    results = study_where({"cvm": 60.0, "swap": 1.0}, cut=("cvm",))
    assert claims.median_speedups(results, GROUPS["web"], {"swap": 10.0}).status == Status.CONFIRMED
    assert claims.median_speedups(results, GROUPS["web"], {"swap": 100.0}).status == Status.NOT_TESTABLE
    results = study_where({"cvm": 60.0, "swap": 1.0})
    assert claims.median_speedups(results, GROUPS["web"], {"swap": 100.0}).status == Status.NOT_CONFIRMED


def rates(methods):
    """Curves of gap(k) for k up to 1e5."""
    k = np.unique(np.geomspace(1, 1e5, 300).astype(int))
    for d in EXPERIMENTS["convergence"].data:
        for method, gap in methods.items():
            line = record("convergence", d, method)
            yield {**line, "curve": {"iteration": k.tolist(), "gap": np.maximum(gap(k), 1e-12).tolist()}}


def test_linear_rates_are_told_from_sublinear_ones():
    linear = dict.fromkeys(("mfw", "swap", "swap2"), lambda k: np.exp(-k / 2000))
    assert claims.linear_rate(Results(rates({"fw": lambda k: 1 / k, **linear}))).status == Status.CONFIRMED
    assert (
        claims.linear_rate(Results(rates(dict.fromkeys(("fw", *linear), lambda k: 1 / k)))).status
        == Status.NOT_CONFIRMED
    )
    assert claims.linear_rate(Results(rates({**linear, "fw": linear["swap"]}))).status == Status.NOT_CONFIRMED


def test_more_than_one_over_eps_iterations_are_seen():
    slow = dict.fromkeys(("fw", "mfw", "swap", "swap2"), lambda k: k**-0.5)
    assert claims.iterations_bounded(Results(rates(slow))).status == Status.NOT_CONFIRMED
    exact = dict.fromkeys(slow, lambda k: 1.0 / k)
    assert claims.iterations_bounded(Results(rates(exact))).status == Status.CONFIRMED


def test_every_claim_gives_a_verdict_on_no_runs_and_on_some():
    full = [
        record(e, d, m, 1.0 + k, iterations=100, evaluations=1000, relative_gap=0.1)
        for e in ("paper", "polynomial", "rows", "relative")
        for d in EXPERIMENTS[e].data
        if d != "protein"
        for k, m in enumerate(EXPERIMENTS[e].methods)
    ]
    for results in (Results([]), Results(full)):
        for claim in CLAIMS:
            verdict = claim.check(results)
            assert isinstance(verdict.status, Status) and verdict.evidence, claim.text
    assert all(claim.check(Results([])).status == Status.NOT_TESTABLE for claim in CLAIMS)
    assert set(PAPER_METHODS) == set(METHODS) - {"block"}


# ---- the command --------------------------------------------------------------------------------------------------

SMALL = ["reproduce", "--quick", "--only", "w1a", "--methods", "swap2,block", "--experiments", "paper,relative"]


def test_the_command_runs_what_is_missing_and_writes_the_report(tmp_path, capsys):
    words = [*SMALL, "--output", str(tmp_path)]
    assert main(words) == 0
    first = capsys.readouterr()
    assert f"Report: {tmp_path / 'report.html'}" in first.out
    assert first.err.count("w1a") == 4 and "left" in first.err
    assert "<svg" in (tmp_path / "report.html").read_text() and (tmp_path / "tables" / "claims.csv").exists()
    lines = (tmp_path / "runs.jsonl").read_bytes()
    assert main(words) == 0
    assert capsys.readouterr().err == "" and (tmp_path / "runs.jsonl").read_bytes() == lines


def test_a_killed_study_goes_on_where_it_stopped(tmp_path):
    command = [
        sys.executable,
        "-c",
        "from swapsvm.cli import main; raise SystemExit(main())",
        *SMALL,
        "--output",
        str(tmp_path),
    ]
    raw = tmp_path / "runs.jsonl"
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        while not records.read(raw):
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
    before = raw.read_text().splitlines()
    subprocess.run(command, check=True, capture_output=True)
    after = records.read(raw)
    assert raw.read_text().splitlines()[: len(before) - 1] == before[:-1]  # the last one may be half a line
    keys = [(r["experiment"], r["data"], r["method"], r["seed"]) for r in after]
    assert len(keys) == len(set(keys)) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--only", "webb"], "--only webb: use some of web"),
        (["--methods", "smo"], "--methods smo: use some of cvm"),
        (["--experiments", "all"], "--experiments all: use some of paper"),
        (["--jobs", "0"], "--jobs 0 must be a positive number"),
        (["--budget", "-1"], "--budget -1 must be a positive number of seconds"),
    ],
)
def test_requests_that_cannot_be_served(words, message, tmp_path, capsys):
    assert main(["reproduce", "--output", str(tmp_path), *words]) == 2
    assert message in capsys.readouterr().err


def test_what_cannot_be_had_is_left_out_and_said(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SWAPSVM_DATA", str(tmp_path))
    monkeypatch.setenv("SWAPSVM_CACHE", str(tmp_path))

    def offline(file):
        raise DatasetError(f"cannot download {file.name}")

    monkeypatch.setattr("swapsvm.study.reproduce.obtain", offline)
    assert main(["reproduce", "--only", "protein", "--output", str(tmp_path)]) == 0
    assert "protein is left out: cannot download protein" in capsys.readouterr().err
    assert "Without runs:" in (tmp_path / "report.md").read_text()
