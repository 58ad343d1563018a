"""
Decision boundary and support vectors
=====================================

Two half moons. The thick line is the boundary, the thin ones are the margins at -1 and +1. The area of a circle is
the weight of its support vector: with the squared hinge loss a weight is C times the distance by which a row violates
its margin, so rows far on the wrong side have the largest circles.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from swapsvm import SVC

X, y = make_moons(300, noise=0.2, random_state=0)
model = SVC(C=4, gamma=2.0).fit(X, y)
print(f"{len(model.support_)} of {len(X)} rows are support vectors, relative gap {model.relative_gap_:.1e}")

across, up = np.meshgrid(np.linspace(-1.9, 2.9, 240), np.linspace(-1.4, 1.9, 200))
decision = model.decision_function(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)

fig, ax = plt.subplots(figsize=(8, 5.2))
ax.contourf(across, up, np.clip(decision, -2, 2), levels=np.linspace(-2, 2, 17), cmap="RdBu_r", alpha=0.35)
ax.contour(across, up, decision, levels=[-1, 0, 1], colors="#1c2330", linewidths=[0.8, 2, 0.8], linestyles="solid")
weights = np.abs(model.dual_coef_[0])
ax.scatter(
    *X[model.support_].T, s=160 * weights / weights.max(), facecolors="none", edgecolors="#1c2330", linewidths=0.9
)
ax.scatter(*X.T, s=9, c=np.where(y == 1, "#b2182b", "#2166ac"))
ax.set_axis_off()
ax.set_title("Circles: support vectors, by weight")
plt.show()
