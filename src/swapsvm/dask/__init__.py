"""Estimators over Dask collections: the rows stay on the workers, the fit runs where it is called.

::

    SVC, SVR, OneClassSVM, SVDD ── parts (collections) ── DaskRows ── tasks (on the workers)
                                                              │
                                                    swapsvm.passes.ShardedRows

Needs ``dask`` and ``distributed``. A fit sends vectors to the workers and gets sums
back. Its tasks keep nothing: what a lost worker had is computed again from the collections.
"""

from ..extras import needed_by

with needed_by("swapsvm.dask"):
    from .estimators import SVC, SVDD, SVR, OneClassSVM

__all__ = ["SVC", "SVDD", "SVR", "OneClassSVM"]
