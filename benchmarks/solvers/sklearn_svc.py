"""scikit-learn's SVC: LIBSVM inside, one thread."""

from __future__ import annotations

from typing import Any

from ._base import Competitor


class SklearnSVC(Competitor):
    name = "scikit-learn"
    module = "sklearn"
    distribution = "scikit-learn"

    def make(self) -> Any:
        from sklearn.svm import SVC

        return SVC(kernel="rbf", C=self.C, gamma=self.gamma, **self.options)
