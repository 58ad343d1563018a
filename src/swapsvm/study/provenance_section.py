"""Where the lines of the report come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from .document import Block, Heading, Paragraph, TableBlock
from .summary import Results


def origin(results: Results) -> str:
    """Where the lines come from."""
    cut = sum(run["measures"]["cut"] for run in results.lines)
    commits = ", ".join(sorted({run["provenance"]["commit"][:12] for run in results.lines if "provenance" in run}))
    digests = ", ".join(digest[:12] for digest in results.digests)
    made = f"sources {digests}, commit {commits}" if digests else "unknown sources"
    machines = {str(run["environment"]["cpu"]) for run in results.lines if "environment" in run}
    return (
        f"Provenance: {len(results.lines)} lines of {made}, {cut} of them cut at a limit, made on "
        f"{', '.join(sorted(machines)) or 'no machine'}; lines of other sources left out: {results.stale}."
    )


def provenance_section(results: Results) -> Iterator[Block]:
    """Machines and versions of the runs."""
    yield Heading("Environment and provenance")
    yield Paragraph(origin(results))
    seen = Counter(environment_row(run["environment"]) for run in results.lines if "environment" in run)
    columns = ("CPU", "cores", "SIMD", "system", "Python", "packages", "runs")
    rows = [(*row, str(count)) for row, count in sorted(seen.items())]
    yield TableBlock("environment", "Where the runs were made; each used one thread.", columns, rows)


def environment_row(environment: dict[str, Any]) -> tuple[str, ...]:
    """One machine."""
    packages = ", ".join(f"{name} {version}" for name, version in environment["versions"].items())
    fields = ("cpu", "cores", "simd", "system", "python")
    return (*(str(environment[field]) for field in fields), packages)
