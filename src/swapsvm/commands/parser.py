"""The parser that all verbs share."""

from __future__ import annotations

import argparse
from typing import NamedTuple, NoReturn

BAD_REQUEST = 2  # argparse's own exit code for arguments it cannot parse
INTERRUPTED = 130  # the shell's exit code for Ctrl-C


class Parser(argparse.ArgumentParser):
    """argparse's parser with error messages of one line."""

    def error(self, message: str) -> NoReturn:
        """Print the message and where to find help, without the usage text."""
        self.exit(BAD_REQUEST, f"{self.prog}: error: {message} (see {self.prog} --help)\n")

    @property
    def options(self) -> list[argparse.Action]:
        """The arguments that begin with a dash."""
        return [action for action in self._actions if action.option_strings]

    @property
    def positionals(self) -> list[argparse.Action]:
        """The arguments that do not begin with a dash."""
        return [action for action in self._actions if not action.option_strings]


class Verb(NamedTuple):
    """A subcommand: its own parser, and what it does in one line."""

    parser: Parser
    text: str


class Verbs(dict[str, Verb]):
    """The subcommands of a parser by name."""

    def __init__(self, parser: Parser) -> None:
        super().__init__()
        self._subparsers = parser.add_subparsers(dest="command", metavar="command", required=True)

    def add(self, name: str, text: str, usage: str | None = None) -> Parser:
        """Add a subcommand whose description is its line in the list of subcommands."""
        description = f"{text[0].upper()}{text[1:]}."
        parser = self._subparsers.add_parser(name, help=text, description=description, usage=usage)
        self[name] = Verb(parser, text)
        return parser
