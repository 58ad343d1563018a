"""
Fewer support vectors: accuracy and gap
=======================================

An L2-SVM has many support vectors of small weight, and prediction takes time for each. ``reduce_support`` keeps a
given number and optimizes their coefficients again over all training rows. The gap bounds the cost: it is certified
for the whole problem. Keeping the largest weights and fitting again on their rows alone is the obvious way, and
fails: the largest weights belong to the rows that are hardest to get right, here those with a wrong label.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from swapsvm import SVC, reduce_support

X, y = make_classification(2400, 12, n_informative=6, n_clusters_per_class=4, flip_y=0.1, random_state=0)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = SVC(C=2, gamma=0.04).fit(X, y)
by_weight = model.support_[np.argsort(-np.abs(model.dual_coef_[0]))]

sizes, scores, alone, gaps = [6, 12, 25, 50, 100, 200], [], [], []
for size in sizes:
    small = reduce_support(model, X, y, max_vectors=size)
    largest = SVC(C=2, gamma=0.04).fit(X[by_weight[:size]], y[by_weight[:size]])
    scores.append(100 * small.score(X_test, y_test))
    alone.append(100 * largest.score(X_test, y_test))
    gaps.append(small.relative_gap_)
    print(f"{size:4} vectors: accuracy {scores[-1]:.1f} %, relative gap {gaps[-1]:.2g}")

full = 100 * model.score(X_test, y_test)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
left.axhline(full, color="#5b6575", linestyle=":", linewidth=1)
left.annotate(f"all {len(model.support_)} support vectors", (sizes[0], full), va="bottom", color="#5b6575")
left.semilogx(sizes, scores, "o-", color="#0072B2", label="reduce_support")
left.semilogx(sizes, alone, "s--", color="#D55E00", label="largest weights, fitted alone")
left.set(ylabel="test accuracy, %", ylim=(0, 100))
left.legend(loc="lower right")
right.loglog(sizes, gaps, "o-", color="#0072B2")
right.axhline(model.tol, color="#5b6575", linestyle=":", linewidth=1)
right.annotate("tol of the fit", (sizes[0], model.tol), va="bottom", color="#5b6575")
right.set(ylabel="certified relative gap")
for axes in (left, right):
    axes.set_xticks(sizes, sizes)
    axes.minorticks_off()
    axes.set(xlabel="support vectors kept")
plt.show()
