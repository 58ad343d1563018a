"""The table of kinds for README.md: ``python -m benchmarks.readme_table results/kinds.jsonl [--write README.md]``.

One line for each kind, where we lose as well as where we win. ``--write`` replaces the text between the markers of the
file; without it the table is printed. Several files of results may be given.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from swapsvm.study import records as raw
from swapsvm.study.records import Record

from .kind_sections import PEERS, View, development_view, held_back_view, title
from .markdown import table_lines
from .summary import geometric_mean
from .targets import OWN, accuracy_difference

BEGIN, END = "<!-- kinds: begin -->", "<!-- kinds: end -->"
SAME = 1.1  # times within this factor count as equal
NOTE = (
    "Fit time of the peer / fit time of swapsvm by kind of data, geometric means over the sets of a kind (smallest to "
    "largest): above 1 swapsvm is faster, below 1 the peer. One C and one gamma for all; {threads} threads, {machine}. "
    "Accuracy: test points above the best peer on the worst set of the kind, each at the C and gamma tuned for its "
    "loss. Written by `python -m benchmarks.readme_table`, from {commits}."
)


def table(records: Sequence[Record]) -> str:
    """Markdown: a note and a line for each kind; held-back sets have a line of their own."""
    view, held = development_view(records), held_back_view(records)
    if not view.kinds():
        raise ValueError("no lines of the suite kinds: python -m benchmarks.run --suites kinds")
    rows = [row_of(view, kind.name, sets) for kind, sets in view.kinds()]
    rows.append(row_of(view, "**all sets**", [data for _, sets in view.kinds() for data in sets]))
    if held.kinds():
        rows.append(row_of(held, "**held-back sets**", [data for _, sets in held.kinds() for data in sets]))
    head = (
        "kind of data",
        "sets",
        *(f"{title(peer)} / swapsvm" for peer in PEERS),
        "beside the fastest peer",
        "accuracy",
    )
    return "\n".join([note_of(records), "", *table_lines(*without_empty_columns(head, rows))])


def without_empty_columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """What no set was measured on has no column."""
    kept = [place for place in range(len(head)) if any(row[place] for row in rows)]
    return [head[place] for place in kept], [[row[place] for place in kept] for row in rows]


def row_of(view: View, name: str, sets: Sequence[str]) -> tuple[str, ...]:
    means = [span(view.ratios(sets, peer)) for peer in PEERS]
    return name, str(len(sets)), *means, verdict(view, sets), accuracy_of(view, sets)


def span(ratios: Sequence[float]) -> str:
    if not ratios:
        return ""
    extremes = f" ({plain(min(ratios))}-{plain(max(ratios))})" if len(ratios) > 1 else ""
    return plain(geometric_mean(ratios)) + extremes


def plain(value: float) -> str:
    """Two digits, without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}"


def verdict(view: View, sets: Sequence[str]) -> str:
    """On how many sets we are faster than every peer, as fast, or slower than one of them."""
    fastest = [r for r in (fastest_ratio(view, data) for data in sets) if r is not None]
    counts = {
        "faster": sum(r > SAME for r in fastest),
        "equal": sum(1 / SAME <= r <= SAME for r in fastest),
        "**slower**": sum(r < 1 / SAME for r in fastest),
    }
    return ", ".join(f"{word} on {count}" for word, count in counts.items() if count)


def fastest_ratio(view: View, data: str) -> float | None:
    ratios = [view.common.ratio(data, peer, OWN, "fit_seconds") for peer in PEERS]
    return min((ratio.value for ratio in ratios if ratio is not None), default=None)


def accuracy_of(view: View, sets: Sequence[str]) -> str:
    differences = [accuracy_difference(view.own, data) for data in sets]
    known = [d for d in differences if d is not None]
    return f"{min(known):+.2f}" if known else ""


def note_of(records: Sequence[Record]) -> str:
    runs = [r for r in records if r.get("suite") in ("kinds", "peers") and r["status"] != "absent"]
    threads = ", ".join(sorted({str(r["threads"]) for r in runs}))
    machine = "; ".join(sorted({r["where"]["cpu"] for r in runs}))
    commits = "commit " + ", ".join(sorted({r["where"]["commit"] for r in runs}))
    return NOTE.format(threads=threads, machine=machine, commits=commits)


def written(text: str, block: str) -> str:
    """The text with the block between its markers."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"the file needs {BEGIN} and, below it, {END}, once each")
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n{block.strip()}\n{END}{rest.split(END)[1]}"


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+", help="JSON lines of benchmarks.run")
    parser.add_argument("--write", type=Path, help="file whose text between the markers is replaced")
    options = parser.parse_args(words)
    try:
        block = table([record for path in options.results for record in raw.read(path)])
        if options.write:
            options.write.write_text(written(options.write.read_text(), block))
        else:
            print(block)
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
