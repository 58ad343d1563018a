"""scikit-learn-intelex's SVC (oneDAL)."""

from __future__ import annotations

from typing import Any

from ._base import Competitor


class IntelexSVC(Competitor):
    name = "intelex"
    module = "sklearnex"
    distribution = "scikit-learn-intelex"

    def make(self) -> Any:
        from daal4py import daalinit
        from sklearnex.svm import SVC

        daalinit(self.threads)
        return SVC(kernel="rbf", C=self.C, gamma=self.gamma, **self.options)
