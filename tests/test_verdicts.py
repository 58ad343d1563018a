"""Verdicts: bounds and answers, resampled seeds, stop rules, power, and what the paper says twice."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from swapsvm.study import checks
from swapsvm.study.bootstrap import RESAMPLES, agreement, drawn_seeds
from swapsvm.study.claims import CHECKS, Claim, check_all, every_claim, judged
from swapsvm.study.evidence import ALL, MOST, Finding, Status, held, over_rules, verdict_of
from swapsvm.study.inconsistencies import adult, announced, growth, impossible_p_values, is_possible, protein
from swapsvm.study.interval import NO, UNKNOWN, YES, Interval, all_of, more_than
from swapsvm.study.power import power
from swapsvm.study.protocol import GROUPS, PAPER_METHODS
from swapsvm.study.rates import slowing
from swapsvm.study.significance import compared_tests, ranked_scores
from swapsvm.study.statistics import signed_ranks
from swapsvm.study.summary import Results

WEB, ADULT = GROUPS["web"], GROUPS["adult"]
RULE = "paper-3"
INFINITE = float("inf")


def line(data, method, seconds=1.0, *, rule=RULE, seed=0, cut=False, digest="new", **measures):
    return {
        "experiment": rule,
        "data": data,
        "method": method,
        "seed": seed,
        "parameters": {"C": 1.0, "gamma": 0.5, "max_time": 60.0},
        "measures": {"seconds": seconds, "accuracy": 0.9, "model_size": 100, "cut": cut, **measures},
        "provenance": {"commit": "c", "digest": digest, "load": 0.0, "date": ""},
    }


def seeds(data, method, values, **options):
    return [line(data, method, value, seed=seed, **options) for seed, value in enumerate(values)]


def interval(low, high=None):
    return Interval(np.array([low], dtype=float), np.array([low if high is None else high], dtype=float))


def said(check, results, *arguments, **options):
    return verdict_of(check(results.under(RULE), *arguments, **options)).status


# ---- bounds and answers -------------------------------------------------------------------------------------------


def test_an_order_is_known_only_if_the_bounds_do_not_overlap():
    assert interval(1, 2).below(interval(3)) == YES and interval(3).below(interval(1, 2)) == NO
    assert interval(1, 4).below(interval(3)) == UNKNOWN
    assert interval(2).below(interval(2)) == NO and interval(2).at_least(interval(2)) == YES


def test_bounds_of_quotients_hold_all_quotients():
    generator = np.random.default_rng(0)
    for _ in range(200):
        a, b = (np.sort(generator.uniform(0.1, 5, 2)) for _ in range(2))
        quotient = interval(*a).over(interval(*b))
        sampled = generator.uniform(*a, 50) / generator.uniform(*b, 50)
        assert quotient.low <= sampled.min() and sampled.max() <= quotient.high
    assert str(interval(0, INFINITE).over(interval(0, INFINITE))) == "unknown"
    assert str(interval(60, INFINITE).over(interval(2))) == "at least 30"
    assert str(interval(2).over(interval(60, INFINITE))) == "at most 0.0333"


def test_enough_answers_whatever_the_unknown_ones_are():
    for answers in product((NO, UNKNOWN, YES), repeat=4):
        columns = [np.array([answer]) for answer in answers]
        filled = [
            [NO if a == UNKNOWN else a for a in answers],
            [YES if a == UNKNOWN else a for a in answers],
        ]
        for share, enough in ((ALL, lambda yes: yes == 4), (MOST, lambda yes: yes > 2)):
            worst, best = (enough(sum(given)) for given in filled)
            expected = YES if worst else UNKNOWN if best else NO
            assert more_than(share, columns) == expected, (answers, share)
        assert all_of(columns) == (NO if NO in answers else UNKNOWN if UNKNOWN in answers else YES)


# ---- seeds --------------------------------------------------------------------------------------------------------


def test_a_cut_seed_leaves_the_median_known_if_it_is_in_the_upper_half():
    runs = [*seeds("w1a", "fw", [3.0, 1.0]), line("w1a", "fw", 60.0, seed=2, cut=True)]
    found = Results(runs).under(RULE).seconds("w1a", "fw")
    assert (found.low[0], found.high[0]) == (3.0, 3.0)
    two_cut = [*runs[:1], *(line("w1a", "fw", 60.0, seed=k, cut=True) for k in (1, 2))]
    assert Results(two_cut).under(RULE).seconds("w1a", "fw").high[0] == INFINITE
    accuracy = Results(runs).under(RULE).bounds("w1a", "fw", "accuracy")
    assert (accuracy.low[0], accuracy.high[0]) == (0.9, 0.9)  # the other two agree


def test_resamples_are_those_of_the_cell_alone():
    values = [3.0, 1.0, 9.0, 4.0, 5.0]
    alone = Results(seeds("w1a", "fw", values)).under(RULE).seconds("w1a", "fw")
    others = Results([*seeds("w2a", "fw", values), *seeds("w1a", "fw", values)]).under(RULE).seconds("w1a", "fw")
    np.testing.assert_array_equal(alone.low, others.low)
    assert alone.low.shape == (RESAMPLES + 1,) and alone.low[0] == 4.0
    assert set(alone.low) <= set(values) and len(set(alone.low)) > 2
    other_cell = Results(seeds("w2a", "fw", values)).under(RULE).seconds("w2a", "fw")
    assert (alone.low != other_cell.low).any()


def test_resamples_are_drawn_with_replacement_and_all_runs_are_as_likely():
    places = drawn_seeds(("a", "b", "c"), 5)
    assert places[0].tolist() == [0, 1, 2, 3, 4] and places.shape == (RESAMPLES + 1, 5)
    assert any(len(set(row)) < 5 for row in places[1:])
    np.testing.assert_allclose(np.bincount(places[1:].ravel(), minlength=5) / (5 * RESAMPLES), 0.2, atol=0.04)


def test_the_share_of_the_resamples_that_agree():
    assert agreement(np.array([YES, YES, NO, YES, UNKNOWN])) == 0.5


@pytest.mark.parametrize(("agree", "status"), [(190, Status.CONFIRMED), (189, Status.UNDECIDED)])
def test_a_verdict_needs_19_of_20_resamples(agree, status):
    answers = np.array([YES] * (agree + 1) + [NO] * (RESAMPLES - agree))
    verdict = verdict_of(Finding(answers, "x"))
    assert verdict.status == status and verdict.agree == agree / RESAMPLES
    assert ("94.5%" in verdict.evidence) == (status == Status.UNDECIDED)


def test_noise_that_could_turn_the_order_decides_nothing():
    def verdict(slow):
        runs = [
            run for d in WEB for m, values in (("swap", [1.0, 2.0, 3.0]), ("mfw", slow)) for run in seeds(d, m, values)
        ]
        return said(checks.always_faster, Results(runs), WEB, "swap", "mfw")

    assert verdict([4.0, 5.0, 6.0]) == Status.CONFIRMED
    assert verdict([2.0, 2.1, 9.0]) == Status.UNDECIDED


# ---- stop rules ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statuses", "over_all"),
    [
        (["confirmed", "confirmed"], "confirmed"),
        (["not confirmed", "not confirmed"], "not confirmed"),
        (["confirmed", "not confirmed"], "depends on the stop rule"),
        (["confirmed", "not confirmed", "not decided"], "depends on the stop rule"),
        (["confirmed", "not decided"], "not decided"),
        (["not rejected", "not rejected"], "not rejected"),
        (["not rejected", "not confirmed"], "depends on the stop rule"),
        (["not decided"], "not decided"),
        ([], "not decided"),
    ],
)
def test_verdicts_over_rules(statuses, over_all):
    assert over_rules([Status(status) for status in statuses]) == over_all


def test_each_rule_has_its_verdict():
    claim = Claim("Web", "", "", lambda r: checks.always_faster(r, WEB, "mfw", "fw", slower=True))
    quick, slow = {"fw": 1.0, "mfw": 2.0}, {"fw": 2.0, "mfw": 1.0}
    rules = {"paper-1": quick, "paper-3": quick, "paper-7": slow}
    found = judged(claim, Results([line(d, m, s, rule=r) for r, t in rules.items() for d in WEB for m, s in t.items()]))
    assert [v.status for v in found.by_rule.values()] == ["confirmed", "confirmed", "not confirmed"]
    assert found.status == Status.DEPENDS and list(found.by_rule) == list(rules)


def test_a_view_needs_a_known_rule():
    with pytest.raises(ValueError, match="paper-5"):
        Results([]).under("paper-5")
    with pytest.raises(ValueError, match="use under"):
        Results([]).seconds("w1a", "fw")


def test_only_lines_of_the_newest_sources_count():
    old = [line("w1a", "fw", 9.0, digest="old"), line("w2a", "fw", 9.0, digest="old")]
    results = Results([*old, line("w1a", "fw", 1.0)])
    assert results.data(RULE) == ["w1a"] and results.median(RULE, "w1a", "fw", "seconds") == 1.0
    assert results.stale == 2 and results.digests == ["new"]


def test_lines_without_sources_are_used_if_there_are_no_others():
    bare = {name: value for name, value in line("w1a", "fw", 9.0).items() if name != "provenance"}
    unknown = {**bare, "experiment": "trusted-1"}
    alone = Results([bare, unknown])
    assert alone.median(RULE, "w1a", "fw", "seconds") == 9.0 and alone.digests == [] and alone.stale == 0
    assert Results([bare, line("w2a", "fw")]).data(RULE) == ["w2a"]


def test_texts_and_checks_of_the_claims_belong_together():
    claims = every_claim()
    assert len(claims) == len(CHECKS) == len({(c.section, c.text) for c in claims}) > 50
    assert all(len(claim.short) <= 45 for claim in claims)
    assert {c.section for c in claims if not c.ruled} == {"Polynomial kernel", "Analysis"}
    assert all(one.status == Status.UNDECIDED for one in check_all(Results([])))


# ---- claims that had no check, and verdicts that did not follow ----------------------------------------------------


def series(values, measure="seconds", data=WEB, cut=()):
    """One value for each set and method; ``cut`` are pairs of a set and a method."""
    return Results(
        [
            line(d, m, cut=(d, m) in cut, **{measure: v})
            for m, own in values.items()
            for d, v in zip(data, own, strict=True)
        ]
    )


def test_competitive_is_less_than_twice_the_time():
    def verdict(swap):
        return said(
            checks.always_faster, series({"swap": [swap] * 8, "fw": [1.0] * 8}), WEB, "swap", "fw", MOST, factor=2
        )

    assert verdict(1.9) == Status.CONFIRMED and verdict(2.0) == Status.NOT_CONFIRMED


def test_a_lower_bound_counts_where_it_fixes_the_rank():
    cvm = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]
    rising = series({"cvm": cvm, "fw": [1.0] * 8}, cut=[("w8a", "cvm")])
    assert said(checks.speedup_grows, rising, WEB, "fw") == Status.CONFIRMED
    open_end = series({"cvm": [*cvm[:7], 64.0], "fw": [1.0] * 8}, cut=[("w8a", "cvm"), ("w1a", "fw")])
    assert said(checks.speedup_grows, open_end, WEB, "fw") != Status.NOT_CONFIRMED
    falling = series({"cvm": cvm[::-1], "fw": [1.0] * 8}, cut=[("w1a", "cvm")])
    assert said(checks.speedup_grows, falling, WEB, "fw") == Status.NOT_CONFIRMED


def test_a_speedup_that_only_its_ends_show_does_not_grow():
    cvm = [2.0, 200.0, 100.0, 90.0, 80.0, 70.0, 60.0, 210.0]  # 13 of 28 pairs rise
    assert said(checks.speedup_grows, series({"cvm": cvm, "fw": [1.0] * 8}), WEB, "fw") == Status.NOT_CONFIRMED


def test_a_speedup_on_every_set_is_that_of_the_smallest():
    def verdict(last):
        times = series({"cvm": [100.0] * 7 + [last], "swap": [1.0] * 8})
        return said(checks.median_speedups, times, WEB, {"swap": 10.0}, every=10.0)

    assert verdict(10.0) == Status.CONFIRMED and verdict(9.0) == Status.NOT_CONFIRMED


def test_slowing_compares_the_last_two_tenfold_reductions():
    run = {"curve": {"gap": [1.0, 0.1, 0.01], "iteration": [100, 110, 160]}, "measures": {"cut": False}}
    assert slowing(run) == (5.0, 5.0)


def test_a_loss_is_no_small_gain():
    def verdict(cvm):
        finding = checks.small_gain(series({"cvm": [cvm] * 8, "fw": [1.0] * 8}).under(RULE), WEB, "fw", 2.0)
        return verdict_of(finding)

    assert verdict(1.5).status == Status.CONFIRMED and verdict(2.5).status == Status.NOT_CONFIRMED
    assert verdict(0.5).status == Status.NOT_CONFIRMED and "a loss" in verdict(0.5).evidence


def test_where_the_largest_speed_up_is():
    speedups = [1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 2.0]
    found = series({"cvm": speedups, "fw": [1.0] * 7}, data=ADULT)
    assert said(checks.largest_speedup, found, ADULT, "fw", 7.2, "a6a") == Status.CONFIRMED
    assert said(checks.largest_speedup, found, ADULT, "fw", 2.5, "a6a") == Status.NOT_CONFIRMED
    assert said(checks.largest_speedup, found, ADULT, "fw", 7.2, "a7a") == Status.NOT_CONFIRMED


def test_a_share_of_the_rows_that_falls():
    rows = [2477, 3470, 4912, 7366, 9888, 17188, 24692, 49749]
    constant = series({"cvm": [r // 10 for r in rows]}, "model_size")
    assert said(checks.share_stays, constant, WEB, "cvm", 0.5) == Status.CONFIRMED
    assert said(checks.share_stays, series({"cvm": [200] * 8}, "model_size"), WEB, "cvm", 0.5) == Status.NOT_CONFIRMED


def test_who_is_closest_to_the_best_accuracy():
    def verdict(**accuracies):
        best = {"fw": 0.8, "mfw": 0.85, "swap": 0.7, "swap2": 0.7} | accuracies
        found = series({m: [a] * 8 for m, a in best.items()}, "accuracy")
        return said(checks.closest_to_best, found, WEB, ("swap", "swap2"))

    assert verdict(swap=0.9) == verdict(swap2=0.85) == Status.CONFIRMED
    assert verdict() == Status.NOT_CONFIRMED


def test_as_accurate_with_a_slack():
    def verdict(own):
        found = series({"swap2": [own] * 8, "mfw": [0.9] * 8}, "accuracy")
        return said(checks.as_accurate, found, WEB, "swap2", "mfw", 0.001)

    assert verdict(0.9) == verdict(0.8995) == verdict(0.95) == Status.CONFIRMED
    assert verdict(0.898) == Status.NOT_CONFIRMED


def test_often_tenfold_and_once_hundredfold():
    def verdict(*mfw):
        return said(checks.often_much_faster, series({"mfw": mfw, "swap": [1.0] * 8}), WEB, "swap", "mfw", 0.25)

    assert verdict(150, 20, 20, 1, 1, 1, 1, 1) == Status.CONFIRMED
    assert verdict(150, 20, 1, 1, 1, 1, 1, 1) == Status.NOT_CONFIRMED  # a quarter is not more than a quarter
    assert verdict(90, 90, 90, 90, 1, 1, 1, 1) == Status.NOT_CONFIRMED


def test_whose_advantage_is_smaller():
    mixed = series({"swap": [1.0] * 4 + [2.0] * 4, "mfw": [9.0] * 4 + [1.0] * 4})
    assert said(checks.smaller_advantage, mixed, WEB, "swap", "mfw") == Status.CONFIRMED
    assert said(checks.smaller_advantage, mixed, WEB, "mfw", "swap") == Status.NOT_CONFIRMED


# ---- significance -------------------------------------------------------------------------------------------------


def test_a_hypothesis_that_is_kept_is_not_confirmed():
    runs = [line(d, m, 1.0 + 0.1 * (k % 2)) for m in PAPER_METHODS for k, d in enumerate(WEB)]
    found = {(t.published.measure, t.published.first, t.published.second): t for t in compared_tests(Results(runs))}
    kept = found["time", "FW", "MFW"]
    assert kept.status == Status.NOT_REJECTED and 0 < kept.by_rule[RULE].power < 1
    assert Status.CONFIRMED not in {test.status for test in found.values() if not test.published.rejected}


def brute_power(pairs, level, alternative, wins):
    """The sum over all sign patterns of their probability, if the test rejects them."""
    total, ranks = 0.0, np.arange(1.0, pairs + 1)
    for signs in product((-1, 1), repeat=pairs):
        positive = signs.count(1)
        if signed_ranks(np.array(signs) * ranks, np.zeros(pairs), alternative).p < level:
            total += wins**positive * (1 - wins) ** (pairs - positive)
    return total


@pytest.mark.parametrize("pairs", [5, 6, 8, 9])
@pytest.mark.parametrize("wins", [0.5, 0.75, 0.9])
def test_power_by_brute_force(pairs, wins):
    for alternative in ("two-sided", "greater"):
        assert power(pairs, 0.05, alternative, wins) == pytest.approx(brute_power(pairs, 0.05, alternative, wins))
    assert power(pairs, 0.05, "less", wins) == power(pairs, 0.05, "greater", wins)


def test_known_powers():
    assert power(5, 0.05, "greater", 0.75) == pytest.approx(0.75**5)  # only the largest sum is rejected
    assert power(6, 0.05, "two-sided", 0.75) == pytest.approx(0.75**6 + 0.25**6)
    assert power(5, 0.05, "two-sided", 0.75) == 0.0  # no sum has p < 0.05
    assert power(10, 0.05, "two-sided", 0.5) == pytest.approx(2 * 25 / 2**10)  # critical value 8 of the tables
    assert power(26, 0.05, "two-sided", 1.0) == 1.0


def test_a_p_value_of_just_the_level_does_not_reject():
    assert power(5, 2.0**-5, "greater") == 0.0  # 2^-5 is the smallest p-value of five pairs
    assert power(5, 1.01 * 2.0**-5, "greater") > 0.0


def test_power_by_simulation():
    generator = np.random.default_rng(0)
    ranks = np.arange(1, 13)
    rejected = [
        stats.wilcoxon(np.where(generator.random(12) < 0.75, ranks, -ranks), method="exact").pvalue < 0.05
        for _ in range(2000)
    ]
    assert power(12, 0.05) == pytest.approx(np.mean(rejected), abs=0.03)


def test_a_run_that_was_cut_is_ranked_last_by_time_and_not_by_accuracy():
    lines = [line("w1a", "cvm", 1.0, cut=True), line("w1a", "fw", 5.0), line("w1a", "swap", 3.0)]
    lines += [line("w2a", m, s) for m, s in (("cvm", 2.0), ("fw", 4.0), ("swap", 3.0))]
    results = Results(lines).under(RULE)
    assert ranked_scores(results, RULE, "seconds", ["cvm", "fw", "swap"]).tolist() == [[5.0, 5.0, 3.0], [2.0, 4.0, 3.0]]
    assert len(ranked_scores(results, RULE, "accuracy", ["cvm", "fw", "swap"])) == 1


@pytest.mark.parametrize("wrong", [{"pairs": 0}, {"level": 0.0}, {"wins": 1.5}])
def test_impossible_requests_for_power(wrong):
    with pytest.raises(ValueError, match="must be"):
        power(**{"pairs": 5, "level": 0.05, **wrong})


# ---- what the paper says twice ------------------------------------------------------------------------------------


def test_two_ratios_of_protein_are_exchanged():
    found = list(protein())
    assert len(found) == 2
    assert "SWAP is said to be 17.25 times as fast as FW" in found[0] and "give 7.56" in found[0]
    assert all("exchanged" in text for text in found)


def test_a_largest_speedup_below_the_median():
    found = list(adult())
    assert "SWAP-2o is said to reach a speed-up over CVM of 15, and to have a median of 20.5" in found[0]
    assert [text for text in found[1:] if "SWAP " in text and "10.7" in text]
    assert len(found) == 3


def test_the_collections_grow_faster_than_announced():
    assert [text.split(":")[0] for text in growth()] == ["Web", "Adult"]
    assert "a factor of 1.54" in next(growth())


def test_p_values_that_26_sets_cannot_have():
    (only,) = impossible_p_values()
    assert "SWAP and MFW" in only and "16 or 17 sets can have it" in only
    assert is_possible("4.47e-08", 26, 1) and not is_possible("4.47e-08", 25, 1)
    assert len(list(announced())) == 1


def test_evidence_counts_the_runs_as_they_are():
    answers = [np.array([YES, NO, NO]), np.array([UNKNOWN, NO, NO])]
    assert held(answers, ALL, "it holds").evidence == "it holds on 1 of 2 sets (unknown on 1)"
