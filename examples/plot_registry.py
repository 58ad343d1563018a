"""
A data set of the registry
==========================

:func:`swapsvm.datasets.load` loads the data sets of the paper by name, with their splits. It reads them from the
folder ``$SWAPSVM_DATA`` or downloads them; this script downloads nothing and uses scikit-learn's small digits if the
folder is missing. The figure shows the least certain test digits and their predictions; wrong ones are red.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from swapsvm import SVC
from swapsvm.datasets import load

if os.environ.get("SWAPSVM_DATA"):
    usps = load("usps", dtype=np.float32)
    train, test = (usps.X_train[:3000], usps.y_train[:3000] - 1), (usps.X_test, usps.y_test - 1)
else:
    X, y = load_digits(return_X_y=True)
    train, test = (X[:1200] / 16, y[:1200]), (X[1200:] / 16, y[1200:])

model = SVC(C=16, gamma="mean_sq_dist", decision_function_shape="ovo").fit(*train)
predicted = model.predict(test[0])
print(f"{train[0].shape[0]} rows, accuracy {100 * np.mean(predicted == test[1]):.2f} %, gap {model.relative_gap_:.1e}")

pairs = np.array([(a, b) for a in range(10) for b in range(a + 1, 10)])  # the columns of the decisions
decisions = model.decision_function(test[0])
margins = np.where(pairs == predicted[:, None, None], np.abs(decisions)[:, :, None], np.inf).min(axis=(1, 2))
side = int(np.sqrt(test[0].shape[1]))
fig, axes = plt.subplots(3, 10, figsize=(10, 3.9))
for ax, i in zip(axes.ravel(), np.argsort(margins), strict=False):
    wrong = predicted[i] != test[1][i]
    ax.imshow(test[0][i].reshape(side, side), cmap="gray_r")
    ax.set_title(f"{predicted[i]}" + (f" not {test[1][i]}" if wrong else ""), color="#b2182b" if wrong else "#1c2330")
    ax.set_axis_off()
plt.show()
