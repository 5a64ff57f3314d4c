"""A reading option is added in two places, a command in one file and one row: shown by adding some."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from command_line import shardwise
from shardwise.cli import inputs, options, parsing
from shardwise.cli.inputs import InputReader
from shardwise.cli.options import TABLE, make_param
from shardwise.cli.output import Result
from shardwise.io.scores import read_tables

ROWS = "".join(f"q{k},{(k * 7 % 11) / 11:.3f},{(k * 5 % 13) / 13:.3f}\n" for k in range(30))
SHOUT = make_param(
    "shout",
    {
        "panel": "Input",
        "kind": "flag",
        "only_with": ["scores"],
        "call": "read",
        "help": "names of systems in capitals",
    },
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(f"question,a,b\n{ROWS}")
    return path


@pytest.fixture
def shouting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading option: one row of the table of options, and an argument of the function that reads."""
    row = replace(TABLE["read"], words=(*TABLE["read"].words, SHOUT))
    table = {**TABLE, "read": row}
    words = {word.name: (each, word) for each in table.values() for word in each.words}
    for module in (options, parsing):
        monkeypatch.setattr(module, "TABLE", table)
        monkeypatch.setattr(module, "WORDS", words)
    for command in list(options.list_commands().values()):
        if "read" in command.rows:
            monkeypatch.setitem(command.rows, "read", replace(command.rows["read"], words=row.words))

    def read(*arguments: Any, shout: bool = False, **others: Any) -> Any:
        tables, primary = read_tables(*arguments, **others)
        loud = {name: tuple(map(str.upper, table.systems)) for name, table in tables.items()} if shout else {}
        for name, systems in loud.items():
            tables[name] = replace(tables[name], labels={**tables[name].labels, "system": systems})
        return tables, primary

    monkeypatch.setattr(inputs, "read_tables", read)


@pytest.mark.usefixtures("shouting")
def test_a_reading_option_is_a_row_and_an_argument(table: Path, tmp_path: Path) -> None:
    shown = shardwise("compare", table, "--read", "shout", "-q").stdout
    assert shown.splitlines()[4].split()[0] in ("A", "B")
    assert "names of systems in capitals" in " ".join(
        shardwise("compare", "--help").stdout.replace("│", " ").split()
    )
    board = json.loads(shardwise("leaderboard", table, "--read", "shout", "-f", "json").stdout)
    assert {row["system"] for row in board["rows"]} == {"A", "B"}
    (tmp_path / "plan.toml").write_text(f'[compare]\nscores = "{table}"\nread = "shout"\n')
    assert shardwise("compare", "--config", tmp_path / "plan.toml", "-q").stdout == shown
    assert (
        "did you mean" in (wrong := shardwise("compare", table, "--read", "shuot").stderr) or "shout" in wrong
    )


@pytest.mark.usefixtures("shouting")
def test_it_is_refused_where_it_has_no_effect(tmp_path: Path) -> None:
    for name, column in (("qrels", "0 d1 1"), ("a.run", "Q0 d1 1 2.0 a"), ("b.run", "Q0 d1 1 2.0 b")):
        (tmp_path / name).write_text("".join(f"{topic} {column}\n" for topic in range(1, 4)))
    done = shardwise("compare", *(tmp_path / name for name in ("qrels", "a.run", "b.run")), "--read", "shout")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "--read shout has no effect" in done.stderr


def test_a_command_is_a_file_and_a_row(table: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def count_systems(chosen: Any) -> Result:
        """Read, call the library, return a result: the whole of a command."""
        read = InputReader(chosen).check().read_input(one=True)
        sizes = dict(read.pick_measure().sizes)
        columns = {"what": list(sizes), "count": list(sizes.values())}
        return Result(
            (f"{sizes['system']} systems",), columns, read.notes, facts={"systems": sizes["system"]}
        )

    module = ModuleType("shardwise.cli.counting")
    module.__dict__.update(SimpleNamespace(count_systems=count_systems).__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    row = {"function": "counting:count_systems", "options": "READING WRITTEN", "help": "Count the systems."}
    monkeypatch.setitem(options.COMMANDS, "count", options.make_command("count", row))

    assert shardwise("count", table, "-q").stdout.splitlines() == [
        "2 systems", "what    count", "topic      30", "system      2"
    ]  # fmt: skip
    content = json.loads(shardwise("count", table, "-f", "json").stdout)
    assert (content["command"], content["systems"]) == ("count", 2)
    assert content["rows"] == [{"what": "topic", "count": 30}, {"what": "system", "count": 2}]
    starts = {".csv": "what,count", ".md": "2 systems", ".tex": "% 2 systems", ".html": "<!doctype"}
    for ending, start in starts.items():
        assert shardwise("count", table, "--out", tmp_path / f"n{ending}").returncode == 0
        assert (tmp_path / f"n{ending}").read_text().startswith(start)
    (tmp_path / "plan.toml").write_text(f'[count]\nscores = "{table}"\nquiet = true\n')
    assert shardwise("count", "--config", tmp_path / "plan.toml").stdout.startswith("2 systems")
    assert "Count the systems." in shardwise("count", "--help").stdout
    assert json.loads(shardwise("count", "--json-schema").stdout)["properties"]["command"] == {
        "const": "count"
    }
    assert "did you mean count?" in shardwise("cuont", table).stderr
