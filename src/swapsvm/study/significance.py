"""The paper's significance tests on our numbers, as tables and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import figures
from .claims import MARKS, Status
from .document import Block, Cell, Figure, Heading, Paragraph, Table
from .paper import PublishedTest, published_statistics
from .protocol import METHODS, PAPER_METHODS
from .statistics import SignedRanks, friedman, holm, median_ratio, rank_diagram, signed_ranks
from .summary import Results

FEWEST = 5  # data sets for a test to be worth its name


def statistics_section(results: Results) -> Iterator[Block]:
    """The paper's tests beside its own p-values."""
    yield Heading("Statistical tests")
    data, _ = results.scores("paper", "seconds", PAPER_METHODS)
    if len(data) < FEWEST:
        yield Paragraph(f"Too few data sets ({len(data)}) for tests: at least {FEWEST} are needed.")
        return
    published = published_statistics()
    yield Paragraph(
        f"{len(data)} data sets; medians over repetitions; who was cut has the limit as its time. Signed ranks after "
        f"Wilcoxon with exact p-values, zeros and ties after Pratt; level {published.level:g}."
    )
    yield friedman_table(results)
    yield wilcoxon_table(results, len(data))
    for measure, higher in (("seconds", False), ("accuracy", True)):
        for methods, name in ((PAPER_METHODS, "paper"), (tuple(METHODS), "all")):
            yield from rank_figure(results, measure, higher, methods, name)


def friedman_table(results: Results) -> Table:
    """Friedman's test of times and accuracies, with and without the block engine."""
    rows = []
    for measure, key, higher in (("seconds", "time", False), ("accuracy", "accuracy", True)):
        for methods in (PAPER_METHODS, tuple(METHODS)):
            data, scores = results.scores("paper", measure, methods)
            if len(data) < FEWEST:
                continue
            test = friedman(scores, higher_is_better=higher)
            ranks = ", ".join(f"{METHODS[m]} {rank:.2f}" for m, rank in zip(methods, test.ranks, strict=True))
            paper = f"< {published_statistics().friedman[key]}" if methods == PAPER_METHODS else ""
            rows.append(
                (
                    key,
                    str(len(methods)),
                    ranks,
                    f"{test.chi_square:.2f}",
                    f"{test.f_statistic:.2f}",
                    pretty(test.p),
                    paper,
                )
            )
    columns = ("measure", "methods", "average ranks", "chi-square", "F (Iman-Davenport)", "p", "p in the paper")
    return Table("friedman", "Friedman's test with the correction of Iman and Davenport.", columns, tuple(rows))


def compared_tests(results: Results) -> list[tuple[PublishedTest, SignedRanks, Status]]:
    """The paper's tests on our numbers; none if there are too few data sets."""
    keys = {name: key for key, name in METHODS.items()}
    found = []
    for test in published_statistics().tests:
        measure = "seconds" if test.measure == "time" else "accuracy"
        data, scores = results.scores("paper", measure, (keys[test.first], keys[test.second]))
        if len(data) < FEWEST:
            continue
        ours = signed_ranks(scores[:, 0], scores[:, 1], test.direction)
        same = (ours.p < published_statistics().level) == test.rejected
        found.append((test, ours, Status.CONFIRMED if same else Status.NOT_CONFIRMED))
    return found


def wilcoxon_table(results: Results, sets: int) -> Table:
    """The paper's sixteen tests."""
    compared = compared_tests(results)
    corrected = holm([ours.p for _, ours, _ in compared])
    rows = []
    for (test, ours, status), p in zip(compared, corrected, strict=True):
        rows.append(
            (
                f"{test.measure}: {test.first} and {test.second}",
                test.alternative,
                test.p,
                pretty(ours.p),
                pretty(p),
                f"{ours.rank_biserial:+.2f}",
                effect(results, test),
                Cell("rejected" if ours.p < published_statistics().level else "kept", MARKS[status]),
            )
        )
    return Table(
        "wilcoxon",
        f"Wilcoxon's signed ranks on {sets} sets beside the paper's p-values. The verdict compares the conclusions at "
        "the paper's level.",
        ("test", "alternative", "p in the paper", "p here", "Holm", "rank-biserial", "median ratio", "H0 here"),
        tuple(rows),
        "Rank-biserial correlation: +1 if the first has the larger value on every set. Median ratio: first / second.",
    )


def effect(results: Results, test: PublishedTest) -> str:
    """Median of first / second."""
    keys = {name: key for key, name in METHODS.items()}
    measure = "seconds" if test.measure == "time" else "accuracy"
    _, scores = results.scores("paper", measure, (keys[test.first], keys[test.second]))
    return f"{median_ratio(scores[:, 0], scores[:, 1]):.4g}"


def rank_figure(results: Results, measure: str, higher: bool, methods: Sequence[str], name: str) -> Iterator[Figure]:
    """A critical-difference diagram."""
    data, scores = results.scores("paper", measure, methods)
    if len(data) >= FEWEST:
        ranks = friedman(scores, higher_is_better=higher).ranks
        diagram = rank_diagram([METHODS[m] for m in methods], ranks, len(data))
        what = "training time" if measure == "seconds" else "test accuracy"
        caption = (
            f"Average ranks by {what}, {len(methods)} methods on {len(data)} sets; bars join what does not differ."
        )
        yield Figure(f"ranks-{name}-{measure}", caption, figures.ranks(diagram))


def pretty(p: float) -> str:
    """A p-value."""
    return f"{p:.4f}" if p >= 0.001 else f"{p:.2e}"
