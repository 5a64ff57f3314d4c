"""A label for every name of a chart."""

from __future__ import annotations

from collections.abc import Iterable

from shardwise.core.text import MOST_SHOWN, short

ON_AXIS = 44  # characters of a name beside an axis, where there is less room than in a line


def distinct(names: Iterable[str], most: int = MOST_SHOWN) -> dict[str, str]:
    """A label for every name: short, harmless, and different where the names are.

    >>> distinct(["a\\x01", "a\\\\x01", "b"])
    {'a\\x01': 'a\\\\x01', 'a\\\\x01': 'a\\\\x01 (2)', 'b': 'b'}
    """
    labels: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        label, number = short(name, most), 1
        while label in taken:
            number += 1
            label = f"{short(name, most - 8)} ({number})"
        labels[name] = label
        taken.add(label)
    return labels
