"""A limit of seconds that pairs of classes share."""

import pytest

from swapsvm.estimators.subproblems import SharedTime


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_what_a_pair_leaves_goes_to_the_others():
    clock = Clock()
    rows = {(0, 1): 100, (0, 2): 100, (1, 2): 100, (2, 3): 100}
    shared = SharedTime(12.0, rows, workers=1, clock=clock)
    assert shared.share((0, 1)).limit == pytest.approx(6.0)  # twice a quarter
    clock.now = 1.0
    assert shared.share((0, 2)).limit == pytest.approx(2 * 11 / 3)
    clock.now = 8.0
    assert shared.share((1, 2)).limit == pytest.approx(4.0)
    assert shared.share((2, 3)).limit == pytest.approx(4.0)  # never more than is left


def test_large_pairs_get_more_and_small_ones_an_equal_share():
    shared = SharedTime(10.0, {(0, 1): 1000, (0, 2): 10, (1, 2): 90}, workers=1, clock=Clock())
    assert shared.share((0, 2)).limit == pytest.approx(20 / 3)
    assert shared.share((0, 1)).limit == pytest.approx(10.0)


def test_threads_share_as_many_times_the_seconds():
    shared = SharedTime(10.0, dict.fromkeys([(0, k) for k in range(1, 9)], 50), workers=2, clock=Clock())
    assert shared.share((0, 1)).limit == pytest.approx(5.0)
