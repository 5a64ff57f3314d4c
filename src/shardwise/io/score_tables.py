"""Rows of a score table -> a labelled tensor, every doubt told with file and line."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from shardwise.core.arguments import chosen
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import DIMENSIONS, counted
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import ROLE_OF, missing_cells, noun, undefined_cells
from shardwise.io.files import bare_name, read_bytes

Missing = Literal["refuse", "undefined", "zero"]
Scores = TypeVar("Scores", xr.DataArray, xr.Dataset)

_Column = Sequence[Any] | npt.NDArray[Any]
_ROLE_OF = ROLE_OF | {"measure": "measure", "metric": "measure", "value": "value", "score": "value"}
_OUTCOMES = (
    "correct",
    "accuracy",
)  # columns of scores called after their measure, where there is one of them
_IDS = ("id", "idx", "no", "nr", "number")  # topics, where no other column is and each has one row
_ROW_NAMES = ("", "unnamed: 0", "index")  # what a table calls its own rows
_UNDEFINED = {"", "nan", "na", "n/a", "null", "none"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SUMMARY = "all"  # trec_eval's and ir_measures' name for the mean over topics


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Scores one by one: where each belongs, its value, and where it was read."""

    source: str
    labels: dict[str, list[str]]  # dimension -> label of each score
    measures: list[str]
    values: Floats
    lines: Ints
    nouns: dict[str, str]  # dimension -> the user's word for it, where that is another


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Named columns as they stand in the source, and the line of each row."""

    source: str
    system: str  # name of the one system, should the table not name it
    columns: Mapping[str, _Column]
    lines: Ints
    place: str = ""  # before the line number: "row " for tables that have no lines


def from_text(path: Path, measure: str | None) -> Records:
    """Read CSV, TSV, ``trec_eval -q`` or ``ir_measures --by_query`` output."""
    buffer, size = read_bytes(path, np.empty(0, dtype=np.uint8))
    try:
        text = buffer[:size].tobytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = buffer[: error.start].tobytes().count(b"\n") + 1
        raise InputError("not a text file in UTF-8", where=f"{path}:{line}") from None
    first = next((line for line in text.splitlines() if line.strip()), "")
    if not first:
        raise InputError("the file is empty", where=str(path), remedy="give a table of scores")
    delimiter = next((mark for mark in "\t,;" if mark in first), None)
    try:
        rows = _rows(text, delimiter)
    except csv.Error as error:
        raise InputError(
            f"not a table of scores ({error})", where=str(path), remedy="check the quotes"
        ) from None
    if delimiter in ("\t", None) and len(rows[0][1]) == 3 and _is_evaluation(rows):
        table = _evaluation(rows, path)
        return _long(table, _roles(table), measure)
    lines = np.array([line for line, _ in rows[1:]], dtype=np.int64)
    header = [name.strip() for name in rows[0][1]]
    if all("." in name and _NUMBER.fullmatch(name) for name in header):
        raise InputError(
            "the first row has numbers instead of names", where=f"{path}:1", remedy="add a header"
        )
    for line, fields in rows[1:]:
        if len(fields) != len(header):
            raise InputError(
                f"{counted(len(fields), 'column')} instead of {len(header)}",
                where=f"{path}:{line}",
                remedy="give every row as many columns as the header",
            )
    columns = _columns(header, [fields for _, fields in rows[1:]], f"{path}:{rows[0][0]}")
    return _from_columns(_Table(str(path), _stem(path), columns, lines), measure)


def from_frame(frame: pd.DataFrame, source: str = "table", measure: str | None = None) -> Records:
    """Take the scores out of a data frame, long or wide; a named index counts as a column.

    Parameters
    ----------
    frame
        A long table (columns such as ``question, model, seed, score``) or a wide one (one column a system).
    source
        What to call the table in errors.
    measure
        Name of the measure, or which column to take where there are several.
    """
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    header = [str(name) for name in frame.columns]
    if len(set(header)) != len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise InputError(f"two columns are called {twice!r}", where=source, remedy="rename one")
    columns: dict[str, _Column] = {name: frame.iloc[:, i].to_numpy() for i, name in enumerate(header)}
    rows = np.arange(1, len(frame) + 1, dtype=np.int64)
    return _from_columns(_Table(source, Path(source).stem, columns, rows, "row "), measure)


def tensor(parts: Sequence[Records], missing: Missing = "refuse") -> xr.Dataset:
    """Put scores into a Dataset, one variable a measure; refuse doubles, and gaps unless told otherwise.

    An instance that a system was not run for (a seed) is no gap: its scores are missing, NaN, and counted.

    Parameters
    ----------
    parts
        Scores one by one, from one table or several.
    missing
        What becomes of scores without a row: ``"refuse"``, ``"undefined"`` (NaN) or ``"zero"``.

    >>> frame = pd.DataFrame({"question": [1, 2], "gpt": [1, 0], "llama": [0, 1]})
    >>> table = tensor([from_frame(frame)])["score"]
    >>> table.dims, table.attrs["topic_noun"]
    (('topic', 'system'), 'question')
    """
    chosen(missing, "missing", get_args(Missing), what="policy for missing rows")
    dims = [dim for dim in DIMENSIONS if any(dim in part.labels for part in parts)]
    for part in parts:
        for dim in dims:
            if dim not in part.labels:
                raise InputError(
                    f"has no column {dim!r}, unlike other files",
                    where=part.source,
                    remedy="add it, or read the files apart",
                )
    codes, labels = zip(*(_coded([part.labels[dim] for part in parts]) for dim in dims), strict=True)
    measure_codes, measures = _coded([part.measures for part in parts])
    values = np.concatenate([part.values for part in parts])
    shape = (len(measures), *map(len, labels))
    at = np.ravel_multi_index((measure_codes, *codes), shape)
    _refuse_doubles(at, parts, dims)
    there = np.zeros(shape, dtype=bool)
    there.reshape(-1)[at] = True
    gaps = ~there & _was_run(there, dims)
    if missing == "refuse" and gaps.any():
        n = int(gaps.sum())
        m, *cell = (int(i) for i in np.argwhere(gaps)[0])
        names = ", ".join(f"{dim} {label[i]}" for dim, label, i in zip(dims, labels, cell, strict=True))
        raise InputError(
            f"{counted(n, 'score')} {'is' if n == 1 else 'are'} missing, the first for {measures[m]}, {names}",
            where=parts[0].source,
            remedy=(
                *("add the rows, or choose ", Option("missing", "undefined")),
                *(" or ", Option("missing", "zero")),
            ),
        )
    out = np.full(shape, np.nan)
    if missing == "zero":
        out[gaps] = 0.0
    out.reshape(-1)[at] = values
    coords = {dim: _coordinate(dim, label) for dim, label in zip(dims, labels, strict=True)}
    nouns = {f"{dim}_noun": word for part in reversed(parts) for dim, word in part.nouns.items()}
    absent = {"missing_rows": int((~there).sum())} if not there.all() else {}
    data = xr.Dataset(
        {name: (dims, out[m], nouns | absent) for m, name in enumerate(measures)}, coords=coords
    )
    return with_counts(data)


def with_counts(scores: Scores) -> Scores:
    """Return scores whose attributes ``undefined`` and ``missing`` count their empty cells."""
    if isinstance(scores, xr.Dataset):
        return scores.assign({name: with_counts(values) for name, values in scores.data_vars.items()})
    undefined, missing = int(undefined_cells(scores).sum()), int(missing_cells(scores).sum())
    return scores.assign_attrs(undefined=undefined, missing=missing)


def _was_run(there: Bools, dims: Sequence[str]) -> Bools:
    """Whether the instance of the system has a row anywhere; always, where there are no instances."""
    if "instance" not in dims:
        return np.ones_like(there)
    others = tuple(1 + axis for axis, dim in enumerate(dims) if dim not in ("system", "instance"))
    return np.broadcast_to(there.any(axis=others, keepdims=True), there.shape)


def _rows(text: str, delimiter: str | None) -> list[tuple[int, list[str]]]:
    """Line number and fields of every row that is not blank."""
    if delimiter is None:
        pairs = enumerate(text.splitlines(), start=1)
        return [(number, line.split()) for number, line in pairs if line.strip()]
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
    return [(reader.line_num, fields) for fields in reader if any(field.strip() for field in fields)]


def _columns(header: list[str], rows: list[list[str]], where: str) -> dict[str, _Column]:
    twice = next((name for i, name in enumerate(header) if name in header[:i]), None)
    if twice is not None:
        raise InputError(f"two columns are called {twice!r}", where=where, remedy="rename one")
    if not rows:
        raise InputError("the table has no rows", where=where, remedy="give at least one topic")
    return dict(zip(header, zip(*rows, strict=True), strict=True))


def _is_evaluation(rows: list[tuple[int, list[str]]]) -> bool:
    """Three columns without a header: the last holds numbers from the first row on."""
    fields = rows[0][1]
    return fields[0].strip() in ("runid", "relstring") or bool(_NUMBER.fullmatch(fields[2].strip()))


def _evaluation(rows: list[tuple[int, list[str]]], path: Path) -> _Table:
    """What ``trec_eval -q`` (measure topic value) or ``ir_measures`` (topic measure value) printed."""
    for line, fields in rows:
        if len(fields) != 3:
            where, remedy = f"{path}:{line}", "expected measure, topic, value as trec_eval -q prints"
            raise InputError(f"{counted(len(fields), 'column')} instead of 3", where=where, remedy=remedy)
    table = [(line, a.strip(), b.strip(), c.strip()) for line, (a, b, c) in rows]
    system = next((value for _, name, _, value in table if name == "runid"), _stem(path))
    table = [row for row in table if row[1] not in ("runid", "relstring")]
    measure_first = _measure_first([row[1] for row in table], [row[2] for row in table])
    named = [(line, b, a, value) if measure_first else (line, a, b, value) for line, a, b, value in table]
    named = [row for row in named if row[1] != _SUMMARY]
    if not named:
        raise InputError("has means over topics only", where=str(path), remedy="run trec_eval with -q")
    lines, topics, measures, values = zip(*named, strict=True)
    columns = {"topic": topics, "measure": measures, "value": values}
    return _Table(str(path), system, columns, np.array(lines, dtype=np.int64))


def _measure_first(first: list[str], second: list[str]) -> bool:
    """Whether measures stand in the first column: by the summary rows, else by which has fewer names."""
    if (_SUMMARY in second) != (_SUMMARY in first):
        return _SUMMARY in second
    few, many = len(set(first)), len(set(second))
    return few < many or (few == many and not first[0][:1].isdigit())


def _stem(path: Path) -> str:
    return Path(bare_name(path)).stem


def _from_columns(table: _Table, measure: str | None) -> Records:
    roles = _roles(table)
    if "topic" in roles and roles.keys() & {"system", "value"}:
        return _long(table, roles, measure)
    return _wide(table, roles, measure)


def _long(table: _Table, roles: Mapping[str, str], measure: str | None) -> Records:
    """One row a score, or a row of scores of several measures."""
    labels = {role: _texts(table, name) for role, name in roles.items() if role in DIMENSIONS}
    labels.setdefault("system", [table.system] * len(table.lines))
    nouns = _nouns(roles)
    if "measure" in roles:
        if "value" not in roles:
            remedy = "call it value or score"
            raise InputError("has a column of measures but none of values", where=table.source, remedy=remedy)
        values, names = _numbers(table, roles["value"]), _texts(table, roles["measure"])
        return Records(table.source, labels, names, values, table.lines, nouns)
    columns = [
        name
        for name in table.columns
        if name == roles.get("value")
        or (name not in roles.values() and name.lower() not in _IDS + _ROW_NAMES)
    ]
    if measure in columns:
        columns = [str(measure)]
    if not columns:
        raise InputError(
            "has no column of scores", where=table.source, remedy="add one, called after the measure"
        )
    called = [
        measure
        if measure and len(columns) == 1
        else "score"
        if _ROLE_OF.get(name.lower()) == "value"
        else name
        for name in columns
    ]
    values = np.concatenate([_numbers(table, name) for name in columns])
    measures = [name for name in called for _ in table.lines]
    repeated = {dim: label * len(columns) for dim, label in labels.items()}
    return Records(table.source, repeated, measures, values, np.tile(table.lines, len(columns)), nouns)


def _wide(table: _Table, found: Mapping[str, str], measure: str | None) -> Records:
    """One row a topic (of a shard of a split), one column a system."""
    roles = {role: name for role, name in found.items() if role in DIMENSIONS and role != "system"}
    first = next(iter(table.columns))
    if "topic" not in roles and first.lower() in _ROW_NAMES:
        roles["topic"] = first
    labels = {role: _texts(table, name) for role, name in roles.items()}
    labels.setdefault("topic", [str(i) for i in range(1, len(table.lines) + 1)])
    systems = [name for name in table.columns if name not in roles.values()]
    if not systems:
        raise InputError("has no columns of scores", where=table.source, remedy="give one column a system")
    values = np.concatenate([_numbers(table, name) for name in systems])
    repeated = {dim: label * len(systems) for dim, label in labels.items()}
    repeated["system"] = [name for name in systems for _ in table.lines]
    lines = np.tile(table.lines, len(systems))
    return Records(table.source, repeated, [measure or "score"] * len(values), values, lines, _nouns(roles))


def _roles(table: _Table) -> dict[str, str]:
    """Which column is what: by its name, and where no column is named after topics, by an id that can be one."""
    roles: dict[str, str] = {}
    for name in table.columns:
        role = _ROLE_OF.get(name.lower())
        if role is None:
            continue
        if role in roles:
            remedy = f"keep one of them as the {role}"
            raise InputError(
                f"columns {roles[role]!r} and {name!r} mean the same", where=table.source, remedy=remedy
            )
        roles[role] = name
    outcomes = [name for name in table.columns if name.lower() in _OUTCOMES]
    if "value" not in roles and len(outcomes) == 1:
        roles["value"] = outcomes[0]
    if "topic" not in roles:
        ids = [name for name in table.columns if name.lower() in _IDS]
        if len(ids) == 1 and ("system" in roles or _names_rows(table, ids[0])):
            roles["topic"] = ids[0]
    return roles


def _names_rows(table: _Table, name: str) -> bool:
    """Whether a column tells the rows of a wide table apart: it stands first, and no label comes back."""
    labels = [_text(label) for label in table.columns[name]]
    return name == next(iter(table.columns)) and len(set(labels)) == len(labels)


def _nouns(roles: Mapping[str, str]) -> dict[str, str]:
    """The user's words for dimensions, where they differ from ours and say something."""
    words = {
        role: noun(name)
        for role, name in roles.items()
        if role in DIMENSIONS and name.lower() not in ("name", "tag", *_IDS, *_ROW_NAMES)
    }
    return {role: word for role, word in words.items() if word != role}


def _texts(table: _Table, name: str) -> list[str]:
    texts = [_text(label) for label in table.columns[name]]
    if "" in texts:
        raise InputError(
            f"column {name!r} is empty", where=_where(table, texts.index("")), remedy="fill it in"
        )
    return texts


def _text(label: Any) -> str:
    if isinstance(label, float | np.floating):  # pandas makes floats of whole numbers beside a gap
        return "" if np.isnan(label) else str(int(label)) if label == int(label) else str(label)
    return str(label).strip()


def _numbers(table: _Table, name: str) -> Floats:
    column = table.columns[name]
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        values = column.astype(np.float64)
    else:
        values = np.array([_number(token) for token in column])
    wrong = np.flatnonzero(np.isinf(values))
    if len(wrong):
        token = str(column[wrong[0]])
        remedy = (
            f"write it with a point, as in {token.replace(',', '.')}"
            if "," in token
            else "give a number, or leave it empty if there is none"
        )
        raise InputError(
            f"{name}: {token!r} is not a number", where=_where(table, int(wrong[0])), remedy=remedy
        )
    return values


def _number(token: Any) -> float:
    """Value of a cell, NaN if undefined, infinite if it is no number at all."""
    text = "" if token is None or token is pd.NA else str(token).strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    return float("nan") if text.lower() in _UNDEFINED else float("inf")


def _where(table: _Table, row: int) -> str:
    return f"{table.source}:{table.place}{table.lines[row]}"


def _coded(parts: Sequence[Sequence[str]]) -> tuple[Ints, list[str]]:
    """Numbers of labels, and the labels in the order they first appear."""
    codes, labels = pd.factorize(np.array([label for part in parts for label in part], dtype=object))
    return codes.astype(np.int64), [str(label) for label in labels]


def _refuse_doubles(at: Ints, parts: Sequence[Records], dims: Sequence[str]) -> None:
    order = np.argsort(at, kind="stable")
    again = np.flatnonzero(np.diff(at[order]) == 0)
    if not len(again):
        return
    one, two = (int(i) for i in np.sort(order[again[0] : again[0] + 2]))
    ends = np.cumsum([len(part.values) for part in parts])

    def find(i: int) -> tuple[Records, int]:
        p = int(np.searchsorted(ends, i, side="right"))
        return parts[p], i - int(ends[p] - len(parts[p].values))

    (early, i), (late, k) = find(one), find(two)
    names = ", ".join(f"{dim} {late.labels[dim][k]}" for dim in dims)
    raise InputError(
        f"a second score of {late.measures[k]} for {names}; the first is at {early.source}:{early.lines[i]}",
        where=f"{late.source}:{late.lines[k]}",
        remedy="keep one",
    )


def _coordinate(dim: str, labels: list[str]) -> list[str] | Ints:
    numbered = dim in ("split", "instance") and all(label.isdigit() for label in labels)
    return np.array(labels, dtype=np.int64) if numbered else labels
