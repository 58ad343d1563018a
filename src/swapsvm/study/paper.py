"""Published numbers to compare with ours: ``paper.toml`` and ``published.toml`` as objects."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from .statistics import Alternative


class PublishedTest(NamedTuple):
    """One Wilcoxon signed-rank test of the paper; see ``paper.toml`` for the fields."""

    measure: str
    first: str
    second: str
    alternative: str
    p: str
    rejected: bool

    @property
    def direction(self) -> Alternative:
        """The alternative as ``signed_ranks(first, second)`` takes it; the faster method has the smaller times."""
        if self.alternative.startswith("Different"):
            return "two-sided"
        better_is_first = self.alternative.startswith(f"{self.first} ")
        return "greater" if better_is_first == (self.measure == "accuracy") else "less"


class PublishedStatistics(NamedTuple):
    """The paper's tests; see ``paper.toml`` for the fields."""

    label: str
    level: float
    friedman: dict[str, str]
    tests: tuple[PublishedTest, ...]


@cache
def published_numbers() -> dict[str, Any]:
    """All that ``paper.toml`` holds."""
    return tomllib.loads(files(__package__).joinpath("paper.toml").read_text("utf-8"))


@cache
def published_statistics() -> PublishedStatistics:
    """The statistics of the paper."""
    table = published_numbers()
    tests = tuple(PublishedTest(**fields) for fields in table["tests"])
    return PublishedStatistics(table["label"], table["level"], table["friedman"], tests)


class PublishedAccuracy(NamedTuple):
    """A test accuracy on one of the splits; see ``published.toml`` for the fields."""

    accuracy: float
    source: str
    C: float | None = None
    gamma: float | None = None


@cache
def published_accuracies() -> dict[str, PublishedAccuracy]:
    """Published accuracies by data set."""
    table = tomllib.loads(files(__package__).joinpath("published.toml").read_text("utf-8"))
    return {name: PublishedAccuracy(**fields) for name, fields in table.items()}
