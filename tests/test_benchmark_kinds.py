"""Kinds of data: generators are of the promised kind, held-back sets stay apart, each loss has its parameters."""

import tomllib

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks import datasets, run, suites
from benchmarks.kinds import DEVELOPMENT, HELD_BACK, KINDS, family, kind_of, names, parameters, tune
from benchmarks.kinds.generators import GENERATORS
from benchmarks.kinds.held_back_generators import GENERATORS as HELD_BACK_GENERATORS
from benchmarks.objective import warm_up
from benchmarks.solvers import COMPETITORS
from benchmarks.tune import Choice, right_of
from sklearn.svm import SVC as SklearnSVC

from .test_benchmarks import record_of, task_of

SMALL = {"text": "text m=600 words=2000 classes=20", "topics": "topics m=600 words=3000 classes=20"}
MULTICLASS = {
    "images": 6,
    "clusters": 6,
    "text": 20,
    "strokes": 8,
    "spectra": 6,
    "orbits": 7,
    "petals": 4,
    "knots": 5,
    "codes": 26,
    "topics": 20,
}


def small(maker):
    return SMALL.get(maker, f"{maker} m=600")


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
        ("claims m=2000", 16.0, 0.4, 0.8),
        ("sensors m=2000", 16.0, 0.2, 0.7),
        ("bumps m=2000", 16.0, 0.1, 0.3),
        ("checkers m=4000", 16.0, 0.1, 0.45),
        ("dunes m=4000", 16.0, 0.1, 0.45),
        ("physics m=8000", 16.0, 0.0, 0.03),
        ("spirals m=8000", 16.0, 0.0, 0.02),
        ("shells m=8000", 16.0, 0.0, 0.02),
    ],
)
def test_shares_of_support_vectors_are_those_of_the_kind(name, C, low, high):
    assert low <= support_share(name, C) <= high


@pytest.mark.parametrize("maker", ["unbalanced", "rare", "faults"])
def test_unbalanced_sets_have_one_row_in_fifty(maker):
    y = names.load(f"{maker} m=20000")[1]
    assert np.mean(y == -1) / np.mean(y == 1) == pytest.approx(50, rel=0.15)


@pytest.mark.parametrize("maker", ["tails", "bursts", "storms"])
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
    "words", [["--quick"], ["--data", "protein-val"], ["--solvers", "block"], ["--suites", "held-back", "kinds"]]
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
        tune.arguments(["--data", "protein-val"])
    assert tune.chosen(tune.arguments(["--held-back", "--data", "protein-val"])) == ["protein-val"]


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
