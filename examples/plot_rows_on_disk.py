"""
Rows on disk
============

``Shards`` are rows in files, of which a fit holds only a part in memory. The certificate is that of all rows. Smaller
limits of memory read the files more often, and give the same model within the certificate.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from swapsvm import SVC
from swapsvm.datasets import Shards
from swapsvm.passes.files import FileRows

rng = np.random.default_rng(0)
with tempfile.TemporaryDirectory() as folder:
    for k in range(3):  # three files of rows, and their labels
        angle, radius = rng.uniform(0, 4 * np.pi, 2500), rng.normal(0, 0.05, 2500)
        arm = rng.integers(2, size=2500)
        X = np.column_stack([np.cos(angle + np.pi * arm), np.sin(angle + np.pi * arm)]) * (0.1 * angle + 1)[:, None]
        np.save(Path(folder, f"part-{k}.npy"), (X + radius[:, None] * X).astype(np.float32))
        np.save(Path(folder, f"part-{k}.labels.npy"), arm)

    # %%
    # 7500 rows of 8 bytes are 60 kB, and kernel values need memory as well.
    limits, read, values = [60, 120], [], []
    for limit in limits:
        rows = FileRows(Shards(folder, memory_limit=f"{limit}K"))  # fit(Shards(...)) does the same
        model = SVC(C=10, gamma=2).fit(rows, rows.shards.y)
        read.append(rows.bytes_read / 1e6)
        values.append((model.dual_value_[0], model.primal_value_[0]))
    inside = SVC(C=10, gamma=2).fit(
        np.concatenate([np.load(f) for f in sorted(Path(folder).glob("*[0-9].npy"))]), rows.shards.y
    )

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
left.bar([str(limit) for limit in limits], read, color="#0072B2", width=0.5)
left.set(xlabel="limit of memory, kB", ylabel="MB", title="Read from the files in all")
intervals = {
    "in memory": (inside.dual_value_[0], inside.primal_value_[0]),
    **dict(zip(map(str, limits), values, strict=True)),
}
best = max(dual for dual, _ in intervals.values())
for name, (dual, primal) in intervals.items():
    right.plot([name] * 2, [1e6 * (dual / best - 1), 1e6 * (primal / best - 1)], "_-", color="#D55E00", markersize=16)
right.set(
    xlabel="limit of memory, kB", ylabel="millionths of the largest D", title="D and P: each interval holds the optimum"
)
plt.show()
