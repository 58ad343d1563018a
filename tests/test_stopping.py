"""The stop rules alone: at which progress each of them ends a run, and what several of them say together."""

from dataclasses import replace
from math import inf

import pytest

from swapsvm import ConvergenceWarning, maximize
from swapsvm.kernels import Rbf
from swapsvm.stopping import AnyOf, Gap, Iterations, Progress, Seconds, Since, make_stop, relative

from .cases import overlapping_rows, svm
from .walking import vertex

HERE = Progress(iteration=10, seconds=2.0, value=-1.0, gap=0.5, support=3, evaluations=100, scale=2.0)


def test_a_gap_that_is_just_reached_ends_a_run():
    assert Gap(tol=0.25, eps=0.0)(HERE) == "gap"
    assert Gap(tol=0.0, eps=0.5)(HERE) == "gap"
    assert Gap(tol=0.24, eps=0.49)(HERE) is None


def test_one_of_both_gaps_is_enough():
    assert Gap(tol=0.1, eps=0.6)(HERE) == Gap(tol=0.3, eps=0.1)(HERE) == "gap"
    assert Gap(tol=0.3, eps=0.1).target(2.0) == 0.6


def test_the_relative_gap():
    assert HERE.relative_gap == 0.25
    assert relative(-1e-18, 0.0) == relative(0.0, 2.0) == 0.0
    assert relative(1e-18, 0.0) == inf


def test_a_limit_of_iterations_is_that_number():
    rule = Iterations(10)
    assert rule(HERE) == "max_iter" and rule(replace(HERE, iteration=9)) is None
    assert rule.moves_left(replace(HERE, iteration=7)) == 3


@pytest.mark.parametrize("limit", [2, 17, 100])
def test_a_run_makes_exactly_that_number_of_iterations(limit):
    case = svm(overlapping_rows(40), 40, 10.0, Rbf(0.5))
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        assert maximize(case.problem, "fw", tol=1e-9, max_iter=limit, start=vertex(80)).iterations == limit


def test_a_limit_of_seconds():
    assert Seconds(2.0)(HERE) == "max_time" and Seconds(2.1)(HERE) is None
    assert Seconds(2.1).seconds == 2.1


def test_limits_come_before_a_gap_that_is_not_confirmed():
    assert (Gap(1.0) | Iterations(10))(HERE) == "max_iter"
    assert (Gap(1.0) | Iterations(11) | Seconds(3.0))(HERE) == "gap"
    assert (Gap(0.0) | Iterations(11))(HERE) is None


def test_several_rules_end_with_the_first_of_them():
    rules = AnyOf.of(Gap(0.1, 1e-3), Gap(0.2, 1e-4), Iterations(30), Iterations(20), Seconds(5.0), Seconds(4.0))
    assert (rules.tol, rules.eps, rules.seconds) == (0.2, 1e-3, 4.0)
    assert rules.moves_left(HERE) == 10


def test_functions_are_rules():
    rule = Gap(0.0) | (lambda progress: "enough" if progress.support > 2 else None)
    assert rule(HERE) == "enough" and rule(replace(HERE, support=2)) is None


def test_a_continued_run_counts_from_where_it_goes_on():
    rule = Since(HERE, Gap(0.1) | Iterations(5) | Seconds(1.0))
    assert rule(HERE) is None and rule.seconds == 3.0 and rule.tol == 0.1
    assert rule.moves_left(replace(HERE, iteration=12)) == 3
    assert rule(replace(HERE, iteration=15)) == "max_iter" and rule(replace(HERE, iteration=14)) is None
    assert rule(replace(HERE, seconds=3.0)) == "max_time" and rule(replace(HERE, seconds=2.9)) is None


def test_the_four_common_parameters():
    rule = make_stop(0.1, 1e-3, 7, 5.0)
    assert (rule.tol, rule.eps, rule.seconds, rule.moves_left(HERE)) == (0.1, 1e-3, 5.0, -3)
    endless = make_stop(0.1, 1e-3, -1, None)
    assert endless.moves_left(HERE) == endless.seconds == inf
