"""
The smallest ball around points, between two bounds
===================================================

A few points, the coreset, determine the ball: on them alone the answer is the same. Every step has a ball that
encloses all points (an upper bound on the radius) and a proof that no ball can be much smaller (a lower bound), so a
result claims no more than the gap between the two. ``"fw"`` moves toward one farthest point at a time; ``"block"``
adds 64 of them and solves the problem on all points found so far.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from swapsvm import ConvergenceWarning
from swapsvm.geometry import min_enclosing_ball

rng = np.random.default_rng(4)
X = rng.normal(size=(400, 2)) @ [[1.6, 0.4], [0.0, 0.9]]
ball = min_enclosing_ball(X)
print(ball)

warnings.simplefilter("ignore", ConvergenceWarning)  # stopped by max_iter, as wanted
Z = rng.normal(size=(2000, 50))
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2))
left.scatter(*X.T, s=9, color="#9aa5b5")
left.scatter(*X[ball.coreset].T, s=55, color="#D55E00", zorder=3, label=f"coreset, {len(ball.coreset)} points")
left.add_patch(plt.Circle(ball.center, ball.radius, fill=False, color="#0072B2", linewidth=1.7))
left.plot(*ball.center, "+", color="#1c2330", markersize=12, markeredgewidth=2, label="center")
left.set(aspect="equal", ylim=(-4.7, 7.3), title=f"400 points, radius {ball.radius:.4f}")
left.legend(loc="upper center", ncols=2)
for solver, color in (("fw", "#E69F00"), ("swap2", "#0072B2"), ("block", "#D55E00")):
    steps = np.unique(np.geomspace(2, 100 if solver != "block" else 12, 10).astype(int))
    found = [min_enclosing_ball(Z, solver=solver, max_iter=int(k), tol=1e-10) for k in steps]
    right.loglog([b.iterations for b in found], [b.relative_gap for b in found], "o-", color=color, label=solver)
right.set(xlabel="steps, each a pass over the points", ylabel="gap / lower bound", title="2000 points, 50 dimensions")
right.legend()
plt.show()
