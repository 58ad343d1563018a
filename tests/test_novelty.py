"""OneClassSVM and SVDD: their parameters and attributes, compared with quadratic programs and LIBSVM."""

import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import svm
from sklearn.metrics import roc_auc_score

from swapsvm import SVDD, ConvergenceWarning, OneClassSVM
from swapsvm.estimators.detector import weighted_quantile
from swapsvm.kernels import KERNELS, Rbf
from swapsvm.models import Expansion
from swapsvm.solvers import SOLVERS

from . import reference
from .cases import ball, one_class, random_rows

both = pytest.mark.parametrize("Detector", [OneClassSVM, SVDD])
FUZZ = settings(deadline=None, max_examples=40)


def blobs(m, seed=0, outliers=0):
    """Three clusters in the plane, and outliers all around them at the end."""
    rng = np.random.default_rng(seed)
    centers = np.array([[0.0, 0.0], [3.0, 3.0], [-3.0, 2.0]])
    X = centers[rng.integers(3, size=m)] + 0.6 * rng.normal(size=(m, 2))
    X[m - outliers :] = rng.uniform(-8.0, 8.0, size=(outliers, 2))
    return X


def weights_of(model, m):
    """a, of every row."""
    a = np.zeros(m)
    a[model.support_] = model.dual_coef_[0]
    return a


def rbf(X, gamma):
    return reference.kernel_values(Rbf(gamma), X)


# ---- against others -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slack", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
@both
def test_scores_agree_with_the_quadratic_program(Detector, weighted, slack):
    X = blobs(60)
    s = np.random.default_rng(1).uniform(0.5, 3.0, 60) if weighted else np.ones(60)
    model = Detector(slack=slack, gamma=0.5).fit(X, sample_weight=s)
    case = (one_class if Detector is OneClassSVM else ball)(X, 1 / (slack * s.sum()), Rbf(0.5), s)
    a = reference.exact_weights(case.Q, case.c)
    scores = case.K @ a
    if Detector is SVDD:
        scores = 2 * scores - 1.0 - a @ case.K @ a
        assert model.radius_**2 == pytest.approx(1.0 - a @ case.K @ a, rel=1e-6)
        assert model.squared_norm_ == pytest.approx(a @ case.K @ a, rel=1e-6)
    np.testing.assert_allclose(model.score_samples(X), scores, atol=1e-7)
    assert model.offset_ == pytest.approx(a @ scores, rel=1e-6)
    assert pytest.approx(1 / (slack * s.sum())) == model.C_


def test_libsvm_finds_the_same_weights():
    X = blobs(80)
    ours = OneClassSVM(slack=0.02, gamma=0.5).fit(X)
    Q = reference.slack_matrix(rbf(X, 0.5), ours.C_)
    theirs = svm.OneClassSVM(kernel="precomputed", nu=1 / 80, tol=1e-10).fit(Q)  # its box is then the whole simplex
    np.testing.assert_allclose(weights_of(ours, 80), weights_of(theirs, 80), atol=1e-6)
    rho = (Q @ weights_of(ours, 80)).min()
    assert rho == pytest.approx(float(theirs.offset_[0]), rel=1e-6)


def test_the_certificate_can_be_recomputed_from_public_attributes():
    X = blobs(300)
    model = OneClassSVM(slack=1e-3, tol=1e-2).fit(X)
    Q, a = reference.slack_matrix(rbf(X, model.gamma_), model.C_), weights_of(model, 300)
    gap = reference.primal_gap(Q, a, np.full(300, 1 / model.C_))
    assert model.dual_gap_ == pytest.approx(gap, rel=1e-5)
    assert model.relative_gap_ == pytest.approx(gap / (a @ Q @ a), rel=1e-5)
    assert model.simplex_gap_ == pytest.approx(reference.gap(Q, a) / (a @ Q @ a), rel=1e-6)
    assert model.relative_gap_ <= 1e-2


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "fw"])
@both
def test_every_solver_finds_the_same_model(Detector, solver):
    X = blobs(300)
    ours, exact = (Detector(solver=name, tol=1e-8).fit(X) for name in (solver, "block"))
    np.testing.assert_allclose(ours.decision_function(X), exact.decision_function(X), atol=1e-4)


@both
def test_samples_lead_to_the_same_model(Detector):
    X = blobs(1000)
    sampled, whole = (Detector(solver="swap", sampling=n).fit(X) for n in (59, None))
    assert sampled.stop_reason_ == "gap"
    np.testing.assert_allclose(sampled.score_samples(X), whole.score_samples(X), atol=0.01)


def test_outliers_are_found():
    model = OneClassSVM().fit(blobs(2000, outliers=40))
    X, inside = blobs(2000, seed=1, outliers=1000), np.arange(2000) < 1000
    assert roc_auc_score(inside, model.score_samples(X)) > 0.92


# ---- what parameters mean -----------------------------------------------------------------------------------------


@FUZZ
@given(st.integers(0, 2**31), st.floats(1e-4, 1.0), st.booleans(), st.sampled_from(["rbf", "linear", "poly"]))
def test_slack_is_the_mean_slack_of_the_rows(seed, slack, weighted, kernel):
    X = random_rows(50, 2, seed) + 1.0
    s = np.random.default_rng(seed).integers(1, 4, 50).astype(float) if weighted else np.ones(50)
    model = OneClassSVM(slack=slack, kernel=kernel).fit(X, sample_weight=s)
    lengths = diagonal(model, X)
    rho = -model.results_[0].value  # a'Qa
    shortfall = np.maximum(rho - model.score_samples(X), 0.0)
    unit = np.average(lengths, weights=s)
    assert np.average(shortfall, weights=s) == pytest.approx(slack * unit, rel=1e-4, abs=1e-9 * unit)


def diagonal(model, X):
    kernel = KERNELS[model.kernel]
    values = {"gamma": getattr(model, "gamma_", None), "coef0": model.coef0, "degree": model.degree}
    made = kernel(**{name: values[name] for name in kernel.parameter_names()})
    return np.diag(reference.kernel_values(made, X))


@FUZZ
@given(st.integers(0, 2**31), st.floats(0, 0.1), st.floats(1e-6, 0.3), st.sampled_from([OneClassSVM, SVDD]))
def test_rows_that_are_not_support_vectors_are_inside_at_any_gap(seed, slack, tol, Detector):
    X = blobs(300, seed % 2**31)
    model = Detector(slack=slack, tol=tol, solver="swap").fit(X)
    outside = np.flatnonzero(model.predict(X) == -1)
    assert np.isin(outside, model.support_).all()


@both
def test_support_vectors_of_more_than_the_mean_slack_are_outside(Detector):
    X = blobs(500)
    model = Detector(slack=1e-3, tol=1e-9).fit(X)
    a = weights_of(model, 500)
    outside = model.predict(X) == -1
    np.testing.assert_array_equal(outside, a > (a**2).sum())
    assert 0 < outside.sum() < 1 / (a**2).sum() < model.n_support_[0]


def test_the_same_slack_means_the_same_model_for_more_rows_of_the_same_kind():
    X = blobs(100)
    once, thrice = OneClassSVM().fit(X), OneClassSVM(tol=1e-8).fit(np.tile(X, (3, 1)))
    np.testing.assert_allclose(once.decision_function(X), thrice.decision_function(X), atol=1e-5)


def test_less_slack_means_fewer_support_vectors():
    X = blobs(1000)
    counts = [OneClassSVM(slack=slack).fit(X).n_support_[0] for slack in (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)]
    assert counts[0] == 1000
    assert counts == sorted(counts, reverse=True)


@FUZZ
@given(st.integers(0, 2**31), st.floats(0.01, 0.5), st.sampled_from([OneClassSVM, SVDD]))
def test_contamination_is_the_part_of_rows_outside(seed, part, Detector):
    X = random_rows(200, 2, seed)
    outside = (Detector(contamination=part).fit_predict(X) == -1).sum()
    assert outside == np.floor(200 * part * (1 + 1e-12))


@both
def test_contamination_counts_a_row_as_often_as_its_weight_says(Detector):
    X, s = blobs(60), np.tile([1, 2, 3], 20)
    weighted = Detector(contamination=0.2).fit(X, sample_weight=s)
    repeated = Detector(contamination=0.2).fit(np.repeat(X, s, axis=0))
    assert weighted.offset_ == pytest.approx(repeated.offset_, abs=1e-7)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    assert s[weighted.predict(X) == -1].sum() <= 0.2 * s.sum()


@both
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_the_boundary_of_a_part_is_that_of_all_scores_and_takes_few(Detector, dtype, kernel, monkeypatch):
    X, s = blobs(3000, outliers=60).astype(dtype), np.tile([1.0, 0.0, 2.0], 1000)
    rows, sums = [], Expansion.sums
    monkeypatch.setattr(Expansion, "sums", lambda self, X, n=0: rows.append(X.shape[0]) or sums(self, X, n))
    model = Detector(contamination=0.2, kernel=kernel).fit(X, sample_weight=s)
    assert sum(rows) < 200  # of 2000 with weight
    scores = model.score_samples(X)[s > 0]
    level = weighted_quantile(scores, s[s > 0], 0.2)
    assert model.offset_ == pytest.approx(level, rel=1e-4) and model.offset_ <= level
    assert s[(model.predict(X) == -1)].sum() == s[s > 0][scores < level].sum()
    assert model.results_[0].known_products is None  # m numbers that nobody needs any more


def test_a_fit_without_time_for_all_products_has_its_boundary_as_well():
    X = blobs(3000, outliers=60)
    with pytest.warns(ConvergenceWarning):
        model = OneClassSVM(contamination=0.2, max_time=1e-9).fit(X)
    assert (model.predict(X) == -1).sum() == 600


@pytest.mark.parametrize("contamination", ["auto", 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_with_a_constant_diagonal_both_are_the_same_model(contamination, weighted):
    X = blobs(300)
    s = np.random.default_rng(0).uniform(0.1, 3.0, 300) if weighted else None
    plane, sphere = (Cls(contamination=contamination, tol=1e-9).fit(X, None, s) for Cls in (OneClassSVM, SVDD))
    np.testing.assert_allclose(sphere.decision_function(X), 2 * plane.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(sphere.predict(X), plane.predict(X))


# ---- the ball -----------------------------------------------------------------------------------------------------


def test_distances_of_a_linear_ball():
    X = random_rows(200, 3) + 5.0
    model = SVDD(kernel="linear", slack=1e-3).fit(X)
    squared = ((X - model.center_) ** 2).sum(axis=1)
    np.testing.assert_allclose(model.score_samples(X), -squared, atol=1e-10)
    np.testing.assert_allclose(model.decision_function(X), model.radius_**2 - squared, atol=1e-10)
    assert model.squared_norm_ == pytest.approx((model.center_**2).sum(), rel=1e-9)
    np.testing.assert_allclose(model.center_, model.dual_coef_[0] @ X[model.support_])


@pytest.mark.parametrize("tol", [0.1, 1e-3, 1e-6])
def test_without_slack_the_ball_encloses_every_row(tol):
    X = random_rows(500, 3)
    model = SVDD(kernel="linear", slack=0, tol=tol).fit(X)
    assert (model.predict(X) == 1).all()
    least = model.radius_**2 - model.dual_gap_  # of any ball around these rows
    assert least <= SVDD(kernel="linear", slack=0, tol=1e-9).fit(X).radius_ ** 2 <= model.radius_**2 * (1 + 1e-9)


def test_much_slack_leads_to_the_ball_around_the_mean():
    X = random_rows(100, 3)
    model = SVDD(kernel="linear", slack=1e4).fit(X)
    np.testing.assert_allclose(model.center_, X.mean(axis=0), atol=1e-3)
    assert model.radius_**2 == pytest.approx(X.var(axis=0).sum(), rel=1e-2)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@both
def test_the_unit_of_the_data_does_not_matter(Detector, unit):
    X = random_rows(100, 2) + 1.0
    one, other = (Detector(kernel="linear").fit(scaled) for scaled in (X, unit * X))
    np.testing.assert_array_equal(one.predict(X), other.predict(unit * X))
    assert other.offset_ == pytest.approx(unit**2 * one.offset_, rel=1e-6)


def test_center_is_for_the_linear_kernel():
    with pytest.raises(AttributeError, match="center_ is only available with kernel='linear'"):
        _ = SVDD().fit(blobs(20)).center_
    with pytest.raises(AttributeError, match="coef_ is only available with kernel='linear'"):
        _ = OneClassSVM().fit(blobs(20)).coef_
    model = OneClassSVM(kernel="linear").fit(blobs(20) + 9.0)
    np.testing.assert_allclose(model.score_samples([[1.0, 2.0]]), model.coef_[0] @ [1.0, 2.0])


# ---- kinds of input -----------------------------------------------------------------------------------------------


@both
def test_sparse_single_and_given_kernel_values_are_the_same(Detector):
    X, Z = blobs(200), blobs(50, seed=1)
    dense = Detector(gamma=0.5).fit(X)
    sparse = Detector(gamma=0.5).fit(sp.csr_matrix(X))
    single = Detector(gamma=0.5).fit(X.astype(np.float32))
    matrix = Detector(kernel="precomputed").fit(rbf(X, 0.5))
    function = Detector(kernel=lambda A, B: reference.kernel_values(Rbf(0.5), A, B)).fit(X)
    expected, K = dense.decision_function(Z), reference.kernel_values(Rbf(0.5), Z, X)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(Z)), expected, atol=1e-9)
    np.testing.assert_allclose(single.decision_function(Z.astype(np.float32)), expected, atol=1e-4)
    np.testing.assert_allclose(matrix.decision_function(K), expected, atol=1e-9)
    np.testing.assert_allclose(function.decision_function(Z), expected, atol=1e-9)


def test_a_precomputed_ball_needs_a_constant_diagonal():
    X = random_rows(20, 2)
    with pytest.raises(ValueError, match=r"k\(x, x\) ranges from .* precomputed .* by name or as a function"):
        SVDD(kernel="precomputed").fit(X @ X.T)
    assert OneClassSVM(kernel="precomputed").fit(X @ X.T).stop_reason_ == "gap"


@both
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian"])
@pytest.mark.parametrize("rows", [1, 2, 30])
@pytest.mark.parametrize("contamination", ["auto", 0.1])
def test_equal_points_are_inside(Detector, kernel, rows, contamination):
    X = np.full((rows, 2), 0.7)
    model = Detector(kernel=kernel, contamination=contamination).fit(X)
    assert (model.predict(X) == 1).all()
    assert model.stop_reason_ == "gap"
    if Detector is SVDD or kernel in ("rbf", "laplacian"):
        assert model.predict([[50.0, -50.0]]) == [-1]
    if Detector is SVDD and contamination == "auto":
        assert model.radius_ <= 1e-5


@both
def test_rows_of_zeros_and_a_linear_kernel(Detector):
    model = Detector(kernel="linear").fit(np.zeros((5, 2)))
    assert (model.predict(np.zeros((5, 2))) == 1).all()


@both
@pytest.mark.parametrize("slack", [0, 1e-320, 1e-12, 1e12])
def test_extreme_slack_ends(Detector, slack):
    X = random_rows(150, 2)  # the origin is among them: without slack no plane separates
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = Detector(kernel="linear", slack=slack, max_time=1.0).fit(X)
    assert time.perf_counter() - began < 5.0
    assert np.isfinite(model.decision_function(X)).all()


@both
def test_limits_are_kept(Detector):
    with pytest.warns(ConvergenceWarning, match=f"{Detector.__name__}, the fit, stopped by 'max_iter'"):
        model = Detector(solver="fw", tol=1e-9, max_iter=5).fit(blobs(300))
    assert model.n_iter_[0] == 5
    assert model.relative_gap_ > 1e-9


@both
def test_a_warm_start_continues(Detector):
    X = blobs(2000)
    model = Detector(slack=1e-3, warm_start=True).fit(X)
    cold = model.n_iter_[0]
    assert model.fit(X).n_iter_[0] == cold
    assert model.set_params(slack=1.1e-3).fit(X).stop_reason_ == "gap"
    np.testing.assert_allclose(model.score_samples(X), Detector(slack=1.1e-3).fit(X).score_samples(X), atol=5e-3)


@both
def test_a_checkpoint_goes_on(Detector, tmp_path):
    X, file = blobs(3000), tmp_path / "fit.checkpoint"
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        part = Detector(slack=1e-3, checkpoint=file, max_iter=3).fit(X)
    rest = Detector(slack=1e-3, checkpoint=file).fit(X)
    whole = Detector(slack=1e-3).fit(X)
    assert part.n_iter_[0] < rest.n_iter_[0]
    np.testing.assert_array_equal(rest.dual_coef_, whole.dual_coef_)


@both
def test_callbacks_see_models_of_the_fit(Detector):
    pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 or later")
    from .test_tasks import Recorder

    X, seen = blobs(500, outliers=50), Recorder()
    plain = Detector(solver="swap2", contamination=0.1).fit(X)
    watched = Detector(solver="swap2", contamination=0.1).set_callbacks(seen).fit(X)
    models = [told[3] for told in seen.models("round")]
    assert len(models) > 3
    assert all((model.predict(X) == -1).sum() == 50 for model in models)
    np.testing.assert_allclose(models[-1].score_samples(X), plain.score_samples(X), atol=1e-2)
    np.testing.assert_array_equal(plain.dual_coef_, watched.dual_coef_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"slack": -0.1}, r"'slack' .* in the range \[0.0, inf\). Got -0.1"),
        ({"slack": np.nan}, "'slack' .* Got nan"),
        ({"slack": np.inf}, "'slack' .* Got inf"),
        ({"contamination": 0}, r"'contamination' .* {'auto'} or a float in the range \(0.0, 0.5\]. Got 0"),
        ({"contamination": 0.6}, "'contamination' .* Got 0.6"),
        ({"contamination": "most"}, "'contamination' .* Got 'most'"),
        ({"slack": None}, "'slack' .* Got None"),
        ({"contamination": None}, "'contamination' .* Got None"),
        ({"kernel": "cosine"}, "'kernel' .* Got 'cosine'"),
        ({"gamma": -1.0}, "'gamma' .* Got -1.0"),
        ({"solver": "newton"}, "'solver' .* Got 'newton'"),
        ({"tol": -1.0}, "'tol' .* Got -1.0"),
    ],
)
@both
def test_bad_parameters_are_refused_by_name(Detector, parameters, message):
    with pytest.raises(ValueError, match=message):
        Detector(**parameters).fit(blobs(20))


@pytest.mark.parametrize(
    ("X", "weights", "message"),
    [
        (np.empty((0, 2)), None, "0 sample"),
        (np.empty((3, 0)), None, "0 feature"),
        ([[np.nan, 1.0]], None, "NaN"),
        ([[np.inf, 1.0]], None, "infinity"),
        ([1.0, 2.0], None, "2D array"),
        (np.ones((3, 2)), np.zeros(3), "zero for every row|at least one non-zero"),
        (np.ones((3, 2)), -np.ones(3), "Negative values"),
        (np.ones((3, 2)), np.ones(2), "sample_weight"),
    ],
)
@both
def test_bad_rows_are_refused(Detector, X, weights, message):
    with pytest.raises(ValueError, match=message):
        Detector().fit(X, sample_weight=weights)


@both
def test_a_kernel_that_is_negative_on_the_diagonal_is_refused(Detector):
    with pytest.raises(ValueError, match=r"the mean of k\(x, x\) is -.*: the kernel is not positive semidefinite"):
        Detector(kernel=lambda A, B: -(A @ B.T)).fit(random_rows(10, 2))


@pytest.mark.parametrize("Detector", [OneClassSVM, SVDD])
@pytest.mark.parametrize("scale", [1e160, 1e-160])
def test_lengths_out_of_range_are_named(Detector, scale):
    with pytest.raises(ValueError, match="scale the data"):
        Detector(kernel="linear").fit(scale * np.arange(1.0, 13.0).reshape(6, 2))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_gaps_are_never_negative_although_equal_rows_leave_only_rounding(seed, kernel):
    rng = np.random.default_rng(seed)
    rows = np.tile(rng.normal(size=4), (rng.integers(15, 40), 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVDD(kernel=kernel, slack=0).fit(rows)
    assert model.relative_gap_ >= 0 and model.dual_gap_ >= 0
    assert model.results_[0].relative_gap >= 0


def test_a_gap_below_zero_is_rounding():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVDD(slack=0, gamma=1.0).fit(np.zeros((50, 3)))
    assert 0 <= model.dual_gap_ < 1e-12 and model.relative_gap_ >= 0
    assert model.radius_ < 1e-6 and (model.predict(np.zeros((3, 3))) == 1).all()


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_a_ball_far_from_the_origin_is_right_or_refused(storage):
    X = np.random.default_rng(0).standard_normal((50, 3))
    near = SVDD(kernel="linear", slack=0, tol=1e-6).fit(X)
    far = SVDD(kernel="linear", slack=0, tol=1e-6).fit(storage(X + 1e3))
    assert far.radius_ == pytest.approx(near.radius_, rel=1e-4)
    np.testing.assert_allclose(far.center_, near.center_ + 1e3, atol=1e-3)
    with pytest.raises(ValueError, match="Subtract the mean first"):
        SVDD(kernel="linear", slack=0).fit(storage(X + 1e8))
    with pytest.warns(ConvergenceWarning, match="precision"):
        equal = SVDD(kernel="linear", slack=0).fit(storage(np.full((50, 3), 1e8)))
    assert equal.radius_ < 1e-6 * 1e8  # what rounding leaves of it
