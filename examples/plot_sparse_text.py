"""
Sparse rows: text without the text
==================================

2000 documents of 60 words from a vocabulary of 5000 with Zipf's frequencies; some words lean to one of two topics.
The rows are CSR, about 1 % full, and are used without a copy. With a linear kernel ``coef_`` has a weight for each
word. The picture on the right compares these weights with the true log odds, which the model did not see.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from swapsvm import SVC

rng = np.random.default_rng(0)
documents, length, words = 2000, 60, 5000
leaning = np.where(rng.random(words) < 0.2, rng.normal(0, 0.6, words), 0.0)  # log odds between the topics
frequency = 1 / np.arange(5, words + 5)
y = rng.integers(0, 2, documents)
drawn = np.empty((documents, length), dtype=int)
for topic in (0, 1):
    odds = frequency * np.exp((topic - 0.5) * leaning)
    drawn[y == topic] = rng.choice(words, (np.sum(y == topic), length), p=odds / odds.sum())
counts = sp.csr_array((np.ones(drawn.size), (np.repeat(np.arange(documents), length), drawn.ravel())))
X = normalize(counts.log1p())

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), width_ratios=[2, 3])
sizes = (125, 250, 500, 1000)
for kernel, colour in (("rbf", "#D55E00"), ("linear", "#0072B2")):
    models = [SVC(C=1, kernel=kernel, gamma=1).fit(X[:n], y[:n]) for n in sizes]
    scores = [100 * model.score(X[1000:], y[1000:]) for model in models]
    left.semilogx(sizes, scores, "o-", color=colour, label=kernel)
    print(f"{kernel}: {len(models[-1].support_)} support vectors, relative gap {models[-1].relative_gap_:.1e}")
left.set(xlabel="documents", ylabel="test accuracy, %")
left.set_xticks(sizes, labels=sizes)
left.minorticks_off()
left.legend()
told = np.flatnonzero(leaning)
right.scatter(
    leaning[told], models[-1].coef_[0, told], s=2000 * frequency[told], alpha=0.5, color="#0072B2", linewidths=0
)
right.set(xlabel="leaning of a word (log odds)", ylabel="weight in the model", title="Area: how frequent the word is")
plt.show()
