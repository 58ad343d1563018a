"""Passes over rows that lie elsewhere: in files, or on the workers of a cluster.

The solvers keep a few numbers for each row. The rows themselves they only multiply with: ``K b`` for a few vectors or
for all. So a pass sends vectors and coefficients to where rows lie, and gets sums back. Each piece of a pass is a pure
function of its rows and of what is sent, so that a piece that is lost is computed again.
"""

from .kernel import KernelPasses as KernelPasses
from .look import Look as Look
from .look import sizes_of as sizes_of
from .sharded import ShardedRows as ShardedRows
from .sharded import is_sharded as is_sharded
from .verbs import Arithmetic as Arithmetic
from .verbs import Stack as Stack
