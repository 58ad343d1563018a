"""The sketch of the simplex shows what the formulas give."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from swapsvm.study import sketch


def test_steps_of_the_sketch_stay_on_the_simplex_and_gain_what_a_line_search_can():
    optimum = sketch.sketch_optimum()
    assert np.all(np.linalg.eigvalsh(sketch.SKETCH_Q) > 0)
    assert optimum.min() > 0
    for step in sketch.sketch_steps():
        assert step.end.min() >= 0 and step.end.sum() == pytest.approx(1.0)
        assert abs(step.farthest.min()) < 1e-12 and step.farthest.sum() == pytest.approx(1.0)
        along = np.linspace(sketch.SKETCH_POINT, step.farthest, 2001)
        assert sketch.sketch_value(along).max() == pytest.approx(float(sketch.sketch_value(step.end)), abs=1e-6)
        assert 0 < step.gain < sketch.sketch_value(optimum) - sketch.sketch_value(sketch.SKETCH_POINT)


def test_the_sketch_names_corners_and_directions():
    found = "".join(ElementTree.fromstring(sketch.simplex_sketch()).itertext())
    for name in ("e₁", "e₂", "e₃", "toward", "away", "swap", "optimum"):
        assert name in found
