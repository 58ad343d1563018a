"""A fit while it runs: what ends its problems, who watches them, and where they are kept."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from .._core import StopToken
from ..gram import Gram
from ..problems import Quadratic
from ..solve import Callback, Result, Run
from ..solvers import make_solver
from ..state import open_state
from ..stopping import Progress, Stop, make_stop
from .interrupts import Interrupts
from .memory import CheckpointFile, Kept
from .observing import Observers
from .subproblems import Cancelled, SharedTime, Subproblem, solve_each, workers_for

if TYPE_CHECKING:
    from .machine import KernelMachine

SMALL = 128  # rows: such a problem is solved to the limit of double precision in milliseconds


class Fitting:
    """The runs of all problems of one fit. ``ended`` has them once they are over."""

    def __init__(
        self, machine: KernelMachine, subproblems: Sequence[Subproblem], kept: Kept | None, file: CheckpointFile | None
    ) -> None:
        self._machine, self._subproblems, self._kept, self._file = machine, subproblems, kept, file
        self._observers = Observers(machine.callbacks, machine.verbose, len(subproblems), machine._tasks)
        self._token = StopToken()
        self._interrupts = Interrupts(machine.on_interrupt, self._token)
        self._stop = make_stop(machine.tol, machine.eps, machine.max_iter, None)
        random = check_random_state(machine.random_state)
        self._seeds = {sub.labels: random.randint(2**31) for sub in subproblems}
        self.ended: dict[tuple[Any, ...], Run] = {}

    def solve(self, gram: Gram) -> tuple[list[Result], dict[str, int]]:
        """The certified ends of all runs, and the counts of the caches."""
        machine, rows = self._machine, {sub.labels: sub.rows for sub in self._subproblems}
        # a kept cache serves all problems
        workers = 1 if machine.warm_start else workers_for(gram, list(rows.values()), machine._threads())
        self._time_left = SharedTime(machine.max_time, rows, workers, machine._clock, machine._began)
        with self._interrupts, self._observers:
            try:
                return solve_each(gram, self._subproblems, workers, self._solve, self._token)
            finally:
                if self._file:
                    self._file.close()

    def _solve(self, gram: Gram, sub: Subproblem, cancelled: Cancelled) -> Result:
        machine, problem, rng = self._machine, sub.on(gram), np.random.default_rng(self._seeds[sub.labels])
        state = open_state(problem, sampling=machine.sampling, seed=int(rng.integers(2**63)))
        rules = self._rules(sub, problem, cancelled)
        run = Run(state, make_solver(machine.solver), rules, clock=machine._clock, token=self._token)
        run.remembers = machine.warm_start or self._file is not None
        model = partial(self._attributes, sub, problem, run)
        self._observers.began(sub, problem)
        self._begin(run, sub, problem, rng)
        run.callback = _joined(
            self._observers.watch(sub, run, model) if self._observers.wanted else None,
            partial(self._file.note, sub, run) if self._file else None,
        )
        result = run.finish(exact_below=SMALL)
        self.ended[sub.labels] = run
        if self._file:
            self._file.ended(sub, run)
        self._observers.finished(sub, result, model)
        return result

    def _rules(self, sub: Subproblem, problem: Quadratic, cancelled: Cancelled) -> Stop:
        rules = self._stop | self._time_left.share(sub.labels) | cancelled | self._interrupts | self._observers
        return rules | sub.stop(problem) if sub.stop else rules

    def _begin(self, run: Run, sub: Subproblem, problem: Quadratic, rng: np.random.Generator) -> None:
        """Let a run go on from the last fit or a checkpoint as far as they are of this problem, or start."""
        kept = self._kept
        exact = kept.exactly(sub, problem, self._machine._solver_settings()) if kept else None
        if exact:
            run.state, memory = exact
            run.go_on(memory)
        elif not (self._file and self._file.go_on(sub, run)):
            run.begin(kept.weights(sub, problem) if kept else None, self._machine.start_size, rng)

    def _attributes(self, sub: Subproblem, problem: Quadratic, run: Run) -> dict[str, Any] | None:
        """What makes a copy of the estimator the model of one problem, with the weights that its run has now."""
        if sub.fitted is None:
            return None
        model = copy.copy(self._machine)
        sub.fitted(model, problem, run.state)
        return model.__dict__


def _joined(*callbacks: Callback | None) -> Callback | None:
    """One callback that asks all, each time; False of any ends the run."""
    some = [callback for callback in callbacks if callback]

    def ask(progress: Progress) -> bool:
        answers = [callback(progress) for callback in some]
        return not any(answer is False for answer in answers)

    return ask if some else None
