"""A fit while it runs: its clock, what stops it, who watches it, and the runs of its problems."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Generic, Protocol

import numpy as np
from sklearn.utils import check_random_state

from .._core import Stopped, StopToken
from ..arrays import Matrix
from ..gram import Gram
from ..kernels import Kernel
from ..problems import Quadratic
from ..result import Result
from ..run import Observer, Run
from ..solvers import make_solver
from ..state import Sampling, State, open_state
from ..stopping import AnyOf, Progress, Seconds, Stop, make_stop
from ..writing import PathLike
from .callbacks import Tasks
from .checkpoint import Checkpoint, CheckpointFile, as_checkpoint
from .clock import Clock, TimeBudget
from .continuation import GramIdentity, Kept, KeptRun, SolverSettings, fingerprint, kernel_identity, problem_fingerprint
from .interrupts import Interrupts
from .progress import Callback, Observers, checked_callbacks
from .results import Results
from .sharing import shared_type
from .subproblems import Labels, Solution, Subproblem
from .whole import SMALL, solve_whole
from .workers import Cancelled, Found, Job, Planned, side_by_side, solve_each, thread_limit, workers_for

Reader = Callable[[Planned, Gram, Solution], Mapping[str, object]]  # attributes of an estimator fitted to one problem


class FitSettings(Protocol):
    """The parameters of an estimator that a session depends on."""

    solver: str
    tol: float
    eps: float
    max_iter: int
    max_time: float | None
    start_size: int
    sampling: int | Sampling | None
    cache_size: float | None
    warm_start: bool
    checkpoint: PathLike | Checkpoint | None
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    on_interrupt: str
    callbacks: Callback | Iterable[Callback] | None
    verbose: int


class Session:
    """What all runs of one fit share. The constructor refuses settings that are out of range.

    ``kept`` is what the last fit left for a warm start; after ``solve`` it is what this one leaves for the next.
    ``grows``: it does so even without ``warm_start``, for the next batch of rows.
    """

    def __init__(
        self,
        settings: FitSettings,
        *,
        clock: Clock = time.perf_counter,
        tasks: Tasks | None = None,
        kept: Kept | None = None,
        grows: bool = False,
    ) -> None:
        self.settings, self.clock, self.began = settings, clock, clock()
        self.continues = settings.warm_start or grows
        self.tasks, self.kept = tasks, kept if self.continues else None
        self.threads = thread_limit(settings.n_jobs)
        self.token = StopToken()
        self.interrupts = Interrupts(settings.on_interrupt, self.token)
        self.rules = make_stop(settings.tol, settings.eps, settings.max_iter, None)
        self.max_time = None if settings.max_time is None else Seconds(settings.max_time).limit
        self.solver = make_solver(settings.solver)
        self.callbacks = checked_callbacks(settings.callbacks)
        self.checkpoint = None if settings.checkpoint is None else as_checkpoint(settings.checkpoint)
        self.solver_settings: SolverSettings = (settings.solver, settings.sampling)
        self.cache_counts: dict[str, int] = {}
        self._identity: GramIdentity

    def open_gram(
        self, kernel: Kernel, X: Matrix, groups: list[np.ndarray], dtype: np.dtype, plan: Sequence[Subproblem] = ()
    ) -> Gram:
        """The Gram of the last fit if it is the same, else a new one, for the problems of this plan."""
        settings = self.settings
        if self.continues:
            self._identity = self._identity_of(kernel, X, groups, dtype)
        if self.kept is not None and self.kept.serves(self._identity):
            return self.kept.gram
        gram = Gram(kernel, X, groups=groups, dtype=dtype, cache_size=settings.cache_size, n_threads=self.threads)
        if len(plan) < 2 or not self.solver.takes_whole or settings.sampling is not None:
            return gram
        shared = shared_type(gram, [sub.rows for sub in plan])
        try:
            return gram if shared is None else gram.with_dots(shared, self.token_until(self.end))
        except Stopped:  # no time for all of them
            return gram

    def rough(self, tol: float, part: float) -> Session:
        """The same session for a fit that prepares its own: to this gap at most, in a part of its time."""
        rough, settings = copy.copy(self), self.settings
        rough.rules = make_stop(max(tol, settings.tol), settings.eps, settings.max_iter, None)
        rough.max_time = None if self.max_time is None else part * self.max_time
        return rough

    def _identity_of(self, kernel: Kernel, X: Matrix, groups: list[np.ndarray], dtype: np.dtype) -> GramIdentity:
        rows = fingerprint(*(group.astype(np.int32) for group in groups)), fingerprint(X)
        return kernel_identity(kernel, X), dtype, self.settings.cache_size, self.threads, *rows

    def run(self, state: State, stop: Stop, observers: Sequence[Observer] = (), remembers: bool = False) -> Run:
        """A run by the clock of this session, which the session can stop."""
        return Run(
            state, self.solver, stop, observers=observers, clock=self.clock, token=self.token, remembers=remembers
        )

    @property
    def end(self) -> float:
        """The time of the clock at which the fit has to end."""
        return np.inf if self.max_time is None else self.began + self.max_time

    def token_until(self, end: float) -> StopToken:
        """A token that stops computations at this time of the clock as well."""
        token = self.token.sharing()
        token.set_seconds_left(end - self.clock())
        return token

    def each(self, jobs: Sequence[Job], workers: int, do: Callable[[Job, Cancelled], Found]) -> list[Found]:
        """What ``do`` makes of each job, several at a time."""
        return side_by_side(jobs, workers, do, self.token)

    def solve(self, gram: Gram, plan: Sequence[Planned], read: Reader[Planned], estimator: str) -> Results:
        """Run each problem to its certified end.

        ``read`` makes a model of one problem for callbacks that ask for it; ``estimator`` names it in checkpoints.
        """
        file = self._checkpoint_file(gram, plan, estimator)
        if self.tasks:
            self.tasks.begin(plan)
        runs = PlanRuns(self, gram, plan, read, file)
        results, self.cache_counts = runs.solve()
        if self.continues:
            self.kept = Kept(gram, self._identity, self.solver_settings, runs.ended)
        return results

    def _checkpoint_file(self, gram: Gram, plan: Sequence[Subproblem], estimator: str) -> CheckpointFile | None:
        if self.checkpoint is None:
            return None
        identity = {
            "estimator": estimator,
            "rows": fingerprint(gram.X),
            "kernel": kernel_identity(gram.kernel, gram.X),
            "precision of kernel values": str(gram.dtype),
            "solver": repr(self.solver_settings),
            plan[0].strength: repr(float(plan[0].C)),
            "labels or weights": fingerprint(*(problem_fingerprint(sub.on(gram)) for sub in plan)),
        }
        return CheckpointFile(self.checkpoint, identity, plan)


class PlanRuns(Generic[Planned]):
    """The runs of all problems of a plan."""

    def __init__(
        self,
        session: Session,
        gram: Gram,
        plan: Sequence[Planned],
        read: Reader[Planned],
        file: CheckpointFile | None,
    ) -> None:
        settings, rows = session.settings, [sub.rows for sub in plan]
        self._session, self._gram, self._plan, self._read, self._file = session, gram, plan, read, file
        # a cache that is kept for the next fit, or for the next output, serves all problems
        shares = session.continues or plan[0].alike
        self._workers = 1 if shares else workers_for(gram, rows, session.threads)
        self._budget = TimeBudget(session.max_time, rows, self._workers, session.clock, session.began)
        self._observers = Observers(session.callbacks, settings.verbose, len(plan), session.tasks)
        self._seeds: dict[Labels, int] = {}
        self.ended: dict[Labels, KeptRun] = {}

    def solve(self) -> tuple[Results, dict[str, int]]:
        """The certified ends of all runs, and the counts of the caches."""
        with self._session.interrupts, self._observers:
            try:
                found = Results([-1] * len(self._plan)) if self._is_watched() else self._solve_whole()
                others = found.unsolved
                self._seeds = self._draw_seeds() if others else {}
                plan = [self._plan[place] for place in others]
                results, counts = solve_each(self._gram, plan, self._workers, self._solve, self._session.token)
                for place, result in zip(others, results, strict=True):
                    found.put(place, result)
                return found, counts
            finally:
                if self._file:
                    self._file.close()

    def _draw_seeds(self) -> dict[Labels, int]:
        """One for each problem of the plan, whether it needs a run or not: a run must not depend on the others."""
        random = check_random_state(self._session.settings.random_state)
        if self._plan[0].alike:
            return dict.fromkeys((sub.labels for sub in self._plan), random.randint(2**31))
        return {sub.labels: random.randint(2**31) for sub in self._plan}

    def _is_watched(self) -> bool:
        """Whether somebody wants to see or keep more of a run than its result."""
        settings = self._session.settings
        remembers = self._session.continues or self._file is not None
        limited = settings.sampling is not None or settings.max_iter != -1
        return remembers or limited or self._observers.watch() or not self._session.solver.takes_whole

    def _solve_whole(self) -> Results:
        """Results of the problems that the core can solve in one call."""
        session = self._session
        found = solve_whole(self._gram, self._plan, session.rules, session.token_until(session.end))
        if session.max_time is None and not self._observers.are_told():  # there may be thousands of problems
            return found
        for place in set(range(len(found))).difference(found.unsolved):
            self._budget.share(self._plan[place].rows)  # none of it is needed any more
            self._observers.finished(self._plan[place], found[place], dict)
        return found

    def _solve(self, gram: Gram, sub: Planned, cancelled: Cancelled) -> Result:
        session, problem, rng = self._session, sub.on(gram), np.random.default_rng(self._seeds[sub.labels])
        state = open_state(problem, sampling=session.settings.sampling, seed=int(rng.integers(2**63)))
        read = partial(self._attributes, sub, gram)
        observers = self._observers.of(sub, read) + (self._file.observers(sub) if self._file else [])
        remembers = session.continues or self._file is not None
        run = session.run(state, self._stop(sub, problem, cancelled), observers, remembers)
        self._observers.began(sub, problem)
        self._begin(run, sub, problem, rng)
        result = run.finish(exact_below=SMALL)
        if run.last_standing:
            self.ended[sub.labels] = KeptRun(problem, run.state, run.last_standing)
        if self._file:
            self._file.ended(sub, run)
        self._observers.finished(sub, result, partial(read, run))
        return result

    def _stop(self, sub: Planned, problem: Quadratic, cancelled: Cancelled) -> Stop:
        own = sub.stop(problem)
        rules = (self._session.rules, self._budget.share(sub.rows), partial(self._asked_to_stop, cancelled))
        return AnyOf.of(*rules, own) if own else AnyOf.of(*rules)

    def _asked_to_stop(self, cancelled: Cancelled, progress: Progress) -> str | None:
        return cancelled(progress) or self._session.interrupts(progress) or self._observers(progress)

    def _begin(self, run: Run, sub: Planned, problem: Quadratic, rng: np.random.Generator) -> None:
        """Continue from the last fit or a checkpoint as far as they are of this problem, or start."""
        kept = self._session.kept
        exact = kept.exactly(sub, problem, self._session.solver_settings) if kept else None
        if exact:
            run.go_on(exact.standing, exact.state)
        elif not (self._file and self._file.go_on(sub, run)):
            run.begin(kept.weights(sub, problem) if kept else None, self._session.settings.start_size, rng)

    def _attributes(self, sub: Planned, gram: Gram, run: Run) -> Mapping[str, object]:
        return self._read(sub, gram, run.state)
