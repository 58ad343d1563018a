"""Core Vector Machine: fully corrective Frank-Wolfe on a minimum enclosing ball ([SWAP14], "Adaptations to SVMs").

The ball problem maximizes sum_i a_i Q_ii - a'Qa. With a constant diagonal the first term is a constant: the ball and
the quadratic have the same solution, and the point farthest from the centre, |z_i - c|^2 = Q_ii - 2 h_i + f, is the
toward vertex. With any other diagonal they are different problems.
"""

from __future__ import annotations

from ..state import State
from .fully_corrective import FullyCorrective


class CoreVector(FullyCorrective):
    """Fully corrective steps on a problem that is an enclosing ball."""

    name = "cvm"

    def check(self, state: State) -> None:
        low, high = state.diagonal_range()
        if high - low > 1e-6 * max(abs(low), abs(high)):
            raise ValueError(
                "solver='cvm' treats the problem as a minimum enclosing ball, which is the same problem only if the "
                f"diagonal k(x, x) + 1/(C w) is constant; here it ranges from {low:.6g} to {high:.6g}. Use a kernel "
                "with constant k(x, x) such as 'rbf' and equal sample weights, or solver='fcfw', which needs neither."
            )
