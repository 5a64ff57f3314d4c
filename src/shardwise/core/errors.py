"""The one error that input can cause: what, where, and what to do about it, in the words of whoever called."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Option:
    """An argument of a function, which the command line spells in its own way: ``method="hsd"``, ``--method hsd``."""

    name: str
    value: Any = None  # None: the argument itself is meant, not one of its values

    def format_python(self) -> str:
        """Return it as it is written in Python."""
        return self.name if self.value is None else f"{self.name}={self.value!r}"


@dataclass(frozen=True, slots=True)
class Either:
    """Words that differ between Python and the command line."""

    python: str
    command: str


Part = str | Option | Either
Words = Part | tuple[Part, ...]


class InputError(ValueError):
    """The input is at fault: one line with place, problem and remedy.

    ``problem`` and ``remedy`` are text, or tuples of text with `Option` and `Either` in between; ``where`` is a file,
    perhaps with a line. ``argument``, ``value`` and ``choices`` name the argument at fault, what it was and what it
    might have been.

    >>> error = InputError("has more than one run tag", where="a.run", remedy=("use ", Option("names", "file")))
    >>> print(error)
    a.run: has more than one run tag; use names='file'
    """

    def __init__(
        self,
        problem: Words,
        *,
        where: str = "",
        remedy: Words = "",
        argument: str = "",
        value: Any = None,
        choices: Iterable[Any] = (),
    ) -> None:
        self.problem, self.where, self.remedy = problem, where, remedy
        self.argument, self.value, self.choices = argument, value, tuple(choices)
        super().__init__(self.text())

    def text(self, option: Callable[[Option], str] = Option.format_python, *, command: bool = False) -> str:
        """Return the line for a reader.

        Parameters
        ----------
        option : callable
            How an argument is spelt.
        command : bool
            Whether the words are those for the command line rather than for Python.

        Returns
        -------
        str
            Place, problem and remedy in one line.
        """

        def spell_words(words: Words) -> str:
            parts = words if isinstance(words, tuple) else (words,)
            return "".join(
                part
                if isinstance(part, str)
                else option(part)
                if isinstance(part, Option)
                else (part.command if command else part.python)
                for part in parts
            )

        location = f"{self.where}: " if self.where else ""
        remedy = spell_words(self.remedy)
        return f"{location}{spell_words(self.problem)}" + (f"; {remedy}" if remedy else "")

    def add_location(self, where: str) -> InputError:
        """Return the same refusal, found in a larger place.

        Parameters
        ----------
        where : str
            That place, such as a split or a setting.

        Returns
        -------
        InputError
            The error with the larger place first.

        >>> print(InputError("has no scores", where="topic 3").add_location("split 0"))
        split 0: topic 3: has no scores
        """
        location = f"{where}: {self.where}" if self.where else where
        return _rebuild_error(self.problem, location, self.remedy, self.argument, self.value, self.choices)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_error, (
            self.problem,
            self.where,
            self.remedy,
            self.argument,
            self.value,
            self.choices,
        )


def _rebuild_error(
    problem: Words, where: str, remedy: Words, argument: str, value: Any, choices: tuple[Any, ...]
) -> InputError:
    return InputError(problem, where=where, remedy=remedy, argument=argument, value=value, choices=choices)


def refuse_unknown(argument: str, value: Any, choices: Iterable[Any], *, what: str = "") -> InputError:
    """Return the refusal of a value that is none of the choices.

    >>> print(refuse_unknown("side", "upper", ("both", "lower")))
    unknown side 'upper'; choose one of both, lower
    """
    known = tuple(choices)
    return InputError(
        f"unknown {what or argument} {value!r}",
        remedy=f"choose one of {', '.join(map(str, known))}",
        argument=argument,
        value=value,
        choices=known,
    )


def refuse_absent_file(path: str | os.PathLike[str]) -> InputError:
    """Return the refusal of a file that is not there, with the name of one that is there and nearly so called."""
    wanted = Path(path)
    try:
        near = get_close_matches(wanted.name, os.listdir(wanted.parent), n=1, cutoff=0.7)
    except OSError:
        near = []
    remedy = f"did you mean {wanted.with_name(near[0])}?" if near else "check the path"
    return InputError("no such file", where=str(path), remedy=remedy)
