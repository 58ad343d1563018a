"""
A log-optimal portfolio
=======================

:func:`swapsvm.maximize` takes any concave function on the simplex. Here it is the mean logarithm of a portfolio's daily
returns, which is what its wealth grows by; the weights are the shares of the assets, rebalanced daily. The certificate
is in the units of the problem: no portfolio of these assets could have grown faster by more than the gap per day.
"""

import matplotlib.pyplot as plt
import numpy as np

from swapsvm import maximize
from swapsvm.problems import Concave

rng = np.random.default_rng(3)
days, assets = 1000, 8
shocks = rng.normal(0, 0.016, (days, 1)) + rng.normal(0, np.linspace(0.005, 0.05, assets), (days, assets))
returns = np.exp(shocks + rng.normal(0.0003, 0.0008, assets))

growth = Concave(
    value=lambda a: np.log(returns @ a).mean(),
    gradient=lambda a: (returns / (returns @ a)[:, None]).mean(axis=0),
    size=assets,
)
result = maximize(growth, solver="swap", tol=1e-9)
print(f"growth {result.value:.6f} a day, at most {result.gap:.1e} below the best; {result.iterations} iterations")

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=[2, 3])
left.barh([f"asset {i + 1}" for i in range(assets)], 100 * result.weights, color="#009E73")
left.set(xlabel="share, %", title="The portfolio")
left.invert_yaxis()
right.semilogy(returns.cumprod(axis=0), color="#b8c0cc", linewidth=0.9)
right.semilogy((returns @ result.weights).cumprod(), color="#009E73", linewidth=2, label="portfolio, rebalanced daily")
right.set(xlabel="day", title="Wealth; grey: single assets")
right.legend()
plt.show()
