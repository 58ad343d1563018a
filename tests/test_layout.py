"""Where the rows of a job lie in its Gram: pieces, what each fold trains on, and the variables of each problem."""

import numpy as np
import pytest

from swapsvm.models import scheme_of
from swapsvm.selection.layout import Fold, Layout, Path, pieces
from swapsvm.selection.targets import Classes, Numbers

LABELS = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 1])
ROWS = [np.flatnonzero(c == LABELS) for c in range(3)]
WEIGHTS = {0: np.where(np.arange(12) < 8, 1.0, 0.0), 1: np.where(np.arange(12) > 3, 2.0, 0.0)}
FOLDS = {fold: Fold(np.flatnonzero(weights == 0), weights) for fold, weights in WEIGHTS.items()}
TARGETS = Classes(ROWS, [{}], LABELS, np.arange(3), None, scheme_of("ovo", 3))


@pytest.fixture(params=["one behind the other", "in place"])
def layout(request):
    """Of the classes 0 and 2 in both folds."""
    trained = np.column_stack([fold.weights > 0 for fold in FOLDS.values()])
    own = [(g, *piece) for g in (0, 2) for piece in pieces(ROWS[g], trained)]
    found = Layout.of(TARGETS, FOLDS, own)
    return found.in_place(12) if request.param == "in place" else found


def test_groups_of_the_gram_are_the_pieces(layout):
    for group, (_, rows, _) in zip(layout.groups, layout.pieces, strict=True):
        np.testing.assert_array_equal(layout.rows[group], rows)


@pytest.mark.parametrize("fold", FOLDS)
def test_a_fold_trains_on_its_rows(layout, fold):
    trained = layout.trained[fold]
    for c in (0, 2):
        rows = np.concatenate([layout.rows[layout.groups[g]] for g in trained.groups[c]])
        assert sorted(rows) == [row for row in ROWS[c] if WEIGHTS[fold][row] > 0]
    if fold == 0:
        assert trained.weights is None  # all are 1
    else:
        np.testing.assert_array_equal(trained.weights, WEIGHTS[fold][layout.rows])
    assert layout.most_rows == 5


def test_variables_of_a_pair_are_its_positive_rows_then_the_negative_ones(layout):
    found = layout.two_sided(Path(1, 0, (0, 2)))
    assert LABELS[found.rows].tolist() == [0] * found.positive + [2] * (len(found.rows) - found.positive)
    assert sorted(found.rows) == [row for row in range(4, 12) if LABELS[row] in (0, 2)]
    assert layout.two_sided(Path(1, 0, (0, 2))) is found


def test_numbers_have_no_sides():
    rows = np.arange(12)
    own = [(0, *piece) for piece in pieces(rows, np.ones((12, 1), dtype=bool))]
    found = Layout.of(Numbers([rows], [{"epsilon": 0.1}], np.ones(12)), {0: Fold(rows, np.ones(12))}, own)
    assert found.two_sided(Path(0, 0, ())) is None
