"""
D-optimal designs: where to measure
===================================

A design gives the share of the measurements to take at each candidate point. The D-optimal one makes the confidence
ellipsoid of the coefficients as small as possible: it maximizes the log determinant of the information matrix,
:class:`swapsvm.problems.LogDeterminant`. The gradient is the variance of the prediction, and the equivalence theorem
of Kiefer and Wolfowitz is the certificate: at the optimum the variance is nowhere above n, the number of
coefficients, and equal to n at the points of the design.
"""

import matplotlib.pyplot as plt
import numpy as np

from swapsvm import maximize
from swapsvm.problems import LogDeterminant

x = np.linspace(-1, 1, 401)
quintic = LogDeterminant(x[:, None] ** np.arange(6))
design = maximize(quintic, tol=1e-7)

u, v = (grid.ravel() for grid in np.meshgrid(np.linspace(-1, 1, 41), np.linspace(-1, 1, 41)))
u, v = u[u + v <= 0.8], v[u + v <= 0.8]  # a corner that cannot be measured
surface = maximize(LogDeterminant(np.stack([np.ones_like(u), u, v, u * u, u * v, v * v], axis=1)), tol=1e-7)
print(f"gaps {design.gap:.1e} and {surface.gap:.1e}")

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), width_ratios=[5, 4])
left.plot(x, quintic.gradient(np.full(401, 1 / 401)), color="#b8c0cc", label="measured everywhere alike")
left.plot(x, quintic.gradient(design.weights), color="#0072B2", label="D-optimal")
left.axhline(6, color="#5b6575", linestyle=":", linewidth=1)
left.vlines(x, 0, 6 * design.weights / design.weights.max(), color="#D55E00", linewidth=3, alpha=0.25)
left.plot(x[design.weights > 1e-3], np.full((design.weights > 1e-3).sum(), 6), "o", color="#D55E00", label="the design")
left.set(xlabel="x", ylabel="variance of the prediction", ylim=(0, 14), title="A polynomial of degree five")
left.legend(loc="upper center")
right.scatter(u, v, s=5, color="#b8c0cc", linewidth=0)
right.scatter(u, v, s=2500 * surface.weights, color="#D55E00", linewidth=0)
for k in np.flatnonzero(surface.weights > 0.01):
    label = f"{100 * surface.weights[k]:.0f} %"
    right.annotate(label, (u[k], v[k]), (11, 0), textcoords="offset points", va="center", annotation_clip=False)
right.set(xlabel="u", ylabel="v", xlim=(-1.15, 1.35), aspect="equal", title="A quadratic in two variables")
right.grid(False)
plt.show()
