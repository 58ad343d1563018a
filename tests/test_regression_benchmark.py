"""The benchmark of regression: its measurements, and the committed report."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks import regression

from swapsvm.study import records

RESULTS = Path(regression.__file__).parent / "results" / "regression"


def test_the_committed_report_is_that_of_the_committed_lines():
    assert (
        regression.report(records.read(RESULTS / "runs.jsonl"))
        == (RESULTS / "report.md").read_text().rstrip("\n") + "\n"
    )


def test_splits_are_standardized_by_their_training_rows():
    data = regression.split("diabetes")
    assert (len(data["y"]), len(data["y_test"])) == (331, 111)
    assert data["X"].mean(axis=0) == pytest.approx(np.zeros(10), abs=1e-12)
    assert (data["y"].mean(), data["y"].std()) == pytest.approx((0.0, 1.0), abs=1e-12)


@pytest.mark.parametrize("competitor", ["swapsvm", "scikit-learn"])
def test_settings_are_chosen_from_the_grid(monkeypatch, competitor):
    monkeypatch.setattr(regression, "GRID", {"C": (0.001, 1.0), "gamma": (0.25,), "epsilon": (0.1,)})
    data = regression.split("diabetes")
    task = {"competitor": competitor, "threads": 1}
    tuned = regression.tune(task, data)
    assert tuned["best"]["C"] == 1.0
    found = regression.measure({**task, "settings": tuned["best"]}, data)
    assert 0.3 < found["test_error"] < 0.7
    assert found["support"] > 100
