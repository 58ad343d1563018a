"""Words of a request that are not known: the error names the nearest ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from .parser import Parser, Verbs


def check_words(argv: Sequence[str], parser: Parser, verbs: Verbs) -> None:
    """End with an error if the verb or a long option is not known."""
    if not argv or argv[0].startswith("-"):
        return
    name = argv[0]
    if name not in verbs:
        known = f": use one of {', '.join(verbs)}"
        parser.error(f"unknown command {name!r}{meant(name, verbs) or known}")
    verb = verbs[name].parser
    options = options_of(verb)
    for word in argv[1 : argv.index("--") if "--" in argv else None]:
        option = word.partition("=")[0]
        if option.startswith("--") and not any(known.startswith(option) for known in options):
            verb.error(f"unknown option {option}{meant(option, options) or elsewhere(option, verbs)}")


def options_of(parser: Parser) -> list[str]:
    """The long options of a verb."""
    return [name for action in parser.actions for name in action.option_strings if name.startswith("--")]


def meant(word: str, known: Collection[str]) -> str:
    """The nearest known words as a question; empty if none is near."""
    near = get_close_matches(word, known, n=2, cutoff=0.7)
    return f": did you mean {' or '.join(near)}?" if near else ""


def elsewhere(option: str, verbs: Verbs) -> str:
    """Which verbs have this option; empty if none."""
    having = [name for name, verb in verbs.items() if option in options_of(verb.parser)]
    return f": it is an option of {', '.join(having)}" if having else ""
