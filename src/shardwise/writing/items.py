"""Write what the items behind a comparison show, and lay out their tables for people."""

from __future__ import annotations

import pandas as pd

from shardwise.analysis.items import ItemMatrix, Items
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.text import shorten_name
from shardwise.writing.numbers import format_number, format_signed

FEW_ITEMS = 5
"""Items that a sentence names."""
MOST_ROWS = 20
"""Items that a terminal shows: the first and the last ten."""
MOST_COLUMNS = 8
"""Systems that a terminal shows beside each other."""


def write_items(items: Items, decimals: int = 3) -> list[str]:
    """Write where two systems differ, a sentence each: wins and losses, the items that matter, those that all fail.

    Parameters
    ----------
    items : Items
        The items of two systems.
    decimals : int
        Digits after the point.

    Returns
    -------
    list of str
        The answer first.

    >>> import xarray as xr
    >>> from shardwise.analysis.items import list_items
    >>> y = xr.DataArray([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]], dims=("topic", "system"),
    ...     coords={"topic": list("pqrs"), "system": ["new", "old"]})
    >>> for line in write_items(list_items(y, "new", "old")): print(line)
    new is better than old on 2 topics, worse on 0, equal on 2 of 4 (difference +0.500).
    1 topic carries half of the difference: p.
    All systems fail 1 topic: r.
    All systems solve 1 topic: q.
    """
    topic, counts = items.nouns.get("topic", "topic"), items.counts
    missing = f"; {counts['missing']:,} lack a score" if counts["missing"] else ""
    a, b = shorten_name(items.a), shorten_name(items.b)
    lines = [
        f"{a} is better than {b} on {format_count(counts['win'], topic)}, worse on {counts['loss']:,},"
        f" equal on {counts['tie']:,} of {len(items):,}{missing}"
        f" (difference {format_signed(items.difference, decimals)})."
    ]
    for rows, subject in (
        (items.carriers, "{n} {verb} half of the difference"),
        (items.outliers, "{n} {be} outliers"),
        (items.all_fail, "All systems fail {n}"),
        (items.all_solve, "All systems solve {n}"),
    ):
        if len(rows):
            lines.append(_name_items(rows, subject, topic))
    return lines


def write_matrix(matrix: ItemMatrix) -> list[str]:
    """Write how many items tell nothing of the systems, a sentence each.

    Parameters
    ----------
    matrix : ItemMatrix
        All items and systems.

    Returns
    -------
    list of str
        The size first.
    """
    topic, system = (matrix.nouns.get(name, name) for name in ("topic", "system"))
    lines = [
        f"{format_count(len(matrix), topic)} × {format_count(len(matrix.systems), system)}, hardest {topic} first."
    ]
    for rows, subject in (
        (matrix.all_fail, f"All {pluralize_noun(system)} fail {{n}}"),
        (matrix.all_solve, f"All {pluralize_noun(system)} solve {{n}}"),
    ):
        if len(rows):
            lines.append(_name_items(rows, subject, topic))
    return lines


def _name_items(rows: pd.DataFrame, subject: str, topic: str) -> str:
    """A sentence with the number of some items, and their names where they are few."""
    single = len(rows) == 1
    text = subject.format(
        n=format_count(len(rows), topic), verb="carries" if single else "carry", be="is" if single else "are"
    )
    text = text.replace("is outliers", "is an outlier")
    names = ", ".join(shorten_name(str(name)) for name in rows["item"][:FEW_ITEMS])
    return f"{text}: {names}{', …' if len(rows) > FEW_ITEMS else ''}."


def show_items(items: Items, decimals: int = 3) -> pd.DataFrame:
    """Lay out the items with the largest differences for people: ten wins and ten losses at most.

    Parameters
    ----------
    items : Items
        The items of two systems.
    decimals : int
        Digits after the point.

    Returns
    -------
    DataFrame
        Texts; the two systems are columns under their own names.
    """
    known = items.table[items.table["outcome"] != "missing"]
    half = MOST_ROWS // 2
    rows = known if len(known) <= MOST_ROWS else pd.concat([known[:half], known[-half:]])
    marks = ("carries_half", "outlier", "all_fail", "all_solve")
    noted = [", ".join(name.replace("_", " ") for name in marks if row[name]) for _, row in rows.iterrows()]
    labels = [name for name in ("item", "task", "cluster") if name in rows]
    shown = {name: rows[name].astype(str) for name in labels}
    shown = {items.nouns.get("topic", "topic") if name == "item" else name: v for name, v in shown.items()}
    shown |= {
        name: rows[column].map(lambda x: format_number(x, decimals))
        for name, column in ((items.a, "score_a"), (items.b, "score_b"))
    }
    shown["difference"] = rows["difference"].map(lambda x: format_signed(x, decimals))
    if "se" in rows:
        shown["se"] = rows["se"].map(lambda x: format_number(x, decimals))
    return pd.DataFrame({**shown, "outcome": rows["outcome"], "note": noted})


def show_matrix(matrix: ItemMatrix, decimals: int = 3) -> pd.DataFrame:
    """Lay out the hardest items for people, with the scores of the best systems.

    Parameters
    ----------
    matrix : ItemMatrix
        All items and systems.
    decimals : int
        Digits after the point.

    Returns
    -------
    DataFrame
        Texts.
    """
    rows = matrix.table[:MOST_ROWS]
    labels = [name for name in ("item", "task", "cluster") if name in rows]
    shown = {name: rows[name].astype(str) for name in labels}
    shown = {matrix.nouns.get("topic", "topic") if name == "item" else name: v for name, v in shown.items()}
    for name in ("mean", "sd"):
        shown[name] = rows[name].map(lambda x: format_number(x, decimals))
    for name in matrix.systems[:MOST_COLUMNS]:
        values = matrix.scores[name].to_numpy()[:MOST_ROWS]
        shown[name] = pd.Series([format_number(x, decimals) for x in values], index=rows.index)
    return pd.DataFrame(shown)
