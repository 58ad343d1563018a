"""What a scale of the study cannot decide."""

from dataclasses import replace

import pytest

from swapsvm.study import rehearsal
from swapsvm.study.claims import check_all
from swapsvm.study.protocol import EVERY_SET, EXPERIMENTS, RULES
from swapsvm.study.schedule import FULL, QUICK
from swapsvm.study.summary import Results

CLAIMS = len(check_all(Results([])))


def open_claims(scale):
    text = rehearsal.warning(scale)
    return int(text.split()[0]) if text else 0


def test_the_full_study_decides_all():
    assert open_claims(FULL) == 0
    assert open_claims(replace(FULL, experiments=tuple(set(FULL.experiments) - set(RULES)))) > 0


def test_the_quick_study_says_what_it_cannot_decide_and_why():
    lines = rehearsal.warning(QUICK).splitlines()
    assert len(lines) == 2
    assert 0 < open_claims(QUICK) < CLAIMS and f"of {CLAIMS} claims" in lines[0]
    assert "Left out: the sets w3a, w4a" in lines[1] and "--paper" in lines[1]


def test_less_is_decided_by_fewer_sets_and_experiments():
    one = replace(QUICK, data=("w1a",))
    assert open_claims(one) >= open_claims(QUICK)
    rates = replace(FULL, experiments=("convergence",))
    assert open_claims(rates) == CLAIMS - 2  # linear rates, and O(1/eps)
    assert "the experiments paper-1" in rehearsal.warning(rates)


def test_a_claim_is_open_if_it_is_in_either_order_of_the_methods(monkeypatch):
    both, alone = open_claims(QUICK), []
    for order in rehearsal.ORDERS:
        monkeypatch.setattr(rehearsal, "ORDERS", (order,))
        alone.append(open_claims(QUICK))
    assert both >= max(alone)


@pytest.mark.parametrize("group", ["protein", "w8a"])
def test_claims_on_single_sets_need_them(group):
    scale = replace(FULL, data=tuple(name for name in EVERY_SET if name != group))
    assert open_claims(scale) >= 1 and f"the sets {group}" in rehearsal.warning(scale)


def test_a_rehearsal_has_a_line_for_every_cell():
    first, second = rehearsal.rehearsals(replace(QUICK, data=("w1a",)))
    cells = {(line["experiment"], line["method"]) for line in first}
    wanted = {(name, m) for name, e in EXPERIMENTS.items() if "w1a" in e.data for m in e.methods}
    assert cells == {(line["experiment"], line["method"]) for line in second} == wanted
    times = [{line["method"]: line["measures"]["seconds"] for line in lines} for lines in (first, second)]
    assert times[0]["fw"] < times[0]["swap"] and times[1]["fw"] > times[1]["swap"]
