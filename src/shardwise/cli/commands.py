"""The commands of `options.toml`: the options and the help of each, and the function that does its work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shardwise.cli.options import DATA, TABLE, Param, make_param


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its words, its help, the function that does its work, and its options by name."""

    words: tuple[str, ...]
    help: str
    function: str
    rows: dict[str, Param]
    changed: frozenset[str]

    @property
    def title(self) -> str:
        """What is typed to call it, without the program."""
        return " ".join(self.words)

    @property
    def argument(self) -> Param | None:
        """The row of its argument, if it has one."""
        return next((row for row in self.rows.values() if row.positional), None)

    @property
    def every(self) -> dict[str, Param]:
        """Its options by name, and the words of those that take words."""
        return self.rows | {word.name: word for row in self.rows.values() for word in row.words}


def list_options(names: str) -> list[str]:
    """Return the names of options and, for each set of them, of those in it.

    >>> list_options("WRITTEN seed")
    ['format', 'out', 'quiet', 'seed']
    """
    sets = DATA["sets"]
    return [name for word in names.split() for name in (list_options(sets[word]) if word in sets else [word])]


def make_command(title: str, row: Mapping[str, Any]) -> Command:
    """Return a command from its row in the table."""
    names, changes = set(list_options(row["options"])), row.get("change", {})
    rows = {
        name: make_param(name, DATA["options"][name], changes[name]) if name in changes else param
        for name, param in TABLE.items()
        if name in names
    }
    special = {*changes, *row.get("special", ())}
    return Command(tuple(title.split()), row["help"], row["function"], rows, frozenset(special))


COMMANDS: dict[str, Command | dict[str, Command]] = {}
"""Every command by name; or, for a group, its commands."""
PANELS: Mapping[str, Sequence[str]] = DATA["command_panels"]
"""Commands as the help groups them."""
GROUP_HELP: Mapping[str, str] = DATA["groups"]
WITHOUT_CONFIG = frozenset({"repeat", "serve"})
"""Commands that do no analysis of their own."""


for _title, _row in DATA["commands"].items():
    *_groups, _name = _title.split()
    _members: dict[str, Any] = COMMANDS.setdefault(_groups[0], {}) if _groups else COMMANDS  # type: ignore[assignment]
    _members[_name] = make_command(_title, _row)


def list_commands() -> dict[tuple[str, ...], Command]:
    """Return every command by its words, such as ``("design", "power")``."""
    members = [each.values() if isinstance(each, dict) else [each] for each in COMMANDS.values()]
    return {command.words: command for group in members for command in group}
