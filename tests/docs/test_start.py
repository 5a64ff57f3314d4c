"""The start pages: their output is real, and each reader has what he came for after one command, or two lines."""

from __future__ import annotations

from pathlib import Path

import pytest

import make_start
import shardwise as sw

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
}
"""What each reader needs, by the page."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_start.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def page(name: str) -> str:
    return (make_start.DOCS / f"start-{name}.md").read_text()


def first_command(text: str) -> str:
    """The first command of the first console block, which is the only one in it."""
    block = make_start.BLOCK.search(text)
    assert block is not None
    commands = [found[1] for line in block[1].splitlines() if (found := make_start.COMMAND.match(line))]
    assert len(commands) == 1, "one command is enough"
    return commands[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", NEEDED)
def test_the_output_of_every_command_is_real(folder: Path, name: str) -> None:
    assert make_start.filled(page(name)) == page(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", NEEDED)
def test_one_command_gives_what_the_reader_came_for(folder: Path, name: str) -> None:
    before = {path for path in folder.rglob("*") if path.is_file()}
    told = make_start.output(first_command(page(name)))
    made = {
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path not in before
    }
    assert made >= set(NEEDED[name])
    assert made or told


def test_a_notebook_takes_two_lines(folder: Path) -> None:
    code = page("notebook").partition("```python\n")[2].partition("```")[0].strip().splitlines()
    assert code == ["import shardwise as sw", 'sw.analyze("scores.csv")']
    (folder / "scores.csv").write_bytes((folder / "answers.csv").read_bytes())
    shown = eval(code[1], {"sw": sw})._repr_html_()
    assert "<table" in shown
    assert "data:image/svg+xml" in shown
