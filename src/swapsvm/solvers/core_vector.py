"""Core Vector Machine: fully corrective Frank-Wolfe on a minimum enclosing ball ([SWAP14], "Adaptations to SVMs").

The ball problem maximizes sum_i a_i Q_ii - a'Qa. With a constant diagonal the first term is a constant: the ball and
the quadratic have the same solution, and the point farthest from the centre, |z_i - c|^2 = Q_ii - 2 h_i + f, is the
toward vertex. With any other diagonal they are different problems.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ..state import Need
from .fully_corrective import FullyCorrective


class CoreVector(FullyCorrective):
    """Fully corrective steps on a problem that is an enclosing ball."""

    name = "cvm"
    requires: ClassVar[Mapping[Need, str]] = {
        Need.CONSTANT_DIAGONAL: "use solver='fcfw', which takes the same steps on any problem"
    }
