"""The parser that all verbs share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    Subcommands = argparse._SubParsersAction["Parser"]

BAD_REQUEST = 2  # argparse's own code for what it cannot parse
INTERRUPTED = 130  # the shell's code for Ctrl-C


class Parser(argparse.ArgumentParser):
    """argparse's parser, with an error of one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, without the usage text."""
        self.exit(BAD_REQUEST, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def add_verb(subcommands: Subcommands, name: str, text: str) -> Parser:
    """A subcommand that says in its help what the list of subcommands says of it."""
    return subcommands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
