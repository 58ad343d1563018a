"""The time-accuracy curves: fits in their own processes, resumable lines, reports that show what was measured."""

import numpy as np
import pytest
from benchmarks import budget, contenders, datasets, scale, trials
from sklearn.neighbors import NearestCentroid

from swapsvm.study import records

from .test_benchmarks import WHERE


class Stub(NearestCentroid):
    """Stands for SVC(max_vectors=k): a fitted model with a certificate."""

    def __init__(self, setting=None):
        super().__init__()
        self.setting = setting

    def fit(self, X, y):
        self.support_ = np.arange(self.setting.vectors)
        self.relative_gap_, self.primal_value_, self.dual_value_ = [0.1, 0.3], [2.0, 3.0], [1.0, 1.5]
        return super().fit(X, y)


def line_of(contender, vectors, seconds=1.0, accuracy=0.8, **numbers):
    fixed = {"suite": "scale", "family": "noisy", "data": "noisy m=500 noise=0.3", "rows": 500, "C": 1.0, "gamma": 0.1}
    run = {"load": 0.5, "threads": 1, "limit": 5.0, "repetition": 0, "status": "ok", "where": WHERE, "kept": vectors}
    measured = {"seconds": seconds, "cpu_seconds": seconds, "predict_seconds": 0.1, "peak_bytes": 2**20}
    return {**fixed, **run, **measured, "contender": contender, "vectors": vectors, "accuracy": accuracy, **numbers}


CURVES = [
    *(line_of("Nystroem + LinearSVC", k, k / 100, 0.7 + k / 10000) for k in (32, 64, 128)),
    *(line_of("SVC(max_vectors)", k, k / 50, 0.75 + k / 10000, relative_gap=3 / k) for k in (32, 64, 128)),
    line_of("SVC", None, 4.0, 0.81, relative_gap=0.009, kept=450),
    {**line_of("intelex", None), "status": "timeout"},
]


def test_a_fit_is_measured_with_its_certificate(monkeypatch):
    monkeypatch.setitem(contenders.CONTENDERS, "SVC(max_vectors)", Stub)
    task = {"contender": "SVC(max_vectors)", "vectors": 40, "C": 1.0, "gamma": 0.1, "threads": 1, "limit": 60.0}
    found = trials.measure(task, datasets.load("clusters m=400"))
    assert found["kept"] == 40 and 0.5 < found["accuracy"] <= 1 and found["seconds"] > 0
    assert (found["relative_gap"], found["primal_value"], found["dual_value"]) == (0.3, 5.0, 2.5)


@pytest.mark.parametrize("name", [n for n in contenders.CONTENDERS if contenders.is_available(n)])
def test_every_contender_fits_within_its_vectors(name):
    split = datasets.load("moons m=400")
    task = {"contender": name, "vectors": None if name in contenders.WITHOUT_LIMIT else 30}
    found = trials.measure({**task, "C": 4.0, "gamma": 1.0, "threads": 1, "limit": 60.0}, split)
    assert found["accuracy"] > 0.8 and (task["vectors"] is None or found["kept"] <= 30)
    assert ("relative_gap" in found) == (name in ("SVC", "SVC(max_vectors)", "reduce_support"))


def test_features_in_parts_give_the_same_model(monkeypatch):
    split = datasets.load("moons m=500")
    monkeypatch.setattr(contenders, "PART", 100)
    kept = contenders.StreamedSGD(contenders.Setting(4.0, 1.0, 30, 1)).fit(split.X, split.y)
    monkeypatch.setattr(contenders, "IN_MEMORY", 0)
    again = contenders.StreamedSGD(contenders.Setting(4.0, 1.0, 30, 1)).fit(split.X, split.y)
    assert np.array_equal(kept.predict(split.X_test), again.predict(split.X_test))


def test_a_curve_is_measured_once_and_continued(tmp_path):
    output = tmp_path / "runs.jsonl"
    words = ["--families", "noisy", "--rows", "400", "--threads", "1", "--output", str(output)]
    words += ["--contenders", "SVC", "Nystroem + LinearSVC"]
    scale.main([*words, "--vectors", "16"])
    assert [(r["contender"], r["vectors"], r["status"]) for r in records.read(output)] == [
        ("Nystroem + LinearSVC", 16, "ok"),
        ("SVC", None, "ok"),
    ]
    scale.main([*words, "--vectors", "16", "32"])
    assert [r["vectors"] for r in records.read(output)] == [16, None, 32]
    text = (tmp_path / "report.md").read_text()
    assert "### noisy, 400 rows" in text and "| Nystroem + LinearSVC | 32 |" in text
    assert (tmp_path / "noisy.png").stat().st_size > 10_000


def test_a_fit_over_its_limit_is_recorded_and_not_tried_again(tmp_path):
    output, data = tmp_path / "runs.jsonl", "noisy m=3000 noise=0.3"
    words = ["--data", data, "--output", str(output), "--contenders", "SVC", "--limit", "0.001"]
    budget.main([*words, "--threads", "1", "--repetitions", "2"])
    assert [r["status"] for r in records.read(output)] == ["timeout"]
    assert "| SVC |  | timeout |" in (tmp_path / "report.md").read_text()


def test_without_max_vectors_its_fits_are_left_out(monkeypatch):
    options = budget_options("--vectors", "32")
    monkeypatch.setattr(trials, "is_available", lambda name: name != "SVC(max_vectors)")
    names = [task["contender"] for task in trials.tasks_of({}, options)]
    assert names == ["reduce_support", "Nystroem + LinearSVC", "SVC"]


def budget_options(*words):
    return trials.parser_of(None, "runs.jsonl", budget.WHO, budget.VECTORS).parse_args(words)


def test_repetitions_become_medians():
    lines = [{**line_of("SVC", None, seconds), "repetition": k} for k, seconds in enumerate((1.0, 5.0, 2.0))]
    failed = {**line_of("SVC", None), "repetition": 3, "status": "timeout"}
    (found,) = trials.medians([*lines, failed])
    assert found["seconds"] == 2.0 and found["status"] == "ok"


@pytest.mark.parametrize(("script", "name"), [(scale, "noisy"), (budget, "budget")])
def test_reports_show_each_point(script, name, tmp_path):
    lines = [line for line in CURVES if line["contender"] in script.WHO]
    script.write(lines, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    for line in lines:
        if line["status"] == "ok":
            row = next(r for r in text.splitlines() if r.startswith(f"| {line['contender']} | {line['kept']} |"))
            assert f"{100 * line['accuracy']:.2f}" in row and f"{line['seconds']:.3g}" in row
    assert ("| intelex |  | > 5 |" in text) == (script is scale)


def test_families_have_sections_sizes_and_figures_of_their_own(tmp_path):
    physics = {"family": "physics", "data": "physics m=900", "rows": 900, "C": 256.0, "limit": 7.0}
    lines = [*CURVES, line_of("SVC", None, 1234.5, 0.99, kept=30, **physics, note="Measured elsewhere.")]
    lines += [{**line_of("SVC", None, rows=700), "family": "digits", "status": "timeout"}]
    scale.write(lines, tmp_path)
    text = (tmp_path / "report.md").read_text()
    headings = [row for row in text.splitlines() if row.startswith("##")]
    assert headings == [
        *("## noisy", "### noisy, 500 rows", "## physics", "### physics, 900 rows"),
        *("## digits", "### digits, 700 rows"),
    ]
    assert "limit 5 or 7 s" in text and "Measured elsewhere." in text and "C = 256, gamma = 0.1." in text
    assert "| SVC | 30 | 1234 | 1234 | 99.000 | no certificate | 1 |" in text
    assert {path.stem for path in tmp_path.glob("*.png")} == {"noisy", "physics"}  # no digits were classified


def test_each_family_has_its_own_parameters_and_largest_size(monkeypatch, tmp_path):
    ran, small = [], datasets.load("physics m=50")
    monkeypatch.setattr(datasets, "load", lambda name: small)
    monkeypatch.setattr(scale.Trials, "run", lambda self, tasks, split: ran.extend(tasks))
    options = trials.parser_of(None, str(tmp_path / "runs.jsonl"), scale.WHO, ()).parse_args(["--contenders", "SVC"])
    options.families, options.rows = list(scale.FAMILIES), [10**6, 5 * 10**6]
    scale.run(options)
    assert [(task["family"], task["rows"]) for task in ran] == [
        *(("noisy", 10**6), ("noisy", 5 * 10**6), ("physics", 10**6), ("physics", 5 * 10**6), ("digits", 10**6)),
    ]
    assert [task["C"] for task in ran] == [1.0, 1.0, 256.0, 256.0, 16.0]
