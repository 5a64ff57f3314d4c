"""Numbers of statsmodels and ppi-python for clusters, right and wrong scores, and judges.

    python -m venv venv && venv/bin/pip install statsmodels==0.15.0 ppi-python==0.2.3
    venv/bin/python factors_python.py

Writes factors_items.csv (the scores), and what they say of them (factors_clusters, _mcnemar, _ppi, _wilson).
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

here = Path(__file__).parent
rng = np.random.default_rng(20240)
sizes = np.array([1, 2, 3, 4, 5, 6, 8, 10, 12, 9] * 2)
passage = np.repeat(np.arange(20), sizes)
level = rng.normal(0, 0.8, (20, 3))[passage] + rng.normal(0.3, 0.6, (passage.size, 1)) + [0.0, 0.3, 0.5]
right = (rng.normal(size=level.shape) < level).astype(int)
judge = np.clip(0.7 * right + 0.2 + rng.normal(0, 0.15, right.shape) + [0.0, 0.1, 0.0], 0, 1).round(3)
labelled = rng.permutation(passage.size) < 40
items = pd.DataFrame({"item": np.arange(passage.size), "passage": passage, "labelled": labelled.astype(int)})
for k, name in enumerate("abc"):
    items[name], items[f"judge_{name}"] = right[:, k], judge[:, k]
items.to_csv(here / "factors_items.csv", index=False)

equal = np.arange(passage.size) // 6  # 20 clusters of 6
clusters, tests, judged = [], [], []
for a, b in ((0, 1), (0, 2), (1, 2)):
    d = (right[:, a] - right[:, b]).astype(float)
    for kind, code in (("unequal", passage), ("equal", equal)):
        one = sm.OLS(d, np.ones_like(d)).fit(cov_type="cluster", cov_kwds={"groups": code})
        clusters.append((kind, "abc"[a], "abc"[b], d.mean(), one.bse[0]))
    table = np.array([[(right[:, a] & right[:, b]).sum(), (right[:, a] & ~right[:, b] & 1).sum()],
                      [(~right[:, a] & 1 & right[:, b]).sum(), 0]])  # fmt: skip
    tests.append(("abc"[a], "abc"[b], table[0, 1], table[1, 0], mcnemar(table, exact=True).pvalue))
    f = judge[:, a] - judge[:, b]
    for lam in (None, 1.0, 0.5):
        args = (d[labelled], f[labelled], f[~labelled])
        estimate = np.atleast_1d(ppi_mean_pointestimate(*args, lam=lam))[0]
        low, high = (np.atleast_1d(x)[0] for x in ppi_mean_ci(*args, alpha=0.05, lam=lam))
        judged.append(("abc"[a], "abc"[b], "tuned" if lam is None else lam, estimate, low, high))
ends = [
    (k, n, *proportion_confint(k, n, 0.05, "wilson")) for k, n in ((0, 20), (119, 120), (7, 30), (120, 120))
]
for name, rows, columns in (
    ("clusters", clusters, "clusters a b difference se"),
    ("mcnemar", tests, "a b only_a only_b p"),
    ("ppi", judged, "a b lam estimate lower upper"),
    ("wilson", ends, "right n lower upper"),
):
    pd.DataFrame(rows, columns=columns.split()).to_csv(
        here / f"factors_{name}.csv", index=False, float_format="%.16g"
    )
print({name: version(name) for name in ("numpy", "statsmodels", "ppi-python")})
