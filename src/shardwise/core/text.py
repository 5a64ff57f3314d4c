"""Names come from files and are not to be trusted: what may be shown of them, and what may stand in a page."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

MOST_SHOWN = 60  # characters


def escape_controls(text: str) -> str:
    """Show control characters, and those that turn the reading direction, as their code.

    >>> escape_controls("a\\x1b[31m\\u202eb")
    'a\\\\x1b[31m\\\\u202eb'
    """
    return "".join(c if _is_harmless(c) else _format_code(c) for c in text)


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


def script_json(value: Any) -> str:
    r"""Return JSON that may stand in a script element: nothing in it ends that or starts a comment; no NaN.

    >>> script_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _is_harmless(character: str) -> bool:
    return character == " " or (character.isprintable() and unicodedata.category(character) != "Cf")


def _format_code(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"
