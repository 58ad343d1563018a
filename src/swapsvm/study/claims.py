"""What [SWAP14] claims about its experiments, each with the check whether it holds here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from .checks import (
    accuracies_close,
    all_faster,
    always_faster,
    compare,
    differences_below,
    extreme_of,
    larger_speedups,
    median_speedups,
    same_order,
    significantly_faster,
    sizes_similar,
    small_speedup,
    speedup_grows,
    times_close,
)
from .evidence import ALL, MOST, Verdict, together
from .protocol import EXPERIMENTS, FRANK_WOLFE, GROUPS
from .rates import iterations_bounded, linear_rate, rows_do_not_matter
from .summary import Results

WEB, ADULT, MEDIUM, LARGE = (GROUPS[name] for name in ("web", "adult", "medium", "large"))
POLYNOMIAL = EXPERIMENTS["polynomial"].data
PROPOSED = ("swap", "swap2")


Check = Callable[[Results], Verdict]


@dataclass(frozen=True)
class Claim:
    """One claim: the section of the paper, the text, and the check."""

    section: str
    text: str
    check: Check


WEB_CLAIMS: dict[str, Check] = {
    "Each Frank-Wolfe method is faster than CVM on all 8 sets.": partial(
        all_faster, data=WEB, methods=FRANK_WOLFE, second="cvm"
    ),
    "MFW is always slower than FW.": partial(always_faster, data=WEB, first="mfw", second="fw", slower=True),
    "SWAP is faster than MFW on all sets.": partial(always_faster, data=WEB, first="swap", second="mfw"),
    "SWAP-2o is faster than MFW on most sets (6 of 8).": partial(
        always_faster, data=WEB, first="swap2", second="mfw", least=MOST
    ),
    "The speed-up of FW over CVM grows with the rows (from 12.6 to 106).": partial(
        speedup_grows, data=WEB, method="fw"
    ),
    "SWAP is much faster than CVM on the largest set (250 times; here: at least 10).": partial(
        median_speedups, data=("w8a",), least={"swap": 10.0}
    ),
    "SWAP-2o is not faster than SWAP in this series.": partial(
        always_faster, data=WEB, first="swap2", second="swap", least=MOST, slower=True
    ),
    "The Frank-Wolfe methods are slightly less accurate than CVM.": lambda r: together(
        *(compare(r, WEB, "accuracy", "cvm", m, MOST) for m in FRANK_WOLFE)
    ),
    "Accuracies are most of the time less than 0.5 % below CVM's.": partial(
        differences_below, data=WEB, bound=0.005, least=MOST
    ),
    "MFW is most of the time more accurate than SWAP, and SWAP than FW.": lambda r: together(
        compare(r, WEB, "accuracy", "mfw", "swap", MOST), compare(r, WEB, "accuracy", "swap", "fw", MOST)
    ),
    "FW is the least accurate of the four Frank-Wolfe methods.": partial(
        extreme_of, data=WEB, method="fw", measure="accuracy", best=False, least=MOST
    ),
    "SWAP-2o is very often the most accurate of the four.": partial(
        extreme_of, data=WEB, method="swap2", measure="accuracy", best=True, least=MOST
    ),
    "SWAP and FW have most of the time smaller models than MFW and SWAP-2o.": lambda r: together(
        *(compare(r, WEB, "model_size", large, small, MOST) for large in ("mfw", "swap2") for small in ("swap", "fw"))
    ),
    "CVM's models are larger than those of the proposed methods.": lambda r: together(
        *(compare(r, WEB, "model_size", "cvm", m, ALL, equal=False) for m in PROPOSED)
    ),
}
ADULT_CLAIMS: dict[str, Check] = {
    "SWAP, MFW and SWAP-2o are always faster than CVM.": partial(
        all_faster, data=ADULT, methods=("swap", "mfw", "swap2"), second="cvm"
    ),
    "SWAP and SWAP-2o are always more than 10 times as fast as CVM (medians 15.5 and 20.5).": partial(
        median_speedups, data=ADULT, least={"swap": 10.0, "swap2": 10.0}, every=10.0
    ),
    "FW gains little over CVM (a median of 1.45; here: at most 2).": partial(
        small_speedup, data=ADULT, method="fw", most=2.0
    ),
    "SWAP and SWAP-2o are an order of magnitude faster than FW (medians 15 and 20; here: at least 10).": partial(
        median_speedups, data=ADULT, least={"swap": 10.0, "swap2": 10.0}, base="fw"
    ),
    "MFW is always faster than FW.": partial(always_faster, data=ADULT, first="mfw", second="fw"),
    "SWAP and SWAP-2o are always faster than FW.": partial(all_faster, data=ADULT, methods=PROPOSED, second="fw"),
    "SWAP and SWAP-2o are always faster than MFW.": partial(all_faster, data=ADULT, methods=PROPOSED, second="mfw"),
    "Most of the time the Frank-Wolfe methods are at least as accurate as CVM.": lambda r: together(
        *(compare(r, ADULT, "accuracy", m, "cvm", MOST) for m in FRANK_WOLFE)
    ),
    "SWAP is always at least as accurate as FW.": partial(
        compare, data=ADULT, measure="accuracy", first="swap", second="fw", least=ALL
    ),
    "SWAP is most of the time (all but one) at least as accurate as MFW.": partial(
        compare, data=ADULT, measure="accuracy", first="swap", second="mfw", least=MOST
    ),
    "The sizes of the models are quite similar (here: within a factor of 1.2).": partial(
        sizes_similar, data=ADULT, factor=1.2
    ),
}
OTHER_CLAIMS: dict[str, Check] = {
    "Accuracies are always less than 2 % below CVM's.": partial(
        differences_below, data=(*MEDIUM, *LARGE), bound=0.02, least=ALL
    ),
    "FW is very often the least accurate of the four.": partial(
        extreme_of, data=(*MEDIUM, *LARGE), method="fw", measure="accuracy", best=False, least=MOST
    ),
    "The Frank-Wolfe methods are most of the time faster than CVM.": partial(
        all_faster, data=(*MEDIUM, *LARGE), methods=FRANK_WOLFE, second="cvm", least=MOST
    ),
    "On medium sets all four have times of the same order of magnitude.": partial(same_order, data=MEDIUM),
    "On medium sets SWAP is slightly slower than MFW, SWAP-2o slightly faster.": lambda r: together(
        always_faster(r, MEDIUM, "swap", "mfw", MOST, slower=True), always_faster(r, MEDIUM, "swap2", "mfw", MOST)
    ),
    "Speed-ups over CVM are larger on the large sets (medians 27.3, 15.0, 30.7, 29.5).": partial(
        larger_speedups, medium=MEDIUM, large=LARGE
    ),
    "SWAP is faster than MFW on most of the large sets (4 of 5).": partial(
        always_faster, data=LARGE, first="swap", second="mfw", least=MOST
    ),
    "SWAP-2o is faster than MFW on most of the large sets (4 of 5).": partial(
        always_faster, data=LARGE, first="swap2", second="mfw", least=MOST
    ),
    "On USPS-Ext and KDD-10pc MFW is slower than FW, and SWAP faster than MFW.": lambda r: together(
        always_faster(r, ("usps-ext", "kddcup10"), "mfw", "fw", slower=True),
        always_faster(r, ("usps-ext", "kddcup10"), "swap", "mfw"),
    ),
    "On Shuttle SWAP and SWAP-2o are much faster than FW (here: at least 10 times).": partial(
        median_speedups, data=("shuttle",), least={"swap": 10.0, "swap2": 10.0}, base="fw"
    ),
    "There are no significant differences among the sizes of the models (here: within a factor of 1.2).": partial(
        sizes_similar, data=(*MEDIUM, *LARGE), factor=1.2
    ),
    "On Protein FW, MFW, SWAP and SWAP-2o are 20.8 to 358 times as fast as CVM (here: at least 10).": partial(
        median_speedups, data=("protein",), least=dict.fromkeys(FRANK_WOLFE, 10.0)
    ),
}
KERNEL_CLAIMS: dict[str, Check] = {
    "Accuracies are comparable to those with the Gaussian kernel (here: at most 2 points lower).": partial(
        accuracies_close, data=POLYNOMIAL, bound=0.02
    ),
    "Training times are comparable to those with the Gaussian kernel (here: within a factor of 10).": partial(
        times_close, data=POLYNOMIAL
    ),
}
GENERAL_CLAIMS: dict[str, Check] = {
    "SWAP and SWAP-2o are faster than MFW, significantly at the level of 1 %.": lambda r: together(
        *(significantly_faster(r, m, "mfw", 0.01) for m in PROPOSED)
    ),
    "MFW, SWAP and SWAP-2o converge linearly, FW like 1/k.": linear_rate,
    "A gap of eps is reached in O(1/eps) iterations.": iterations_bounded,
    "The number of iterations does not depend on the number of rows.": rows_do_not_matter,
}
CLAIMS = tuple(
    Claim(section, text, check)
    for section, claims in {
        "Web": WEB_CLAIMS,
        "Adult": ADULT_CLAIMS,
        "Medium and large": OTHER_CLAIMS,
        "Polynomial kernel": KERNEL_CLAIMS,
        "Conclusions and analysis": GENERAL_CLAIMS,
    }.items()
    for text, check in claims.items()
)


def check_all(results: Results) -> list[tuple[Claim, Verdict]]:
    """All claims and their verdicts."""
    return [(claim, claim.check(results)) for claim in CLAIMS]
