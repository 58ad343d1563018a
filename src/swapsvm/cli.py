"""The command ``swapsvm``. Its verbs are in ``commands``, and are imported only for requests that need them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code is 0 on success, 2 for a request that cannot be served, 130 after Ctrl-C."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words == ["--version"]:
        sys.stdout.write(f"swapsvm {__version__}\n")
        return 0
    try:
        from .commands.listening import Listening

        with Listening():
            from .commands.program import run
    except KeyboardInterrupt:
        sys.stderr.write("swapsvm: interrupted\n")
        return 130
    return run(words)
