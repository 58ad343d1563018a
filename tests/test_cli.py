"""The command line, and the demo through it."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import swapsvm
from swapsvm.cli import main
from swapsvm.rays import KINDS
from swapsvm.solvers import SOLVERS


class Ran(NamedTuple):
    code: int
    stdout: str
    stderr: str
    figure: Path


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    figure = tmp_path_factory.mktemp("demo") / "figure.png"
    stdout, stderr = io.StringIO(), io.StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr):
        code = main(["demo", "--figure", str(figure)])
    return Ran(code, stdout.getvalue(), stderr.getvalue(), figure)


TAKEN = [kind for kind in KINDS if kind not in ("surrogate", "linear")]  # the demo has too few rows for these steps


def table_row(demo: Ran, solver: str) -> dict[str, float]:
    """The numbers of one row of the printed table."""
    row = re.search(rf"^{solver} +(\d.*)$", demo.stdout, flags=re.MULTILINE)
    assert row, f"no row for {solver} in\n{demo.stdout}"
    columns = ("seconds", "iterations", *TAKEN, "evaluations", "support", "gap", "accuracy")
    return dict(zip(columns, (float(cell.rstrip("%*")) for cell in row[1].split()), strict=True))


def test_demo_ends_with_the_figure_and_what_it_shows(demo):
    assert demo.code == 0
    *_, where, what, took = demo.stdout.splitlines()
    assert where == f"Figure: {demo.figure}"
    assert what.startswith("What it shows: ")
    assert re.fullmatch(r"Took \d+\.\d seconds\.", took)


def test_demo_says_at_the_start_how_long_it_takes(demo):
    assert re.match(rf"{len(SOLVERS)} solvers learn ten digits. This takes about \d+ seconds.\n", demo.stdout)


def test_demo_leaves_nothing_behind(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("swapsvm.demo.SOLVERS", {"block": SOLVERS["block"]})
    assert main(["demo"]) == 0
    assert list(tmp_path.iterdir()) == []
    *_, where, took = capsys.readouterr().out.splitlines()
    assert where.startswith("No file was written.")
    assert took.startswith("Took ")


def test_demo_marks_the_solver_that_was_cut(demo):
    marked = re.findall(r"^(\w+) .*\de-\d\d\*", demo.stdout, flags=re.MULTILINE)
    assert marked == [solver for solver in SOLVERS if table_row(demo, solver)["gap"] > swapsvm.SVC().tol] == ["fw"]
    assert "* cut after 10,000 iterations" in demo.stdout


@pytest.mark.parametrize("solver", SOLVERS)
def test_demo_table_has_a_certified_row(demo, solver):
    row = table_row(demo, solver)
    assert 0 <= row["gap"] <= (0.1 if solver == "fw" else swapsvm.SVC().tol)  # fw is cut
    assert row["accuracy"] > 98
    assert row["iterations"] == sum(row[kind] for kind in TAKEN)
    assert 0 < row["support"] < 1347
    assert row["evaluations"] > 1347


def test_demo_table_tells_the_steps_apart(demo):
    assert table_row(demo, "fw")["away"] == 0 < table_row(demo, "mfw")["away"]
    assert table_row(demo, "mfw")["swap-add"] == 0 < table_row(demo, "swap2")["swap-drop"]


def test_demo_table_fits_a_terminal(demo):
    table = demo.stdout.split("Figure:")[0]
    assert "…" not in table
    assert max(len(line.rstrip()) for line in table.splitlines()) <= 80


def test_demo_figure_is_a_png_of_sensible_size(demo):
    from matplotlib.image import imread

    assert demo.figure.read_bytes().startswith(b"\x89PNG")
    height, width, _ = imread(demo.figure).shape
    assert 1200 <= width <= 2400
    assert 500 <= height <= 1600
    assert 30_000 < demo.figure.stat().st_size < 1_000_000


@pytest.mark.parametrize("solver", SOLVERS)
def test_demo_reports_progress_line_by_line_without_a_terminal(demo, solver):
    assert f"{solver}: 2 of 2 fits\n" in demo.stderr
    assert "\x1b" not in demo.stderr


def test_demo_curve_has_its_start_when_the_trace_was_thinned():
    from swapsvm.demo import load, trace_curve

    curve = trace_curve("mfw", load(), report=lambda solver, done: None)
    assert curve.converged
    assert curve.trace["iteration"][0] == 1
    assert (np.diff(curve.trace["iteration"]) > 0).all()
    assert (np.diff(curve.trace["evaluations"]) >= 0).all()


def test_demo_draws_bars_on_a_terminal(monkeypatch):
    from swapsvm.demo import progress

    stderr = io.StringIO()
    monkeypatch.setattr(stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with redirect_stderr(stderr), progress(fits=2) as report:
        for solver in SOLVERS:
            report(solver, 0)
            report(solver, 2)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stderr.getvalue())
    for solver in SOLVERS:
        assert re.search(rf"{solver} .*2/2", shown)


@pytest.mark.parametrize("package", ["matplotlib", "rich"])
def test_missing_extra_is_named_in_one_line(package, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["demo"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == f"swapsvm: error: the demo needs {package}: pip install {package}\n"


@pytest.mark.parametrize(
    ("output", "complaint"), [("missing/figure.png", "there is no folder"), ("figure.docx", "must end in one of")]
)
def test_bad_output_is_refused_before_the_work(output, complaint, tmp_path, capsys):
    assert main(["demo", "--figure", str(tmp_path / output)]) == 2
    shown = capsys.readouterr()
    assert complaint in shown.err
    assert shown.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("argv", [["nonsense"], [], ["demo", "--nonsense"]])
def test_unknown_request_exits_with_2_and_one_line(argv, capsys):
    assert main(argv) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.match(r"swapsvm( demo)?: error: ", shown.err)
    assert shown.err.count("\n") == 1


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"swapsvm {swapsvm.__version__}\n"


def test_interrupt_ends_quietly(monkeypatch, capsys):
    def interrupted(output):
        raise KeyboardInterrupt

    monkeypatch.setattr("swapsvm.demo.run", interrupted)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "swapsvm: interrupted\n"


def test_importing_the_package_needs_no_extra():
    """scikit-learn can import some of them itself, so importing them is disabled."""
    extras = ("matplotlib", "rich", "onnx", "pyarrow", "skops")
    code = f"import sys; sys.modules.update(dict.fromkeys({extras})); from swapsvm import *; "
    code += "import swapsvm.commands.program, swapsvm.demo"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("code", ["import swapsvm", "from swapsvm.cli import main; main(['--version'])"])
def test_the_package_and_its_version_load_no_other_package(code):
    """A second of imports is for what needs them."""
    code += "; import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "swapsvm" in found
    assert not {"numpy", "scipy", "sklearn", "pandas", "matplotlib", "rich", "argparse"} & set(found)


def test_an_estimator_loads_only_what_it_needs():
    """scikit-learn loads some of the packages that we do not need, such as pandas."""
    code = "import sys, sklearn.svm; before = {*sys.modules}; from swapsvm import SVC; "
    code += "SVC().fit([[0], [1]], [0, 1]).predict([[2]]); print(*{*sys.modules} - before)"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    others = {name for name in found if not name.startswith("swapsvm.")}
    assert not {name.partition(".")[0] for name in others} & {"scipy", "matplotlib", "pandas", "rich", "onnx"}
    assert not {"swapsvm.selection", "swapsvm.reduction", "swapsvm.files", "sklearn.model_selection"} & {*found}


def test_an_interruption_that_an_import_swallows_still_counts(tmp_path):
    (tmp_path / "swallowing.py").write_text(
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\nexcept:\n    pass\n"
    )
    program = (
        "import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"sys.path.append({str(tmp_path)!r})\n"
        "from swapsvm.commands.listening import Listening\n"
        "Listening.__enter__, enter = lambda self: (enter(self), __import__('swallowing'))[0], Listening.__enter__\n"
        "from swapsvm.cli import main\nsys.exit(main(['train', 'none', 'model']))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (130, "swapsvm: interrupted\n")


def test_the_package_runs_as_a_module():
    ended = subprocess.run([sys.executable, "-m", "swapsvm", "--version"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, f"swapsvm {swapsvm.__version__}\n")
