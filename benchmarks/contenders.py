"""Classifiers with a limited number of vectors, and exact ones beside them.

Approximations solve our objective in the span of k landmarks: Nystroem's features with a linear SVM of the same weight
of the loss (``LinearSVC`` with C / 2: ours is C / 2 times the squared hinge), or averaged SGD on the hinge loss with
alpha = 1 / (C m). SGD transforms rows in parts if all features need more than 2 GiB.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

EPOCHS = 5
IN_MEMORY = 2**31  # bytes of features
PART = 20_000  # rows
GAP = 1e-2  # relative, of our models: ten times the default of SVC, and what the goal for 10^6 rows asks for


@dataclass(frozen=True)
class Setting:
    """C and gamma, the number of vectors (None: all), threads."""

    C: float
    gamma: float
    vectors: int | None
    threads: int


class StreamedSGD:
    """Nystroem's features, transformed in parts, and averaged SGD over them."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def fit(self, X: np.ndarray, y: np.ndarray) -> StreamedSGD:
        from sklearn.linear_model import SGDClassifier

        self.features = nystroem(self.setting).fit(X)
        alpha = 1.0 / (self.setting.C * len(y))
        self.model = SGDClassifier(alpha=alpha, average=True, random_state=0, n_jobs=self.setting.threads)
        order, labels = np.random.default_rng(0).permutation(len(y)), np.unique(y)
        parts = np.array_split(order, max(1, -(-len(y) // PART)))
        kept = 8 * len(y) * (self.setting.vectors or 0) <= IN_MEMORY
        known = [self.features.transform(X[part]) for part in parts] if kept else None
        for _ in range(EPOCHS):
            for k, part in enumerate(parts):
                self.model.partial_fit(known[k] if known else self.features.transform(X[part]), y[part], labels)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict(self.features.transform(X))


class Reduced:
    """The full model, then ``reduce_support`` to the number of vectors; both are part of the fit."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def fit(self, X: Any, y: np.ndarray) -> Any:
        from swapsvm.reduction import reduce_support

        full = exact(self.setting).fit(X, y)
        few = self.setting.vectors
        self.model = full if few is None or few >= len(full.support_) else reduce_support(full, X, y, max_vectors=few)
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["model"], name)


def nystroem(setting: Setting) -> Any:
    from sklearn.kernel_approximation import Nystroem

    return Nystroem(gamma=setting.gamma, n_components=setting.vectors, random_state=0)


def nystroem_linear(setting: Setting) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    return make_pipeline(nystroem(setting), LinearSVC(C=setting.C / 2, random_state=0))


def exact(setting: Setting) -> Any:
    from swapsvm import SVC

    return SVC(C=setting.C, gamma=setting.gamma, tol=GAP, n_jobs=setting.threads)


def budgeted(setting: Setting) -> Any:
    from swapsvm import SVC

    return SVC(C=setting.C, gamma=setting.gamma, tol=GAP, n_jobs=setting.threads, max_vectors=setting.vectors)


def intelex(setting: Setting) -> Any:
    from daal4py import daalinit
    from sklearnex.svm import SVC

    daalinit(setting.threads)
    return SVC(C=setting.C, gamma=setting.gamma)


CONTENDERS: dict[str, Callable[[Setting], Any]] = {
    "SVC": exact,
    "SVC(max_vectors)": budgeted,
    "reduce_support": Reduced,
    "Nystroem + LinearSVC": nystroem_linear,
    "Nystroem + SGD": StreamedSGD,
    "intelex": intelex,
}
WITHOUT_LIMIT = ("SVC", "intelex")  # the number of vectors does not apply


def is_available(name: str) -> bool:
    """Whether the contender is installed, and knows the number of vectors."""
    if name == "SVC(max_vectors)":
        from swapsvm import SVC

        return "max_vectors" in SVC().get_params()
    return name != "intelex" or find_spec("sklearnex") is not None
