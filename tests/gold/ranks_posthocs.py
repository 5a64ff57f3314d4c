"""p-values of Nemenyi's and Conover's comparisons by scikit-posthocs: python ranks_posthocs.py > ranks_posthocs.csv.

Tables: Demšar's example, and random ones with and without ties.
"""

from __future__ import annotations

from importlib.metadata import version
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

TABLES = {"plain": (1, 12, 5, 6), "ties": (2, 9, 4, 0), "many": (3, 30, 8, 1)}
"""Seed, data sets, systems and digits of random tables."""


def draw_table(seed: int, items: int, systems: int, digits: int) -> np.ndarray:
    """Scores whose means rise with the number of the system."""
    y = np.random.default_rng(seed).normal(size=(items, systems)) + np.linspace(0.0, 1.5, systems)
    return y.round(digits)


def main() -> None:
    """Print the p-values of all pairs."""
    import scikit_posthocs  # not needed by the tests

    demsar = pd.read_csv(Path(__file__).parent / "ranks_demsar.csv", comment="#", index_col=0).to_numpy()
    print(f"# scikit-posthocs {version('scikit-posthocs')}, by ranks_posthocs.py")
    print("table,a,b,nemenyi,conover,conover_holm")
    for name, y in {"demsar": demsar, **{name: draw_table(*how) for name, how in TABLES.items()}}.items():
        found = [
            scikit_posthocs.posthoc_nemenyi_friedman(y).to_numpy(),
            scikit_posthocs.posthoc_conover_friedman(y).to_numpy(),
            scikit_posthocs.posthoc_conover_friedman(y, p_adjust="holm").to_numpy(),
        ]
        for a, b in combinations(range(y.shape[1]), 2):
            print(name, a, b, *(repr(float(p[a, b])) for p in found), sep=",")


if __name__ == "__main__":
    main()
