"""An analysis in a TOML file."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import shardwise
from shardwise.cli.options import COMMANDS, list_commands
from shardwise.cli.parsing import SHARED, AnalysisFile, to_toml
from shardwise.core.errors import InputError

INPUTS = Path(__file__).parent.parent / "golden" / "inputs"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Inputs in a folder whose name is a pattern itself."""
    where = tmp_path / "data [1]"
    shutil.copytree(INPUTS, where, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    return where


def rows(*arguments: object) -> list[dict[str, object]]:
    done = shardwise(*arguments, "-f", "json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, object]] = json.loads(done.stdout)["rows"]
    return found


def test_paths_are_relative_to_the_file(folder: Path) -> None:
    """Also patterns, in a folder with brackets in its name."""
    (folder / "a.toml").write_text(
        'qrels = "qrels.txt"\nruns = "runs/*.run"\n[score]\nmeasure = ["AP", "P@10"]\n'
    )
    plain = rows("score", folder / "qrels.txt", folder / "runs", "-m", "AP", "-m", "P@10")
    assert rows("score", "--config", folder / "a.toml") == plain


def test_the_command_line_comes_first(folder: Path) -> None:
    file = folder / "a.toml"
    file.write_text(
        'qrels = "qrels.txt"\nruns = "runs"\nshards = 3\n[score]\nmeasure = ["AP", "P@10"]\nseed = 4\n'
    )
    given = (folder / "qrels.txt", folder / "runs", "--shards", 2, "--seed", 4, "-m", "RR")
    assert rows("score", "--config", file, "--shards", 2, "-m", "RR") == rows("score", *given)
    other = rows("score", folder / "qrels.txt", folder / "runs" / "bm25.run", "--config", file, "--shards", 1)
    assert [row["system"] for row in other] == ["bm25"]


def test_a_table_comes_before_what_stands_above_it(folder: Path) -> None:
    file = folder / "a.toml"
    file.write_text(
        'qrels = "qrels.txt"\nruns = "runs"\nalpha = 0.5\n[compare]\nscores = "scores.csv"\nalpha = 0.01\n'
    )
    done = shardwise("compare", "--config", file, "-f", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["alpha"] == 0.01
    assert rows("compare", "--config", file) == rows("compare", folder / "scores.csv", "--alpha", 0.01)


def test_without_inputs_the_file_of_this_folder_is_used_and_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert shardwise("compare").returncode == 2
    shutil.copy("good.toml", "shardwise.toml")
    done = shardwise("compare")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "no inputs given: inputs and options are taken from shardwise.toml\n"
    assert "p < 0.01" in done.stdout
    named = shardwise("compare", "scores.csv")
    assert (named.stderr, "p < 0.05" in named.stdout) == ("", True)
    assert shardwise("design", "power", "-q").stderr == ""
    assert shardwise("design", "power").stdout.startswith("You need 85 topics to detect a difference of 0.1")
    assert shardwise("design", "power", "--variance", 0.1).stderr == ""


def test_every_kind_of_value(folder: Path) -> None:
    """Numbers for text, a single value for a list, a flag, a file among other words."""
    file = folder / "a.toml"
    file.write_text(
        'scores = "scores.csv"\n[compare]\nonly = ["x", "y"]\nfill = 0.5\nquiet = true\n'
        '[score]\nqrels = "qrels.txt"\nruns = "runs"\ncorpus = 500\nshards = 2\n'
        '[leaderboard]\nqrels = "qrels.txt"\nruns = "seeds"\ninstances = "list.csv"\n'
    )
    assert len(rows("compare", "--config", file)) == 1
    sharded = (folder / "qrels.txt", folder / "runs", "--shards", 2, "--corpus", 500)
    assert rows("score", "--config", file) == rows("score", *sharded)
    names = [path.name for path in sorted((folder / "seeds").iterdir())]
    listed = [f"{name},{name.split('_')[0]},{name[-5]}\n" for name in names]
    (folder / "list.csv").write_text("file,system,instance\n" + "".join(listed))
    assert len(rows("leaderboard", "--config", file)) == 3


def test_a_command_in_place_of_a_table(folder: Path) -> None:
    (folder / "a.toml").write_text("[design]\npower = 0.8\n")
    done = shardwise("design", "power", "--config", folder / "a.toml")
    assert done.returncode == 2
    assert "a.toml:2: power is a command; write [design.power] above it" in done.stderr


def test_shared_options_are_those_of_several_commands(folder: Path) -> None:
    text = shardwise("score", "--help").stdout + shardwise("compare", "--help").stdout
    inputs = {"qrels", "runs", "scores"}
    assert [key for key in SHARED if key not in inputs and f"--{key}" not in text] == []


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = texts | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False) | st.booleans()


@given(
    st.dictionaries(st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True), values | st.lists(values, max_size=9))
)
def test_what_is_written_reads_back(table: dict[str, object]) -> None:
    assert tomllib.loads(to_toml(["design", "power"], table)) == {"design": {"power": table}}


@given(st.dictionaries(texts, values, max_size=4))
def test_any_key_stays_one_key(table: dict[str, object]) -> None:
    assert tomllib.loads(to_toml(["compare"], table)) == {"compare": table}


def test_a_key_with_a_line_break_starts_no_other() -> None:
    written = to_toml(["compare"], {'alpha = 0.05\nout = "evil"\n#': 1, "a.b": 2, "": 3})
    assert tomllib.loads(written) == {"compare": {'alpha = 0.05\nout = "evil"\n#': 1, "a.b": 2, "": 3}}


@pytest.mark.parametrize("value", [None, {"a": 1}, [None]])
def test_what_has_no_place_in_an_analysis_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="cannot be written to TOML"):
        to_toml(["compare"], {"alpha": value})


@given(st.text(max_size=60))
def test_any_text_is_an_analysis_or_one_clear_error(text: str) -> None:
    said = "a.toml"
    try:
        AnalysisFile(text, "a.toml", None).read_values(list_commands()["compare",], COMMANDS)
    except InputError as error:
        said = str(error)
    assert said.startswith("a.toml")
