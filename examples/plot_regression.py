"""
Regression: a tube that is given, and one that is learned
=========================================================

``SVR`` fits a function with a tube around it. Residuals inside the tube cost nothing, and rows inside are not support
vectors; outside it residuals are squared. Left: a narrow tube that was given. Right: ``epsilon="auto"``, where a
wider tube has a price and the learned width follows the noise. Both fits report their duality gap.
"""

import matplotlib.pyplot as plt
import numpy as np

from swapsvm import SVR

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 10, size=(160, 1)), axis=0)
y = np.sin(X[:, 0]) + 0.1 * X[:, 0] + 0.25 * rng.normal(size=160)
grid = np.linspace(0, 10, 400)[:, None]

fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
for ax, epsilon in zip(axes, (0.1, "auto"), strict=True):
    model = SVR(C=10, gamma=0.5, epsilon=epsilon).fit(X, y)
    print(f"epsilon={epsilon!r}: relative gap {model.relative_gap_:.1e}, tube {model.epsilon_:.3f}")
    f = model.predict(grid)
    ax.fill_between(grid[:, 0], f - model.epsilon_, f + model.epsilon_, color="#0072B2", alpha=0.25, linewidth=0)
    ax.plot(grid[:, 0], f, color="#0072B2")
    inside = np.setdiff1d(np.arange(len(y)), model.support_)
    ax.plot(X[inside, 0], y[inside], "o", color="#9aa3b0", markersize=4, label=f"{len(inside)} inside the tube")
    outside = model.support_
    ax.plot(X[outside, 0], y[outside], "o", color="#D55E00", markersize=4, label=f"{len(outside)} support vectors")
    ax.set(xlabel="x", title=f"epsilon = {epsilon!r}: half width {model.epsilon_:.2f}")
    ax.set_ylim(-1.6, 3.4)
    ax.legend(loc="upper left")
axes[0].set_ylabel("y")
plt.show()
