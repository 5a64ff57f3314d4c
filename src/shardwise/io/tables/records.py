"""A sheet and its reading -> scores one by one -> a Dataset, one variable a measure, that says how it was read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np

from shardwise.core.arguments import validate_choice
from shardwise.core.arrays import Bools, Codes, Floats, Ints
from shardwise.core.claim import DIMENSIONS, format_count
from shardwise.core.errors import InputError, Option, refuse_unknown
from shardwise.core.libraries import xr
from shardwise.core.scores import (
    DETERMINISTIC,
    HUMAN,
    SLICE_PREFIX,
    LabelledScores,
    find_missing,
    find_undefined,
)
from shardwise.io.natural_order import natural_order
from shardwise.io.tables.candidates import name_measure
from shardwise.io.tables.facts import FEW, SLICE, Columns, Reading, find_factors, refuse_words
from shardwise.io.tables.readings import choose_reading
from shardwise.io.tables.sheet import Labels, Sheet
from shardwise.io.tables.words import SAMPLED, find_headline, is_value, simplify_header

ScoreArray = TypeVar("ScoreArray", "xr.DataArray", "xr.Dataset")
Missing = Literal["leave", "refuse", "zero"]

ITEM_LABELS = ("task", "cluster")  # what an item may belong to
SHOWN = 10  # systems that are named
LONGEST = 40  # characters of a name that are shown
_SPARSE = 200  # cells a score, beyond which a column was surely misunderstood


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Scores one by one: where each belongs, its value, and where it was read."""

    source: str
    labels: dict[str, Labels]  # dimension, task or cluster -> label of each score
    measures: Labels
    values: Floats
    place: Callable[[int], str]
    nouns: dict[str, str]  # dimension -> the user's word for it, where that is another
    notes: tuple[str, ...] = ()
    primary: str = ""  # the measure to take where there are several, if the source says so
    asked: frozenset[str] = field(default_factory=frozenset)  # item labels that have a column of their own
    wide: bool = False  # whether its systems were the columns of a table
    factors: tuple[str, ...] = ()  # labels that are further dimensions
    slices: tuple[str, ...] = ()  # labels of items that answers may be broken down by
    numbered: bool = False  # whether items are called by the numbers of their rows, as nothing names them
    unnamed: bool = False  # whether its one system is called by its file, as nothing names it
    repeats_kind: str = ""  # samples or seeds, where the source says it
    what: str = ""  # what a log was recognised as
    excluded: frozenset[str] = frozenset()  # names that the caller leaves out and that were there
    perhaps: str = ""  # of one system, the columns by which there would be several


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the caller says of a table."""

    measure: str | None = None
    columns: Columns | None = None
    factors: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    missing: Missing | None = None
    decimal: str = ""
    sheet: str = ""
    tasks: tuple[str, ...] = ()
    by_position: bool = False


def make_records(sheet: Sheet, wishes: Wishes, system: str = "", *, single: bool = False) -> Records:
    """Take the scores out of a sheet.

    Parameters
    ----------
    sheet
        The table.
    wishes
        What the caller says of it: columns, measure, what is left out, what becomes of words among the scores.
    system
        What to call the one system of a table that names none.
    single
        Whether the columns are measures of one system, and not systems.
    """
    further = find_factors(sheet, wishes.factors, wishes.columns)
    reading = choose_reading(
        sheet, wishes.columns, wishes.measure, single=single, factors=further, exclude=wishes.exclude
    )
    whole, sheet = sheet, reading.sheet
    # rows were dropped from both alike; the whole still has the columns of factors
    factored = whole if whole.rows == sheet.rows else sheet
    dropped, met = _find_left_out(reading, wishes)
    if len(dropped):
        sheet, factored = sheet.without_rows(dropped), factored.without_rows(dropped)
    excluded = met.union(name for name in wishes.exclude if name in whole.columns)
    slices = {_name_slice(name): name for name in reading.slices if name not in further}
    kinds = (*DIMENSIONS, *ITEM_LABELS)
    labels = {role: sheet.require_labels(name) for role, name in reading.roles.items() if role in kinds}
    labels |= {name: factored.require_labels(name) for name in further}
    labels |= {called: sheet.columns[name].labels for called, name in slices.items()}
    count, times = sheet.rows, len(reading.scores)
    numbered = "topic" not in labels
    if numbered:
        labels["topic"] = Labels(np.arange(count, dtype=np.int32), [str(k + 1) for k in range(count)])
    wide, folds = reading.by_columns, reading.shape == "folds"
    unnamed = not wide and "system" not in labels and not system
    if not wide:
        labels.setdefault("system", Labels.repeat_name(system or sheet.system, count))
        _number_repeats(labels)
    labels = {role: Labels(np.tile(entry.codes, times), *entry[1:]) for role, entry in labels.items()}
    if wide:
        labels["system"] = _repeat_each([reading.parts.get(n, (n, ""))[0] for n in reading.scores], count)
    if folds:
        labels["instance"] = _repeat_each(reading.scores, count)
    columns = [sheet.columns[name] for name in reading.scores]
    values = columns[0].values if times == 1 else np.concatenate([column.values for column in columns])
    odd = np.isinf(values)
    for column in columns:
        strange = odd.any() and wishes.missing not in ("leave", "zero") and np.isinf(column.values).any()
        if column.parsed.problem or strange:
            raise refuse_words(sheet, column.name)
    notes = [*reading.notes]
    if wide and sheet.rows >= FEW:
        flat = [column for column in columns if column.name not in sheet.empty and column.constant]
        notes += [f"{column.name} has {column.values[0]:g} in every row" for column in flat]
    notes += dict.fromkeys(note for column in columns for note in column.parsed.notes)
    reasons = {name: why for name, why in reading.omitted.items() if (name or why != "text") and why != SLICE}
    if reasons:
        notes.append("left out: " + ", ".join(f"{name or '#1'} ({why})" for name, why in reasons.items()))
    if excluded:
        notes.append(f"left out as asked: {', '.join(sorted(excluded))}")
    if odd.any():
        values = np.where(odd, np.nan if wishes.missing == "leave" else 0.0, values)
        became = "missing" if wishes.missing == "leave" else "zero"
        notes.append(f"{format_count(int(odd.sum()), 'cell')} of words read as {became}")
    repeat = simplify_header(reading.roles.get("instance", "")) if "instance" in labels else ""
    sampled = "samples" if repeat in SAMPLED - {"epoch"} else "seeds" if "seed" in repeat else ""
    return Records(
        source=sheet.source,
        labels=labels,
        measures=_label_measures(reading, sheet, wishes.measure),
        values=values,
        place=lambda k: sheet.place(k % count),
        nouns=reading.nouns,
        notes=tuple(notes),
        primary=find_headline(reading.scores) if times > 1 and not wide and not folds else "",
        asked=frozenset(role for role in ITEM_LABELS if role in labels),
        wide=reading.wide,
        factors=tuple(further),
        slices=tuple(slices),
        numbered=numbered,
        unnamed=unnamed,
        repeats_kind=sampled,
        excluded=excluded,
        perhaps=str(reading.perhaps or ""),
    )


def _find_left_out(reading: Reading, wishes: Wishes) -> tuple[Ints, frozenset[str]]:
    """Return rows of items and systems that the caller leaves out, with these, and of tasks not asked for."""
    sheet, roles = reading.sheet, reading.roles
    dropped, met = np.zeros(sheet.rows, dtype=bool), set[str]()
    for role in ("topic", "system") if wishes.exclude else ():
        if role in roles and not (role == "system" and reading.by_columns):
            codes, names, _ = sheet.columns[roles[role]].labels
            dropped |= np.isin(codes, [k for k, name in enumerate(names) if name in wishes.exclude])
            met |= {*names} & {*wishes.exclude}
    if wishes.tasks:
        if "task" not in roles:
            raise InputError("has no tasks", where=sheet.source, remedy=("leave out ", Option("task")))
        codes, names, _ = sheet.columns[roles["task"]].labels
        for task in wishes.tasks:
            if task not in names:
                raise refuse_unknown("task", task, names)
        dropped |= ~np.isin(codes, [k for k, name in enumerate(names) if name in wishes.tasks])
    return np.flatnonzero(dropped), frozenset(met)


def _name_slice(column: str) -> str:
    """Return what the labels of a slice are called, which no dimension and no other label of items is."""
    return SLICE_PREFIX * (column in (*DIMENSIONS, *ITEM_LABELS, HUMAN, DETERMINISTIC)) + column


def _label_measures(reading: Reading, sheet: Sheet, measure: str | None) -> Labels:
    """Return the measure of each score: by a column that names it, by the columns of scores, or as the caller says."""
    scores = reading.scores
    if "measure" in reading.roles:
        kinds = sheet.require_labels(reading.roles["measure"])
        return Labels(np.tile(kinds.codes, len(scores)), kinds.names)
    if reading.shape == "folds":
        names = [measure or "score"] * len(scores)
    elif reading.by_columns:
        common = measure or name_measure(scores) or "score"
        names = [reading.parts.get(name, (name, common))[1] for name in scores]
    else:
        called = measure if measure and len(scores) == 1 else "score"
        names = [called if is_value(name) else name for name in scores]
        names = names if len(set(names)) == len(names) else list(scores)
    return _repeat_each(names, sheet.rows)


def _repeat_each(names: Sequence[str], count: int) -> Labels:
    """Return each of some names for as many scores."""
    return Labels.join([Labels.repeat_name(name, count) for name in names])


def _number_repeats(labels: dict[str, Labels]) -> None:
    """Number repeats within each cell, where systems or rows have repeats of their own names."""
    if "instance" not in labels:
        return
    repeats, systems = labels["instance"], labels["system"]
    rows, several = len(repeats.codes), len(repeats.names) > 1 and len(systems.names) > 1
    pairs = repeats.codes.astype(np.int64) * len(systems.names) + systems.codes
    separate = several and len(np.unique(pairs)) == len(repeats.names)
    if not separate and (len(repeats.names) < rows or rows < 2):
        return
    del labels["instance"]
    numbers = count_before({role: entry for role, entry in labels.items() if role in DIMENSIONS})
    if numbers.max(initial=0) > 0:
        labels["instance"] = Labels(numbers, [str(k + 1) for k in range(int(numbers.max()) + 1)])


def count_before(labels: Mapping[str, Labels]) -> Codes:
    """Return how many rows with the same labels stand before each row.

    >>> count_before({"topic": Labels(np.array([0, 1, 0, 0]), ["a", "b"])}).tolist()
    [0, 0, 1, 2]
    """
    keys = _find_places(list(labels.values()))
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(keys[order]) != 0]))
    counts = np.empty(len(keys), dtype=np.int32)
    counts[order] = np.arange(len(keys)) - np.repeat(starts, np.diff(np.append(starts, len(keys))))
    return counts


def _find_places(labels: Sequence[Labels]) -> Ints:
    """Return where each score stands in the array that has a dimension for each of some labels."""
    places: Ints = np.zeros(len(labels[0].codes), dtype=np.int64)
    for codes, names, _ in labels:
        places *= len(names)
        places += codes
    return places


# scores one by one -> the array --------------------------------------------------------------------------------------


class Arranged(NamedTuple):
    """Scores of several measures on the same items, and the measure that the source shows first."""

    tables: list[LabelledScores]
    source: str
    primary: str = ""


def arrange_scores(parts: Sequence[Records], missing: Missing | None = None) -> Arranged:
    """Put scores into arrays; refuse doubles. Items keep their task and cluster as labels.

    The attribute ``read_as`` says in one line what was read. An instance that a system was not run for (a seed) is
    missing, whatever the policy.

    Parameters
    ----------
    parts
        Scores one by one, from one table or several.
    missing
        What becomes of scores without a row: ``"leave"`` (NaN, as without), ``"refuse"`` or ``"zero"``.
    """
    if missing is not None:
        validate_choice(missing, "missing", get_args(Missing), what="policy for missing rows")
    nouns = {dim: word for part in reversed(parts) for dim, word in part.nouns.items()}
    further = dict.fromkeys(name for part in parts for name in part.factors)
    slices = [name for name in parts[0].slices if all(name in part.slices for part in parts)]
    every = dict.fromkeys([*DIMENSIONS, *ITEM_LABELS, *further, *slices])
    roles = [role for role in every if any(role in part.labels for part in parts)]
    for part in parts:
        for role in roles:
            if role not in part.labels:
                raise InputError(
                    f"has no column {nouns.get(role, role)!r}, unlike other files",
                    where=part.source,
                    remedy="add it, or read the files apart",
                )
    axes = {role: Labels.join([part.labels[role] for part in parts]) for role in roles}
    if "task" in axes:
        axes["topic"] = _name_within_tasks(axes["topic"], axes["task"])
    kept = {"system"} if any(part.wide for part in parts) else set()  # columns and files stand in an order
    axes = {role: entry if role in kept else _order_labels(entry) for role, entry in axes.items()}
    items, measured = axes["topic"], Labels.join([part.measures for part in parts])
    nested = [name for name in (*further, *slices) if _count_cells(axes[name], items) == _count_cells(items)]
    dims = [dim for dim in (*DIMENSIONS, *further) if dim in axes and dim != "task" and dim not in nested]
    taken = next((name for name in measured.names if name in axes or name in DIMENSIONS), None)
    if taken is not None:
        raise InputError(
            f"a measure is called {taken!r}, as what it is measured on",
            where=parts[0].source,
            remedy="rename it",
        )
    values = parts[0].values if len(parts) == 1 else np.concatenate([part.values for part in parts])
    shape = (len(measured.names), *(len(axes[dim].names) for dim in dims))
    cells = float(np.prod([float(n) for n in shape]))
    if cells > _SPARSE * len(values) + 1e6:
        most = max(
            (dim for dim in ("system", "instance") if dim in axes), key=lambda dim: len(axes[dim].names)
        )
        many = format_count(len(axes[most].names), nouns.get(most, most))
        raise InputError(
            f"{len(values):,} scores for {cells:.3g} cells: {many} are too many to be true",
            where=parts[0].source,
            remedy=("say which column is what by ", Option("columns")),
        )
    places = _find_places([measured, *(axes[dim] for dim in dims)])
    present, out = np.zeros(shape, dtype=bool), np.empty(shape)
    present.reshape(-1)[places], out.reshape(-1)[places] = True, values
    filled = int(np.count_nonzero(present))

    def name_cell(place: int) -> tuple[str, str]:
        """Return the measure of a cell, and what else it is of."""
        m, *cell = (int(k) for k in np.unravel_index(place, shape))
        names = (f"{nouns.get(d, d)} {axes[d].names[k]}" for d, k in zip(dims, cell, strict=True))
        return measured.names[m], ", ".join(names)

    if filled < len(values):
        order = np.argsort(places, kind="stable")
        again = int(np.flatnonzero(np.diff(places[order]) == 0)[0])
        (early, i), (late, k) = (_find_row(parts, int(row)) for row in np.sort(order[again : again + 2]))
        repeats = "" if "instance" in dims else ", or add a column such as seed that identifies the repeats"
        raise InputError(
            f"a second score of {' for '.join(name_cell(int(places[order[again]])))}; the first is at {early.place(i)}",
            where=late.place(k),
            remedy=f"keep one{repeats}",
        )
    run, unpaired = present, False
    if filled < present.size:
        # items by systems; unpaired where no item has scores of two
        ways = [dims.index("topic"), dims.index("system")]
        known = present.any(axis=(0, *(1 + k for k in range(len(dims)) if k not in ways)))
        known = known if ways[0] < ways[1] else known.T
        unpaired = known.shape[1] > 1 and bool((known.sum(axis=1) <= 1).all())
        if not unpaired:
            run = np.ones_like(present)
        if not unpaired and "instance" in dims:
            others = tuple(1 + k for k, dim in enumerate(dims) if dim not in ("system", "instance"))
            run = np.broadcast_to(present.any(axis=others, keepdims=True), present.shape)
        gaps = run & ~present
        if missing == "refuse" and gaps.any():
            n = int(gaps.sum())
            first = ", ".join(name_cell(int(np.argmax(gaps))))
            raise InputError(
                f"{format_count(n, 'score')} {'is' if n == 1 else 'are'} missing, the first for {first}",
                where=parts[0].source,
                remedy=(
                    "add the rows, or choose ",
                    Option("missing", "leave"),
                    " or ",
                    Option("missing", "zero"),
                ),
            )
        out[~present] = np.nan
        if missing == "zero":
            out[gaps] = 0.0
    labels = {
        role: _label_items(items, axes, role, parts) for role in (*ITEM_LABELS, *nested) if role in axes
    }
    asked = frozenset(name for name in nested if name not in slices).union(*(part.asked for part in parts))
    # labels say something where there are several and, unless they were asked for, items share some
    labels = {
        role: entry
        for role, entry in labels.items()
        if len(set(entry)) > 1 and (role in asked or len(set(entry)) < len(entry))
    }
    names = {dim: _make_index(dim, axes[dim].names) for dim in dims}
    coordinates = {role: (("topic",), np.array(entry)) for role, entry in labels.items()}
    read_as = _describe_reading(out, run, dims, measured.names, nouns, labels, parts, axes["system"].names)
    for name in slices:
        if name not in nested:
            read_as += f"; left out: {name.removeprefix(SLICE_PREFIX)} (differs within {nouns.get('topic', 'topic')})"
    if unpaired:
        read_as += f"; unpaired: each {nouns.get('topic', 'topic')} met one {nouns.get('system', 'system')}"
    attrs: dict[str, object] = {
        f"{dim}_noun": word for dim, word in nouns.items() if dim in dims or dim in labels
    }
    kinds = {part.repeats_kind for part in parts}
    if "instance" in dims and len(kinds) == 1 and kinds != {""}:
        attrs["repeats_kind"] = kinds.pop()
    if len(parts) == 1 and parts[0].perhaps:
        attrs["perhaps_columns"] = parts[0].perhaps
    if filled < present.size:
        attrs["missing_rows"] = present.size - filled
    attrs["read_as"] = read_as
    tables = [
        LabelledScores(
            name, out[m], tuple(dims), names, coordinates, {**attrs, **_count_gaps(out[m], dims, False)}
        )
        for m, name in enumerate(measured.names)
    ]
    primary = next((part.primary for part in parts if part.primary in measured.names), "")
    return Arranged(tables, parts[0].source, primary)


def make_dataset(arranged: Arranged) -> xr.Dataset:
    """Return scores as a Dataset."""
    first = arranged.tables[0]
    coords: dict[str, Any] = {dim: (dim, first.labels[dim]) for dim in first.dims}
    return xr.Dataset(
        {table.name: (table.dims, table.values, dict(table.attrs)) for table in arranged.tables},
        coords={**coords, **first.coordinates},
        attrs={"primary": arranged.primary} if arranged.primary else None,
    )


def count_gaps(scores: ScoreArray) -> ScoreArray:
    """Return scores whose attributes ``undefined`` and ``missing`` count their empty cells."""
    if isinstance(scores, xr.Dataset):
        return scores.assign({name: count_gaps(values) for name, values in scores.data_vars.items()})
    judged = int(scores.attrs.get("undefined", 0)) > 0
    return scores.assign_attrs(_count_gaps(scores.values, [str(dim) for dim in scores.dims], judged))


def _count_gaps(values: Floats, dims: Sequence[str], judged: bool) -> dict[str, int]:
    """Return how many empty cells are undefined and missing."""
    if not np.isnan(values).any():
        return {"undefined": 0, "missing": 0}
    ways = {"undefined": find_undefined, "missing": find_missing}
    return {name: int(find(values, dims, judged).sum()) for name, find in ways.items()}


def _describe_reading(
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
        repeats = format_count(high, nouns.get("instance", "instance"))
        words.append(repeats if low == high else f"{low} to {repeats}")
    inside = [
        f"in {format_count(len(set(names)), nouns.get(role, role).removeprefix(SLICE_PREFIX))}"
        for role, names in labels.items()
    ]
    called = f", score{'s:' if measures[1:] else ' ='} {', '.join(measures)}"
    called = "" if list(measures) == ["score"] else called
    empty = np.isnan(values) & run
    undefined = 0
    if "shard" in dims:
        nowhere = empty.all(axis=1 + list(dims).index("system"), keepdims=True) & empty
        undefined = int(np.count_nonzero(nowhere))
    counts = {"undefined": undefined, "missing": int(np.count_nonzero(empty)) - undefined}
    gaps = [f"{n:,} of {int(run.sum()):,} {what}" for what, n in counts.items() if n]
    notes = dict.fromkeys(note for part in parts for note in part.notes)
    what = "".join(f"{source}, " for source in dict.fromkeys(part.what for part in parts if part.what))
    return "; ".join([f"read as {what}{' '.join([' × '.join(words), *inside])}{called}", *gaps, *notes])


def _order_labels(labels: Labels) -> Labels:
    """Return labels in the order of their names: nothing may depend on the order of rows."""
    order = np.arange(len(labels.names)) if labels.ordered else natural_order(labels.names)
    if np.array_equal(order, np.arange(len(order))):
        return labels
    to = np.empty(len(order), dtype=np.int32)
    to[order] = np.arange(len(order), dtype=np.int32)
    return Labels(to[labels.codes], [labels.names[k] for k in order.tolist()])


def _name_within_tasks(topics: Labels, tasks: Labels) -> Labels:
    """Rename items so that those of different tasks differ, also where they have the same name."""
    many = len(topics.names)
    uniques, codes = np.unique(_find_places([tasks, topics]), return_inverse=True)
    if len(uniques) == many:
        return topics
    names = [f"{tasks.names[p // many]}/{topics.names[p % many]}" for p in uniques.tolist()]
    return Labels(codes.astype(np.int32), names)


def _count_cells(*labels: Labels) -> int:
    """Return how many different combinations some labels have."""
    return len(np.unique(_find_places(labels)))


def _label_items(
    topics: Labels, axes: Mapping[str, Labels], role: str, parts: Sequence[Records]
) -> list[str]:
    """Return the label of every item, which must be the same in all its rows."""
    codes, names, _ = axes[role]
    label_of = np.zeros(len(topics.names), dtype=np.int64)
    label_of[topics.codes[::-1]] = codes[::-1]
    for odd in np.flatnonzero(label_of[topics.codes] != codes)[:1].tolist():
        part, row = _find_row(parts, odd)
        item = topics.codes[odd]
        raise InputError(
            f"item {topics.names[item]} is in {role} {names[codes[odd]]!r}, and in {names[label_of[item]]!r} before",
            where=part.place(row),
            remedy=f"give every item one {role}, and items of different {role}s different names",
        )
    return [names[code] for code in label_of.tolist()]


def _find_row(parts: Sequence[Records], row: int) -> tuple[Records, int]:
    ends = np.cumsum([len(part.values) for part in parts])
    p = int(np.searchsorted(ends, row, side="right"))
    return parts[p], row - int(ends[p] - len(parts[p].values))


def _make_index(dim: str, names: Sequence[str]) -> np.ndarray[Any, Any]:
    """Return the labels of a dimension: whole numbers if they are of splits or instances, else text."""
    numbered = dim in ("split", "instance")
    if numbered and all(name.isdecimal() and name.isascii() and len(name) < 19 for name in names):
        return np.array(list(names), dtype=np.int64)
    # arrays of text lose zero bytes at the end
    return np.array(list(names), dtype=object if any(name.endswith("\0") for name in names) else np.str_)
