"""The section of the report on the significance tests of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import figures
from .document import Block, Cell, FigureBlock, Heading, Paragraph, TableBlock
from .paper import published_statistics
from .power import WINS
from .protocol import PAPER_METHODS, RULES, TODAY
from .records import Measure
from .significance import Compared, ComparedTest, compared_tests, ranked_scores
from .statistics import friedman, holm, median_ratio, rank_diagram
from .summary import Results

# Name, and whether higher is better.
MEASURES: dict[Measure, tuple[str, bool]] = {"seconds": ("time", False), "accuracy": ("accuracy", True)}
FEWEST = 5  # data sets for a meaningful test


def statistics_section(results: Results) -> Iterator[Block]:
    """The paper's tests beside its own p-values."""
    yield Heading("Statistical tests")
    tests = compared_tests(results)
    if not any(len(test.first) >= FEWEST for over in tests for test in over.by_rule.values()):
        yield Paragraph(f"Too few data sets for tests: at least {FEWEST} are needed.")
        return
    yield Paragraph(
        "The tests use medians over the seeds. Wilcoxon's signed ranks have exact p-values, with zeros and ties "
        "treated as by Pratt. A run that was cut took longer than a run that finished within the same limit. Sets "
        "where both runs were cut, and accuracies of cut runs, are left out. In ranks over all methods, cut runs are "
        "last, and accuracies are compared only on sets without cut runs."
    )
    yield Paragraph(
        "Where the paper keeps a hypothesis and we cannot reject it either, nothing is confirmed: the verdict is **not "
        f"rejected**. The power in the details is the probability that the test would reject if one method were better "
        f"on a set with probability {WINS:g}, independently of the other sets and of the size of the difference."
    )
    yield wilcoxon_table(tests, results.rules())
    yield details_table(tests)
    yield friedman_table(results)
    for rule in results.rules():
        for measure in MEASURES:
            yield from rank_figure(results, rule, measure)


def wilcoxon_table(tests: Sequence[ComparedTest], rules: Sequence[str]) -> TableBlock:
    """The paper's sixteen tests: verdicts and p-values by rule."""
    rows: list[tuple[str | Cell, ...]] = [
        (
            named(over),
            over.published.alternative,
            over.published.p,
            Cell("", over.status),
            *(p_cell(over.by_rule[rule]) for rule in rules),
        )
        for over in tests
    ]
    caption = (
        "Wilcoxon's signed ranks: the paper's p-values, the verdict over all stop rules, and the p-value under each. "
        f"The verdict compares the conclusions at the paper's level of {published_statistics().level:g}."
    )
    columns = ("test", "alternative", "p in the paper", "verdict", *(RULES[rule] for rule in rules))
    note = (
        "✓ the same conclusion: rejected; ≈ not rejected, as in the paper; ✗ the other conclusion; ○ not decided: "
        "too few sets, or the conclusion changes with the seeds."
    )
    return TableBlock("wilcoxon", caption, columns, rows, note)


def p_cell(test: Compared) -> Cell:
    """A p-value with its verdict."""
    return Cell(pretty(test.ours.p) if test.ours else "", test.verdict.status, brief=True)


def named(over: ComparedTest) -> str:
    """Which methods are compared by what."""
    return f"{over.published.measure}: {over.published.first} and {over.published.second}"


def details_table(tests: Sequence[ComparedTest]) -> TableBlock:
    """Corrected p-values, effects and power."""
    rows: list[tuple[str | Cell, ...]] = []
    for rule in tests[0].by_rule:
        made = [(over, over.by_rule[rule]) for over in tests if over.by_rule[rule].ours]
        corrected = holm([test.ours.p for _, test in made if test.ours]).tolist() if made else []
        rows += [details(RULES[rule], named(over), test, p) for (over, test), p in zip(made, corrected, strict=True)]
    columns = ("stop rule", "test", "sets", "p", "Holm", "rank-biserial", "median ratio", "power", "agree", "verdict")
    note = (
        "Rank-biserial correlation: +1 if the first has the larger value on every set. Median ratio: first / second; "
        "of times with cut runs a bound. Agree: the share of the resamples of the seeds with the same conclusion."
    )
    return TableBlock("wilcoxon-details", "The same tests in detail.", columns, rows, note, folded=True)


def details(rule: str, name: str, test: Compared, corrected: float) -> tuple[str | Cell, ...]:
    """One row of the details."""
    assert test.ours is not None
    numbers = (pretty(test.ours.p), pretty(corrected), f"{test.ours.rank_biserial:+.2f}")
    effects = (f"{median_ratio(test.first, test.second):.4g}", f"{test.power:.2f}", f"{test.verdict.agree:.0%}")
    return (rule, name, str(len(test.first)), *numbers, *effects, Cell("", test.verdict.status))


def friedman_table(results: Results) -> TableBlock:
    """Friedman's test of times and accuracies under each rule."""
    rows: list[tuple[str | Cell, ...]] = []
    for measure, (key, higher) in MEASURES.items():
        bound = published_statistics().friedman[key]
        for rule in results.rules():
            scores = ranked_scores(results, rule, measure, PAPER_METHODS)
            if len(scores) < FEWEST:
                rows.append((key, RULES[rule], str(len(scores)), "too few sets", "", "", "", ""))
                continue
            test = friedman(scores, higher_is_better=higher)
            ranks = ", ".join(f"{TODAY[m]} {rank:.2f}" for m, rank in zip(PAPER_METHODS, test.ranks, strict=True))
            numbers = (f"{test.chi_square:.2f}", f"{test.f_statistic:.2f}", pretty(test.p))
            same = "confirmed" if test.p < float(bound) else "not confirmed"
            rows.append((key, RULES[rule], str(len(scores)), ranks, *numbers, Cell(f"< {bound}", same, brief=True)))
    columns = ("measure", "stop rule", "sets", "average ranks", "chi-square", "F", "p", "p in the paper")
    caption = "Friedman's test with the correction of Iman and Davenport."
    return TableBlock("friedman", caption, columns, rows)


def rank_figure(results: Results, rule: str, measure: Measure) -> Iterator[FigureBlock]:
    """A critical-difference diagram."""
    scores = ranked_scores(results, rule, measure, PAPER_METHODS)
    if len(scores) >= FEWEST:
        what, higher = MEASURES[measure]
        ranks = friedman(scores, higher_is_better=higher).ranks
        diagram = rank_diagram([TODAY[m] for m in PAPER_METHODS], ranks, len(scores))
        caption = f"{RULES[rule].capitalize()}: average ranks by {what} on {len(scores)} sets; bars join equal methods."
        yield FigureBlock(f"ranks-{rule}-{measure}", caption, figures.ranks(diagram))


def pretty(p: float) -> str:
    """A p-value."""
    return f"{p:.4f}" if p >= 0.001 else f"{p:.2e}"
