"""Names made to run, through every file that is written for a spreadsheet, LaTeX, Markdown, a terminal or a program."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from pathlib import Path

import markdown_it
import numpy as np
import pytest
import xarray as xr

import shardwise as sw
from command_line import Done, shardwise
from payloads import PAYLOADS
from shardwise.cli.main import main
from shardwise.core.text import shorten_name, unguard_name
from shardwise.writing.downloads import list_downloads
from shardwise.writing.embedded import read_report
from shardwise.writing.names import TEX

NAMES = list(PAYLOADS.values())
NUMBER = re.compile(r"[+-]?[\d.]+([eE][+-]?\d+)?")
COMMANDS = {
    "compare": ("--method", "t holm", "--table", "pairs"),
    "leaderboard": ("--method", "t holm", f"--baseline={NAMES[2]}"),
    "gate": (f"--new={NAMES[1]}", f"--baseline={PAYLOADS['terminal']}", "--margin", "0.1"),
}
# names of the same lengths that attack nothing
HARMLESS = [f"{k}-{'word '[k % 4 :] * 20}"[: max(len(name), 4)].strip() for k, name in enumerate(NAMES)]


def write_table(path: Path, names: list[str]) -> Path:
    values = np.random.default_rng(1).random((12, len(names))) + np.linspace(0, 0.5, len(names))
    labels = {"topic": [f"{name}{k}" for k, name in enumerate(names[-12:])], "system": names}
    sw.write_scores(xr.DataArray(values, labels, name="score"), path)
    return path


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in which every name of a system is evil, and some of items."""
    return write_table(tmp_path_factory.mktemp("evil") / "scores.csv", NAMES)


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same scores under other names."""
    return write_table(tmp_path_factory.mktemp("harmless") / "scores.csv", HARMLESS)


def analyze(scores: Path, names: list[str]) -> sw.Analysis:
    return sw.analyze(sw.read_scores(scores), method="t holm", title=names[1], notes=names, calibration=0)


def run(command: str, scores: Path, format: str) -> Done:
    done = shardwise(command, scores, *COMMANDS[command], "--format", format, "--quiet")
    assert done.returncode in (0, 3), done.stderr
    return done


def check_csv(text: str) -> list[list[str]]:
    """Check that a spreadsheet runs no cell, and return the rows."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len({len(row) for row in rows}) == 1
    formulas = [
        cell for row in rows for cell in row if cell[:1] in tuple("=+-@\t\r") and not NUMBER.fullmatch(cell)
    ]
    assert formulas == []
    return rows


def list_tex_words(text: str) -> set[str]:
    """Commands of LaTeX that are none of a character."""
    shown = sorted({text for text in TEX.values() if "\\" in text}, key=len, reverse=True)
    plain = re.sub("|".join(map(re.escape, shown)), "", re.sub(r"(?m)^%.*", "", text))
    return set(re.findall(r"\\(?:[A-Za-z]+|.)", plain))


def check_tex(text: str, ours: str) -> None:
    """Check that LaTeX runs the commands that it runs with other names, and that no comment or group is left open."""
    assert list_tex_words(text) <= list_tex_words(ours)
    assert not [c for c in text if c != "\n" and not c.isprintable()]
    assert "^^" not in text
    for line in text.splitlines():
        if not line.startswith("%"):
            plain = line.replace(r"\{", "").replace(r"\}", "").replace(r"\%", "")
            assert plain.count("{") == plain.count("}"), plain
            assert "%" not in plain.rstrip("%")


def list_cells(rows: list[list[str]]) -> set[str]:
    return {unguard_name(cell) for row in rows for cell in row}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_spreadsheet_runs_no_name(command: str, scores: Path) -> None:
    rows = check_csv(run(command, scores, "csv").stdout)
    if command != "gate":
        assert set(NAMES) <= list_cells(rows)


@pytest.mark.parametrize("command", COMMANDS)
def test_latex_runs_no_name(command: str, scores: Path, harmless: Path) -> None:
    names = dict(zip(NAMES, HARMLESS, strict=True))
    parts = [word.partition("=") for word in COMMANDS[command]]
    words = [option + sign + names.get(value, value) for option, sign, value in parts]
    ours = shardwise(command, harmless, *words, "--format", "latex", "--quiet")
    assert ours.returncode in (0, 3), ours.stderr
    check_tex(run(command, scores, "latex").stdout, ours.stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_markdown_shows_names_as_text(command: str, scores: Path) -> None:
    text = run(command, scores, "markdown").stdout
    tokens = (
        markdown_it.MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    )
    inside = [part for token in tokens for part in (token, *(token.children or ()))]
    assert {part.type for part in inside} <= {
        "paragraph_open", "paragraph_close", "inline", "text", "text_special", "hardbreak", "softbreak", "table_open",
        "table_close", "thead_open", "thead_close", "tbody_open", "tbody_close", "tr_open", "tr_close", "th_open",
        "th_close", "td_open", "td_close", "bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close",
    }  # fmt: skip
    cells = {
        "".join(part.content for part in token.children or ()) for token in tokens if token.type == "inline"
    }
    if command != "gate":
        assert {shorten_name(name) for name in NAMES} <= cells


@pytest.mark.parametrize("command", COMMANDS)
def test_json_holds_names_as_they_are_and_nothing_else_does_harm(command: str, scores: Path) -> None:
    text = run(command, scores, "json").stdout
    assert text.isascii()
    assert not [c for c in text if ord(c) < 32 and c != "\n"]
    rows = json.loads(text)["rows"]
    if command != "gate":
        assert set(NAMES) <= {value for row in rows for value in row.values() if isinstance(value, str)}


class Screen(io.StringIO):
    """A terminal without colours."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("format", ["text", "csv", "json", "latex", "markdown"])
def test_a_terminal_is_commanded_by_no_name(
    format: str, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    for command, options in COMMANDS.items():
        words = ["shardwise", command, str(scores), *options, "--format", format]
        monkeypatch.setattr("sys.argv", words)
        monkeypatch.setattr("sys.stdout", screen := Screen())
        with pytest.raises(SystemExit):
            main()
        assert [hex(ord(c)) for c in screen.getvalue() if c != "\n" and not c.isprintable()] == [], command
        assert "owned" in screen.getvalue()


def test_files_of_a_report(scores: Path, harmless: Path) -> None:
    files, ours = (
        {file.name: file.content.decode("utf-8", "replace") for file in list_downloads(analyze(path, names))}
        for path, names in ((scores, NAMES), (harmless, HARMLESS))
    )
    for name, content in files.items():
        if name.endswith(".csv"):
            assert set(NAMES) <= list_cells(check_csv(content))
        elif name.endswith(".tex"):
            check_tex(content, ours[name])
    assert {row["system"] for row in json.loads(files["report.json"])["systems"]} == set(NAMES)
    assert files["report.json"].isascii()


def test_files_of_a_paper(scores: Path, harmless: Path, tmp_path: Path) -> None:
    analyze(scores, NAMES).paper(tmp_path / "paper")
    analyze(harmless, HARMLESS).paper(tmp_path / "ours")
    for path in (tmp_path / "paper").glob("*.tex"):
        check_tex(path.read_text("utf-8"), (tmp_path / "ours" / path.name).read_text("utf-8"))


def test_a_recipe_reads_back(scores: Path, tmp_path: Path) -> None:
    """Names in the options that repeat an analysis are those that were given."""
    report = tmp_path / "report.html"
    chosen = PAYLOADS["LaTeX"]
    options = ("--method", "t holm", f"--baseline={chosen}", "--calibration", "0")
    done = shardwise("compare", scores, *options, "--report", report, "--quiet")
    assert done.returncode == 0, done.stderr
    recipe = read_report(report)["recipe"]["toml"]
    assert tomllib.loads(recipe)["compare"]["baseline"] == [chosen]


def test_a_name_in_an_error_is_shown_as_it_can_be_read(scores: Path) -> None:
    for name in NAMES:
        done = shardwise("compare", scores, f"--baseline={name}?")
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert [hex(ord(c)) for c in done.stderr if c != "\n" and not c.isprintable()] == []
        assert "unknown system " in done.stderr
