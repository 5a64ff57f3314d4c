"""Errors of the library in the words of the command line."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable
from typing import Any

from shardwise.cli.options import TABLE, WORDS
from shardwise.core.errors import InputError, Option

RENAMED = {row.argument: row.name for row in TABLE.values() if row.argument}
"""Arguments whose option has another name."""
PHRASES = {
    "by": ("kind", "attribute:{}", "REGEX"),
    "texts": ("kind", "topical:{}", "FILE"),
    "proportions": ("kind", "uneven:{}", "3,2,1"),
    "fit": ("method", "{}", "bootstrap"),
    "design": ("method", "repeats {}", "nested"),
}
"""Arguments that are part of the phrase of an option, with what stands for a value."""


def spell_option(option: Option) -> str:
    """Write an argument of a function as an option, quoted as a shell reads it.

    >>> spell_option(Option("names", "file")), spell_option(Option("n_splits", 5)), spell_option(Option("min_diff"))
    ('--read names=file', '--splits 5', '--min-diff')
    >>> spell_option(Option("generalize", ("topic", "shard"))), spell_option(Option("subtopics", True))
    ('--generalize topic,shard', '--read subtopics')
    >>> spell_option(Option("method", "t holm"))
    "--method 't holm'"
    """
    if option.name in PHRASES:
        name, phrase, usual = PHRASES[option.name]
        value = usual if option.value is None else _format_value(option.value)
        return spell_option(Option(name, phrase.format(value)))
    if option.name in WORDS:
        row, word = WORDS[option.name]
        alone = option.value is None or option.value is True
        text = (word.word or word.key) if alone and word.word != "=" else word.spell_word(option.value)
        return f"--{row.key} {shlex.quote(text)}"
    name = f"--{RENAMED.get(option.name, option.name).replace('_', '-')}"
    alone = option.value is None or option.value is True
    return name if alone else f"{name} {shlex.quote(_format_value(option.value))}"


def _format_value(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def format_error(error: InputError) -> str:
    """Return the line that a refusal has on the command line.

    >>> format_error(InputError("has more than one run tag", where="a.run", remedy=("use ", Option("names", "file"))))
    'a.run: has more than one run tag; use --read names=file'
    """
    return error.text(spell_option, command=True)


def suggest_name(word: str, known: Iterable[str]) -> str:
    """Ask whether something like the word was meant; nothing where nothing is like it.

    >>> suggest_name("compair", ["compare", "score"])
    'did you mean compare?'
    """
    names = difflib.get_close_matches(word, list(known), n=2, cutoff=0.6)
    return f"did you mean {' or '.join(names)}?" if names else ""
