"""
Nearest points of two polytopes, and a hyperplane between them
==============================================================

Two hulls that are apart have nearest points, and the slab between them is empty: its normal and its middle are a
separating hyperplane, its width is a lower bound on the distance. This is the hard-margin support vector machine. Two
hulls that meet have a common point, which the weights of both express; then no hyperplane is claimed.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import ConvexHull

from swapsvm.geometry import polytope_distance

rng = np.random.default_rng(1)
P, Q = rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) @ [[1.2, 0.5], [0.0, 0.7]]
fig, axes = plt.subplots(1, 2, figsize=(10, 2.8), sharex=True, sharey=True)
for ax, apart in zip(axes, (6.0, 2.4), strict=True):
    moved = Q + np.array([apart, 0.6])
    found = polytope_distance(P, moved)
    for points, color in ((P, "#0072B2"), (moved, "#D55E00")):
        hull = points[ConvexHull(points).vertices]
        ax.fill(*hull.T, color=color, alpha=0.12, linewidth=0)
        ax.scatter(*points.T, s=10, color=color)
    if found.separated:
        across = np.array([-found.normal[1], found.normal[0]])
        for side in (-0.5, 0.0, 0.5):
            middle = (found.offset + side * found.lower_bound) * found.normal
            start = middle + (found.p - middle) @ across * across
            ends = np.array([start - 2.2 * across, start + 2.2 * across])
            ax.plot(*ends.T, color="#1c2330", linewidth=1.5 if side == 0 else 0.8, linestyle="-" if side == 0 else ":")
    ax.plot(*np.array([found.p, found.q]).T, "o-", color="#1c2330", markersize=6, zorder=3)
    distance = f"distance {found.distance:.4f}" if found.separated else f"distance below {found.distance:.0e}"
    ax.set(aspect="equal", title=f"{distance.capitalize()}, stopped by {found.stop_reason!r}")
plt.show()
