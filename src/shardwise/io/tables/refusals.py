"""The refusal of a table: what cannot be decided, and the options that decide it, each tried before it is offered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option, Part
from shardwise.io.tables.facts import Choice, explain_text, is_numeric, show_column
from shardwise.io.tables.sheet import Sheet

MOST_OFFERED = 2  # readings that a refusal offers
MOST_LISTED = 12  # columns that a refusal describes


class Doubt(Exception):
    """A table that is not read: the problem, what may be done to the table, and the options that may decide.

    Parameters
    ----------
    problem
        What cannot be decided.
    choices
        Column or columns by role, for each reading that may be meant.
    exclude
        The row or column that may be left out.
    mend, rename
        What else may be done, before or after the options.
    say
        What stands before all choices, or before each.
    where
        The place, if it is smaller than the table.
    """

    def __init__(
        self,
        problem: str,
        choices: Sequence[Mapping[str, str | Sequence[str]]] = (),
        *,
        exclude: str | None = None,
        mend: str | tuple[Part, ...] = "",
        rename: str = "",
        say: str | Sequence[str] = "say ",
        where: str = "",
    ) -> None:
        super().__init__(problem)
        self.problem, self.choices, self.exclude, self.where = problem, choices, exclude, where
        self.mend: tuple[Part, ...] = (mend,) if isinstance(mend, str) else mend
        self.rename = rename
        self.say = [say] * len(choices) if isinstance(say, str) else say


def write_refusal(
    sheet: Sheet, doubt: Doubt, reads: Callable[[Mapping[str, str], Sequence[str]], bool]
) -> InputError:
    """Return the refusal in one line, with those of its options that lead to scores.

    Parameters
    ----------
    sheet
        The table.
    doubt
        What cannot be decided.
    reads
        Whether columns that the caller might name, and names that might be left out, lead to scores.
    """
    choices: list[Choice] = []
    leads: list[str] = []
    for roles, lead in zip(doubt.choices, doubt.say, strict=True):
        choice = spell_choice(sheet, roles)
        implied = any(earlier.items() <= choice.items() for earlier in choices)
        if len(choices) < MOST_OFFERED and not implied and reads(choice, ()):
            choices.append(choice)
            leads.append(lead)
    steps: list[tuple[Part, ...]] = [doubt.mend] if doubt.mend != ("",) else []
    if doubt.exclude is not None and reads({}, (doubt.exclude,)):
        steps.append(("leave it out with ", Option("exclude", doubt.exclude)))
    if doubt.rename:
        steps.append((doubt.rename,))
    for k, choice in enumerate(choices):
        option = Option("columns", choice)
        if k and leads[k] == leads[k - 1]:
            steps[-1] += (" or ", option)
        else:
            steps.append((leads[k], option))
    if not steps:
        steps.append(_describe_columns(sheet))
    remedy = tuple(part for step in steps for part in (", or ", *step))[1:]
    return InputError(
        doubt.problem,
        where=doubt.where or sheet.source,
        remedy=remedy,
        argument="columns" if doubt.choices else "",
        choices=choices,
    )


def spell_choice(sheet: Sheet, choice: Mapping[str, str | Sequence[str]]) -> Choice:
    """Return a reading as the caller can spell it."""
    return Choice(
        {
            role: "+".join(
                show_column(sheet, name) for name in ([names] if isinstance(names, str) else names)
            )
            for role, names in choice.items()
        }
    )


def _describe_columns(sheet: Sheet) -> tuple[Part, ...]:
    """Return what the columns hold, and the option that says which is what."""
    kinds = []
    for name, column in list(sheet.columns.items())[:MOST_LISTED]:
        kind = (
            explain_text(column) if not is_numeric(column) else "whole numbers" if column.whole else "numbers"
        )
        many = "" if column.blank else f", {column.distinct} different"
        kinds.append(f"{show_column(sheet, name)} ({kind}{many})")
    more = ", …" if len(sheet.columns) > MOST_LISTED else ""
    form = Choice({"item": "…", "system": "…", "score": "…"})
    return ("say which column is what by ", Option("columns", form), f": it has {', '.join(kinds)}{more}")


def quote_column(sheet: Sheet, name: str) -> str:
    """Return a column as sentences name it."""
    return repr(name) if name else f"column {show_column(sheet, name)}"


def refuse_words(sheet: Sheet, name: str) -> InputError:
    """Return the refusal of a column of scores for its cells that are no numbers, with their count.

    Parameters
    ----------
    sheet
        The table.
    name
        A column of scores.
    """
    column = sheet.columns[name]
    if column.parsed.problem:
        return InputError(
            f"column {name!r}: {column.parsed.problem}",
            where=sheet.source,
            remedy=("say ", Option("decimal", "comma"), " or ", Option("decimal", "point")),
            argument="decimal",
            choices=("comma", "point"),
        )
    rows = np.flatnonzero(np.isinf(column.values))
    token = str(column.data[int(rows[0])].as_py()).strip()
    shown = ", ".join(list(dict.fromkeys(column.words))[1:4])
    also = f", also {shown}" if shown else ""
    many = f" ({format_count(len(rows), 'such cell')}{also})" if len(rows) > 1 else ""
    remedy: tuple[Part, ...] = (
        "correct it, or treat such cells as missing with ",
        Option("missing", "leave"),
        " or as zero with ",
        Option("missing", "zero"),
    )
    if "," in token and token.replace(",", "", 1).replace("-", "", 1).isdecimal():
        remedy = (f"write it with a point, as in {token.replace(',', '.')}",)
    return InputError(
        f"{name}: {token!r} is not a number{many}", where=sheet.place(int(rows[0])), remedy=remedy
    )
