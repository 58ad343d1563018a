"""The competitors, one short file each. To add one, write a file with a subclass of ``Competitor`` and list it here."""

from ._base import Competitor
from .intelex_svc import IntelexSVC
from .libsvm_official import Libsvm
from .sklearn_svc import SklearnSVC
from .swapsvm_svc import OURS, Block, BlockSmallCache
from .thundersvm import ThunderSVM

PEERS: list[type[Competitor]] = [IntelexSVC, SklearnSVC, Libsvm, ThunderSVM]
COMPETITORS: dict[str, type[Competitor]] = {c.name: c for c in [*PEERS, *OURS]}

__all__ = ["COMPETITORS", "OURS", "PEERS", "Block", "BlockSmallCache", "Competitor"]
