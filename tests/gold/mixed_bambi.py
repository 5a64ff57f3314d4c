"""Makes mixed_hpd.csv beside it: highest-density intervals of a system difference by bambi and PyMC.

Made with bambi 0.17.2 (PyMC models) and nutpie 0.16.8.
Run in this folder, in an environment of its own: python mixed_bambi.py
The scores come from the same generator as in mixed_lme4.R. Priors are bambi's own (weak, scaled to the data) except for
the deviations, which are nearly flat over all that the data allow.
"""

from __future__ import annotations

import arviz as az
import bambi as bmb
import numpy as np
import pandas as pd

CASES = {"nested": (2, 10, 50, True, 31), "crossed": (2, 10, 50, False, 32)}
SD = (0.2, 0.1, 0.03, 0.08)


def draws(n: int, seed: int) -> np.ndarray:
    x, out = seed, np.empty(n)
    for k in range(n):
        total = 0.0
        for _ in range(4):
            x = 16807 * x % 2147483647
            total += x / 2147483647
        out[k] = total - 2
    return out * np.sqrt(3)


def frame(systems: int, m: int, n: int, nested: bool, seed: int) -> pd.DataFrame:
    own = systems * m if nested else m
    z = draws(n + systems * n + own + systems * m * n, seed)
    t, st, i, e = np.split(z, np.cumsum([n, systems * n, own]))
    y = 0.4 + 0.01 * np.arange(systems)[:, None, None] + SD[0] * t + SD[1] * st.reshape(systems, 1, n)
    y = y + SD[2] * i.reshape(systems if nested else 1, m, 1) + SD[3] * e.reshape(systems, m, n)
    system, instance, topic = (index.ravel().astype(str) for index in np.indices(y.shape))
    own_name = np.char.add(np.char.add(system, "_"), instance) if nested else instance
    cell = np.char.add(np.char.add(system, "_"), topic)
    return pd.DataFrame({"y": y.ravel(), "system": system, "topic": topic, "cell": cell, "own": own_name})


def main() -> None:
    rows = []
    for name, case in CASES.items():
        flat = {
            group: bmb.Prior("Normal", mu=0, sigma=bmb.Prior("HalfNormal", sigma=1.0))
            for group in ("1|topic", "1|cell", "1|own")
        }
        model = bmb.Model(
            "y ~ system + (1|topic) + (1|cell) + (1|own)",
            frame(*case),
            priors={**flat, "sigma": bmb.Prior("HalfNormal", sigma=1.0)},
        )
        fit = model.fit(inference_method="nutpie", draws=3000, tune=1000, chains=4, random_seed=7)
        effect = fit.posterior["system"]
        values = effect.values.reshape(4, -1)
        for level in (0.90, 0.95):
            low, high = np.asarray(az.hdi(values.ravel(), level)).ravel()[:2]
            rows.append(
                {
                    "case": name,
                    "level": level,
                    "lower": low,
                    "upper": high,
                    "mean": values.mean(),
                    "sd": values.std(),
                    "ess": float(np.asarray(az.ess(values))),
                    "rhat": float(np.asarray(az.rhat(values))),
                }
            )
        print(rows[-1], flush=True)
    pd.DataFrame(rows).to_csv("mixed_hpd.csv", index=False)


if __name__ == "__main__":
    main()
