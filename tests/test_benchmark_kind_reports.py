"""Reports by kind of data compute the right numbers, and the README table shows losses as well as wins."""

import json

import numpy as np
import pytest
from benchmarks import kind_sections, readme_table, report, run, speed_chart, summary, targets

from swapsvm.study import records

from .test_benchmarks import WHERE, record_of

# ---- numbers ----------------------------------------------------------------------------------------------------


def lines_of(data, suite, times, **numbers):
    """A line for each competitor; None is a time-out."""
    own = {"evaluations": 60, "floor": 20, "relative_gap": 0.009, "predict_seconds": 0.1, "peak_bytes": 2**28}
    shape = {"accuracy": 0.9, "support": 50, "C": 1.0, "gamma": 0.5, **numbers}
    for solver, seconds in times.items():
        if seconds is None:
            yield {**record_of(solver, data=data, suite=suite), "status": "timeout"}
        else:
            yield record_of(solver, data=data, suite=suite, fit_seconds=seconds, **own, **shape)


@pytest.fixture
def lines():
    noisy, clean, held = "noisy m=20000 noise=0.3", "physics m=196000", "ripples m=30000"
    found = [
        *lines_of(noisy, "kinds", {"block": 4.0, "intelex": 2.0, "scikit-learn": 40.0, "libsvm": 20.0}, rows=20000),
        *lines_of(clean, "kinds", {"block": 1.0, "intelex": 8.0, "scikit-learn": 2.0, "libsvm": None}, rows=196000),
        *lines_of("a9a", "peers", {"block": 1.0, "intelex": 4.0}),
        *lines_of(held, "held-back", {"block": 3.0, "intelex": 6.0}),
    ]
    for who, accuracy in (("block", 0.91), ("intelex", 0.905), ("libsvm", 0.9125)):
        found += lines_of(noisy, "kinds-tuned", {who: 2.0 if who == "block" else 3.0}, accuracy=accuracy)
    for rows in (10_000, 20_000, 100_000):
        name = f"noisy m={rows} noise=0.3"
        found += lines_of(name, "growth", {"block": 1e-6 * rows**1.5, "intelex": 1e-8 * rows**2}, rows=rows)
    return found


def test_ratios_by_kind(lines):
    view = kind_sections.development_view(lines)
    assert [(kind.name, sets) for kind, sets in view.kinds()] == [
        ("noisy", ["noisy m=20000 noise=0.3"]),
        ("tabular", ["a9a"]),
        ("clean, many rows", ["physics m=196000"]),
    ]
    assert view.ratios(["noisy m=20000 noise=0.3", "physics m=196000"], "intelex") == [0.5, 8.0]
    assert view.ratios(["physics m=196000"], "libsvm") == [60.0]  # the limit
    held = kind_sections.held_back_view(lines)
    assert [(kind.name, sets) for kind, sets in held.kinds()] == [("noisy", ["ripples m=30000"])]


def test_a_set_of_two_suites_counts_once():
    found = [*lines_of("a9a", "peers", {"block": 1.0, "intelex": 9.0}), *lines_of("a9a", "kinds", {"block": 1.0})]
    found += lines_of("a9a", "kinds", {"intelex": 2.0})
    assert targets.ratios_of(found, "intelex", "fit_seconds") == [2.0]
    assert summary.Table(found, "peers", "kinds").ratio("a9a", "intelex", "block", "fit_seconds").value == 9.0


def test_targets_are_measured_from_the_lines(lines):
    measured = {(t.what, t.against): t.measure(lines) for t in targets.TARGETS}
    assert measured["fit, geometric mean of all sets", "intelex"] == pytest.approx((0.5 * 8 * 4) ** (1 / 3))
    assert measured["fit, worst set above 3000 rows", "intelex"] == 0.5
    assert measured["fit, geometric mean above 20000 rows", "scikit-learn"] == 2.0
    assert measured["fit, noisy, 100000 rows", "intelex"] == pytest.approx(1e-8 * 1e10 / (1e-6 * 1e7 * 10**0.5))
    assert measured["exponent of fit time in m, noisy", ""] == pytest.approx(1.5)
    assert measured["accuracy, points, worst set of the kinds, own C and gamma", "the best peer"] == pytest.approx(
        -0.25
    )
    assert measured["kernel values / floor, geometric mean of all sets", "nSV x m"] == pytest.approx(3.0)
    assert measured["memory by default, a9a, GB", "landed: 1.04"] == pytest.approx(2**28 / 1e9)
    assert measured["fit, noisy, 10^6 rows, minutes", ""] is None


@pytest.mark.parametrize(("status", "minutes"), [("ok", 20.0), ("timeout", np.inf)])
def test_a_million_rows_are_judged_by_the_lines_of_their_script(status, minutes):
    line = {"suite": "scale", "family": "noisy", "contender": "SVC", "rows": 10**6, "status": status}
    line["seconds"] = 1200.0
    other = {**line, "family": "physics", "seconds": 9999.0}
    assert targets.at_a_million("seconds", 60.0)([line, other]) == minutes


def test_the_report_has_kinds_growth_and_held_back_sets(lines, tmp_path):
    million = {"suite": "scale", "family": "noisy", "contender": "SVC", "rows": 10**6, "status": "ok"}
    million |= {"peak_bytes": 2**30, "seconds": 1200.0, "relative_gap": 0.02}
    text = report.write([*lines, million], tmp_path, "results").read_text()
    assert "| fit, noisy, 10^6 rows, minutes |  | <= 30 | 20 | met |" in text
    assert "| certified gap, noisy, 10^6 rows |  | <= 0.01 | 0.02 | **not met** |" in text
    figures = {path.stem for path in (tmp_path / "figures").glob("*.png")}
    assert {"kinds", "held-back", "growth"} <= figures
    assert all((tmp_path / "figures" / f"{name}.png").stat().st_size > 10_000 for name in ("kinds", "growth"))
    kinds, held = text.split("## Held-back sets")
    assert "| noisy | a smooth function plus noise; most rows are support vectors | 1 | 0.50 | 10.00 | 5.00 |" in kinds
    assert "ripples" not in kinds and "Measured once" in held and "| ripples m=30000 |" in held
    assert "| noisy noise=0.3 | swapsvm | 10000 to 100000 | 1 to 31.6 | 1.50 ± 0.00 |" in text
    assert "| 91.00 | 91.25 | -0.25 |" in text  # at the parameters of each loss


# ---- README -----------------------------------------------------------------------------------------------------


def test_the_readme_table_shows_losses_and_wins(lines):
    rows = {line.split(" | ")[0].strip("| "): line for line in readme_table.table(lines).splitlines() if "|" in line}
    assert "| 0.5 | 10 | 5 | **slower** on 1 | -0.25 |" in rows["noisy"]
    assert "| 8 | 2 | 60 | faster on 1 |" in rows["clean, many rows"]
    assert "faster on 2, **slower** on 1" in rows["**all sets**"] and "(0.5-8)" in rows["**all sets**"]
    assert "| 1 | 2 |" in rows["**held-back sets**"]


def test_the_readme_table_has_no_empty_columns(lines):
    assert "| LIBSVM / swapsvm |" in readme_table.table(lines)
    assert "LIBSVM" not in readme_table.table([line for line in lines if line["solver"] != "libsvm"])


def test_the_chart_of_speed_has_a_row_for_each_kind_and_one_for_all(lines):
    rows, marks = [], []
    for axes in speed_chart.speed_chart(lines).axes:
        rows += [label.get_text() for label in axes.get_yticklabels()]
        marks += [float(line.get_xdata()[0]) for line in axes.lines if line.get_label() == "scikit-learn-intelex (2.0)"]
    assert rows == ["noisy (1)", "all sets (1)"]
    assert marks == [2.0]


def test_the_chart_of_speed_needs_held_back_sets(lines, tmp_path, capsys):
    results = tmp_path / "results.jsonl"
    results.write_text("".join(json.dumps(line) + "\n" for line in lines if not line["suite"].startswith("held-back")))
    with pytest.raises(SystemExit):
        speed_chart.main([str(results), "--write", str(tmp_path / "speed.svg")])
    assert "no lines of the suite held-back" in capsys.readouterr().err


def test_the_readme_table_is_written_between_its_markers(lines, tmp_path):
    results, page = tmp_path / "results.jsonl", tmp_path / "README.md"
    results.write_text("".join(json.dumps(line) + "\n" for line in lines))
    page.write_text(f"before\n{readme_table.BEGIN}\nold\n{readme_table.END}\nafter\n")
    readme_table.main([str(results), "--write", str(page)])
    once = page.read_text()
    readme_table.main([str(results), "--write", str(page)])
    assert page.read_text() == once and "old" not in once and "| noisy |" in once
    assert once.startswith("before\n") and once.endswith("\nafter\n")


@pytest.mark.parametrize("text", ["no markers", f"{readme_table.END}{readme_table.BEGIN}"])
def test_a_page_without_markers_is_left_alone(lines, tmp_path, text):
    results, page = tmp_path / "results.jsonl", tmp_path / "README.md"
    for line in lines:
        records.append(results, line)
    page.write_text(text)
    with pytest.raises(SystemExit):
        readme_table.main([str(results), "--write", str(page)])
    assert page.read_text() == text


def test_the_readme_has_the_markers():
    text = (run.ROOT / "README.md").read_text()
    assert f"{readme_table.BEGIN}\nthe table\n{readme_table.END}" in readme_table.written(text, "the table")


def test_the_table_names_its_commit():
    assert f"commit {WHERE['commit']}." in readme_table.note_of([record_of("block", suite="kinds")])
