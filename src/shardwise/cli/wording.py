"""Errors of the library in the words of the command line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

RENAMED = {"n_splits": "splits", "n_resamples": "resamples", "n_shards": "shards"}
ARGUMENT = re.compile(
    r"""\b(missing|names|kind|by|depth|method|baseline|only|fill|generalize|design|side|corpus|subtopics|intents|jobs
    |deterministic|n_splits|n_resamples|n_shards)=
    (?:'([^']*)'|"([^"]*)"|\(([^()]*)\)|(\w+))?""",
    re.VERBOSE,
)
PHRASES = {
    "drop the dimension: scores.squeeze('instance')": "name it with --deterministic",
    "as in split(..., n_splits=5)": "as in --splits 5",
    "score with splits, as in score(runs, 'AP', splits)": "score them on several, as in --splits 11",
    "give a function, a mapping or a regular expression": "give a regular expression, such as '^[A-Z]+'",
    ", or give the names": "",
}


def in_options(text: str) -> str:
    """Say ``--missing zero`` where the library says ``missing="zero"``.

    >>> in_options("has more than one run tag; use names='file'")
    'has more than one run tag; use --names file'
    >>> in_options("use anova with generalize=('topic',)"), in_options("read them with subtopics=True")
    ('use anova with --generalize topic', 'read them with --subtopics')
    """
    for phrase, instead in PHRASES.items():
        text = text.replace(phrase, instead)
    return ARGUMENT.sub(_option, text)


def _option(found: re.Match[str]) -> str:
    name, *values = found.groups()
    value = next((one for one in values if one is not None), "")
    shown = ",".join(part.strip(" '\"") for part in value.split(",") if part.strip())
    option = f"--{RENAMED.get(name, name)}"
    return f"{option} {shown}" if shown and shown != "True" else option


def near(word: str, known: Iterable[str]) -> str:
    """Ask whether something like the word was meant; nothing where nothing is like it.

    >>> near("compair", ["compare", "score"])
    'did you mean compare?'
    """
    names = difflib.get_close_matches(word, list(known), n=2, cutoff=0.6)
    return f"did you mean {' or '.join(names)}?" if names else ""
