"""Fits on a real cluster of processes: any chunks, any kind of collection, workers that die."""

import asyncio
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import swapsvm
from swapsvm import Checkpoint, ConvergenceWarning
from swapsvm.datasets import Shards
from swapsvm.kernels import Linear, Rbf, Sum
from swapsvm.passes import Arithmetic, KernelPasses, sharded
from swapsvm.passes import kernel as kernel_passes
from swapsvm.passes.files import FileRows

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

from swapsvm.dask import SVC, SVDD, SVR, OneClassSVM  # noqa: E402
from swapsvm.dask import rows as dask_rows  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("default"),  # of the cluster's own libraries
    pytest.mark.xdist_group("dask"),
]

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3000, 5)).astype(np.float32)
CURVED = X[:, 0] * X[:, 1] + X[:, 2]
Y = np.where(CURVED + 0.3 * RNG.standard_normal(len(X)) > 0, "yes", "no")
NUMBERS = CURVED + 0.1 * RNG.standard_normal(len(X))
ROOM = 160_000  # bytes
SETTINGS = {"dashboard_address": ":0", "processes": True, "threads_per_worker": 1}


@pytest.fixture(scope="module")
def client():
    with distributed.LocalCluster(n_workers=2, **SETTINGS) as cluster, distributed.Client(cluster) as found:
        yield found


@pytest.fixture(autouse=True)
def little_room(monkeypatch):
    """Of these few rows only some can be brought here: the others take passes."""
    monkeypatch.setattr(dask_rows, "largest_automatic_cache", lambda: ROOM)


def chunked(rows, *sizes):
    return da.from_array(rows, chunks=((*sizes, len(rows) - sum(sizes)), *((-1,) * (rows.ndim - 1))))


def in_files():
    """The same rows in shards, with the same room."""
    return FileRows(Shards([X], memory_limit=2 * ROOM))


CHUNKS = {"one": (), "three": (1000, 1000), "some of one row": (1, 1, 1), "uneven": (2990,)}


@pytest.mark.parametrize("chunks", CHUNKS)
def test_any_chunks_give_the_same_model(client, chunks):
    model = SVC(n_jobs=1).fit(chunked(X, *CHUNKS[chunks]), chunked(Y, *CHUNKS[chunks]))
    expected = swapsvm.SVC(n_jobs=1).fit(in_files(), Y)
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(model.primal_value_, expected.primal_value_)
    assert model.n_passes_ > 2 and model.n_tasks_ >= model.n_passes_


@pytest.mark.parametrize("chunks", CHUNKS)
def test_products_of_rows_with_themselves_give_the_same_model(client, chunks, monkeypatch):
    """Made of pairs of blocks that the workers cut out of the chunks; with the same bits as from files."""
    monkeypatch.setattr(kernel_passes, "LEAST_SYMMETRIC", 200)
    monkeypatch.setattr(sharded, "LEAST_BLOCK", 64)
    rows = dask_rows.DaskRows(client, client.compute(list(chunked(X, *CHUNKS[chunks]).to_delayed().ravel())))
    model, expected = swapsvm.SVC(n_jobs=1).fit(rows, Y), swapsvm.SVC(n_jobs=1).fit(in_files(), Y)
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(model.primal_value_, expected.primal_value_)
    assert rows.tasks > len(rows.blocks(model.support_, model.dual_coef_[0])) ** 2 / 2


def test_each_row_a_chunk(client):
    model = SVC(gamma=0.2).fit(da.from_array(X[:60], chunks=(1, 5)), da.from_array(Y[:60], chunks=1))
    expected = SVC(gamma=0.2).fit(chunked(X[:60]), Y[:60])
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(model.predict(da.from_array(X[:9], chunks=(1, 5))).compute(), model.predict(X[:9]))


def test_columns_in_chunks_and_unknown_lengths(client):
    expected = SVC().fit(chunked(X), Y)
    by_columns = SVC().fit(da.from_array(X, chunks=(700, 2)), Y)
    rows = chunked(X, 1000)
    unknown = rows[da.from_array(np.ones(3000, bool), chunks=rows.chunks[0])]
    assert np.isnan(unknown.shape[0])
    for model in (by_columns, SVC().fit(unknown, Y)):
        np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)


def test_frames(client):
    names = list("abcde")
    frame = dd.from_pandas(pd.DataFrame(X, columns=names, index=np.arange(3000) + 7), npartitions=3)
    labels = dd.from_pandas(pd.Series(Y, index=np.arange(3000) + 7), npartitions=3)
    model = SVC().fit(frame, labels)
    assert list(model.feature_names_in_) == names
    found = model.predict(frame)
    assert isinstance(found, dd.Series)
    np.testing.assert_array_equal(found.compute(), model.to_local().predict(pd.DataFrame(X, columns=names)))
    assert found.compute().index[0] == 7
    assert model.score(frame, labels) == pytest.approx(np.mean(found.compute() == Y))


def test_empty_partitions(client):
    """As a filter of rows leaves them; their predictions have the type of the others."""
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")), npartitions=3)
    labels = dd.from_pandas(pd.Series(Y), npartitions=3)
    some, wanted = frame.map_partitions(lambda part: part[part.index >= 1200]), np.arange(3000) >= 1200
    model = SVC().fit(some, labels.map_partitions(lambda part: part[part.index >= 1200]))
    np.testing.assert_array_equal(model.dual_coef_, SVC().fit(chunked(X[wanted]), Y[wanted]).dual_coef_)
    found = model.predict(some).compute()
    assert found.dtype == model.predict(frame).compute().dtype and len(found) == 1800


def test_columns_of_frames_keep_their_names(client):
    """Delayed frames have names too; columns in another order are refused in fits and in predictions."""
    frame, other = pd.DataFrame(X, columns=list("abcde")), list("abced")
    model = SVC().fit([dask.delayed(frame[:1500]), dask.delayed(frame[1500:])], Y)
    assert list(model.feature_names_in_) == list("abcde")
    with pytest.raises(ValueError, match=r"part 1 of X has the columns \['a', 'b', 'c', 'e', 'd'\], and part 0 has"):
        SVC().fit([dask.delayed(frame[:1500]), dask.delayed(frame[other][1500:])], Y)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(dd.from_pandas(frame[other], npartitions=2))
    with pytest.raises(ValueError, match="must be in the same order"):
        dask.compute(model.predict([dask.delayed(frame[other])]))
    with pytest.raises(ValueError, match="X has 3 features, but SVC is expecting 5"):
        model.predict(chunked(X[:, :3], 1000))


def test_predictions_of_another_width_are_refused_at_once(client):
    model = SVC().fit(chunked(X, 1000), Y)
    with pytest.raises(ValueError, match="X has 3 features, but SVC is expecting 5"):
        model.predict(chunked(X[:, :3], 1000))
    found = model.predict(dask.delayed(X[:7]))
    np.testing.assert_array_equal(found.compute(), model.predict(X[:7]))


def test_sums_of_kernels(client):
    kernel = Sum([(Rbf(gamma="scale"), slice(0, 3)), (Linear(), [3, 4])])
    model, expected = SVC(kernel=kernel).fit(chunked(X, 1000), Y), swapsvm.SVC(kernel=kernel).fit(X, Y)
    assert model.n_passes_ > 2
    assert model.primal_value_ >= expected.dual_value_ and expected.primal_value_ >= model.dual_value_


def test_delayed_sparse_chunks_and_empty_ones(client):
    rows = sp.csr_array(X * (RNG.random(X.shape) < 0.5))
    chunks = [dask.delayed(rows[first:last]) for first, last in ((0, 0), (0, 1200), (1200, 1200), (1200, 3000))]
    model, expected = SVC(gamma=0.2).fit(chunks, Y), swapsvm.SVC(gamma=0.2).fit(rows, Y)
    assert model.primal_value_ >= expected.dual_value_ and expected.primal_value_ >= model.dual_value_
    found = np.concatenate(dask.compute(*model.predict(chunks)))
    np.testing.assert_array_equal(found, model.to_local().predict(rows))


def test_part_of_one_class_and_three_classes(client):
    order = np.argsort(CURVED)
    rows, y = X[order], np.digitize(CURVED[order], [-0.7, 0.7])
    model = SVC(decision_function_shape="ovo").fit(chunked(rows, 1000, 1000), y)
    expected = swapsvm.SVC().fit(rows, y)
    np.testing.assert_allclose(model.primal_value_, expected.primal_value_, rtol=2e-3)
    decisions = model.decision_function(chunked(rows, 1000))
    assert decisions.shape == (3000, 3) and decisions.chunks[0] == (1000, 2000)
    np.testing.assert_array_equal(decisions.compute(), model.to_local().decision_function(rows))


def test_regression_and_detectors(client):
    rows = chunked(X, 1000)
    model, expected = SVR().fit(rows, chunked(NUMBERS, 1000)), swapsvm.SVR().fit(X, NUMBERS)
    assert model.primal_value_ >= expected.dual_value_ and expected.primal_value_ >= model.dual_value_
    assert model.score(rows, chunked(NUMBERS, 1000)) == pytest.approx(model.to_local().score(X, NUMBERS))
    for kind in (OneClassSVM, SVDD):
        detector = kind(contamination=0.1).fit(rows)
        outliers = (detector.predict(rows) == -1).mean().compute()
        assert outliers == pytest.approx(0.1, abs=0.005)
        scores = detector.score_samples(rows).compute()
        np.testing.assert_allclose(scores, detector.to_local().score_samples(X), rtol=1e-6)


def test_weights(client):
    weights = RNG.integers(0, 3, len(X)).astype(float)
    model = SVC().fit(chunked(X, 1000), chunked(Y, 1000), sample_weight=chunked(weights, 1000))
    assert model.primal_value_ == pytest.approx(swapsvm.SVC().fit(X, Y, weights).primal_value_, rel=2e-3)


def test_predictions_are_lazy_and_follow_the_input(client):
    model = SVC().fit(chunked(X, 1000), Y)
    found = model.predict(chunked(X, 100))
    assert isinstance(found, da.Array) and found.dtype == model.classes_.dtype and found.chunks[0] == (100, 2900)
    assert isinstance(model.predict(X[:5]), np.ndarray)  # rows in memory need no cluster
    with pytest.raises(NotFittedError):
        SVC().predict(chunked(X))


def test_the_client_is_neither_copied_nor_pickled(client):
    model = SVC(client=client).fit(chunked(X, 1000), Y)
    assert clone(model).client is client
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.client is None
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    plain = model.to_local()
    assert type(plain) is swapsvm.SVC and "client" not in plain.get_params()


def test_two_fits_at_a_time(client):
    found = {}

    def fit(C):
        found[C] = SVC(C=C, client=client).fit(chunked(X, 1000), Y).primal_value_[0]

    threads = [threading.Thread(target=fit, args=(C,)) for C in (0.5, 2.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for C, value in found.items():
        assert value == pytest.approx(swapsvm.SVC(C=C).fit(X, Y).primal_value_[0], rel=2e-3)
    assert len(found) == 2


def test_a_checkpoint_goes_on_with_other_chunks(client, tmp_path):
    file = tmp_path / "fit.ckpt"
    with pytest.warns(ConvergenceWarning):
        SVC(C=100.0, tol=1e-5, max_iter=3, checkpoint=file).fit(chunked(X, 1000), Y)
    model = SVC(C=100.0, tol=1e-5, checkpoint=file).fit(chunked(X, 10), Y)
    assert model.stop_reason_ == "gap" and model.n_iter_[0] > 3


BAD = {
    "NaN": (lambda: chunked(np.where(np.arange(3000)[:, None] == 2500, np.nan, X), 1000), "part 1 of X: row 1500"),
    "widths": (lambda: [dask.delayed(X[:10]), dask.delayed(X[10:, :3])], "part 1 of X has 3 columns, and part 0 has 5"),
    "kinds": (lambda: [dask.delayed(X[:10]), dask.delayed(sp.csr_array(X[10:]))], "part 1 of X is sparse"),
    "one axis": (lambda: [dask.delayed(X[0])], "rows and columns are needed"),
    "text": (lambda: [dask.delayed(np.full((3000, 2), "a"))], "part 0 of X: could not convert"),
    "complex": (lambda: [dask.delayed(X.astype(complex))], "part 0 of X: complex numbers"),
    "no rows": (lambda: [dask.delayed(X[:0]), dask.delayed(X[:0])], "X has no rows in its 2 parts"),
    "not delayed": (lambda: [dask.delayed(X[:10]), X[10:]], "part 1 of the list is a ndarray, and others are delayed"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_parts_are_named(client, kind):
    make, message = BAD[kind]
    with pytest.raises(ValueError, match=message):
        SVC().fit(make(), Y)


BAD_LABELS = {
    "kinds": (lambda: [dask.delayed(Y[:1000]), dask.delayed(np.ones(2000))], "part 0 of y: the labels are text, but"),
    "NaN": (lambda: chunked(np.where(np.arange(3000) == 5, np.nan, 1.0), 1000), "Input y contains NaN"),
    "one class": (lambda: chunked(np.ones(3000), 1000), "at least two classes"),
    "none": (lambda: None, "SVC requires y: pass the labels"),
    "columns": (lambda: chunked(np.ones((3000, 2)), 1000), "y should be a 1d array"),
}


@pytest.mark.parametrize("kind", BAD_LABELS)
def test_bad_labels_are_refused(client, kind):
    make, message = BAD_LABELS[kind]
    with pytest.raises(ValueError, match=message):
        SVC().fit(chunked(X, 1000), make())


def test_weights_that_do_not_fit(client):
    with pytest.raises(ValueError, match="part 1 of sample_weight has 1999 entries, and that of X has 2000 rows"):
        SVC().fit(chunked(X, 1000), Y, chunked(np.ones(2999), 1000))


def test_a_part_that_cannot_be_made_is_named(client):
    """The error is that of the part, with a note."""

    def unreadable():
        raise OSError("the disk is gone")

    for arguments in (
        ([dask.delayed(X[:9]), dask.delayed(unreadable)()], Y),
        (chunked(X), [dask.delayed(unreadable)()]),
    ):
        with pytest.raises(OSError, match="the disk is gone") as caught:
            SVC().fit(*arguments)
        assert re.match(r"part [01] of [Xy] could not be computed", caught.value.__notes__[0])


def test_small_data_are_fitted_at_the_client(client, monkeypatch):
    """Data that fit are brought here, where passes would need many workers to be faster; the model is the local one."""
    monkeypatch.setattr(dask_rows, "largest_automatic_cache", lambda: 100 * ROOM)
    model, expected = SVC().fit(chunked(X, 1000), chunked(Y, 1000)), swapsvm.SVC().fit(X, Y)
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
    assert (model.n_passes_, model.n_rounds_) == (0, 1) and model.bytes_received_ == X.nbytes
    with pytest.raises(ValueError, match="part 1 of X: row 1500 contains NaN"):
        SVC().fit(BAD["NaN"][0](), Y)
    with pytest.raises(ValueError, match="solver='swap' needs all rows in memory"):  # as with more rows
        SVC(solver="swap").fit(chunked(X, 1000), Y)
    monkeypatch.setattr(dask_rows, "AHEAD", 0)  # as on a large cluster
    assert SVC().fit(chunked(X, 1000), Y).n_passes_ > 0


def test_a_checkpoint_keeps_rows_where_they_are(client, tmp_path, monkeypatch):
    """Another cluster, on which a fit here would be slower, can then go on."""
    monkeypatch.setattr(dask_rows, "largest_automatic_cache", lambda: 100 * ROOM)
    assert SVC(checkpoint=tmp_path / "fit.ckpt").fit(chunked(X, 1000), Y).n_passes_ > 0


@pytest.fixture
def in_turn(client):
    """Parts of 300 rows that lie on the two workers in turn."""
    workers = sorted(client.nthreads())
    places = [client.scatter(X[300 * k : 300 * k + 300], workers=[workers[k % 2]], hash=False) for k in range(10)]
    return dask_rows.DaskRows(client, places)


def test_tasks_work_on_all_pieces_of_a_worker(client, in_turn, monkeypatch):
    work = dask_rows.Work(_first_column, None, None, ())
    before = in_turn.tasks
    in_turn.look  # noqa: B018 - a first pass
    assert in_turn.tasks - before <= 10
    before = in_turn.tasks
    np.testing.assert_array_equal(np.concatenate(in_turn.each_row(work)), X[:, 0])
    assert in_turn.tasks - before == 2
    np.testing.assert_array_equal(in_turn[np.array([7, 2999, 301, 7])], X[[7, 2999, 301, 7]])
    monkeypatch.setattr(dask_rows, "LIGHT", 0)  # a pass that takes long: pieces can be cancelled one by one
    before = in_turn.tasks
    assert len(in_turn.each_row(work)) == 10 and in_turn.tasks - before == 10


NOISY = RNG.standard_normal((12_000, 24)).astype(np.float32)
NOISY_Y = np.sign(NOISY[:, 0] * NOISY[:, 1] + RNG.standard_normal(len(NOISY)))
SMOOTH = {"C": 0.5, "gamma": 0.02}


@pytest.fixture
def room_for_landmarks(monkeypatch):
    """But not for these rows."""
    monkeypatch.setattr(dask_rows, "largest_automatic_cache", lambda: 10 * ROOM)


def test_kernel_values_with_landmarks_are_kept_where_there_is_memory(client, monkeypatch, room_for_landmarks):
    """The same bits with and without; they are computed once instead of in each product."""
    computed = []
    monkeypatch.setattr(dask_rows.DaskRows, "perform", _noting_verbs(dask_rows.DaskRows.perform, computed))
    parts = (chunked(NOISY, 5000, 2000), NOISY_Y)
    kept = SVC(**SMOOTH).fit(*parts)
    assert "surrogate" in set(kept.trace_["kind"])
    assert "residuals" in computed and not {"column_products", "column_sums", "quadratic_sums"} & set(computed)
    monkeypatch.setattr(dask_rows, "COLUMNS_PART", 10**9)
    again = SVC(**SMOOTH).fit(*parts)
    assert {"column_products", "column_sums", "quadratic_sums"} <= set(computed)
    np.testing.assert_array_equal(kept.dual_coef_, again.dual_coef_)
    np.testing.assert_array_equal(kept.primal_value_, again.primal_value_)


def _noting_verbs(perform, found):
    def noted(self, work, *arguments):
        found.append(work.verb.__name__)
        return perform(self, work, *arguments)

    return noted


def test_a_worker_killed_with_kept_kernel_values_costs_time_only(monkeypatch, room_for_landmarks):
    """They are computed again."""
    with distributed.LocalCluster(n_workers=2, **SETTINGS) as cluster, distributed.Client(cluster) as client:
        expected = SVC(**SMOOTH).fit(chunked(NOISY, 5000, 2000), NOISY_Y)
        killer = Killing(client)
        monkeypatch.setattr(dask_rows.KeptOnWorkers, "each", killer.around(dask_rows.KeptOnWorkers.each))
        model = SVC(**SMOOTH).fit(chunked(NOISY, 5000, 2000), NOISY_Y)
        assert killer.done
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)


def test_pieces_worked_on_together_take_a_part_of_the_memory(in_turn):
    in_turn._limits = [4 * dask_rows.BATCH_PART * 300 * X.itemsize * X.shape[1]]
    in_turn.look  # noqa: B018
    _, sizes = np.unique(in_turn._group_of, return_counts=True)
    assert sorted(sizes) == [1, 1, 4, 4]


def test_a_piece_that_fails_among_others_is_named(client, in_turn):
    in_turn.look  # noqa: B018
    with pytest.raises(dask_rows.ClusterError, match=r"part 4 of X \(rows 1200 to 1499"):
        in_turn.each_row(dask_rows.Work(_no_memory_for, None, None, (float(X[1200, 0]),)))
    assert len(in_turn.each_row(dask_rows.Work(_first_column, None, None, ()))) == 10


def _first_column(rows):
    return rows[:, 0]


def _no_memory_for(rows, first):
    if rows[0, 0] == first:
        raise MemoryError
    return len(rows)


def test_lengths_that_differ(client):
    with pytest.raises(ValueError, match="part 1 of y has 1999 entries, and that of X has 2000 rows"):
        SVC().fit(chunked(X, 1000), chunked(Y[:-1], 1000))
    with pytest.raises(ValueError, match="y has 7 entries, and X has 3000 rows"):
        SVC().fit(chunked(X, 1000), Y[:7])


def test_parts_that_slow_down_each_pass_are_complained_about(client, monkeypatch):
    monkeypatch.setattr(dask_rows, "FRAGMENTED", 10)
    with pytest.warns(UserWarning, match="12 parts of 2 rows on average"):
        dask_rows.DaskRows(client, client.compute([dask.delayed(X[2 * k : 2 * k + 2]) for k in range(12)]))
    parts = [dask.delayed(X[:2900]), *(dask.delayed(X[k : k + 1]) for k in range(2900, 2920))]
    with pytest.warns(UserWarning, match="the largest part of X has 2900 of 2920 rows"):
        dask_rows.DaskRows(client, client.compute(parts))


WITHOUT_CLIENT = """
import dask.array as da
from swapsvm.dask import SVC
SVC().fit(da.zeros((10, 2)), [0, 1] * 5)
"""


def test_asynchronous_clients_are_refused():
    async def fit():
        settings = {**SETTINGS, "processes": False, "asynchronous": True}
        async with (
            distributed.LocalCluster(n_workers=1, **settings) as cluster,
            distributed.Client(cluster, asynchronous=True) as client,
        ):
            SVC(client=client).fit(chunked(X), Y)

    with pytest.raises(ValueError, match="asynchronous Dask clients are not supported"):
        asyncio.run(fit())


def test_threads_are_passed_with_each_task(in_turn, monkeypatch):
    """Nannies set OMP_NUM_THREADS=1: the threads of the cluster are divided among the tasks instead."""
    submitted, submit = [], dask_rows.DaskRows._submitted
    monkeypatch.setattr(
        dask_rows.DaskRows,
        "_submitted",
        lambda self, piece, task, *arguments: submitted.append(arguments) or submit(self, piece, task, *arguments),
    )
    monkeypatch.setattr(in_turn, "_threads_there", 8)
    in_turn.look  # noqa: B018
    submitted.clear()
    passes = KernelPasses(in_turn, Arithmetic(Rbf(0.2), single=True, threads=64))
    monkeypatch.setattr(dask_rows, "LITTLE", 0)
    passes.product(np.arange(3000), np.arange(9), np.ones(9), False, None)
    threads = [each.threads for arguments in submitted for each in arguments if isinstance(each, Arithmetic)]
    assert threads == [4, 4]  # for a task on each of two workers


def test_more_data_than_memory_is_spilled():
    """A worker that may hold a third of X in memory has the rest on disk while the fit goes on."""
    on_disk = []
    with (
        dask.config.set({"distributed.worker.memory.target": X.nbytes / 3 / 2**30}),
        distributed.LocalCluster(n_workers=1, memory_limit="1GiB", **SETTINGS) as cluster,
        distributed.Client(cluster) as client,
    ):
        looking = After(lambda: on_disk.extend(client.run(_pieces_on_disk).values()))
        model = SVC(client=client, callbacks=[looking]).fit(chunked(X, *[300] * 9), Y)
        assert model.n_passes_ > 2
    assert on_disk[0] >= 5
    np.testing.assert_array_equal(model.dual_coef_, swapsvm.SVC(n_jobs=1).fit(in_files(), Y).dual_coef_)


def _pieces_on_disk(dask_worker):
    return len(dask_worker.data.disk)


def test_data_scattered_by_hand_are_lost_with_their_worker():
    with distributed.LocalCluster(n_workers=2, **SETTINGS) as cluster, distributed.Client(cluster) as client:
        first = sorted(client.nthreads())[0]
        parts = [client.scatter(part, workers=[first], hash=False) for part in np.array_split(X, 2)]
        rows = dask_rows.DaskRows(client, parts)
        rows.look  # noqa: B018
        os.kill(client.run(os.getpid)[first], signal.SIGKILL)
        with pytest.raises(dask_rows.ClusterError, match=r"part 0 of X .* was lost and cannot be computed again"):
            _pass_until_noticed(rows)


def _pass_until_noticed(rows):
    """The scheduler takes a moment to notice that a worker is lost."""
    for _ in range(100):
        rows.each_row(dask_rows.Work(_first_column, None, None, ()))
        time.sleep(0.1)


def test_only_public_names_of_dask_are_used():
    for file in Path(swapsvm.dask.__file__).parent.glob("*.py"):
        assert not re.search(r"\b_?client\._|(distributed|dask)(\.\w+)*\._|import _", file.read_text()), file


def test_the_model_is_one_node_of_the_graph(client):
    model = SVC().fit(chunked(X, 1000), Y)
    lazy = model.predict(chunked(X, *range(100, 2000, 400)))
    layers = [layer for name, layer in lazy.dask.layers.items() if "SVC" in name]
    assert len(layers) == 1 and len(layers[0]) == 1


def test_no_client_and_closed_ones():
    ran = subprocess.run([sys.executable, "-c", WITHOUT_CLIENT], capture_output=True, text=True, check=False)
    assert "ValueError: there is no Dask client: create one with dask.distributed.Client()" in ran.stderr
    with distributed.LocalCluster(n_workers=1, **SETTINGS) as cluster:
        closed = distributed.Client(cluster)
        closed.close()
        with pytest.raises(ValueError, match="the Dask client is closed"):
            SVC(client=closed).fit(chunked(X), Y)


def test_a_client_that_is_closed_in_the_middle(client, tmp_path):
    """A clear error, no half-made model, and a checkpoint that goes on."""
    file = tmp_path / "fit.ckpt"
    with distributed.Client(client.scheduler.address, set_as_default=False) as other:
        closing = After(other.close, calls=3)
        model = SVC(client=other, checkpoint=Checkpoint(file, seconds=0), callbacks=[closing], **HARD)
        with pytest.raises(dask_rows.ClusterError, match=r"connection to the Dask scheduler was lost \(closed\)"):
            model.fit(chunked(X, 1000), Y)
    assert not hasattr(model, "model_") and file.exists()
    resumed = SVC(client=client, checkpoint=file, **HARD).fit(chunked(X, 500), Y)
    assert resumed.stop_reason_ == "gap" and resumed.n_iter_[0] > 2
    with pytest.raises(ValueError, match="the Dask client is closed"):
        SVC(client=other).fit(chunked(X, 1000), Y)


class After:
    """A callback that does something once, some calls into the fit."""

    def __init__(self, act, calls=2):
        self.act, self.left, self.done = act, calls, False

    def __call__(self, progress):
        self.left -= 1
        if self.left <= 0 and not self.done:
            self.done = True
            self.act()


HARD = {"C": 30.0, "gamma": 0.4, "tol": 1e-4}


def test_a_killed_worker_costs_time_only():
    expected = swapsvm.SVC(**HARD).fit(in_files(), Y)
    with distributed.LocalCluster(n_workers=2, **SETTINGS) as cluster, distributed.Client(cluster) as client:
        killed = After(lambda: os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL))
        model = SVC(client=client, callbacks=[killed], **HARD).fit(chunked(X, 700, 700, 700), Y)
        assert killed.done
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(model.primal_value_, expected.primal_value_)


def test_a_worker_killed_between_blocks_costs_time_only(monkeypatch):
    monkeypatch.setattr(kernel_passes, "LEAST_SYMMETRIC", 200)
    monkeypatch.setattr(sharded, "LEAST_BLOCK", 64)
    expected = swapsvm.SVC(**HARD).fit(in_files(), Y)
    with distributed.LocalCluster(n_workers=2, **SETTINGS) as cluster, distributed.Client(cluster) as client:
        killer = Killing(client)
        monkeypatch.setattr(dask_rows.DaskRows, "meet", killer.around(dask_rows.DaskRows.meet))
        model = SVC(client=client, **HARD).fit(chunked(X, 700, 700, 700), Y)
        assert killer.done
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)


class Killing:
    """Kills a worker when the first result of some work has arrived."""

    def __init__(self, client):
        self.worker, self.done = next(iter(client.run(os.getpid).values())), False

    def around(self, work):
        def with_a_loss(*arguments):
            for found in work(*arguments):
                yield found
                if not self.done:
                    os.kill(self.worker, signal.SIGKILL)
                    self.done = True

        return with_a_loss


def test_without_a_scheduler_the_fit_ends_and_its_checkpoint_goes_on(tmp_path):
    file = tmp_path / "fit.ckpt"
    cluster = distributed.LocalCluster(n_workers=1, **SETTINGS)
    client = distributed.Client(cluster, timeout=5)
    lost = After(lambda: (time.sleep(0.2), cluster.close()), calls=3)
    model = SVC(client=client, checkpoint=Checkpoint(file, seconds=0), callbacks=[lost], **HARD)
    with pytest.raises(dask_rows.ClusterError, match=r"scheduler|lost"):
        model.fit(chunked(X, 1000), Y)
    client.close()
    assert not hasattr(model, "model_") and file.exists()
    with distributed.LocalCluster(n_workers=1, **SETTINGS) as other, distributed.Client(other):
        assert SVC(checkpoint=file, **HARD).fit(chunked(X, 500), Y).stop_reason_ == "gap"


def test_a_worker_without_memory_is_named():
    settings = {**SETTINGS, "memory_limit": "600MiB"}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0, "distributed.worker.memory.terminate": 0.9}),
        distributed.LocalCluster(n_workers=1, **settings) as cluster,
        distributed.Client(cluster) as client,
    ):
        rows = dask_rows.DaskRows(client, client.compute([dask.delayed(X[:1000]), dask.delayed(X[1000:])]))
        work = dask_rows.Work(_take_all_memory, None, None, ())
        with pytest.raises(dask_rows.ClusterError, match=r"part 0 of X \(rows 0 to 999.*memory limit is 600 MiB"):
            rows.each_row(work)


def _take_all_memory(rows):
    """More and more, until the nanny ends the worker."""
    taken = []
    for _ in range(32):
        taken.append(np.ones(1 << 23))  # 64 MiB
        time.sleep(0.2)
    return len(taken)


def test_ctrl_c_cancels(client):
    pressed = After(lambda: os.kill(os.getpid(), signal.SIGINT), calls=2)
    model = SVC(client=client, callbacks=[pressed], **{**HARD, "tol": 1e-9})
    with pytest.raises(KeyboardInterrupt):
        model.fit(chunked(X, 1000), Y)
    assert not hasattr(model, "model_")
    assert SVC(client=client).fit(chunked(X, 1000), Y).stop_reason_ == "gap"  # the cluster is as good as before


def test_searches_through_joblib(client):
    """Whole fits side by side, by scikit-learn's own search."""
    joblib = pytest.importorskip("joblib")
    from sklearn.model_selection import GridSearchCV

    search = GridSearchCV(swapsvm.SVC(n_jobs=1), {"C": [0.5, 2.0]}, cv=2)
    with joblib.parallel_config("dask"):
        found = search.fit(X[:400], Y[:400]).cv_results_["mean_test_score"]
    np.testing.assert_allclose(found, search.fit(X[:400], Y[:400]).cv_results_["mean_test_score"])


def test_searches_as_tasks(client):
    """One SVCCV for each gamma, whole searches side by side."""
    gammas = [0.1, 0.4]
    found = client.gather(client.map(best_of, gammas, rows=X[:400], y=Y[:400]))
    here = swapsvm.SVCCV(Cs=[0.5, 2.0], gammas=gammas, cv=2).fit(X[:400], Y[:400])
    assert max(found) == pytest.approx(here.best_score_)


def best_of(gamma, rows, y):
    return swapsvm.SVCCV(Cs=[0.5, 2.0], gammas=[gamma], cv=2).fit(rows, y).best_score_
