"""``swapsvm completion bash|zsh|fish``: a shell completion script, generated from the parser."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterable
from functools import partial

from .parser import Parser, Verbs

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
EPILOG = 'For bash: eval "$(swapsvm completion bash)" in ~/.bashrc; for fish: swapsvm completion fish | source.'
ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def add_completion(verbs: Verbs) -> None:
    """Add the verb ``completion``."""
    text = "print a shell completion script for swapsvm"
    parser = verbs.add("completion", text, partial(run_completion, verbs))
    parser.epilog = EPILOG
    parser.add_argument("shell", choices=list(SCRIPTS), help="shell to complete in")


def run_completion(verbs: Verbs, arguments: argparse.Namespace) -> None:
    """Print the script."""
    sys.stdout.write(SCRIPTS[arguments.shell](verbs))


def bash(verbs: Verbs) -> str:
    """Complete options after a dash, choices where an argument has them, and file names otherwise."""
    cases = []
    for name, (parser, _) in verbs.items():
        for action in shown(parser):
            if action.choices and action.option_strings:
                pattern = "|".join(shlex.quote(f"{name} {option}") for option in action.option_strings)
                cases.append(f"      {pattern}) words={quoted(action.choices)} ;;")
        options = quoted(option for action in shown(parser) for option in action.option_strings)
        positionals = (action for action in shown(parser) if not action.option_strings)
        others = quoted(word for action in positionals for word in action.choices or ())
        cases.append(f"      {shlex.quote(name + ' ')}*) [[ $current == -* ]] && words={options} || words={others} ;;")
    return BASH.format(verbs=quoted([*verbs, "--help", "--version"]), cases="\n".join(cases))


def fish(verbs: Verbs) -> str:
    """One ``complete`` command for each verb, then for each option and each positional argument with choices."""
    lines = []
    for name, (parser, text) in verbs.items():
        lines.append(f"-n __fish_use_subcommand -f -a {name} -d {shlex.quote(text)}")
        here = f"-n '__fish_seen_subcommand_from {name}'"
        for action in sorted(shown(parser), key=lambda action: not action.option_strings):  # options first
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in action.option_strings)
            value = f" -x -a {quoted(action.choices)}" if action.choices else " -r" if action.nargs != 0 else ""
            if names:
                lines.append(f"{here} {names}{value}")
            elif action.choices:
                lines.append(f"{here} -f -a {quoted(action.choices)}")
    return "".join(f"complete -c swapsvm {line}\n" for line in lines)


def shown(parser: Parser) -> list[argparse.Action]:
    """The arguments that the help shows."""
    return [action for action in parser.actions if action.help != argparse.SUPPRESS]


def quoted(words: Iterable[str]) -> str:
    """Words joined into one word of the shell."""
    return shlex.quote(" ".join(words))


SCRIPTS: dict[str, Callable[[Verbs], str]] = {"bash": bash, "zsh": lambda verbs: ZSH + bash(verbs), "fish": fish}
