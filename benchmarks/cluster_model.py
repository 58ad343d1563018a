"""A model of the time and the memory of a fit on a cluster, from counts that were measured on one machine.

A fit is a sequence of rounds. In each the client sends vectors to all workers, they compute kernel values with their
rows, and numbers for rows come back. Between rounds the client works alone, with a few numbers for each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2

import numpy as np


@dataclass(frozen=True)
class Network:
    """Assumed costs: seconds of a round trip, of the scheduler for a task, and bytes per second of each machine."""

    per_round: float = 0.010
    per_task: float = 0.001
    bandwidth: float = 1.25e9  # 10 Gbit/s


@dataclass(frozen=True)
class Counts:
    """What a fit asks for."""

    rows: float
    support: float
    passes: float
    requests: float  # for rows of working sets, each a round as well
    values: float  # of the kernel, by all workers
    bytes_to_worker: float  # to each of them, in all rounds
    bytes_back: float  # from all of them, in all rounds
    value_seconds: float  # of a core, for one kernel value
    driver_seconds: float  # of the client and the scheduler, alone
    driver_bytes: float

    @property
    def rounds(self) -> float:
        return self.passes + self.requests


@dataclass(frozen=True)
class Cost:
    """Seconds by cause, and the memory of the driver."""

    kernel: float
    latency: float
    transfer: float
    driver: float
    driver_bytes: float

    @property
    def seconds(self) -> float:
        return self.kernel + self.latency + self.transfer + self.driver


def cost_of(counts: Counts, workers: int, cores: int, parts: int, network: Network) -> Cost:
    """The cost of a fit on workers with ``cores`` each, whose rows are cut into ``parts`` in all.

    Vectors reach the workers along a binary tree, and all results enter the client through one wire. Rounds and tasks
    cost their latency, kernel values are computed by all cores; nothing overlaps.
    """
    levels = max(1, ceil(log2(workers + 1)))
    moved = counts.bytes_to_worker * levels + counts.bytes_back
    return Cost(
        counts.values * counts.value_seconds / (workers * cores),
        counts.rounds * (network.per_round + parts * network.per_task),
        moved / network.bandwidth,
        counts.driver_seconds,
        counts.driver_bytes,
    )


def delayed_seconds(seconds: float, rounds: int, tasks: int, moved: int, network: Network) -> float:
    """Seconds of a fit that took ``seconds`` without a network."""
    return seconds + rounds * network.per_round + tasks * network.per_task + moved / network.bandwidth


def grown(counts: Counts, rows: float, exponent: float) -> Counts:
    """Counts for more rows, if support grows as a power of their number.

    Each doubling of the rows takes one more pass, as the solver looks at twice as many rows from pass to pass. Requests
    and vectors grow as the support, kernel values as rows times support, and all else as the rows.
    """
    more = rows / counts.rows
    support = min(counts.support * more**exponent, rows)
    vectors = support / counts.support
    return Counts(
        rows,
        support,
        counts.passes + log2(more),
        counts.requests * vectors,
        counts.values * more * vectors,
        counts.bytes_to_worker * vectors,
        counts.bytes_back * more,
        counts.value_seconds,
        counts.driver_seconds * more,
        counts.driver_bytes * more,
    )


def exponent_of(rows: Sequence[float], support: Sequence[float]) -> float:
    """The slope of support against rows, both in logarithms; 0 to 1."""
    slope = np.polyfit(np.log(rows), np.log(support), 1)[0]
    return float(np.clip(slope, 0.0, 1.0))
