"""Files of other tools, against means that were computed beside these tools; and a reader of another package."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import xarray as xr
from bench.doors import LATER, check_case, list_cases

import shardwise as sw
from shardwise.core.errors import InputError
from shardwise.io.logs import registry
from shardwise.io.logs.log import Log, Row
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource
from shardwise.io.scores import read_scores


@pytest.fixture
def doors(data: Path) -> Path:
    folder = data / "doors"
    if not (folder / "expected.json").is_file():
        pytest.skip(f"no {folder}")
    return folder


def test_every_file_is_read_with_the_expected_means(doors: Path) -> None:
    checked, wrong = 0, {}
    for tool, files, measures, paths in list_cases(doors):
        for measure, systems in measures.items():
            if systems and not measure.startswith(LATER) and tool != "votes":
                checked += 1
                problem = check_case(tool, measure, systems, paths)
                if problem:
                    wrong[tool, files, measure] = problem
    assert wrong == {}
    assert checked >= 90


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("pyterrier/means.csv", "contains only aggregate means"),
        (
            "ranx/report.json",
            "contains only aggregate means; per-item scores are required; give the judgments",
        ),
        ("tira/evaluation.prototext", "contains only aggregate means"),
        ("promptfoo/repeats.csv", r"is the CSV of promptfoo.*promptfoo eval -o results.json"),
    ],
)
def test_files_without_scores_of_items_are_refused_as_such(doors: Path, path: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_scores(doors / path)


def test_whole_folders_with_tasks_of_different_metrics(doors: Path) -> None:
    both = read_scores(doors / "lm_eval" / "out")
    assert isinstance(both, xr.Dataset)
    assert both.attrs["primary"] == "score"
    assert (
        "each task uses its main metric: f1 (toyf1), exact_match,first (toygen)"
        in both["score"].attrs["read_as"]
    )
    alone = read_scores(doors / "lm_eval" / "out", measure="acc")
    assert dict(alone.sizes) == {"topic": 125, "system": 3}
    one = read_scores(doors / "lm_eval" / "out", measure="acc", task="toyqa")
    assert dict(one.sizes) == {"topic": 60, "system": 3}
    with pytest.raises(InputError, match=r"unknown task 'toy'; .*toyf1"):
        read_scores(doors / "lm_eval" / "out", task="toy")


def test_repeats_of_logs_are_samples(doors: Path) -> None:
    for path in ("promptfoo/repeats.json", "inspect/logs_eval", "inspect/samples_df_eval.csv"):
        scores = read_scores(doors / path)
        first = next(iter(scores.data_vars.values())) if isinstance(scores, xr.Dataset) else scores
        assert first.attrs["repeats_kind"] == "samples", path
    frame = pd.read_csv(doors / "inspect" / "samples_df_eval.csv")
    xr.testing.assert_equal(read_scores(frame), read_scores(doors / "inspect" / "samples_df_eval.csv"))


def test_what_was_seen_is_said(doors: Path) -> None:
    scores = read_scores(doors / "promptfoo" / "repeats.json", measure="success")
    assert scores.attrs["read_as"].startswith(
        "read as promptfoo results, 12 tests × 3 providers (acme-7b, acme-13b, base-8b) × 3 repeats"
    )


def test_experiments_of_pyterrier_with_both_tables(doors: Path) -> None:
    both = (pd.read_csv(doors / "pyterrier" / "means.csv"), pd.read_csv(doors / "pyterrier" / "perquery.csv"))
    assert sw.as_scores(both, measure="AP").sizes["topic"] == 50


TOY = Reader(
    "toy log",
    recognize=lambda source: source.fields.get("tool") == "toy",
    read=lambda source: [
        Log(
            source=str(source.path),
            names=(str(source.fields["model"]),),
            task="toy",
            rows=[Row(item, "1", {"points": value}, {}) for item, value in source.fields["points"].items()],
            primary="points",
            repeats="try",
            place=lambda row: f"{source.path}: item {row}",
        )
    ],
)


def test_another_package_can_add_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("toy", f"{__name__}:TOY", registry.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda self: TOY)
    monkeypatch.setattr(
        registry, "entry_points", lambda group: [point] if group == "shardwise.readers" else []
    )
    registry.list_readers.cache_clear()
    try:
        for name, value in (("a", 1.0), ("b", 0.5)):
            content: dict[str, Any] = {"tool": "toy", "model": name, "points": {"x": value, "y": 0.0}}
            (tmp_path / f"{name}.json").write_text(json.dumps(content))
        scores = read_scores(tmp_path)
    finally:
        monkeypatch.undo()
        registry.list_readers.cache_clear()
    assert scores.attrs["read_as"] == "read as toy log, 2 questions × 2 models (a, b), score = points"
    assert registry.find_reader(LogSource(tmp_path / "a.json")) is None, "without the package nobody knows it"


def test_unknown_json_is_refused_with_its_fields(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"run": 3, "output": {"a": 1}, "scores_of": [1, 2]}))
    with pytest.raises(
        InputError, match=r"JSON of an unknown kind, with the fields run \(int\), output \(dict\)"
    ):
        read_scores(tmp_path / "x.json")
    like = {"evalId": 1, "config": {}, "results": {"rows": []}, "more": [{"provider": "a", "score": 1}]}
    (tmp_path / "y.json").write_text(json.dumps(like))
    with pytest.raises(
        InputError, match=r"its rows may be below 'more', with provider, score, most like promptfoo; "
    ):
        read_scores(tmp_path / "y.json")
