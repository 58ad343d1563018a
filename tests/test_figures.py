"""Figures are labelled: names of axes, a legend of the methods that ran, hollow marks for cut runs."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from swapsvm.study import curve_figures, figures
from swapsvm.study.drawing import look_of
from swapsvm.study.figures import ACCURACY, EVALUATIONS, TIME
from swapsvm.study.protocol import TODAY
from swapsvm.study.summary import Results

RULE = "paper-3"
WEB = ("w1a", "w2a", "w3a")
CURVE = {
    "iteration": [1, 10, 100, 1000],
    "evaluations": [100, 1000, 5000, 9000],
    "support": [20, 21, 22, 30],
    "seconds": [0.001, 0.01, 0.1, 1.0],
    "value": [-0.5, -0.4, -0.3, -0.25],
    "gap": [0.5, 0.1, 0.01, 0.0001],
}


def record(experiment, data, method, cut=False, **measures):
    values = {"seconds": 1.5, "accuracy": 0.9, "iterations": 100, "evaluations": 2000, "relative_gap": 0.01, **measures}
    run = {
        "experiment": experiment,
        "data": data,
        "method": method,
        "seed": 0,
        "parameters": {"C": 1.0, "gamma": 0.5, "max_time": 60.0},
    }
    return {**run, "measures": {**values, "cut": cut}, "curve": CURVE}


def results(experiment, *methods, data=WEB, **fields):
    return Results([record(experiment, name, method, **fields) for name in data for method in methods])


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("}text")]


def in_paper(draw, *rest):
    return lambda r: draw(r, RULE, {"(a) Web": WEB}, *rest)


FIGURES = {
    "collections": (RULE, in_paper(figures.collections, TIME), ["training time, s", "w1a", "2,477", "(a) Web"]),
    "speedups": (RULE, in_paper(figures.speedups), ["speed-up over CVM (times)", "w3a"]),
    "sets": (RULE, in_paper(figures.sets, ACCURACY), ["test accuracy, %", "w1a"]),
    "evaluations": (RULE, in_paper(figures.sets, EVALUATIONS), ["kernel values computed", "w2a"]),
    "iterations_by_rows": ("rows", figures.iterations_by_rows, ["iterations", "in proportion to m"]),
    "convergence": (
        "convergence",
        lambda r: curve_figures.convergence(r, "w1a"),
        ["iterations k", "training time (s)", "kernel evaluations", "relative gap, smallest so far", "O(1/k)"],
    ),
    "linear_rate": (
        "convergence",
        lambda r: curve_figures.linear_rate(r, "w1a"),
        ["iterations", "relative gap, smallest so far"],
    ),
    "iterations_by_accuracy": (
        "convergence",
        lambda r: curve_figures.iterations_by_accuracy(r, "w1a"),
        ["1 / eps", "iterations until gap ≤ eps", "in proportion to 1 / eps"],
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_axes_and_legend_name_what_was_run_and_cut_runs_are_hollow(name):
    experiment, draw, labels = FIGURES[name]
    runs = [
        record(experiment, data, method, cut=method == "swap2") for data in WEB for method in ("cvm", "fw", "swap2")
    ]
    svg = draw(Results(runs))
    found = set(texts(svg))
    assert {*labels, "FW", "SWAP-2o"} <= found
    assert not {"MFW", "SWAP", "block"} & found
    hollow = name != "iterations_by_accuracy"  # it has no ends of runs
    assert bool({figures.CUT, curve_figures.CUT_CURVE} & found) == ("fill: #ffffff; stroke: #0072b2" in svg) == hollow


def test_without_cut_runs_the_legend_does_not_speak_of_them():
    assert figures.CUT not in texts(figures.sets(results(RULE, "fw"), RULE, {"": WEB}, EVALUATIONS))


@pytest.mark.parametrize("name", ["speedups", "sets", "iterations_by_rows", "linear_rate", "iterations_by_accuracy"])
def test_nothing_to_draw_is_no_error(name):
    _, draw, _ = FIGURES[name]
    assert ElementTree.fromstring(draw(Results([]))).tag.endswith("svg")


def test_the_same_input_gives_the_same_bytes_without_fonts_or_dates():
    draw = in_paper(figures.sets, EVALUATIONS)
    first, second = (draw(results(RULE, "fw", "block")) for _ in range(2))
    assert first == second
    assert "DejaVu" not in first and "dc:date" not in first


def test_values_that_a_logarithmic_axis_cannot_show_are_left_out():
    some = Results([record(RULE, "w1a", "fw", seconds=-0.1), record(RULE, "w1a", "swap", seconds=0.1)])
    found = texts(figures.collections(some, RULE, {"": WEB}, TIME))
    assert "SWAP" in found and "FW" not in found


def test_a_speedup_is_a_bound_if_one_was_cut_and_nothing_if_both_were():
    cvm = {"w1a": point("w1a", 60.0, cut=True), "w2a": point("w2a", 8.0)}
    points = [point("w1a", 2.0), figures.Point("w2a", 4.0, 2.0, 8.0, False), point("w3a", 1.0)]
    assert figures.ratios_to(cvm, points) == [("w1a", 30.0, 30.0, 30.0, True), ("w2a", 2.0, 1.0, 4.0, False)]
    assert figures.ratios_to(cvm, [point("w1a", 60.0, cut=True)]) == []


def point(data, value, cut=False):
    return figures.Point(data, value, value, value, cut)


def test_the_spread_of_the_seeds_is_a_line():
    def lines(spread):
        runs = [{**record(RULE, "w1a", "fw", seconds=s), "seed": k} for k, s in enumerate((1.0, 1.0 + spread))]
        return figures.collections(Results(runs), RULE, {"": WEB}, TIME).count("opacity: 0.65")

    assert lines(1.0) > lines(0.0) == 0


def test_every_method_of_today_has_a_look_of_its_own():
    runs = [record("today", data, method) for data in WEB for method in TODAY]
    found = set(texts(figures.sets(Results(runs), "today", {"": WEB}, TIME)))
    assert set(TODAY.values()) <= found
    assert len({(look.color, look.marker) for look in map(look_of, TODAY)}) == len(TODAY)


def test_a_bad_accuracy_does_not_stretch_the_axis_but_is_written():
    runs = [record(RULE, data, method, accuracy=0.97) for data in WEB for method in ("cvm", "fw", "swap")]
    runs += [record(RULE, "w1a", "mfw", accuracy=0.96), record(RULE, "w1a", "block", accuracy=0.14)]
    found = texts(figures.sets(Results(runs), RULE, {"": WEB}, ACCURACY))
    assert "◂ 14.0" in found
    assert not {"20", "40", "60"} & set(found)


def test_iterations_are_those_that_first_reach_an_accuracy():
    curve = curve_figures.curves_of(results("convergence", "fw"), "w1a")["fw"]
    accuracies, iterations = curve_figures.first_reached(curve)
    np.testing.assert_allclose(accuracies[[0, 1, -1]], [10**-0.5, 0.1, 1e-4])
    assert iterations.tolist() == [10, 10, 100, 100, 1000, 1000, 1000, 1000]


@pytest.mark.parametrize("gap", [[0.5, 0.4, 0.4, 0.4], [0.0] * 4])
def test_a_curve_that_reaches_no_accuracy_of_the_grid_is_left_out(gap):
    run = {**record("convergence", "w1a", "fw"), "curve": {**CURVE, "gap": gap}}
    found = texts(curve_figures.iterations_by_accuracy(Results([run, record("convergence", "w1a", "swap")]), "w1a"))
    assert "SWAP" in found and "FW" not in found


def test_a_rate_is_how_many_iterations_halve_the_gap():
    iteration = np.arange(1, 101)
    gap = (0.5 ** (iteration / 7)).tolist()
    run = record("convergence", "w1a", "swap")
    run["curve"] = {**{name: iteration.tolist() for name in CURVE}, "value": [1.0] * 100, "gap": gap}
    assert "7 iterations" in texts(curve_figures.linear_rate(Results([run]), "w1a"))
