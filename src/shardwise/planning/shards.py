"""Designs with shards: what cutting the corpus buys, and for which claim.

A score is y = μ + topic + system + topic:system + shard + system:shard + topic:shard + error (F19, MD6). Only
the terms with a system in them blur a difference of systems, and the claim decides which of those count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.core import late
from shardwise.core.arrays import Floats
from shardwise.core.errors import Either, InputError
from shardwise.core.model import MD6
from shardwise.numerics.balanced import decompose
from shardwise.planning.topics import critical_f, designs, expected_width, power_exact

CLAIMS = {
    (): "these topics and these shards",
    ("topic",): "topics like these, on these shards",
    ("topic", "shard"): "topics like these and shards like these",
}


@dataclass(frozen=True, slots=True)
class ShardComponents:
    """Variances of the terms that blur a difference of systems on shards.

    ``negative`` names components whose estimate was below 0 and counts as 0.
    """

    topic_system: float
    system_shard: float
    error: float
    negative: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("topic_system", "system_shard", "error"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise InputError(f"{name} = {value:g}: a variance cannot be below 0", remedy="give 0 or more")
        if not self.topic_system + self.system_shard + self.error > 0:
            raise InputError("all variances are 0", remedy="there is nothing to design for")

    def plot(self) -> Any:
        """Draw the share of each variance: an altair chart."""
        return late.call("chart", self)


@dataclass(frozen=True, slots=True, eq=False)
class ShardDesign:
    """Topics needed for each number of shards, and the claim that they support.

    ``table`` has one row a number of shards: ``topics`` (missing where no number up to ``most_topics`` is
    enough), and at that number the standard error ``se`` of a difference, its ``df``, and the ``power`` or
    ``width`` reached.
    """

    table: pd.DataFrame
    claim: str
    goal: str
    most_topics: int
    note: str = ""

    def plot(self) -> Any:
        """Draw topics needed against shards: an altair chart."""
        return late.call("chart", self)

    def __str__(self) -> str:
        return f"{self.goal}; claim: {self.claim}{self.note}\n{self.table.to_string(index=False)}"


def shard_components(scores: xr.DataArray) -> ShardComponents:
    """Estimate the variances from the mean squares of MD6 on topic × system × shard scores.

    σ²_ts = (MS_ts - MS_e)/S, σ²_sk = (MS_sk - MS_e)/T, σ²_e = MS_e.

    >>> import numpy as np, xarray as xr
    >>> y = np.random.default_rng(1).normal(size=(40, 6, 5))
    >>> c = shard_components(xr.DataArray(y, dims=("topic", "system", "shard")))
    >>> round(c.error, 1)
    1.0
    """
    dims = ("topic", "system", "shard")
    if set(scores.dims) != set(dims):
        raise InputError(
            f"scores have the dimensions {', '.join(map(str, scores.dims)) or 'none'}, "
            "not topic, system and shard",
            remedy=("choose one split", Either(" with .isel(split=0)", "")),
        )
    y = np.asarray(scores.transpose(*dims).to_numpy(), dtype=float)
    if min(y.shape) < 2:
        raise InputError("fewer than 2 topics, systems or shards", remedy="each varies only if there are two")
    parts = decompose(y, dims, MD6.sets)
    if parts is None:
        raise InputError(
            f"{int((~np.isfinite(y)).sum())} scores are undefined",
            remedy=("fill them first, as with ", Either("fill_undefined(scores, 'zero')", "--fill zero")),
        )
    t, _, s = y.shape
    error = parts.ss_error / parts.df_error
    ms = {term: parts.ss[term] / parts.df[term] for term in parts.ss}
    raw = {
        "topic_system": (ms[frozenset({"topic", "system"})] - error) / s,
        "system_shard": (ms[frozenset({"system", "shard"})] - error) / t,
    }
    return ShardComponents(
        **{name: max(0.0, value) for name, value in raw.items()},
        error=error,
        negative=tuple(name for name, value in raw.items() if value < 0),
    )


def variance_and_df(
    c: ShardComponents, topics: Floats, shards: float, systems: float, generalize: tuple[str, ...]
) -> tuple[Floats, Floats]:
    """Variance of one system mean, as far as it blurs differences, and the df of its estimate.

    ``()``: σ²_e/(TS). ``("topic",)``: σ²_ts/T + σ²_e/(TS). ``("topic", "shard")``: adds σ²_sk/S, with
    Satterthwaite's df for MS(topic:system) + MS(system:shard) - MS(error).
    """
    t, s, r = topics, shards, systems
    df_e = (t - 1.0) * (r - 1.0) * (s - 1.0)
    if not generalize:
        return c.error / (t * s), df_e
    ms_ts, df_ts = s * c.topic_system + c.error, (t - 1.0) * (r - 1.0)
    if generalize == ("topic",):
        return ms_ts / (t * s), df_ts
    ms_sk, df_sk = t * c.system_shard + c.error, (r - 1.0) * (s - 1.0)
    v = ms_ts + ms_sk - c.error
    return v / (t * s), v**2 / (ms_ts**2 / df_ts + ms_sk**2 / df_sk + c.error**2 / df_e)


def design_for_shards(
    source: ShardComponents | xr.DataArray | Mapping[int, ShardComponents],
    *,
    min_diff: float | None = None,
    width: float | None = None,
    shards: Iterable[int] | None = None,
    systems: int = 2,
    alpha: float = 0.05,
    power: float = 0.8,
    generalize: tuple[str, ...] = ("topic",),
    most_topics: int = 10_000,
) -> ShardDesign:
    """Find how the number of topics falls, or does not, with the number of shards, for a stated claim.

    The goal is either to find a range of ``min_diff`` among the systems with the given power (F test), or
    an interval for a difference with expected ``width``. The same components are used for every number of
    shards, which is right for adding shards of the same size; where one corpus is cut ever finer, give a
    mapping from number of shards to the components measured there.

    >>> c = ShardComponents(topic_system=.0064, system_shard=.000025, error=.0036)
    >>> print(design_for_shards(c, min_diff=.03, shards=[1, 2, 5, 20]))
    power 0.8 to find 0.03 among 2 systems at alpha 0.05; claim: topics like these, on these shards
     shards  topics       se    df    power
          1     177 0.010630 176.0 0.801458
          2     145 0.010635 144.0 0.800120
          5     127 0.010589 126.0 0.802761
         20     117 0.010606 116.0 0.801012
    """
    if (min_diff is None) == (width is None):
        raise InputError("give either min_diff or width", remedy="a design needs one goal")
    if generalize not in CLAIMS:
        raise InputError(
            f"no claim generalizes over {generalize!r}",
            remedy='choose (), ("topic",) or ("topic", "shard")',
        )
    each = components_by_shards(source, shards)
    checked = {"systems": systems, "alpha": alpha, "n": most_topics}
    if min_diff is not None:
        checked |= {"min_diff": min_diff, "power": power}
        goal = f"power {power:g} to find {min_diff:g} among {systems} systems at alpha {alpha:g}"
    if width is not None:
        checked |= {"width": width}
        goal = f"an interval of expected width {width:g} at alpha {alpha:g}, {systems} systems"
    designs(variance=1.0, difference_variance=None, **checked)

    topics = np.arange(2.0, most_topics + 1.0)
    quantity = "power" if width is None else "width"
    rows: list[dict[str, Any]] = []
    for s, c in each.items():
        if s == 1 and generalize != ("topic",):  # one shard says nothing about how shards vary
            rows.append({"shards": s, "topics": pd.NA})
            continue
        v, df = variance_and_df(c, topics, float(s), float(systems), generalize)
        level = np.full_like(df, alpha)
        if width is not None:
            reached = expected_width(np.sqrt(2.0 * v), df, level)
            enough = reached <= width
        else:
            phi_a = np.full_like(df, systems - 1.0)
            lam = least_noncentrality(min_diff or 0.0, v)
            reached = power_exact(lam, phi_a, df, critical_f(phi_a, df, level))
            enough = reached >= power
        # Satterthwaite's df may fall as topics are added, and power with them: so look, do not bisect
        if not enough.any():
            rows.append({"shards": s, "topics": pd.NA})
            continue
        first = int(np.argmax(enough))
        at = {"se": np.sqrt(2.0 * v[first]), "df": df[first], quantity: reached[first]}
        rows.append({"shards": s, "topics": int(topics[first]), **at})
    negative = sorted({name for c in each.values() for name in c.negative})
    return ShardDesign(
        table=pd.DataFrame(rows, columns=["shards", "topics", "se", "df", quantity]).astype(
            {"topics": "Int64"}
        ),
        claim=CLAIMS[generalize],
        goal=goal,
        most_topics=most_topics,
        note=f" (counted as 0, as estimated below 0: {', '.join(negative)})" if negative else "",
    )


def least_noncentrality(min_diff: float, v: Floats) -> Floats:
    """λ when best and worst differ by min_diff and all others lie between: minD²/(2 Var(mean)) (S14 §3.1)."""
    with np.errstate(divide="ignore"):
        return np.asarray(min_diff**2 / (2.0 * v))


def components_by_shards(
    source: ShardComponents | xr.DataArray | Mapping[int, ShardComponents], shards: Iterable[int] | None
) -> dict[int, ShardComponents]:
    """Components for each number of shards asked for."""
    if isinstance(source, Mapping):
        counts = list(source) if shards is None else list(shards)
        absent = [s for s in counts if s not in source]
        if absent:
            raise InputError(
                f"no components for {absent[0]} shards", remedy="measure them there, or leave it out"
            )
        each = {s: source[s] for s in counts}
    else:
        own = shard_components(source) if isinstance(source, xr.DataArray) else source
        each = dict.fromkeys((1, 2, 3, 4, 5, 10, 20) if shards is None else shards, own)
    for s in each:
        if s < 1 or s != int(s):
            raise InputError(f"{s} shards: it must be a whole number, 1 or more", remedy="try 5")
    return each
