"""``swapsvm completion bash|zsh|fish``: a script that completes verbs and options, made from the parser itself."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .parser import add_verb

if TYPE_CHECKING:
    from .parser import Parser, Subcommands

BASH = """\
_swapsvm() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words={verbs}
  else
    case "${{COMP_WORDS[1]}} $before" in
{cases}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _swapsvm swapsvm
"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def add_completion(subcommands: Subcommands) -> None:
    """The arguments."""
    parser = add_verb(subcommands, "completion", "print a script that completes swapsvm in a shell")
    parser.epilog = (
        'For bash: eval "$(swapsvm completion bash)" in ~/.bashrc; for fish: swapsvm completion fish | source.'
    )
    parser.add_argument("shell", choices=list(SCRIPTS), help="of the script")
    parser.set_defaults(run=run_completion)


def run_completion(arguments: argparse.Namespace) -> None:
    """Print the script."""
    from ..cli import make_parser

    sys.stdout.write(SCRIPTS[arguments.shell](make_parser()))


def bash(parser: Parser) -> str:
    """Options once a dash is there, choices where there are some, and files where nothing fits."""
    verbs = verbs_of(parser)
    cases = []
    for verb, (subparser, _) in verbs.items():
        for action in options_of(subparser):
            if action.choices:
                pattern = "|".join(shlex.quote(f"{verb} {name}") for name in action.option_strings)
                cases.append(f"      {pattern}) words={quoted(action.choices)} ;;")
        names = quoted(name for action in options_of(subparser) for name in action.option_strings)
        others = quoted(word for action in positionals_of(subparser) for word in action.choices or ())
        cases.append(f"      {shlex.quote(verb + ' ')}*) [[ $current == -* ]] && words={names} || words={others} ;;")
    return BASH.format(verbs=quoted([*verbs, "--help", "--version"]), cases="\n".join(cases))


def zsh(parser: Parser) -> str:
    """zsh understands bash's script once it is asked to."""
    return ZSH + bash(parser)


def fish(parser: Parser) -> str:
    """A line for each verb and each option."""
    return "".join(f"complete -c swapsvm {line}\n" for line in fish_lines(parser))


def fish_lines(parser: Parser) -> Iterator[str]:
    """What ``complete`` is told."""
    for verb, (subparser, text) in verbs_of(parser).items():
        yield f"-n __fish_use_subcommand -f -a {verb} -d {shlex.quote(text)}"
        here = f"-n '__fish_seen_subcommand_from {verb}'"
        for action in options_of(subparser):
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in action.option_strings)
            value = f" -x -a {quoted(action.choices)}" if action.choices else " -r" if action.nargs != 0 else ""
            yield f"{here} {names}{value}"
        for choices in (action.choices for action in positionals_of(subparser) if action.choices):
            yield f"{here} -f -a {quoted(choices)}"


def verbs_of(parser: Any) -> dict[str, tuple[Parser, str]]:
    """The parser and the help of each verb."""
    verbs = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    texts = {choice.dest: choice.help or "" for choice in verbs._choices_actions}
    return {name: (subparser, texts[name]) for name, subparser in verbs.choices.items()}


def options_of(parser: Any) -> list[Any]:
    """The actions that begin with a dash."""
    return [action for action in parser._actions if action.option_strings]


def positionals_of(parser: Any) -> list[Any]:
    """The actions that do not."""
    return [action for action in parser._actions if not action.option_strings]


def quoted(words: Any) -> str:
    """Words as one word of the shell."""
    return shlex.quote(" ".join(words))


SCRIPTS: dict[str, Callable[[Parser], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
