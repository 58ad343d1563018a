"""When runs of the study are made: limits, seeds, order, and what is due."""

import pytest

from swapsvm.study.peers import PEERS
from swapsvm.study.protocol import EVERY_SET, EXPERIMENTS, GROUPS, METHODS, PAPER_METHODS, RULES, TODAY, Trial
from swapsvm.study.provenance import source_digest
from swapsvm.study.schedule import (
    FEW,
    FIRST_TRY,
    FULL,
    MANY,
    QUICK,
    QUICK_CELL,
    SIZES,
    Scale,
    Schedule,
    limit_of,
    size_of,
    trials_of,
)

STORED = {name: {"C": 1.0, "gamma": 1.0} for name in EVERY_SET}


def trial(method="swap", data="w1a", seed=0, budget=60.0, C=1.0, experiment="paper-3"):
    return Trial(experiment, data, method, seed, C, 0.5, budget)


def line(trial, seconds=1.0, *, cut=False, digest=None):
    """The line of a run of this trial."""
    return {
        "experiment": trial.experiment,
        "data": trial.data,
        "method": trial.method,
        "seed": trial.seed,
        "parameters": trial.parameters(),
        "measures": {"seconds": seconds, "cut": cut},
        "provenance": {"digest": digest or source_digest(trial.method)},
    }


def due(trials, known=()):
    return Schedule(trials, known).waiting()


# ---- what is due --------------------------------------------------------------------------------------------------


def test_a_finished_run_is_not_due_again():
    assert due([trial(), trial("fw")], [line(trial())]) == [trial("fw")]
    assert due([trial(budget=90.0)], [line(trial(budget=30.0))]) == []  # whatever its limit was


def test_a_line_of_other_sources_is_missing():
    assert due([trial()], [line(trial(), digest="0" * 64)]) == [trial()]
    without = {name: value for name, value in line(trial()).items() if name != "provenance"}
    assert due([trial()], [without]) == [trial()]


def test_a_line_with_other_settings_is_missing():
    changed = line(trial())
    changed["parameters"]["sampling"]["size"] = 60
    assert due([trial()], [changed]) == [trial()]
    assert due([trial(C=2.0)], [line(trial())]) == [trial(C=2.0)]


def test_a_cut_run_is_due_again_only_with_more_seconds():
    known = [line(trial(budget=60.0), cut=True)]
    assert due([trial(budget=30.0), trial(budget=60.0)], known) == []
    assert due([trial(budget=90.0)], known) == [trial(budget=90.0)]
    assert due([trial(budget=60.0)], [*known, line(trial(budget=30.0), cut=True)]) == []  # in whatever order


def test_repetitions_of_what_was_cut_are_not_due():
    known = [line(trial(), cut=True)]
    assert due([trial(seed=1), trial("fw", seed=1)], known) == [trial("fw", seed=1)]


# ---- seeds --------------------------------------------------------------------------------------------------------


def seeds_made(first_seconds, most=MANY):
    schedule, made = Schedule([trial(seed=seed) for seed in range(most)], []), []
    while found := schedule.pop():
        made.append(found.seed)
        schedule.note(found, line(found, first_seconds))
    return made


def test_quick_cells_have_five_seeds_and_others_three():
    assert MANY >= 5 and FEW >= 3 and QUICK_CELL == 20.0
    assert seeds_made(19.9) == list(range(MANY))
    assert seeds_made(20.0) == list(range(FEW))


def test_the_number_of_seeds_is_known_from_the_lines():
    known = [line(trial(), 30.0)]
    assert [t.seed for t in due([trial(seed=seed) for seed in range(MANY)], known)] == [1, 2]


def test_repetitions_wait_for_the_first_run():
    schedule = Schedule([trial(), trial(seed=1), trial("fw")], [])
    assert [schedule.pop(), schedule.pop(), schedule.pop()] == [trial(), trial("fw"), None]
    schedule.note(trial(), line(trial()))
    assert schedule.pop() == trial(seed=1)


def test_the_second_try_waits_for_the_first_and_wakes_the_repetitions():
    schedule = Schedule([trial(), trial(seed=1, budget=900.0), trial(budget=900.0)], [])
    assert [schedule.pop(), schedule.pop()] == [trial(), None]
    schedule.note(trial(), line(trial(), 60.0, cut=True))
    assert schedule.waiting() == [trial(budget=900.0)]
    assert [schedule.pop(), schedule.pop()] == [trial(budget=900.0), None]
    schedule.note(trial(budget=900.0), line(trial(budget=900.0), 300.0))
    assert schedule.pop() == trial(seed=1, budget=900.0)


def test_a_failed_run_is_not_tried_again_in_the_same_call():
    schedule = Schedule([trial(), trial(budget=900.0), trial(seed=1)], [])
    schedule.give_up(schedule.pop())
    assert schedule.pop() is None


def test_block_and_peers_are_run_once():
    found = trials_of(FULL, STORED)
    assert {t.seed for t in found if t.method in ("block", *PEERS)} == {0}
    assert {t.experiment for t in found if t.method == "block"} & set(RULES) == {"paper-full"}
    assert {t.seed for t in found if t.experiment == "convergence"} == {0}
    assert {t.seed for t in found if t.method == "swap" and t.experiment in RULES} == set(range(MANY))


# ---- limits and order ---------------------------------------------------------------------------------------------


def test_limits_fit_the_cells():
    assert limit_of("paper-3", "a1a", "fw") == 3600.0 > limit_of("paper-3", "a1a", "swap")
    for data in (*GROUPS["medium"], *GROUPS["large"]):
        assert min(limit_of(rule, data, m) for rule in RULES if rule != "paper-full" for m in PAPER_METHODS) >= 600.0
    assert limit_of("paper-3", "mnist", "swap") > limit_of("paper-3", "w1a", "swap")


def test_a_budget_replaces_the_limits():
    scale = Scale(("paper-3",), ("a1a", "mnist"), ("fw", "swap"), 7.0, 1)
    assert [t.budget for t in trials_of(scale, STORED)] == [7.0] * 4


def test_every_cell_has_its_full_limit_once_and_a_first_try_before():
    found = trials_of(FULL, STORED)
    assert len(found) == len(set(found))
    cells = {(t.experiment, t.data, t.method) for t in found}
    assert len(cells) == sum(len(e.data) * len(e.methods) for e in EXPERIMENTS.values())
    budgets = {}
    for t in found:
        if t.seed == 0:
            budgets.setdefault((t.experiment, t.data, t.method), []).append(t.budget)
    assert all(found == [FIRST_TRY, limit_of(*cell)] for cell, found in budgets.items() if cell[0] != "published")


def test_a_study_that_is_stopped_early_has_all_rules_on_small_sets():
    found = trials_of(FULL, STORED)
    places = {}
    for place, t in enumerate(found):
        places.setdefault((size_of(t.data), t.experiment in RULES, t.seed > 0, t.budget > FIRST_TRY), []).append(place)
    small_rules = places["small", True, False, False]
    assert small_rules == list(range(len(small_rules)))
    assert {found[k].experiment for k in small_rules} == set(RULES) & set(EXPERIMENTS)
    assert max(places["middle", True, False, False]) < min(places["small", True, True, True])
    assert max(places["small", True, True, True]) < min(places["large", True, False, False])
    assert max(places["large", False, False, False]) < min(places["large", True, False, True])


@pytest.mark.parametrize("name", EVERY_SET)
def test_every_set_has_a_size(name):
    assert size_of(name) in SIZES


def test_sets_without_parameters_are_left_out():
    assert {t.data for t in trials_of(FULL, {"w1a": STORED["w1a"]})} >= {"w1a"}
    assert not trials_of(Scale(("paper-3",), ("w2a",), tuple(METHODS)), {"w1a": STORED["w1a"]})
    assert {t.data for t in trials_of(QUICK, STORED)} == set(QUICK.data)
    assert set(QUICK.experiments) == set(EXPERIMENTS) and set(QUICK.methods) == set(TODAY)
