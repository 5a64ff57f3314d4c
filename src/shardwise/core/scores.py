"""Scores that know what they are, and the one gate to them.

Inside the package a score belongs to a topic and a system, perhaps to a shard, split, instance or task. Users say
question, model and seed; their words are kept as nouns and return in every sentence.

A score is *undefined* where it has no meaning for any system (a topic without relevant documents in a shard), and
*missing* where it has one that is not there (a seed not run, an empty cell). Undefined cells can be filled by a
policy; missing ones are left out or refused, and never invented.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shardwise.core import late
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import DIMENSIONS, format_count, pluralize_noun
from shardwise.core.errors import Either, InputError
from shardwise.core.libraries import pd, xr
from shardwise.core.measure import (
    BY_NAME,
    DECLARED,
    UNNAMED,
    WORDS,
    MeasureFacts,
    find_range,
    is_lower_better,
)

SECOND_WORDS = ("sample", "sample_id")
"""Words for an item that name repeats where another dimension has the items."""
ROLE_OF = {word: role for role, words in WORDS["dimensions"].items() for word in words.split()}
SUFFIXES = ("_name_or_path", "_id", "_name")
LARGEST = 1e100  # of scores; the largest of a table is no smaller than its inverse
FEW_LISTS = 3  # lists of numbers that are rather systems than items, where they are longer
NAMED = (*DIMENSIONS, "cluster")
"""What users have words of their own for."""

HUMAN, CLUSTER, TASK, DETERMINISTIC = "human", "cluster", "task", "deterministic"
SLICE_PREFIX = "slice:"
"""What stands before the name of a coordinate of slices that would otherwise be another's, such as split."""
RANGE, UNBOUNDED, LOWER_IS_BETTER = "range", "unbounded", "lower_is_better"
RANGE_FROM, DIRECTION_FROM = "range_from", "direction_from"
"""Names of coordinates and attributes by which an xarray says what `Scores` have as fields."""

Texts = npt.NDArray[np.object_]
Array = npt.NDArray[Any]


def lie_along(*dims: str, coordinate: str = "") -> dict[str, Any]:
    """Return what a field says that holds an array along dimensions, or several by name: these and its coordinate."""
    return {"along": dims, "coordinate": coordinate}


class LabelledScores(NamedTuple):
    """What an xarray says of scores of one measure, as a reader of files makes it without one."""

    name: str
    values: Floats
    dims: tuple[str, ...]
    labels: Mapping[str, Any]
    coordinates: Mapping[str, tuple[tuple[str, ...], Array]]
    attrs: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scores:
    """Scores with all that is known of them; every operation keeps every field.

    A new field that holds an array says which dimensions it lies along, and a new fact which attribute it is in an
    xarray: nothing else has to be touched.

    Parameters
    ----------
    values : array
        Scores; NaN where one is undefined or missing.
    dims : tuple of str
        What the axes are, in the canonical order.
    labels : mapping of str to tuple of str
        Names of the levels of each dimension.
    measure : MeasureFacts
        What the scores are of: name, range and direction, with how they are known.
    nouns : mapping of str to str
        The user's words for dimensions and clusters, where they differ from ours.
    clusters, tasks : array of str, optional
        The cluster and the task of each topic.
    slices : mapping of str to array of str
        Further labels of the topics, by which answers can be broken down.
    marks : mapping of str to (str, array of str)
        Labels of the levels of other dimensions, with the dimension that each lies along.
    people : array, optional
        (topic, system) scores by people beside those of a judge, NaN where nobody looked.
    deterministic : array of bool, optional
        Whether each system has copies of one instance.
    repeats, averaged : str
        What instances are, "seeds" or "samples", where the source says it; what was averaged first.
    votes : object
        What scores that are strengths fitted to votes know of these (`VoteScores`).
    unit_df, unit_scale : float, optional
        Where topics are clusters or tasks by now: degrees of freedom of a variance over them, and the spread of single
        items by which effect sizes are measured.
    unit_scope : str
        What a claim says of units beside their number.
    bounded : object
        Scores of the items that units are made of, mapped to [0, 1] (`BoundedScores`).
    undefined : int
        How many cells were undefined when the scores were computed from judgments.
    read_as : str
        What the reader of a file understood, in a line.
    facts : mapping
        What else the source says.

    >>> scores = as_scores({"gpt": {"q1": 1, "q2": 0}, "llama": {"q1": 0, "q2": 0}})
    >>> scores.labels["system"], scores.measure.range, scores.mean("topic").values.tolist()
    (('gpt', 'llama'), (0.0, 1.0), [0.5, 0.0])
    >>> as_scores(scores.to_xarray()) == scores
    True
    """

    values: Floats
    dims: tuple[str, ...]
    labels: Mapping[str, tuple[str, ...]]
    measure: MeasureFacts = MeasureFacts()  # noqa: RUF009, a frozen value
    nouns: Mapping[str, str] = field(default_factory=dict)
    clusters: Texts | None = field(default=None, metadata=lie_along("topic", coordinate=CLUSTER))
    tasks: Texts | None = field(default=None, metadata=lie_along("topic", coordinate=TASK))
    people: Floats | None = field(default=None, metadata=lie_along("topic", "system", coordinate=HUMAN))
    deterministic: Bools | None = field(default=None, metadata=lie_along("system", coordinate=DETERMINISTIC))
    slices: Mapping[str, Texts] = field(default_factory=dict, metadata=lie_along("topic"))
    marks: Mapping[str, tuple[str, Texts]] = field(default_factory=dict, metadata=lie_along())
    repeats: str = field(default="", metadata={"attribute": "repeats_kind"})
    averaged: str = field(default="", metadata={"attribute": "averaged"})
    votes: Any = field(default=None, metadata={"attribute": "votes"})
    unit_df: float | None = field(default=None, metadata={"attribute": "unit_df"})
    unit_scale: float | None = field(default=None, metadata={"attribute": "unit_scale"})
    unit_scope: str = field(default="", metadata={"attribute": "unit_words"})
    bounded: Any = field(default=None, metadata={"attribute": "bounded_items"})
    undefined: int = field(default=0, metadata={"attribute": "undefined"})
    read_as: str = field(default="", metadata={"attribute": "read_as"})
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        expected = tuple(len(self.labels[dim]) for dim in self.dims)
        if self.values.shape != expected:
            raise ValueError(f"values of shape {self.values.shape} for labels of {expected}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scores):
            return NotImplemented
        return all(_are_equal(getattr(self, each.name), getattr(other, each.name)) for each in fields(self))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        sizes = " × ".join(format_count(n, self.nouns.get(dim, dim)) for dim, n in self.sizes.items())
        return f"<Scores of {self.measure.name}: {sizes}>"

    @property
    def sizes(self) -> dict[str, int]:
        """Number of levels of every dimension."""
        return dict(zip(self.dims, self.values.shape, strict=True))

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return self.labels["system"]

    @property
    def topics(self) -> tuple[str, ...]:
        """Names of the topics."""
        return self.labels["topic"]

    @property
    def others(self) -> tuple[str, ...]:
        """Dimensions beside topic and system."""
        return tuple(dim for dim in self.dims if dim not in ("topic", "system"))

    @property
    def has_copies(self) -> bool:
        """Whether a system is known to be deterministic."""
        return self.deterministic is not None and bool(self.deterministic.any())

    @property
    def has_gaps(self) -> bool:
        """Whether a score is undefined or missing."""
        return bool(np.isnan(self.values).any())

    @property
    def cluster(self) -> Ints | None:
        """(topic,) number of each topic's cluster."""
        return None if self.clusters is None else number_labels(self.clusters)[1]

    @property
    def task(self) -> Ints | None:
        """(topic,) number of each topic's task, where tasks are labels of topics."""
        return None if self.tasks is None else number_labels(self.tasks)[1]

    def list_labels(self) -> dict[str, tuple[str, Texts]]:
        """Return all labels of levels by name, with the dimension that each lies along.

        Returns
        -------
        dict of str to (str, array of str)
            Clusters, tasks, slices and marks.
        """
        of_topics = {CLUSTER: self.clusters, TASK: self.tasks, **self.slices}
        known = {name: ("topic", labels) for name, labels in of_topics.items() if labels is not None}
        return {**known, **self.marks}

    @property
    def unpaired(self) -> bool:
        """Whether no item has scores of two systems, as where each user sees one variant.

        >>> as_scores(np.array([[1.0, np.nan], [np.nan, 0.0]])).unpaired
        True
        """
        return are_unpaired(self.values, self.dims)

    def find_undefined(self) -> Bools:
        """Return where scores have no meaning for any system: topics without relevant documents (in a shard).

        Returns
        -------
        array of bool
            As the values.
        """
        return find_undefined(self.values, self.dims, self.undefined > 0)

    def find_missing(self) -> Bools:
        """Return where a score that has a meaning is not there; an unpaired item lacks no other score.

        Returns
        -------
        array of bool
            As the values.
        """
        return find_missing(self.values, self.dims, self.undefined > 0)

    def over(self, *dims: str) -> tuple[int, ...]:
        """Return the axes of dimensions.

        Parameters
        ----------
        *dims : str
            Their names.

        Returns
        -------
        tuple of int
            One axis each.
        """
        return tuple(self.dims.index(dim) for dim in dims)

    def system_rows(self) -> Floats:
        """Return the values with the axis of the systems first, flat otherwise.

        Returns
        -------
        array
            (R, n) scores.
        """
        axis = self.dims.index("system")
        return np.moveaxis(self.values, axis, 0).reshape(self.values.shape[axis], -1)

    def topic_rows(self) -> Floats:
        """Return the values with the axes topic and system first, the others flat behind them.

        Returns
        -------
        array
            (T, R, n) scores.
        """
        moved = np.moveaxis(self.values, self.over("topic", "system"), (0, 1))
        return moved.reshape(*moved.shape[:2], -1)

    def select(self, **levels: Any) -> Scores:
        """Return the scores of some levels.

        Parameters
        ----------
        **levels : int, slice or array
            For each dimension numbers or flags of its levels; a single number leaves the dimension out.

        Returns
        -------
        Scores
            With every field.
        """
        scores = self
        for dim, chosen in levels.items():
            scores = scores._select_levels(dim, chosen)
        return scores

    def select_systems(self, names: Iterable[str]) -> Scores:
        """Return the scores of some systems, in this order.

        Parameters
        ----------
        names : iterable of str
            Their names.

        Returns
        -------
        Scores
            With every field.
        """
        names, known = list(names), {name: k for k, name in enumerate(self.systems)}
        for name in names:
            if name not in known:
                raise InputError(
                    f"unknown system {name!r}", remedy=f"the systems are {', '.join(list(known)[:5])}"
                )
        return self.select(system=[known[name] for name in names])

    def _select_levels(self, dim: str, chosen: Any) -> Scores:
        if isinstance(chosen, int | np.integer):
            kept = self._change_arrays(lambda array, along: None if dim in along else array)
            dims = tuple(d for d in self.dims if d != dim)
            values = self.values[(slice(None),) * self.dims.index(dim) + (int(chosen),)]
            return replace(self, values=values, dims=dims, labels={d: self.labels[d] for d in dims}, **kept)
        places = chosen if isinstance(chosen, slice) else np.asarray(chosen)

        def take(array: Array, along: tuple[str, ...]) -> Array:
            return array[(slice(None),) * along.index(dim) + (places,)] if dim in along else array

        names = tuple(np.array(self.labels[dim], dtype=object)[places].tolist())
        values, arrays = take(self.values, self.dims), self._change_arrays(take)
        return replace(self, values=values, labels={**self.labels, dim: names}, **arrays)

    def mean(self, *dims: str, skipna: bool = True) -> Scores:
        """Return the scores averaged over dimensions.

        Parameters
        ----------
        *dims : str
            Which.
        skipna : bool
            Whether gaps are left out; else their means are gaps.

        Returns
        -------
        Scores
            Without these dimensions and what lies along them, with every other field.
        """
        if not dims:
            return self
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of cells without any score
            values = (np.nanmean if skipna else np.mean)(self.values, axis=self.over(*dims))
        left = tuple(d for d in self.dims if d not in dims)
        arrays = self._change_arrays(lambda array, along: None if set(dims) & set(along) else array)
        return replace(
            self, values=np.asarray(values), dims=left, labels={d: self.labels[d] for d in left}, **arrays
        )

    def average(self, dims: Sequence[str]) -> Scores:
        """Return the scores averaged over what a user named, refusing what cannot be averaged.

        Parameters
        ----------
        dims : sequence of str
            Dimensions.

        Returns
        -------
        Scores
            The means, NaN where any score is.
        """
        for name in dims:
            if name not in self.others:
                raise InputError(
                    f"scores cannot be averaged over {name!r}",
                    remedy=f"they have {', '.join(self.dims)}",
                    argument="average",
                    value=tuple(dims),
                )
        return self.mean(*dims, skipna=False)

    def with_values(self, values: Floats) -> Scores:
        """Return other values for the same cells; a range that does not hold them is found anew.

        Parameters
        ----------
        values : array
            As those that they replace.

        Returns
        -------
        Scores
            With every field.
        """
        changed = replace(self, values=values)
        return replace(changed, measure=_settle_measure(self.measure, values, True))

    def declare(
        self,
        *,
        name: str | None = None,
        range: Sequence[float] | None = None,
        lower_is_better: bool | None = None,
    ) -> Scores:
        """Return the same scores of a measure of another name, range or direction.

        Parameters
        ----------
        name : str, optional
            What the measure is called.
        range : (float, float), optional
            Lowest and highest score there can be.
        lower_is_better : bool, optional
            Whether small scores are good.

        Returns
        -------
        Scores
            With every field.
        """
        named = replace(self.measure, name=name or self.measure.name)
        return replace(self, measure=_settle_measure(named, self.values, True, range, lower_is_better))

    def turn(self) -> Scores:
        """Return scores of which higher ones are better: as they are, or turned round within their range or about 0.

        Returns
        -------
        Scores
            With every field.
        """
        if not self.measure.lower_is_better:
            return self
        measure = replace(self.measure, lower_is_better=False, direction_from=DECLARED)
        return replace(self, values=sum(self.measure.range or ()) - self.values, measure=measure)

    def unstack_tasks(self) -> Scores:
        """Return tasks as labels of topics, where they came as a dimension of which every topic has one level.

        Returns
        -------
        Scores
            One level of topic an item; the same where there is no such dimension.
        """
        if TASK not in self.dims:
            return self
        t, k = self.sizes["topic"], self.sizes[TASK]
        moved = np.moveaxis(self.values, self.over(TASK, "topic"), (0, 1))
        flat = moved.reshape(-1, *moved.shape[2:])
        used = np.flatnonzero(~np.isnan(flat.reshape(len(flat), -1)).all(axis=1))
        tasks = np.repeat(np.array(self.labels[TASK], dtype=object), t)[used]
        topics = [self.topics[place % t] for place in used.tolist()]
        if len(set(topics)) < len(topics):
            topics = [f"{task}:{topic}" for task, topic in zip(tasks, topics, strict=True)]

        def repeat(array: Array, along: tuple[str, ...]) -> Array | None:
            if TASK in along:
                return None
            if "topic" not in along:
                return array
            return np.concatenate([array] * k)[used]

        dims = ("topic", *(d for d in self.dims if d not in (TASK, "topic")))
        made = replace(
            self,
            values=flat[used],
            dims=dims,
            labels={**{d: self.labels[d] for d in dims}, "topic": tuple(topics)},
            **{**self._change_arrays(repeat), "tasks": tasks},
        )
        return made.order_dims()

    def order_dims(self) -> Scores:
        """Return the scores with their dimensions in the canonical order.

        Returns
        -------
        Scores
            With every field.
        """
        known = tuple(d for d in DIMENSIONS if d in self.dims)
        order = known + tuple(sorted(d for d in self.dims if d not in DIMENSIONS))
        if order == self.dims:
            return self
        return replace(
            self,
            values=self.values.transpose(self.over(*order)),
            dims=order,
            labels={d: self.labels[d] for d in order},
        )

    def require_items(self, what: str) -> Scores:
        """Return the scores, and refuse strengths fitted to votes where these say too little.

        Parameters
        ----------
        what : str
            Who needs scores of items.

        Returns
        -------
        Scores
            The same.
        """
        if self.votes is not None:
            raise InputError(
                f"{what} needs scores of items, and these are votes", remedy="compare them, or give scores"
            )
        return self

    def require_complete(self, least: Mapping[str, int] | None = None) -> Floats:
        """Return all scores as an array, refusing gaps and dimensions of too few levels.

        Parameters
        ----------
        least : mapping of str to int, optional
            The number of levels that each dimension needs at least; 2 where nothing is said, 1 for splits.

        Returns
        -------
        array
            The values.
        """
        y = np.asarray(self.values, dtype=float)
        for dim, size in self.sizes.items():
            needed = (least or {}).get(dim, 1 if dim == "split" else 2)
            if size < needed:
                raise InputError(
                    f"the scores have {size} {dim if size == 1 else pluralize_noun(dim)}",
                    remedy=f"give at least {needed}: how {pluralize_noun(dim)} vary shows only between two",
                )
        gaps = ~np.isfinite(y)
        if gaps.any():
            cell = zip(self.dims, np.argwhere(gaps)[0].tolist(), strict=True)
            names = ", ".join(f"{dim} {self.labels[dim][k]}" for dim, k in cell)
            raise InputError(
                f"{int(gaps.sum())} of {y.size} scores are undefined or missing, the first for {names}",
                remedy=(
                    "drop those topics, or fill what is undefined by a rule: ",
                    Either("fill_undefined(scores, 'zero')", "--fill zero"),
                    "; a missing score is filled only by a value that you name",
                ),
                argument="scores",
            )
        return y

    def _change_arrays(self, change: Callable[[Array, tuple[str, ...]], Array | None]) -> dict[str, Any]:
        """Return every field that holds an array beside the values, changed by a function of it and its dimensions."""
        changed: dict[str, Any] = {}
        for each in fields(self):
            value, along = getattr(self, each.name), each.metadata.get("along")
            if along is None or value is None:
                continue
            if not isinstance(value, Mapping):
                changed[each.name] = change(value, along)
            elif along:
                made = {name: change(array, along) for name, array in value.items()}
                changed[each.name] = {name: array for name, array in made.items() if array is not None}
            else:
                own = {name: (dim, change(array, (dim,))) for name, (dim, array) in value.items()}
                changed[each.name] = {name: item for name, item in own.items() if item[1] is not None}
        return changed

    def to_xarray(self) -> xr.DataArray:
        """Return the scores as a labelled array of xarray, with every field as a coordinate or an attribute.

        Returns
        -------
        DataArray
            What `as_scores` makes the same scores of.
        """
        coords: dict[str, Any] = {dim: list(self.labels[dim]) for dim in self.dims}
        attrs = dict(self.facts) | {f"{dim}_noun": word for dim, word in self.nouns.items()}
        for each in fields(self):
            value, along = getattr(self, each.name), each.metadata.get("along")
            if name := each.metadata.get("attribute"):
                attrs |= {} if value is each.default or value == each.default else {name: value}
            elif along is not None and isinstance(value, Mapping):
                labels = value if not along else {k: (along, array) for k, array in value.items()}
                coords |= {k: (dims, show_labels(array)) for k, (dims, array) in labels.items()}
            elif along is not None and value is not None:
                coords[each.metadata["coordinate"]] = (along, show_labels(value))
        if self.measure.range is not None:
            attrs[RANGE] = self.measure.range
        attrs[RANGE_FROM], attrs[DIRECTION_FROM] = self.measure.range_from, self.measure.direction_from
        attrs[LOWER_IS_BETTER] = int(self.measure.lower_is_better)
        return xr.DataArray(self.values, dims=self.dims, coords=coords, attrs=attrs, name=self.measure.name)

    def to_frame(self) -> pd.DataFrame:
        """Return the scores as a long table of pandas, one row a score that is there, in the user's words.

        Returns
        -------
        DataFrame
            A column for each dimension and one for the measure.

        >>> as_scores(np.array([[0.5, np.nan]])).to_frame().to_dict("records")
        [{'topic': '0', 'system': '0', 'score': 0.5}]
        """
        places = np.nonzero(~np.isnan(self.values))
        columns = {
            self.nouns.get(dim, dim): np.array(self.labels[dim], dtype=object)[codes]
            for dim, codes in zip(self.dims, places, strict=True)
        }
        return pd.DataFrame({**columns, self.measure.name: self.values[places]})


def join_systems(first: Scores, second: Scores) -> Scores:
    """Return the scores of the systems of two tables of the same topics; what else they say is as in the first.

    Where one has instances the others have copies of one, and instances are counted from 0.
    """
    both = [first, second]
    if any("instance" in table.dims for table in both):
        both = [_add_instances(table) for table in both]
    dims = both[0].dims
    if both[1].dims != dims:
        raise InputError(
            f"one table has scores by {', '.join(dims)}, the other by {', '.join(both[1].dims)}",
            remedy="give tables of the same dimensions",
        )
    sizes = [max(table.sizes[dim] for table in both) for dim in dims]
    parts = []
    for table in both:
        shape = [n if dim != "system" else table.sizes[dim] for dim, n in zip(dims, sizes, strict=True)]
        values = np.full(shape, np.nan)
        values[tuple(slice(n) for n in table.values.shape)] = table.values
        parts.append(values)
    longest = {dim: max((table.labels[dim] for table in both), key=len) for dim in dims}
    names = tuple(name for table in both for name in table.systems)
    joined: dict[str, Any] = {"values": np.concatenate(parts, axis=dims.index("system"))}
    for each in fields(Scores):
        ours, theirs = (getattr(table, each.name) for table in both)
        if "system" in each.metadata.get("along", ()):
            along = each.metadata["along"].index("system")
            both_say = ours is not None and theirs is not None
            joined[each.name] = np.concatenate([ours, theirs], axis=along) if both_say else None
        elif isinstance(ours, Mapping):
            joined[each.name] = {**theirs, **ours}
        elif each.metadata and (ours is None or not np.size(ours) or ours is each.default):
            # what the first does not say, the second may
            joined[each.name] = theirs
    if first.measure.range is None:
        known = second.measure
        joined["measure"] = replace(first.measure, range=known.range, range_from=known.range_from)
    joined["marks"] = {name: mark for name, mark in joined["marks"].items() if mark[0] == "topic"}
    return replace(first, **{**joined, "dims": dims, "labels": {**longest, "system": names}})


def _add_instances(scores: Scores) -> Scores:
    """Return scores with instances counted from 0, of which a system has one where there were none."""
    fixed = "instance" not in scores.dims
    values = scores.values[..., None] if fixed else scores.values
    dims = (*scores.dims, "instance") if fixed else scores.dims
    labels = {**scores.labels, "instance": tuple(map(str, range(values.shape[dims.index("instance")])))}
    flags = np.full(len(scores.systems), fixed)
    return replace(scores, values=values, dims=dims, labels=labels, deterministic=flags).order_dims()


def _are_equal(a: Any, b: Any) -> bool:
    """Return whether two values of a field are the same, arrays by their elements."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_are_equal(a[name], b[name]) for name in a)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_are_equal, a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        x, y = np.asarray(a), np.asarray(b)
        return bool(np.array_equal(x, y, equal_nan=x.dtype.kind == y.dtype.kind == "f"))
    return a is b or bool(a == b)


def show_labels(array: Array) -> Array:
    """Return labels as an array of text, as files keep it; other arrays as they are."""
    return array.astype(str) if array.dtype.kind == "O" else array


def number_labels(labels: Texts) -> tuple[tuple[str, ...], Ints]:
    """Return distinct labels in their order, and the number of each one's."""
    names, codes = np.unique(labels.astype(str), return_inverse=True)
    return tuple(map(str, names)), codes.astype(np.int64)


def are_unpaired(values: Array, dims: Sequence[str]) -> bool:
    """Return whether no item of a table has scores of two systems."""
    if not {"topic", "system"} <= set(dims) or values.dtype.kind != "f":
        return False
    moved = np.moveaxis(values, [dims.index("topic"), dims.index("system")], (0, 1))
    if min(moved.shape[:2]) < 2 or not np.isnan(moved[0]).any():
        return False
    known = ~np.isnan(moved.reshape(*moved.shape[:2], -1)).all(axis=2)
    return bool((known.sum(axis=1) <= 1).all() and (known.sum(axis=0) > 0).sum() > 1)


def find_undefined(values: Array, dims: Sequence[str], judged: bool = False) -> Bools:
    """Return where scores have no meaning for any system.

    Only scores on shards, or scores that were computed from judgments, can be undefined; an empty cell of any other
    table is missing.
    """
    empty = np.isnan(values)
    if "system" not in dims or "instance" in dims or not ("shard" in dims or judged):
        return np.zeros_like(empty)
    return np.asarray(empty & empty.all(axis=dims.index("system"), keepdims=True))


def find_missing(values: Array, dims: Sequence[str], judged: bool = False) -> Bools:
    """Return where a score that has a meaning is not there; an item that met one system alone lacks no other."""
    empty = np.isnan(values)
    if are_unpaired(values, dims):
        return np.zeros_like(empty)
    return np.asarray(empty & ~find_undefined(values, dims, judged))


def declare_measures(
    scores: xr.Dataset, range: Sequence[float] | None, lower_is_better: bool | None
) -> xr.Dataset:
    """Return scores of several measures with the range and direction declared for all, for the gate to understand."""
    declared: dict[str, Any] = {}
    if range is not None:
        declared |= {RANGE: (float(range[0]), float(range[1])), RANGE_FROM: DECLARED}
    if lower_is_better is not None:
        declared |= {LOWER_IS_BETTER: int(lower_is_better), DIRECTION_FROM: DECLARED}
    made = {name: scores[name].assign_attrs(declared) for name in scores}
    return scores.assign(made) if declared else scores


def is_lower(scores: xr.DataArray) -> bool:
    """Return whether lower ones are better of the scores of a file, by what they say or by the measure's name."""
    return _settle_direction(_read_measure(dict(scores.attrs), str(scores.name or UNNAMED))).lower_is_better


def slices_of(scores: Scores) -> dict[str, tuple[str, ...]]:
    """Return the labels that items have besides their names, by which answers may be broken down: column -> labels."""
    tasks = {} if scores.tasks is None else {TASK: scores.tasks}
    return {
        name.removeprefix(SLICE_PREFIX): tuple(map(str, labels))
        for name, labels in {**tasks, **scores.slices}.items()
    }


def clean_noun(word: str) -> str:
    """Return the user's word for a dimension as it stands in sentences.

    >>> clean_noun("question_id"), clean_noun("model_name"), clean_noun("qid")
    ('question', 'model', 'topic')
    """
    text = word.lower()
    for suffix in SUFFIXES:
        text = text.removesuffix(suffix)
    return str(WORDS["nouns"].get(text, text))


def is_sample_measure(name: str) -> bool:
    """Return whether a name is that of a measure of samples, which is estimated from repeats of right and wrong.

    >>> is_sample_measure("pass@5"), is_sample_measure("P@5")
    (True, False)
    """
    return name.startswith(("pass@", "pass^"))


def as_scores(
    data: Any,
    *,
    measure: str | None = None,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    needs: Iterable[str] = ("topic", "system"),
    only: bool = False,
    keep: Iterable[str] = (),
    range: Sequence[float] | None = None,
    lower_is_better: bool | None = None,
) -> Scores:
    """Turn whatever holds scores into `Scores`, or refuse it with the reason.

    Parameters
    ----------
    data : object
        `Scores`; a DataArray; a Dataset of one measure; a wide table (one row a topic, one column a system) or a long
        one (columns such as ``question, model, seed, score``) from pandas, polars or Arrow; a dictionary
        ``{system: {topic: score}}``; results of pytrec_eval, ir_measures or ranx; an array of topics by systems; or
        files that `read_scores` reads.
    measure : str, optional
        Which measure to take, where there are several; or a measure of samples, pass@5 or pass^5.
    columns : mapping, optional
        Which column of a table is what, where its header does not say it, as `read_scores` takes it.
    needs : iterable of str
        Dimensions that must be there.
    only : bool
        Whether no other dimensions may be there.
    keep : iterable of str
        Dimensions that keep the user's name, because a formula speaks of them by it.
    range : (float, float), optional
        Lowest and highest score there can be; without it as the attribute ``range`` says, else by the scores.
    lower_is_better : bool, optional
        Whether small scores are good; without it as the attribute ``lower_is_better`` says, else by the measure's name.

    Returns
    -------
    Scores
        Scores by topic and system, perhaps shard, split, instance or task, with what is known of them.

    >>> as_scores({"gpt": {"q1": 1, "q2": 0}, "llama": {"q1": 0, "q2": 0}})
    <Scores of score: 2 topics × 2 systems>
    >>> as_scores(np.eye(2)).labels["system"]
    ('0', '1')
    """
    known = data.measure.name if isinstance(data, Scores) else getattr(data, "name", None)
    if measure is not None and is_sample_measure(measure) and known != measure:
        options = {"needs": needs, "only": only, "keep": keep, **({"columns": columns} if columns else {})}
        options |= {"lower_is_better": lower_is_better}
        made: Scores = late.call_bound("sample_measure", data, measure, **options)
        return made
    scores, settled = _gather_scores(data, measure, columns, frozenset(keep))
    if scores.values.dtype.kind not in "fiub":
        raise InputError(
            f"scores of type {scores.values.dtype} are not numbers", remedy="convert them to float"
        )
    if scores.values.dtype != np.float64:
        scores = replace(scores, values=scores.values.astype(np.float64))
    _check_dimensions(scores, tuple(needs), only)
    in_memory = isinstance(scores.values, np.ndarray) and scores.values.size
    if in_memory and not isinstance(data, Scores):
        largest = float(np.nanmax(np.abs(scores.values), initial=0.0))
        if np.isinf(largest):
            raise InputError("the scores hold infinite values", remedy="correct or remove them")
        # their squares would be infinite, or underflow
        if largest > LARGEST or 0.0 < largest < 1.0 / LARGEST:
            raise InputError(
                f"the largest score is {largest:.3g}, which cannot be squared with numbers of this precision",
                remedy=f"{'divide' if largest > LARGEST else 'multiply'} all scores by a power of ten",
            )
    scores = scores.order_dims()
    if isinstance(data, Scores) and range is None and lower_is_better is None:
        return scores
    facts = _settle_measure(scores.measure, scores.values, settled, range, lower_is_better)
    return replace(scores, measure=facts)


def is_labelled(data: Any) -> bool:
    """Return whether data are a DataArray or Dataset of xarray, which is not loaded to find out."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(data, xarray.DataArray | xarray.Dataset)


def _gather_scores(
    data: Any, measure: str | None, columns: Mapping[str, str | Sequence[str]] | None, keep: frozenset[str]
) -> tuple[Scores, bool]:
    """Return scores of any kind of table, and whether their range was looked for before.

    What is no array is read by the room that knows files and objects.
    """
    if isinstance(data, LabelledScores):
        return _from_labelled(data, keep)
    labelled = isinstance(data, Scores) or is_labelled(data)
    values = None if labelled else _as_array(data)
    if columns and (labelled or values is not None):
        raise InputError(
            "columns are for tables, and this is an array", remedy="leave it out", argument="columns"
        )
    if values is not None:
        if values.ndim != 2:
            raise InputError(
                f"an array of {values.ndim} dimensions does not say what they are",
                remedy=(
                    "give topics by systems",
                    Either(", or a DataArray with dims=('topic', 'system', 'shard')", ""),
                ),
            )
        if isinstance(data, list | tuple) and len(data) <= FEW_LISTS < values.shape[1]:
            raise InputError(
                f"{len(data)} lists of {values.shape[1]} numbers may be items or systems",
                remedy="name the systems, as in {'a': [0.1, 0.4], 'b': [0.2, 0.3]}",
            )
        names = {
            dim: tuple(map(str, np.arange(n)))
            for dim, n in zip(("topic", "system"), values.shape, strict=True)
        }
        return Scores(values, ("topic", "system"), names, MeasureFacts(range_from=DECLARED)), False
    read = data if labelled else late.call_bound("scores", data, measure=measure, columns=columns)
    if isinstance(read, Scores):
        _check_measure(read.measure.name, measure)
        return read, True
    array = _select_measure(read, measure)
    dims = tuple(map(str, array.dims))
    coordinates = {
        str(key): (tuple(map(str, coordinate.dims)), coordinate.to_numpy())
        for key, coordinate in array.coords.items()
        if key not in array.dims
    }
    labels = {dim: array.get_index(dim).tolist() for dim in dims}
    attrs = {str(key): value for key, value in array.attrs.items()}
    return _from_labelled(
        LabelledScores(str(array.name or UNNAMED), array.data, dims, labels, coordinates, attrs), keep
    )


def _as_array(data: Any) -> Any:
    """Return an array of numbers, or None where there is no array; a data frame without labels is one."""
    if type(data).__name__ == "DataFrame":
        # rows and columns that are merely counted from 0
        counted = (type(getattr(data, name, None)).__name__ == "RangeIndex" for name in ("index", "columns"))
        if all(counted) and all(kind.kind in "fiub" for kind in data.dtypes):
            data = data.to_numpy()
    leaf = data
    while isinstance(leaf, list | tuple) and leaf:
        leaf = leaf[0]
    if isinstance(data, np.ndarray) or (
        isinstance(data, list | tuple) and isinstance(leaf, int | float | np.number | np.ndarray)
    ):
        try:
            values = np.asarray(data)
        except ValueError:
            return None
        if values.dtype.kind in "fiub":
            return values
        if isinstance(data, np.ndarray) and values.size:
            raise InputError("the array holds something other than numbers", remedy="convert it to float")
    return None


def _check_measure(name: str | None, measure: str | None) -> None:
    if measure is not None and name not in (None, measure):
        raise InputError(f"the scores are of {name}, not of {measure}", argument="measure", value=measure)


def _select_measure(data: xr.DataArray | xr.Dataset, measure: str | None) -> xr.DataArray:
    """Return the scores of one measure, with the attributes that they share with others."""
    if not hasattr(data, "data_vars"):
        array: Any = data
        _check_measure(None if array.name is None else str(array.name), measure)
        return array  # type: ignore[no-any-return]
    names = [str(name) for name in data.data_vars]
    measure = measure or data.attrs.get("primary")  # a log says which it shows first
    if measure is None and len(names) != 1:
        raise InputError(
            f"the scores hold {len(names)} measures ({', '.join(names)})",
            remedy=("choose one, as in ", Either(f"scores[{names[0]!r}]", f"--measure {names[0]}"))
            if names
            else "",
            argument="measure",
            choices=names,
        )
    if measure is not None and measure not in names:
        raise InputError(
            f"the scores have no measure {measure!r}",
            remedy=f"they have {', '.join(names)}",
            argument="measure",
            value=measure,
            choices=names,
        )
    scores = data[measure or names[0]]
    return scores.assign_attrs({**data.attrs, **scores.attrs})


def _name_dimensions(dims: Sequence[str], keep: frozenset[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return our names of the user's dimensions, and the user's nouns."""
    renamed: dict[str, str] = {}
    words: dict[str, str] = {}
    taken = set(dims)
    ranks = {word: rank for rank, word in enumerate(ROLE_OF)}
    for dimension in sorted(taken, key=lambda d: (ranks.get(d.lower(), len(ranks)), d)):
        role = ROLE_OF.get(dimension.lower())
        if role is not None and role != dimension and role not in taken and dimension not in keep:
            renamed[dimension] = role
            taken.add(role)  # of two words for one role, such as question and prompt, the first has it
            if clean_noun(dimension) != role:
                words[role] = clean_noun(dimension)
    second = next((d for d in dims if d.lower() in SECOND_WORDS), None)
    if second is not None and second not in renamed and second not in keep and "instance" not in taken:
        # Beside questions, samples are repeats.
        renamed[second] = "instance"
        words["instance"] = clean_noun(second)
    return renamed, words


def _from_labelled(table: LabelledScores, keep: frozenset[str]) -> tuple[Scores, bool]:
    """Return the scores of a labelled array as they are, and whether its range was looked for before."""
    renamed, words = _name_dimensions(table.dims, keep)
    attrs = dict(table.attrs)
    settled = RANGE_FROM in attrs or bool(attrs.get(UNBOUNDED))
    measure = _read_measure(attrs, table.name)
    nouns = {dim: str(attrs.pop(f"{dim}_noun")) for dim in NAMED if f"{dim}_noun" in attrs} | words
    given: dict[str, Any] = {"slices": {}, "marks": {}}
    for each in fields(Scores):
        if (attribute := each.metadata.get("attribute")) in attrs:
            given[each.name] = attrs.pop(attribute)
    dims = tuple(renamed.get(dim, dim) for dim in table.dims)
    sizes = dict(zip(dims, table.values.shape, strict=True))
    known = {each.metadata.get("coordinate"): each for each in fields(Scores)}
    for label, (lies, array) in table.coordinates.items():
        along = tuple(renamed.get(dim, dim) for dim in lies)
        if label in known:
            wanted = known[label].metadata["along"]
            given[known[label].name] = _place_coordinate(label, array, along, wanted, sizes)
        elif along == ("topic",):
            given["slices"][label] = array.astype(str).astype(object)
        elif len(along) == 1 and along[0] in dims:
            given["marks"][label] = (along[0], array.astype(str).astype(object))
    return Scores(
        table.values,
        dims,
        {renamed.get(dim, dim): tuple(map(str, names)) for dim, names in table.labels.items()},
        measure,
        {dim: noun for dim, noun in nouns.items() if noun != dim},
        facts=attrs,
        **given,
    ), settled


def _read_measure(attrs: dict[str, Any], name: str) -> MeasureFacts:
    """Return what attributes say of a measure, and take them out of these."""
    declared, turned = attrs.pop(RANGE, None), attrs.pop(LOWER_IS_BETTER, None)
    range_from, direction_from = attrs.pop(RANGE_FROM, DECLARED), attrs.pop(DIRECTION_FROM, DECLARED)
    limits = None if declared is None else (float(declared[0]), float(declared[1]))
    known = "" if turned is None else str(direction_from)
    return MeasureFacts(name, limits, bool(turned), str(range_from), known)


def _place_coordinate(
    name: str, array: Array, along: tuple[str, ...], wanted: tuple[str, ...], sizes: Mapping[str, int]
) -> Any:
    """Return a coordinate along the dimensions that it belongs to; None of a single level that the scores lack."""
    if not along and not set(wanted) <= set(sizes):
        return None
    if not along and name == DETERMINISTIC:
        return np.full(sizes["system"], bool(array))
    if not along and name in (CLUSTER, TASK):
        return np.full(sizes["topic"], str(array), dtype=object)
    if set(along) != set(wanted):
        raise InputError(
            f"the coordinate {name} is along {' and '.join(along) or 'nothing'}",
            remedy=f"give every {wanted[0]} its {name}: a coordinate along {' and '.join(wanted)}",
        )
    placed = array.transpose([along.index(dim) for dim in wanted])
    if name == DETERMINISTIC:
        return placed.astype(bool)
    if name == HUMAN:
        return placed.astype(np.float64)
    # None, NaN and NaT are not what they are
    lacking = np.array([label is None or label != label for label in placed.tolist()], dtype=bool)
    if lacking.any():
        raise InputError(f"some topics have no {name}", remedy=f"give every topic its {name}")
    return placed.astype(str).astype(object)


def _settle_measure(
    measure: MeasureFacts,
    values: Array,
    settled: bool,
    range: Sequence[float] | None = None,
    lower_is_better: bool | None = None,
) -> MeasureFacts:
    """Return what is known of a measure: as declared, by its name, or by values, unless its range was looked for."""
    if lower_is_better is not None:
        measure = replace(measure, lower_is_better=lower_is_better, direction_from=DECLARED)
    measure = _settle_direction(measure)
    declared = measure.range if range is None else range
    limits = None if declared is None else (float(declared[0]), float(declared[1]))
    source = DECLARED if range is not None else measure.range_from
    if (limits is None and settled) or not isinstance(values, np.ndarray):
        source = source if limits is not None else ""
    else:
        limits, source = find_range(measure.name, values, limits, source)
    return replace(measure, range=limits, range_from=source)


def _settle_direction(measure: MeasureFacts) -> MeasureFacts:
    """Return a measure whose direction is as declared, or what its name says."""
    if measure.direction_from == DECLARED:
        return measure
    turned = is_lower_better(measure.name)
    return replace(measure, lower_is_better=turned, direction_from=BY_NAME if turned else "")


def _check_dimensions(scores: Scores, needs: tuple[str, ...], only: bool) -> None:
    """Refuse scores that lack a dimension, have an unexpected one, or have none or two levels of a name."""
    named = (
        f"the scores have the dimensions {', '.join(scores.dims)}"
        if scores.dims
        else "the scores have no dimensions"
    )
    absent = [d for d in needs if d not in scores.dims]
    if absent:
        raise InputError(
            f"{named}, but no {' and no '.join(absent)}",
            remedy=(
                Either("name the dimensions ", "give a table with the columns "),
                ", ".join(needs),
                Either(", as in scores.rename(query='topic')", ""),
            ),
        )
    extra = [d for d in scores.dims if d not in needs]
    if only and extra:
        raise InputError(
            f"{named}, and {extra[0]} is unexpected here",
            remedy=Either(
                f"choose one, as in scores.isel({extra[0]}=0), or average over it: scores.mean({extra[0]!r})",
                f"give a table of one {extra[0]}, or of means over it",
            ),
        )
    for d in needs:
        names = scores.labels[d]
        if not names:
            raise InputError(f"the scores have no {d}", remedy="read or select some")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(
                f"two {pluralize_noun(d)} are named {twice!r}", remedy="give them different names"
            )
