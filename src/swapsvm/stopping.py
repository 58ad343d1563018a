"""When a run ends: small rules that map the progress to a reason, combined by ``|``."""

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
        return relative(self.gap, self.scale)


def relative(gap: float, scale: float) -> float:
    """gap / scale, never negative."""
    if gap <= 0:  # a negative gap is rounding; if the value is 0, so is the scale
        return 0.0
    return gap / scale if scale > 0 else float("inf")


class Stop(ABC):
    """A rule: ``stop(progress)`` returns the reason to end, or None. ``a | b`` ends when either does."""

    tol = 0.0  # relative and absolute gap at which it ends, read by compiled loops
    eps = 0.0
    seconds = float("inf")  # after which it ends, read by long computations

    @abstractmethod
    def __call__(self, progress: Progress) -> str | None:
        """The reason to end, or None."""

    def moves_left(self, progress: Progress) -> float:
        """Number of moves after which the rule must be evaluated again."""
        return float("inf")

    def target(self, scale: float) -> float:
        """The gap at which it ends; a relative gap is relative to ``scale``."""
        return max(self.eps, self.tol * scale)

    def __or__(self, other: Stop | Callable[[Progress], str | None]) -> AnyOf:
        return AnyOf.of(self, other)


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
    """A rule for the rest of a run: iterations and seconds count from the progress ``begin``."""

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
    """Ends with the first of several rules. Limits come before the gap, which a certificate has yet to confirm."""

    rules: tuple[Stop, ...]

    @classmethod
    def of(cls, *rules: Stop | Callable[[Progress], str | None]) -> AnyOf:
        """From rules and functions of the progress."""
        return cls(tuple(rule if isinstance(rule, Stop) else Rule(rule) for rule in rules))

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
    """The rule described by the four common parameters."""
    stop: Stop = Gap(tol, eps)
    if not (is_number(max_iter) and max_iter == -1):
        stop = stop | Iterations(max_iter)
    if max_time is not None:
        stop = stop | Seconds(max_time)
    return stop
