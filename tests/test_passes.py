"""Rows in shards: the same certified models as from rows in memory, within a limit of memory."""

import threading
import time
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from swapsvm import SVC, SVDD, SVR, Checkpoint, ConvergenceWarning, OneClassSVM
from swapsvm.datasets import Shards
from swapsvm.gram import Gram
from swapsvm.kernels import Laplacian, Linear, Poly, Rbf
from swapsvm.passes import Arithmetic, KernelPasses, blocks, sharded
from swapsvm.passes import kernel as kernel_passes
from swapsvm.passes.files import FileRows, opened
from swapsvm.passes.look import digest_of
from swapsvm.solvers.policy import Outlook

from .pressing import Press
from .test_primal_dual import svm_values

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3000, 5)).astype(np.float32)
CURVED = X[:, 0] * X[:, 1] + X[:, 2]
Y = np.where(CURVED + 0.3 * RNG.standard_normal(len(X)) > 0, "yes", "no")
THREE = np.digitize(CURVED, [-0.7, 0.7])
NUMBERS = CURVED + 0.1 * RNG.standard_normal(len(X))
SPARSE = sp.csr_array(np.where(RNG.random((3000, 40)) < 0.1, RNG.standard_normal((3000, 40)), 0))
CUTS = {"one": [], "few": [1000, 2500], "uneven": [1, 1, 2, 2990], "empty at both ends": [0, 1500, 3000]}
LIMIT = 48_000  # bytes: less than the rows, in any type


def shards(rows, cuts=(1000, 2500), y=None, limit=LIMIT):
    bounds = [0, *cuts, rows.shape[0]]
    parts = [rows[first:last] for first, last in pairwise(bounds)]
    return Shards(parts, y=y, memory_limit=limit)


def values_of(model, rows):
    return getattr(model, "decision_function", model.predict)(rows)


FITS = {
    "two classes": (SVC(), X, Y),
    "three classes": (SVC(decision_function_shape="ovo"), X, THREE),
    "one against the rest": (SVC(multiclass="ovr"), X, THREE),
    "surrogate steps": (SVC(C=0.1, gamma=0.05), X, Y),
    "sparse": (SVC(gamma=0.1), SPARSE, Y),
    "linear": (SVC(kernel="linear"), X, Y),
    "polynomial in double": (SVC(kernel="poly", coef0=1.0), X.astype(np.float64), Y),
    "laplacian": (SVC(kernel="laplacian", gamma=0.1), X, Y),
    "balanced": (SVC(class_weight="balanced"), X, Y),
    "mean squared distance": (SVC(gamma="mean_sq_dist"), X, Y),
    "hard margin": (SVC(C=np.inf, gamma=0.5), X, X[:, 0] > 0),
    "regression": (SVR(), X, NUMBERS),
    "learned tube": (SVR(epsilon="auto"), X, NUMBERS),
    "one class": (OneClassSVM(contamination=0.1), X, None),
    "ball": (SVDD(contamination=0.1), X, None),
}


@pytest.mark.parametrize("name", FITS)
def test_same_model_within_the_certificate(name):
    model, rows, y = FITS[name]
    elsewhere = shards(rows, y=y, limit=2 * LIMIT if sp.issparse(rows) else LIMIT)
    inside, outside = model.__sklearn_clone__().fit(rows, y), model.__sklearn_clone__().fit(elsewhere)
    assert isinstance(opened(elsewhere), FileRows)
    assert outside.stop_reason_ == "gap"
    # each pair of P and D holds the optimum, so each P is above each D
    assert np.all(outside.primal_value_ >= inside.dual_value_) and np.all(inside.primal_value_ >= outside.dual_value_)
    found, expected = values_of(outside, elsewhere), values_of(inside, rows)
    assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > 0.99


def test_certificate_is_true():
    """P and D by other code, from the model that was trained in pieces."""
    model = SVC(gamma=0.3, C=2.0).fit(shards(X), Y)
    K = np.exp(-0.3 * ((X[:, None].astype(np.float64) - X[None].astype(np.float64)) ** 2).sum(axis=2))
    coef = np.zeros(len(X))
    coef[model.support_] = model.dual_coef_[0]
    primal, dual = svm_values(K, np.where(model.classes_[1] == Y, 1.0, -1.0), coef, 2.0, np.ones(len(X)))
    assert model.primal_value_[0] >= primal * (1 - 1e-9) and model.dual_value_[0] <= dual * (1 + 1e-9)
    assert model.primal_value_[0] == pytest.approx(primal, rel=1e-4)
    assert model.dual_value_[0] == pytest.approx(dual, rel=1e-4)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bits_do_not_depend_on_the_cut_or_on_threads(cut, n_jobs):
    model = SVC(n_jobs=n_jobs).fit(shards(X, CUTS[cut]), Y)
    expected = SVC(n_jobs=1).fit(shards(X), Y)
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(model.primal_value_, expected.primal_value_)
    assert "surrogate" not in set(model.trace_["kind"])  # sums over all rows do depend on the cut


@pytest.fixture
def few_are_symmetric(monkeypatch):
    """Products of 200 rows with themselves or more are made block by block."""
    monkeypatch.setattr(kernel_passes, "LEAST_SYMMETRIC", 200)
    monkeypatch.setattr(sharded, "LEAST_BLOCK", 64)


@pytest.mark.parametrize("cut", CUTS)
def test_products_of_rows_with_themselves_do_not_depend_on_the_cut(cut, few_are_symmetric, monkeypatch):
    met = []
    monkeypatch.setattr(blocks.Meeting, "among", _noting(blocks.Meeting.among, met))
    model, expected = SVC(n_jobs=2).fit(shards(X, CUTS[cut]), Y), SVC(n_jobs=1).fit(shards(X), Y)
    assert len(met) > 20
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(model.primal_value_, expected.primal_value_)
    plain = SVC().fit(X, Y)
    assert model.primal_value_ >= plain.dual_value_ and plain.primal_value_ >= model.dual_value_


def _noting(method, calls):
    def noted(self, *arguments):
        calls.append(arguments)
        return method(self, *arguments)

    return noted


@pytest.mark.parametrize("kernel", [Rbf(0.4), Laplacian(0.2), Poly(0.5, 1.0, 2)], ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("exact", [False, True])
def test_rows_are_multiplied_with_themselves_once(kernel, storage, exact, few_are_symmetric):
    """The sums of all pairs of blocks, within the bounds that certificates take; each kernel value counts once."""
    rows = X if storage == "dense" else SPARSE.astype(np.float32)
    listed, coef = RNG.permutation(len(X))[:1500], RNG.standard_normal(1500)
    passes = KernelPasses(FileRows(shards(rows, limit=LIMIT)), Arithmetic(kernel, single=True, threads=1))
    found = passes.symmetric(listed, listed, coef, exact, None)
    bound = passes.rounding(listed, listed, coef, exact, None)
    every = np.arange(1500, dtype=np.int32)
    exactly = Gram(kernel, rows[listed].astype(np.float64)).core.block(every, every) @ coef
    assert np.all(np.abs(found - exactly) <= bound + 1e-9)
    gram = Gram(kernel, FileRows(shards(rows, limit=LIMIT)))
    gram.core.own_product(np.arange(3000, dtype=np.int32), np.sort(listed).astype(np.int32), coef, exact)
    assert gram.core.evaluations == 1500 * 1501 // 2 + 1500 * 1500


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_blocks_that_stay_here_pass_over_the_others_together(storage, few_are_symmetric):
    """Each of the others is read once for all of them; the sums have the bits of one pair at a time."""
    rows = X if storage == "dense" else sp.csr_array(X)
    elsewhere, coef, every = FileRows(shards(rows)), RNG.standard_normal(1500), np.arange(1500)
    passes = KernelPasses(elsewhere, Arithmetic(Rbf(0.4), single=True, threads=1, beyond=elsewhere.look.norms))
    before = elsewhere.bytes_read
    found = passes.symmetric(every, every, coef, True, None)
    read, pairs = elsewhere.bytes_read - before, elsewhere.blocks(every, coef)
    one_by_one = len(pairs) * (len(pairs) + 1) / 2 * elsewhere.bytes_of(len(pairs[0].rows))
    assert read < (0.4 if storage == "dense" else 1.1) * one_by_one
    elsewhere._held_together = lambda rows: 1
    np.testing.assert_array_equal(passes.symmetric(every, every, coef, True, None), found)


def test_a_row_far_away_changes_the_arithmetic_of_all_pieces():
    """How distances are computed depends on the largest row of all, not on that of a piece."""
    far = X.copy()
    far[2999] = 300.0
    models = [SVC(gamma=0.2).fit(shards(far, CUTS[cut]), Y) for cut in CUTS]
    for model in models[1:]:
        np.testing.assert_array_equal(model.dual_coef_, models[0].dual_coef_)
        np.testing.assert_array_equal(model.primal_value_, models[0].primal_value_)


def test_surrogate_steps_run_on_shards():
    rows = RNG.standard_normal((12_000, 24)).astype(np.float32)
    y = np.sign(rows[:, 0] * rows[:, 1] + RNG.standard_normal(len(rows)))
    settings = {"C": 0.5, "gamma": 0.02}
    inside, outside = SVC(**settings).fit(rows, y), SVC(**settings).fit(shards(rows, (5000,), limit=3_200_000), y)
    for model in (inside, outside):
        assert "surrogate" in set(model.trace_["kind"]) and model.relative_gap_ <= model.tol
    assert outside.primal_value_ >= inside.dual_value_ and inside.primal_value_ >= outside.dual_value_


def test_landmarks_take_a_part_of_the_limit():
    """Their matrices have a column for each of them, however few the rows in memory may be."""
    outlook = {"rows": 10**6, "support": 5e5, "work": 30.0, "ridge": 1.0, "diagonal": 1.0, "largest_set": 1000.0}
    counts = [Outlook(most_features=numbers, **outlook).worthwhile_counts() for numbers in (5e4, 1e6, 1e9)]
    assert counts[0] == [] and max(counts[1]) == 256 and max(counts[2]) == 4096


@pytest.mark.parametrize("budget", [SVC(max_vectors=50), SVR(max_vectors=50)], ids=["SVC", "SVR"])
def test_budgets_on_shards(budget):
    y = NUMBERS if isinstance(budget, SVR) else Y
    model, optimum = budget.fit(shards(X), y), type(budget)().fit(X, y)
    assert len(model.support_) <= 50
    assert model.dual_value_ <= optimum.primal_value_ and model.primal_value_ >= optimum.dual_value_
    assert model.score(X, y) > optimum.score(X, y) - 0.03


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(0, 60), min_size=0, max_size=5).map(sorted),
    st.sampled_from([Rbf(0.4), Laplacian(0.2), Poly(0.5, 1.0, 2), Linear()]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_verbs_are_those_of_rows_in_memory(cuts, kernel, sparse, exact, seed):
    """Products, bounds, blocks and diagonals of any list of rows and vectors, with room for one row or for all."""
    rng = np.random.default_rng(seed)
    dense = rng.standard_normal((60, 4)) * (rng.random((60, 4)) < 0.6)
    rows = sp.csr_array(dense) if sparse else dense
    limit = int(rng.choice([64, 2000, 100_000]))
    elsewhere = FileRows(shards(rows, cuts, limit=limit))
    passes = KernelPasses(elsewhere, Arithmetic(kernel, single=False, threads=1))
    some, vectors = rng.integers(0, 60, 25), rng.permutation(60)[: rng.integers(1, 60)]
    coef = rng.standard_normal(len(vectors))
    K = plain(kernel, dense)
    found = passes.product(some.astype(np.int32), vectors.astype(np.int32), coef, exact, None)
    true = K[np.ix_(some, vectors)] @ coef
    bound = passes.rounding(some.astype(np.int32), vectors.astype(np.int32), coef, exact, None)
    assert (np.abs(found - true) <= bound + 1e-12 * (1 + np.abs(true))).all()
    np.testing.assert_allclose(passes.block(some, vectors), K[np.ix_(some, vectors)], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(passes.diagonal(), np.diagonal(K), rtol=1e-12, atol=1e-12)


def plain(kernel, rows):
    if isinstance(kernel, Rbf):
        return np.exp(-kernel.gamma * ((rows[:, None] - rows[None]) ** 2).sum(axis=2))
    if isinstance(kernel, Laplacian):
        return np.exp(-kernel.gamma * np.abs(rows[:, None] - rows[None]).sum(axis=2))
    if isinstance(kernel, Poly):
        return (kernel.gamma * rows @ rows.T + kernel.coef0) ** kernel.degree
    return rows @ rows.T


@pytest.mark.parametrize("rows", [X, X.astype(np.float64), SPARSE], ids=["float32", "float64", "sparse"])
def test_the_digest_depends_on_the_rows_and_not_on_the_cut(rows):
    looks = [FileRows(shards(rows, cuts)).look.digest for cuts in CUTS.values()]
    assert set(looks) == {digest_of(rows)}
    dense = rows.toarray() if sp.issparse(rows) else rows.copy()
    dense[17, 3] = 2.5
    changed = sp.csr_array(dense) if sp.issparse(rows) else dense
    swapped = rows[np.r_[1, 0, 2 : rows.shape[0]]]
    assert len({looks[0], digest_of(changed), digest_of(swapped)}) == 3


def test_rows_are_brought_here_within_the_room():
    elsewhere = FileRows(shards(X))
    wanted = np.array([2999, 3, 3, 1200])
    np.testing.assert_array_equal(elsewhere[wanted], X[wanted])
    before = elsewhere.bytes_read
    np.testing.assert_array_equal(elsewhere[wanted[:2]], X[wanted[:2]])
    assert elsewhere.bytes_read == before  # they were kept
    np.testing.assert_array_equal(elsewhere[np.arange(3000)], X)  # more than the room
    np.testing.assert_array_equal(elsewhere[5:9], X[5:9])


def test_little_data_are_read_at_once():
    rows = opened(shards(X, limit="1G"))
    np.testing.assert_array_equal(rows, X)
    model = SVC().fit(shards(X, y=Y, limit="1G"))
    np.testing.assert_array_equal(model.dual_coef_, SVC().fit(X, Y).dual_coef_)


def test_weights_and_scores():
    weights = RNG.integers(0, 3, len(X)).astype(float)
    inside, outside = SVC().fit(X, Y, weights), SVC().fit(shards(X, y=Y), sample_weight=weights)
    assert outside.primal_value_ == pytest.approx(inside.primal_value_, rel=2e-3)
    assert outside.score(shards(X, y=Y)) == pytest.approx(outside.score(X, Y))
    assert outside.score(shards(X), Y) == outside.score(shards(X, y=Y))
    np.testing.assert_array_equal(outside.predict(shards(X)), outside.predict(X))


def test_a_checkpoint_goes_on_with_other_shards(tmp_path):
    file = tmp_path / "fit.ckpt"
    with pytest.warns(ConvergenceWarning):
        first = SVC(C=100.0, tol=1e-5, max_iter=3, checkpoint=file).fit(shards(X), Y)
    second = SVC(C=100.0, tol=1e-5, checkpoint=file).fit(shards(X, (7, 8)), Y)
    assert first.stop_reason_ == "max_iter" and second.stop_reason_ == "gap"
    assert second.n_iter_[0] > 3  # counted from the first fit on
    changed = X.copy()
    changed[0, 0] += 1
    with pytest.raises(ValueError, match="rows"):
        SVC(C=100.0, tol=1e-5, checkpoint=Checkpoint(file)).fit(shards(changed), Y)


def test_a_shard_lost_in_the_middle_leaves_the_checkpoint(tmp_path):
    """The error names it, there is no half-made model, and the fit goes on when the shard is back."""
    folder = tmp_path / "rows"
    folder.mkdir()
    for k, part in enumerate(np.array_split(X, 3)):
        np.save(folder / f"part-{k}.npy", part)
    whole = (folder / "part-2.npy").read_bytes()
    settings = {"C": 100.0, "tol": 1e-5, "checkpoint": Checkpoint(tmp_path / "fit.ckpt", seconds=0)}
    model = SVC(callbacks=[Truncating(folder / "part-2.npy")], **settings)
    with pytest.raises(ValueError, match=r"part-2\.npy: has been changed since it was opened"):
        model.fit(Shards(folder, memory_limit=LIMIT), Y)
    assert not hasattr(model, "model_")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fit.ckpt", "rows"]  # nothing half-written
    (folder / "part-2.npy").write_bytes(whole)
    again = SVC(max_iter=1, **settings)
    with pytest.warns(ConvergenceWarning):
        again.fit(Shards(folder, memory_limit=LIMIT), Y)
    assert again.n_iter_[0] > 1  # counted from the first fit on


class Truncating:
    """A callback that cuts a file short once there is a checkpoint."""

    def __init__(self, file):
        self.file, self.calls = file, 0

    def __call__(self, progress):
        self.calls += 1
        if self.calls == 3:
            self.file.write_bytes(self.file.read_bytes()[:1000])


def test_labels_only_in_the_last_shard():
    order = np.argsort(THREE, kind="stable")
    rows, y = X[order], THREE[order]
    last = int(np.flatnonzero(y == 2)[0])
    model, expected = SVC().fit(shards(rows, (1000, last)), y), SVC().fit(rows, y)
    assert model.classes_.tolist() == [0, 1, 2] and np.all(model.relative_gap_ <= model.tol)
    np.testing.assert_allclose(model.primal_value_, expected.primal_value_, rtol=2e-3)


class Slow(Shards):
    """Shards of a slow disk."""

    def read(self, k):
        time.sleep(0.05)
        return super().read(k)


def test_limits_of_time_hold():
    slow = Slow([X[:1500], X[1500:]], memory_limit=LIMIT)
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning):
        model = SVC(C=1e4, tol=0.0, max_time=1.0).fit(slow, Y)
    assert model.stop_reason_ == "max_time" and time.perf_counter() - began < 10
    assert model.relative_gap_ > 0


def test_ctrl_c_keeps_the_model():
    pressed = Press()
    with pytest.warns(ConvergenceWarning):
        model = SVC(C=1e4, tol=0.0, gamma=0.02, max_time=60.0, on_interrupt="keep", callbacks=[pressed]).fit(
            shards(X), Y
        )
    pressed.join()
    assert model.stop_reason_ == "interrupted" and model.predict(X[:3]).shape == (3,)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SVC(solver="swap"), "solver='swap' needs all rows in memory"),
        (SVC(kernel="precomputed"), "kernel='precomputed' needs all rows in memory"),
        (SVC(kernel=lambda A, B: A @ B.T), "kernel='a function' needs all rows in memory"),
    ],
)
def test_what_needs_rows_in_memory_is_refused(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(shards(X), Y)


def test_missing_and_wrong_targets():
    with pytest.raises(ValueError, match="the shards have no labels"):
        SVC().fit(shards(X))
    with pytest.raises(ValueError, match="y has 2999 entries, and X has 3000 rows"):
        SVC().fit(shards(X), Y[1:])


def with_nan(path):
    rows = np.load(path)
    rows[200, 1] = np.nan
    np.save(path, rows)


def text_labels(path):
    np.save(path.with_suffix(".labels.npy"), np.full(1000, "yes"))


SPOILT = {
    "NaN": (with_nan, r"part-2\.npy: row 200 .* NaN or infinite"),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:1000]), r"part-2\.npy: is not a readable npy file"),
    "empty file": (lambda path: path.write_bytes(b""), r"part-2\.npy: is not a readable npy file"),
    "another width": (lambda path: np.save(path, X[:1000, :3]), r"part-2\.npy: has 3 features, not the 5 of"),
    "text": (lambda path: np.save(path, np.full((1000, 5), "a")), r"part-2\.npy: is 2-dimensional of .*, not a matrix"),
    "other labels": (text_labels, r"part-2\.npy: the labels are text, but those of .*part-0\.npy are numbers"),
    "missing": (lambda path: path.unlink(), r"part-2\.labels\.npy: the shard of these labels is missing"),
    "without labels": (lambda path: path.with_suffix(".labels.npy").unlink(), r"part-2\.npy: has no labels, but other"),
}


@pytest.mark.parametrize("kind", SPOILT)
def test_a_bad_third_shard_is_named_before_any_work(kind, tmp_path):
    """No step is taken, no model is half made, and a checkpoint of an earlier fit stays as it is."""
    folder, file = tmp_path / "rows", tmp_path / "fit.ckpt"
    folder.mkdir()
    for k, (rows, y) in enumerate(zip(np.array_split(X, 3), np.array_split(THREE, 3), strict=True)):
        np.save(folder / f"part-{k}.npy", rows)
        np.save(folder / f"part-{k}.labels.npy", y)
    with pytest.warns(ConvergenceWarning):
        SVC(C=100.0, max_iter=2, checkpoint=file).fit(Shards(folder, memory_limit=LIMIT))
    before, (spoil, message) = file.read_bytes(), SPOILT[kind]
    spoil(folder / "part-2.npy")
    model = SVC(C=100.0, checkpoint=file, callbacks=[lambda progress: pytest.fail("the fit began")])
    with pytest.raises(ValueError, match=message):
        model.fit(Shards(folder, memory_limit=LIMIT))
    assert not hasattr(model, "model_") and file.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fit.ckpt", "rows"]


def test_shards_of_single_and_double_precision_are_trained_in_double():
    mixed = Shards([X[:1000], X[1000:].astype(np.float64)], memory_limit=2 * LIMIT)
    model, expected = SVC().fit(mixed, Y), SVC().fit(shards(X.astype(np.float64), limit=2 * LIMIT), Y)
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)


def test_readers_end_with_the_fit():
    before = threading.active_count()
    SVC().fit(shards(X), Y)
    assert threading.active_count() <= before + 1  # the pool of the core may have started
