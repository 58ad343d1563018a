"""Where the paper contradicts itself: each statement is checked with the numbers of ``paper.toml``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from ..datasets.registry import find_entry
from .document import Block, Bullets, Heading, Paragraph
from .paper import published_numbers, published_statistics
from .protocol import EVERY_SET, GROUPS
from .statistics import sign_patterns
from .summary import Results

ROUNDED = 0.01  # relative: ratios of printed numbers differ from printed ratios by rounding


def inconsistencies_section(results: Results) -> Iterator[Block]:
    """The contradictions that the printed numbers show."""
    found = [*protein(), *adult(), *growth(), *announced(), *impossible_p_values()]
    yield Heading("Inconsistencies of the paper")
    yield Paragraph(
        "These concern what the paper prints, not what was measured here. Each follows from its own numbers; the "
        "verdicts above compare with the reading named here."
    )
    yield Bullets(found)


def protein() -> Iterator[str]:
    """Ratios of speed-ups on Protein that are not the quotients of the speed-ups."""
    numbers = published_numbers()["protein"]
    wrong = []
    for ratio in numbers["ratios"]:
        quotient = numbers["over_cvm"][ratio["fast"]] / numbers["over_cvm"][ratio["slow"]]
        if abs(quotient / ratio["printed"] - 1) > ROUNDED:
            wrong.append((ratio, quotient))
    for ratio, quotient in wrong:
        twin = next((other for other, _ in wrong if abs(quotient / other["printed"] - 1) < ROUNDED), None)
        hint = f"; the number {twin['printed']} is printed for {twin['fast']}: they are exchanged" if twin else ""
        yield (
            f"Protein: {ratio['fast']} is said to be {ratio['printed']} times as fast as {ratio['slow']}, but the "
            f"speed-ups over CVM give {quotient:.2f}{hint}."
        )


def adult() -> Iterator[str]:
    """Largest speed-ups below medians, and medians over CVM that the conclusions call medians over FW."""
    numbers = published_numbers()["adult"]
    largest, median = numbers["largest"], numbers["median"]
    for method in [m for m in median if median[m] > largest[m]]:
        yield (
            f"Adult: {method} is said to reach a speed-up over CVM of {largest[method]:g}, and to have a median of "
            f"{median[method]:g}."
        )
    for method, printed in numbers["over_fw"].items():
        quotient = median[method] / median["FW"]
        if abs(quotient / printed - 1) > 0.1:
            yield (
                f"Adult: the conclusions say that {method} is in median {printed:g} times as fast as FW. That is its "
                f"median speed-up over CVM ({median[method]:g}); with FW's ({median['FW']:g}) it is about "
                f"{quotient:.1f} times as fast as FW."
            )


def growth() -> Iterator[str]:
    """The factor by which the collections are said to grow."""
    factor = published_numbers()["growth"]["factor"]
    for name in ("web", "adult"):
        rows = [find_entry(d).rows for d in GROUPS[name]]
        mean = (rows[-1] / rows[0]) ** (1 / (len(rows) - 1))
        if abs(mean / factor - 1) > 0.03:
            yield (
                f"{name.title()}: the rows are said to grow by {factor} from set to set; the paper's table has "
                f"{rows[0]} to {rows[-1]} rows on {len(rows)} sets, a factor of {mean:.2f}."
            )


def announced() -> Iterator[str]:
    """A test that the text announces as two-tailed and the table prints with one side."""
    test = next(
        t for t in published_statistics().tests if (t.measure, t.first, t.second) == ("time", "SWAP-2o", "SWAP")
    )
    if test.direction != "two-sided":
        yield (
            f"Tests: the text announces a two-tailed test of the times of {test.first} and {test.second}; the table "
            f'prints the alternative "{test.alternative}", and {test.p} is a p-value that only it can have.'
        )


def impossible_p_values() -> Iterator[str]:
    """P-values of times that no exact test on all sets without ties has."""
    sets = len(EVERY_SET)
    for test in published_statistics().tests:
        sided = 2 if test.direction == "two-sided" else 1
        if test.measure == "time" and not is_possible(test.p, sets, sided):
            fewer = [n for n in range(5, sets) if is_possible(test.p, n, sided)]
            others = f"; {' or '.join(map(str, fewer))} sets can have it" if fewer else ""
            yield (
                f"Tests: the times of {test.first} and {test.second} have p = {test.p}, which Wilcoxon's exact test on "
                f"{sets} sets without ties cannot have{others}."
            )


def is_possible(printed: str, sets: int, sided: int) -> bool:
    """Whether a test on this many sets can have a p-value that is printed so."""
    digits = len(printed.split("e")[0].replace(".", "").lstrip("0"))
    wanted = f"{float(printed):.{digits - 1}e}"
    return any(f"{p:.{digits - 1}e}" == wanted for p in tails(sets, sided))


@cache
def tails(sets: int, sided: int) -> tuple[float, ...]:
    """All p-values of the test."""
    counts = np.cumsum(np.array(sign_patterns(range(1, sets + 1)), dtype=float))
    return tuple(np.minimum(1.0, sided * counts / 2.0**sets).tolist())
