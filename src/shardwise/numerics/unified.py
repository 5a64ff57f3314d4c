"""Systems that give another result each time: what their scores vary by, for many tables at once (J15).

Scores are (B, T, R, M): topics, systems, instances. A system may have fewer instances than others (the rest of its
scores are NaN), but an instance has a score on every topic. A deterministic system's instances are copies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import InputError
from shardwise.numerics import paired
from shardwise.numerics.mixed.posterior import Order


@dataclass(frozen=True, slots=True, eq=False)
class InstanceSpread:
    """How the scores of every system vary over instances and topics, (B, R) each."""

    ms_instance: Floats  # 0 for deterministic systems
    ms_error: Floats
    counts: Floats  # instances; 1 for deterministic systems
    fixed: Bools  # deterministic: all instances alike
    topics: int

    @property
    def residual_variance(self) -> Floats:
        """(B,) spread of the scores of the non-deterministic systems around topics and instances, pooled."""
        df = np.where(self.fixed, 0.0, (self.counts - 1.0) * (self.topics - 1.0))
        total = df.sum(axis=-1)
        return np.where(total > 0, (self.ms_error * df).sum(axis=-1) / np.maximum(total, 1.0), np.nan)


def instance_spread(y: Floats, deterministic: Bools | None = None) -> InstanceSpread:
    """Two-way (instance × topic) mean squares of each system's own scores.

    MS_I = N Σ(ȳ_m - ȳ)²/(M - 1), MS_E what instance and topic leave, on (M - 1)(N - 1) degrees of freedom.

    >>> y = np.random.default_rng(1).normal(size=(1, 40, 2, 6))
    >>> found = instance_spread(y)
    >>> bool(abs(found.ms_error[0, 0] - 1.0) < 0.2), found.counts.tolist()
    (True, [[6.0, 6.0]])
    """
    there = np.isfinite(y)
    present = np.asarray(there.any(axis=1))  # (B, R, M)
    if (there.all(axis=1) != present).any():
        raise InputError(
            "an instance lacks the score of a topic",
            remedy="drop that topic or instance, or use a mixed model with nested instances, which leaves it out",
        )
    n = y.shape[1]
    counts = present.sum(axis=-1)
    if (counts == 0).any():
        raise InputError("a system has no scores", remedy="leave it out")
    filled = np.where(there, y, 0.0)
    weight = present / counts[..., None]
    own = filled.mean(axis=1)  # (B, R, M): mean of an instance
    topic = (filled * weight[:, None]).sum(axis=-1)  # (B, T, R)
    grand = (own * weight).sum(axis=-1)  # (B, R)
    first = np.take_along_axis(filled, present.argmax(axis=-1)[:, None, :, None], axis=-1)
    alike = (np.where(present[:, None], filled, first) == first).all(axis=(1, 3))
    fixed = alike & (counts > 1) if deterministic is None else np.broadcast_to(deterministic, counts.shape)
    if deterministic is not None and (fixed & ~alike).any():
        raise InputError(
            "a system is flagged deterministic, but its instances differ", remedy="remove the flag"
        )
    if ((counts < 2) & ~fixed).any():
        raise InputError(
            "a single instance does not show how instances vary",
            remedy="draw two or more of each system, or say that it is deterministic",
        )
    free = np.maximum(counts - 1.0, 1.0)
    rest = filled - own[:, None] - topic[..., None] + grand[:, None, :, None]
    ms_error = np.where(present[:, None], rest, 0.0)
    ms_error = (ms_error**2).sum(axis=(1, 3)) / (free * (n - 1.0))
    ms_instance = n * (np.where(present, own - grand[..., None], 0.0) ** 2).sum(axis=-1) / free
    return InstanceSpread(
        np.where(fixed, 0.0, ms_instance),
        np.where(fixed, 0.0, ms_error),
        np.where(fixed, 1.0, counts.astype(np.float64)),
        fixed,
        n,
    )


def unified(topic_means: Floats, spread: InstanceSpread, ia: Ints, ib: Ints) -> tuple[Floats, Floats, Floats]:
    """The unified test: difference, standard error and Satterthwaite df of pairs, (B, P) each.

    Var = s_d²/N + Σ_l max(MS_I,l - MS_E,l, 0)/(M_l N). On two complete systems with as many instances and equal
    variances it is the nested mixed model; it needs neither, and a deterministic system just has no term.
    """
    n, m = spread.topics, spread.counts
    mean, se = paired.moments(topic_means, ia, ib)
    counted = spread.ms_instance > spread.ms_error
    extra = np.where(counted, spread.ms_instance - spread.ms_error, 0.0) / (m * n)
    free = np.maximum(m - 1.0, 1.0)
    own = (spread.ms_instance / (m * n)) ** 2 / free + (spread.ms_error / (m * n)) ** 2 / (free * (n - 1.0))
    own = np.where(counted, own, 0.0)
    variance = se**2 + extra[:, ia] + extra[:, ib]
    uncertain = se**4 / (n - 1.0) + own[:, ia] + own[:, ib]
    positive = uncertain > 0.0
    df = np.where(positive, variance**2 / np.where(positive, uncertain, 1.0), n - 1.0)
    return mean, np.sqrt(variance), df


def unified_order(topic_se: float, spread: InstanceSpread, a: int, b: int) -> tuple[Order, Floats]:
    """Lines and order of the posterior that belongs to the unified test of a pair, and their weights in the variance.

    φ_d of the per-topic differences, φ_I ≥ φ_E of each system, φ_d ≥ Σ φ_E/M. The spread is that of one table.
    """
    n = spread.topics
    ss, df, weights = [topic_se**2 * n * (n - 1.0)], [n - 1.0], [1.0 / n]
    lower = [1.0]
    orders: list[tuple[int, int]] = []
    for k in (a, b):
        if spread.fixed[0, k]:
            continue
        m = float(spread.counts[0, k])
        at = len(ss)
        orders.append((at, at + 1))
        ss += [
            float(spread.ms_instance[0, k]) * (m - 1.0),
            float(spread.ms_error[0, k]) * (m - 1.0) * (n - 1.0),
        ]
        df += [m - 1.0, (m - 1.0) * (n - 1.0)]
        weights += [1.0 / (m * n), -1.0 / (m * n)]
        lower += [0.0, -1.0 / m]
    rows = [np.array(lower)]
    for up, down in orders:
        row = np.zeros(len(ss))
        row[up], row[down] = 1.0, -1.0
        rows.append(row)
    return Order(np.array(ss), np.array(df), np.array(rows)), np.array(weights)
