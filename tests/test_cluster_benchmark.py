"""The benchmark of fits on a cluster: its model, the imaginary network, and the committed report."""

import math
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("psutil")

from benchmarks import cluster, cluster_report
from benchmarks.cluster_model import Counts, Network, cost_of, delayed_seconds, exponent_of, grown
from benchmarks.delayed import DelayedRows

import swapsvm
from swapsvm.study import records

RESULTS = Path(cluster.__file__).parent / "results" / "cluster"
COUNTS = Counts(
    rows=1e6,
    support=1000,
    passes=10,
    requests=20,
    values=4e9,
    bytes_to_worker=1e6,
    bytes_back=8e7,
    value_seconds=1e-9,
    driver_seconds=3.0,
    driver_bytes=2e8,
)


def test_the_cost_of_a_fit_is_the_sum_of_its_causes():
    cost = cost_of(COUNTS, workers=10, cores=4, parts=40, network=Network(0.01, 0.001, 1e9))
    assert cost.kernel == pytest.approx(4e9 * 1e-9 / 40)
    assert cost.latency == pytest.approx(30 * (0.01 + 0.04))
    assert cost.transfer == pytest.approx((4 * 1e6 + 8e7) / 1e9)  # 10 workers: four levels of a tree
    assert cost.seconds == pytest.approx(cost.kernel + cost.latency + cost.transfer + 3.0)


def test_more_workers_share_kernel_values_and_nothing_else():
    few, many = (cost_of(COUNTS, workers, 4, 4 * workers, Network()) for workers in (10, 1000))
    assert many.kernel == pytest.approx(few.kernel / 100)
    assert many.latency > few.latency and many.transfer > few.transfer and many.driver == few.driver


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_counts_of_more_rows(exponent):
    more = grown(COUNTS, 1e8, exponent)
    factor = 100**exponent
    assert more.support == pytest.approx(1000 * factor) and more.requests == pytest.approx(20 * factor)
    assert more.values == pytest.approx(4e9 * 100 * factor) and more.bytes_to_worker == pytest.approx(1e6 * factor)
    assert more.passes == pytest.approx(10 + math.log2(100)) and more.driver_bytes == pytest.approx(2e10)
    assert grown(COUNTS, COUNTS.rows, exponent) == COUNTS


def test_no_more_support_vectors_than_rows():
    assert grown(replace(COUNTS, support=9e5), 1e8, 1.0).support <= 1e8


def test_the_exponent_of_growth():
    rows = [1e4, 1e5, 1e6]
    assert exponent_of(rows, [100, 316.2278, 1000]) == pytest.approx(0.5, abs=1e-6)
    assert exponent_of(rows, [10, 1000, 100000]) == 1.0


def rows_of(network):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 4)).astype(np.float32)
    return DelayedRows(X, 4, network, room=8 * X.nbytes), np.where(X[:, 0] * X[:, 1] > 0, 1, -1)


def test_a_fit_behind_a_network_takes_as_long_as_the_model_says_and_finds_the_same():
    seconds, models = [], []
    network = Network(0.03, 0.001, 1e8)
    for present in (cluster.NOTHING, network):
        rows, y = rows_of(present)
        began = time.perf_counter()
        models.append(swapsvm.SVC(n_jobs=1).fit(rows, y))
        seconds.append(time.perf_counter() - began)
    np.testing.assert_array_equal(models[0].dual_coef_, models[1].dual_coef_)
    added = delayed_seconds(0.0, rows.rounds, rows.tasks, rows.bytes_moved, network)
    assert rows.rounds > rows.passes > 2 and added > 0.1
    assert seconds[1] > added  # an upper bound would depend on the load of the machine


def test_a_measurement_is_not_repeated(tmp_path):
    lines, calls = cluster.Lines(tmp_path / "runs.jsonl"), []
    for _ in range(2):
        lines.measure({"part": "growth", "data": "some"}, lambda: calls.append(1) or {"seconds": 1.0})
    assert len(calls) == 1 and len(records.read(tmp_path / "runs.jsonl")) == 1
    assert cluster.Lines(tmp_path / "runs.jsonl").done == lines.done


def test_the_committed_report_is_that_of_the_committed_lines():
    assert cluster_report.report(records.read(RESULTS / "runs.jsonl")) == (RESULTS / "report.md").read_text()


def test_the_figure_of_the_committed_lines(tmp_path):
    cluster_report.write(records.read(RESULTS / "runs.jsonl"), tmp_path)
    assert (tmp_path / "cluster.png").stat().st_size > 10_000
