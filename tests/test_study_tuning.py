"""Tuning of C and gamma for the study."""

import os
import tomllib

import pytest

from swapsvm.study import records, tuning
from swapsvm.study.provenance import source_digest
from swapsvm.study.reproduce import own_parameters, tune_all
from swapsvm.study.tuning import (
    COSTS,
    FOLDS,
    LARGE_COSTS,
    LIMITS,
    CurvePoint,
    Fit,
    GridPoint,
    Tuning,
    as_toml,
    best_of,
    chosen,
    curves,
    fit_fold,
    grid_of,
)

with_data = pytest.mark.skipif("SWAPSVM_DATA" not in os.environ, reason="SWAPSVM_DATA names no folder of data sets")
GRID = [GridPoint(C, 0.5) for C in (1.0, 2.0, 4.0)]


@pytest.fixture
def small_grid(monkeypatch):
    """Grids of three points without data, and the same limit for both methods."""
    monkeypatch.setattr(tuning, "LIMITS", dict.fromkeys(LIMITS, 60.0))
    monkeypatch.setattr(tuning, "grid_of", lambda name: GRID)


def line(fit, right=90, *, cut=False, digest=None):
    """The line of a fit."""
    given = {"data": fit.data, "method": fit.method, **fit.point._asdict(), "fold": fit.fold, "limit": fit.limit}
    made = {"right": right, "rows": 100, "seconds": 1.0, "cut": cut}
    return {**given, **made, "provenance": {"digest": digest or source_digest(fit.method)}}


def fit(C, method="block", name="w1a", fold=0, limit=60.0):
    return Fit(name, method, GridPoint(C, 0.5), fold, limit)


def tuned(names, outcome, known=(), budget=None):
    """All lines that tuning makes where a fit has this outcome."""
    queue, lines = Tuning(names, known, budget), []
    while found := queue.pop():
        lines.append(line(found, **outcome(found)))
        queue.note(found, lines[-1])
    return lines


def made(lines):
    return [(r["data"], r["method"], r["C"]) for r in lines]


def saved(path, lines):
    for found in lines:
        records.append(path, found)
    return path


# ---- which fits ---------------------------------------------------------------------------------------------------


@with_data
def test_grids_are_the_paper_s():
    cross_validated = list(grid_of("usps"))
    assert len(cross_validated) == 121
    assert min(p.C for p in cross_validated) == 2**-5 and max(p.C for p in cross_validated) == 2**15
    widths = sorted({1 / (2 * p.gamma) for p in cross_validated})
    assert widths[0] == 2**-15 and widths[-1] == 2**5
    assert [p.C for p in grid_of("w1a")] == list(LARGE_COSTS) == [2.0**k for k in range(13)]


def test_both_methods_search_the_grid_the_block_engine_first(small_grid):
    lines = tuned(["w1a", "w2a"], lambda fit: {})
    orders = {"block": (1.0, 2.0, 4.0), "cvm": (4.0, 2.0, 1.0)}  # fits of CVM with a large C are cut first
    assert made(lines) == [(name, method, C) for method in orders for name in ("w1a", "w2a") for C in orders[method]]


def test_a_set_whose_cvm_is_cut_has_no_further_fits_of_it(small_grid):
    lines = tuned(["w1a", "w2a"], lambda fit: {"cut": (fit.method, fit.data) == ("cvm", "w1a")})
    assert [C for name, method, C in made(lines) if (name, method) == ("w1a", "cvm")] == [4.0]
    assert [C for name, method, C in made(lines) if (name, method) == ("w2a", "cvm")] == [4.0, 2.0, 1.0]


def test_fits_are_made_once_unless_they_were_cut_earlier_or_by_other_sources(small_grid):
    known = [line(fit(C, method)) for method in LIMITS for C in (1.0, 2.0)]
    assert {C for *_, C in made(tuned(["w1a"], lambda fit: {}, known))} == {4.0}
    cut = [line(fit(1.0), cut=True), line(fit(2.0)), line(fit(4.0))]
    assert [m for m in made(tuned(["w1a"], lambda fit: {}, cut)) if m[1] == "block"] == []
    assert [m for m in made(tuned(["w1a"], lambda fit: {}, cut, budget=1.0)) if m[1] == "block"] == []
    again = tuned(["w1a"], lambda fit: {}, cut, budget=61.0)
    assert [m for m in made(again) if m[1] == "block"] == [("w1a", "block", 1.0)]
    stale = [line(fit(C, "cvm"), digest="other") for C in (1.0, 2.0, 4.0)]
    assert len(tuned(["w1a"], lambda fit: {}, stale)) == 6


def test_a_certified_fit_counts_whatever_becomes_of_its_sources(small_grid):
    old = [line(fit(1.0), digest="other"), line(fit(2.0), cut=True, digest="other")]
    assert [m for m in made(tuned(["w1a"], lambda fit: {}, old)) if m[1] == "block"] == [
        ("w1a", "block", 2.0),
        ("w1a", "block", 4.0),
    ]


def test_a_fit_that_runs_or_failed_is_not_taken_twice(small_grid):
    queue = Tuning(["w1a"], [])
    taken = [queue.pop() for _ in range(6)]
    assert len(set(taken)) == 6 and queue.pop() is None
    queue.give_up(taken[0])
    assert queue.pop() is None


@with_data
def test_a_budget_never_lowers_the_limits_of_tuning():
    for budget, wanted in ((None, 120.0), (1.0, 120.0), (500.0, 500.0)):
        queue = Tuning(["w1a"], [], budget)
        fits = [queue.pop() for _ in range(26)]
        assert {fit.limit for fit in fits if fit.method == "cvm"} == {wanted}
        assert {fit.limit for fit in fits if fit.method == "block"} == {900.0}


def test_cross_validation_drops_who_is_behind_after_one_fold(tmp_path):
    def outcome(fit):
        good, near = fit.point == (32.0, 1 / 64), fit.point == (128.0, 1 / 64)
        return {"right": 96 if good else (97 if fit.fold == 0 else 90) if near else 95}

    lines = tuned(["pendigits"], outcome)
    by_cvm = [r for r in lines if r["method"] == "cvm"]
    assert len(lines) - len(by_cvm) == 121 + 2 * (FOLDS - 1) and 128.0 not in COSTS[:6]
    assert len(by_cvm) == 2 * FOLDS and {r["C"] for r in by_cvm} == {
        32.0,
        128.0,
    }  # what exact fits leave in the running
    found = best_of(saved(tmp_path / "tuning.jsonl", lines), ["pendigits"])
    assert found == {"pendigits": {"C": 32.0, "gamma": 1 / 64, "method": "cvm"}}


def test_what_was_cut_does_not_lead_the_first_fold():
    lines = tuned(["pendigits"], lambda fit: {"right": 99 if fit.point.C == 32.0 else 60, "cut": fit.point.C == 32.0})
    others = [r for r in lines if r["fold"] > 0 and r["method"] == "block"]
    assert others and 32.0 not in {r["C"] for r in others}


# ---- the choice ---------------------------------------------------------------------------------------------------


def points(method, accuracies, cut=()):
    return [CurvePoint(method, C, 0.5, a, 1, 1.0, C in cut) for C, a in zip((1.0, 2.0, 4.0), accuracies, strict=False)]


def test_cvm_chooses_if_all_its_fits_have_ended():
    block, cvm = points("block", (0.9, 0.8, 0.7)), points("cvm", (0.7, 0.8, 0.8))
    assert chosen([*block, *cvm]) == cvm[1]  # the smaller of two that are as good
    assert chosen([*cvm, *block]) == cvm[1]


def test_the_block_engine_stands_in_where_a_fit_of_cvm_was_cut():
    block = points("block", (0.9, 0.8, 0.7))
    assert chosen([*block, *points("cvm", (0.7, 0.8, 0.9), cut=(4.0,))]) == block[0]
    assert chosen([*block, *points("cvm", (0.7, 0.8))]) == block[0]  # not all points were tried
    assert chosen(block) == block[0]


def test_a_cut_fit_is_never_chosen():
    assert chosen(points("block", (0.9, 0.8, 0.7), cut=(1.0,))).C == 2.0
    assert chosen(points("block", (0.9, 0.8, 0.7), cut=(1.0, 2.0, 4.0))) is None


def test_curves_have_both_accuracies_and_what_was_cut(tmp_path):
    lines = [
        line(fit(1.0), 80, digest="old"),
        line(fit(2.0), 80, digest="old"),
        line(fit(4.0, "cvm"), 80, digest="old"),
        line(fit(1.0), 90),
        line(fit(1.0, "cvm", limit=5.0), 70, cut=True),
        line(fit(1.0, "cvm", limit=50.0), 89),
        line(fit(2.0, "cvm"), 50, cut=True),
    ]
    found = curves(saved(tmp_path / "tuning.jsonl", lines))
    assert found == {
        "w1a": [
            CurvePoint("block", 1.0, 0.5, 0.9, 1, 1.0, False),
            CurvePoint("block", 2.0, 0.5, 0.8, 1, 1.0, False),
            CurvePoint("cvm", 1.0, 0.5, 0.89, 1, 1.0, False),
            CurvePoint("cvm", 2.0, 0.5, 0.5, 1, 1.0, True),
        ]
    }


def test_parameters_are_toml_with_the_method_that_chose():
    given = {"w1a": {"C": 8.0, "gamma": 0.1, "method": "block"}, "usps-ext": {"C": 1.0, "gamma": 1e-7, "method": "cvm"}}
    assert tomllib.loads(as_toml(given)) == given


# ---- real fits ----------------------------------------------------------------------------------------------------


@with_data
def test_both_methods_solve_the_same_problem():
    found = {method: fit_fold(Fit("w1a", method, GridPoint(16.0, 0.0245), 0, 60.0)) for method in ("block", "cvm")}
    assert not any(line["cut"] for line in found.values())
    rates = [line["right"] / line["rows"] for line in found.values()]
    assert found["cvm"]["rows"] == int(0.3 * 2477) and abs(rates[0] - rates[1]) < 0.01
    assert found["block"]["provenance"]["digest"] == source_digest("block")


@with_data
def test_widths_at_the_ends_of_the_grid_are_tried_without_a_warning():
    assert fit_fold(Fit("pendigits", "block", GridPoint(1.0, 2.0**14), 0, 60.0))["right"] > 0


@with_data
def test_a_fit_that_is_cut_says_so():
    assert fit_fold(Fit("a5a", "cvm", GridPoint(64.0, 0.03), 0, 0.05))["cut"]


@with_data
def test_tuning_in_two_processes_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    with monkeypatch.context() as part:
        part.setattr(tuning, "LARGE_COSTS", (8.0, 16.0))
        grid_of.cache_clear()
        tune_all(["w1a"], tmp_path, 2, None)
    grid_of.cache_clear()
    assert capsys.readouterr().err.count("tuning w1a by") == 4 == len(records.read(tmp_path / "tuning.jsonl"))
    assert own_parameters(tmp_path)["w1a"]["method"] == "cvm"
    tune_all(["w1a"], tmp_path, 2, None)
    assert capsys.readouterr().err.count("tuning w1a by") == 22  # the other points of the grid


def test_what_was_tuned_in_a_folder_is_found_again(tmp_path, small_grid):
    lines = tmp_path / "tuning.jsonl"
    saved(lines, tuned(["w1a"], lambda fit: {}))
    tune_all(["w1a"], tmp_path, 1, None)
    saved(lines, tuned(["w2a"], lambda fit: {"cut": fit.method == "cvm"}))
    tune_all(["w2a"], tmp_path, 1, None)
    assert own_parameters(tmp_path) == {
        "w1a": {"C": 1.0, "gamma": 0.5, "method": "cvm"},
        "w2a": {"C": 1.0, "gamma": 0.5, "method": "block"},
    }
