"""
Trouble with scales: the same data, raw and scaled, and extreme gammas
======================================================================

Distances add up over the columns. In the wine data the last one, proline, is in the hundreds, most others are of
order 1. With raw data a kernel depends on proline alone. A gamma that is too small makes all rows alike; with one
that is too large each row resembles only itself. ``ScalingWarning`` reports clear cases (filled markers).
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from swapsvm import SVC, ScalingWarning

X, y = load_wine(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
scaler = StandardScaler().fit(X)
data = {"raw": (X, X_test), "scaled": (scaler.transform(X), scaler.transform(X_test))}
gammas = 10.0 ** np.arange(-10, 5)

fig, ax = plt.subplots(figsize=(8, 4.6))
for (name, (train, test)), color in zip(data.items(), ("#D55E00", "#0072B2"), strict=True):
    scores, said = [], []
    for gamma in gammas:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ScalingWarning)
            scores.append(100 * SVC(C=10, gamma=gamma).fit(train, y).score(test, y_test))
        said.append("; ".join(str(warning.message) for warning in caught))
    print(f"{name}, gamma={gammas[-1]:g}: {said[-1] or 'nothing to say'}")
    warned = np.array([bool(message) for message in said])
    ax.semilogx(gammas, scores, color=color, label=name)
    ax.scatter(gammas, scores, facecolors=np.where(warned, color, "white"), edgecolors=color, zorder=3)
ax.axhline(100 * np.bincount(y_test).max() / len(y_test), color="#5b6575", linestyle=":")
ax.annotate("all in the largest class", (gammas[0], 35.5), color="#5b6575")
ax.scatter([], [], color="#5b6575", label="with a ScalingWarning")
ax.set(xlabel="gamma", ylabel="test accuracy, %", ylim=(30, 103))
ax.legend(loc="upper left")
plt.show()
