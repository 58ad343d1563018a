"""Other packages on the cells of the study."""

import os

import numpy as np
import pytest
from sklearn.svm import SVC

from swapsvm.datasets import load
from swapsvm.study import peers
from swapsvm.study.protocol import Trial
from swapsvm.study.runs import run
from swapsvm.study.summary import Results

with_data = pytest.mark.skipif("SWAPSVM_DATA" not in os.environ, reason="SWAPSVM_DATA names no folder of data sets")


def trial(data, limit, C=16.0):
    return Trial("today", data, "sklearn", 0, C, 0.0245, limit)


def test_only_packages_that_are_here_are_run(monkeypatch):
    assert peers.is_installed("swap") and peers.is_installed("sklearn")
    absent = peers.Peer("none", "no_such_package.svm", {})
    monkeypatch.setitem(peers.PEERS, "absent", absent)
    assert not peers.is_installed("absent")


@with_data
def test_a_peer_is_trained_with_the_same_c_and_gamma():
    line = run(trial("w1a", 30.0))
    data = load("w1a")
    model = SVC(C=16.0, gamma=0.0245).fit(data.X_train, data.y_train)
    assert line["measures"]["accuracy"] == np.mean(model.predict(data.X_test) == data.y_test)
    assert line["measures"]["model_size"] == len(model.support_) and not line["measures"]["cut"]
    assert 0 < line["measures"]["seconds"] < 30 and "gap" not in line["measures"]
    assert line["parameters"]["C"] == 16.0 and "solver" not in line["parameters"]


@with_data
@pytest.mark.skipif(peers.resource is None, reason="the system has no limits of CPU seconds")
def test_a_peer_is_ended_at_its_limit():
    line = run(trial("a6a", 1.0, C=4096.0))
    assert line["measures"] == {"seconds": 1.0, "stop_reasons": ["max_time"], "cut": True}
    results = Results([line])
    assert results.cut("today", "a6a", "sklearn") and results.median("today", "a6a", "sklearn", "accuracy") is None


@with_data
def test_a_peer_that_dies_is_a_failure(monkeypatch):
    with pytest.raises(RuntimeError, match=r"scikit-learn SVC \(L1\) ended with exit code 1"):
        run(trial("no such set", 5.0))
