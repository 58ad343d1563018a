"""What [SWAP14] claims about its experiments, each with the check whether it holds here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from . import checks
from .evidence import ALL, MOST, Verdict, together
from .protocol import EXPERIMENTS, FRANK_WOLFE, GROUPS
from .summary import Results

WEB, ADULT, MEDIUM, LARGE = (GROUPS[name] for name in ("web", "adult", "medium", "large"))
OTHER = (*MEDIUM, *LARGE)
POLYNOMIAL = EXPERIMENTS["polynomial"].data
PROPOSED = ("swap", "swap2")
TENFOLD = dict.fromkeys(PROPOSED, 10.0)


class Claim(NamedTuple):
    """One claim: the section of the paper, and the text."""

    section: str
    text: str


CLAIMS: dict[str, dict[str, Callable[[Results], Verdict]]] = {  # by section and text
    "Web": {
        "Each Frank-Wolfe method is faster than CVM on all 8 sets.": lambda r: checks.all_faster(
            r, WEB, FRANK_WOLFE, "cvm"
        ),
        "MFW is always slower than FW.": lambda r: checks.always_faster(r, WEB, "mfw", "fw", slower=True),
        "SWAP is faster than MFW on all sets.": lambda r: checks.always_faster(r, WEB, "swap", "mfw"),
        "SWAP-2o is faster than MFW on most sets (6 of 8).": lambda r: checks.always_faster(
            r, WEB, "swap2", "mfw", MOST
        ),
        "The speed-up of FW over CVM grows with the rows (from 12.6 to 106).": lambda r: checks.speedup_grows(
            r, WEB, "fw"
        ),
        "SWAP is much faster than CVM on the largest set (250 times; here: at least 10).": lambda r: (
            checks.median_speedups(r, ("w8a",), {"swap": 10.0})
        ),
        "SWAP-2o is not faster than SWAP in this series.": lambda r: checks.always_faster(
            r, WEB, "swap2", "swap", MOST, slower=True
        ),
        "The Frank-Wolfe methods are slightly less accurate than CVM.": lambda r: together(
            checks.compare(r, WEB, "accuracy", "cvm", m, MOST) for m in FRANK_WOLFE
        ),
        "Accuracies are most of the time less than 0.5 % below CVM's.": lambda r: checks.differences_below(
            r, WEB, 0.005, MOST
        ),
        "MFW is most of the time more accurate than SWAP, and SWAP than FW.": lambda r: together(
            checks.compare(r, WEB, "accuracy", more, less, MOST) for more, less in (("mfw", "swap"), ("swap", "fw"))
        ),
        "FW is the least accurate of the four Frank-Wolfe methods.": lambda r: checks.extreme_of(
            r, WEB, "fw", "accuracy", best=False, least=MOST
        ),
        "SWAP-2o is very often the most accurate of the four.": lambda r: checks.extreme_of(
            r, WEB, "swap2", "accuracy", best=True, least=MOST
        ),
        "SWAP and FW have most of the time smaller models than MFW and SWAP-2o.": lambda r: together(
            checks.compare(r, WEB, "model_size", large, small, MOST)
            for large in ("mfw", "swap2")
            for small in ("swap", "fw")
        ),
        "CVM's models are larger than those of the proposed methods.": lambda r: together(
            checks.compare(r, WEB, "model_size", "cvm", m, ALL, equal=False) for m in PROPOSED
        ),
    },
    "Adult": {
        "SWAP, MFW and SWAP-2o are always faster than CVM.": lambda r: checks.all_faster(
            r, ADULT, ("swap", "mfw", "swap2"), "cvm"
        ),
        "SWAP and SWAP-2o are always more than 10 times as fast as CVM (medians 15.5 and 20.5).": (
            lambda r: checks.median_speedups(r, ADULT, TENFOLD, every=10.0)
        ),
        "FW gains little over CVM (a median of 1.45; here: at most 2).": lambda r: checks.small_speedup(
            r, ADULT, "fw", 2.0
        ),
        "SWAP and SWAP-2o are an order of magnitude faster than FW (medians 15 and 20; here: at least 10).": (
            lambda r: checks.median_speedups(r, ADULT, TENFOLD, base="fw")
        ),
        "MFW is always faster than FW.": lambda r: checks.always_faster(r, ADULT, "mfw", "fw"),
        "SWAP and SWAP-2o are always faster than FW.": lambda r: checks.all_faster(r, ADULT, PROPOSED, "fw"),
        "SWAP and SWAP-2o are always faster than MFW.": lambda r: checks.all_faster(r, ADULT, PROPOSED, "mfw"),
        "Most of the time the Frank-Wolfe methods are at least as accurate as CVM.": lambda r: together(
            checks.compare(r, ADULT, "accuracy", m, "cvm", MOST) for m in FRANK_WOLFE
        ),
        "SWAP is always at least as accurate as FW.": lambda r: checks.compare(r, ADULT, "accuracy", "swap", "fw", ALL),
        "SWAP is most of the time (all but one) at least as accurate as MFW.": lambda r: checks.compare(
            r, ADULT, "accuracy", "swap", "mfw", MOST
        ),
        "The sizes of the models are quite similar (here: within a factor of 1.2).": lambda r: checks.sizes_similar(
            r, ADULT, 1.2
        ),
    },
    "Medium and large": {
        "Accuracies are always less than 2 % below CVM's.": lambda r: checks.differences_below(r, OTHER, 0.02, ALL),
        "FW is very often the least accurate of the four.": lambda r: checks.extreme_of(
            r, OTHER, "fw", "accuracy", best=False, least=MOST
        ),
        "The Frank-Wolfe methods are most of the time faster than CVM.": lambda r: checks.all_faster(
            r, OTHER, FRANK_WOLFE, "cvm", MOST
        ),
        "On medium sets all four have times of the same order of magnitude.": lambda r: checks.same_order(r, MEDIUM),
        "On medium sets SWAP is slightly slower than MFW, SWAP-2o slightly faster.": lambda r: together(
            checks.always_faster(r, MEDIUM, m, "mfw", MOST, slower=m == "swap") for m in PROPOSED
        ),
        "Speed-ups over CVM are larger on the large sets (medians 27.3, 15.0, 30.7, 29.5).": lambda r: (
            checks.larger_speedups(r, MEDIUM, LARGE)
        ),
        "SWAP is faster than MFW on most of the large sets (4 of 5).": lambda r: checks.always_faster(
            r, LARGE, "swap", "mfw", MOST
        ),
        "SWAP-2o is faster than MFW on most of the large sets (4 of 5).": lambda r: checks.always_faster(
            r, LARGE, "swap2", "mfw", MOST
        ),
        "On USPS-Ext and KDD-10pc MFW is slower than FW, and SWAP faster than MFW.": lambda r: together(
            checks.always_faster(r, ("usps-ext", "kddcup10"), first, second, slower=first == "mfw")
            for first, second in (("mfw", "fw"), ("swap", "mfw"))
        ),
        "On Shuttle SWAP and SWAP-2o are much faster than FW (here: at least 10 times).": lambda r: (
            checks.median_speedups(r, ("shuttle",), TENFOLD, base="fw")
        ),
        "There are no significant differences among the sizes of the models (here: within a factor of 1.2).": (
            lambda r: checks.sizes_similar(r, OTHER, 1.2)
        ),
        "On Protein FW, MFW, SWAP and SWAP-2o are 20.8 to 358 times as fast as CVM (here: at least 10).": (
            lambda r: checks.median_speedups(r, ("protein",), dict.fromkeys(FRANK_WOLFE, 10.0))
        ),
    },
    "Polynomial kernel": {
        "Accuracies are comparable to those with the Gaussian kernel (here: at most 2 points lower).": (
            lambda r: checks.accuracies_close(r, POLYNOMIAL, 0.02)
        ),
        "Training times are comparable to those with the Gaussian kernel (here: within a factor of 10).": (
            lambda r: checks.times_close(r, POLYNOMIAL)
        ),
    },
    "Conclusions and analysis": {
        "SWAP and SWAP-2o are faster than MFW, significantly at the level of 1 %.": lambda r: together(
            checks.significantly_faster(r, m, "mfw", 0.01) for m in PROPOSED
        ),
        "MFW, SWAP and SWAP-2o converge linearly, FW like 1/k.": checks.linear_rate,
        "A gap of eps is reached in O(1/eps) iterations.": checks.iterations_bounded,
        "The number of iterations does not depend on the number of rows.": checks.rows_do_not_matter,
    },
}


def check_all(results: Results) -> list[tuple[Claim, Verdict]]:
    """All claims and their verdicts."""
    return [(Claim(part, text), check(results)) for part, claims in CLAIMS.items() for text, check in claims.items()]
