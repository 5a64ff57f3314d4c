"""What ``trec_eval -q`` and ``ir_measures --by_query`` print: three columns without a header, one system a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from shardwise.core.claim import counted
from shardwise.core.errors import InputError
from shardwise.io.tables.column import is_number
from shardwise.io.tables.sheet import Sheet, made, stem

_SUMMARY = "all"  # their name for the mean over topics
_HEAD = ("runid", "relstring")


def is_evaluation(text: bytes) -> bool:
    """Whether a text has three columns, the last with numbers from the first row on."""
    first = next((line for line in text[: 1 << 16].split(b"\n") if line.strip()), b"")
    fields = first.decode("utf-8", "replace").split()
    if b"," in first or b";" in first or len(fields) != 3:
        return False
    return fields[0] in _HEAD or is_number(fields[2])


def from_evaluation(text: bytes, path: Path) -> Sheet:
    """Read measure, topic, value (trec_eval) or topic, measure, value (ir_measures)."""
    rows: list[tuple[int, str, str, str]] = []
    for number, line in enumerate(text.decode("utf-8", "replace").splitlines(), start=1):
        fields = line.split()
        if fields and len(fields) != 3:
            remedy = "expected measure, topic, value as trec_eval -q prints"
            where = f"{path}:{number}"
            raise InputError(f"{counted(len(fields), 'column')} instead of 3", where=where, remedy=remedy)
        if fields:
            rows.append((number, fields[0], fields[1], fields[2]))
    system = next((value for _, name, _, value in rows if name == "runid"), stem(path))
    rows = [row for row in rows if row[1] not in _HEAD]
    measure_first = _measure_first([row[1] for row in rows], [row[2] for row in rows])
    named = [(line, b, a, value) if measure_first else (line, a, b, value) for line, a, b, value in rows]
    named = [row for row in named if row[1] != _SUMMARY]
    if not named:
        raise InputError("has means over topics only", where=str(path), remedy="run trec_eval with -q")
    lines, topics, measures, values = zip(*named, strict=True)
    at = np.array(lines)
    table = pa.table({"topic": topics, "measure": measures, "value": values})
    return made(table, str(path), lambda row: f"{path}:{at[row]}", system=system)


def _measure_first(first: list[str], second: list[str]) -> bool:
    """Whether measures stand in the first column: by the summary rows, else by which has fewer names."""
    if (_SUMMARY in second) != (_SUMMARY in first):
        return _SUMMARY in second
    few, many = len(set(first)), len(set(second))
    return few < many or (few == many and not first[0][:1].isdigit())
