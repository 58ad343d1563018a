"""Kinds of data: generators are of the promised kind, held-back sets stay apart, reports compute the right numbers."""

import json
import tomllib

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks import datasets, kind_sections, readme_table, report, run, suites, summary, targets
from benchmarks.kinds import DEVELOPMENT, HELD_BACK, KINDS, family, kind_of, names, parameters, tune
from benchmarks.kinds.generators import GENERATORS
from benchmarks.kinds.held_back_generators import GENERATORS as HELD_BACK_GENERATORS
from benchmarks.objective import warm_up
from benchmarks.solvers import COMPETITORS
from benchmarks.tune import Choice, right_of
from sklearn.svm import SVC as SklearnSVC

from swapsvm.study import records

from .test_benchmarks import WHERE, record_of, task_of

SMALL = {"text": "text m=600 words=2000 classes=20", "topics": "topics m=600 words=3000 classes=20"}
MULTICLASS = {"images": 6, "clusters": 6, "text": 20, "strokes": 8, "orbits": 7, "codes": 26, "topics": 20}


def small(maker, **settings):
    words = " ".join(f"{key}={value}" for key, value in settings.items())
    return SMALL.get(maker, f"{maker} m=600 {words}".strip())


# ---- generators -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("maker", [*GENERATORS, *HELD_BACK_GENERATORS])
def test_a_generator_is_deterministic_and_has_its_classes(maker):
    first, again, other = (names.load(f"{small(maker)}{seed}") for seed in ("", "", " seed=5"))
    dense = [part[0].toarray() if sp.issparse(part[0]) else part[0] for part in (first, again, other)]
    assert np.array_equal(dense[0], dense[1]) and np.array_equal(first[1], again[1])
    assert not np.array_equal(dense[0], dense[2])
    assert dense[0].shape[0] == 600 and first[2].shape[0] == 500 and np.isfinite(dense[0]).all()
    assert len(np.unique(first[1])) == MULTICLASS.get(maker, 2)


def test_larger_sets_have_the_same_world():
    few, many = (names.load(f"bumps m={rows}") for rows in (500, 2000))
    model = SklearnSVC(C=16.0, gamma=1.0).fit(many[0], many[1])
    assert model.score(few[2], few[3]) > 0.85


def test_the_noisy_family_is_the_one_that_is_defined():
    X, y, _, _ = names.load("noisy m=20000 noise=0.3")
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5
    clear = np.abs(f) > 1.5  # five standard deviations of the noise
    assert X.shape == (20000, 22) and np.array_equal(np.sign(f[clear]), y[clear])
    assert 0.02 < np.mean(np.sign(f) != y) < 0.2
    for name, C in (("noisy m=500 noise=0.3", 1.0), ("noisy m=500 noise=0.1", 10.0)):
        assert datasets.parameters_of(name, X) == (C, 1 / 44)


def support_share(name, C, multiple=1.0):
    X, y, _, _ = names.load(name)
    model = SklearnSVC(C=C, gamma=multiple * datasets.gamma_scale(X)).fit(X, y)
    return len(model.support_) / len(y)


@pytest.mark.parametrize(
    ("name", "C", "low", "high"),
    [
        ("noisy m=2000 noise=0.3", 1.0, 0.7, 0.95),
        ("ripples m=2000", 1.0, 0.7, 0.95),
        ("tabular m=2000", 16.0, 0.45, 0.75),
        ("census m=2000", 16.0, 0.4, 0.7),
        ("bumps m=2000", 16.0, 0.1, 0.3),
        ("checkers m=4000", 16.0, 0.1, 0.45),
        ("physics m=8000", 16.0, 0.0, 0.03),
        ("spirals m=8000", 16.0, 0.0, 0.02),
    ],
)
def test_shares_of_support_vectors_are_those_of_the_kind(name, C, low, high):
    assert low <= support_share(name, C) <= high


@pytest.mark.parametrize("maker", ["unbalanced", "rare"])
def test_unbalanced_sets_have_one_row_in_fifty(maker):
    y = names.load(f"{maker} m=20000")[1]
    assert np.mean(y == -1) / np.mean(y == 1) == pytest.approx(50, rel=0.15)


@pytest.mark.parametrize("maker", ["tails", "bursts"])
def test_heavy_tails_are_heavier_than_normal(maker):
    X = names.load(f"{maker} m=5000")[0]
    centred = X - X.mean(axis=0)
    assert np.median((centred**4).mean(axis=0) / (centred**2).mean(axis=0) ** 2) > 6  # normal: 3


@pytest.mark.parametrize("maker", ["text", "topics"])
def test_texts_are_wide_sparse_rows_of_unit_length(maker):
    X, y, _, _ = names.load(f"{maker} m=1000")
    assert X.shape[1] >= 40_000 and X.nnz / X.shape[0] < 150
    assert np.allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1)
    used = np.sort(np.bincount(X.indices))[::-1]
    assert used[0] > 30 * used[2000] > 0  # a few words are everywhere, most are rare
    assert 50 <= len(np.unique(y)) <= 105


def test_tabular_columns_are_correlated_and_of_mixed_scales():
    X = names.load("tabular m=3000")[0]
    between = np.abs(np.corrcoef(X.T)) - np.eye(X.shape[1])
    assert between.max() > 0.4 and X.std(axis=0).max() / X.std(axis=0).min() > 3


def test_images_of_a_class_vary_but_can_be_told_apart():
    X, y, X_test, y_test = names.load("images m=1500 side=16")
    assert X.shape[1] == 256 and X.min() > -0.5 and X.max() < 1.5
    assert SklearnSVC(C=16.0).fit(X, y).score(X_test, y_test) > 0.7


# ---- lists ------------------------------------------------------------------------------------------------------


def test_every_kind_has_sets_of_development_and_held_back_ones():
    assert all(kind.development and kind.held_back for kind in KINDS)
    assert len({*DEVELOPMENT, *HELD_BACK}) == len(DEVELOPMENT) + len(HELD_BACK)
    assert not {family(name) for name in DEVELOPMENT} & {family(name) for name in HELD_BACK}
    assert set(datasets.REAL) <= set(DEVELOPMENT)
    assert kind_of("text m=6400") == "wide sparse" == kind_of("topics m=5000") and kind_of("other") == ""


def test_held_back_sets_have_generators_or_seeds_of_their_own():
    for name in HELD_BACK:
        assert name in names.real.SETS or name.split()[0] in HELD_BACK_GENERATORS or "seed=" in name
    assert not any(name.split()[0] in HELD_BACK_GENERATORS for name in DEVELOPMENT)
    others = [name for kind in KINDS for name in kind.held_back if name.split()[0] not in GENERATORS]
    assert {kind_of(name) for name in others} == {kind.name for kind in KINDS}  # not only another seed


def test_the_split_is_written_down():
    text = (run.ROOT / "benchmarks" / "README.md").read_text()
    for kind in KINDS:
        lists = (", ".join(names) for names in (kind.development, kind.held_back))
        assert f"| {kind.name} | {kind.about} | {' | '.join(lists)} |" in text


def test_development_runs_do_not_touch_held_back_sets():
    for suite in [*suites.full(), *suites.quick()]:
        assert not set(suite.data) & set(HELD_BACK)
    assert not {"held-back", "held-back-tuned"} & set(run.arguments([]).suites)


@pytest.mark.parametrize(
    "words", [["--quick"], ["--data", "wine"], ["--solvers", "block"], ["--suites", "held-back", "kinds"]]
)
def test_held_back_suites_refuse_partial_runs(words, capsys):
    with pytest.raises(SystemExit):
        run.arguments(["--suites", "held-back", *words])
    assert "measured once" in capsys.readouterr().err


def test_held_back_suites_give_notice(capsys):
    options = run.arguments(["--suites", "held-back", "--limit", "5"])
    assert "held back" in capsys.readouterr().out
    assert {task.data for task in run.planned(options)} == set(HELD_BACK)


def test_held_back_sets_are_tuned_only_on_request(capsys):
    with pytest.raises(SystemExit):
        tune.arguments(["--data", "wine"])
    assert tune.chosen(tune.arguments(["--held-back", "--data", "wine"])) == ["wine"]


# ---- parameters -------------------------------------------------------------------------------------------------


def test_each_loss_has_its_own_parameters(tmp_path, monkeypatch):
    monkeypatch.setattr(parameters, "PATH", tmp_path / "kinds.toml")
    monkeypatch.setattr(tune, "COSTS", (1.0, 16.0))
    monkeypatch.setattr(tune, "MULTIPLES", (0.25, 1.0))
    tune.main(["--data", "moons m=400", "--sample", "200"])
    entry = tomllib.loads((tmp_path / "kinds.toml").read_text())["moons"]
    assert entry["sample"] == 200 and np.shape(entry["hinge"]["grid"]) == (2, 2)
    assert entry["hinge"]["accuracy_hinge"] == np.max(entry["hinge"]["grid"]) > 0.8
    own = datasets.parameters_by_loss("moons m=900", None, own=True)  # the family shares them
    assert own["squared_hinge"] == (entry["squared_hinge"]["C"], entry["squared_hinge"]["gamma"])
    X = names.load("moons m=400")[0]
    common = datasets.parameters_by_loss("moons m=400", X, own=False)
    assert common["hinge"] == common["squared_hinge"] == (entry["common"]["C"], entry["common"]["gamma"])
    assert "moons m=30000" not in tune.chosen(tune.arguments([]))
    with pytest.raises(LookupError, match=r"benchmarks.kinds.tune --data 'tails m=15000'"):
        datasets.parameters_by_loss("tails m=15000", X, own=True)


def test_the_best_pair_of_a_loss_is_its_own():
    right = [(1.0, 0.0625, 9, 5), (1.0, 1.0, 8, 8), (4.0, 1.0, 8, 9), (4.0, 4.0, 9, 2)]
    choices = [Choice(C, multiple, {"hinge": h, "squared_hinge": s}) for C, multiple, h, s in right]
    entry = tune.entry_of(choices, scale=2.0, rows=10)
    pairs = {key: (entry[key]["C"], entry[key]["gamma"]) for key in ("common", "hinge", "squared_hinge")}
    assert pairs == {"common": (4.0, 2.0), "hinge": (1.0, 0.125), "squared_hinge": (4.0, 2.0)}
    assert entry["hinge"]["at_border"] and not entry["common"]["at_border"]


def test_the_precomputed_kernel_counts_the_same_rows():
    X, y, _, _ = names.load("clusters m=300 classes=3 features=2")
    expected = right_of("scikit-learn", X, y, 4.0, 0.3, 1)
    assert tune.Precomputed(X, y).right(4.0, 0.3) == expected < 300


def test_stored_parameters_are_of_known_sets_and_of_the_grid():
    families = {family(name) for name in (*DEVELOPMENT, *HELD_BACK)}
    for name, entry in parameters.stored().items():
        assert name in families
        for part in ("common", "hinge", "squared_hinge"):
            assert entry[part]["C"] in tune.COSTS and entry[part]["gamma_multiple"] in tune.MULTIPLES
            assert entry[part]["gamma"] == pytest.approx(entry[part]["gamma_multiple"] * entry["gamma_scale"])


def test_a_competitor_gets_the_parameters_of_its_loss(tmp_path, monkeypatch):
    pairs = {"hinge": (3.0, 0.5), "squared_hinge": (7.0, 0.25)}
    monkeypatch.setattr(datasets, "parameters_by_loss", lambda name, X, own: pairs if own else {})
    tasks = [
        task_of(s, suite="kinds-tuned", data="moons m=300", own_parameters=True) for s in ("block", "scikit-learn")
    ]
    run.prepare(tasks[0], tmp_path)
    found = [run.in_own_process(task, tmp_path) for task in tasks]
    assert [(r["C"], r["gamma"]) for r in found] == [(7.0, 0.25), (3.0, 0.5)]


def test_many_classes_warm_up_on_few_rows():
    class Counting(COMPETITORS["scikit-learn"]):
        def fit(self, X, y):
            self.rows = len(y)
            super().fit(X, y)

    competitor = Counting(1.0, 1.0, 1)
    warm_up(competitor, datasets.load("text m=2000 words=500 classes=100"))
    assert competitor.rows <= 400


def test_lines_without_later_fields_are_still_read():
    line = record_of("block")
    del line["own_parameters"]
    assert run.key_of(line) == task_of("block", data="one").key


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
    line = {"suite": "noisy-scale", "contender": "SVC", "rows": 10**6, "status": status, "seconds": 1200.0}
    assert targets.at_a_million("seconds", 60.0)([line]) == minutes


def test_the_report_has_kinds_growth_and_held_back_sets(lines, tmp_path):
    million = {"suite": "noisy-scale", "contender": "SVC", "rows": 10**6, "status": "ok", "peak_bytes": 2**30}
    million |= {"seconds": 1200.0, "relative_gap": 0.02}
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
