"""ThunderSVM on the CPU; computes in float32."""

from __future__ import annotations

from typing import Any

from ._base import Competitor


class ThunderSVM(Competitor):
    name = "thundersvm"
    module = "thundersvm"
    distribution = "thundersvm-cpu"

    def make(self) -> Any:
        from thundersvm import SVC

        return SVC(kernel="rbf", C=self.C, gamma=self.gamma, n_jobs=self.threads, **self.options)
