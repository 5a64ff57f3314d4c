"""Home page and start page: their output is real, and each reader has the result after one command, or two lines."""

from __future__ import annotations

from pathlib import Path

import pytest

import make_start
import shardwise as sw
from generated import STALE

NEEDED = {
    "student": [
        "paper/table.tex",
        "paper/figure.pdf",
        "paper/methods.tex",
        "paper/refs.bib",
        "paper/numbers.tex",
    ],
    "organiser": ["board.html"],
    "builder": ["budget.html"],
    "llm": [],  # the answer and the exit code themselves
    "ab": [],
    "datasets": ["cd.pdf"],
}
"""The files that each reader needs, by the anchor of the section."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_start.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def section(name: str) -> str:
    return make_start.sections(make_start.START.read_text())[name]


def first_command(text: str) -> str:
    """The first command of the first console block, which is the only one in it."""
    block = make_start.BLOCK.search(text)
    assert block is not None
    commands = [match[1] for line in block[1].splitlines() if (match := make_start.COMMAND.match(line))]
    assert len(commands) == 1, "one command is enough"
    return commands[0]


def test_every_reader_has_a_section() -> None:
    assert set(make_start.sections(make_start.START.read_text())) == {*NEEDED, "notebook"}


@pytest.mark.slow
@pytest.mark.parametrize("name", NEEDED)
def test_one_command_gives_what_the_reader_came_for_and_all_outputs_are_real(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path for path in folder.rglob("*") if path.is_file()}
    first, run = first_command(section(name)), make_start.output
    printed = run(first)
    made = {
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path not in before
    }
    assert made >= set(NEEDED[name])
    assert made or printed
    monkeypatch.setattr(make_start, "output", lambda words: printed if words == first else run(words))
    assert make_start.filled(section(name)) == section(name), f"docs/start.md {STALE}"


@pytest.mark.slow
def test_the_home_page_begins_with_a_call_and_its_real_answer(folder: Path) -> None:
    page = make_start.HOME.read_text()
    call = make_start.CALL.search(page)
    assert call is not None
    assert 'sw.analyze("scores.csv")' in call[1]
    assert page.index("```") == call.start()
    assert make_start.filled(page) == page, f"docs/index.md {STALE}"


def test_a_notebook_takes_two_lines(folder: Path) -> None:
    code = section("notebook").partition("```python\n")[2].partition("```")[0].strip().splitlines()
    assert code == ["import shardwise as sw", 'sw.analyze("scores.csv")']
    shown = eval(code[1], {"sw": sw})._repr_html_()
    assert "<table" in shown
    assert "data:image/svg+xml" in shown
