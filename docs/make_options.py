"""Write the tables of options and of JSON fields, made from the declarations of the command line.

``python docs/make_options.py`` writes ``docs/options.md`` and the table in ``docs/output.md``; a test compares them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from shardwise.cli.options import PANELS, TABLE, Param, list_commands, list_options
from shardwise.cli.schema import RESULTS, field_names

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


def uses(name: str) -> tuple[list[str], set[str]]:
    """Return the commands that have an option, and its defaults."""
    rows = {
        command.title: command.rows[name]
        for command in list_commands().values()
        if name in command.rows and not command.rows[name].positional
    }
    return list(rows), {default_text(row) for row in rows.values()}


def default_text(row: Param) -> str:
    """Return the default of an option as a user writes it; nothing where there is none to write."""
    value = ", ".join(map(str, row.default)) if row.several else row.default
    return "" if value in (None, "", False) else str(value)


def commands_text(commands: list[str]) -> str:
    """Return commands as a cell shows them: a family by one word, a group by its name."""
    shown = []
    if set(FAMILY) <= set(commands):
        shown.append("comparing")
        commands = [name for name in commands if name not in FAMILY]
    for group in ("design", "replicate"):
        members = [" ".join(words) for words in list_commands() if words[0] == group]
        if set(members) <= set(commands):
            shown.append(group)
            commands = [name for name in commands if name not in members]
    if len(shown) + len(commands) > 8:
        return "most"
    return ", ".join([*shown, *(f"`{name}`" if " " in name else name for name in commands)])


def options_page() -> str:
    """Return the page of all options."""
    parts = [HEAD]
    shared = set(list_options("COMPARING"))
    table = {name: row for name, row in TABLE.items() if not row.positional}
    table["inputs"] = list_commands()["repeat",].rows["inputs"]
    for panel in PANELS:
        rows = []
        for row in (row for row in table.values() if row.panel == panel):
            commands, defaults = uses(row.name)
            names = ", ".join(f"`{name}`" for name in row.flags)
            value = f" `{row.metavar}`" if row.metavar else ""
            default = defaults.pop() if len(defaults) == 1 else ""
            listed = (
                "comparing"
                if set(commands) == set(FAMILY) and row.name in shared
                else commands_text(commands)
            )
            rows.append(
                f"| {names}{escape(value)} | {escape(row.description)} | {escape(default)} | {listed} |"
            )
        title = panel.partition(" (")[0]
        head = f"\n## {title}\n\n| option | | default | commands |\n|---|---|---|---|\n"
        parts.append(head + "\n".join(rows) + "\n")
    return "".join(parts)


def result_row(command: str, result: dict[str, Any]) -> str:
    """Return the row of a command in the table of JSON fields."""
    tables = [
        f"`{', '.join(name for name in field_names(names) if name)}`" for names in result["rows"].values()
    ]
    titles = [f"{title}: " if len(result["rows"]) > 1 else "" for title in result["rows"]]
    columns = "; ".join(f"{title}{names}" for title, names in zip(titles, tables, strict=True))
    named = "; further fields are named by the data" if {"named", "patterns"} & set(result) else ""
    facts = f"`{', '.join(field_names(result['facts']))}`" if result["facts"] else ""
    return f"| `{command}` | {result['row']} | {columns}{named} | {facts} |"


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
