"""Results of one pair as plain numbers, and the tests of instances on (…, M, N) arrays of two systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from shardwise.comparing import instances
from shardwise.comparing.comparisons import Comparisons, describe_size
from shardwise.core.arrays import Floats
from shardwise.methods.paired import kernels
from shardwise.methods.paired import statistics as paired
from shardwise.methods.repeats.unified import complete_moments, instance_spread
from shardwise.methods.repeats.unified import run_unified as unified_of
from shardwise.stats import student
from shardwise.stats.resampling import key_of

A, B = np.array([0]), np.array([1])


@dataclass(frozen=True)
class One:
    """The only pair of a comparison."""

    comparisons: Comparisons

    def __getattr__(self, name: str) -> Any:
        frame = self.comparisons.to_frame()
        if name in frame.columns:
            value = frame[name].iloc[0]
            return value if isinstance(value, str) else float(value)
        return getattr(self.comparisons, name)

    @property
    def size(self) -> str:
        return describe_size(self.effect_size)

    def __str__(self) -> str:
        return str(self.comparisons)


def compare_instances(*arguments: Any, **options: Any) -> One:
    return One(instances.compare_instances(*arguments, **options))


@dataclass(frozen=True)
class Unified:
    difference: Floats
    variance: Floats
    df: Floats

    @property
    def p(self) -> Floats:
        return t_p(self.difference, np.sqrt(self.variance), self.df)


def unified(a: Floats, b: Floats, *, deterministic: tuple[bool, bool] = (False, False)) -> Unified:
    """The unified test of many pairs of systems, (…, M, N) each."""
    lead = a.shape[:-2]
    a, b = a.reshape(-1, *a.shape[-2:]), b.reshape(-1, *b.shape[-2:])
    y = np.full((len(a), a.shape[2], 2, max(a.shape[1], b.shape[1])), np.nan)
    y[:, :, 0, : a.shape[1]], y[:, :, 1, : b.shape[1]] = a.swapaxes(1, 2), b.swapaxes(1, 2)
    spread = instance_spread(y, np.array(deterministic))
    mean, se, df = unified_of(complete_moments(np.nanmean(y, axis=-1), A, B), spread, A, B)
    return Unified(*(x[:, 0].reshape(lead) for x in (mean, se**2, df)))


def paired_t(z: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, standard error and t of differences per topic; z is (…, N)."""
    flat = z.reshape(-1, z.shape[-1])
    y = np.stack([flat, np.zeros_like(flat)], axis=-1)
    mean, se = (x[:, 0].reshape(z.shape[:-1]) for x in paired.pair_moments(y, A, B))
    return mean, se, student.t_statistic(mean, se)


def t_p(difference: Floats, se: Floats, df: Any) -> Floats:
    return student.two_sided(student.t_statistic(np.asarray(difference), np.asarray(se)), df)


def bootstrap_p(z: Floats, t: Floats, n_resamples: int, seed: int) -> float:
    """J15's bootstrap over all rows of z, (K, N), each against its t."""
    y = np.stack([z, np.zeros_like(z)], axis=-1)[None]
    found = np.zeros((1, 1), dtype=np.int64)
    keys = np.array([key_of(seed)], dtype=np.uint64)
    kernels.pooled_bootstrap(np.ascontiguousarray(y), A, B, t[None, :, None], keys, n_resamples, found)
    return float((found[0, 0] + 1) / (len(z) * n_resamples + 1))


def gold_draws(n: int, seed: int) -> Floats:
    """Sums of four numbers of the minimal standard generator, with variance 1."""
    x, out = seed, np.empty(n)
    for k in range(n):
        total = 0.0
        for _ in range(4):
            x = 16807 * x % 2147483647
            total += x / 2147483647
        out[k] = total - 2
    return np.asarray(out * np.sqrt(3))


def gold_scores(
    systems: int, instances: int, topics: int, sd: tuple[float, ...], seed: int, gaps: float = np.inf
) -> xr.DataArray:
    """The scores of tests/gold/kenward_roger.R; those whose own draw exceeds the last number are missing."""
    shape = (systems, instances, topics)
    parts = np.cumsum([topics, systems * topics, systems * instances])
    t, st, i, e = np.split(gold_draws(int(parts[-1]) + int(np.prod(shape)), seed), parts)
    y = 0.4 + 0.01 * np.arange(systems)[:, None, None] + sd[0] * t + sd[1] * st.reshape(systems, 1, topics)
    y = y + sd[2] * i.reshape(systems, instances, 1) + sd[3] * e.reshape(shape)
    y[gold_draws(y.size, seed + 100).reshape(shape) > gaps] = np.nan
    return xr.DataArray(y, dims=("system", "instance", "topic"))
