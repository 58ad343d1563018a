"""
The smallest ellipsoid around points
====================================

Among all ellipsoids that hold the points, :func:`swapsvm.geometry.min_enclosing_ellipsoid` finds the one of least
volume, whatever the units of the coordinates. A few points determine it: the ellipsoid of this coreset alone is the
same. The result includes a lower bound, so its volume is known to be at most ``1 + tol`` times the minimum. The right
panel shows how fast the solvers close the gap between the bounds for 2000 points in eight dimensions.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from swapsvm import ConvergenceWarning, maximize
from swapsvm.geometry import min_enclosing_ellipsoid
from swapsvm.problems import LogDeterminant

rng = np.random.default_rng(4)
X = rng.standard_t(6, (400, 2)) @ [[4.0, 300.0], [1.0, -400.0]] + [20.0, 1e5]
found = min_enclosing_ellipsoid(X)
print(found)

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4))
angle = np.linspace(0, 2 * np.pi, 200)
rim = found.center + np.stack([np.cos(angle), np.sin(angle)], 1) @ np.linalg.inv(np.linalg.cholesky(found.matrix))
left.fill(*rim.T, color="#0072B2", alpha=0.08)
left.plot(*rim.T, color="#0072B2")
left.scatter(*X.T, s=9, color="#9aa5b5", linewidth=0)
left.scatter(*X[found.coreset].T, s=45, color="#D55E00", label=f"coreset, {len(found.coreset)} points", zorder=3)
left.plot(*found.center, "+", color="#1c2330", markersize=12, markeredgewidth=2, label="center")
left.set(xlabel="metres", ylabel="pascal", title="Volume certified to one part in a million")
left.legend(loc="lower right")

problem = LogDeterminant(np.column_stack([np.ones(2000), rng.normal(size=(2000, 8))]))
warnings.simplefilter("ignore", ConvergenceWarning)  # Frank-Wolfe is stopped by max_iter
for solver, colour in {"fw": "#E69F00", "mfw": "#56B4E9", "swap": "#009E73", "swap2": "#0072B2"}.items():
    trace = maximize(problem, solver, tol=1e-7, max_iter=1000).trace.array()
    right.semilogy(trace["iteration"], (1 + trace["gap"] / 8) ** 4 - 1, color=colour, label=solver)
right.set(xlabel="iteration", ylabel="upper / lower bound of the volume $-$ 1", title="2000 points in eight dimensions")
right.legend()
plt.show()
