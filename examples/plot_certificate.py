"""
A certificate at work: the same fit under several time limits
=============================================================

A fit that runs out of ``max_time`` still gives a model: its weights are feasible, and its gap bounds the distance
from the optimum. The gap is recomputed in double precision after the limit. Test accuracy converges long before the
gap does.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from swapsvm import SVC, ConvergenceWarning

X, y = make_classification(3000, 20, n_informative=12, flip_y=0.02, class_sep=0.6, random_state=0)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
warnings.simplefilter("ignore", ConvergenceWarning)  # stopped by max_time, as wanted

seconds, gaps, scores = 0.002 * 2.0 ** np.arange(9), [], []
for limit in seconds:
    model = SVC(C=8, gamma=0.03, solver="swap2", tol=1e-5, max_time=limit, n_jobs=1).fit(X, y)
    gaps.append(model.relative_gap_)
    scores.append(100 * model.score(X_test, y_test))
    print(f"max_time={limit:.3f}: {model.stop_reason_:8} relative gap {gaps[-1]:.1e}, accuracy {scores[-1]:.1f} %")

fig, (top, bottom) = plt.subplots(2, 1, figsize=(8, 5.6), sharex=True)
top.loglog(seconds, gaps, "o-", color="#0072B2")
top.axhline(1e-3, color="#5b6575", linestyle=":")
top.annotate("default tol", (seconds[-1], 1e-3), ha="right", va="bottom", color="#5b6575")
top.set(ylabel="certified relative gap")
bottom.semilogx(seconds, scores, "o-", color="#D55E00")
bottom.set(xlabel="max_time, seconds", ylabel="test accuracy, %")
plt.show()
