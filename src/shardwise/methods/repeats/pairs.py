"""Join the scores of two systems, matched by topic: who has which instances, who is deterministic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.core.arrays import Floats
from shardwise.core.errors import Either, InputError, Option, Part
from shardwise.core.scores import DETERMINISTIC, level_names

Source = xr.DataArray | pd.DataFrame | pd.Series


def join_pair(a: Source, b: Source, *complete: Part, replicated: bool = False) -> xr.DataArray:
    """Return the scores of two systems by topic, system and instance, NaN where one lacks an instance.

    A deterministic system has its scores at one instance, and a flag. Missing scores are refused where ``complete``
    says what else to use; ``replicated`` asks for a second instance of a system that is not deterministic.
    """
    same = getattr(a, "name", None) == getattr(b, "name", None)  # the measure's then, not the systems'
    systems = _read_system(a, "a", not same), _read_system(b, "b", not same)
    names, fixed = (
        [system.name for system in systems],
        [bool(system.attrs[DETERMINISTIC]) for system in systems],
    )
    topics, others = (level_names(system, "topic") for system in systems)
    labels = [level_names(system, "instance") for system in systems]
    if names[0] == names[1]:
        raise InputError(f"both systems are called {names[0]!r}", remedy="give each its own name")
    if set(topics) != set(others):
        odd = sorted(set(topics) ^ set(others))
        raise InputError(
            f"the systems do not have the same topics: {', '.join(odd[:5])} is in one only",
            remedy="select the topics that both have",
        )
    if len(topics) < 2:
        raise InputError(f"{len(topics)} topic is too few for a test over topics", remedy="give at least two")
    values = systems[0].to_numpy(), systems[1].to_numpy()[:, [others.index(topic) for topic in topics]]
    instances = list(dict.fromkeys([*labels[0], *labels[1]]))
    y = np.full((len(topics), 2, len(instances)), np.nan)
    for k in range(2):
        lost = ~np.isfinite(values[k])
        if complete and lost.any():
            topic = topics[int(lost.any(axis=0).argmax())]
            raise InputError(
                f"{int(lost.sum())} scores of {names[k]} are missing, first topic {topic}",
                remedy=("drop these topics, or use ", *complete),
            )
        y[:, k, [instances.index(label) for label in labels[k]]] = values[k].T
    alone = [name for name, own, flag in zip(names, labels, fixed, strict=True) if len(own) < 2 and not flag]
    if replicated and alone and max(map(len, labels)) < 2:
        raise InputError(
            f"{alone[0]} has a single instance, which does not show how instances vary",
            remedy=(
                "give more; if it is deterministic, ",
                Either("drop the dimension: scores.squeeze('instance')", "name it with --deterministic"),
                "; if each score was sampled independently, say ",
                Option("repeats", "samples"),
            ),
        )
    coords: dict[str, Any] = {"topic": list(topics), "system": names, "instance": instances}
    coords[DETERMINISTIC] = ("system", fixed)
    return xr.DataArray(y, dims=("topic", "system", "instance"), coords=coords)


def own_scores(both: xr.DataArray) -> list[Floats]:
    """(M, N) scores of each of two systems at the instances that it has."""
    return [y[np.isfinite(y).any(axis=1)] for y in both.transpose("system", "instance", "topic").to_numpy()]


def subtract_instances(both: xr.DataArray) -> Floats:
    """(M, N) differences instance by instance; a deterministic system meets all of the other's."""
    a, b = own_scores(both)
    if not both[DETERMINISTIC].any() and len(a) != len(b):
        raise InputError(
            f"{len(a)} and {len(b)} instances cannot be paired",
            remedy=(
                "use ",
                Either("reading='averaged' or method='mixed', which need", "--method mixed, which needs"),
                " no pairs",
            ),
        )
    return a - b


def _read_system(source: Source, name: str, own_name: bool) -> xr.DataArray:
    """Return the scores of a system by instance and topic, under its name and with a flag if it is deterministic."""
    if isinstance(source, pd.Series):
        coords = {"topic": source.index.to_numpy()}
        source = xr.DataArray(source.to_numpy(dtype=float), dims=("topic",), coords=coords, name=source.name)
    elif isinstance(source, pd.DataFrame):
        table = {"topic": source.index.to_numpy(), "instance": [str(column) for column in source.columns]}
        source = xr.DataArray(source.to_numpy(dtype=float), dims=("topic", "instance"), coords=table)
    if not isinstance(source, xr.DataArray) or set(source.dims) not in ({"topic"}, {"topic", "instance"}):
        dims_found = ", ".join(map(str, getattr(source, "dims", ()))) or type(source).__name__
        raise InputError(
            f"{name} has {dims_found} instead of the dimensions instance and topic",
            remedy=(
                "choose one system and one measure",
                Either(", as in scores['AP'].sel(system='bm25')", ""),
            ),
        )
    flag = DETERMINISTIC in source.coords and bool(source[DETERMINISTIC].item())
    fixed = flag or "instance" not in source.dims
    title = str((own_name and source.name) or name)
    if "system" in source.coords:
        title = str(source["system"].item())
    # the scores of a single instance may have kept its name
    if "instance" in source.dims:
        labels = level_names(source, "instance")
    else:
        labels = (str(source["instance"].item()) if "instance" in source.coords else "0",)
    y = np.atleast_2d(np.asarray(source.to_numpy(), dtype=float))  # by numpy: labels are dear to move
    y = y.T if source.dims == ("topic", "instance") else y
    present = np.flatnonzero(np.isfinite(y).any(axis=1))
    if not present.size or np.isinf(y).any():
        problem = "an infinite score" if present.size else "no scores"
        raise InputError(f"{title} has {problem}", remedy="mend it or leave it out")
    if flag and not all(np.array_equal(y[present[0]], y[k], equal_nan=True) for k in present):
        raise InputError(
            f"{title} is flagged deterministic, but its instances differ", remedy="remove the flag"
        )
    present = present[:1] if fixed else present
    coords = {"topic": list(level_names(source, "topic")), "instance": [labels[k] for k in present]}
    return xr.DataArray(
        y[present], dims=("instance", "topic"), coords=coords, name=title, attrs={DETERMINISTIC: fixed}
    )
