"""The statistics of the study against published worked examples, tables, brute force, and SciPy where it is correct."""

from fractions import Fraction
from itertools import product
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from swapsvm.datasets.registry import registry
from swapsvm.study.diagram import draw_ranks, place_labels
from swapsvm.study.paper import published_statistics
from swapsvm.study.statistics import (
    cliques,
    critical_difference,
    friedman,
    holm,
    median_ratio,
    rank_diagram,
    rank_methods,
    sign_patterns,
    signed_ranks,
)

quickly = settings(deadline=None, max_examples=60)
every_alternative = pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])

# [Demsar06] Table 6: AUC and ranks of four variants of C4.5 on 14 data sets. On "voting" the paper ranks C4.5+cf before
# C4.5+m+cf although both print as 0.975; the fourth digit here is made up to say so.
VARIANTS = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]
AUC = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],  # adult (sample)
        [0.599, 0.591, 0.590, 0.569],  # breast cancer
        [0.954, 0.971, 0.968, 0.967],  # breast cancer wisconsin
        [0.628, 0.661, 0.654, 0.657],  # cmc
        [0.882, 0.888, 0.886, 0.898],  # ionosphere
        [0.936, 0.931, 0.916, 0.931],  # iris
        [0.661, 0.668, 0.609, 0.685],  # liver disorders
        [0.583, 0.583, 0.563, 0.625],  # lung cancer
        [0.775, 0.838, 0.866, 0.875],  # lymphography
        [1.000, 1.000, 1.000, 1.000],  # mushroom
        [0.940, 0.962, 0.965, 0.962],  # primary tumor
        [0.619, 0.666, 0.614, 0.669],  # rheum
        [0.972, 0.981, 0.9751, 0.975],  # voting
        [0.957, 0.978, 0.946, 0.970],  # wine
    ]
)
RANKS = [
    [4, 3, 2, 1],
    [1, 2, 3, 4],
    [4, 1, 2, 3],
    [4, 1, 3, 2],
    [4, 2, 3, 1],
    [1, 2.5, 4, 2.5],
    [3, 2, 4, 1],
    [2.5, 2.5, 4, 1],
    [4, 3, 2, 1],
    [2.5, 2.5, 2.5, 2.5],
    [4, 2.5, 1, 2.5],
    [3, 2, 4, 1],
    [4, 1, 2, 3],
    [3, 1, 4, 2],
]


def differences(values):
    """The two samples of which these are the differences."""
    return values, np.zeros(len(values))


# ---- Friedman -----------------------------------------------------------------------------------------------------


def test_ranks_of_demsars_table():
    assert_array_equal(rank_methods(AUC, higher_is_better=True), RANKS)


def test_friedman_and_iman_davenport_of_demsars_table():
    test = friedman(AUC, higher_is_better=True, correct_ties=False)
    assert_allclose(test.ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    assert test.chi_square == pytest.approx(9.28, abs=5e-3)
    assert test.f_statistic == pytest.approx(3.69, abs=5e-3)
    # "The critical value of F(3, 39) for alpha = 0.05 is 2.85, so we reject the null-hypothesis."
    assert stats.f.sf(2.85, 3, 39) == pytest.approx(0.05, abs=5e-4)
    assert test.p == pytest.approx(stats.f.sf(3.69, 3, 39), rel=5e-3)


@quickly
@given(st.integers(2, 7), st.integers(3, 12), st.integers(2, 20), st.integers(0, 2**32 - 1))
def test_friedman_with_ties_is_scipys(methods, sets, levels, seed):
    scores = np.random.default_rng(seed).integers(0, levels, size=(sets, methods)).astype(float)
    scores[0] = np.arange(methods)  # some row must not be tied
    test = friedman(scores, higher_is_better=False)
    if methods == 2:  # SciPy wants three; two are the sign test: chi^2 = (wins - losses)^2 / (wins + losses)
        won, lost = (scores[:, 0] < scores[:, 1]).sum(), (scores[:, 0] > scores[:, 1]).sum()
        assert test.chi_square == pytest.approx((won - lost) ** 2 / (won + lost))
    else:
        judge = stats.friedmanchisquare(*scores.T)
        assert test.chi_square == pytest.approx(judge.statistic, abs=1e-9)
        assert test.chi_square_p == pytest.approx(judge.pvalue, abs=1e-9)


@quickly
@given(st.integers(2, 6), st.integers(3, 10), st.integers(2, 20), st.integers(0, 2**32 - 1))
def test_iman_davenport_is_the_analysis_of_variance_of_ranks(methods, sets, levels, seed):
    scores = np.random.default_rng(seed).integers(0, levels, size=(sets, methods)).astype(float)
    scores[0], scores[1] = np.arange(methods), np.arange(methods)[::-1]  # neither all tied nor in full agreement
    test = friedman(scores, higher_is_better=False)
    ranks = stats.rankdata(scores, axis=1)
    between = sets * ((ranks.mean(axis=0) - ranks.mean()) ** 2).sum() / (methods - 1)
    within = ((ranks - ranks.mean(axis=0)) ** 2).sum() / ((methods - 1) * (sets - 1))
    assert test.f_statistic == pytest.approx(between / within, abs=1e-9)


def test_ties_make_the_uncorrected_test_less_powerful():
    assert friedman(AUC, higher_is_better=True).p < friedman(AUC, higher_is_better=True, correct_ties=False).p


def test_data_sets_that_all_agree_and_methods_that_are_all_equal():
    agreed = friedman([[1, 2, 3]] * 5, higher_is_better=False)
    assert (agreed.chi_square, agreed.f_statistic, agreed.p) == (10.0, inf, 0.0)
    equal = friedman(np.ones((5, 3)), higher_is_better=False)
    assert (equal.chi_square, equal.f_statistic, equal.p) == (0.0, 0.0, 1.0)


def test_better_is_lower_for_times():
    times = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert friedman(times, higher_is_better=False).ranks.tolist() == [1, 2]
    assert friedman(times, higher_is_better=True).ranks.tolist() == [2, 1]


# ---- Wilcoxon -----------------------------------------------------------------------------------------------------

# Largest rank sum that is significant, for n = 5, 6, ..., 15; None if no sum is. F. Wilcoxon, R. A. Wilcox: Some rapid
# approximate statistical procedures (Lederle 1964), as corrected by R. L. McCornack: Extended tables of the Wilcoxon
# matched pair signed rank statistic, JASA 60, 1965.
CRITICAL = {  # one-sided level
    0.05: [0, 2, 3, 5, 8, 10, 13, 17, 21, 25, 30],
    0.025: [None, 0, 2, 3, 5, 8, 10, 13, 17, 21, 25],
    0.01: [None, None, 0, 1, 3, 5, 7, 9, 12, 15, 19],
    0.005: [None, None, None, 0, 1, 3, 5, 7, 9, 12, 15],
}


def with_negative_sum(n, target):
    """1, ..., n with signs such that the negative ones sum to the target."""
    values = np.arange(1.0, n + 1)
    for rank in range(n, 0, -1):
        if rank <= target:
            values[rank - 1] *= -1
            target -= rank
    return values


@pytest.mark.parametrize("level", CRITICAL)
@pytest.mark.parametrize("n", range(5, 16))
def test_critical_values_of_the_published_tables(n, level):
    critical = CRITICAL[level][n - 5]
    if critical is None:
        assert signed_ranks(*differences(with_negative_sum(n, 0)), "greater").p > level
    else:
        assert signed_ranks(*differences(with_negative_sum(n, critical)), "greater").p <= level
        assert signed_ranks(*differences(with_negative_sum(n, critical + 1)), "greater").p > level
        assert signed_ranks(*differences(with_negative_sum(n, critical))).p <= 2 * level


def test_depression_scores_of_hollander_and_wolfe():
    # M. Hollander, D. A. Wolfe: Nonparametric statistical methods (1973), page 29; also in R's help of wilcox.test,
    # which gives V = 40, p-value = 0.01953.
    before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    test = signed_ranks(before, after, "greater")
    assert (test.positive, test.negative) == (40, 5)
    assert test.p == 10 / 512 == pytest.approx(0.01953, abs=5e-6)


def test_darwins_maize():
    # R. A. Fisher: The design of experiments (1935), chapter 3; SciPy's help of wilcoxon gives 24 and 0.0413.
    test = signed_ranks(*differences([6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]))
    assert test.negative == 24
    assert test.p == pytest.approx(0.04126, abs=5e-6)


def test_example_of_pratt():
    # [Pratt59]: with the zero left out (ranks 1 to 11, -12), the sample is less significantly positive than after all
    # observations are lowered by less than 1 (ranks -1, 2 to 12, -13), which has p = 109 / 2^13. Secondary sources
    # print 55 / 2^12 for the former, which is the probability of a sum below 12; of at most 12, it is 70 / 2^12.
    sample = np.array([0, 2, 3, 4, 6, 7, 8, 9, 11, 14, 15, 17, -18], dtype=float)
    assert signed_ranks(*differences(sample[1:]), "greater").p == 70 / 2**12
    assert signed_ranks(*differences(sample - 0.5), "greater").p == 109 / 2**13
    # His remedy: lowering the observations does not make them look more positive. Of {2, ..., 13}, 49 subsets have a
    # sum of at most 13: 1, 0, 1, 1, 1, 2, 2, 3, 3, 5, 5, 7, 8, 10 with the sums 0 to 13.
    with_zero = signed_ranks(*differences(sample), "greater")
    assert (with_zero.positive, with_zero.negative, with_zero.zeros) == (77, 13, 1)
    assert with_zero.p == 49 / 2**12 < 109 / 2**13


def test_zeros_and_ties_as_in_rs_coin():
    # R's coin, wilcoxsign_test(a ~ b, distribution = "exact") of these answers from 1 to 7:
    # "Exact Wilcoxon-Pratt Signed-Rank Test, Z = 4.5276, p-value = 1.474e-06".
    a = "64557666766566553665654666743466564665766567666577"
    b = "53535362362556464553756643432454462674455557453267"
    assert signed_ranks([int(x) for x in a], [int(x) for x in b]).p == pytest.approx(1.474e-06, abs=5e-10)


def test_ranks_of_demsars_wilcoxon_example():
    # [Demsar06] Table 2 compares C4.5 with C4.5+m; with both zeros' rank 1.5 on either side it gets R+ = 93, R- = 12.
    test = signed_ranks(AUC[:, 1], AUC[:, 0])
    assert (test.positive + 1.5, test.negative + 1.5, test.zeros) == (93, 12, 2)
    assert test.p == brute_force(AUC[:, 1] - AUC[:, 0], "two-sided") < 0.05


def brute_force(values, alternative):
    """P-value by going through all signs of the differences, zeros too, with ranks from their definition."""
    size = np.round(np.abs(values), 9)
    ranks = [Fraction(int((size < s).sum() * 2 + (size == s).sum() + 1), 2) for s in size]
    observed = sum(rank for rank, value, s in zip(ranks, values, size, strict=True) if value > 0 and s)
    patterns = list(product([False, True], repeat=len(ranks)))
    sums = [sum(r for r, s, up in zip(ranks, size, pattern, strict=True) if up and s) for pattern in patterns]
    greater = Fraction(sum(total >= observed for total in sums), len(patterns))
    less = Fraction(sum(total <= observed for total in sums), len(patterns))
    return float({"greater": greater, "less": less, "two-sided": min(Fraction(1), 2 * min(greater, less))}[alternative])


@quickly
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9), st.sampled_from(["two-sided", "greater", "less"]))
def test_p_values_by_brute_force(values, alternative):
    assert signed_ranks(*differences(values), alternative).p == brute_force(np.array(values), alternative)


@every_alternative
@pytest.mark.parametrize("n", [4, 11, 30])
def test_p_values_by_scipy_without_zeros_and_ties(n, alternative):
    values = np.random.default_rng(n).permuted(np.arange(1, n + 1) * [(-1) ** (i % 3) for i in range(n)])
    judge = stats.wilcoxon(values, alternative=alternative, method="exact").pvalue
    assert signed_ranks(*differences(values), alternative).p == pytest.approx(judge, rel=1e-9)


def test_scipys_exact_p_values_are_still_unusable_with_zeros():
    """If this fails, SciPy handles the case, and ``exact_p`` can be removed."""
    sample = [0, 2, 3, 4, 6, 7, 8, 9, 11, 14, 15, 17, -18]
    judge = stats.wilcoxon(sample, zero_method="pratt", alternative="greater", method="exact").pvalue
    assert judge == pytest.approx(109 / 2**13)


def test_tiny_p_values_are_exact():
    assert signed_ranks(*differences(np.arange(1, 61)), "greater").p == 2.0**-60


@quickly
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=30))
def test_exchanging_the_methods_exchanges_the_alternatives(values):
    a, b = differences(values)
    assert signed_ranks(a, b, "greater").p == signed_ranks(b, a, "less").p
    assert signed_ranks(a, b).p == signed_ranks(b, a).p
    assert signed_ranks(a, b).rank_biserial == -signed_ranks(b, a).rank_biserial


@every_alternative
def test_methods_that_are_equal_everywhere(alternative):
    test = signed_ranks([1, 2, 3], [1, 2, 3], alternative)
    assert (test.p, test.zeros, test.rank_biserial) == (1.0, 3, 0.0)


def test_differences_that_are_equal_but_for_rounding_are_ties():
    first, second = np.array([0.3, 0.2, 0.3]), np.array([0.2, 0.1, 0.1 + 0.2])
    assert len(set(first - second)) == 3
    test = signed_ranks(first, second)
    assert (test.positive, test.negative, test.zeros) == (5.0, 0.0, 1)
    assert signed_ranks([0.3, 0.1], [0.2, 0.2]).positive == 1.5
    assert rank_methods([[0.1 + 0.2, 0.3], [0.3, 0.1]], higher_is_better=True).tolist() == [[1.5, 1.5], [1, 2]]


def test_unknown_alternatives_and_unpaired_scores_are_refused():
    with pytest.raises(ValueError, match="'larger' must be one of two-sided, greater, less"):
        signed_ranks([1, 2], [2, 1], "larger")
    with pytest.raises(ValueError, match="3 scores and second 2"):
        signed_ranks([1, 2, 3], [2, 1])
    with pytest.raises(ValueError, match="at least 2 data sets and 2 methods"):
        friedman([[1, 2, 3]], higher_is_better=False)


@pytest.mark.parametrize("bad", [[1.0, nan], [1.0, inf], [], [[1.0, 2.0]]])
def test_scores_must_be_finite_vectors(bad):
    with pytest.raises(ValueError, match="expected finite numbers"):
        signed_ranks(bad, [1.0, 2.0])


# ---- effect sizes -------------------------------------------------------------------------------------------------


def test_rank_biserial_correlation_by_hand():
    # Differences -4, 10, -5, 7, -3, 17, 14, 5, 15, 10: negative ranks 2 + 3.5 + 1, of 55 in all.
    placebo = [24, 39, 29, 28, 25, 32, 31, 33, 31, 22]
    drug = [28, 29, 34, 21, 28, 15, 17, 28, 16, 12]
    assert signed_ranks(placebo, drug).rank_biserial == pytest.approx((48.5 - 6.5) / 55)


def test_median_of_ratios():
    assert median_ratio([1, 2, 30], [2, 8, 10]) == pytest.approx(0.5)
    assert median_ratio([1, 4], [1, 1]) == pytest.approx(2)  # the geometric mean of the two in the middle
    assert median_ratio([1, 1], [1, 4]) == pytest.approx(1 / 2)
    with pytest.raises(ValueError, match="pairs of positive numbers"):
        median_ratio([1, 0], [1, 1])


# ---- Holm and Nemenyi ---------------------------------------------------------------------------------------------


def test_holm_on_demsars_example():
    # [Demsar06] section 3.2.2: C4.5 against three others, p = 0.016, 0.019, 0.607; thresholds 0.017, 0.025, 0.05.
    corrected = holm([0.607, 0.016, 0.019])
    assert_allclose(corrected, [0.607, 0.048, 0.048])
    assert ((corrected <= 0.05) == [False, True, True]).all()


@quickly
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.001, 0.999))
def test_holm_rejects_what_its_steps_reject(p_values, level):
    """S. Holm, Scand. J. Statist. 6, 1979: from the smallest p on, reject while p <= level / (number left)."""
    rejected, left = set(), len(p_values)
    for i in np.argsort(p_values, kind="stable"):
        if p_values[i] * left > level:
            break
        rejected.add(i)
        left -= 1
    assert set(np.flatnonzero(holm(p_values) <= level)) == rejected


def test_holm_refuses_what_are_no_probabilities():
    with pytest.raises(ValueError, match="from 0 to 1"):
        holm([0.5, 1.5])


# [Demsar06] Table 5 (a), two to ten methods; two entries are off by one in the last digit.
NEMENYI = {
    0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
    0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
}


@pytest.mark.parametrize("level", NEMENYI)
def test_nemenyis_critical_values(level):
    ours = [critical_difference(k, 1, level) / np.sqrt(k * (k + 1) / 6) for k in range(2, 11)]
    assert_allclose(ours, NEMENYI[level], atol=1.2e-3)


def test_nemenyi_on_demsars_table():
    # [Demsar06] section 3.2.2: CD = 1.25 at 0.05, which no pair reaches; CD = 1.12 at 0.10, where C4.5 is worse than
    # C4.5+m and C4.5+m+cf, and C4.5+cf belongs to either group.
    ranks = friedman(AUC, higher_is_better=True).ranks
    strict, lenient = rank_diagram(VARIANTS, ranks, 14), rank_diagram(VARIANTS, ranks, 14, level=0.10)
    assert strict.difference == pytest.approx(1.25, abs=5e-3)
    assert strict.names == ("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5")
    assert strict.cliques == (strict.names,)
    assert lenient.difference == pytest.approx(1.12, abs=5e-3)
    assert lenient.cliques == (("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5"))


@quickly
@given(st.lists(st.floats(1, 6), min_size=2, max_size=6), st.integers(1, 60))
def test_cliques_join_exactly_the_pairs_that_do_not_differ(ranks, sets):
    names = [str(i) for i in range(len(ranks))]
    diagram = rank_diagram(names, ranks, sets)
    together = {(a, b) for clique in diagram.cliques for a in clique for b in clique}
    for i, a in enumerate(names):
        for j, b in enumerate(names[:i]):
            apart = abs(ranks[i] - ranks[j])
            if abs(apart - diagram.difference) > 1e-9:
                assert ((a, b) in together) == (apart < diagram.difference)
    assert not any(set(a) < set(b) for a in diagram.cliques for b in diagram.cliques)


def test_ranks_that_differ_by_just_the_critical_difference_differ():
    assert cliques(np.array([1.0, 2.0, 2.5]), 1.0) == [(1, 3)]


def test_impossible_diagrams_are_refused():
    with pytest.raises(ValueError, match="methods=1 must be at least 2"):
        critical_difference(1, 10)
    with pytest.raises(ValueError, match="2 names for 3 ranks"):
        rank_diagram(["a", "b"], [1, 2, 3], 5)


# ---- the diagram --------------------------------------------------------------------------------------------------


def test_the_diagram_shows_every_method_its_rank_and_every_clique(tmp_path):
    ranks = friedman(AUC, higher_is_better=True).ranks
    diagram = rank_diagram(VARIANTS, ranks, 14, level=0.10)
    figure = draw_ranks(diagram, "AUC")
    figure.savefig(tmp_path / "ranks.svg")
    axes = figure.axes[0]
    texts = {text.get_text() for text in axes.texts}
    assert {"C4.5+m+cf  1.96", "C4.5+m  2.00", "2.89  C4.5+cf", "3.14  C4.5"} <= texts
    assert any("1.12" in text for text in texts)
    thick = [line.get_xdata() for line in axes.lines if line.get_linewidth() > 4]
    assert_allclose(thick, [[ranks[3], ranks[2]], [ranks[2], ranks[0]]])
    assert (tmp_path / "ranks.svg").stat().st_size > 1000


def test_lines_to_the_names_do_not_cross():
    diagram = rank_diagram(list("abcdef"), [1.2, 2.3, 3.1, 3.6, 4.9, 5.9], 10)
    labels = list(place_labels(diagram))
    left, right = [x for x in labels if x.left], [x for x in labels if not x.left]
    assert [x.row for x in sorted(left, key=lambda x: x.rank)] == [0, 1, 2]
    assert [x.row for x in sorted(right, key=lambda x: -x.rank)] == [0, 1, 2]


# ---- what the paper prints ----------------------------------------------------------------------------------------


def test_the_paper_compares_eight_pairs_by_time_and_accuracy():
    tests = published_statistics().tests
    pairs = [("SWAP", "FW"), ("SWAP", "MFW"), ("SWAP", "CVM"), ("FW", "MFW")]
    pairs += [("SWAP-2o", other) for other in ("FW", "MFW", "CVM", "SWAP")]
    assert [(t.first, t.second, t.measure) for t in tests] == [(*p, m) for p in pairs for m in ("time", "accuracy")]


def test_the_papers_conclusions_follow_from_its_p_values():
    paper = published_statistics()
    assert [test.rejected for test in paper.tests] == [float(test.p) < paper.level for test in paper.tests]


def test_directions_of_the_papers_alternatives():
    directions = {(t.measure, t.first, t.second): t.direction for t in published_statistics().tests}
    assert directions["time", "SWAP", "FW"] == "less"
    assert directions["time", "SWAP-2o", "SWAP"] == "greater"  # "SWAP faster"
    assert directions["accuracy", "SWAP", "CVM"] == "less"  # "CVM more accurate"
    assert directions["accuracy", "SWAP-2o", "SWAP"] == "greater"
    assert directions["time", "FW", "MFW"] == directions["accuracy", "FW", "MFW"] == "two-sided"


def test_the_papers_times_have_p_values_of_26_data_sets():
    """There are few exact p-values, so the printed digits identify the number of data sets and the alternative."""
    sets = sum(entry.paper is not None for entry in registry().values())
    tails = np.cumsum(sign_patterns(range(1, sets + 1))) / 2.0**sets
    times = [test for test in published_statistics().tests if test.measure == "time"]
    possible = {True: {f"{p:.3e}" for p in 2 * tails}, False: {f"{p:.3e}" for p in tails}}
    not_found = [t for t in times if f"{float(t.p):.3e}" not in possible[t.direction == "two-sided"]]
    assert sets == 26
    assert [(t.first, t.second) for t in not_found] == [("SWAP", "MFW")]  # 2^-16, the least p of 16 data sets
