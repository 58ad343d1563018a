"""
Your own kernel
===============

A kernel is any function of two blocks of rows that returns the block of values. This one is periodic with a known
period: it continues a pattern beyond the training rows (the white square), where an RBF kernel has no information.
Sums and products of kernels are kernels, so it is easy to stay positive semidefinite.
"""

import matplotlib.pyplot as plt
import numpy as np

from swapsvm import SVC


def periodic(X, Z, period=2.0, sharpness=1.0):
    """exp(-2 sharpness sum sin^2(pi (x - z) / period)), a kernel for patterns that repeat in every direction."""
    waves = np.sin(np.pi * (X[:, None, :] - Z[None, :, :]) / period)
    return np.exp(-2 * sharpness * (waves**2).sum(axis=2))


rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (400, 2))
y = np.prod(np.sin(np.pi * X), axis=1) > 0
grid = np.linspace(-4, 4, 121)
points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
truth = np.prod(np.sin(np.pi * points), axis=1) > 0

fig, axes = plt.subplots(1, 2, figsize=(10, 5))
for ax, kernel, name in zip(axes, ("rbf", periodic), ("kernel='rbf', gamma=2", "kernel=periodic"), strict=True):
    model = SVC(C=16, kernel=kernel, gamma=2).fit(X, y)
    print(
        f"{name}: {100 * np.mean(model.predict(points) == truth):.1f} % right, relative gap {model.relative_gap_:.1e}"
    )
    decision = np.clip(model.decision_function(points).reshape(len(grid), -1), -1.5, 1.5)
    ax.imshow(decision, extent=(-4, 4, -4, 4), origin="lower", cmap="RdBu_r", alpha=0.75, vmin=-1.5, vmax=1.5)
    ax.scatter(*X.T, s=5, c=np.where(y, "#67001f", "#053061"))
    ax.add_patch(plt.Rectangle((-2, -2), 4, 4, fill=False, edgecolor="white", linewidth=2.5))
    ax.set_title(name)
    ax.set_axis_off()
plt.show()
