"""Forks and threads: results do not depend on other computations, and nothing waits forever."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from swapsvm import SVC

from . import work
from .children import Ended, in_child
from .outcome import Outcome
from .problems import power

SECONDS = 60.0


class Threads:
    """One scene with several threads or processes."""

    name = "threads"
    patience = 200.0

    def prepare(self) -> None:
        work.svc(50)(max_iter=2, n_jobs=1)

    def trial(self, rng: np.random.Generator) -> Outcome:
        kind = str(rng.choice(list(SCENES)))
        m, seed = int(power(rng, 2, 3.4)), int(rng.integers(1000))
        return judged_scene(kind, in_child(lambda: SCENES[kind](m, seed), SECONDS), f"{m} rows, seed {seed}")

    def material(self, rng: np.random.Generator) -> Outcome:
        return Outcome("threads", "")


PART = Threads()


def judged_scene(kind: str, ended: Ended, about: str) -> Outcome:
    """A scene returns an empty string, or what is wrong."""
    if ended.status == "returned":
        return Outcome(kind, "wrong" if ended.value else "held", f"{ended.value}; {about}" if ended.value else "")
    verdict = "hang" if ended.status == "hang" else "error" if ended.status == "raised" else "crash"
    return Outcome(kind, verdict, f"{ended}; {about}")


def fit(m: int, seed: int = 0, **options: Any) -> list[float]:
    """The coefficients of a model, to be compared bit for bit."""
    settings = {"n_jobs": 2, "C": 10.0, "tol": 1e-3, "random_state": seed} | options
    return SVC(**settings).fit(work.rows(m), work.labels(m, 2 + seed % 2)).dual_coef_.tolist()


def fork_after_threads(m: int, seed: int) -> str:
    """A child of a process that has used threads fits as its parent does."""
    expected = fit(m, seed)
    ended = in_child(lambda: fit(m, seed), SECONDS / 2)
    return "" if ended.status == "returned" and ended.value == expected else f"the forked child: {str(ended)[:200]}"


def processes(method: str, m: int, seed: int) -> str:
    """Workers of a pool fit as this process does."""
    expected = fit(m, seed)
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.starmap_async(fit, [(m, seed)] * 3).get(SECONDS / 2)
    return "" if all(coef == expected for coef in found) else "a worker's model differs"


def at_once(m: int, seed: int) -> str:
    """Several threads fit at the same time, each as if it were alone."""
    expected = [fit(m + k, seed + k) for k in range(4)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: fit(m + k, seed + k), range(4)))
    return "" if found == expected else "a model that was fitted beside others differs"


def one_interrupted(m: int, seed: int) -> str:
    """Ctrl-C ends the fit of the main thread; fits in other threads continue to their ends."""
    expected = fit(m, seed, tol=1e-5)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(fit(m, seed, tol=1e-5))) for _ in range(2)]
    for thread in threads:
        thread.start()
    threading.Thread(target=_press, args=(0.3,)).start()
    main = SVC(C=1e4, gamma=0.02, on_interrupt="keep", max_time=20.0, **work.ENDLESS)
    main.fit(work.rows(2000), work.labels(2000))
    for thread in threads:
        thread.join()
    if main.stop_reason_ != "interrupted":
        return f"the interrupted fit ended by {main.stop_reason_!r}"
    return "" if found == [expected] * 2 else "a fit in another thread was disturbed"


def _press(seconds: float) -> None:
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGINT)


SCENES = {
    "fork after threads": fork_after_threads,
    "multiprocessing fork": lambda m, seed: processes("fork", m, seed),
    "multiprocessing spawn": lambda m, seed: processes("spawn", m, seed),
    "threads at once": at_once,
    "one interrupted": one_interrupted,
}
