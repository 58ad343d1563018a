"""A fit as scikit-learn's callbacks see it: a tree of the fit, its problems if there are several, and their rounds.

::

    fit ── classes 0 and 1 ── round 0, 1, ...        of two classes, or without any: fit ── round 0, 1, ...
     └──── classes 0 and 2 ── round 0, 1, ...
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from sklearn import __version__
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing

from ..arrays import ArrayLike, MatrixLike
from ..problems import Quadratic
from .subproblems import Labels, Subproblem

Method = TypeVar("Method")

try:
    from sklearn import callback
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
except ImportError:
    callback = None

    class CallbackSupportMixin:  # type: ignore[no-redef]  # stands in for the one of scikit-learn 1.9
        """``set_callbacks`` does not exist before scikit-learn 1.9."""

        @property
        def set_callbacks(self) -> Callable[..., object]:
            """Not available."""
            raise AttributeError(
                f"set_callbacks needs scikit-learn 1.9 or later, this is {__version__}; SVC(callbacks=...) works "
                "with every version"
            )


def with_callbacks(method: Method) -> Method:
    """A method whose callbacks are torn down at its end; before scikit-learn 1.9 the method itself."""
    decorated: Method = method if callback is None else callback.with_callbacks(method)
    return decorated


if TYPE_CHECKING:
    from sklearn.callback._callback_context import CallbackContext

    from .progress import FitProgress

# Rounds of one problem. A number known in advance gives bars a percentage and bounds the cost of one model per round.
ROUNDS = 20

Attributes = Callable[[], Mapping[str, object]]  # of a fitted copy, made when a callback asks for it
OpenContext = Callable[..., "CallbackContext"]  # scikit-learn's method that begins the tree of an estimator's tasks


class Rounds:
    """The rounds of one problem. A round ends when the gap has shrunk by another equal factor on its way to the target.

    Rounds that are found complete at the same time end one after the other, and only the last of them has a model.
    """

    def __init__(self, context: CallbackContext, told: Mapping[str, object]) -> None:
        self._context, self.told, self._done = context, told, 0
        self._open: list[CallbackContext] = []  # the round that has begun, if one has
        self._begin()

    def _begin(self) -> None:
        self._open.append(self._context.subcontext(task_name="round"))
        self._open[-1].call_on_fit_task_begin(**self.told)

    def _end(self, model: Attributes | None) -> bool:
        return bool(self._open.pop().call_on_fit_task_end(**self.told, reconstruction_attributes=model))

    def look(self, progress: FitProgress, model: Attributes) -> bool:
        """End the rounds that are complete; False if a callback asks to stop."""
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
        """The relative gap at which the next round ends; the last one ends with the run."""
        # a little lower, so that rounding cannot end a round for the run but not for _reached
        return 0.999 * progress.relative_gap_at((self._done + 1) / ROUNDS) if self._done + 1 < ROUNDS else 0.0

    def close(self, model: Attributes) -> None:
        """End the round that was open when the run ended."""
        if self._open:
            self._end(model)


class FitTask:
    """The task of a whole fit. Hooks get the rows as the user passed them, with the names of their columns."""

    def __init__(
        self,
        estimator: BaseEstimator,
        open_context: OpenContext,
        X: MatrixLike,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
    ) -> None:
        self._estimator, self._open_context = estimator, open_context
        self._X, self._y, self._sample_weight = X, y, sample_weight

    def _open(self, subtasks: int, *, sequential: bool) -> None:
        self._root: CallbackContext = self._open_context(max_subtasks=subtasks, sequential_subtasks=sequential)
        self._root.call_on_fit_task_begin(**self._told())

    def end(self) -> None:
        """The fit has ended, and the estimator is fitted."""
        self._root.call_on_fit_task_end(**self._told(), reconstruction_attributes={})

    def _told(self, rows: np.ndarray | None = None) -> dict[str, object]:
        """What every hook of a task is told, about these rows or all of them."""

        def taken(values: MatrixLike | None) -> MatrixLike | None:
            return values if rows is None or values is None else _safe_indexing(values, rows)

        def metadata() -> dict[str, object] | None:
            return None if self._sample_weight is None else {"sample_weight": taken(self._sample_weight)}

        return {
            "estimator": self._estimator,
            "X": lambda: taken(self._X),
            "y": lambda: taken(self._y),
            "metadata": metadata,
        }


class Tasks(FitTask):
    """The tree of tasks of one fit."""

    _contexts: dict[Labels, CallbackContext]
    _rounds: dict[Labels, Rounds]

    def begin(self, subproblems: Sequence[Subproblem]) -> None:
        """The fit begins."""
        self._contexts, self._rounds, several = {}, {}, len(subproblems) > 1
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
        """Report a problem's progress; False if a callback asks to stop."""
        return self._rounds[sub.labels].look(progress, model)

    def next_gap(self, sub: Subproblem, progress: FitProgress) -> float:
        """The relative gap at which a problem's next round ends."""
        return self._rounds[sub.labels].next_gap(progress)

    def end_problem(self, sub: Subproblem, model: Attributes) -> bool:
        """One problem has ended; False if a callback asks to stop the others."""
        rounds = self._rounds.pop(sub.labels)
        rounds.close(model)
        context = self._contexts.get(sub.labels)
        return context is None or not context.call_on_fit_task_end(**rounds.told, reconstruction_attributes=model)


class SearchTasks(FitTask):
    """The tree of a search: its paths along C, each a leaf, and the fit on all rows at the end."""

    _search: CallbackContext
    _lock: threading.Lock

    def begin(self, paths: int, refits: bool) -> None:
        """The search begins."""
        self._lock = threading.Lock()
        self._open(1 + refits, sequential=True)
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
    def refit(self, model: BaseEstimator) -> Iterator[None]:
        """Around the fit on all rows, whose tasks go below this one."""
        task = self._root.subcontext("refit")
        with task.propagate_callback_context(model):
            task.call_on_fit_task_begin(**self._told())
            yield
            task.call_on_fit_task_end(**self._told())
