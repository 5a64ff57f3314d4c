"""Write what the items behind a comparison show, and lay out their tables for people."""

from __future__ import annotations

from collections.abc import Mapping

from shardwise.analysis.items import ItemMatrix, Items
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.libraries import pd
from shardwise.core.text import shorten_names
from shardwise.writing.numbers import format_number, format_signed

FEW_ITEMS = 5
"""Items that a sentence names."""
MOST_ROWS = 20
"""Items that a terminal shows: the first and the last ten."""
MOST_COLUMNS = 8
"""Systems that a terminal shows beside each other."""
SENTENCES = {
    "counts": "{a} is better than {b} on {wins}, worse on {losses}, equal on {ties} of {items}{missing}"
    " (difference {difference}).",
    "missing": "; {n} lack a score",
    "carriers": "{n} make up half of the gap: {names}.",
    "carriers_single": "{n} makes up half of the gap: {names}.",
    "outliers": "{n} are outliers: {names}.",
    "outliers_single": "{n} is an outlier: {names}.",
    "all_fail": "All {systems} fail {n}: {names}.",
    "all_solve": "All {systems} solve {n}: {names}.",
    "more": " and {n} more",
}
"""Sentences about items with gaps for figures and names; pages fill them for any two systems."""


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

    >>> from shardwise.analysis.items import list_items
    >>> from shardwise.core.scores import as_scores
    >>> new, old = dict(zip("pqrs", [1, 1, 0, 1])), dict(zip("pqrs", [0, 1, 0, 0]))
    >>> scores = as_scores({"new": new, "old": old})
    >>> for line in write_items(list_items(scores, "new", "old")): print(line)
    new is better than old on 2 topics, worse on 0, equal on 2 of 4 (difference +0.500).
    1 topic makes up half of the gap: p.
    All systems fail 1 topic: r.
    All systems solve 1 topic: q.
    """
    topic, counts = items.nouns.get("topic", "topic"), items.counts
    missing = SENTENCES["missing"].format(n=f"{counts['missing']:,}") if counts["missing"] else ""
    labels = shorten_names((items.a, items.b))
    lines = [
        SENTENCES["counts"].format(
            a=labels[items.a],
            b=labels[items.b],
            wins=format_count(counts["win"], topic),
            losses=f"{counts['loss']:,}",
            ties=f"{counts['tie']:,}",
            items=f"{len(items):,}",
            missing=missing,
            difference=format_signed(items.difference, decimals),
        )
    ]
    for key, rows in (
        ("carriers", items.carriers),
        ("outliers", items.outliers),
        ("all_fail", items.all_fail),
        ("all_solve", items.all_solve),
    ):
        if len(rows):
            lines.append(_name_items(rows, key, items.nouns))
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
    for key, rows in (("all_fail", matrix.all_fail), ("all_solve", matrix.all_solve)):
        if len(rows):
            lines.append(_name_items(rows, key, matrix.nouns))
    return lines


def _name_items(rows: pd.DataFrame, key: str, nouns: Mapping[str, str]) -> str:
    """A sentence with the number of some items, and their names where they are few."""
    pattern = SENTENCES.get(f"{key}_single" if len(rows) == 1 else key, SENTENCES[key])
    labels = list(shorten_names(map(str, rows["item"][:FEW_ITEMS])).values())
    more = len(rows) - FEW_ITEMS
    return pattern.format(
        n=format_count(len(rows), nouns.get("topic", "topic")),
        systems=pluralize_noun(nouns.get("system", "system")),
        names=", ".join(labels) + (SENTENCES["more"].format(n=f"{more:,}") if more > 0 else ""),
    )


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
