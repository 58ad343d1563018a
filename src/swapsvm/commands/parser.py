"""The parser, and the arguments that verbs share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

from ..files.tables import FORMATS

BAD_REQUEST = 2  # argparse's own exit code for arguments it cannot parse
INTERRUPTED = 130  # the shell's exit code for Ctrl-C
NOT_READ = 141  # the shell's exit code for a pipe that its reader has left
Run = Callable[[argparse.Namespace], int | None]  # the exit code, 0 if there is none
DATA = "file of rows and labels, folder of shards, name of a data set (`swapsvm datasets`), or - for stdin"


class Parser(argparse.ArgumentParser):
    """argparse's parser with error messages of one line."""

    def error(self, message: str) -> NoReturn:
        """Print the message and where to find help, without the usage text."""
        self.exit(BAD_REQUEST, f"{self.prog}: error: {message} (see {self.prog} --help)\n")

    def parse_words(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse a request in which options can stand before, between and after the other arguments."""
        has_verbs = any(action.nargs == argparse.PARSER for action in self.actions)
        return self.parse_args(words) if has_verbs else self.parse_intermixed_args(words)

    @property
    def actions(self) -> list[argparse.Action]:
        """The arguments; those that begin with a dash have ``option_strings``."""
        return self._actions


class Verb(NamedTuple):
    """A subcommand: its own parser, and what it does in one line."""

    parser: Parser
    text: str


class Verbs(dict[str, Verb]):
    """The subcommands of a parser by name."""

    def __init__(self, parser: Parser) -> None:
        super().__init__()
        self._subparsers = parser.add_subparsers(dest="command", metavar="command", required=True)

    def add(self, name: str, text: str, run: Run, usage: str | None = None) -> Parser:
        """Add a subcommand that calls ``run``; its description is its line in the list of subcommands."""
        description = f"{text[0].upper()}{text[1:]}."
        parser = self._subparsers.add_parser(name, help=text, description=description, usage=usage)
        parser.set_defaults(run=run)
        self[name] = Verb(parser, text)
        return parser


def add_json(parser: Parser) -> None:
    """Add the option ``--json``."""
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout instead of text")


def add_quiet(parser: Parser) -> None:
    """Add the option ``--quiet``, which LIBSVM has as well."""
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def add_model(parser: Parser) -> None:
    """Add MODEL, a file to read."""
    parser.add_argument("model", metavar="MODEL", help="model file of `swapsvm train` or of LIBSVM")


def add_data(parser: Parser) -> None:
    """Add DATA and the options for reading it."""
    add = parser.add_argument
    add("data", metavar="DATA", help=DATA)
    add("--format", choices=list(FORMATS), help="format of DATA (default: chosen by the extension, else svmlight)")
    label = "CSV, Parquet: label column, by name or number (1 is the first, -1 the last, 0 for none; default: 1)"
    add("--label", metavar="COLUMN", help=label)
    add("--labels", metavar="FILE", help="npy: file of the labels (default: y.npy in the same folder)")


def add_memory(parser: Parser) -> None:
    """Add the option ``--memory``."""
    text = "memory for rows, such as 500M or 1G: they are read from DATA again and again (default: a quarter of it)"
    parser.add_argument("--memory", metavar="SIZE", help=text)
