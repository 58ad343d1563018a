"""LIBSVM by its own Python binding; its node lists of training rows are built untimed, those of test rows timed."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ._base import Competitor


class Libsvm(Competitor):
    name = "libsvm"
    module = "libsvm"
    distribution = "libsvm-official"

    def make(self) -> Any:
        """Its parameters; training replaces them by the model."""
        from libsvm.svmutil import svm_parameter

        return svm_parameter(f"-t 2 -c {self.C!r} -g {self.gamma!r} -q")

    def convert(self, X: Any, y: np.ndarray) -> tuple[Any, Any]:
        from libsvm.svmutil import svm_problem

        return svm_problem(np.asarray(y, np.float64), sp.csr_matrix(X)), None

    def fit(self, X: Any, y: Any) -> None:
        from libsvm.svmutil import svm_train

        self.model = svm_train(X, self.model)

    def predict(self, X: Any) -> np.ndarray:
        from libsvm.svmutil import svm_predict

        return np.array(svm_predict([], sp.csr_matrix(X), self.model, "-q")[0])

    def support_size(self) -> int:
        return int(self.model.get_nr_sv())
