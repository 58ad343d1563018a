"""
Novelty detection: what the slack does
======================================

Two moons, and 5 % of the rows scattered over the plane. ``slack`` is the mean slack of the rows: with a large slack
the score is a density estimate and every row is a support vector, with a small one the boundary follows the outermost
rows. The thick line is the boundary of ``contamination="auto"``, the dashed one has 10 % of the rows outside. The
area of a circle is the weight of its support vector, which is proportional to its slack. ``SVDD`` draws the same
lines: with this kernel the ball and the plane are one model.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from swapsvm import OneClassSVM

rng = np.random.default_rng(0)
X = make_moons(400, noise=0.08, random_state=0)[0]
X[:20] = rng.uniform([-1.8, -1.3], [2.8, 1.8], size=(20, 2))
across, up = np.meshgrid(np.linspace(-2.0, 3.0, 160), np.linspace(-1.5, 2.0, 130))
plane = np.column_stack([across.ravel(), up.ravel()])

fig, panels = plt.subplots(1, 3, figsize=(11, 3.9), sharey=True, layout="constrained")
for ax, slack in zip(panels, [0.3, 0.01, 0.0001], strict=True):
    model = OneClassSVM(slack=slack, gamma=6.0).fit(X)
    scores = model.score_samples(plane).reshape(across.shape)
    tenth = OneClassSVM(slack=slack, gamma=6.0, contamination=0.1).fit(X).offset_
    outside = model.predict(X) == -1
    print(f"slack={slack}: {model.n_support_[0]} support vectors, {outside.sum()} rows outside")
    ax.contourf(across, up, scores, levels=12, cmap="Blues", alpha=0.45)
    ax.contour(across, up, scores, levels=[model.offset_], colors="#1c2330", linewidths=2)
    ax.contour(across, up, scores, levels=[tenth], colors="#1c2330", linewidths=1, linestyles="dashed")
    area = 120 * model.dual_coef_[0] / model.dual_coef_.max()
    ax.scatter(*X[model.support_].T, s=area, facecolors="none", edgecolors="#1c2330", linewidths=0.5)
    ax.scatter(*X.T, s=5, c=np.where(outside, "#D55E00", "#1c2330"))
    ax.set_title(f"slack={slack}\n{model.n_support_[0]} support vectors, {outside.sum()} outside", fontsize=9)
    ax.set_axis_off()
plt.show()
