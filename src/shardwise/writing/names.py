"""Names come from files: short labels that differ, and nothing that LaTeX would run."""

from __future__ import annotations

import re
import unicodedata

from shardwise.analysis.analysis import PairResult
from shardwise.core.text import MOST_SHOWN, shorten_name, shorten_names

TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "[": "{[}",  # after a line break it would be taken for the length of the gap
    "*": "{*}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "’": "'",
    "×": r"$\times$",
    "±": r"$\pm$",
    "²": r"$^2$",
    "−": "$-$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "ω": r"$\omega$",
    "σ": r"$\sigma$",
    "τ": r"$\tau$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "♯": r"$\sharp$",
    "→": r"$\to$",
    "▲": r"$\bigtriangleup$",  # the filled ones need amssymb
    "▼": r"$\bigtriangledown$",
    "χ": r"$\chi$",
    "\u00a0": "~",
}
ACCENTS = frozenset("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327")
LETTERS = frozenset("ßæÆœŒøØłŁ")


def label_systems(result: PairResult, most: int = MOST_SHOWN) -> dict[str, str]:
    """Return the systems of a result as sentences name them: short, and no two alike.

    Parameters
    ----------
    result : PairResult
        What was compared.
    most : int
        Characters of a label, unless more are needed to tell systems apart.

    Returns
    -------
    dict of str to str
        Label of each system.
    """
    return shorten_names(result.pairs.estimates.labels, most)


def escape_tex(text: str, most: int = MOST_SHOWN) -> str:
    r"""A name as LaTeX prints it; characters that common fonts lack are given by their code.

    >>> escape_tex("BM25_k1=0.9 & {50%}")
    'BM25\\_k1=0.9 \\& \\{50\\%\\}'
    """
    characters = (
        TEX.get(c, c if _in_every_font(c) else f"{{[}}U+{ord(c):04X}]") for c in shorten_name(text, most)
    )
    # signs beside each other are one formula
    return re.sub(r"(?<!\\)\$\$", "", "".join(characters))


def _in_every_font(character: str) -> bool:
    """Whether LaTeX prints a character without further packages: ASCII, and letters with common accents."""
    if character.isascii() or character in LETTERS:
        return True
    parts = unicodedata.normalize("NFD", character)
    return len(parts) == 2 and parts[0].isascii() and parts[0].isalpha() and parts[1] in ACCENTS
