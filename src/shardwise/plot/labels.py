"""Names come from files: what may be drawn of them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

MOST_SHOWN = 60  # characters


def visible(text: str) -> str:
    """Show control characters, and those that turn the reading direction, as their code.

    >>> visible("a\\x1b[31m\\u202eb")
    'a\\\\x1b[31m\\\\u202eb'
    """
    return "".join(c if _harmless(c) else _code(c) for c in text)


def short(text: str, most: int = MOST_SHOWN) -> str:
    """A name that fits beside a chart, cut in the middle so that two long names still differ at the end.

    >>> short("abcdefghijkl", 9)
    'abcde…jkl'
    """
    shown = visible(text)
    if len(shown) <= most:
        return shown
    end = (most - 1) * 3 // 8
    return f"{shown[: most - 1 - end]}…{shown[len(shown) - end :]}"


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


def _harmless(character: str) -> bool:
    return character == " " or (character.isprintable() and unicodedata.category(character) != "Cf")


def _code(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"
