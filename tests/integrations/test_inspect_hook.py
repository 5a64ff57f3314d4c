"""The comparison that inspect prints after a run of several models."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from shardwise.integrations.inspect import compare_logs, is_enabled


@pytest.fixture(scope="module")
def logs(data: Path) -> list[Path]:
    found = sorted((data / "llm" / "inspect").glob("*.eval"))
    if len(found) < 2:
        pytest.skip("no logs of inspect among the data")
    return found


def test_models_of_a_run_are_compared(logs: list[Path]) -> None:
    text = compare_logs([str(log) for log in logs])
    assert text.count("mockllm/") >= 2
    assert compare_logs([f"file://{log}" for log in logs]) == text


def test_nothing_is_said_of_one_model_or_of_logs_elsewhere(logs: list[Path], tmp_path: Path) -> None:
    assert compare_logs([logs[0]]) == ""
    assert compare_logs([logs[0], "s3://bucket/log.eval", tmp_path / "missing.eval"]) == ""


def test_what_cannot_be_compared_is_one_line(logs: list[Path], tmp_path: Path) -> None:
    bad = tmp_path / "bad.eval"
    bad.write_bytes(b"not a log")
    text = compare_logs([logs[0], bad])
    assert text.startswith("shardwise: ")
    assert "\n" not in text


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_enabled()
    monkeypatch.setenv("SHARDWISE_INSPECT", "0")
    assert not is_enabled()


def test_the_entry_point_can_be_loaded() -> None:
    point = EntryPoint(name="shardwise", value="shardwise.integrations.inspect", group="inspect_ai")
    assert point.load().compare_logs is compare_logs
