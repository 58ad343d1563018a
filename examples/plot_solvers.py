"""
All solvers on one problem
==========================

Digits 0-4 against 5-9, to a relative gap of 1e-6. Every solver maximizes the same concave function on the simplex and
reports the same kind of certificate; they differ in their moves. Plain Frank-Wolfe never drops a vertex and its gap
falls like 1/t. Away steps, swaps and pairwise steps make it fall exponentially. Corrective methods (``fcfw``, ``cvm``,
``block``) do more in one iteration: ``block`` needs the fewest. ``cvm`` and ``fcfw`` are the same method here, since
the RBF kernel has a constant diagonal.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from swapsvm import SVC, ConvergenceWarning
from swapsvm.solvers import SOLVERS

X, y = load_digits(return_X_y=True)
X, y = X[:600] / 16, y[:600] > 4
colours = ["#E69F00", "#56B4E9", "#009E73", "#0072B2", "#CC79A7", "#F0E442", "#7A5195", "#999999", "#000000", "#D55E00"]
colours = dict(zip(SOLVERS, colours, strict=True))

fig, ax = plt.subplots(figsize=(8, 5))
warnings.simplefilter("ignore", ConvergenceWarning)  # Frank-Wolfe is stopped by max_iter
print(f"{'solver':18}{'iterations':>11}{'kernel values':>15}{'relative gap':>14}  stopped by")
for solver in SOLVERS:
    model = SVC(C=16, gamma="mean_sq_dist", solver=solver, tol=1e-6, max_iter=20_000).fit(X, y)
    gap = model.trace_["gap"] / -model.trace_["value"]
    ax.loglog(
        model.trace_["iteration"], gap, color=colours[solver], label=solver, linestyle="--" if solver == "cvm" else "-"
    )
    iterations, values = model.n_iter_[0], model.n_evaluations_
    print(f"{solver:18}{iterations:11}{values:15}{model.relative_gap_:14.1e}  {model.stop_reason_}")
ax.set(xlabel="iteration", ylabel="relative gap", ylim=(3e-7, None), title="Ten ways to the same solution")
fig.legend(loc="outside right center")
plt.show()
