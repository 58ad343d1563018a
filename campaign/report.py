"""A table of all lines of a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from swapsvm.study import records

from .outcome import FINE


def write_report(output: Path, report: Path) -> None:
    """Read every line under ``output`` and write the table."""
    lines = [line for path in sorted(output.glob("*.jsonl")) for line in records.read(path)]
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text("\n".join(page(lines)), "utf-8")


def page(lines: list[dict[str, Any]]) -> list[str]:
    """The page: one row for each kind of trial, then the faults."""
    seeds = sorted({line["seed"] for line in lines})
    return [
        "# Reliability: what the campaign found",
        "",
        "Written by `python -m campaign` from the lines in `campaign/results/`; not edited by hand. What is tried, and",
        "how: [Reliability](../reliability.md).",
        "",
        *_table(lines),
        "",
        f"Seeds: {', '.join(map(str, seeds)) or 'none yet'}. A refusal with a clear error counts as held.",
        "*Largest* is the largest true gap divided by the reported one (certificates), the seconds that an answer took",
        "or by which a limit was exceeded (kills), or the number of inputs of a run (guided, fuzzers, sanitizers).",
        "*Outside*: a library of others ended the process; no caller can prevent that ([which](../reliability.md)).",
        "",
        *_faults(lines),
    ]


COUNTED = ("held", "outside", "undecided", "faults")
COLUMNS = (*COUNTED, "left out")


def _table(lines: list[dict[str, Any]]) -> list[str]:
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for line in lines:
        for kind, counts in line["counts"].items():
            row = rows.setdefault((line["part"], kind), dict.fromkeys(COLUMNS, 0.0))
            for verdict, count in counts.items():
                place = "faults" if verdict not in FINE else "held" if verdict == "refused" else verdict
                row[place] += count
        for kind, number in line["largest"].items():
            row = rows[line["part"], kind]
            row["largest"] = max(number, row.get("largest", 0.0))
    head = [
        "| part | what | trials | held | outside | undecided | faults | largest |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    return head + [_row(*key, rows[key]) for key in sorted(rows)]


def _row(part: str, kind: str, row: dict[str, float]) -> str:
    trials = sum(row[name] for name in COUNTED)
    largest = f"{row['largest']:.4g}" if "largest" in row else ""
    left_out = " (left out)" if row["left out"] and not trials else ""
    counts = " | ".join([f"{trials:.0f}{left_out}", *(f"{row[name]:.0f}" for name in COUNTED)])
    return f"| {part} | {kind} | {counts} | {largest} |"


def _faults(lines: list[dict[str, Any]]) -> list[str]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for line in lines:
        for signature, fault in line["faults"].items():
            kind = max((kind for kind in line["counts"] if signature.startswith(f"{kind}: ")), key=len)
            verdict = signature.removeprefix(f"{kind}: ").partition(": ")[0]
            first = {**fault, "count": 0, "seed": line["seed"], "what": f"{kind}: {verdict}"}
            known = found.setdefault((line["part"], signature), first)
            known["count"] += fault["count"]
    if not found:
        return ["No faults are known.", ""]
    head = ["## Faults", "", "| part | what | count | trial | example |", "|---|---|---:|---|---|"]
    order = sorted(found, key=lambda key: (key[0], -found[key]["count"]))
    return [*head, *(_fault_row(key[0], found[key]) for key in order), ""]


def _fault_row(part: str, fault: dict[str, Any]) -> str:
    example = fault["detail"].replace("|", "\\|").replace("\n", " ").replace("`", "'")[:200]
    trial = f"{fault['trials'][0]} of seed {fault['seed']}"
    return f"| {part} | {fault['what']} | {fault['count']} | {trial} | `{example}` |"
