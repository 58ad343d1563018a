"""The benchmark of linear kernels: its data, a measurement, and the committed report."""

from pathlib import Path

import pytest
from benchmarks import linear

from swapsvm.study import records

RESULTS = Path(linear.__file__).parent / "results" / "linear"


@pytest.mark.parametrize("name", linear.DATA)
def test_a_measurement_of_each_kind_of_data(name, tmp_path):
    output = tmp_path / "runs.jsonl"
    words = ["--output", str(output), "--data", name, "--rows", "1200", "--C", "1", "--repeats", "1"]
    linear.main(words)
    linear.main(words)  # nothing is measured twice
    (line,) = records.read(output)
    assert line["relative_gap"] <= 1e-3 and line["tight_gap"] <= 1e-6 and line["steps"] >= 1
    assert -1e-9 <= line["above_optimum"] <= 1e-3 and -1e-6 <= line["above_optimum_of_peer"] <= 1e-3
    assert f"| {name} | 1200 x" in (tmp_path / "report.md").read_text()


def test_the_committed_report_is_that_of_the_committed_lines():
    assert linear.report(records.read(RESULTS / "runs.jsonl")) == (RESULTS / "report.md").read_text()
