"""Turn an analysis into a view of its items that a page can hold: any two systems, item by item.

The view lets the reader choose two systems and shows the sorted differences with wins, ties and losses, the items that
carry half of the difference, regressions and fixes, all scores of one item, and a heat map of all items and systems.
It needs no network. A page uses it so::

    view = render_items(analysis)          # None where there is nothing to show, see `render_items`
    view.html                              # the element with its data, to be put into the page once
    view.style, view.script                # for one <style> and one <script> of the page
    hash_script(view.script)               # for its security policy; data in the page is no script and needs none

A page whose policy allows files only links `items.css` and `items.js` (`read_asset`) instead; the element has neither
style attributes nor inline scripts. The script starts every view that it finds, and those that htmx puts in later.
Links such as ``#item=301&a=bm25&b=dense`` choose two systems and open an item; they work on every page that has a view.
Colours follow the reader's scheme; a page overrides them by setting the variables at the head of `items.css`.

For tests and other scripts, the element has ``compareItems(a, b)``, which returns the fields of `Analysis.items`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.items import OF_MEAN, OF_MEDIAN, OUTLYING, ROUNDING, ItemMatrix
from shardwise.core.arrays import Floats
from shardwise.core.claim import pluralize_noun
from shardwise.core.scores import slices_of
from shardwise.core.text import escape_controls, script_json, shorten_names
from shardwise.writing.assets import load_templates, pack_bytes, read_asset
from shardwise.writing.items import FEW_ITEMS, SENTENCES, write_items

MOST_BYTES = 600_000
"""Characters that the scores and names of a view may take; systems beyond that are left out, the best are kept."""
MOST_DECIMALS = 7
"""Scores with up to so many decimals are stored as they are."""
MOST_LEVELS = 100
"""Labels of a column by which the view is filtered."""
LONG, SHORT = 24, 14
"""Characters of the names beside the heat map, on a desk and on a telephone."""


@dataclass(frozen=True, slots=True)
class ItemView:
    """An element for a page, with the style and the script that it needs.

    Parameters
    ----------
    html : Markup
        The element; its data is inside.
    style, script : str
        What the page adds once.
    systems : int
        Number of systems that can be chosen.
    """

    html: Markup
    style: str
    script: str
    systems: int


def render_items(analysis: Analysis, name: str = "item-view") -> ItemView | None:
    """Render the items behind an analysis as an element for a page.

    Parameters
    ----------
    analysis : Analysis
        All numbers.
    name : str
        The id of the element; one page holds one view.

    Returns
    -------
    ItemView or None
        None where no item has scores of two systems, or where two systems alone have too many items for a page.
    """
    data = pack_items(analysis)
    if data is None:
        return None
    shown = data["systems"]
    items = analysis.items()
    html = (
        load_templates()
        .get_template("items.html")
        .render(
            name=name,
            item=data["item"],
            items=data["items"],
            system=data["system"],
            systems=data["plural"],
            lines=write_items(items, analysis.decimals),
            hidden=len(analysis.systems) - len(shown),
            shown=len(shown),
            data=Markup(script_json(data)),
        )
    )
    return ItemView(
        html=Markup(html), style=read_asset("items.css"), script=read_asset("items.js"), systems=len(shown)
    )


def pack_items(analysis: Analysis) -> dict[str, Any] | None:
    """Return the scores of all items in little room, and what the script of the view must know of them.

    Parameters
    ----------
    analysis : Analysis
        All numbers.

    Returns
    -------
    dict or None
        What JSON knows; None as for `render_items`.
    """
    if len(analysis.systems) < 2 or analysis.item_scores.unpaired:
        return None
    items, matrix = analysis.items(), analysis.item_matrix()
    topics = analysis.item_scores.topics
    places = {name: k for k, name in enumerate(topics)}
    order = [places[str(name)] for name in matrix.scores.index]
    names = pack_bytes(
        json.dumps(
            _describe_items(matrix, topics, order, slices_of(analysis.item_scores)), ensure_ascii=False
        ).encode()
    )
    # The two systems that are shown first come before all others, then the best.
    wanted = sorted(analysis.systems, key=lambda name: name not in (items.a, items.b, *analysis.baselines))
    fitting, packed = len(wanted), None
    while fitting >= 2:
        packed = _pack_tables(matrix, sorted(wanted[:fitting], key=analysis.systems.index), order)
        size = len(names) + sum(len(table["packed"]) for table in packed.values())
        if size <= MOST_BYTES:
            break
        fitting = min(fitting - 1, int(fitting * MOST_BYTES / size))
    if packed is None or fitting < 2:
        return None
    systems = sorted(wanted[:fitting], key=analysis.systems.index)
    item, system = analysis.item_noun, analysis.noun_for("system")
    return {
        "item": item,
        "items": pluralize_noun(item),
        "system": system,
        "plural": pluralize_noun(system),
        "measure": escape_controls(analysis.measure),
        "decimals": analysis.decimals,
        "lower": matrix.lower_is_better,
        "two_valued": matrix.two_valued,
        "first": [systems.index(items.a), systems.index(items.b)],
        "systems": [escape_controls(name) for name in systems],
        "labels": {str(most): cut_names(systems, most) for most in (60, LONG, SHORT)},
        "names": names,
        "constants": {"median": OF_MEDIAN, "mean": OF_MEAN, "outlying": OUTLYING, "rounding": ROUNDING},
        "few": FEW_ITEMS,
        "sentences": SENTENCES,
        **packed,
    }


def _describe_items(
    matrix: ItemMatrix, topics: Sequence[str], order: list[int], slices: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Names, tasks, clusters and slices of the items as they were read; `order` has the hardest first."""
    table = matrix.table.iloc[np.argsort(order)]
    facts: dict[str, Any] = {
        "items": [escape_controls(name) for name in topics],
        "labels": {str(most): cut_names(topics, most) for most in (60, SHORT)},
        "order": order,
        "all_fail": np.flatnonzero(table["all_fail"]).tolist(),
        "all_solve": np.flatnonzero(table["all_solve"]).tolist(),
    }
    facts |= {name: _code_labels(table[name].tolist()) for name in ("task", "cluster") if name in table}
    coded = {name: _code_labels(labels) for name, labels in slices.items()}
    facts["slices"] = {
        escape_controls(name): labels
        for name, labels in coded.items()
        if 1 < len(labels["levels"]) <= MOST_LEVELS
    }
    return facts


def _code_labels(labels: Sequence[Any]) -> dict[str, Any]:
    """Distinct labels, and the number of each item's."""
    levels, codes = np.unique(np.asarray(labels).astype(str), return_inverse=True)
    return {"levels": [escape_controls(str(level)) for level in levels], "codes": codes.tolist()}


def cut_names(names: Sequence[str], most: int) -> list[str] | None:
    """Cut names that stand together.

    Parameters
    ----------
    names : sequence of str
        The names.
    most : int
        Characters of a label.

    Returns
    -------
    list of str or None
        Labels in the same order, no two alike; None where all names are short enough as they are.

    >>> cut_names(["bm25", "dense"], 24) is None, cut_names(["a-long-name-of-a-run", "bm25"], 12)
    (True, ['a-long-…-run', 'bm25'])
    """
    if all(len(escape_controls(name)) <= most for name in names):
        return None
    labels = shorten_names(names, most)
    return [labels[name] for name in names]


def _pack_tables(matrix: ItemMatrix, systems: list[str], order: list[int]) -> dict[str, Any]:
    """Scores and standard errors of some systems, the items in the order in which they were read."""
    back = np.argsort(order)
    packed = {"scores": pack_numbers(matrix.scores[systems].to_numpy()[back].T)}
    if matrix.errors is not None:
        packed["errors"] = pack_numbers(matrix.errors[systems].to_numpy()[back].T, width=2)
    return packed


def pack_numbers(values: Floats, width: int = 4) -> dict[str, Any]:
    """Store numbers as whole multiples of a step: exactly where they have few decimals, else to 1 part in 2³².

    Parameters
    ----------
    values : array
        Numbers, NaN where one is missing.
    width : int
        Bytes of a number that has no few decimals: 4, or 2 for 1 part in 65,534.

    Returns
    -------
    dict
        ``packed``: the integers in C order, bytes of the same weight together, compressed and as text; the largest
        for a missing one; ``bytes`` of an integer; value = (integer + ``low``) / ``scale``, which differs from another
        where the integers are more than ``same`` apart.

    >>> table = pack_numbers(np.array([[0.25, 0.5], [np.nan, 0.125]]))
    >>> table["bytes"], table["low"], table["scale"], table["same"]
    (2, 125.0, 1000.0, 0)
    """
    known = np.isfinite(values)
    numbers = np.where(known, values, 0.0)
    largest = float(np.abs(numbers).max(initial=0.0))
    for decimals in range(MOST_DECIMALS + 1):
        scale = 10.0**decimals
        whole = np.rint(numbers * scale)
        exact = bool((np.abs(whole / scale - numbers) <= ROUNDING * largest).all())
        if exact and largest * scale < 2.0**31:
            low, same = float(whole[known].min(initial=np.inf)), 0
            break
    else:
        least, span = float(numbers[known].min()), float(np.ptp(numbers[known]))
        scale = (256.0**width - 4.0) / span if span > 0.0 else 1.0
        low, same = least * scale, 1
        whole = np.rint(numbers * scale - low) + low
    low = low if np.isfinite(low) else 0.0
    integers = np.rint(np.where(known, whole - low, 0.0))
    most = int(integers.max(initial=0.0))
    size = next(n for n in (1, 2, 4) if most < 256**n - 1)
    codes = np.where(known, integers, 256.0**size - 1).astype(f"<u{size}")
    planes = codes.reshape(-1, 1).view(np.uint8).T
    return {"packed": pack_bytes(planes.tobytes()), "bytes": size, "low": low, "scale": scale, "same": same}
