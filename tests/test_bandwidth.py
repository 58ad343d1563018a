"""The gamma rules."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from swapsvm.kernels import Poly, Rbf, mean_squared_distance, resolve_gamma


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((40, 3)) * [1, 2, 5] + [0, 3, 100]


def test_mean_squared_distance_is_that_of_all_pairs(X):
    expected = (pdist(X) ** 2).mean()
    assert mean_squared_distance(X) == pytest.approx(expected)
    assert mean_squared_distance(sp.csr_array(X)) == pytest.approx(expected)


def test_weights_count_as_repetitions(X):
    weights = np.random.default_rng(1).integers(0, 4, 40)
    repeated = np.repeat(X, weights, axis=0)
    for rule in ("scale", "auto", "mean_sq_dist"):
        assert resolve_gamma(rule, Rbf, X, weights.astype(float)) == pytest.approx(resolve_gamma(rule, Rbf, repeated))


def test_rules(X):
    mean = (pdist(X) ** 2).mean()
    assert resolve_gamma("scale", Rbf, X) == pytest.approx(1 / (3 * X.var()))
    assert resolve_gamma("scale", Rbf, sp.csr_array(X)) == pytest.approx(1 / (3 * X.var()))
    assert resolve_gamma("auto", Rbf, X) == 1 / 3
    assert resolve_gamma("mean_sq_dist", Rbf, X) == pytest.approx(1 / (2 * mean))
    assert resolve_gamma("mean_sq_dist", Poly, X) == pytest.approx(1 / mean)
    assert resolve_gamma("cvm", Rbf, X) == pytest.approx(2 / mean)
    assert resolve_gamma(0.25, Rbf, X) == 0.25


def test_cvm_rule_takes_a_stride_sample_of_at_most_5000():
    X = np.random.default_rng(0).standard_normal((10_001, 2)) * np.linspace(1, 2, 10_001)[:, None]
    assert resolve_gamma("cvm", Rbf, X) == pytest.approx(2 / mean_squared_distance(X[::3]))


def test_a_large_offset_loses_no_digits():
    X = np.random.default_rng(0).standard_normal((500, 2))
    assert mean_squared_distance(X + 1e8) == pytest.approx(mean_squared_distance(X), rel=1e-6)


def test_constant_data_gives_one():
    assert resolve_gamma("scale", Rbf, np.ones((5, 2))) == 1.0
    assert resolve_gamma("mean_sq_dist", Rbf, np.ones((5, 2))) == 1.0


def test_unknown_rules_name_the_known(X):
    with pytest.raises(ValueError, match=r"gamma='scales' is unknown.*'scale', 'auto', 'mean_sq_dist', 'cvm'"):
        resolve_gamma("scales", Rbf, X)
