"""
Gilbert's algorithm and that of Mitchell, Demyanov and Malozemov, step by step
==============================================================================

To find the point of a hull nearest to the origin, Gilbert (1966) moves toward the vertex with the smallest inner
product with the current point; Mitchell, Demyanov and Malozemov (1974) move weight from the active vertex with the
largest to the vertex with the smallest. These are the toward and the swap step on the simplex: both are written out
here, and their iterates are those of the solvers. Gilbert's path zigzags; swaps can remove all weight from a vertex,
and terminate.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from swapsvm import ConvergenceWarning, Gram, maximize
from swapsvm.kernels import Linear
from swapsvm.problems import Quadratic
from swapsvm.rays import SwapRay
from swapsvm.solvers import Solver


class SwapOnly(Solver):
    """Every step a swap of the best vertex with the worst active one."""

    name = "swap-only"

    def choose(self, state):
        return state.search(SwapRay(state.toward(), state.away())).move()


def gilbert(Z, a):
    """The point nearest to the origin on the segment from z to the vertex with the smallest product with z."""
    z, i = a @ Z, np.argmin(Z @ (a @ Z))
    step = np.clip(z @ (z - Z[i]) / ((z - Z[i]) @ (z - Z[i])), 0, 1)
    return (1 - step) * a + step * np.eye(len(a))[i]


def mitchell_demyanov_malozemov(Z, a):
    """Move weight from the active vertex with the largest product with z to the vertex with the smallest."""
    products = Z @ (a @ Z)
    i, j = np.argmin(products), np.argmax(np.where(a > 0, products, -np.inf))
    step = min((products[j] - products[i]) / ((Z[i] - Z[j]) @ (Z[i] - Z[j])), a[j])
    return a + step * (np.eye(len(a))[i] - np.eye(len(a))[j])


warnings.simplefilter("ignore", ConvergenceWarning)  # stopped after k steps, as wanted
Z = np.array([[-3.0, 1.0], [3.5, 0.8], [2.6, 3.6], [-1.2, 3.2], [-3.4, 2.2], [0.6, 4.1]])
problem, start = Quadratic(Gram(Linear(), Z)), np.eye(6)[5]
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.9))
left.fill(*Z[[0, 1, 2, 5, 3, 4]].T, color="#e6eaf0")
for solver, textbook, name, color in (
    ("fw", gilbert, "Gilbert: toward", "#E69F00"),
    (SwapOnly(), mitchell_demyanov_malozemov, "MDM: swap", "#009E73"),
):
    path = [start]
    for k in range(60 if solver == "fw" else 3):
        path.append(textbook(Z, path[-1]))
        same = maximize(problem, solver, start=start, max_iter=k + 2, tol=1e-13).weights
        assert np.abs(same - path[-1]).max() < 1e-9
    points = np.array(path) @ Z
    gaps = [p @ p - (Z @ p).min() for p in points]
    left.plot(*points.T, "o-", color=color, markersize=4, label=name)
    right.loglog(np.arange(1, len(gaps) + 1), np.maximum(gaps, 1e-15), "o-", color=color, markersize=3, label=name)
left.plot(0, 0, "k+", markersize=10)
left.annotate("origin", (0, 0), (8, -3), textcoords="offset points")
left.set(aspect="equal", ylim=(-0.6, 4.4), title="Iterates in the hull")
right.set(xlabel="step", ylabel="z'z - min z'z_i", title="Gap")
right.legend()
plt.show()
