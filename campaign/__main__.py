"""``python -m campaign [part ...] --seconds 60 --seed 0 --jobs 1``: test the promises; status 1 if one was broken."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from .batch import Part, random_numbers
from .children import in_child
from .report import write_report
from .schedule import Plan, run_all

ROOT = Path(__file__).parent.parent
USUAL = ("certificates", "files", "limits", "kills", "threads")
PARTS = (*USUAL, "guided", "fuzzers", "sanitizers")  # the last ones need extra packages, compilers or minutes
RESULTS = Path(__file__).parent / "results"
REPORT = ROOT / "docs" / "notes" / "reliability.md"


def part_named(name: str) -> Part:
    """The part with this name."""
    part: Part = import_module(f".{name}", __package__).PART
    return part


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m campaign", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", metavar="part", help=f"{', '.join(PARTS)}; by default the first {len(USUAL)}"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="for all parts together")
    parser.add_argument("--seed", type=int, default=0, help="trials of a seed continue where the last run ended")
    parser.add_argument("--jobs", type=int, default=1, help="child processes at a time")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for JSON lines and malformed files")
    parser.add_argument("--report", type=Path, help="table of all lines (default: report.md in the output folder)")
    parser.add_argument("--fresh", action="store_true", help="remove the lines of these parts first")
    parser.add_argument("--only", type=int, metavar="TRIAL", help="repeat one trial of one part and report its outcome")
    options = parser.parse_args(words)
    options.parts = options.parts or list(USUAL)
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {sorted(unknown)[0]!r}: use {', '.join(PARTS)}")
    options.report = options.report or (REPORT if options.output == RESULTS else options.output / "report.md")
    return options


def repeat(part: Part, seed: int, number: int) -> int:
    """One trial by itself; 1 if it is a fault."""

    def trial() -> object:
        os.chdir(folder)
        part.prepare()
        return part.trial(random_numbers(part, seed, number))

    with tempfile.TemporaryDirectory() as folder:
        ended = in_child(trial, part.patience + 60)
    print(ended.value if ended.status == "returned" else ended)
    print(ended.said)
    return int(ended.status != "returned" or ended.value.is_fault)


def main(words: list[str] | None = None) -> int:
    options = arguments(words)
    parts = [part_named(name) for name in options.parts]
    if options.only is not None:
        return repeat(parts[0], options.seed, options.only)
    plan = Plan(options.seconds, options.seed, options.jobs, options.output)
    for part in parts:
        if options.fresh:
            plan.lines_of(part).unlink(missing_ok=True)
    faults = run_all(parts, plan, lambda text: print(text, flush=True))
    write_report(options.output, options.report)
    print(f"{faults} faults; {options.report}")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
