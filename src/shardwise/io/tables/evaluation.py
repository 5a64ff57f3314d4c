"""What ``trec_eval -q`` and ``ir_measures --by_query`` print: three columns without a header, one system a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.io.tables.numerals import is_number
from shardwise.io.tables.sheet import Sheet, make_sheet, strip_endings
from shardwise.io.tables.words import is_measure

_SUMMARY = "all"  # their name for the mean over topics
_HEAD = ("runid", "relstring")
_COUNTS = (
    "num_",
    "iprec_at_recall",
    "gm_",
    "set_",
    "11pt",
    "Rprec",
    "relative_",
    "utility",
    "binG",
    "G",
    "infAP",
)
"""How further names of trec_eval begin."""
_LOOK = 200  # lines that tell what a file is


def is_evaluation(text: bytes) -> bool:
    """Tell whether a text has three columns without a header: measure, topic and value, in the order of either tool.

    Parameters
    ----------
    text
        The first bytes of a file.
    """
    lines = [line for line in text[: 1 << 16].split(b"\n") if line.strip()][:_LOOK]
    rows = [line.decode("utf-8", "replace").split() for line in lines]
    if not rows or len(rows[0]) != 3 or b"," in lines[0] or b";" in lines[0]:
        return False
    if rows[0][0] in _HEAD:
        return True
    cells = [row for row in rows if len(row) == 3]
    measures = any(sum(_is_known(row[k]) for row in cells) >= len(cells) / 2 for k in (0, 1))
    return is_number(rows[0][2]) and measures


def _is_known(name: str) -> bool:
    """Tell whether a name is that of a measure."""
    return is_measure(name) or name.startswith(_COUNTS)


def read_evaluation(text: bytes, path: Path) -> Sheet:
    """Read measure, topic, value (trec_eval) or topic, measure, value (ir_measures)."""
    rows: list[tuple[int, str, str, str]] = []
    for number, line in enumerate(text.decode("utf-8", "replace").splitlines(), start=1):
        fields = line.split()
        if fields and len(fields) != 3:
            remedy = "expected measure, topic, value as trec_eval -q prints"
            where = f"{path}:{number}"
            raise InputError(
                f"{format_count(len(fields), 'column')} instead of 3", where=where, remedy=remedy
            )
        if fields:
            rows.append((number, fields[0], fields[1], fields[2]))
    system = next((value for _, name, _, value in rows if name == "runid"), strip_endings(path))
    rows = [row for row in rows if row[1] not in _HEAD]
    measure_first = _measure_first([row[1] for row in rows], [row[2] for row in rows])
    named = [(line, b, a, value) if measure_first else (line, a, b, value) for line, a, b, value in rows]
    named = [row for row in named if row[1] != _SUMMARY]
    if not named:
        raise InputError("has means over topics only", where=str(path), remedy="run trec_eval with -q")
    lines, topics, measures, values = zip(*named, strict=True)
    line_of = np.array(lines)
    table = pa.table({"topic": topics, "measure": measures, "value": values})
    return make_sheet(table, str(path), lambda row: f"{path}:{line_of[row]}", system=system)


def _measure_first(first: list[str], second: list[str]) -> bool:
    """Tell whether measures stand in the first column: by the summary rows, else by which has fewer names."""
    if (_SUMMARY in second) != (_SUMMARY in first):
        return _SUMMARY in second
    few, many = len(set(first)), len(set(second))
    return few < many or (few == many and not first[0][:1].isdigit())
