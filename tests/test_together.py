"""Models along C evaluated together: the classes that each of them predicts alone, for the kernel values of one."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from swapsvm.kernels import Precomputed, Rbf
from swapsvm.models import SCHEMES, Together, together
from swapsvm.models.sums import Sums
from swapsvm.problems import Coefficients, Family

COUNT = 6  # models
KERNEL = Rbf(0.1)
X = np.random.default_rng(0).normal(size=(400, 5))


def random_families(name, n_classes, absent=None):
    """Rows of each class, and for each problem random functions over ever fewer rows."""
    rng = np.random.default_rng(n_classes)
    labels = rng.integers(0, n_classes, len(X))
    groups = [np.flatnonzero((labels == c) & (c != absent)) for c in range(n_classes)]
    present = [c for c in range(n_classes) if c != absent]
    families = {}
    for problem, split in SCHEMES[name].sides(present, n_classes).items():
        rows = np.concatenate([groups[c] for side in split for c in side])
        some = [rng.choice(rows, len(rows) // (k + 1), replace=False) for k in range(COUNT)]
        families[problem] = [Coefficients(own, rng.normal(size=len(own)), float(rng.normal())) for own in some]
    return groups, families


def both(name, rows, kernel, groups, functions):
    """The models together, and one by one over their own vectors."""
    scheme = SCHEMES[name]
    joint = Together.of(
        scheme.models(rows, kernel, groups, {key: Family.of(along) for key, along in functions.items()})
    )
    alone = [scheme.model(rows, kernel, groups, {key: f[k] for key, f in functions.items()}) for k in range(COUNT)]
    return joint, alone


CASES = [("ovo", 2, None), ("ovo", 3, None), ("ovo", 7, None), ("ovo", 4, 1), ("ovr", 3, None), ("ovr", 4, 2)]


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("name", "n_classes", "absent"), CASES)
def test_each_model_predicts_as_it_does_alone(name, n_classes, absent, storage):
    rows = storage(X)
    joint, alone = both(name, rows, KERNEL, *random_families(name, n_classes, absent))
    assert len(joint.vectors) > min(len(model.vectors) for model in alone)
    for number, model in enumerate(alone):
        found = joint.decisions(rows)[:, number]
        np.testing.assert_allclose(found, model.decisions(rows), rtol=1e-12, atol=1e-11)
    np.testing.assert_array_equal(joint.winners(rows), [model.winners(model.decisions(rows)) for model in alone])


def test_blocks_of_rows_change_nothing(monkeypatch):
    joint, _ = both("ovo", X, KERNEL, *random_families("ovo", 5))
    whole = joint.winners(X)
    monkeypatch.setattr(together, "BLOCK_VALUES", 7 * COUNT * 10 + 1)
    np.testing.assert_array_equal(joint.winners(X), whole)
    assert joint.winners(X[:0]).shape == (COUNT, 0)


def test_a_precomputed_kernel_has_columns_instead_of_rows():
    K = np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    groups, functions = random_families("ovo", 3)
    given, _ = both("ovo", K, Precomputed(), groups, functions)
    computed, _ = both("ovo", X, KERNEL, groups, functions)
    np.testing.assert_array_equal(given.winners(K), computed.winners(X))


def test_ties_are_decided_in_double():
    """A model whose functions are all 0 among others: its rows are doubtful in single precision, and stay ties."""
    groups, functions = random_families("ovo", 3)
    for along in functions.values():
        along[2] = Coefficients(along[2].rows, np.zeros(len(along[2].rows)), 0.0)
    joint, alone = both("ovo", X, KERNEL, groups, functions)
    assert not joint.are_certain(joint.decisions(X, single=True), np.full(len(X), 1e-6)).any()
    np.testing.assert_array_equal(joint.certain_decisions(X), joint.decisions(X))
    np.testing.assert_array_equal(joint.winners(X)[2], alone[2].winners(alone[2].decisions(X)))


def test_kernel_values_are_computed_once_for_all(monkeypatch):
    asked, original = [], Sums.of

    def counted(self, rows, single, threads):
        asked.append(rows.shape[0] * len(self.vectors))
        return original(self, rows, single, threads)

    monkeypatch.setattr(Sums, "of", counted)
    joint, _ = both("ovo", X, KERNEL, *random_families("ovo", 4))
    joint.winners(X[:50])
    assert asked == [50 * len(joint.vectors)]


def test_a_family_keeps_its_functions():
    rng = np.random.default_rng(1)
    functions = [
        Coefficients(rng.choice(30, size, replace=False), rng.normal(size=size), float(size)) for size in (9, 1, 4)
    ]
    family = Family.of(functions)
    assert len(family) == 3 and set(family.rows) == {row for f in functions for row in f.rows.tolist()}
    for number, given in enumerate(functions):
        found, order = family.at(number), np.argsort(given.rows)
        np.testing.assert_array_equal(found.rows, given.rows[order])
        np.testing.assert_array_equal(found.coef, given.coef[order])
        assert found.intercept == given.intercept
    later = family.part(slice(1, 3))
    assert len(later) == 2 and later.at(1).intercept == 4.0
    assert functions[0].alone().at(0).intercept == 9.0


def test_pairs_of_classes_keep_their_order():
    """The outputs of a model lie behind those of the model before it, pair by pair."""
    groups, functions = random_families("ovo", 4)
    joint, _ = both("ovo", X, KERNEL, groups, functions)
    K = np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    for place, pair in enumerate(combinations(range(4), 2)):
        for number, function in enumerate(functions[pair]):
            expected = K[:, function.rows] @ function.coef + function.intercept
            np.testing.assert_allclose(joint.decisions(X)[:, number, place], expected, atol=1e-11)
