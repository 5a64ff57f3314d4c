"""ScoreArray one by one -> a Dataset, one variable a measure, that says how it was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar, get_args

import numpy as np
import pandas as pd
import xarray as xr
from xarray.indexes import PandasIndex

from shardwise.core.arguments import validate_choice
from shardwise.core.arrays import Bools, Codes, Floats, Ints
from shardwise.core.claim import DIMENSIONS, format_count
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import missing_cells, undefined_cells
from shardwise.io.natural_order import natural_order
from shardwise.io.tables.records import ITEM_LABELS, Missing, Records
from shardwise.io.tables.sheet import Labels

ScoreArray = TypeVar("ScoreArray", xr.DataArray, xr.Dataset)

SHOWN = 10  # systems that are named
LONGEST = 40  # characters of a name that are shown
_NUMBERED = ("split", "instance")
_SPARSE = 200  # cells a score, beyond which a column was surely misunderstood


def make_dataset(parts: Sequence[Records], missing: Missing | None = None) -> xr.Dataset:
    """Put scores into a Dataset; refuse doubles. Items keep their task and cluster as labels.

    The attribute ``read_as`` says in one line what was read. An instance that a system was not run for (a seed) is
    missing, whatever the policy.

    Parameters
    ----------
    parts
        ScoreArray one by one, from one table or several.
    missing
        What becomes of scores without a row: ``"leave"`` (NaN, as without), ``"refuse"`` or ``"zero"``.
    """
    if missing is not None:
        validate_choice(missing, "missing", get_args(Missing), what="policy for missing rows")
    nouns = {dim: word for part in reversed(parts) for dim, word in part.nouns.items()}
    further = dict.fromkeys(name for part in parts for name in part.factors)
    roles = [
        role for role in (*DIMENSIONS, *ITEM_LABELS, *further) if any(role in part.labels for part in parts)
    ]
    for part in parts:
        for role in roles:
            if role not in part.labels:
                raise InputError(
                    f"has no column {nouns.get(role, role)!r}, unlike other files",
                    where=part.source,
                    remedy="add it, or read the files apart",
                )
    labelled = {role: Labels.join([part.labels[role] for part in parts]) for role in dict.fromkeys(roles)}
    labelled |= _name_within_tasks(labelled)
    meant = {"system"} if any(part.wide for part in parts) else set()  # columns and files stand in an order
    axes_of = {
        role: _Axis(*entry[:2]) if role in meant else _order_labels(entry) for role, entry in labelled.items()
    }
    nested = [name for name in further if _is_nested(axes_of[name], axes_of["topic"])]
    dims = [dim for dim in (*DIMENSIONS, *further) if dim in axes_of and dim != "task" and dim not in nested]
    measured = _Axis(*Labels.join([part.measures for part in parts])[:2])
    taken = next((name for name in measured.names if name in axes_of or name in DIMENSIONS), None)
    if taken is not None:
        raise InputError(
            f"a measure is called {taken!r}, as what it is measured on",
            where=parts[0].source,
            remedy="rename it",
        )
    values = parts[0].values if len(parts) == 1 else np.concatenate([part.values for part in parts])
    shape = (len(measured.names), *(len(axes_of[dim].names) for dim in dims))
    _refuse_sparse(shape, len(values), axes_of, nouns, parts)
    axes = [measured, *(axes_of[dim] for dim in dims)]
    present, out = np.zeros(shape, dtype=bool), np.empty(shape)
    filled = _fill_cells(axes, values, present.reshape(-1), out.reshape(-1))
    if filled < len(values):
        raise _refuse_double(_flatten_positions(axes), parts, dims, axes_of, measured, nouns)
    run, unpaired = present, False
    if filled < present.size:
        unpaired = _is_unpaired(present, dims)
        run = present if unpaired else _was_run(present, dims)
        gaps = run & ~present
        if missing == "refuse" and gaps.any():
            raise _refuse_gap(gaps, dims, axes_of, measured, nouns, parts[0].source)
        out[~present] = np.nan
        if missing == "zero":
            out[gaps] = 0.0
    labels = {
        role: _label_items(axes_of["topic"], axes_of[role], role, parts)
        for role in (*ITEM_LABELS, *nested)
        if role in axes_of
    }
    asked = frozenset[str](nested).union(*(part.asked for part in parts))
    # labels say something where there are several and, unless they were asked for, items share some
    labels = {
        role: entry
        for role, entry in labels.items()
        if len(set(entry)) > 1 and (role in asked or len(set(entry)) < len(entry))
    }
    indexes = {dim: _make_index(dim, axes_of[dim].names) for dim in dims}
    coords = {dim: entry for index in indexes.values() for dim, entry in index.create_variables().items()}
    read_as = describe_reading(
        out, run, dims, list(measured.names), nouns, labels, parts, axes_of["system"].names
    )
    if unpaired:
        item, system = (nouns.get(dim, dim) for dim in ("topic", "system"))
        read_as += f"; unpaired: each {item} met one {system}"
    attrs = {f"{dim}_noun": word for dim, word in nouns.items() if dim in dims or dim in labels}
    kinds = {part.repeats_kind for part in parts}
    if "instance" in dims and len(kinds) == 1 and kinds != {""}:
        attrs["repeats_kind"] = kinds.pop()
    if len(parts) == 1 and parts[0].perhaps:
        attrs["perhaps_columns"] = parts[0].perhaps
    absent = {"missing_rows": present.size - filled} if filled < present.size else {}
    data = xr.Dataset(
        {
            name: (dims, out[m], {**attrs, **absent, "read_as": read_as})
            for m, name in enumerate(measured.names)
        },
        coords=xr.Coordinates(
            {**coords, **{role: ("topic", entry) for role, entry in labels.items()}}, indexes
        ),
    )
    primary = next((part.primary for part in parts if part.primary in measured.names), "")
    return count_gaps(data.assign_attrs(primary=primary) if primary else data)


def _is_unpaired(present: Bools, dims: Sequence[str]) -> bool:
    """Whether no item has scores of two systems."""
    axes = tuple(1 + k for k, dim in enumerate(dims) if dim not in ("topic", "system"))
    known = present.any(axis=(0, *axes))
    known = known if list(dims).index("topic") < list(dims).index("system") else known.T
    return known.shape[1] > 1 and bool((known.sum(axis=1) <= 1).all())


def count_gaps(scores: ScoreArray) -> ScoreArray:
    """Return scores whose attributes ``undefined`` and ``missing`` count their empty cells."""
    if isinstance(scores, xr.Dataset):
        return scores.assign({name: count_gaps(values) for name, values in scores.data_vars.items()})
    if not np.isnan(scores.values).any():
        return scores.assign_attrs(undefined=0, missing=0)
    undefined, missing = int(undefined_cells(scores).sum()), int(missing_cells(scores).sum())
    return scores.assign_attrs(undefined=undefined, missing=missing)


def describe_reading(
    values: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    run: Bools,
    dims: Sequence[str],
    measures: Sequence[str],
    nouns: dict[str, str],
    labels: dict[str, list[str]],
    parts: Sequence[Records],
    systems: Sequence[str],
) -> str:
    """Return what was read, in one line and in the user's words."""
    sizes = dict(zip(dims, values.shape[1:], strict=True))
    sizes = {"topic": sizes.pop("topic"), "system": sizes.pop("system"), **sizes}
    words = [format_count(n, nouns.get(dim, dim)) for dim, n in sizes.items() if dim != "instance"]
    shown = [name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…" for name in systems[:SHOWN]]
    words[1] += f" ({', '.join(shown)}{', …' if len(systems) > SHOWN else ''})"
    if "instance" in dims:
        axes = tuple(1 + k for k, dim in enumerate(dims) if dim not in ("system", "instance"))
        each = run.any(axis=(0, *axes)).sum(axis=-1)
        low, high = int(each.min()), int(each.max())
        words.append(
            ("" if low == high else f"{low} to ") + format_count(high, nouns.get("instance", "instance"))
        )
    inside = [f"in {format_count(len(set(names)), nouns.get(role, role))}" for role, names in labels.items()]
    called = "" if measures == ["score"] else f", score{'s:' if measures[1:] else ' ='} {', '.join(measures)}"
    empty = np.isnan(values) & run
    undefined = 0
    if "shard" in dims:
        nowhere = empty.all(axis=1 + list(dims).index("system"), keepdims=True) & empty
        undefined = int(np.count_nonzero(nowhere))
    counts = {"undefined": undefined, "missing": int(np.count_nonzero(empty)) - undefined}
    gaps = [f"{n:,} of {int(run.sum()):,} {what}" for what, n in counts.items() if n]
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    sources = dict.fromkeys(part.what for part in parts if part.what)
    what = f"{', '.join(sources)}, " if sources else ""
    return "; ".join([f"read as {what}{' '.join([' × '.join(words), *inside])}{called}", *gaps, *notes])


@dataclass(frozen=True, eq=False)
class _Axis:
    """Labels one by one, under codes that are places on an axis; ``to`` says where on it a code as it was given is."""

    given: Codes
    names: Sequence[str]
    to: Codes | None = None

    @cached_property
    def codes(self) -> Codes:
        """The place of each label."""
        return self.given if self.to is None else self.to[self.given]


def _order_labels(labels: Labels) -> _Axis:
    """Return labels in the order of their names: nothing may depend on the order of rows."""
    order = np.arange(len(labels.names)) if labels.ordered else natural_order(labels.names)
    if np.array_equal(order, np.arange(len(order))):
        return _Axis(labels.codes, labels.names)
    to = np.empty(len(order), dtype=np.int32)
    to[order] = np.arange(len(order), dtype=np.int32)
    return _Axis(labels.codes, [labels.names[k] for k in order.tolist()], to)


def _name_within_tasks(labels: dict[str, Labels]) -> dict[str, Labels]:
    """Rename items so that those of different tasks differ, also where they have the same name."""
    if "task" not in labels:
        return {}
    topics, tasks = labels["topic"], labels["task"]
    pairs = tasks.codes.astype(np.int64) * len(topics.names) + topics.codes
    codes, uniques = pd.factorize(pairs)
    if len(uniques) == len(topics.names):
        return {}
    names = [
        f"{tasks.names[p // len(topics.names)]}/{topics.names[p % len(topics.names)]}"
        for p in uniques.tolist()
    ]
    return {"topic": Labels(codes.astype(np.int32), names)}


def _flatten_positions(labels: Sequence[_Axis]) -> Ints:
    """Return where each score stands in the array, a dimension a label."""
    positions: Ints = np.zeros(len(labels[0].codes), dtype=np.int64)
    for axis in labels:
        positions *= len(axis.names)
        positions += axis.codes
    return positions


def _fill_cells(axes: Sequence[_Axis], values: Floats, present: Bools, out: Floats) -> int:
    """Put scores into their cells and mark these; return how many cells have one."""
    places = _flatten_positions(axes)
    present[places] = True
    out[places] = values
    return int(np.count_nonzero(present))


def _was_run(present: Bools, dims: Sequence[str]) -> Bools:
    """Tell whether the instance of the system has a row anywhere; always, where there are no instances."""
    if "instance" not in dims:
        return np.ones_like(present)
    others = tuple(1 + axis for axis, dim in enumerate(dims) if dim not in ("system", "instance"))
    return np.broadcast_to(present.any(axis=others, keepdims=True), present.shape)


def _label_items(topics: _Axis, labels: _Axis, role: str, parts: Sequence[Records]) -> list[str]:
    """Return the label of every item, which must be the same in all its rows."""
    label_of = np.zeros(len(topics.names), dtype=np.int64)
    label_of[topics.codes[::-1]] = labels.codes[::-1]
    odd = np.flatnonzero(label_of[topics.codes] != labels.codes)
    if len(odd):
        part, row = _find_row(parts, int(odd[0]))
        names = labels.names
        item = topics.names[topics.codes[odd[0]]]
        raise InputError(
            f"item {item} is in {role} {names[labels.codes[odd[0]]]!r}, and in"
            f" {names[label_of[topics.codes[odd[0]]]]!r}"
            " before",
            where=part.place(row),
            remedy=f"give every item one {role}, and items of different {role}s different names",
        )
    return [labels.names[code] for code in label_of.tolist()]


def _is_nested(labels: _Axis, topics: _Axis) -> bool:
    """Tell whether all rows of an item have the same label."""
    pairs = topics.codes.astype(np.int64) * len(labels.names) + labels.codes
    return len(np.unique(pairs)) == len(np.unique(topics.codes))


def _refuse_sparse(
    shape: Sequence[int], rows: int, axes: dict[str, _Axis], nouns: dict[str, str], parts: Sequence[Records]
) -> None:
    cells = float(np.prod([float(n) for n in shape]))
    if cells <= _SPARSE * rows + 1e6:
        return
    most = max((dim for dim in ("system", "instance") if dim in axes), key=lambda dim: len(axes[dim].names))
    raise InputError(
        f"{rows:,} scores for {cells:.3g} cells:"
        f" {format_count(len(axes[most].names), nouns.get(most, most))} are too many"
        " to be true",
        where=parts[0].source,
        remedy=("say which column is what by ", Option("columns")),
    )


def _find_row(parts: Sequence[Records], row: int) -> tuple[Records, int]:
    ends = np.cumsum([len(part.values) for part in parts])
    p = int(np.searchsorted(ends, row, side="right"))
    return parts[p], row - int(ends[p] - len(parts[p].values))


def _refuse_double(
    positions: Ints, parts: Sequence[Records], dims: Sequence[str], axes: dict[str, _Axis], measured: _Axis,
    nouns: dict[str, str],
) -> InputError:  # fmt: skip
    order = np.argsort(positions, kind="stable")
    again = int(np.flatnonzero(np.diff(positions[order]) == 0)[0])
    earlier, later = (int(k) for k in np.sort(order[again : again + 2]))
    (early, i), (late, k) = _find_row(parts, earlier), _find_row(parts, later)
    names = ", ".join(f"{nouns.get(dim, dim)} {axes[dim].names[axes[dim].codes[later]]}" for dim in dims)
    return InputError(
        f"a second score of {measured.names[measured.codes[later]]} for {names}; the first is at {early.place(i)}",
        where=late.place(k),
        remedy="keep one"
        + ("" if "instance" in dims else ", or add a column such as seed that identifies the repeats"),
    )


def _refuse_gap(
    gaps: Bools,
    dims: Sequence[str],
    axes: dict[str, _Axis],
    measured: _Axis,
    nouns: dict[str, str],
    source: str,
) -> InputError:
    n = int(gaps.sum())
    m, *cell = (int(k) for k in np.argwhere(gaps)[0])
    names = ", ".join(
        f"{nouns.get(dim, dim)} {axes[dim].names[k]}" for dim, k in zip(dims, cell, strict=True)
    )
    return InputError(
        f"{format_count(n, 'score')} {'is' if n == 1 else 'are'} missing, the first for {measured.names[m]}, {names}",
        where=source,
        remedy=(
            *("add the rows, or choose ", Option("missing", "leave")),
            *(" or ", Option("missing", "zero")),
        ),
    )


def _make_index(dim: str, names: Sequence[str]) -> PandasIndex:
    """Return an index of names: whole numbers if they are of splits or instances, else text."""
    if dim in _NUMBERED and all(name.isdecimal() and name.isascii() and len(name) < 19 for name in names):
        return PandasIndex(np.array(list(names), dtype=np.int64), dim)
    array = np.array(list(names), dtype=np.str_)
    if "\0" in "".join(names) and any(name.endswith("\0") for name in names):
        # arrays of text lose zero bytes at the end
        array = np.array(list(names), dtype=object)
    return PandasIndex(array, dim, array.dtype)
