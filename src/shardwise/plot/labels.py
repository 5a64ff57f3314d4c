"""Names come from files: what may be drawn of them."""

from __future__ import annotations

import unicodedata


def visible(text: str) -> str:
    """Show control characters, and those that turn the reading direction, as their code.

    >>> visible("a\\x1b[31m\\u202eb")
    'a\\\\x1b[31m\\\\u202eb'
    """
    return "".join(c if _harmless(c) else _code(c) for c in text)


def _harmless(character: str) -> bool:
    return character == " " or (character.isprintable() and unicodedata.category(character) != "Cf")


def _code(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"
