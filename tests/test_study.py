"""The study: runs, records and claims."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from swapsvm.cli import main
from swapsvm.datasets import DatasetError
from swapsvm.solvers import SOLVERS
from swapsvm.study import checks, rates, records
from swapsvm.study.claims import check_all
from swapsvm.study.evidence import ALL, MOST, Status, sets_of, verdict_of
from swapsvm.study.pool import Workers
from swapsvm.study.protocol import (
    EVERY_SET,
    EXPERIMENTS,
    FRANK_WOLFE,
    GROUPS,
    METHODS,
    NEWER,
    PAPER_METHODS,
    RULES,
    TODAY,
    Trial,
    data_named,
    named,
)
from swapsvm.study.provenance import source_digest
from swapsvm.study.runs import curve, run
from swapsvm.study.schedule import Scale, Schedule, trials_of
from swapsvm.study.significance import compared_tests
from swapsvm.study.summary import Results
from swapsvm.study.tuning import stored_parameters

SURE, REFUTED, UNKNOWN = Status.CONFIRMED, Status.NOT_CONFIRMED, Status.UNDECIDED
RULE = "paper-3"
with_data = pytest.mark.skipif("SWAPSVM_DATA" not in os.environ, reason="SWAPSVM_DATA names no folder of data sets")


def record(experiment, data, method, seconds=1.0, *, seed=0, accuracy=0.9, cut=False, limit=60.0, **measures):
    return {
        "experiment": experiment,
        "data": data,
        "method": method,
        "seed": seed,
        "parameters": {"C": 1.0, "gamma": 0.5, "max_time": limit},
        "measures": {"seconds": seconds, "accuracy": accuracy, "cut": cut, "model_size": 100, **measures},
    }


# ---- what is run --------------------------------------------------------------------------------------------------


def settings_of(experiment, method):
    return Trial(experiment, "w8a", method, 0, 16.0, 0.02, 60.0).settings()


def test_the_groups_are_the_26_sets_of_the_paper():
    assert len(EVERY_SET) == len(set(EVERY_SET)) == 26


@pytest.mark.parametrize("rule", RULES)
def test_the_paper_s_protocol(rule):
    settings = settings_of(rule, "swap")
    assert settings["kernel"] == "rbf" and settings["start_size"] == 20
    assert settings["tol"] == 0 and settings["eps"] == 1e-6
    assert settings["n_jobs"] == 1 and settings["cache_size"] == 200
    assert set(PAPER_METHODS) <= set(EXPERIMENTS[rule].methods) and EXPERIMENTS[rule].data == EVERY_SET


@pytest.mark.parametrize(("rule", "empty"), [("paper-1", 1), ("paper-3", 3), ("paper-7", 7)])
def test_the_same_samples_end_the_runs_of_all_methods(rule, empty):
    found = {method: settings_of(rule, method)["sampling"] for method in PAPER_METHODS}
    assert len(set(found.values())) == 1
    sampling = found["cvm"]
    assert sampling.size == 59 and not sampling.with_active and sampling.trusted == empty
    assert "block" not in EXPERIMENTS[rule].methods  # its runs do not depend on the rule


def test_the_rule_of_the_authors_program():
    found = {method: settings_of("paper-levels", method)["sampling"] for method in PAPER_METHODS}
    assert len({found[method] for method in FRANK_WOLFE}) == 1
    for sampling in found.values():
        assert (sampling.size, sampling.trusted, sampling.first_level, sampling.with_active) == (60, 1, 0.01, False)
    assert [found[m].balanced and found[m].outside_active for m in ("cvm", "swap")] == [True, False]


def test_a_rule_without_samples_searches_every_row():
    assert {settings_of("paper-full", method)["sampling"] for method in METHODS} == {None}
    assert {settings_of("relative", method)["sampling"] for method in METHODS} == {None}
    assert settings_of("polynomial", "block")["sampling"] is None


def test_the_polynomial_experiment_is_the_paper_s():
    experiment = EXPERIMENTS["polynomial"]
    assert "cvm" not in experiment.methods
    assert set(experiment.data) == {*GROUPS["web"], "shuttle", "reuters"}
    trials = trials_of(Scale(("polynomial",), ("w1a",), ("swap",), 1.0, 1), {"w1a": {"C": 2.0, "gamma": 0.25}})
    assert trials[0].gamma == 0.5  # 1 / mean squared distance, twice the Gaussian's 1 / (2 mean)
    assert trials[0].settings()["kernel"] == "poly" and trials[0].settings()["degree"] == 2


def test_today_s_methods_are_the_paper_s_and_all_that_came_later():
    assert set(EXPERIMENTS["today"].methods) == set(TODAY) == {*METHODS, *NEWER, "sklearn", "intelex"}
    assert not set(NEWER) & set(METHODS) and set(NEWER) | set(METHODS) == set(SOLVERS)
    ours, peer = settings_of("today", "swap2"), settings_of("today", "sklearn")
    assert (ours["C"], ours["gamma"]) == (peer["C"], peer["gamma"]) == (16.0, 0.02)


def test_every_set_that_can_be_had_has_parameters():
    stored = stored_parameters()
    assert set(stored) >= set(EVERY_SET) - {"protein", "kddcup99"}
    for name, chosen in stored.items():
        assert chosen["gamma"] > 0 and np.log2(chosen["C"]) == int(np.log2(chosen["C"])), name


def test_names_of_groups_and_sets():
    assert data_named(["web", "w1a", "usps"]) == (*GROUPS["web"], "usps")
    with pytest.raises(ValueError, match="--only wbe: use some of web"):
        data_named(["wbe"])
    with pytest.raises(ValueError, match="--methods smo"):
        named("--methods", ["smo"], METHODS)


# ---- what is kept -------------------------------------------------------------------------------------------------


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


def test_medians_of_repetitions():
    results = Results(
        [
            *(record(RULE, "w1a", "swap", s, seed=k) for k, s in enumerate([3.0, 1.0, 2.0])),
            record(RULE, "w1a", "fw", 61.5, cut=True, limit=60.0),
        ]
    )
    assert results.median(RULE, "w1a", "swap", "seconds") == 2.0
    assert results.median(RULE, "w1a", "fw", "seconds") == 61.5 and results.cut(RULE, "w1a", "fw")
    assert results.median(RULE, "w1a", "cvm", "seconds") is None
    data, scores = results.scores(RULE, "seconds", ("swap", "fw"))
    assert data == ["w1a"] and scores.tolist() == [[2.0, 61.5]]


def test_a_longer_attempt_replaces_a_cut_one():
    runs = [record(RULE, "w1a", "fw", cut=True, limit=5.0), record(RULE, "w1a", "fw", 30.0, limit=60.0)]
    for order in (runs, runs[::-1]):
        results = Results(order)
        assert results.median(RULE, "w1a", "fw", "seconds") == 30.0 and not results.cut(RULE, "w1a", "fw")


def test_other_parameters_replace_all_earlier_runs():
    old = [record(RULE, "w1a", "fw", 9.0, seed=seed) for seed in range(3)]
    new = record(RULE, "w1a", "fw", 1.0)
    new["parameters"]["C"] = 32.0
    assert Results([*old, new]).median(RULE, "w1a", "fw", "seconds") == 1.0


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
    scale = Scale(("paper-3", "paper-full", "relative", "convergence"), ("w1a",), ("swap2", "block"), 20.0, 2)
    trials, heard = trials_of(scale, {"w1a": {"C": 16.0, "gamma": 0.0245}}), []

    def done(trial, record):
        heard.append(trial)
        records.append(path, record)

    Workers(run, 2, done, pytest.fail).run(Schedule(trials, []))
    return path, trials, heard


@with_data
def test_runs_are_lines_with_all_that_is_needed_to_repeat_them(small_study):
    path, trials, heard = small_study
    found = records.read(path)
    assert sorted(heard, key=str) == sorted(trials, key=str)
    assert len(found) == len(trials) == 2 + 2 + 1 + 2 + 1 + 1 + 1  # block and curves have no second seed
    for line in found:
        assert {"experiment", "data", "method", "seed", "parameters", "measures", "environment"} <= set(line)
        assert {"C", "gamma", "tol", "eps", "start_size", "cache_size", "max_time", "sampling"} <= set(
            line["parameters"]
        )
        assert {"cpu", "python", "versions"} <= set(line["environment"])
        assert 0.97 < line["measures"]["accuracy"] < 0.985
        assert line["measures"]["relative_gap"] > 0 and line["measures"]["evaluations"] > 0
        assert ("curve" in line) == (line["experiment"] == "convergence")
        assert line["provenance"]["digest"] == source_digest(line["method"]) and line["provenance"]["commit"]
        json.dumps(line, allow_nan=False)


@with_data
def test_nothing_is_due_afterwards(small_study):
    path, trials, _ = small_study
    assert Schedule(trials, records.read(path)).waiting() == []


@with_data
def test_both_protocols_end_as_they_say(small_study):
    results = Results(records.read(small_study[0]))
    for method in ("swap2", "block"):
        assert results.median("relative", "w1a", method, "relative_gap") <= 0.01
    assert results.runs("paper-3", "w1a", "swap2")[0]["measures"]["samplings"] > 3
    assert results.median("paper-full", "w1a", "block", "gap") <= 1e-6


@with_data
def test_a_run_that_fails_or_dies_does_not_stop_the_others():
    bad = Trial("paper-3", "no such set", "swap2", 0, 1.0, 1.0, 5.0)
    good = Trial("relative", "w1a", "block", 0, 16.0, 0.0245, 20.0)
    failures, heard = [], []
    workers = Workers(run, 1, lambda t, r: heard.append(t), lambda t, message: failures.append(message))
    workers.run(Schedule([bad, good], []))
    assert heard == [good] and "unknown data set 'no such set'" in failures[0]


# ---- claims -------------------------------------------------------------------------------------------------------

WEB = GROUPS["web"]


def seen(runs):
    """The runs as the checks see them: under one rule."""
    return Results(runs).under(RULE)


def verdict(check, *arguments, **options):
    return verdict_of(check(*arguments, **options))


def study_where(seconds, cut=(), data=WEB, **measures):
    return seen([record(RULE, d, m, s, cut=m in cut, **measures) for d in data for m, s in seconds.items()])


def by_set(method_values, measure):
    """Results with one list of values, in the order of the Web sets, for each method."""
    return seen(
        [
            record(RULE, d, m, **{measure: v})
            for m, values in method_values.items()
            for d, v in zip(WEB, values, strict=True)
        ]
    )


def test_faster_on_all_sets():
    found = verdict(checks.always_faster, study_where({"swap": 1.0, "mfw": 2.0}), WEB, "swap", "mfw")
    assert found == (Status.CONFIRMED, "SWAP is faster than MFW on 8 of 8 sets", 1.0)
    assert verdict(checks.always_faster, study_where({"swap": 3.0, "mfw": 2.0}), WEB, "swap", "mfw").status == REFUTED
    assert (
        verdict(checks.always_faster, study_where({"swap": 3.0, "mfw": 2.0}), WEB, "swap", "mfw", slower=True).status
        == SURE
    )


def test_sets_without_runs_are_unknown():
    part = study_where({"swap": 1.0, "mfw": 2.0}, data=WEB[:2])
    assert verdict(checks.always_faster, part, WEB, "swap", "mfw").status == UNKNOWN
    assert (
        verdict(checks.always_faster, study_where({"swap": 3.0, "mfw": 2.0}, data=WEB[:2]), WEB, "swap", "mfw").status
        == REFUTED
    )
    assert sets_of(part, GROUPS["large"]) == [d for d in GROUPS["large"] if d != "kddcup99"]


def test_a_cut_run_took_at_least_its_seconds():
    one = study_where({"swap": 29.0, "mfw": 30.0}, cut=("mfw",))
    assert verdict(checks.always_faster, one, WEB, "swap", "mfw").status == SURE
    two = study_where({"swap": 30.0, "mfw": 30.0}, cut=("mfw", "swap"))
    assert verdict(checks.always_faster, two, WEB, "swap", "mfw").status == UNKNOWN
    overshot = study_where({"swap": 30.0, "cvm": 34.0}, cut=("swap",))  # it is unknown whether swap would end before 34
    assert verdict(checks.always_faster, overshot, WEB, "swap", "cvm").status == UNKNOWN
    early = study_where({"swap": 5.0, "cvm": 20.0}, cut=("swap",))  # one pair of classes ran out of its share
    assert verdict(checks.always_faster, early, WEB, "swap", "cvm").status == UNKNOWN


def test_most_of_the_time_is_more_than_half():
    half = by_set({"swap": [1, 1, 1, 1, 2, 2, 2, 2], "mfw": [2, 2, 2, 2, 1, 1, 1, 1]}, "seconds")
    assert verdict(checks.always_faster, half, WEB, "swap", "mfw", MOST).status == REFUTED
    more = by_set({"swap": [1, 1, 1, 1, 1, 2, 2, 2], "mfw": [2, 2, 2, 2, 2, 1, 1, 1]}, "seconds")
    assert verdict(checks.always_faster, more, WEB, "swap", "mfw", MOST).status == SURE


def test_speedups_with_cut_runs_are_bounds():
    cut_base = study_where({"cvm": 60.0, "swap": 1.0}, cut=("cvm",))
    assert verdict(checks.median_speedups, cut_base, WEB, {"swap": 10.0}).status == SURE
    assert verdict(checks.median_speedups, cut_base, WEB, {"swap": 100.0}).status == UNKNOWN
    assert verdict(checks.small_gain, cut_base, WEB, "swap", 2.0).status == REFUTED
    exact = study_where({"cvm": 60.0, "swap": 1.0})
    assert verdict(checks.median_speedups, exact, WEB, {"swap": 100.0}).status == REFUTED
    assert verdict(checks.median_speedups, exact, WEB, {"swap": 10.0}, every=61.0).status == REFUTED
    cut_both = study_where({"cvm": 30.0, "fw": 30.0}, cut=("cvm", "fw"))
    assert verdict(checks.median_speedups, cut_both, WEB, {"fw": 0.5}).status == UNKNOWN


def test_growing_speedups():
    rising = by_set({"cvm": [2, 4, 8, 16, 32, 64, 128, 256], "fw": [1] * 8}, "seconds")
    assert verdict(checks.speedup_grows, rising, WEB, "fw").status == SURE
    falling = by_set({"cvm": [256, 128, 64, 32, 16, 8, 4, 2], "fw": [1] * 8}, "seconds")
    assert verdict(checks.speedup_grows, falling, WEB, "fw").status == REFUTED
    slower = by_set({"cvm": [1] * 8, "fw": [80, 70, 60, 50, 40, 30, 20, 10]}, "seconds")  # it grows, but stays below 1
    assert verdict(checks.speedup_grows, slower, WEB, "fw").status == REFUTED
    cut_both = study_where({"cvm": 30.0, "fw": 30.0}, cut=("cvm", "fw"))
    assert verdict(checks.speedup_grows, cut_both, WEB, "fw").status == UNKNOWN


def test_speedups_of_medium_and_large_sets():
    def results(medium, large, cut=()):
        times = [(WEB[:4], medium), (WEB[4:], large)]
        return seen(
            [
                record(RULE, d, m, s if m == "cvm" else 1.0, cut=m in cut)
                for sets, s in times
                for d in sets
                for m in PAPER_METHODS
            ]
        )

    assert verdict(checks.larger_speedups, results(2.0, 9.0), WEB[:4], WEB[4:]).status == SURE
    assert verdict(checks.larger_speedups, results(9.0, 2.0), WEB[:4], WEB[4:]).status == REFUTED
    assert verdict(checks.larger_speedups, results(2.0, 9.0, cut=("cvm",)), WEB[:4], WEB[4:]).status == UNKNOWN


def test_times_of_one_order():
    even = dict.fromkeys(FRANK_WOLFE, 3.0)
    assert verdict(checks.same_order, study_where(even), WEB).status == SURE
    assert verdict(checks.same_order, study_where(even | {"fw": 31.0}), WEB).status == REFUTED
    assert verdict(checks.same_order, study_where(even | {"fw": 20.0}, cut=("fw",)), WEB).status == UNKNOWN


def test_accuracies_of_cut_runs_say_nothing():
    equal = dict.fromkeys(PAPER_METHODS, 1.0)
    assert verdict(checks.compare, study_where(equal), WEB, "accuracy", "swap", "fw", ALL).status == SURE
    assert (
        verdict(checks.compare, study_where(equal), WEB, "accuracy", "swap", "fw", ALL, equal=False).status == REFUTED
    )
    assert (
        verdict(checks.compare, study_where(equal, cut=("fw",)), WEB, "accuracy", "swap", "fw", ALL).status == UNKNOWN
    )
    assert verdict(checks.differences_below, study_where(equal, cut=("fw",)), WEB, 0.02, ALL).status == UNKNOWN
    assert verdict(checks.differences_below, study_where(equal), WEB, 0.02, ALL).status == SURE
    assert verdict(checks.sizes_similar, study_where(equal), WEB, 1.2).status == SURE
    assert verdict(checks.sizes_similar, study_where(equal, cut=("fw",)), WEB, 1.2).status == UNKNOWN


def test_a_difference_to_cvm_has_a_sign():
    worse = by_set({"cvm": [0.9] * 8, **dict.fromkeys(FRANK_WOLFE, [0.85] * 8)}, "accuracy")
    assert verdict(checks.differences_below, worse, WEB, 0.02, ALL).status == REFUTED
    better = by_set({"cvm": [0.85] * 8, **dict.fromkeys(FRANK_WOLFE, [0.9] * 8)}, "accuracy")
    assert verdict(checks.differences_below, better, WEB, 0.02, ALL).status == SURE


def test_who_is_most_and_least_accurate():
    tied = by_set(dict.fromkeys(FRANK_WOLFE, [0.9] * 8), "accuracy")
    for best in (True, False):
        assert verdict(checks.extreme_of, tied, WEB, "fw", "accuracy", best, MOST).status == REFUTED
    values = {m: [v] * 8 for m, v in zip(FRANK_WOLFE, (0.1, 0.2, 0.3, 0.4), strict=True)}
    assert verdict(checks.extreme_of, by_set(values, "accuracy"), WEB, "fw", "accuracy", False, MOST).status == SURE
    assert verdict(checks.extreme_of, by_set(values, "accuracy"), WEB, "swap2", "accuracy", True, MOST).status == SURE
    assert verdict(checks.extreme_of, by_set(values, "accuracy"), WEB, "mfw", "accuracy", True, MOST).status == REFUTED


def test_sizes_that_differ():
    values = {m: [100] * 8 for m in PAPER_METHODS} | {"cvm": [150] * 8}
    assert verdict(checks.sizes_similar, by_set(values, "model_size"), WEB, 1.2).status == REFUTED


def test_kernels_are_compared_in_the_right_direction():
    def results(gaussian, polynomial, measure):
        return seen(
            [
                record(e, d, m, **{measure: v})
                for e, v in ((RULE, gaussian), ("polynomial", polynomial))
                for d in WEB
                for m in FRANK_WOLFE
            ]
        )

    assert verdict(checks.accuracies_close, results(0.9, 0.95, "accuracy"), WEB, 0.02).status == SURE
    assert verdict(checks.accuracies_close, results(0.95, 0.9, "accuracy"), WEB, 0.02).status == REFUTED
    assert verdict(checks.times_close, results(1.0, 5.0, "seconds"), WEB).status == SURE
    for times in ((1.0, 11.0), (11.0, 1.0)):
        assert verdict(checks.times_close, results(*times, "seconds"), WEB).status == REFUTED


def test_significantly_faster():
    quick = study_where({"swap": 1.0, "mfw": 2.0})
    assert verdict(rates.significantly_faster, quick, "swap", "mfw", 0.01).status == SURE
    assert verdict(rates.significantly_faster, quick, "mfw", "swap", 0.01).status == REFUTED
    few = study_where({"swap": 1.0, "mfw": 2.0}, data=WEB[:6])  # 2^-6 is not below 0.01
    assert verdict(rates.significantly_faster, few, "swap", "mfw", 0.01).status == UNKNOWN


def rates_of(methods, cut=()):
    """Curves of gap(k) for k up to 1e5."""
    k = np.unique(np.geomspace(1, 1e5, 3000).astype(int))
    for d in EXPERIMENTS["convergence"].data:
        for method, gap in methods.items():
            line = record("convergence", d, method, cut=method in cut)
            yield {**line, "curve": {"iteration": k.tolist(), "gap": np.maximum(gap(k), 1e-12).tolist()}}


LINEAR = dict.fromkeys(("mfw", "swap", "swap2"), lambda k: np.exp(-k / 2000))


def test_linear_rates_are_told_from_sublinear_ones():
    def said(*arguments, **options):
        return verdict(rates.linear_rate, seen(rates_of(*arguments, **options))).status

    assert said({"fw": lambda k: 1 / k, **LINEAR}) == SURE
    assert said(dict.fromkeys(FRANK_WOLFE, lambda k: 1 / k)) == REFUTED
    assert said({**LINEAR, "fw": LINEAR["swap"]}) == REFUTED
    assert said({"fw": lambda k: 1 / k, **LINEAR}, cut=("swap",)) == UNKNOWN
    assert said({"fw": lambda k: 1 / k}) == UNKNOWN


def test_more_than_one_over_eps_iterations_are_seen():
    slow = dict.fromkeys(FRANK_WOLFE, lambda k: k**-0.5)
    assert verdict(rates.iterations_bounded, seen(rates_of(slow))).status == REFUTED
    exact = dict.fromkeys(FRANK_WOLFE, lambda k: 1.0 / k)
    assert verdict(rates.iterations_bounded, seen(rates_of(exact))).status == SURE
    assert verdict(rates.iterations_bounded, seen(rates_of({"fw": exact["fw"]}))).status == UNKNOWN


def test_iterations_against_rows():
    def said(steps, cut=lambda d: False):
        lines = [
            record("rows", d, m, iterations=k, cut=cut(d)) for d, k in zip(WEB, steps, strict=True) for m in FRANK_WOLFE
        ]
        return verdict(rates.rows_do_not_matter, seen(lines)).status

    assert said([1000] * 8) == SURE
    assert said([1000 * 1.3**k for k in range(8)]) == REFUTED
    assert said([1000] * 8, cut=lambda d: d == "w8a") == UNKNOWN  # a cut run would have needed more
    assert said([100] * 4 + [10**6] * 4, cut=lambda d: d > "w4a") == REFUTED


def full_study(**measures):
    given = {"iterations": 100, "evaluations": 1000, "relative_gap": 0.1, "gap": 1e-5, **measures}
    return [
        record(e, d, m, 1.0 + k, **given)
        for e in (*RULES, "polynomial", "rows", "relative")
        for d in EXPERIMENTS[e].data
        for k, m in enumerate(EXPERIMENTS[e].methods)
    ]


def test_every_claim_gives_a_verdict_with_or_without_runs():
    for judged in check_all(Results([])):
        assert judged.status == UNKNOWN, judged.claim.text
    for judged in check_all(Results(full_study())):
        text = judged.claim.text
        assert set(judged.by_rule) == (set(RULES) if judged.claim.ruled else {""}), text
        assert all(verdict.evidence for verdict in judged.by_rule.values()), text
        assert (judged.status == UNKNOWN) == ("converge" in text or "gap of eps" in text), text
    assert set(PAPER_METHODS) == set(METHODS) - {"block"}


# ---- significance -------------------------------------------------------------------------------------------------


def status_of(results, measure, first, second):
    found = [t for t in compared_tests(results) if t.published.measure == measure]
    return next(t for t in found if (t.published.first, t.published.second) == (first, second)).status


def test_conclusions_beside_the_paper_s():
    def results(**seconds):
        return study_where(dict.fromkeys(PAPER_METHODS, 2.0) | seconds)

    assert status_of(results(swap=1.0), "time", "SWAP", "MFW") == SURE
    assert status_of(results(swap=3.0), "time", "SWAP", "MFW") == REFUTED
    assert status_of(results(), "time", "FW", "MFW") == Status.NOT_REJECTED  # as in the paper, which confirms nothing
    assert status_of(results(mfw=9.0), "time", "FW", "MFW") == REFUTED
    opposite = results(swap2=1.0)  # H1 is "SWAP faster"
    assert status_of(opposite, "time", "SWAP-2o", "SWAP") == REFUTED


def test_tests_that_cannot_be_significant_show_nothing():
    few = study_where({"fw": 1.0, "mfw": 50.0, "swap": 1.0, "swap2": 1.0, "cvm": 1.0}, data=WEB[:5])
    assert status_of(few, "time", "FW", "MFW") == UNKNOWN  # two-sided, five sets: p >= 1/16
    cut = study_where(dict.fromkeys(PAPER_METHODS, 30.0), cut=PAPER_METHODS)
    assert {t.status for t in compared_tests(cut)} == {UNKNOWN}


# ---- the command --------------------------------------------------------------------------------------------------

SMALL = ["reproduce", "--quick", "--only", "w1a", "--methods", "swap2,block", "--experiments", "paper-3,relative"]


@with_data
def test_the_command_runs_what_is_missing_and_writes_the_report(tmp_path, capsys):
    words = [*SMALL, "--output", str(tmp_path)]
    assert main(words) == 0
    first = capsys.readouterr()
    assert f"Report: {tmp_path / 'report.html'}" in first.out
    assert first.err.count("w1a") == 3 and "left" in first.err
    assert "claims of the paper cannot be decided" in first.err.splitlines()[0]
    assert "<svg" in (tmp_path / "report.html").read_text() and (tmp_path / "tables" / "claims.csv").exists()
    lines = (tmp_path / "runs.jsonl").read_bytes()
    assert main(words) == 0
    assert capsys.readouterr().err == "" and (tmp_path / "runs.jsonl").read_bytes() == lines


@with_data
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
    assert raw.read_text().splitlines()[: len(before) - 1] == before[:-1]  # the last line can be incomplete
    keys = [(r["experiment"], r["data"], r["method"], r["seed"]) for r in after]
    assert len(keys) == len(set(keys)) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--only", "webb"], "--only webb: use some of web"),
        (["--methods", "smo"], "--methods smo: use some of cvm"),
        (["--experiments", "all"], "--experiments all: use some of paper-1"),
        (["--jobs", "0"], "--jobs 0: the number of runs at a time must be positive"),
        (["--budget", "-1"], "--budget -1: the number of seconds must be positive"),
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
    assert "Without runs under the paper's protocol:" in (tmp_path / "report.md").read_text()
