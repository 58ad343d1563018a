"""``swapsvm completion bash|zsh|fish``: a shell completion script, generated from the parser."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from .parser import Verbs

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


def add_completion(verbs: Verbs) -> None:
    """Add the verb ``completion``."""
    parser = verbs.add("completion", "print a shell completion script for swapsvm")
    parser.epilog = (
        'For bash: eval "$(swapsvm completion bash)" in ~/.bashrc; for fish: swapsvm completion fish | source.'
    )
    parser.add_argument("shell", choices=list(SCRIPTS), help="shell to complete in")
    parser.set_defaults(run=partial(run_completion, verbs=verbs))


def run_completion(arguments: argparse.Namespace, verbs: Verbs) -> None:
    """Print the script."""
    sys.stdout.write(SCRIPTS[arguments.shell](verbs))


def bash(verbs: Verbs) -> str:
    """Complete options after a dash, choices where an argument has them, and file names otherwise."""
    cases = []
    for name, (parser, _) in verbs.items():
        for action in parser.options:
            if action.choices:
                pattern = "|".join(shlex.quote(f"{name} {option}") for option in action.option_strings)
                cases.append(f"      {pattern}) words={quoted(action.choices)} ;;")
        options = quoted(option for action in parser.options for option in action.option_strings)
        others = quoted(word for action in parser.positionals for word in action.choices or ())
        cases.append(f"      {shlex.quote(name + ' ')}*) [[ $current == -* ]] && words={options} || words={others} ;;")
    return BASH.format(verbs=quoted([*verbs, "--help", "--version"]), cases="\n".join(cases))


def zsh(verbs: Verbs) -> str:
    """The bash script, which zsh runs through ``bashcompinit``."""
    return ZSH + bash(verbs)


def fish(verbs: Verbs) -> str:
    """One ``complete`` command for each verb and each option."""
    return "".join(f"complete -c swapsvm {line}\n" for line in fish_lines(verbs))


def fish_lines(verbs: Verbs) -> Iterator[str]:
    """The arguments of ``complete``."""
    for name, (parser, text) in verbs.items():
        yield f"-n __fish_use_subcommand -f -a {name} -d {shlex.quote(text)}"
        here = f"-n '__fish_seen_subcommand_from {name}'"
        for action in parser.options:
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in action.option_strings)
            value = f" -x -a {quoted(action.choices)}" if action.choices else " -r" if action.nargs != 0 else ""
            yield f"{here} {names}{value}"
        for choices in (action.choices for action in parser.positionals if action.choices):
            yield f"{here} -f -a {quoted(choices)}"


def quoted(words: Iterable[str]) -> str:
    """Words joined into one word of the shell."""
    return shlex.quote(" ".join(words))


SCRIPTS: dict[str, Callable[[Verbs], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
