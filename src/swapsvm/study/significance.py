"""The significance tests of the paper on our results, as tables and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from . import figures
from .document import Block, Cell, FigureBlock, Heading, Paragraph, TableBlock
from .evidence import Status, decided_scores, least_p
from .paper import PublishedTest, published_statistics
from .protocol import METHODS, PAPER_METHODS
from .records import Measure
from .statistics import SignedRanks, friedman, holm, median_ratio, rank_diagram, signed_ranks
from .summary import Results

# Name, and whether higher is better.
MEASURES: dict[Measure, tuple[str, bool]] = {"seconds": ("time", False), "accuracy": ("accuracy", True)}
FEWEST = 5  # data sets for a meaningful test


class Compared(NamedTuple):
    """One of the paper's tests on our results; ``ours`` is None if there are no pairs to compare."""

    published: PublishedTest
    pairs: np.ndarray
    ours: SignedRanks | None
    status: Status


def statistics_section(results: Results) -> Iterator[Block]:
    """The paper's tests beside its own p-values."""
    yield Heading("Statistical tests")
    compared = compared_tests(results)
    if not any(len(test.pairs) >= FEWEST for test in compared):
        yield Paragraph(f"Too few data sets for tests: at least {FEWEST} are needed.")
        return
    yield Paragraph(
        "The tests use medians over repetitions. Wilcoxon's signed ranks have exact p-values, with zeros and ties "
        "treated as by Pratt. A run that was cut took longer than a run that finished within the same limit. Sets "
        "where both runs were cut, and accuracies of cut runs, are left out. In ranks over all methods, cut runs are "
        "last, and accuracies are compared only on sets without cut runs."
    )
    yield friedman_table(results)
    yield wilcoxon_table(compared)
    for measure in MEASURES:
        for methods, name in ((PAPER_METHODS, "paper"), (tuple(METHODS), "all")):
            yield from rank_figure(results, measure, methods, name)


def ranked_scores(results: Results, measure: Measure, methods: Sequence[str]) -> np.ndarray:
    """Scores to rank: times, where cut methods are last, or accuracies of sets without cut runs."""
    data, scores = results.scores("paper", measure, methods)
    cut = np.array([[results.cut("paper", d, m) for m in methods] for d in data], dtype=bool).reshape(scores.shape)
    if measure == "accuracy":
        return scores[~cut.any(axis=1)]
    return np.where(cut, scores.max(axis=1, keepdims=True, initial=0.0), scores)


def friedman_table(results: Results) -> TableBlock:
    """Friedman's test of times and accuracies, with and without the block engine."""
    rows: list[tuple[str | Cell, ...]] = []
    for measure, (key, higher) in MEASURES.items():
        for methods in (PAPER_METHODS, tuple(METHODS)):
            scores = ranked_scores(results, measure, methods)
            if len(scores) < FEWEST:
                rows.append((key, str(len(methods)), str(len(scores)), "too few sets", "", "", "", ""))
                continue
            test = friedman(scores, higher_is_better=higher)
            ranks = ", ".join(f"{METHODS[m]} {rank:.2f}" for m, rank in zip(methods, test.ranks, strict=True))
            bound = published_statistics().friedman[key]
            same = Status.CONFIRMED if test.p < float(bound) else Status.NOT_CONFIRMED
            paper = Cell(f"< {bound}", same.mark) if methods == PAPER_METHODS else ""
            numbers = (f"{test.chi_square:.2f}", f"{test.f_statistic:.2f}", pretty(test.p))
            rows.append((key, str(len(methods)), str(len(scores)), ranks, *numbers, paper))
    columns = ("measure", "methods", "sets", "average ranks", "chi-square", "F (Iman-Davenport)", "p", "p in the paper")
    return TableBlock("friedman", "Friedman's test with the correction of Iman and Davenport.", columns, rows)


def compared_tests(results: Results) -> list[Compared]:
    """The paper's tests on our results."""
    keys = {name: key for key, name in METHODS.items()}
    found = []
    for test in published_statistics().tests:
        measure: Measure = "seconds" if test.measure == "time" else "accuracy"
        pairs = decided_scores(results, measure, keys[test.first], keys[test.second])
        ours = signed_ranks(pairs[:, 0], pairs[:, 1], test.direction) if len(pairs) else None
        found.append(Compared(test, pairs, ours, conclusion(test, pairs, ours)))
    return found


def conclusion(test: PublishedTest, pairs: np.ndarray, ours: SignedRanks | None) -> Status:
    """Whether our conclusion is the paper's. A hypothesis is kept only if neither direction is significant."""
    level = published_statistics().level
    if ours is None or least_p(len(pairs), test.direction == "two-sided") >= level:  # no outcome could be significant
        return Status.NOT_TESTABLE
    if test.rejected:
        return Status.CONFIRMED if ours.p < level else Status.NOT_CONFIRMED
    either = signed_ranks(pairs[:, 0], pairs[:, 1]).p
    return Status.CONFIRMED if ours.p >= level and either >= level else Status.NOT_CONFIRMED


def wilcoxon_table(compared: list[Compared]) -> TableBlock:
    """The paper's sixteen tests."""
    corrected = iter(holm([test.ours.p for test in compared if test.ours]))
    rows: list[tuple[str | Cell, ...]] = []
    for published, pairs, ours, status in compared:
        name = f"{published.measure}: {published.first} and {published.second}"
        first = (name, published.alternative, published.p, str(len(pairs)))
        if ours is None:
            rows.append((*first, "", "", "", "", Cell("", status.mark)))
            continue
        numbers = (pretty(ours.p), pretty(next(corrected)), f"{ours.rank_biserial:+.2f}")
        ratio = f"{median_ratio(pairs[:, 0], pairs[:, 1]):.4g}"
        rejected = "rejected" if ours.p < published_statistics().level else "kept"
        rows.append((*first, *numbers, ratio, Cell(rejected, status.mark)))
    return TableBlock(
        "wilcoxon",
        "Wilcoxon's signed ranks beside the paper's p-values. The verdict compares the conclusions at the paper's "
        f"level of {published_statistics().level:g}.",
        ("test", "alternative", "p in the paper", "sets", "p here", "Holm", "rank-biserial", "median ratio", "H0 here"),
        rows,
        "Rank-biserial correlation: +1 if the first has the larger value on every set. Median ratio: first / second; "
        "of times with cut runs a bound.",
    )


def rank_figure(results: Results, measure: Measure, methods: Sequence[str], name: str) -> Iterator[FigureBlock]:
    """A critical-difference diagram."""
    scores = ranked_scores(results, measure, methods)
    if len(scores) >= FEWEST:
        what, higher = MEASURES[measure]
        ranks = friedman(scores, higher_is_better=higher).ranks
        diagram = rank_diagram([METHODS[m] for m in methods], ranks, len(scores))
        over = f"{len(methods)} methods on {len(scores)} sets"
        caption = f"Average ranks by {what}, {over}; bars join what does not differ."
        yield FigureBlock(f"ranks-{name}-{measure}", caption, figures.ranks(diagram))


def pretty(p: float) -> str:
    """A p-value."""
    return f"{p:.4f}" if p >= 0.001 else f"{p:.2e}"
