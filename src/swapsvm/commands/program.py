"""The verbs of the command ``swapsvm``, joined.

A verb adds its parser to the others and names the function that does the work. Errors that a user can fix
(``ValueError``, ``OSError``, too little memory, a missing extra) end as one line on stderr.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress

from .. import __version__
from .completion import add_completion
from .datasets import add_datasets
from .info import add_convert, add_info
from .parser import BAD_REQUEST, INTERRUPTED, NOT_READ, Parser, Verbs
from .predict import add_predict
from .reduce import add_reduce
from .shard import add_shard
from .study import add_demo, add_reproduce
from .suggestions import check_words
from .train import add_train
from .training_options import with_weights
from .tune import add_tune

MODELS = (add_train, add_predict, add_tune, add_reduce, add_info, add_convert)
VERBS = (*MODELS, add_shard, add_datasets, add_demo, add_reproduce, add_completion)


def run(argv: Sequence[str]) -> int:
    """Serve a request; returns the exit code. What is written to a closed stream is lost."""
    with (
        open(os.devnull, "w") as nowhere,
        redirect_stdout(sys.stdout or nowhere),
        redirect_stderr(sys.stderr or nowhere),
    ):
        return serve(argv)


def serve(argv: Sequence[str]) -> int:
    """The same with open streams."""
    try:
        parser, verbs = make_parser()
        check_words(argv, parser, verbs)
        arguments = parse(with_weights(argv), parser, verbs)
        code: int = arguments.run(arguments) or 0
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader has seen enough
        forget_output()
        return NOT_READ
    except SystemExit as end:  # argparse raises it after --help, --version and its errors
        return int(end.code or 0)
    except (ImportError, MemoryError, OSError, ValueError) as error:
        sys.stderr.write(f"swapsvm: error: {one_line(error)}\n")
        return BAD_REQUEST
    except KeyboardInterrupt as stop:  # with a message where there is nothing to keep
        sys.stderr.write(f"swapsvm: {one_line(stop) or 'interrupted'}\n")
        return INTERRUPTED


def parse(words: Sequence[str], parser: Parser, verbs: Verbs) -> argparse.Namespace:
    """Parse a request by the parser of its verb, if it begins with one."""
    if words and words[0] in verbs:
        return verbs[words[0]].parser.parse_words(words[1:])
    return parser.parse_words(words)


def forget_output() -> None:
    """Drop what is still to be written to stdout, which Python would try again at its end."""
    with open(os.devnull, "w") as nowhere, suppress(OSError):  # no descriptor: nothing is written at the end
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def one_line(error: BaseException) -> str:
    """The message without line breaks and, for files that the system refuses, without the error number."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, UnicodeEncodeError):
        bad = ascii(error.object[error.start])
        return f"this output cannot show {bad} ({error.encoding}): set PYTHONIOENCODING=utf-8, or name an output file"
    message = " ".join(str(error).split())
    return f"this needs more memory than there is ({message})" if isinstance(error, MemoryError) else message


def make_parser() -> tuple[Parser, Verbs]:
    """The parser and its verbs."""
    parser = Parser(prog="swapsvm", description="Certified kernel support vector machines.")
    parser.add_argument("--version", action="version", version=f"swapsvm {__version__}")
    verbs = Verbs(parser)
    for add in VERBS:
        add(verbs)
    return parser, verbs
