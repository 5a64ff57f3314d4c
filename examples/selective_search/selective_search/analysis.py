"""What the scores say: single instances, pools of instances, all instances, and the smallest rate that will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from selective_search.instances import AGAIN, EXHAUSTIVE
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.equivalence import SettingSeries, equivalence, smallest_setting
from shardwise.comparing.instances import compare_instances, single_instance_tests
from shardwise.core.arrays import make_generator
from shardwise.stats.student import t_statistic

TESTS: dict[str, dict[str, Any]] = {
    "unified": {},
    "mixed, J15": {"design": "paper"},
    "bootstrap of means": {"method": "bootstrap", "n_resamples": 2000},
    "bootstrap, J15": {"method": "bootstrap", "design": "paper", "n_resamples": 200},
    "t, one instance": {"method": "t-single"},
    "bootstrap, one instance": {"method": "bootstrap", "n_resamples": 2000},
}
SINGLE = ("t, one instance", "bootstrap, one instance")


def rates(scores: xr.Dataset) -> list[tuple[float, str]]:
    """Sample rates with the names of their systems, smallest first."""
    named = zip(scores["rate"].values.tolist(), scores["system"].values.tolist(), strict=True)
    return sorted((rate, name) for rate, name in named if name not in (EXHAUSTIVE, AGAIN))


def measures(scores: xr.Dataset) -> list[str]:
    """Names of the effectiveness measures."""
    return [str(name) for name, values in scores.data_vars.items() if "topic" in values.dims]


def against(scores: xr.Dataset, measure: str, baseline: str) -> dict[float, Comparisons]:
    """All instances of every rate against a baseline, by the unified test."""
    y = scores[measure]
    other = y.sel(system=baseline)
    return {rate: compare_instances(y.sel(system=name), other) for rate, name in rates(scores)}


def single_tests(scores: xr.Dataset, margin: float) -> pd.DataFrame:
    """One paired t-test for every instance: what somebody with a single seed sees.

    Columns instance, difference, p (two-sided), p_worse (one-sided, of a loss of the margin), measure, rate.
    """
    frames = []
    for measure in measures(scores):
        y = scores[measure]
        for rate, name in rates(scores):
            own, whole = y.sel(system=name), y.sel(system=EXHAUSTIVE)
            frame = single_instance_tests(own, whole)[["instance", "difference", "p"]]
            lost = (own - whole.isel(instance=0)).transpose("instance", "topic")
            n_topics = lost.sizes["topic"]
            se = lost.std("topic", ddof=1).to_numpy() / np.sqrt(n_topics)
            above = t_statistic(frame["difference"].to_numpy() + margin, se)
            frame = frame.assign(p_worse=stats.t.sf(above, n_topics - 1), measure=measure, rate=rate)
            frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def first_without_loss(singles: pd.DataFrame, alpha: float = 0.05) -> pd.DataFrame:
    """The smallest rate at which each seed finds no significant loss, counted: measure, rate, seeds.

    That is what a reader of single t-tests would take for "as good as exhaustive search"; rate NaN: none.
    """
    lost = (singles["p"] <= alpha) & (singles["difference"] < 0)
    fine = singles.assign(fine=singles["rate"].where(~lost))
    first = fine.groupby(["measure", "instance"], sort=False)["fine"].min()
    counts = first.groupby("measure", sort=False).value_counts(dropna=False)
    return counts.rename("seeds").rename_axis(["measure", "rate"]).reset_index()


def pooled_tests(
    scores: xr.Dataset, sizes: Sequence[int], pools: int, names: Sequence[str] = tuple(TESTS), seed: int = 9
) -> pd.DataFrame:
    """Repeat the comparison with random pools of instances (J15 Fig. 9-11): measure, rate, size, pool, test, p.

    Pools are drawn with replacement, as in J15. The tests of single instances see the first one of each pool.
    """
    rows = []
    for measure in measures(scores):
        y = scores[measure].transpose("system", "instance", "topic")
        base = xr.DataArray(y.sel(system=EXHAUSTIVE).values[0], dims="topic")
        for number, (rate, name) in enumerate(rates(scores)):
            own = y.sel(system=name).values
            for size in sizes:
                drawn = make_generator(seed, number, size).integers(len(own), size=(pools, size))
                for pool in range(pools):
                    part = xr.DataArray(own[drawn[pool]], dims=("instance", "topic"))
                    for test in names:
                        seen = part[0] if test in SINGLE else part
                        rows.append(
                            (
                                measure,
                                rate,
                                size,
                                pool,
                                test,
                                float(compare_instances(seen, base, **TESTS[test]).p[0]),
                            )
                        )
    return pd.DataFrame(rows, columns=["measure", "rate", "size", "pool", "test", "p"])


def summary(scores: xr.Dataset, margin: float, alpha: float = 0.05) -> pd.DataFrame:
    """One row a measure and rate: difference from exhaustive search, intervals, verdicts of all and of single seeds."""
    singles = single_tests(scores, margin)
    rows = []
    for measure in measures(scores):
        for rate, found in against(scores, measure, EXHAUSTIVE).items():
            seeds = singles[(singles["measure"] == measure) & (singles["rate"] == rate)]
            significant = seeds["p"] <= alpha
            row = found.to_frame().iloc[0]
            system = scores.sel(system=row["a"])
            low, high = found.interval(1.0 - 2.0 * alpha)
            hpd_low, hpd_high = found.interval(1.0 - alpha, "hpd")
            rows.append(
                {
                    "measure": measure,
                    "rate": rate,
                    "indexed": round(rate * scores.attrs["documents"]),
                    "searched": float(system["searched"].mean()),
                    "mean": float(system[measure].mean()),
                    "sd_instances": float(system[measure].mean("topic").std(ddof=1)),
                    "difference": float(row["difference"]),
                    "se": float(row["se"]),
                    "df": float(row["df"]),
                    "p": float(row["p"]),
                    "lower": low,
                    "upper": high,
                    "hpd_lower": hpd_low,
                    "hpd_upper": hpd_high,
                    "p_worse": float(equivalence(found, margin, "lower", alpha=alpha).table["p"].iloc[0]),
                    "verdict": verdict(low, high, margin),
                    "effect_size": float(row["effect_size"]),
                    "seeds_worse": int((significant & (seeds["difference"] < 0)).sum()),
                    "seeds_better": int((significant & (seeds["difference"] > 0)).sum()),
                    "seeds_not_worse_by_margin": int((seeds["p_worse"] <= alpha).sum()),
                }
            )
    return pd.DataFrame(rows)


def verdict(lower: float, upper: float, margin: float) -> str:
    """What an interval of the difference says about a loss of the margin.

    >>> verdict(-0.004, 0.002, 0.01), verdict(-0.03, -0.02, 0.01), verdict(-0.02, 0.0, 0.01)
    ('no worse', 'worse', 'undecided')
    """
    if lower > -margin:
        return "no worse"
    return "worse" if upper < -margin else "undecided"


def answers(scores: xr.Dataset, margin: float) -> dict[str, SettingSeries]:
    """By measure, the rates that are not worse than exhaustive search by the margin or more."""
    return {
        measure: smallest_setting(against(scores, measure, EXHAUSTIVE), margin)
        for measure in measures(scores)
    }
