"""What is run: methods, groups of data sets, experiments and their settings.

The paper's protocol ([SWAP14], "Experiments"): one versus one, RBF kernel, a start from 20 random rows (half of each
class), an absolute gap of 1e-6, samples of constant size for the toward vertex and 200 MB for kernel values (its
programs are based on those of CVM, which have that default). The paper states neither the size of a sample nor what
ends a sampled run, and this decides who is fast and who is accurate. So its protocol is run once for each of ``RULES``,
and each rule is the same for all methods:

- samples of 59 rows (with probability 0.95 one contains one of the best 5 %), drawn from all rows; one, three or seven
  in a row without a violator end the run;
- the rule of the program that the authors published: samples of 60 rows, and a tolerance that begins at 0.01 and is
  halved whenever a sample shows no violator, down to 1e-6; CVM draws its samples from the classes in turn, and outside
  of the core set;
- no samples: the toward vertex is the best of all rows, and a full pass certifies the gap.

After sampled runs no full pass is made, so the certified gap, which is reported with each run, can be far above 1e-6.
The second protocol, ours, searches every row and ends at a certified relative gap.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..solvers import SOLVERS
from ..state import Sampling
from .paper import published_accuracies
from .peers import PEERS
from .records import Run, Settings

METHODS = {"cvm": "CVM", "fw": "FW", "mfw": "MFW", "swap": "SWAP", "swap2": "SWAP-2o", "block": "block"}
FRANK_WOLFE = ("fw", "mfw", "swap", "swap2")
PAPER_METHODS = ("cvm", *FRANK_WOLFE)
NEWER = {name: name.replace("_", " ") for name in SOLVERS if name not in METHODS}
STEPS = tuple(name for name in SOLVERS if name not in ("fcfw", "cvm", "block"))  # that change two weights and a scale
TODAY = {**METHODS, **NEWER, **{name: peer.title for name, peer in PEERS.items()}}
GROUPS = {
    "web": tuple(f"w{k}a" for k in range(1, 9)),
    "adult": tuple(f"a{k}a" for k in range(1, 8)),
    "medium": ("letter", "pendigits", "usps", "reuters", "mnist"),
    "large": ("shuttle", "ijcnn1", "usps-ext", "kddcup10", "kddcup99"),
    "protein": ("protein",),
}
EVERY_SET = tuple(name for group in GROUPS.values() for name in group)
COMMON = {"start_size": 20, "cache_size": 200.0, "n_jobs": 1}


@dataclass(frozen=True)
class Experiment:
    """One setting for many data sets."""

    title: str
    settings: Settings  # parameters of SVC other than C, gamma, solver and seed
    sampling: Sampling | None = None  # of all methods but block, which searches every row
    cvm_sampling: Sampling | None = None  # where CVM draws its samples in another way
    methods: tuple[str, ...] = tuple(METHODS)
    data: tuple[str, ...] = EVERY_SET
    repeated: bool = True  # with seeds 0, 1, ...
    curves: bool = False  # whether the trace of the run is kept
    parameters_of: str | None = None  # the data set whose C and gamma are used for all; by default each has its own
    gamma_factor: float = 1.0  # with s the mean squared distance, gamma is 1 / (2 s) for rbf and 1 / s for poly

    def sampling_of(self, method: str) -> Sampling | None:
        """How a method looks for its toward vertex; None is all rows."""
        if method == "block":
            return None
        return self.cvm_sampling or self.sampling if method == "cvm" else self.sampling


ABSOLUTE = {"kernel": "rbf", "tol": 0.0, "eps": 1e-6}
RELATIVE = {"kernel": "rbf", "tol": 1e-2, "eps": 0.0}
UNIFORM = {f"paper-{count}": Sampling(size=59, with_active=False, trusted=count) for count in (1, 3, 7)}
LEVELS = Sampling(size=60, with_active=False, trusted=1, first_level=0.01)
CVM_LEVELS = replace(LEVELS, balanced=True, outside_active=True)
RULES = {
    "paper-1": "one empty sample",
    "paper-3": "three empty samples",
    "paper-7": "seven empty samples",
    "paper-levels": "levels of eps",
    "paper-full": "every row",
}
POLYNOMIAL_RULE = "paper-3"
EXPERIMENTS = {
    **{
        name: Experiment(f"The paper's protocol, ended by {RULES[name]}", ABSOLUTE, sampling, methods=PAPER_METHODS)
        for name, sampling in UNIFORM.items()
    },
    "paper-levels": Experiment(
        f"The paper's protocol, ended by {RULES['paper-levels']}", ABSOLUTE, LEVELS, CVM_LEVELS, PAPER_METHODS
    ),
    "paper-full": Experiment(f"The paper's protocol, {RULES['paper-full']}", ABSOLUTE),
    "relative": Experiment("Our protocol: every row, relative gap 0.01", RELATIVE),
    "polynomial": Experiment(
        f"Polynomial kernel, the paper's protocol, ended by {RULES[POLYNOMIAL_RULE]}",
        {"kernel": "poly", "degree": 2, "coef0": 0.0, "tol": 0.0, "eps": 1e-6},
        UNIFORM[POLYNOMIAL_RULE],
        methods=(*FRANK_WOLFE, "block"),
        data=(*GROUPS["web"], "shuttle", "reuters"),
        gamma_factor=2.0,
    ),
    "convergence": Experiment(
        "Convergence, every row",
        {**RELATIVE, "tol": 1e-7, "max_iter": 200_000},
        data=("a1a", "w1a"),
        repeated=False,
        curves=True,
    ),
    "rows": Experiment(
        "Iterations against the number of rows, every row",
        {**ABSOLUTE, "eps": 1e-4},
        methods=FRANK_WOLFE,
        data=GROUPS["web"],
        parameters_of="w8a",
    ),
    "today": Experiment(
        "The paper's methods, newer ones and other packages: every row, relative gap 0.001",
        {"kernel": "rbf", "tol": 1e-3, "eps": 0.0},
        methods=tuple(TODAY),
    ),
}
EXPERIMENTS["published"] = replace(
    EXPERIMENTS["relative"],
    title="Our protocol with C and gamma that others published",
    methods=("block",),
    data=tuple(name for name, known in published_accuracies().items() if known.gamma),
)

Parameters = dict[str, dict[str, Any]]  # of each data set: C, gamma, and the method that tuned them
Key = tuple[str, str, str, int, str]  # experiment, data, method, seed, parameters
Cell = tuple[str, str, str, str]  # a key without the seed
NOT_IDENTIFYING = ("random_state", "max_time")  # the seed is in the key already


@dataclass(frozen=True)
class Trial:
    """A run to make: an experiment on a data set with a method and a seed, limited to ``budget`` CPU seconds."""

    experiment: str
    data: str
    method: str
    seed: int
    C: float
    gamma: float
    budget: float

    @cached_property
    def key(self) -> Key:
        """What identifies the run, apart from its time limit."""
        return self.experiment, self.data, self.method, self.seed, identifying(self.parameters())

    @property
    def cell(self) -> Cell:
        """What repetitions share."""
        return without_seed(self.key)

    def settings(self) -> Settings:
        """The parameters of ``SVC``, or of the estimator of another package."""
        own: Settings = {"C": self.C, "gamma": self.gamma, "max_time": self.budget}
        if self.method in PEERS:
            return {**own, **PEERS[self.method].settings}
        experiment = EXPERIMENTS[self.experiment]
        own |= {"solver": self.method, "random_state": self.seed, "sampling": experiment.sampling_of(self.method)}
        return {**COMMON, **experiment.settings, **own}

    def parameters(self) -> Settings:
        """The settings as JSON."""
        settings = self.settings()
        sampling = settings.get("sampling")
        return {**settings, "sampling": sampling and dict(vars(sampling))}


def key_of(run: Run) -> Key:
    """The key of a line."""
    return run["experiment"], run["data"], run["method"], run["seed"], identifying(run["parameters"])


def without_seed(key: Key) -> Cell:
    """The part of a key that repetitions share."""
    return (*key[:3], key[4])


def identifying(parameters: Settings) -> str:
    """The parameters that make a run another run, as text."""
    return json.dumps({k: v for k, v in parameters.items() if k not in NOT_IDENTIFYING}, sort_keys=True)


def parameters_for(name: str, data: str, parameters: Parameters) -> tuple[float, float | None]:
    """C and gamma of a trial; gamma is None if they were not tuned."""
    if name == "published":
        known = published_accuracies()[data]
        return known.C or 1.0, known.gamma
    experiment = EXPERIMENTS[name]
    found = parameters.get(experiment.parameters_of or data)
    return (1.0, None) if found is None else (found["C"], experiment.gamma_factor * found["gamma"])


def data_named(words: Sequence[str]) -> tuple[str, ...]:
    """The data sets of groups and single names."""
    found = [name for word in named("--only", words, (*GROUPS, *EVERY_SET)) for name in GROUPS.get(word, (word,))]
    return tuple(dict.fromkeys(found))


def named(option: str, words: Sequence[str], known: Iterable[str]) -> tuple[str, ...]:
    """The words, which must all be known."""
    known = tuple(known)
    for word in words:
        if word not in known:
            raise ValueError(f"{option} {word}: use some of {', '.join(known)}, separated by commas")
    return tuple(words)
