"""Names come from files and are not to be trusted: what may be shown of them, stand in a page or in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

MOST_SHOWN = 60  # characters
WORD = string.ascii_letters + string.digits
_RUN = re.compile(r"'*[=+\-@\t\r]")  # what a formula may begin with
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def escape_controls(text: str) -> str:
    """Show control characters, and those that turn the reading direction, as their code.

    >>> escape_controls("a\\x1b[31m\\u202eb")
    'a\\\\x1b[31m\\\\u202eb'
    """
    if text.isprintable():
        return text
    codes = {
        c: f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}" for c in text if not c.isprintable()
    }
    return "".join(codes.get(c, c) for c in text)


def escape_nested(value: Any) -> Any:
    r"""Return nested lists and dicts with every text in them, keys too, as `escape_controls` shows it.

    >>> escape_nested({"a\x1b": ["\0", 1.0]})
    {'a\\x1b': ['\\x00', 1.0]}
    """
    if isinstance(value, str):
        return escape_controls(value)
    if isinstance(value, dict):
        return {escape_nested(key): escape_nested(item) for key, item in value.items()}
    return [escape_nested(item) for item in value] if isinstance(value, list | tuple) else value


def shorten_name(text: str, most: int = MOST_SHOWN) -> str:
    """Return a name that fits into a line, cut in the middle so that two long names still differ at the end.

    >>> shorten_name("abcdefghijkl", 9)
    'abcde…jkl'
    """
    shown = escape_controls(text)
    if len(shown) <= most:
        return shown
    end = (most - 1) * 3 // 8
    return f"{shown[: most - 1 - end]}…{shown[len(shown) - end :]}"


def shorten_names(names: Iterable[str], most: int = MOST_SHOWN) -> dict[str, str]:
    """Shorten names that are shown together: cut in the middle, and never two that look alike.

    A name is cut as by `shorten_name`. Where several would look alike, each also keeps the part in which they differ,
    and gets longer only where that part does not fit.

    >>> shorten_names(["covidex.r5.1.run-006.neural", "covidex.r5.2.run-007.neural", "bm25"], 20)
    {'covidex.r5.1.run-006.neural': 'covidex.r5.1….neural', 'covidex.r5.2.run-007.neural': 'covidex.r5.2….neural',
    'bm25': 'bm25'}
    """
    texts = {name: escape_controls(name) for name in dict.fromkeys(names)}
    labels = {name: shorten_name(name, most) for name in texts}
    for alike in _group_alike(labels):
        shown = _cut_apart([texts[name] for name in alike], most)
        labels.update(zip(alike, shown, strict=True))
    # What still looks alike is written in full; names that differ in control characters or spaces only are numbered.
    while groups := _group_alike(labels):
        for alike in groups:
            cut = [name for name in alike if labels[name] != texts[name]]
            labels.update((name, texts[name]) for name in cut)
            if not cut:
                _number_labels(alike, labels)
    return labels


def _group_alike(labels: dict[str, str]) -> list[list[str]]:
    """Names whose labels look alike on a page, where runs of spaces are shown as one."""
    groups: dict[str, list[str]] = {}
    for name, label in labels.items():
        groups.setdefault(" ".join(label.split()), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def _cut_apart(texts: Sequence[str], most: int) -> list[str]:
    """Cut texts that start and end alike: each keeps start, end, and the word in which it differs from the others."""
    order = sorted(range(len(texts)), key=texts.__getitem__)
    start = _count_shared(texts[order[0]], texts[order[-1]])
    # The whole word or number around the difference, if it is short.
    start -= min(start - len(texts[0][:start].rstrip(WORD)), most // 8)
    common = [_count_shared(texts[i], texts[j]) for i, j in pairwise(order)]
    labels = [""] * len(texts)
    for k, before, after in zip(order, [0, *common], [*common, 0], strict=True):
        text, stop = texts[k], 1 + max(before, after)
        stop += min(len(text[stop:]) - len(text[stop:].lstrip(WORD)), most // 8)
        around = max(most - 2 - (stop - start), most // 3)
        tail = max(len(text) - around * 3 // 8, stop)
        head = min(around - around * 3 // 8, start)
        # An ellipsis in place of a single character gains nothing.
        gaps = [text[i:j] if j - i < 2 else "…" for i, j in ((head, start), (stop, tail))]
        label = f"{text[:head]}{gaps[0]}{text[start:stop]}{gaps[1]}{text[tail:]}"
        labels[k] = text if len(text) <= max(most, len(label)) else label
    return labels


def _count_shared(a: str, b: str) -> int:
    """Number of characters with which both texts start."""
    return next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _number_labels(names: Sequence[str], labels: dict[str, str]) -> None:
    """Number the labels of names that look alike in full, from the second on."""
    taken = {" ".join(label.split()) for label in labels.values()}
    for name in names[1:]:
        number, label = 2, labels[name]
        while " ".join(f"{label} ({number})".split()) in taken:
            number += 1
        labels[name] = f"{label} ({number})"
        taken.add(" ".join(labels[name].split()))


def script_json(value: Any) -> str:
    r"""Return JSON that may stand in a script element: nothing in it ends that or starts a comment; no NaN.

    >>> script_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def guard_name(name: str) -> str:
    """Return a name that no spreadsheet runs as a formula: behind an apostrophe, which reading takes away again.

    >>> guard_name("=cmd|' /C calc'!A0"), guard_name("-0.5"), guard_name("bm25")
    ("'=cmd|' /C calc'!A0", '-0.5', 'bm25')
    """
    return f"'{name}" if _RUN.match(name) and not _NUMBER.fullmatch(name) else name


def unguard_name(name: str) -> str:
    """Return the name that was guarded.

    >>> unguard_name(guard_name("@b")), unguard_name(guard_name("'=a")), unguard_name("'quoted'")
    ('@b', "'=a", "'quoted'")
    """
    return name[1:] if name.startswith("'") and _RUN.match(name) else name


def list_columns(table: pd.DataFrame | Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Return the columns of a table as lists by name."""
    if isinstance(table, Mapping):
        return {name: list(values) for name, values in table.items()}
    return {str(name): column.tolist() for name, column in table.items()}


def write_csv(table: pd.DataFrame | Mapping[str, Sequence[Any]], delimiter: str = ",") -> str:
    """Write a table as CSV: what is undefined is empty, and no name is a formula.

    >>> print(write_csv({"=a": ["@b", "c"], "x": [0.5, float("nan")]}), end="")
    '=a,x
    '@b,0.5
    c,
    """
    columns = list_columns(table)
    lines = io.StringIO()
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\n")
    writer.writerow(map(guard_name, columns))
    writer.writerows(zip(*(map(_guard_cell, values) for values in columns.values()), strict=True))
    return lines.getvalue()


def _guard_cell(value: Any) -> Any:
    """Return a cell as it is written to CSV."""
    if isinstance(value, str):
        return guard_name(value)
    # what pandas has for nothing is neither equal to itself nor different
    return "" if type(value).__name__ == "NAType" or value != value else value
