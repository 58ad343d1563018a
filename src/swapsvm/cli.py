"""The command ``swapsvm``, which joins the verbs of ``commands``.

A verb adds its parser to the others and names the function that does the work. Errors that a user can fix
(``ValueError``, ``OSError``, too little memory, a missing extra) end as one line on stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import __version__
from .commands.completion import add_completion
from .commands.datasets import add_datasets
from .commands.info import add_convert, add_info
from .commands.parser import BAD_REQUEST, INTERRUPTED, Parser, Verbs
from .commands.predict import add_predict
from .commands.reduce import add_reduce
from .commands.study import add_demo, add_reproduce
from .commands.train import add_train, with_weights
from .commands.tune import add_tune

MODELS = (add_train, add_predict, add_tune, add_reduce, add_info, add_convert)
VERBS = (*MODELS, add_datasets, add_demo, add_reproduce, add_completion)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code is 0 on success, 2 for a request that cannot be served, 130 after Ctrl-C."""
    try:
        arguments = make_parser().parse_args(with_weights(sys.argv[1:] if argv is None else argv))
        arguments.run(arguments)
    except SystemExit as end:  # argparse raises it after --help, --version and its errors
        return int(end.code or 0)
    except (ImportError, MemoryError, OSError, ValueError) as error:
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
    message = " ".join(str(error).split())
    return f"this needs more memory than there is ({message})" if isinstance(error, MemoryError) else message


def make_parser() -> Parser:
    """The parser with all verbs."""
    parser = Parser(prog="swapsvm", description="Certified kernel support vector machines.")
    parser.add_argument("--version", action="version", version=f"swapsvm {__version__}")
    verbs = Verbs(parser)
    for add in VERBS:
        add(verbs)
    return parser
