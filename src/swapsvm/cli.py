"""The command ``swapsvm``, which joins the verbs of ``commands``.

A verb adds its parser to the others and sets ``run`` to the function that does the work. Errors that a user can fix
(``ValueError``, ``OSError``, too little memory, a missing extra) end as one line on stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import __version__
from .commands.completion import add_completion
from .commands.convert import add_convert
from .commands.datasets import add_datasets
from .commands.demo import add_demo
from .commands.info import add_info
from .commands.parser import BAD_REQUEST, INTERRUPTED, Parser, Verbs
from .commands.predict import add_predict
from .commands.reduce import add_reduce
from .commands.reproduce import add_reproduce
from .commands.train import add_train, with_weights
from .commands.tune import add_tune

VERBS = (
    add_train,
    add_predict,
    add_tune,
    add_reduce,
    add_info,
    add_convert,
    add_datasets,
    add_demo,
    add_reproduce,
    add_completion,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        The exit code: 0 on success, 2 if the request cannot be served, 130 after Ctrl-C.
    """
    try:
        arguments = make_parser().parse_args(with_weights(sys.argv[1:] if argv is None else argv))
        arguments.run(arguments)
    except SystemExit as end:  # argparse raises it after --help, --version and its errors
        return int(end.code or 0)
    except MemoryError as error:
        sys.stderr.write(f"swapsvm: error: this needs more memory than there is ({one_line(error)})\n")
        return BAD_REQUEST
    except (ImportError, OSError, ValueError) as error:
        sys.stderr.write(f"swapsvm: error: {one_line(error)}\n")
        return BAD_REQUEST
    except KeyboardInterrupt:
        sys.stderr.write("swapsvm: interrupted\n")
        return INTERRUPTED
    return 0


def one_line(error: Exception) -> str:
    """The message without line breaks and, for files that the system refuses, without the error number."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


def make_parser() -> Parser:
    """The parser with all verbs."""
    parser = Parser(prog="swapsvm", description="Certified kernel support vector machines.")
    parser.add_argument("--version", action="version", version=f"swapsvm {__version__}")
    verbs = Verbs(parser)
    for add in VERBS:
        add(verbs)
    return parser
