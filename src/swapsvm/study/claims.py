"""What [SWAP14] claims about its experiments (``claims.toml``), each with the check whether it holds here."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from . import checks, rates
from .evidence import ALL, MOST, Finding, Status, Verdict, over_rules, together, verdict_of
from .protocol import EVERY_SET, EXPERIMENTS, FRANK_WOLFE, GROUPS
from .summary import Results

WEB, ADULT, MEDIUM, LARGE = (GROUPS[name] for name in ("web", "adult", "medium", "large"))
OTHER = (*MEDIUM, *LARGE)
AWAY_FAILS = ("usps-ext", "kddcup10")  # beside Web
POLYNOMIAL = EXPERIMENTS["polynomial"].data
PROPOSED = ("swap", "swap2")
TENFOLD = dict.fromkeys(PROPOSED, 10.0)
Check = Callable[[Results], Finding]


@dataclass(frozen=True)
class Claim:
    """One claim: the section of the paper, a short form, the text, and its check."""

    section: str
    short: str
    text: str
    check: Check

    @property
    def ruled(self) -> bool:
        """Whether it is about the paper's protocol, so that each stop rule has its verdict."""
        return self.section not in UNRULED


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict under each rule ("" if it does not concern the rules), and over all of them."""

    claim: Claim
    by_rule: dict[str, Verdict]

    @property
    def status(self) -> Status:
        """The verdict over all rules."""
        return over_rules([verdict.status for verdict in self.by_rule.values()])


CHECKS: dict[str, Check] = {
    "web-faster-than-cvm": lambda r: checks.all_faster(r, WEB, FRANK_WOLFE, "cvm"),
    "web-mfw-slower": lambda r: checks.always_faster(r, WEB, "mfw", "fw", slower=True),
    "web-swap-mfw": lambda r: checks.always_faster(r, WEB, "swap", "mfw"),
    "web-swap2-mfw": lambda r: checks.always_faster(r, WEB, "swap2", "mfw", MOST),
    "web-competitive": lambda r: checks.all_faster(r, WEB, PROPOSED, "fw", MOST, factor=2.0),
    "web-speedup-grows": lambda r: checks.speedup_grows(r, WEB, "fw"),
    "web-w8a": lambda r: checks.median_speedups(r, ("w8a",), {"swap": 10.0}),
    "web-swap2-swap": lambda r: checks.always_faster(r, WEB, "swap2", "swap", MOST, slower=True),
    "web-less-accurate": lambda r: together(checks.compare(r, WEB, "accuracy", "cvm", m, MOST) for m in FRANK_WOLFE),
    "web-losses": lambda r: checks.differences_below(r, WEB, 0.005, MOST),
    "web-order": lambda r: together(
        checks.compare(r, WEB, "accuracy", more, less, MOST) for more, less in (("mfw", "swap"), ("swap", "fw"))
    ),
    "web-least-accurate": lambda r: checks.extreme_of(r, WEB, "fw", "accuracy", best=False, least=MOST),
    "web-most-accurate": lambda r: checks.extreme_of(r, WEB, "swap2", "accuracy", best=True, least=MOST),
    "web-small-models": lambda r: together(
        checks.compare(r, WEB, "model_size", large, small, MOST)
        for large in ("mfw", "swap2")
        for small in ("swap", "fw")
    ),
    "web-cvm-larger": lambda r: together(
        checks.compare(r, WEB, "model_size", "cvm", m, ALL, equal=False) for m in PROPOSED
    ),
    "web-cvm-share": lambda r: checks.share_stays(r, WEB, "cvm", 0.5),
    "adult-faster-than-cvm": lambda r: checks.all_faster(r, ADULT, ("swap", "mfw", "swap2"), "cvm"),
    "adult-tenfold": lambda r: checks.median_speedups(r, ADULT, TENFOLD, every=10.0),
    "adult-fw-little": lambda r: checks.small_gain(r, ADULT, "fw", 2.0),
    "adult-fw-largest": lambda r: checks.largest_speedup(r, ADULT, "fw", 7.2, "a6a"),
    "adult-tenfold-fw": lambda r: checks.median_speedups(r, ADULT, TENFOLD, base="fw"),
    "adult-mfw-fw": lambda r: checks.always_faster(r, ADULT, "mfw", "fw"),
    "adult-faster-than-fw": lambda r: checks.all_faster(r, ADULT, PROPOSED, "fw"),
    "adult-faster-than-mfw": lambda r: checks.all_faster(r, ADULT, PROPOSED, "mfw"),
    "adult-as-accurate-as-cvm": lambda r: together(
        checks.compare(r, ADULT, "accuracy", m, "cvm", MOST) for m in FRANK_WOLFE
    ),
    "adult-swap-fw": lambda r: checks.compare(r, ADULT, "accuracy", "swap", "fw", ALL),
    "adult-swap-mfw": lambda r: checks.compare(r, ADULT, "accuracy", "swap", "mfw", MOST),
    "adult-swap2-mfw": lambda r: checks.as_accurate(r, ADULT, "swap2", "mfw", 0.001),
    "adult-sizes": lambda r: checks.sizes_similar(r, ADULT, 1.2),
    "other-losses": lambda r: checks.differences_below(r, OTHER, 0.02, ALL),
    "other-least-accurate": lambda r: checks.extreme_of(r, OTHER, "fw", "accuracy", best=False, least=MOST),
    "other-closest": lambda r: checks.closest_to_best(r, OTHER, PROPOSED),
    "other-faster-than-cvm": lambda r: checks.all_faster(r, OTHER, FRANK_WOLFE, "cvm", MOST),
    "medium-order": lambda r: checks.same_order(r, MEDIUM),
    "medium-mfw": lambda r: together(
        checks.always_faster(r, MEDIUM, m, "mfw", MOST, slower=m == "swap") for m in PROPOSED
    ),
    "larger-speedups": lambda r: checks.larger_speedups(r, MEDIUM, LARGE),
    "large-swap-mfw": lambda r: checks.always_faster(r, LARGE, "swap", "mfw", MOST),
    "large-swap2-mfw": lambda r: checks.always_faster(r, LARGE, "swap2", "mfw", MOST),
    "away-fails": lambda r: together(
        checks.always_faster(r, AWAY_FAILS, first, second, slower=first == "mfw")
        for first, second in (("mfw", "fw"), ("swap", "mfw"))
    ),
    "shuttle": lambda r: checks.median_speedups(r, ("shuttle",), TENFOLD, base="fw"),
    "other-sizes": lambda r: checks.sizes_similar(r, OTHER, 1.2),
    "protein": lambda r: checks.median_speedups(r, ("protein",), dict.fromkeys(FRANK_WOLFE, 10.0)),
    "polynomial-accuracy": lambda r: checks.accuracies_close(r, POLYNOMIAL, 0.02),
    "polynomial-time": lambda r: checks.times_close(r, POLYNOMIAL),
    "significantly-faster": lambda r: together(rates.significantly_faster(r, m, "mfw", 0.01) for m in PROPOSED),
    "often-tenfold": lambda r: checks.often_much_faster(r, EVERY_SET, "swap", "mfw", 0.25),
    "smaller-advantage": lambda r: checks.smaller_advantage(r, EVERY_SET, "swap", "mfw"),
    "competitive-where-away-fails": lambda r: checks.always_faster(
        r, (*WEB, *AWAY_FAILS), "swap", "fw", MOST, factor=2.0
    ),
    "as-accurate-as-fw": lambda r: checks.compare(r, EVERY_SET, "accuracy", "swap", "fw", MOST),
    "as-accurate-as-mfw": lambda r: checks.as_accurate(r, EVERY_SET, "swap", "mfw", 0.001),
    "linear-rate": rates.linear_rate,
    "bounded-iterations": rates.iterations_bounded,
    "rows-do-not-matter": rates.rows_do_not_matter,
}
UNRULED = ("Polynomial kernel", "Analysis")


@cache
def every_claim() -> tuple[Claim, ...]:
    """All claims in the paper's order."""
    texts = tomllib.loads(files(__package__).joinpath("claims.toml").read_text("utf-8"))
    return tuple(Claim(**words, check=CHECKS[name]) for name, words in texts.items())


def check_all(results: Results) -> list[Judged]:
    """All claims and their verdicts."""
    return [judged(claim, results) for claim in every_claim()]


def judged(claim: Claim, results: Results) -> Judged:
    """A claim under each rule that has runs."""
    if not claim.ruled:
        return Judged(claim, {"": verdict_of(claim.check(results))})
    return Judged(claim, {rule: verdict_of(claim.check(results.under(rule))) for rule in results.rules()})
