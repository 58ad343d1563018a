"""CSR as it comes: empty rows and columns, explicit zeros, unsorted and repeated entries, 64-bit indices, any width."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

from swapsvm import SVC

WIDTHS = (1, 7, 1500, 2**20, 2**31 - 2)
VALUES = st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, 1e-3])


@st.composite
def csr(draw):
    """A matrix with raw arrays, and its used columns as a dense one."""
    width, rows = draw(st.sampled_from(WIDTHS)), draw(st.integers(6, 16))
    columns = draw(st.lists(st.integers(0, width - 1), min_size=1, max_size=6, unique=True))
    counts = [draw(st.integers(0, 5)) for _ in range(rows)]
    places = draw(st.lists(st.integers(0, len(columns) - 1), min_size=sum(counts), max_size=sum(counts)))
    values = draw(st.lists(VALUES, min_size=sum(counts), max_size=sum(counts)))
    index = draw(st.sampled_from([np.int32, np.int64]))
    indptr = np.cumsum([0, *counts]).astype(index)
    indices = np.array([columns[place] for place in places], dtype=index)
    X = sp.csr_array((np.array(values, np.float64), indices, indptr), shape=(rows, width))
    dense = np.zeros((rows, len(columns)))
    np.add.at(dense, (np.repeat(np.arange(rows), counts), np.array(places, dtype=int)), values)
    return X, dense


@settings(deadline=None, max_examples=60)
@given(csr(), st.sampled_from(["linear", "rbf", "poly", "laplacian"]), st.sampled_from([2, 3]))
def test_any_layout_is_the_dense_matrix(matrices, kernel, classes):
    X, dense = matrices
    before = [array.copy() for array in (X.data, X.indices, X.indptr)]
    y = np.arange(X.shape[0]) % classes
    settings = {"kernel": kernel, "gamma": 0.5, "C": 2.0, "degree": 2, "coef0": 1.0}
    model, expected = SVC(**settings).fit(X, y), SVC(**settings).fit(dense, y)
    assert max(model.relative_gap_, expected.relative_gap_) < 1e-9
    np.testing.assert_allclose(model.primal_value_, expected.primal_value_, rtol=1e-9)
    decisions = expected.decision_function(dense)
    np.testing.assert_allclose(model.decision_function(X), decisions, atol=2e-5 * max(1.0, np.abs(decisions).max()))
    for array, old in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(array, old)  # the user's matrix stays as it is


@pytest.mark.parametrize(
    "vectorizer", [TfidfVectorizer(), HashingVectorizer(n_features=2**20)], ids=["tf-idf", "hashing"]
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_text_as_it_comes(vectorizer, kernel):
    rng = np.random.default_rng(0)
    subjects = [[f"{subject}{k}" for k in range(30)] for subject in ("star", "tree", "boat", "road")]
    y = rng.integers(0, 4, 200)
    texts = [" ".join(rng.choice([*subjects[label], "the", "and", "of"], 25)) for label in y]
    X = vectorizer.fit_transform(texts)
    model = SVC(kernel=kernel, C=4).fit(X[:150], y[:150])
    assert model.relative_gap_ <= 1e-3 and model.score(X[150:], y[150:]) > 0.9
