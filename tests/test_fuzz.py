"""A short run of the harness, and what longer ones have found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fuzz.mutate import minimised
from fuzz.run import done_so_far, summary, tried_batch
from fuzz.targets import TARGETS, tried

FEW = {"workbook": 5, "foreign": 2, "line": 20}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(TARGETS))
def test_no_case_goes_wrong(name: str) -> None:
    for index in range(FEW.get(name, 60)):
        tried(name, 7, index)


def test_a_batch_is_told_and_counted(tmp_path: Path) -> None:
    told = tried_batch("number", 3, 0, 50)
    assert (told["last"], told["failures"], sum(told["counts"].values())) == (50, [], 50)
    journal = tmp_path / "journal.jsonl"
    journal.write_text(json.dumps(told) + "\n")
    assert done_so_far(journal, 3)["number"] == 50
    assert done_so_far(journal, 4)["number"] == 0
    assert "| number | 50 |" in summary(journal)


def test_what_fails_is_made_small() -> None:
    assert minimised(b"abc x def y ghi", lambda text: b"x" in text and b"y" in text) == b"xy"
