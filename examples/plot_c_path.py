"""
A path along C, warm and cold
=============================

The weights for one C are feasible for every other C, so a fit can start from the solution for a neighbouring C.
``warm_start=True`` does that. Both paths reach the same gap at each C; the warm one needs about half of the
iterations, because it starts closer to the solution.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from swapsvm import SVC

X, y = make_classification(1600, 20, n_informative=10, flip_y=0.05, class_sep=0.7, random_state=1)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
Cs = 2.0 ** np.arange(-4, 8)

warm = SVC(gamma=0.04, solver="swap2", warm_start=True)
scores, supports, iterations = [], [], []
for C in Cs:
    warm.set_params(C=C).fit(X, y)
    cold = SVC(gamma=0.04, solver="swap2", C=C).fit(X, y)
    scores.append([warm.score(X, y), warm.score(X_test, y_test)])
    supports.append(len(warm.support_))
    iterations.append([cold.n_iter_[0], warm.n_iter_[0]])

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2))
for score, name, colour in zip(np.transpose(scores), ("training", "test"), ("#56B4E9", "#D55E00"), strict=True):
    left.semilogx(Cs, 100 * score, "o-", color=colour, label=name, base=2)
left.set(xlabel="C", ylabel="accuracy, %", title=f"Support vectors: {supports[0]} to {supports[-1]} of {len(X)}")
for total, name, colour in zip(np.cumsum(iterations, axis=0).T, ("cold", "warm"), ("#8a93a3", "#009E73"), strict=True):
    right.semilogx(Cs, total, "o-", color=colour, label=name, base=2)
right.set(xlabel="C", title="Iterations so far")
left.legend()
right.legend()
plt.show()
