"""What the README shows is what the commands print; ``make readme`` runs every line of it from the wheel."""

from __future__ import annotations

import re
from pathlib import Path

import run_readme
from shardwise.io.logs.registry import list_readers

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text()


def test_all_lines_and_snippets_are_run() -> None:
    """Every line behind a prompt and every block of Python is a step; what stands below a line is compared."""
    for page in run_readme.PAGES:
        text = page.read_text(encoding="utf-8")
        steps = list(run_readme.list_steps(text))
        assert sum(kind == "console" for kind, _, _ in steps) == len(re.findall(r"^\$ ", text, re.MULTILINE))
        assert sum(kind == "python" for kind, _, _ in steps) == text.count("```python\n")
    demo = next(shown for _, line, shown in run_readme.list_steps(README) if line == "shardwise demo")
    assert demo[0].startswith("Best: ")
    assert run_readme.matches(demo, "\n".join(line for line in demo if line != run_readme.ELIDED) + "\n")
    assert not run_readme.matches(demo, "\n".join(demo[1:]) + "\n")


def test_the_number_of_tools_is_that_of_the_readers() -> None:
    """Readers of ours; other packages may bring further ones."""
    count = sum(reader.read.__module__.startswith("shardwise.") for reader in list_readers())
    for page in (ROOT / "README.md", ROOT / "docs" / "index.md"):
        assert re.findall(r"logs of (\d+) (?:evaluation )?tools", page.read_text()) == [str(count)]


def test_it_is_short() -> None:
    assert len(README.split()) <= 600
