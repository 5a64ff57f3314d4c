"""Tables like those of public repositories are read as a careful person reads them, or asked about; never misread.

Those that are kept aside are counted by ``python -m bench.reading --set found --held-out`` alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.reading import WRONG, judge_wild, list_cases, write_found
from tests.found.tables import TABLES, is_kept_aside

from shardwise.io.scores import read_scores

SEEN = [name for name in TABLES if not is_kept_aside(name)]


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("found")
    write_found(folder)
    return folder / "found" / "files", dict(list_cases(folder, "found"))


@pytest.mark.parametrize("name", SEEN)
def test_found_tables_are_never_misread(
    name: str, cases: tuple[Path, dict[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    folder, truth = cases
    verdict = judge_wild(folder, truth[name])
    assert verdict.outcome not in (*WRONG, "misled"), verdict.text
    if truth[name]["expect"] == "read":
        assert verdict.outcome == "right", verdict.text


def test_blocks_of_trials_are_repeats_together(tmp_path: Path) -> None:
    rows = [
        f"s{s},{c},{b},{t},{(s + b + t) % 3}" for s in range(4) for c in "xy" for b in (1, 2) for t in (1, 2)
    ]
    path = tmp_path / "trials.csv"
    path.write_text("\n".join(["subject,condition,block,trial,accuracy", *rows]))
    scores = read_scores(path)
    assert dict(scores.sizes) == {"topic": 4, "system": 2, "instance": 4}
