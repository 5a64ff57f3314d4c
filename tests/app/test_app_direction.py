"""The page and the API say which scores are better, and between which limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardwise.app.choices import from_form, validate_choices
from shardwise.app.reading import describe_files
from shardwise.app.summaries import compare_reports
from shardwise.cli.inputs import InputReader
from shardwise.cli.options import list_commands
from shardwise.cli.parsing import call_command

HEAD, FORM = {"columns": [], "kind": "scores"}, [("range", "0,10")]


def test_a_program_declares_direction_and_range() -> None:
    assert validate_choices({"lower_is_better": True, "range": "1,5"}, "compare") == {
        "lower_is_better": ["true"],
        "range": ["1,5"],
    }
    assert validate_choices({"lower_is_better": False}, "compare") == {}
    assert validate_choices({"higher_is_better": True}, "calibrate") == {"higher_is_better": ["true"]}


@pytest.mark.parametrize(("value", "chosen"), [("", {}), ("lower_is_better", {"lower_is_better": ["true"]})])
def test_the_form_declares_them(value: str, chosen: dict[str, list[str]]) -> None:
    assert from_form([*FORM, ("direction", value)], HEAD, "compare") == {"range": ["0,10"], **chosen}


def test_what_is_chosen_is_done(tmp_path: Path) -> None:
    rows = "\n".join(f"q{k},{name},{k % 5}" for k in range(9) for name in "ab")
    file = tmp_path / "scores.csv"
    file.write_text(f"question,model,points\n{rows}\n")
    assert describe_files(tmp_path, {})["lower"] == []
    choices = {"lower_is_better": ["true"], "range": ["0,10"]}
    options = call_command(list_commands()["compare",], [file], choices)
    scores = InputReader(options).check().read_input().first
    assert scores.measure.lower_is_better
    assert scores.measure.range == (0, 10)
    file.write_text(f"question,model,wer\n{rows}\n")
    assert describe_files(tmp_path, {})["lower"] == ["wer"]


def test_two_reports_of_errors_are_compared_by_direction() -> None:
    def report(difference: float, lower: bool | None) -> dict[str, object]:
        return {
            "configuration": {"lower_is_better": lower},
            "claims": [{"key": "like", "leads": True, "alpha": 0.05}],
            "systems": [{"system": name, "rank": k + 1, "mean": 0.1} for k, name in enumerate("ab")],
            "pairs": {"like": {"a": [0], "b": [1], "difference": [difference], "p_adjusted": [0.01]}},
        }

    found = compare_reports(report(-0.1, True), report(0.1, None))
    assert found["changed"] == []
    assert compare_reports(report(-0.1, None), report(0.1, None))["reversed"] == 1
