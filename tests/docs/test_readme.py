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
def test_three_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_start.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    runs = " ".join(f"runs/{name}.run" for name in ("sys1", "sys2", "sys3"))
    assert in_order(shown("sys1    "), make_start.output(f"compare qrels.txt {runs}"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "logs"),
    [
        (
            "m2 ",
            "lm-eval/m1-samples_toyqa.jsonl lm-eval/m2-samples_toyqa.jsonl lm-eval/m3-samples_toyqa.jsonl",
        ),
        ("$ shardwise compare logs", "inspect/a.eval inspect/b.eval inspect/c.json"),
    ],
)
def test_three_models(data: Path, monkeypatch: pytest.MonkeyPatch, start: str, logs: str) -> None:
    monkeypatch.chdir(data / "llm")
    assert in_order(shown(start), make_start.output(f"compare {logs}"))
