"""``python -m swapsvm``: the command ``swapsvm``."""

import sys

from .cli import main

sys.exit(main())
