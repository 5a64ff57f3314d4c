"""Two systems' scores, matched by topic: who has which instances, who is deterministic."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.core.arrays import Floats
from shardwise.core.errors import Either, InputError, Option, Part
from shardwise.core.scores import DETERMINISTIC, level_names

Source = xr.DataArray | pd.DataFrame | pd.Series


@dataclass(frozen=True, slots=True, eq=False)
class InstancePair:
    """(M, N) scores of two systems on the same topics; a deterministic one has M = 1."""

    names: tuple[str, str]
    topics: tuple[str, ...]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    a: Floats
    b: Floats
    deterministic: tuple[bool, bool]

    @property
    def n(self) -> int:
        """Number of topics."""
        return len(self.topics)

    @property
    def counts(self) -> tuple[int, int]:
        """Number of instances of each."""
        return len(self.a), len(self.b)

    def complete(self, *instead: Part) -> InstancePair:
        """The same, or a refusal if a score is missing."""
        for name, y in zip(self.names, (self.a, self.b), strict=True):
            lost = ~np.isfinite(y)
            if lost.any():
                topic = self.topics[int(lost.any(axis=0).argmax())]
                raise InputError(
                    f"{int(lost.sum())} scores of {name} are missing, first topic {topic}",
                    remedy=("drop these topics, or use ", *instead),
                )
        return self

    def without_copies(self) -> InstancePair:
        """Return the same, where a system whose instances are all identical is deterministic."""
        alike = [np.array_equal(y, np.broadcast_to(y[:1], y.shape), equal_nan=True) for y in (self.a, self.b)]
        fixed = tuple(
            f or (len(y) > 1 and same)
            for f, y, same in zip(self.deterministic, (self.a, self.b), alike, strict=True)
        )
        a, b = (y[:1] if f else y for f, y in zip(fixed, (self.a, self.b), strict=True))
        labels = tuple(each[: len(y)] for each, y in zip(self.labels, (a, b), strict=True))
        return replace(self, a=a, b=b, labels=(labels[0], labels[1]), deterministic=(fixed[0], fixed[1]))

    def replicated(self) -> InstancePair:
        """The same, or a refusal if no system that is not deterministic has a second instance to go by."""
        alone = [
            name
            for name, m, fixed in zip(self.names, self.counts, self.deterministic, strict=True)
            if m < 2 and not fixed
        ]
        if alone and max(self.counts) < 2:
            raise InputError(
                f"{alone[0]} has a single instance, which does not show how instances vary",
                remedy=(
                    "give more; if it is deterministic, ",
                    Either("drop the dimension: scores.squeeze('instance')", "name it with --deterministic"),
                    "; if each score was sampled independently, say ",
                    Option("repeats", "samples"),
                ),
            )
        return self

    def values(self) -> Floats:
        """(topics, 2, instances) scores of both, under common instances; NaN where a system lacks one."""
        if self.labels[0] == self.labels[1]:
            return np.stack([self.a.T, self.b.T], axis=1)
        instances = list(dict.fromkeys([*self.labels[0], *self.labels[1]]))
        position = {label: k for k, label in enumerate(instances)}
        y = np.full((self.n, 2, len(instances)), np.nan)
        for k, values in enumerate((self.a, self.b)):
            y[:, k, [position[label] for label in self.labels[k]]] = values.T
        return y

    def scores(self) -> xr.DataArray:
        """The same with names, and who is deterministic where one is."""
        coords: dict[str, Any] = {"system": list(self.names)}
        if any(self.deterministic):
            coords[DETERMINISTIC] = ("system", list(self.deterministic))
        return xr.DataArray(self.values(), dims=("topic", "system", "instance"), coords=coords)

    def topic_differences(self) -> Floats:
        """(N',) differences of per-topic means, on topics that both have."""
        both = np.isfinite(self.a).any(axis=0) & np.isfinite(self.b).any(axis=0)
        return np.asarray(np.nanmean(self.a[:, both], axis=0) - np.nanmean(self.b[:, both], axis=0))

    def paired_instances(self) -> Floats:
        """(M, N) differences instance by instance; a deterministic system meets all of the other's."""
        if not any(self.deterministic) and len(self.a) != len(self.b):
            raise InputError(
                f"{self.counts[0]} and {self.counts[1]} instances cannot be paired",
                remedy=(
                    "use ",
                    Either("reading='averaged' or method='mixed', which need", "--method mixed, which needs"),
                    " no pairs",
                ),
            )
        return self.a - self.b

    def single(self, instance: Any) -> InstancePair:
        """One instance of each system that is not deterministic, the first unless named."""
        parts, labels = [], []
        for name, y, instance_names, fixed in zip(
            self.names, (self.a, self.b), self.labels, self.deterministic, strict=True
        ):
            index = 0
            if instance is not None and not fixed:
                if str(instance) not in instance_names:
                    raise InputError(
                        f"{name} has no instance {instance}", remedy=f"it has {', '.join(instance_names[:5])}"
                    )
                index = instance_names.index(str(instance))
            parts.append(y[index : index + 1])
            labels.append((instance_names[index],))
        return replace(self, a=parts[0], b=parts[1], labels=(labels[0], labels[1]))


def pair_of(a: Source, b: Source) -> InstancePair:
    """Check two systems' scores and match their topics by name."""
    same = getattr(a, "name", None) == getattr(b, "name", None)  # the measure's then, not the systems'
    first, second = _read_system(a, "a", not same), _read_system(b, "b", not same)
    names = (first[0], second[0])
    if names[0] == names[1]:
        raise InputError(f"both systems are called {names[0]!r}", remedy="give each its own name")
    if set(first[1]) != set(second[1]):
        odd = sorted(set(first[1]) ^ set(second[1]))
        raise InputError(
            f"the systems do not have the same topics: {', '.join(odd[:5])} is in one only",
            remedy="select the topics that both have",
        )
    if len(first[1]) < 2:
        raise InputError(
            f"{len(first[1])} topic is too few for a test over topics", remedy="give at least two"
        )
    order = [second[1].index(topic) for topic in first[1]]
    return InstancePair(
        names, first[1], (first[2], second[2]), first[3], second[3][:, order], (first[4], second[4])
    )


def _read_system(
    source: Source, name: str, own_name: bool
) -> tuple[str, tuple[str, ...], tuple[str, ...], Floats, bool]:
    """Name, topics, instances, (M, N) scores and whether the system is deterministic."""
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
    y = np.atleast_2d(np.asarray(source.to_numpy(), dtype=float))  # by numpy: labels are dear to move
    y = y.T if source.dims == ("topic", "instance") else y
    present = np.isfinite(y).any(axis=1)
    title = str((own_name and source.name) or name)
    if "system" in source.coords:
        title = str(source["system"].item())
    if not present.any() or np.isinf(y).any():
        problem = "an infinite score" if present.any() else "no scores"
        raise InputError(f"{title} has {problem}", remedy="mend it or leave it out")
    y, labels = y[present], tuple(compress(_name_instances(source), present))
    if flag and not all(np.array_equal(y[0], row, equal_nan=True) for row in y[1:]):
        raise InputError(
            f"{title} is flagged deterministic, but its instances differ", remedy="remove the flag"
        )
    if fixed:
        y, labels = y[:1], labels[:1]
    return title, level_names(source, "topic"), labels, y, fixed


def _name_instances(source: xr.DataArray) -> tuple[str, ...]:
    """Names of the instances; the scores of a single one may have kept its name."""
    if "instance" in source.dims:
        return level_names(source, "instance")
    return (str(source["instance"].item()) if "instance" in source.coords else "0",)
