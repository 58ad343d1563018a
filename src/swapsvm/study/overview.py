"""The first screen of the report, and the tables of claims behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from .bootstrap import RESAMPLES, STABLE
from .claims import Judged, check_all
from .document import Block, Cell, Group, Heading, Overview, Paragraph, TableBlock
from .evidence import Status
from .protocol import EVERY_SET, RULES
from .provenance_section import origin
from .significance import ComparedTest, compared_tests
from .summary import Results
from .tables import label

PARTS = {"Medium and large": "Others", "Polynomial kernel": "Polynomial", "Conclusions": "All sets"}
MEANING = {
    Status.CONFIRMED: "hold under every stop rule",
    Status.DEPENDS: "hold under some rules, not under others",
    Status.NOT_CONFIRMED: "hold under no rule",
    Status.UNDECIDED: "a cut run, a missing set or the seeds leave them open",
}


def overview(results: Results) -> Iterator[Block]:
    """What the paper says, and what holds, on one screen."""
    judged, tests = check_all(results), compared_tests(results)
    yield Paragraph(lead(judged, results))
    yield Overview([*(group(status, judged) for status in MEANING), tests_group(tests)])
    yield Paragraph(f"{coverage(results)} {origin(results)}")


def coverage(results: Results) -> str:
    """How many of the paper's data sets have runs under its protocol, and which have none."""
    begun = {data for rule in RULES for data in results.data(rule)}
    missing = ", ".join(label(data) for data in EVERY_SET if data not in begun)
    return f"{len(begun)} of {len(EVERY_SET)} data sets have runs" + (f"; none yet: {missing}." if missing else ".")


def lead(judged: Sequence[Judged], results: Results) -> str:
    """What the paper says in two sentences, and under which rules it was tried."""
    rules = ", ".join(RULES[rule] for rule in results.rules()) or "none yet"
    return (
        "The paper says: SWAP is mostly faster than MFW, as accurate, and a robust alternative to FW, MFW and CVM. "
        f"It does not say what ends a sampled run, so each of its {len(judged)} claims was tried under every rule with "
        f"runs ({rules}). Beside a claim without one verdict: the rules under which it holds (✓) and does not (✗)."
    )


def group(status: Status, judged: Sequence[Judged]) -> Group:
    """The claims with one verdict."""
    found = [one for one in judged if one.status == status]
    items = [f"**{PARTS.get(part, part)}:** {'; '.join(sentences)}" for part, sentences in by_part(found).items()]
    return Group(status, f"**{len(found)}** claims: {MEANING[status]}", items)


def by_part(found: Sequence[Judged]) -> dict[str, list[str]]:
    """Short sentences by section of the paper."""
    parts: dict[str, list[str]] = {}
    for one in found:
        parts.setdefault(one.claim.section, []).append(short(one))
    return parts


def short(one: Judged) -> str:
    """The short form; of a claim without one verdict, with the number of rules under which it holds and does not."""
    counts = Counter(verdict.status for verdict in one.by_rule.values())
    signs = {Status.CONFIRMED: "✓", Status.NOT_CONFIRMED: "✗"}
    parts = [f"{sign}{counts[status]}" for status, sign in signs.items() if counts[status]]
    decided_by_all = one.status in (Status.CONFIRMED, Status.NOT_CONFIRMED)
    return one.claim.short if decided_by_all or not parts else f"{one.claim.short} ({' '.join(parts)})"


def tests_group(tests: Sequence[ComparedTest]) -> Group:
    """The significance tests, counted."""
    counts = Counter(test.status for test in tests)
    kept = sum(not test.published.rejected for test in tests)
    items = [f"{counts[status]} {status}" for status in Status if counts[status]]
    title = f"**{len(tests)} significance tests**; the paper rejects {len(tests) - kept} hypotheses, keeps {kept}"
    return Group("", title, [", ".join(items) + "; not rejected: kept here too, which confirms nothing"])


def claims_section(results: Results) -> Iterator[Block]:
    """The claims of the paper and the verdicts on them."""
    judged, rules = check_all(results), results.rules()
    yield Heading("Claims")
    yield Paragraph(
        f"A claim is decided under a rule if no unknown number could change the answer and if at least {STABLE:.0%} of "
        f"{RESAMPLES} resamples of the seeds give the same one. Each resample draws the runs of every cell again with "
        "replacement. A claim that holds under every rule is confirmed; one that holds under some depends on the stop "
        "rule. Claims on the polynomial kernel and on convergence do not concern the rules and have one verdict."
    )
    rows = [claim_row(one, rules) for one in judged]
    columns = ("part", "claim", "verdict", *(RULES[rule] for rule in rules))
    caption = "Claims of the paper, over all stop rules and under each."
    note = "✓ holds, ✗ does not hold, ○ not decided."
    yield TableBlock("claims", caption, columns, rows, note)
    yield evidence_table(judged)


def claim_row(one: Judged, rules: Sequence[str]) -> tuple[str | Cell, ...]:
    """A claim with its verdicts."""
    brief = [
        Cell("", one.by_rule[rule].status, brief=True) if one.claim.ruled else Cell("", "", brief=True)
        for rule in rules
    ]
    return (one.claim.section, one.claim.text, Cell("", one.status), *brief)


def evidence_table(judged: Sequence[Judged]) -> TableBlock:
    """The numbers behind each verdict."""
    rows = [
        (
            one.claim.section,
            one.claim.short,
            RULES.get(rule, ""),
            Cell("", verdict.status),
            f"{verdict.agree:.0%}",
            verdict.evidence,
        )
        for one in judged
        for rule, verdict in one.by_rule.items()
    ]
    columns = ("part", "claim", "stop rule", "verdict", "agree", "evidence")
    caption = "The evidence under each rule, and the share of the resamples of the seeds that agree."
    return TableBlock("evidence", caption, columns, rows, folded=True)
