"""When a run ends: small rules that see the progress and name a reason, joined by ``|``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

from sklearn.exceptions import ConvergenceWarning

from .parameters import check_integer, check_number, is_number

__all__ = ["AnyOf", "ConvergenceWarning", "Gap", "Iterations", "Progress", "Rule", "Seconds", "Since", "Stop"]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands."""

    iteration: int
    seconds: float
    value: float
    gap: float
    support: int
    evaluations: int
    scale: float = 0.0  # what the gap is relative to
    target: float = 0.0  # the gap at which the run ends

    @property
    def relative_gap(self) -> float:
        """gap / scale, never negative."""
        if self.gap <= 0:  # below zero it is rounding, and where the value is 0 the scale is rounding, too
            return 0.0
        return self.gap / self.scale if self.scale > 0 else float("inf")


class Stop(ABC):
    """A rule: ``stop(progress)`` gives the reason to end, or None. ``a | b`` ends when either does."""

    tol = 0.0  # the gap, relative and absolute, at which it ends by gap: compiled loops look at these
    eps = 0.0
    seconds = float("inf")  # after which it ends: steps that take long look at this

    @abstractmethod
    def __call__(self, progress: Progress) -> str | None:
        """The reason to end, or None."""

    def moves_left(self, progress: Progress) -> float:
        """How many moves may be made before the rule must be asked again."""
        return float("inf")

    def target(self, scale: float) -> float:
        """The gap at which it ends, given what a relative gap is relative to."""
        return max(self.eps, self.tol * scale)

    def __or__(self, other: Stop | Callable[[Progress], str | None]) -> AnyOf:
        return AnyOf((self, other if isinstance(other, Stop) else Rule(other)))


@dataclass(frozen=True)
class Gap(Stop):
    """``gap <= tol * scale`` or ``gap <= eps``."""

    tol: float = 1e-2
    eps: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("tol", self.tol), ("eps", self.eps)):
            check_number(name, value, lambda number: 0 <= number < float("inf"), "a finite number, 0 or more")

    def __call__(self, progress: Progress) -> str | None:
        return "gap" if progress.gap <= self.target(progress.scale) else None


@dataclass(frozen=True)
class Iterations(Stop):
    """At most ``limit`` iterations."""

    limit: int

    def __post_init__(self) -> None:
        allowed = "a positive integer, or -1 for no limit"
        check_integer("max_iter", self.limit, lambda number: number >= 1, allowed)

    def __call__(self, progress: Progress) -> str | None:
        return "max_iter" if progress.iteration >= self.limit else None

    def moves_left(self, progress: Progress) -> float:
        return self.limit - progress.iteration


@dataclass(frozen=True)
class Seconds(Stop):
    """At most ``limit`` seconds."""

    limit: float

    def __post_init__(self) -> None:
        allowed = "a positive number of seconds, or None for no limit"
        check_number("max_time", self.limit, lambda number: number > 0, allowed)
        object.__setattr__(self, "seconds", self.limit)

    def __call__(self, progress: Progress) -> str | None:
        return "max_time" if progress.seconds >= self.limit else None


@dataclass(frozen=True)
class Rule(Stop):
    """A user's own function of the progress."""

    function: Callable[[Progress], str | None]

    def __call__(self, progress: Progress) -> str | None:
        return self.function(progress)


class Since(Stop):
    """A rule for the part of a run that comes after a progress: iterations and seconds count from there."""

    def __init__(self, begin: Progress, rule: Stop) -> None:
        self.begin, self.rule, self.tol, self.eps = begin, rule, rule.tol, rule.eps
        self.seconds = begin.seconds + rule.seconds

    def __call__(self, progress: Progress) -> str | None:
        return self.rule(self._since(progress))

    def moves_left(self, progress: Progress) -> float:
        return self.rule.moves_left(self._since(progress))

    def _since(self, progress: Progress) -> Progress:
        iteration, seconds = progress.iteration - self.begin.iteration, progress.seconds - self.begin.seconds
        return replace(progress, iteration=iteration, seconds=seconds)


@dataclass(frozen=True)
class AnyOf(Stop):
    """The first of several rules that ends; limits before the gap, which a certificate has yet to confirm."""

    rules: tuple[Stop, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tol", max(rule.tol for rule in self.rules))
        object.__setattr__(self, "eps", max(rule.eps for rule in self.rules))
        object.__setattr__(self, "seconds", min(rule.seconds for rule in self.rules))

    def __call__(self, progress: Progress) -> str | None:
        reasons = [reason for rule in self.rules if (reason := rule(progress))]
        return next((reason for reason in reasons if reason != "gap"), reasons[0] if reasons else None)

    def moves_left(self, progress: Progress) -> float:
        return min(rule.moves_left(progress) for rule in self.rules)


def make_stop(tol: float, eps: float, max_iter: int, max_time: float | None) -> Stop:
    """The rule that the common four parameters describe."""
    stop: Stop = Gap(tol, eps)
    if not (is_number(max_iter) and max_iter == -1):
        stop = stop | Iterations(max_iter)
    if max_time is not None:
        stop = stop | Seconds(max_time)
    return stop
