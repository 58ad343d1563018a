"""Committed lines of the study can be made again: the same moves give the same counts.

The digest of a line covers the sources of its steps, not what surrounds them (swapsvm.study.provenance). A change there
that changes results must not go unnoticed.
"""

import os
from pathlib import Path

import pytest

from swapsvm import _core
from swapsvm.study import records
from swapsvm.study.protocol import Trial
from swapsvm.study.provenance import SINGLE_STEPS
from swapsvm.study.runs import run

LINES = Path(__file__).parent.parent / "docs" / "reproduction" / "runs.jsonl"
DATA = ("w1a", "a1a")
QUICK = 2.0  # seconds
COUNTS = ("iterations", "evaluations", "samplings", "model_size", "accuracy", "stop_reasons")

pytestmark = pytest.mark.skipif("SWAPSVM_DATA" not in os.environ, reason="SWAPSVM_DATA names no folder of data sets")


def quickest():
    """The quickest finished line of each experiment, method and data set, as far as it is quick."""
    lines = [line for line in records.newest(records.read(LINES)) if line["method"] in SINGLE_STEPS]
    ended = [line for line in lines if line["data"] in DATA and not line["measures"]["cut"]]
    slowest_first = sorted(ended, key=lambda line: -line["measures"]["seconds"])
    cells = {(line["experiment"], line["method"], line["data"]): line for line in slowest_first}
    return {cell: line for cell, line in sorted(cells.items()) if line["measures"]["seconds"] < QUICK}


@pytest.mark.parametrize("line", [pytest.param(line, id="-".join(cell)) for cell, line in quickest().items()])
def test_a_line_can_be_made_again(line):
    if line["environment"]["simd"] != _core.simd_level():
        pytest.skip("kernel values of another instruction set are rounded in another way")
    names = ("experiment", "data", "method", "seed")
    parameters = {name: line["parameters"][name] for name in ("C", "gamma")}
    again = run(Trial(*(line[name] for name in names), **parameters, budget=600.0))
    assert {name: again["measures"][name] for name in COUNTS} == {name: line["measures"][name] for name in COUNTS}


def test_each_stop_rule_and_method_is_made_again():
    cells = {(experiment, method) for experiment, method, _ in quickest()}
    rules = ("paper-1", "paper-3", "paper-7", "paper-levels", "paper-full")
    assert {(rule, "swap2") for rule in rules} <= cells and {method for _, method in cells} >= {"cvm", "mfw", "swap"}
