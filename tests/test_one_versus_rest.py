"""SVC(multiclass="ovr"): one problem for each class against all others."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from swapsvm import SVC, SVCCV, ConvergenceWarning, NotSeparableError, reduce_support
from swapsvm.files import export_libsvm, export_onnx, load, save
from swapsvm.kernels import Rbf
from swapsvm.models import AgainstRest, Pairwise
from swapsvm.problems import Coefficients

X, Y = load_wine(return_X_y=True)
X = scale(X)
NAMES = np.array(["barolo", "grignolino", "barbera"])[Y]


def ovr(**options):
    return SVC(multiclass="ovr", **options)


def few_digits(rows=600):
    X, y = load_digits(return_X_y=True)
    return X[:rows] / 16, y[:rows]


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian"])
def test_decisions_are_those_of_scikit_learns_one_versus_rest(kernel):
    ours = ovr(C=4.0, kernel=kernel, tol=1e-10).fit(X, NAMES)
    theirs = OneVsRestClassifier(SVC(C=4.0, kernel=kernel, tol=1e-10)).fit(X, NAMES)
    assert isinstance(ours.model_, AgainstRest)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_at_the_default_tolerance_decisions_are_within_the_certificate():
    """|(w, b) - (w*, b*)|^2 <= 2 (P - D), and |f - f*| is at most that distance times |(phi, 1)|."""
    ours, exact = ovr(C=4.0).fit(X, Y), OneVsRestClassifier(SVC(C=4.0, tol=1e-10)).fit(X, Y)
    bound = np.sqrt(2 * (ours.primal_value_ - ours.dual_value_)) * np.sqrt(2.0)
    assert (np.abs(ours.decision_function(X) - exact.decision_function(X)) <= bound + 1e-4).all()


def test_attributes_have_one_entry_per_class():
    model = ovr(C=4.0, kernel="linear").fit(X, NAMES)
    n = len(model.support_)
    assert model.dual_coef_.shape == (3, n) and model.intercept_.shape == (3,) and model.n_support_.sum() == n
    assert model.coef_.shape == (3, X.shape[1]) and model.n_iter_.shape == (3,) and len(model.results_) == 3
    assert model.primal_value_.shape == model.dual_value_.shape == (3,)
    assert (model.dual_value_ <= model.primal_value_).all() and model.relative_gap_ <= model.tol
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_.T + model.intercept_, atol=1e-10)
    labels = np.repeat(model.classes_, model.n_support_)
    np.testing.assert_array_equal(NAMES[model.support_], labels)
    own = labels == model.classes_[:, None]
    assert (model.dual_coef_[own] >= 0).all() and (model.dual_coef_[~own] <= 0).all()


def test_two_classes_are_as_ever():
    pair, rest = (SVC(C=4.0, multiclass=m).fit(X[Y < 2], Y[Y < 2]) for m in ("ovo", "ovr"))
    assert isinstance(rest.model_, Pairwise)
    np.testing.assert_array_equal(pair.dual_coef_, rest.dual_coef_)
    np.testing.assert_array_equal(pair.decision_function(X), rest.decision_function(X))


def test_sparse_rows_precomputed_kernels_and_functions():
    expected = ovr(C=4.0, kernel="linear", tol=1e-10).fit(X, Y).decision_function(X)
    for kernel, rows in (
        ("linear", sp.csr_array(X)),
        ("precomputed", X @ X.T),
        (lambda A, B: A @ B.T, X),
    ):
        model = ovr(C=4.0, kernel=kernel, tol=1e-10).fit(rows, Y)
        np.testing.assert_allclose(model.decision_function(rows), expected, atol=1e-4)


@pytest.mark.parametrize("class_weight", [None, {0: 3.0}, "balanced"])
def test_weights_are_repeated_rows(class_weight):
    times = np.random.default_rng(0).integers(0, 3, len(Y))
    again = np.repeat(np.arange(len(Y)), times)
    settings = {"C": 2.0, "gamma": 0.05, "tol": 1e-10, "class_weight": class_weight}
    weighted, repeated = ovr(**settings).fit(X, Y, times), ovr(**settings).fit(X[again], Y[again])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)


def test_a_class_without_weight_is_never_predicted():
    model = ovr(C=4.0).fit(X, Y, sample_weight=(Y != 1).astype(float))
    decisions = model.decision_function(X)
    assert (decisions[:, 1] == -np.inf).all() and np.isfinite(decisions[:, [0, 2]]).all()
    assert set(model.predict(X)) == {0, 2} and model.n_iter_.shape == (2,)


def test_predictions_in_single_precision_are_certain():
    rows, labels = few_digits()
    model = ovr(C=4.0, gamma=0.05).fit(rows, labels)
    exact = np.argmax(model.model_.decisions(rows), axis=1)
    np.testing.assert_array_equal(model.model_.winners(model.model_.certain_decisions(rows)), exact)
    groups = [np.flatnonzero(labels == c) for c in range(3)]
    function = Coefficients(np.arange(50), np.ones(50), 0.0)
    tie = AgainstRest.of(rows, Rbf(0.05), groups, dict.fromkeys(range(3), function))
    np.testing.assert_array_equal(tie.certain_decisions(rows), tie.decisions(rows))  # all doubtful: in double


def test_warm_start_and_checkpoint_continue(tmp_path):
    whole = ovr(C=4.0, solver="swap", tol=1e-4).fit(X, Y)
    model = ovr(C=4.0, solver="swap", tol=1e-4, max_iter=40, warm_start=True)
    file = tmp_path / "fit.ckpt"
    for short in (model, ovr(C=4.0, solver="swap", tol=1e-4, max_iter=40, checkpoint=file)):
        with pytest.warns(ConvergenceWarning, match="class 0 against the others"):
            short.fit(X, Y)
    model.set_params(max_iter=-1).fit(X, Y)
    from_file = ovr(C=4.0, solver="swap", tol=1e-4, checkpoint=file).fit(X, Y)
    for other in (model, from_file):
        np.testing.assert_array_equal(other.dual_coef_, whole.dual_coef_)


def test_callbacks_see_each_class():
    seen = []
    rows, labels = few_digits(300)
    ovr(C=4.0, callbacks=seen.append, n_jobs=1).fit(rows, labels)
    assert {progress.pair for progress in seen} == {(c,) for c in range(10)} and {p.pairs for p in seen} == {10}


def test_scikit_learns_callbacks_see_a_model_of_all_classes():
    callback = pytest.importorskip("sklearn.callback")
    monitor = callback.ScoringMonitor(scoring="accuracy")
    ovr(C=4.0).set_callbacks(monitor).fit(X, Y)
    logs = monitor.get_logs().data
    parts = [row["accuracy"] for row in logs if row["task_name"].startswith("class ")]
    assert len(parts) == 3 and min(parts) > 0.3
    assert next(row["accuracy"] for row in logs if row["task_name"] == "fit") > 0.98


def test_a_budget_of_vectors():
    rows, labels = few_digits()
    model = ovr(C=4.0, gamma=0.05, max_vectors=60).fit(rows, labels)
    assert len(model.support_) <= 60 and model.dual_coef_.shape[0] == 10
    assert model.score(rows, labels) > 0.93 and model.stop_reason_ == "max_vectors"
    full = ovr(C=4.0, gamma=0.05, tol=1e-6).fit(rows, labels)
    assert (model.primal_value_ >= full.dual_value_).all() and (model.dual_value_ <= full.primal_value_).all()


def test_the_hard_margin_names_the_class_that_cannot_be_separated():
    rows, labels = load_iris(return_X_y=True)
    with pytest.raises(NotSeparableError, match="class 1 against the others"):
        ovr(C=np.inf, kernel="linear").fit(rows, labels)
    model = ovr(C=np.inf, gamma=0.5).fit(rows[::3] + 1e-3 * np.arange(50)[:, None], labels[::3])
    assert model.score(rows[::3] + 1e-3 * np.arange(50)[:, None], labels[::3]) == 1.0


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_files(tmp_path, kernel):
    rows = X @ X.T if kernel == "precomputed" else X
    model = ovr(C=4.0, kernel=kernel).fit(rows, NAMES, sample_weight=(NAMES != "barbera") + 1.0)
    save(model, tmp_path / "model.swapsvm")
    again = load(tmp_path / "model.swapsvm")
    assert isinstance(again.model_, AgainstRest) and again.multiclass == "ovr"
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    with pytest.raises(ValueError, match="multiclass='ovr': use another format, or fit with multiclass='ovo'"):
        export_libsvm(ovr().fit(X, Y), tmp_path / "model.libsvm")
    with pytest.raises(ValueError, match="multiclass='ovo' is not that of its fit"):
        save(model.set_params(multiclass="ovo"), tmp_path / "other.swapsvm")


@pytest.mark.parametrize("absent", [False, True])
def test_onnx(tmp_path, absent):
    runtime = pytest.importorskip("onnxruntime")
    model = ovr(C=4.0).fit(X, Y, sample_weight=(Y != 1).astype(float) if absent else None)
    path = tmp_path / "model.onnx"
    export_onnx(model, path)
    label, decision = runtime.InferenceSession(str(path)).run(None, {"X": X})
    np.testing.assert_allclose(decision, model.decision_function(X), atol=1e-10)
    np.testing.assert_array_equal(label, model.predict(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"multiclass": "all"}, "'multiclass' .* {'ovo', 'ovr'}. Got 'all'"),
        ({"multiclass": "ovr", "decision_function_shape": "ovo"}, "needs the pairs of classes of multiclass='ovo'"),
    ],
)
def test_bad_parameters(options, message):
    for model in (SVC(**options), SVCCV(**options)):
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y)


def test_reductions_are_refused_with_a_way_out():
    with pytest.raises(ValueError, match="fit with multiclass='ovo', or with max_vectors"):
        reduce_support(ovr().fit(X, Y), X, Y, max_vectors=10)


@pytest.mark.parametrize("name", ["few features", "many features"])
def test_a_search_has_the_scores_of_grid_search(name):
    rows, labels = (X, NAMES) if name == "few features" else (np.tile(X, 12), NAMES)  # where folds share a Gram
    grid = {"C": [0.01, 1.0, 16.0], "gamma": [0.0005, 0.05]}
    ours = SVCCV(grid["C"], grid["gamma"], cv=3, multiclass="ovr", tol=1e-8).fit(rows, labels)
    theirs = GridSearchCV(ovr(tol=1e-8), grid, cv=3).fit(rows, labels)
    for k in range(3):
        key = f"split{k}_test_score"
        np.testing.assert_array_equal(ours.cv_results_[key], theirs.cv_results_[key])
    assert isinstance(ours.best_estimator_.model_, AgainstRest) and ours.best_params_ == theirs.best_params_
    np.testing.assert_array_equal(ours.decision_function(rows), theirs.decision_function(rows))


@parametrize_with_checks([SVC(multiclass="ovr")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
