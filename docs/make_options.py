"""Write the tables of options and of JSON fields, made from the declarations of the command line.

``python docs/make_options.py`` writes ``docs/options.md`` and the table in ``docs/output.md``; a test compares them.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from shardwise.cli import options as opt
from shardwise.cli.commands import list_leaf_options
from shardwise.cli.groups import Comparing
from shardwise.cli.schema import RESULTS, Result, field_names
from shardwise.cli.shared import GROUPS

FOLDER = Path(__file__).parent
OPTIONS, FIELDS = FOLDER / "options.md", FOLDER / "output.md"
MARKS = ("<!-- fields of every command -->\n", "<!-- end of the fields -->\n")
FAMILY = ("compare", "leaderboard", "paper", "gate", "stability")
HEAD = """# Options

Every option of the command line, by group; `shardwise COMMAND --help` has those of a command. A repeatable option is
written several times: `-m AP -m nDCG@10`. *Comparing* stands for `compare`, `leaderboard`, `paper`, `gate` and
`stability`, which take the same options of input, question, method and shards; one that has no effect on the data at
hand is refused with the reason. Long names without dashes are keys of
[configuration files](command-line.md#an-analysis-in-a-file).
"""


def escape(text: str) -> str:
    """Return text for a cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def uses(key: str) -> tuple[list[str], set[str]]:
    """Return the commands that have an option, and its defaults."""
    commands, defaults = [], set()
    for words, command in list_leaf_options().items():
        kinds = get_type_hints(command, include_extras=True)
        for one in fields(command):
            info = next(
                (note for note in get_args(kinds[one.name])[1:] if isinstance(note, opt.Declaration)), None
            )
            if info is not None and info.key == key:
                commands.append(" ".join(words))
                defaults.add(default_text(one))
    return commands, defaults


def default_text(one: Any) -> str:
    """Return the default of a field as a user writes it; nothing where there is none to write."""
    value = one.default if one.default is not MISSING else None
    if one.default_factory is not MISSING:
        value = ", ".join(map(str, one.default_factory()))
    return "" if value in (None, "", False) else str(value)


def commands_text(commands: list[str]) -> str:
    """Return commands as a cell shows them: a family by one word, a group by its name."""
    shown = []
    if set(FAMILY) <= set(commands):
        shown.append("comparing")
        commands = [name for name in commands if name not in FAMILY]
    for group in ("design", "replicate"):
        members = [" ".join(words) for words in list_leaf_options() if words[0] == group]
        if set(members) <= set(commands):
            shown.append(group)
            commands = [name for name in commands if name not in members]
    if len(shown) + len(commands) > 8:
        return "most"
    return ", ".join([*shown, *(f"`{name}`" if " " in name else name for name in commands)])


def options_page() -> str:
    """Return the page of all options."""
    declared = [value for value in vars(opt).values() if isinstance(value, opt.Declaration)]
    parts = [HEAD]
    shared = {one.name.replace("_", "-") for one in fields(Comparing)}
    for group in GROUPS:
        rows = []
        for info in (one for one in declared if one.group is group):
            commands, defaults = uses(info.key)
            names = ", ".join(f"`{name}`" for name in info.param_decls or ())
            value = f" `{info.metavar}`" if info.metavar else ""
            default = defaults.pop() if len(defaults) == 1 else ""
            listed = (
                "comparing"
                if set(commands) == set(FAMILY) and info.key in shared
                else commands_text(commands)
            )
            help_text = escape(str(info.help))
            rows.append(f"| {names}{escape(value)} | {help_text} | {escape(default)} | {listed} |")
        title = group.title.partition(" (")[0]
        head = f"\n## {title}\n\n| option | | default | commands |\n|---|---|---|---|\n"
        parts.append(head + "\n".join(rows) + "\n")
    return "".join(parts)


def result_row(command: str, result: Result) -> str:
    """Return the row of a command in the table of JSON fields."""
    tables = [f"`{', '.join(name for name in field_names(names) if name)}`" for names in result.rows.values()]
    titles = [f"{title}: " if len(result.rows) > 1 else "" for title in result.rows]
    columns = "; ".join(f"{title}{names}" for title, names in zip(titles, tables, strict=True))
    named = "; further fields are named by the data" if result.named or result.patterns else ""
    facts = f"`{', '.join(field_names(result.facts))}`" if result.facts else ""
    return f"| `{command}` | {result.row} | {columns}{named} | {facts} |"


def fields_table() -> str:
    """Return the table of JSON fields."""
    rows = [result_row(command, result) for command, result in RESULTS.items()]
    head = "| command | a row is | fields of a row | further fields |\n|---|---|---|---|\n"
    return head + "\n".join(rows) + "\n"


def json_page(text: str) -> str:
    """Return the page on output with its table made anew."""
    start, end = MARKS
    return re.sub(
        f"({start}).*({end})", lambda match: f"{match[1]}{fields_table()}{match[2]}", text, flags=re.S
    )


def main() -> None:
    """Write both pages."""
    OPTIONS.write_text(options_page(), encoding="utf-8")
    FIELDS.write_text(json_page(FIELDS.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
