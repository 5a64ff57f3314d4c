"""Score tables with a known truth: from chosen variances, or like scores that one has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import InputError, Option
from shardwise.core.rng import generator
from shardwise.fits.components import (
    ScoreComponents,
    checked_scores,
    layout_of,
    score_components,
    variances_of,
)
from shardwise.io.instances import DETERMINISTIC
from shardwise.lab.worlds.base import SAMPLED, NormalWorld, World, check_layout, claim_of, effects_of
from shardwise.lab.worlds.bounded import MarginsWorld, margins_world
from shardwise.lab.worlds.copula import correlation_root, normal_scores
from shardwise.lab.worlds.margin_fits import fit_margins, law_margins

Source = xr.DataArray | pd.DataFrame | ScoreComponents | None
MarginKind = Literal["normal", "beta", "discrete", "kernel", "auto"]
KINDS = ("normal", "beta", "discrete", "kernel", "auto")
# what AP of a large campaign looks like, roughly
USUAL = ScoreComponents(topic=0.2, topic_system=0.08, topic_shard=0.1, system_shard=0.005, instance=0.02,
                        system=0.05, error=0.06)  # fmt: skip


def simulate_scores(
    source: Source = None,
    *,
    topics: int | None = None,
    systems: int | None = None,
    shards: int | None = None,
    instances: int | None = None,
    splits: int | None = None,
    sd: ScoreComponents | Mapping[str, float] | None = None,
    mean: float | None = None,
    effects: float | str | Floats = 0.0,
    margins: MarginKind = "normal",
    generalize: tuple[str, ...] = ("topic",),
    deterministic: int = 0,
    seed: int = 0,
) -> xr.DataArray:
    """Draw one score table whose true system means are known.

    ``source`` may be scores, whose sizes, variances and margins are then used, or their components. Without it
    ``sd`` gives the standard deviations, 50 topics and 10 systems being the default. ``effects``: 0 plants no
    difference, a number d puts the first system d above the last and all others halfway, an array is added to
    ``mean``, and "like" takes the system means of the source. ``margins``: "normal", or bounded ones: "beta",
    "discrete", "kernel", or "auto", estimated from scores. ``generalize`` says what is sampled anew; the truth holds
    for what is not as well. The last ``deterministic`` systems have instances that are copies.

    The truth, in the order of the systems, and the settings are in ``.attrs``.

    >>> y = simulate_scores(topics=30, systems=4, shards=3, effects=.1, seed=1)
    >>> y.dims, y.attrs["truth"]
    (('topic', 'system', 'shard'), (0.35, 0.3, 0.3, 0.25))
    >>> y.attrs["claim"]
    'topics like these, these shards'
    """
    made = world(source, topics=topics, systems=systems, shards=shards, instances=instances, splits=splits, sd=sd,
                 mean=mean, effects=effects, margins=margins, generalize=generalize, deterministic=deterministic,
                 seed=seed)  # fmt: skip
    names = None
    scores = _table(source)
    if scores is not None and "system" in scores.coords:
        chosen = _chosen(scores.sizes["system"], systems, seed)
        if chosen is not None:
            names = [str(name) for name in scores["system"].to_numpy()[chosen]]
    return labelled(made, seed, names)


def labelled(made: World, seed: int, systems: list[str] | None = None) -> xr.DataArray:
    """The first table of a world with names on it; a deterministic system is flagged as such."""
    y = made.draw(0, 1, seed)[0]
    sizes = dict(zip(made.dims, made.shape, strict=True))
    width = len(str(sizes["system"]))
    coords: dict[str, object] = {
        dim: [str(k + 1) for k in range(size)] for dim, size in sizes.items() if dim in ("topic", "instance")
    }
    coords |= {dim: [str(k) for k in range(size)] for dim, size in sizes.items() if dim == "shard"}
    coords |= {dim: np.arange(size) for dim, size in sizes.items() if dim == "split"}
    coords["system"] = systems or [f"sys{k + 1:0{width}d}" for k in range(sizes["system"])]
    attrs = {
        "truth": tuple(float(value) for value in made.truth),
        "claim": claim_of(made.dims, made.generalize),
        "world": made.name,
        "seed": seed,
    }
    if isinstance(made, NormalWorld):
        attrs["components"] = str(made.sd)
    if isinstance(made, MarginsWorld):
        attrs["margins"] = made.margins.family
    out = xr.DataArray(y, dims=made.dims, coords=coords, attrs=attrs, name="score")
    flags = getattr(made, "deterministic", None)
    return out if flags is None else out.assign_coords({DETERMINISTIC: ("system", flags)})


def world(
    source: Source = None,
    *,
    topics: int | None = None,
    systems: int | None = None,
    shards: int | None = None,
    instances: int | None = None,
    splits: int | None = None,
    sd: ScoreComponents | Mapping[str, float] | None = None,
    mean: float | None = None,
    effects: float | str | Floats = 0.0,
    margins: MarginKind = "normal",
    generalize: tuple[str, ...] = ("topic",),
    deterministic: int = 0,
    seed: int = 0,
) -> NormalWorld | MarginsWorld:
    """Return the world that ``simulate_scores`` draws its table from, with the same arguments.

    >>> made = world(topics=20, systems=3, shards=2, generalize=("topic", "shard"))
    >>> made.draw(0, 5, seed=1).shape, made.truth.tolist()
    ((5, 20, 3, 2), [0.3, 0.3, 0.3])
    """
    if margins not in KINDS:
        raise InputError(f"there are no margins {margins!r}", remedy=f"choose from {', '.join(KINDS)}")
    scores = _table(source)
    if sd is not None and source is not None:
        raise InputError("both a source and sd say how scores vary", remedy="give one of them")
    asked = {"split": splits, "topic": topics, "system": systems, "shard": shards, "instance": instances}
    dims, shape = _layout(scores, asked)
    over = tuple(dim for dim in SAMPLED if dim in generalize)
    check_layout(dims, shape, tuple(generalize))
    r = shape[dims.index("system")]
    flags = _flags(deterministic, r, dims)
    if scores is None:
        own = source if isinstance(source, ScoreComponents) else _given(sd)
        own = own if mean is None else replace(own, mean=mean)
        means = _means(effects, own.mean, r, None, own, seed)
        if margins == "normal":
            return NormalWorld(means, own, dims, shape, over, flags)
        inside = {name: v for name, v in variances_of(own).items() if name in effects_of(dims)}
        laws = law_margins(means, sum(inside.values()), margins)
        return margins_world(means, laws, own, dims, shape, over, deterministic=flags, seed=seed)

    own, y, axis = score_components(scores), checked_scores(scores), dims.index("system")
    chosen = _chosen(y.shape[axis], systems, seed)
    if chosen is not None:
        y = np.take(y, chosen, axis=axis)
    found = y.mean(axis=tuple(k for k in range(y.ndim) if k != axis)) if chosen is not None else None
    centre = mean if mean is not None else own.mean if found is None else float(found.mean())
    means = _means(effects, centre, r, found, own, seed)
    if margins == "normal":
        return NormalWorld(means, replace(own, mean=centre), dims, shape, over, flags)
    if chosen is None:
        raise InputError(
            f"the source has margins for {y.shape[axis]} systems, not {r}",
            remedy=("ask for no more, or use ", Option("margins", "normal")),
        )
    fits = fit_margins(np.moveaxis(y, axis, -1).reshape(-1, r), margins)
    latent = score_components(xr.DataArray(normal_scores(y, axis), dims=dims))
    root = correlation_root(y, fits) if dims == ("topic", "system") and over == ("topic",) else None
    return margins_world(means, fits, latent, dims, shape, over, root=root, deterministic=flags, seed=seed)


def _table(source: Source) -> xr.DataArray | None:
    """Scores in the package's order of dimensions, if the source is scores."""
    if source is None or isinstance(source, ScoreComponents):
        return None
    if isinstance(source, pd.DataFrame):
        coords = {"topic": source.index.to_numpy(), "system": [str(name) for name in source.columns]}
        source = xr.DataArray(source.to_numpy(dtype=float), dims=("topic", "system"), coords=coords)
    return source.transpose(*layout_of(source))


def _given(sd: ScoreComponents | Mapping[str, float] | None) -> ScoreComponents:
    if sd is None:
        return USUAL
    return sd if isinstance(sd, ScoreComponents) else ScoreComponents.of(sd)


def _layout(
    scores: xr.DataArray | None, asked: dict[str, int | None]
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Dimensions and sizes: those of the source where nothing else is asked for."""
    if scores is not None:
        for dim, size in asked.items():
            if size is not None and dim not in scores.dims:
                raise InputError(
                    f"the source has no {dim}s to go by",
                    remedy=(f"give scores with several {dim}s, or variances by ", Option("sd")),
                )
        dims = tuple(str(dim) for dim in scores.dims)
        sizes: dict[str, int | None] = {dim: asked[dim] or scores.sizes[dim] for dim in dims}
    else:
        if asked["shard"] and asked["instance"]:
            raise InputError("scores have shards or instances, not both", remedy="leave one out")
        if asked["split"] and not asked["shard"]:
            raise InputError("splits need shards", remedy="say how many shards each split has")
        sizes = {**asked, "topic": asked["topic"] or 50, "system": asked["system"] or 10}
        dims = tuple(dim for dim, size in sizes.items() if size is not None)
    return dims, tuple(sizes[dim] or 0 for dim in dims)


def _chosen(there: int, systems: int | None, seed: int) -> Ints | None:
    """Which of the source's systems to simulate; a random choice if fewer are asked for, none if more."""
    if systems is None or systems == there:
        return np.arange(there)
    if systems > there:
        return None
    return np.sort(generator(seed, 0, 2).choice(there, systems, replace=False))


def _means(
    effects: float | str | Floats,
    centre: float,
    r: int,
    found: Floats | None,
    own: ScoreComponents,
    seed: int,
) -> Floats:
    """(R,) true means."""
    if isinstance(effects, str):
        if effects != "like":
            raise InputError(f"there are no effects {effects!r}", remedy='give numbers, or "like"')
        if found is None:
            found = generator(seed, 0, 1).normal(0.0, own.system, r)
        return np.asarray(centre + found - found.mean())
    planted = np.asarray(effects, dtype=float)
    if planted.ndim == 0:
        planted = np.concatenate([[planted / 2.0], np.zeros(r - 2), [-planted / 2.0]])
    if planted.shape != (r,) or not np.isfinite(planted).all():
        raise InputError(
            f"{planted.size} effects for {r} systems", remedy="give one number, or one for each system"
        )
    return np.asarray(centre + planted)


def _flags(deterministic: int, r: int, dims: tuple[str, ...]) -> Bools | None:
    if not deterministic:
        return None
    if "instance" not in dims or not 0 < deterministic < r:
        raise InputError(
            f"{deterministic} of {r} systems are deterministic",
            remedy="give fewer than there are systems, and say how many instances the others have",
        )
    return np.arange(r) >= r - deterministic
