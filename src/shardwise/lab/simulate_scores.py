"""Score tables with a known truth: from chosen variances, or like scores that one has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shardwise.core.arguments import validate_choice
from shardwise.core.arrays import Floats, Ints, make_generator
from shardwise.core.claim import Claim, pluralize_noun
from shardwise.core.errors import InputError, Option, refuse_unknown
from shardwise.core.libraries import xr
from shardwise.core.scores import DETERMINISTIC, Scores, as_scores
from shardwise.core.variance_components import VarianceComponents
from shardwise.lab.scenarios.base import Scenario, check_layout, effects_of, normal_scenario
from shardwise.lab.scenarios.bounded import correlation_root, margins_scenario, normal_scores
from shardwise.lab.scenarios.margins import distribution_margins, fit_margins
from shardwise.methods.anova.fit import complete_table, components_of, variance_components

MarginKind = Literal["normal", "beta", "discrete", "kernel", "auto"]
KINDS = ("normal", "beta", "discrete", "kernel", "auto")
MEAN, TOPICS, SYSTEMS = 0.3, 50, 10  # where nothing is said
# what AP of a large campaign looks like, roughly
USUAL = VarianceComponents.of(
    {
        "topic": 0.2,
        "topic:system": 0.08,
        "topic:shard": 0.1,
        "system:shard": 0.005,
        "system:instance": 0.02,
        "system": 0.05,
        "error": 0.06,
    },
    kind="sd",
)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SimulationOptions:
    """What tables to draw: how large, with what truth, from what distribution."""

    topics: int | None = None
    systems: int | None = None
    shards: int | None = None
    instances: int | None = None
    splits: int | None = None
    sd: VarianceComponents | Mapping[str, float] | None = None
    mean: float | None = None
    effects: float | str | npt.ArrayLike = 0.0
    margins: MarginKind = "normal"
    generalize: Claim | str | Iterable[str] | None = ("topic",)
    deterministic: int = 0
    seed: int = 0


def simulate_scores(source: Any = None, **options: Any) -> xr.DataArray:
    """Draw one score table whose true system means are known.

    The truth, in the order of the systems, and the settings are in ``.attrs``.

    Parameters
    ----------
    source : object
        Scores in any form that `as_scores` takes, whose sizes, variances and margins are then used, or variance
        components; without it ``sd`` gives the standard deviations.
    **options
        What tables to draw, by the names that follow.
    topics, systems, shards, instances, splits : int, optional
        Sizes: those of the source unless given; without a source 50 topics, 10 systems and nothing else.
    sd : mapping or VarianceComponents, optional
        Standard deviations of effects by name, as ``{"topic": .2, "topic:system": .08, "error": .06}``.
    mean : float, optional
        Mean of all systems: that of the source, or .3.
    effects : float, array or "like", optional
        What systems differ by. 0, the default, plants no difference; a number d puts the first system d above the last
        and all others halfway; an array is added to the mean; "like" takes the system means of the source.
    margins : str, optional
        Distribution of a system's scores: "normal", the default, or a bounded one: "beta", "discrete" (few values),
        "kernel", or "auto", which are estimated from scores.
    generalize : Claim, names or text, optional
        What is sampled anew, "topic" unless said otherwise; the truth is about it, and about all else as it is.
    deterministic : int, optional
        How many systems, the last ones, have instances that are copies.
    seed : int, optional
        Where the random numbers start.

    Returns
    -------
    DataArray
        Scores, with what they were drawn from as attributes.

    >>> y = simulate_scores(topics=30, systems=4, shards=3, effects=.1, seed=1)
    >>> y.dims, y.attrs["truth"]
    (('topic', 'system', 'shard'), (0.35, 0.3, 0.3, 0.25))
    >>> y.attrs["claim"]
    'new topics like these, exactly these shards'
    """
    names_of_options = [field.name for field in fields(SimulationOptions)]
    for name in options:
        if name not in names_of_options:
            raise refuse_unknown("option", name, names_of_options)
    asked = SimulationOptions(**options)
    if source is not None and not isinstance(source, VarianceComponents):
        source = as_scores(source)
    made = build_scenario(source, asked)
    names = None
    if isinstance(source, Scores):
        drawn = _draw_systems(source.sizes["system"], asked)
        if drawn is not None and source.systems != tuple(map(str, range(len(source.systems)))):
            names = [source.systems[j] for j in drawn]
    y = made.draw(0, 1, asked.seed)[0]
    sizes = dict(zip(made.dims, made.shape, strict=True))
    width = len(str(sizes["system"]))
    firsts = {"topic": 1, "instance": 1, "shard": 0}
    coords: dict[str, object] = {
        dim: [str(first + k) for k in range(sizes[dim])] for dim, first in firsts.items() if dim in sizes
    }
    coords |= {"split": np.arange(sizes["split"])} if "split" in sizes else {}
    coords["system"] = names or [f"sys{k + 1:0{width}d}" for k in range(sizes["system"])]
    truth = tuple(float(value) for value in made.truth)
    attrs = {"truth": truth, "claim": made.claim.short(made.dims), "scenario": made.name, "seed": asked.seed}
    if "components" in made.facts:
        attrs["components"] = str(made.facts["components"])
    if "margins" in made.facts:
        attrs["margins"] = made.facts["margins"].family
    out = xr.DataArray(y, dims=made.dims, coords=coords, attrs=attrs, name="score")
    # a deterministic system is flagged as such
    flags = made.facts.get("deterministic")
    return out if flags is None else out.assign_coords({DETERMINISTIC: ("system", flags)})


def build_scenario(source: Any = None, options: SimulationOptions | None = None) -> Scenario:
    """Return the scenario that `simulate_scores` draws its table from.

    >>> made = build_scenario(options=SimulationOptions(topics=20, systems=3, shards=2, generalize="topic+shard"))
    >>> made.draw(0, 5, seed=1).shape, made.truth.tolist()
    ((5, 20, 3, 2), [0.3, 0.3, 0.3])
    """
    asked = options or SimulationOptions()
    validate_choice(asked.margins, "margins", KINDS)
    if asked.sd is not None and source is not None:
        raise InputError("both a source and sd say how scores vary", remedy="give one of them")
    table = y = None
    if not (source is None or isinstance(source, VarianceComponents)):
        table, y = complete_table(source)
    # dimensions, sizes and claim are those of the source where nothing else is asked for
    wanted = {dim: getattr(asked, f"{dim}s") for dim in ("split", "topic", "system", "shard", "instance")}
    if table is not None:
        for dim, size in wanted.items():
            if size is not None and dim not in table.dims:
                raise InputError(
                    f"the source has no {pluralize_noun(dim)} to go by",
                    remedy=(
                        f"give scores with several {pluralize_noun(dim)}, or variances by ",
                        Option("sd"),
                    ),
                )
        dims = table.dims
        sizes = {dim: wanted[dim] or table.sizes[dim] for dim in dims}
    else:
        if wanted["shard"] and wanted["instance"]:
            raise InputError("scores have shards or instances, not both", remedy="leave one out")
        if wanted["split"] and not wanted["shard"]:
            raise InputError("splits need shards", remedy="say how many shards each split has")
        chosen = {**wanted, "topic": wanted["topic"] or TOPICS, "system": wanted["system"] or SYSTEMS}
        sizes = {dim: size for dim, size in chosen.items() if size is not None}
        dims = tuple(sizes)
    claim = Claim.of(asked.generalize, table.nouns if table is not None else None)
    shape = tuple(sizes[dim] for dim in dims)
    check_layout(dims, shape, claim)
    axis, flags = dims.index("system"), None
    r = shape[axis]
    if asked.deterministic:
        if "instance" not in dims or not 0 < asked.deterministic < r:
            raise InputError(
                f"{asked.deterministic} of {r} systems are deterministic",
                remedy="give fewer than there are systems, and say how many instances the others have",
            )
        flags = np.arange(r) >= r - asked.deterministic
    if table is None or y is None:
        given = USUAL if asked.sd is None else asked.sd
        given = given if isinstance(given, VarianceComponents) else VarianceComponents.of(given, kind="sd")
        components = source or given
        usual = MEAN if components.mean is None else components.mean
        components = replace(components, mean=usual if asked.mean is None else asked.mean)
        means = _true_means(asked, float(components.mean or 0.0), r, None, components)
        if asked.margins == "normal":
            return normal_scenario(means, components, dims, shape, claim, flags)
        total = sum(components.only(effects_of(dims)).values())
        fits, latent, root = distribution_margins(means, total, asked.margins), components, None
    else:
        components, drawn = variance_components(table), _draw_systems(y.shape[axis], asked)
        own_means = None
        if drawn is not None:
            y = np.take(y, drawn, axis=axis)
            own_means = y.mean(axis=tuple(k for k in range(y.ndim) if k != axis))
        centre = float(y.mean() if own_means is None else own_means.mean())
        centre = centre if asked.mean is None else asked.mean
        means = _true_means(asked, centre, r, own_means, components)
        if asked.margins == "normal":
            return normal_scenario(means, replace(components, mean=centre), dims, shape, claim, flags)
        if drawn is None:
            raise InputError(
                f"the source has margins for {y.shape[axis]} systems, not {r}",
                remedy=("ask for no more, or use ", Option("margins", "normal")),
            )
        fits = fit_margins(np.moveaxis(y, axis, -1).reshape(-1, r), asked.margins)
        latent = components_of(normal_scores(y, axis), dims)
        plain = dims == ("topic", "system") and claim == Claim("topic")
        root = correlation_root(y, fits) if plain else None
    return margins_scenario(
        means, fits, latent, dims, shape, claim, root=root, deterministic=flags, seed=asked.seed
    )


def _draw_systems(n_available: int, asked: SimulationOptions) -> Ints | None:
    """Choose the source's systems to simulate; a random choice if fewer are asked for, none if more."""
    if asked.systems is None or asked.systems == n_available:
        return np.arange(n_available)
    if asked.systems > n_available:
        return None
    return np.sort(make_generator(asked.seed, 0, 2).choice(n_available, asked.systems, replace=False))


def _true_means(
    asked: SimulationOptions,
    centre: float,
    r: int,
    system_means: Floats | None,
    components: VarianceComponents,
) -> Floats:
    """Return (R,) true means."""
    if isinstance(asked.effects, str):
        if asked.effects != "like":
            raise InputError(f"there are no effects {asked.effects!r}", remedy='give numbers, or "like"')
        if system_means is None:
            system_means = make_generator(asked.seed, 0, 1).normal(0.0, components.sd("system"), r)
        return np.asarray(centre + system_means - system_means.mean())
    planted = np.asarray(asked.effects, dtype=float)
    if planted.ndim == 0:
        planted = np.concatenate([[planted / 2.0], np.zeros(r - 2), [-planted / 2.0]])
    if planted.shape != (r,) or not np.isfinite(planted).all():
        raise InputError(
            f"{planted.size} effects for {r} systems", remedy="give one number, or one for each system"
        )
    return np.asarray(centre + planted)
