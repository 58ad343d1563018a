"""The examples run unchanged, quickly, and draw a figure."""

import runpy
import time
from pathlib import Path

import pytest

from swapsvm.datasets import DatasetError, loading

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("dask.array")  # imports are not what is timed
pytest.importorskip("distributed")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 - after the choice of the backend

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
SECONDS = 5.0  # of CPU time, for each


@pytest.fixture
def shown(monkeypatch):
    """The figures that were open when the script showed them."""
    pyplot.close("all")  # figures that other tests left open
    figures = []
    monkeypatch.setattr(pyplot, "show", lambda: figures.extend(map(pyplot.figure, pyplot.get_fignums())))
    yield figures
    pyplot.close("all")


@pytest.fixture
def offline(monkeypatch):
    """Use only local data sets."""

    def missing(file):
        raise DatasetError(f"{file.name} is not here")

    monkeypatch.setattr(loading, "download", missing)


def test_there_are_examples():
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_runs_and_draws(path, shown, offline, capsys):
    began = time.process_time()
    runpy.run_path(str(path), run_name="__main__")
    assert time.process_time() - began < SECONDS
    assert len(shown) == 1
    for axes in shown[0].axes:
        assert axes.has_data()
    shown[0].canvas.draw()  # drawing errors occur here, not in show
