"""
A cluster on a laptop
=====================

``swapsvm.dask.SVC`` trains on the chunks of a Dask collection where they lie. Here the cluster is two worker processes
of this machine. Predictions are lazy, and ``to_local`` gives an ordinary estimator.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client

from swapsvm.dask import SVC


def rings(count, seed):
    """Two rings that overlap a little."""
    rng = np.random.default_rng(seed)
    label, angle = rng.integers(2, size=count), rng.uniform(0, 2 * np.pi, count)
    radius = 1 + label + 0.25 * rng.standard_normal(count)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]).astype(np.float32), label


# %%
# Chunks can be of any length. In a script of your own, put what follows under ``if __name__ == "__main__":``, because
# workers that are processes import the script.
chunks = [rings(count, seed) for seed, count in enumerate((4_000, 1_000, 3_000))]
X = da.concatenate([da.from_array(rows, chunks=rows.shape) for rows, _ in chunks])
y = da.concatenate([da.from_array(labels, chunks=labels.shape) for _, labels in chunks])

with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
    model = SVC(C=10, gamma=1.0, client=client).fit(X, y)
    print(f"{model.n_passes_} passes, {model.n_tasks_} tasks, relative gap {model.relative_gap_:.1e}")
    print(f"accuracy {model.score(X, y):.3f}")
    lazy = model.predict(X)
    print(lazy)

# %%
# The model needs no cluster.
local = model.to_local()
grid = np.linspace(-3.2, 3.2, 80, dtype=np.float32)
places = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
values = local.decision_function(places).reshape(80, 80)

fig, axes = plt.subplots(figsize=(5.6, 5))
axes.contourf(grid, grid, np.clip(values, -2, 2), levels=20, cmap="RdBu", alpha=0.7)
axes.contour(grid, grid, values, levels=[0], colors="black")
for (rows, _), colour, name in zip(
    chunks, ("#009E73", "#E69F00", "#CC79A7"), ("first", "second", "third"), strict=True
):
    axes.plot(*rows[:300].T, ".", color=colour, markersize=3, label=f"{name} chunk")
axes.legend(loc="upper right")
axes.set(aspect="equal", title="One model of three chunks")
plt.show()
