"""A fit as scikit-learn's callbacks see it: a task, its problems if there are several, and the rounds of each.

::

    fit ── classes 0 and 1 ── round 0, 1, ...        of two classes, or without any: fit ── round 0, 1, ...
     └──── classes 0 and 2 ── round 0, 1, ...
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import _safe_indexing

from ..problems import Quadratic
from .subproblems import Subproblem

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks
except ImportError:  # scikit-learn < 1.9
    from .older import CallbackSupportMixin as CallbackSupportMixin
    from .older import with_callbacks as with_callbacks

if TYPE_CHECKING:
    from .observing import FitProgress

# Of one problem. A number that is known beforehand gives bars a percentage, and bounds what a model for each costs.
ROUNDS = 20

Attributes = Callable[[], "dict[str, Any] | None"]  # of a fitted copy, made when a callback asks for it


class Rounds:
    """The rounds of one problem: one ends when another part of the way to the target gap is done.

    Parts are factors of the gap. Several that are done at one look end one after the other, and only the last of them
    has a model.
    """

    def __init__(self, context: Any, told: dict[str, Any]) -> None:
        self._context, self.told, self._done = context, told, 0
        self._round: Any = None
        self._begin()

    def _begin(self) -> None:
        self._round = self._context.subcontext(task_name="round")
        self._round.call_on_fit_task_begin(**self.told)

    def _end(self, model: Attributes | None) -> bool:
        ended, self._round = self._round, None
        return bool(ended.call_on_fit_task_end(**self.told, reconstruction_attributes=model))

    def look(self, progress: FitProgress, model: Attributes) -> bool:
        """Whether to go on from here."""
        while self._reached(progress, self._done + 1):
            self._done += 1
            if self._end(None if self._reached(progress, self._done + 1) else model):
                return False
            if self._done < ROUNDS:
                self._begin()
        return True

    def _reached(self, progress: FitProgress, rounds: int) -> bool:
        return rounds <= ROUNDS and progress.relative_gap <= progress.relative_gap_at(rounds / ROUNDS)

    def next_gap(self, progress: FitProgress) -> float:
        """The relative gap at which a round ends; the last one ends with the run."""
        # a little below it, so that rounding cannot end a round for the run and not for the line above
        return 0.999 * progress.relative_gap_at((self._done + 1) / ROUNDS) if self._done + 1 < ROUNDS else 0.0

    def close(self, model: Attributes) -> None:
        """End the round that the end of the run has cut short."""
        if self._round is not None:
            self._end(model)


class FitTask:
    """The task of a whole fit. Hooks get the rows as the user gave them: with the names of their columns."""

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self._estimator, self._X, self._y, self._sample_weight = estimator, X, y, sample_weight
        self._root: Any = None

    def _open(self, subtasks: int, *, sequential: bool) -> None:
        self._root = self._estimator._init_callback_context(max_subtasks=subtasks, sequential_subtasks=sequential)
        self._root.call_on_fit_task_begin(**self._told())

    def end(self) -> None:
        """The fit has ended, and the estimator is fitted."""
        if self._root is not None:
            self._root.call_on_fit_task_end(**self._told(), reconstruction_attributes={})

    def _told(self, rows: np.ndarray | None = None) -> dict[str, Any]:
        """What every hook of a task is told, of these rows or of all."""

        def taken(values: Any) -> Any:
            return values if rows is None or values is None else _safe_indexing(values, rows)

        def metadata() -> dict[str, Any] | None:
            return None if self._sample_weight is None else {"sample_weight": taken(self._sample_weight)}

        return {
            "estimator": self._estimator,
            "X": lambda: taken(self._X),
            "y": lambda: taken(self._y),
            "metadata": metadata,
        }


class Tasks(FitTask):
    """The tree of tasks of one fit."""

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        super().__init__(estimator, X, y, sample_weight)
        self._contexts: dict[tuple[Any, ...], Any] = {}
        self._rounds: dict[tuple[Any, ...], Rounds] = {}

    def begin(self, subproblems: Sequence[Subproblem]) -> None:
        """The fit begins."""
        several = len(subproblems) > 1
        self._open(len(subproblems) if several else ROUNDS, sequential=not several)
        for number, sub in enumerate(subproblems if several else ()):
            self._contexts[sub.labels] = self._root.subcontext(sub.name, number, ROUNDS)

    def begin_problem(self, sub: Subproblem, problem: Quadratic) -> None:
        """One problem begins."""
        context, told = self._root, self._told()
        if sub.labels in self._contexts:
            context, told = self._contexts[sub.labels], self._told(np.unique(problem.rows))
            context.call_on_fit_task_begin(**told)
        self._rounds[sub.labels] = Rounds(context, told)

    def look(self, sub: Subproblem, progress: FitProgress, model: Attributes) -> bool:
        """Whether to go on with a problem."""
        return self._rounds[sub.labels].look(progress, model)

    def next_gap(self, sub: Subproblem, progress: FitProgress) -> float:
        """The relative gap at which a round of a problem ends."""
        return self._rounds[sub.labels].next_gap(progress)

    def end_problem(self, sub: Subproblem, model: Attributes) -> bool:
        """Whether to go on with the others after the end of one problem."""
        rounds = self._rounds.pop(sub.labels)
        rounds.close(model)
        context = self._contexts.get(sub.labels)
        return context is None or not context.call_on_fit_task_end(**rounds.told, reconstruction_attributes=model)


class SearchTasks(FitTask):
    """The tree of a search: its paths along C, each a leaf, and the fit on all rows at the end."""

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        super().__init__(estimator, X, y, sample_weight)
        self._lock = threading.Lock()
        self._search: Any = None

    def begin(self, paths: int) -> None:
        """The search begins."""
        self._open(1 + bool(self._estimator.refit), sequential=True)
        self._search = self._root.subcontext("search", max_subtasks=paths, sequential_subtasks=False)
        self._search.call_on_fit_task_begin(**self._told())

    @contextmanager
    def path(self, number: int) -> Iterator[None]:
        """Around one path. Its end cannot stop the others: a search needs all of them."""
        with self._lock:
            task = self._search.subcontext("path", number).call_on_fit_task_begin(**self._told())
        yield
        with self._lock:
            task.call_on_fit_task_end(**self._told())

    def scored(self) -> None:
        """The search has ended."""
        self._search.call_on_fit_task_end(**self._told())

    @contextmanager
    def refit(self, model: Any) -> Iterator[None]:
        """Around the fit on all rows, whose tasks go below this one."""
        task = self._root.subcontext("refit")
        with task.propagate_callback_context(model):
            task.call_on_fit_task_begin(**self._told())
            yield
            task.call_on_fit_task_end(**self._told())
