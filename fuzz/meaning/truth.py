"""What a file says, and whether reading it says the same: the very scores and names, or a refusal with a way in."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from fuzz.cases import Wrong
from shardwise.cli.inputs import InputReader
from shardwise.cli.options import list_commands
from shardwise.cli.parsing import format_error, make_options, spell_option
from shardwise.core.errors import InputError, Option

FOLLOWED = ("columns", "decimal", "sheet", "exclude", "task", "measure", "pair_by", "missing")
"""Options of a remedy that are followed."""
BINDING = ("columns", "decimal", "sheet")
"""Those of which one must lead to the scores; the others may be refused for an edit of the file."""
DEPTH = 3
"""Remedies that may follow one another."""


@dataclass(frozen=True)
class Truth:
    """Scores by measure: (item, system, repeat), NaN where there is none.

    Parameters
    ----------
    items, systems : tuple of str
        Names; no item names where the file has none.
    scores : mapping of str to array
        The first measure is the one that is compared; the file may hold others beside it.
    demanded : bool
        Whether a refusal is wrong as well: anybody would understand the file.
    traits : tuple of str
        What was done to the file, for messages.
    spoilt : bool
        Whether somebody has to mend the file, so that no option can lead to its scores.
    """

    items: tuple[str, ...]
    systems: tuple[str, ...]
    scores: Mapping[str, Any]
    demanded: bool = False
    traits: tuple[str, ...] = field(default=())
    spoilt: bool = False

    def explain_difference(self, read: xr.Dataset) -> str:
        """Return what differs between the scores that were read and these; nothing where none does."""
        names = [str(name) for name in read.data_vars]
        first = next(iter(self.scores))
        # a header that says no more than "value" is called score
        listed = {name: name for name in self.scores if name in names}
        listed |= {first: "score"} if first not in listed and "score" in names else {}
        if len(self.scores) == 1:
            listed = {first: names[0]}
        # of several measures, one that is known to come first is taken
        if not listed or len(listed) < min(len(names), len(self.scores)):
            return f"measures {names} instead of {list(self.scores)}"
        parts = (self._explain_measure(read[column], self.scores[name]) for name, column in listed.items())
        return next(filter(None, parts), "")

    def _explain_measure(self, table: xr.DataArray, scores: Any) -> str:
        systems = [str(name) for name in table["system"].values]
        if sorted(systems) != sorted(self.systems):
            return f"systems {systems[:6]} instead of {list(self.systems)[:6]}"
        items = [str(name) for name in table["topic"].values]
        expected = np.asarray(scores)
        others = [dim for dim in table.dims if dim not in ("topic", "system")]
        array = table.sel(system=[*self.systems]).transpose("topic", "system", *others).values
        array = array.reshape(len(items), len(systems), -1)
        if len(items) != len(expected):
            return f"{len(items)} items instead of {len(expected)}"
        if self.items:
            if sorted(items) != sorted(self.items):
                odd = sorted(set(items) - set(self.items))[:3]
                return f"items {odd} instead of {sorted(set(self.items) - set(items))[:3]}"
            array = array[[items.index(name) for name in self.items]]
        repeats = max(array.shape[2], expected.shape[2])
        array, expected = (_sort_repeats(values, repeats) for values in (array, expected))
        same = np.isclose(array, expected, rtol=1e-9, atol=1e-12, equal_nan=True)
        if same.all():
            return ""
        row, column, repeat = np.argwhere(~same)[0]
        where = f"{self.items[row] if self.items else row} of {self.systems[column]}"
        return f"{where} is {array[row, column, repeat]!r}, not {expected[row, column, repeat]!r}"


def _sort_repeats(values: Any, repeats: int) -> Any:
    """Sort the scores of each cell, missing ones last."""
    short = repeats - values.shape[2]
    return np.sort(np.pad(values, ((0, 0), (0, 0), (0, short)), constant_values=np.nan), axis=2)


def try_reading(truth: Truth, paths: Iterable[Path], folder: Path) -> str:
    """Read files as ``compare`` does; return "right" or "refused", raise for anything else."""
    files = tuple(paths)
    try:
        difference = truth.explain_difference(read_files(files, {}))
    except InputError as error:
        line = format_error(error).replace(str(folder), "")
        return _judge_refusal(truth, files, error, line)
    if difference:
        raise Wrong(f"misread: {difference} {truth.traits}")
    return "right"


def read_files(files: tuple[Path, ...], options: Mapping[str, tuple[str, ...]]) -> xr.Dataset:
    """Read files as ``compare`` does with these options."""
    alone = {
        name: values[-1]
        for name, values in options.items()
        if name in ("decimal", "sheet", "pair_by", "missing")
    }
    several = {name: list(values) for name, values in options.items() if name not in alone}
    values = {"inputs": list(files), "quiet": True, **alone, **several}
    read = InputReader(make_options(list_commands()["compare",], values)).read_input()
    return xr.Dataset({name: table.to_xarray() for name, table in read.tables.items()})


def _judge_refusal(truth: Truth, files: tuple[Path, ...], error: InputError, line: str) -> str:
    if "\n" in line or not error.remedy:
        raise Wrong(f"refused without a remedy: {line} {truth.traits}")
    if truth.demanded:
        raise Wrong(f"refused: {line} {truth.traits}")
    binding = any(name in BINDING for name, _ in _list_offers(error))
    if binding and not truth.spoilt and not _lead_in(truth, files, {}, error, DEPTH):
        raise Wrong(f"no remedy leads to the scores: {line} {truth.traits}")
    return "refused"


def _list_offers(error: InputError) -> list[tuple[str, str]]:
    """Options with values that a remedy offers, as a shell would give them."""
    parts = error.remedy if isinstance(error.remedy, tuple) else (error.remedy,)
    offers = [part for part in parts if isinstance(part, Option) and part.value is not None]
    if not offers and error.argument:
        offers = [Option(error.argument, choice) for choice in error.choices]
    return [
        (offer.name, shlex.split(spell_option(offer))[1].removeprefix(f"{offer.name}="))
        for offer in offers
        if offer.name in FOLLOWED and "…" not in str(offer.value)
    ]


def _lead_in(
    truth: Truth, files: tuple[Path, ...], given: dict[str, tuple[str, ...]], error: InputError, depth: int
) -> bool:
    """Tell whether one of the remedies, or a remedy of what it leads to, gives the scores."""
    for name, value in _list_offers(error):
        options = {**given, name: (*given.get(name, ()), value)}
        try:
            if not truth.explain_difference(read_files(files, options)):
                return True
        except InputError as further:
            if depth > 1 and _lead_in(truth, files, options, further, depth - 1):
                return True
    return False
