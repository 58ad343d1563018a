"""The style of drawings."""

import pytest

from swapsvm.study.drawing import LOOKS, power_of_ten
from swapsvm.study.protocol import METHODS


def test_every_method_has_a_look_of_its_own():
    assert set(LOOKS) == set(METHODS)
    looks = LOOKS.values()
    assert len({look.color for look in looks}) == len({look.marker for look in looks}) == len(METHODS)
    assert max(looks, key=lambda look: look.width) == LOOKS["block"]


@pytest.mark.parametrize(
    ("value", "text"), [(1e-3, "10⁻³"), (1.0, "10⁰"), (1e12, "10¹²"), (3e6, "3·10⁶"), (2.5e-7, "2.5·10⁻⁷")]
)
def test_powers_of_ten(value, text):
    assert power_of_ten(value) == text
