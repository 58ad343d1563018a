"""
A log-optimal portfolio
=======================

Kelly's rule: choose the shares of the assets, kept by daily rebalancing, with the fastest growth of wealth. They
maximize the mean logarithm of the daily returns. :func:`swapsvm.maximize` takes any such concave function on the
simplex. The certificate is in the units of the problem: no portfolio of these assets could have grown faster by more
than the gap per day. It says nothing about tomorrow: this is the best portfolio in hindsight.
"""

import matplotlib.pyplot as plt
import numpy as np

from swapsvm import maximize
from swapsvm.problems import Concave

rng = np.random.default_rng(12)
days, assets = 1500, 8
market = rng.normal(0, 0.01, (days, 1))
returns = np.exp(market + rng.normal(0.0002, np.linspace(0.02, 0.06, assets), (days, assets)))

growth = Concave(
    value=lambda a: np.log(returns @ a).mean(),
    gradient=lambda a: (returns / (returns @ a)[:, None]).mean(axis=0),
    size=assets,
)
result = maximize(growth, solver="swap", tol=1e-9, start=np.ones(assets))
print(result.as_optimize_result())  # as scipy.optimize would show it

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=[2, 3])
left.barh([f"asset {i + 1}" for i in range(assets)], 100 * result.weights, color="#009E73")
left.set(xlabel="share, %", title="The portfolio")
left.invert_yaxis()
left.grid(axis="y", visible=False)
right.semilogy(returns.cumprod(axis=0), color="#b8c0cc", linewidth=0.8)
right.semilogy(returns.mean(axis=1).cumprod(), color="#D55E00", label="equal shares")
right.semilogy((returns @ result.weights).cumprod(), color="#009E73", linewidth=2, label="log-optimal")
right.set(xlabel="day", title="Wealth, rebalanced daily; grey: single assets")
right.legend(loc="upper left")
plt.show()
