"""What the README shows is what the commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import make_start

README = (Path(__file__).parent.parent.parent / "README.md").read_text()
BLOCKS = [block.splitlines() for block in re.findall(r"^```\w+\n(.*?)^```", README, re.MULTILINE | re.DOTALL)]


def shown(start: str) -> list[str]:
    """Lines of the block that begins so, without the dots for what is left out."""
    (block,) = (block for block in BLOCKS if block[0].startswith(start))
    return [line for line in block if line != "..." and not line.startswith("$")]


def in_order(lines: list[str], told: str) -> bool:
    """Whether the lines are there, one after the other; others may stand between them."""
    printed = (line.rstrip() for line in told.splitlines())
    return all(line in printed for line in lines)


@pytest.mark.slow
def test_three_models(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(data / "llm")
    told = make_start.output("compare inspect/a.eval inspect/b.eval inspect/c.json")
    assert in_order(shown("$ shardwise compare logs"), told)


def test_it_is_short() -> None:
    assert len(README.split()) < 700
