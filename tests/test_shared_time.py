"""A time limit that pairs of classes share."""

import pytest

from swapsvm.fitting.clock import TimeBudget


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_what_a_pair_leaves_goes_to_the_others():
    clock = Clock()
    shared = TimeBudget(12.0, [100, 100, 100, 100], workers=1, clock=clock)
    assert shared.share(100).limit == pytest.approx(6.0)  # twice a quarter
    clock.now = 1.0
    assert shared.share(100).limit == pytest.approx(2 * 11 / 3)
    clock.now = 8.0
    assert shared.share(100).limit == pytest.approx(4.0)
    assert shared.share(100).limit == pytest.approx(4.0)  # never more than is left


def test_large_pairs_get_more_and_small_ones_an_equal_share():
    shared = TimeBudget(10.0, [1000, 10, 90], workers=1, clock=Clock())
    assert shared.share(10).limit == pytest.approx(20 / 3)
    assert shared.share(1000).limit == pytest.approx(10.0)


def test_threads_share_as_many_times_the_seconds():
    shared = TimeBudget(10.0, [50] * 8, workers=2, clock=Clock())
    assert shared.share(50).limit == pytest.approx(5.0)
