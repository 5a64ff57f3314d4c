"""Every command in every format: JSON keeps to its schema, CSV has the same fields, LaTeX compiles."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import make_options
from command_line import PAIR_COLUMNS, shardwise
from generated import STALE
from report_pages import HOSTILE
from shardwise.cli.options import COMMANDS, Command, list_commands
from shardwise.cli.parsing import AnalysisFile, list_rows
from shardwise.cli.schema import FIELDS, RESULTS, TABLES, field_names, make_schema

INPUTS = Path(__file__).parent.parent / "golden" / "inputs"
DOCS = Path(__file__).parent.parent.parent / "docs"
EVERYWHERE = ("--format", "--out", "--quiet", "--config")
FOLDERS = {
    "replicate f19",
    "replicate ff21",
    "replicate j15",
    "replicate s14",
    "replicate v17",
    "replicate all",
    "replicate open-questions",
    "replicate study",
}  # write pages and tables, print none
NOT_ANALYSES = {"repeat", "serve", *FOLDERS}
SEEDS = ("--instances", "{system}_seed{instance}.run")
LINES: dict[str, list[tuple[object, ...]]] = {
    "score": [("qrels.txt", "runs", "-m", "AP", "-m", "P@5"), ("qrels.txt", "runs", "--shards", 9)],
    "compare": [
        ("qrels.txt", "runs", "--shards", 2, "--generalize", "topic"),
        ("scores.csv", "--method", "holm"),
        ("scores.csv", "--method", "bootstrap"),
        ("scores.csv", "--baseline", "x", "--method", "dunnett"),
        ("hostile.csv",),
        ("scores.csv", "--out", "scores.moments"),
        ("scores.moments", "--method", "t holm", "--baseline", "x"),
        ("ratings.csv", "--random", "question", "--random", "judge"),
        ("ratings.csv", "--random", "question", "--random", "judge", "--margin", 0.1),
        ("scores.csv", "--table", "systems"),
        ("qrels.txt", "seeds", *SEEDS),
        ("qrels.txt", "seeds", *SEEDS, "--margin", 0.01),
        ("qrels.txt", "seeds", *SEEDS, "--margin", "0.01:not-worse"),
        ("qrels.txt", "seeds", *SEEDS, "--margin", "0.01:better"),
        ("qrels.txt", "seeds", *SEEDS, "--only", "new", "--only", "old", "--method", "repeats bootstrap"),
        ("repeats.csv", "--table", "shares"),
        ("repeats.csv", "--table", "seeds"),
        ("repeats.csv", "--table", "spread"),
        ("repeats.csv", "--margin", "0.1:hpd"),
        ("repeats.csv", "--table", "settings", "--baseline", "m1"),
    ],
    "paper": [("scores.csv", "--out", "paper", "--baseline", "x"), ("hostile.csv", "--method", "t holm")],
    "gate": [
        ("scores.csv", "--baseline", "y", "--new", "x"),
        ("old.csv", "new.csv", "--margin", 0.3),
        ("old.csv", "new.csv", "--margin", 0, "--ledger", "gate.jsonl"),
        ("new.csv", "--ledger", "gate.jsonl", "--reveal"),
        ("--ledger", "gate.jsonl", "--plan"),
    ],
    "leaderboard": [
        ("qrels.txt", "runs", "-m", "AP", "-m", "P@5"),
        ("scores.csv", "--baseline", "y", "--baseline", "z"),
        ("hostile.csv", "--method", "t holm"),
    ],
    "stability": [("qrels.txt", "runs", "--shards", 2, "--splits", 2), ("scores.nc", "--model", "MD3"),
        *(("scores.nc", "--model", "MD3", "--table", table) for table in ("summary", "found", "divided")),
        *(
            ("qrels.txt", "runs", "--shards", 2, "--splits", 2, "--table", table)
            for table in ("models", "methods", "fills")
        ),
    ],
    "design repeats": [("repeats.csv",)],
    "design shards": [("qrels.txt", "runs", "--shards", 2, "--min-diff", 0.3)],
    "design equivalence": [("repeats.csv", "--margin", 0.5)],
    "design loop": [("--topics", 1000)],
    "design power": [("--variance", 0.05), ("--variance", "AP=0.05", "--topics", 30), ("long.csv",)],
    "design interval": [("--variance", 0.05), ("qrels.txt", "runs", "--topics", 30)],
    "design table": [("--variance", 0.05), ("--variance", "AP=0.05", "--variance", "Q=.1", "--width", 0.2)],
    "design pools": [("qrels.txt", "runs", "--pool", 5)],
    "design budget": [("qrels.txt", "runs", "--pool", 5, "--budget", 500)],
    "simulate": [("--out", "made", "--topics", 2, "--systems", 2, "--depth", 9, "--corpus", "90,relevant=4")],
    "repeat": [("report.html",)],
    "calibrate": [("scores.csv", "--method", "t holm", "--method", "MD1 hsd topic", "--repetitions", 20,
            "--scenario", "halves:4"),
        ("scores.csv", "--method", "moderated", "--scenario", "permute", "--repetitions", 20),
    ],
    "demo": [("--out", "demo")],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("formats") / "work"
    shutil.copytree(INPUTS, where, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    with (where / "hostile.csv").open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["topic", *HOSTILE])
        rows.writerows(
            [t, *(f"{0.9 - 0.05 * k + 0.03 * ((t * (2 * k + 1)) % 4):.3f}" for k in range(10))]
            for t in range(9)
        )
    repeats = [
        f"{t},m{m},{k},{0.3 * m + 0.1 * ((t * m + k) % 5)}"
        for t in range(9)
        for m in (1, 2)
        for k in range(3)
    ]
    (where / "repeats.csv").write_text("\n".join(["question,model,seed,points", *repeats, ""]))
    for name in ("old", "new"):
        rows = "".join(f"{k},{(k + len(name)) % 4 / 3:.3f}\n" for k in range(9))
        (where / f"{name}.csv").write_text(f"topic,{name}\n{rows}", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        split = ("--shards", 2, "--splits", 3)
        assert shardwise("score", "qrels.txt", "runs", *split, "--out", "scores.nc").returncode == 0
        assert shardwise("compare", "scores.csv", "--report", "report.html").returncode == 0
    return where


@pytest.fixture(scope="module")
def tables(folder: Path) -> dict[str, list[str]]:
    """LaTeX of every line, by command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return {
            command: [said(command, line, "latex") for line in lines]
            for command, lines in LINES.items()
            if command != "demo"  # which takes long, and writes the table of compare
        }


def said(command: str, line: tuple[object, ...], format: str) -> str:
    done = shardwise(*command.split(), *line, "--format", format)
    assert done.returncode in (0, 3), (command, line, done.stderr)  # 3: a gate that does not pass
    if command != "repeat":  # which says what it will read and write
        assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("command", LINES)
def test_json_keeps_to_its_schema_and_csv_to_json(
    folder: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    rules = make_schema(command)
    jsonschema.Draft202012Validator.check_schema(rules)
    for line in LINES[command]:
        told = json.loads(said(command, line, "json"))
        jsonschema.Draft202012Validator(rules).validate(told)
        if command != "demo":  # which takes long, and writes the same table
            table = csv.reader(io.StringIO(said(command, line, "csv")))
            assert next(table) == list(told["rows"][0])
            assert len(list(table)) == len(told["rows"])


def test_a_schema_for_every_command_and_none_else() -> None:
    assert set(RESULTS) == set(LINES) == set(leaves()) - {"serve", *FOLDERS}
    assert make_schema("compare")["properties"]["rows"]["items"]["anyOf"][0]["required"] == PAIR_COLUMNS


def test_the_documentation_is_made_from_the_declarations() -> None:
    assert make_options.OPTIONS.read_text() == make_options.options_page(), f"docs/options.md {STALE}"
    page = make_options.FIELDS.read_text()
    assert page == make_options.json_page(page), f"docs/output.md {STALE}"
    assert all(f"| `{command}` |" in page for command in RESULTS)


def test_every_field_is_used() -> None:
    used = {
        name
        for result in RESULTS.values()
        for names in (result["facts"], *result["rows"].values())
        for name in field_names(names)
    }
    used |= {name for names in TABLES.values() for name in field_names(names)}
    assert used == set(FIELDS)


def test_the_analysis_in_the_documentation_is_understood(tmp_path: Path) -> None:
    text = re.findall(r"```toml.*?\n(.*?)```", (DOCS / "command-line.md").read_text(), re.DOTALL)[0]
    analysis = AnalysisFile(text, "shardwise.toml", tmp_path)
    found = {
        name: analysis.read_values(command, COMMANDS)
        for name, command in leaves().items()
        if name in ("compare", "stability", "design power")
    }
    assert found["compare"]["splits"] == 11
    assert found["compare"]["inputs"] == [tmp_path / "qrels.txt", tmp_path / "runs/*.gz"]
    assert found["stability"]["measure"] == ["AP"]
    assert found["design power"]["inputs"] == [tmp_path / "last-year.csv"]


def test_schemas_are_strict() -> None:
    """A field that is not described, or that is missing, is noticed."""
    told: dict[str, Any] = {
        "command": "simulate",
        "title": "",
        "runs": "",
        "qrels": "",
        "seed": 0,
        "notes": [],
    }
    check = jsonschema.Draft202012Validator(make_schema("simulate"))
    assert check.is_valid({**told, "rows": [{"system": "a", "quality": 0.5}]})
    assert not check.is_valid({**told, "rows": [{"system": "a", "quality": 0.5, "more": 1}]})
    assert not check.is_valid({**told, "rows": [{"system": "a"}]})
    assert not check.is_valid(told)


@pytest.mark.slow
def test_latex_has_every_special_character_escaped(tables: dict[str, list[str]]) -> None:
    for made in tables.values():
        for table in made:
            body = [line for line in table.splitlines() if line.endswith(r"\\")]
            assert len({len(re.findall(r"(?<!\\)&", line)) for line in body}) == 1, table
            assert not any(re.search(r"(?<!\\)[#%]", line) for line in body), table
            assert not any("_" in re.sub(r"\\_", "", line) for line in body), table


@pytest.mark.slow
def test_latex_of_every_command_compiles(tables: dict[str, list[str]], tmp_path: Path) -> None:
    engine = next((found for name in ("tectonic", "pdflatex") if (found := shutil.which(name))), None)
    if engine is None:
        pytest.skip("neither tectonic nor pdflatex is installed")
    parts = [r"\documentclass{article}\usepackage{booktabs,longtable,graphicx}\begin{document}"]
    for command, made in tables.items():
        for table in made:
            shown = table if "longtable" in table else "\\resizebox{\\textwidth}{!}{%\n" + table + "}"
            parts.append(f"\\section*{{{command}}}\n{shown}")
    (tmp_path / "all.tex").write_text("\n".join([*parts, r"\end{document}", ""]), encoding="utf-8")
    quiet = [] if engine.endswith("tectonic") else ["-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run(
        [engine, *quiet, "all.tex"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def test_a_long_table_in_latex_breaks_over_pages(tmp_path: Path) -> None:
    names = [f"s{k}" for k in range(12)]
    rows = [[str(t), *(f"0.{(7 * t + 3 * k) % 9}" for k in range(12))] for t in range(4)]
    (tmp_path / "s.csv").write_text("\n".join(",".join(row) for row in [["topic", *names], *rows]) + "\n")
    table = shardwise("compare", tmp_path / "s.csv", "--model", "MD1", "-f", "latex").stdout
    assert table.count(r"\begin{longtable}{@{}llrrrrrrrrr@{}}") == 1
    assert table.count(" \\\\\n") == 66 + 1


def leaves() -> dict[str, Command]:
    """Every command by its words."""
    return {command.title: command for command in list_commands().values()}


def flags(command: Command) -> set[str]:
    """Names of the options of a command."""
    return {flag for row in list_rows(command) if not row.positional for flag in row.flags}


def test_every_command_has_the_options_of_all() -> None:
    found = leaves()
    assert {name.split()[0] for name in found} == set(COMMANDS)
    for name, command in found.items():
        options = flags(command)
        if name not in NOT_ANALYSES:
            assert set(EVERYWHERE) <= options, name
    assert {"--format", "--out", "--jobs", "--quiet"} <= flags(found["repeat"])


def test_every_command_has_an_example_that_it_understands() -> None:
    """The line in the help can be parsed: its options exist and have fitting values."""
    for name, command in leaves().items():
        lines = re.findall(r"Example: shardwise (.*)", command.help)
        assert lines, name
        known = flags(command)
        for line in lines:
            assert line.startswith(name), name
            words = line.removeprefix(name).split()
            assert {word for word in words if word.startswith("-")} <= known | {"--"}, name


def test_an_option_without_effect_is_none() -> None:
    """What is random nowhere has no seed, and what one processor does no number of workers."""
    has = {name: flags(one) for name, one in leaves().items()}
    assert {name for name, options in has.items() if "--seed" not in options} == {
        "design power", "design interval", "design table", "design pools",
        "design budget", "design repeats", "design equivalence", "design loop",
        "repeat", "serve", "replicate s14", "gate",
    }  # fmt: skip
    assert {name for name, options in has.items() if "--jobs" not in options} == {
        "simulate", "design repeats", "design equivalence", "design loop",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("ending", "start"),
    [
        (".json", "{"),
        (".csv", "a,b,difference"),
        (".tex", "% Best: x (0.525)"),
        (".latex", "% Best: x (0.525)"),
        (".md", "Best: x (0.525)"),
        (".MD", "Best: x (0.525)"),
        (".html", "<!doctype html>"),
        (".txt", "Best: x (0.525)"),
        ("", "Best: x (0.525)"),
    ],
)
def test_the_ending_of_the_file_is_its_format(folder: Path, tmp_path: Path, ending: str, start: str) -> None:
    out = tmp_path / f"pairs{ending}"
    done = shardwise("compare", folder / "scores.csv", "--out", out)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"wrote {out}\n")
    assert out.read_text().startswith(start)
    assert ("| --- |" in out.read_text()) == (ending.lower() == ".md")
    if ending:
        other = "text" if ending == ".json" else "json"
        refused = shardwise("compare", folder / "scores.csv", "--out", out, "--format", other)
        assert refused.returncode == 2
        assert f"--format {other} conflicts with the extension {ending}" in refused.stderr


def test_a_format_that_is_named_needs_no_ending(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "pairs.2026"
    assert shardwise("compare", folder / "scores.csv", "--out", out).returncode == 2
    assert not out.exists()
    assert shardwise("compare", folder / "scores.csv", "--out", out, "-f", "csv").returncode == 0
    assert out.read_text().startswith("a,b,")


def test_markdown_keeps_its_columns_whatever_names_hold(folder: Path) -> None:
    table = [
        line
        for line in said("compare", (folder / "hostile.csv",), "markdown").splitlines()
        if line[:1] == "|"
    ]
    bars = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in table}
    assert bars == {len(PAIR_COLUMNS) + 1}
    assert len(table) == 2 + 45


@pytest.mark.parametrize("command", ["score", "compare", "stability"])
def test_the_number_of_jobs_changes_nothing(
    folder: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    line = LINES[command][0]
    assert said(command, (*line, "--jobs", 1), "json") == said(command, (*line, "--jobs", 3), "json")


def test_unreadable_binary_scores(tmp_path: Path) -> None:
    """What the libraries say about them differs between versions."""
    for name, kind in (("noise.nc", "NetCDF"), ("noise.parquet", "Parquet")):
        (tmp_path / name).write_bytes(b"noise")
        done = shardwise("compare", tmp_path / name)
        assert done.returncode == 2
        assert f"{name}: not a {kind} file" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_an_unknown_command_of_a_group_and_help_for_nothing() -> None:
    done = shardwise("design", "topics")
    assert done.returncode == 2
    assert done.stderr.lower().startswith("shardwise design: no such command 'topics'")
    nothing = shardwise()
    assert nothing.returncode == 2
    assert "compare" in nothing.stdout + nothing.stderr


def test_no_option_is_asked_to_be_a_file_that_it_replaces(tmp_path: Path) -> None:
    """A link is followed, a pipe is written to: neither is replaced by a file."""
    (tmp_path / "there.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "there.txt")
    assert shardwise("design", "power", "--variance", 0.05, "--out", tmp_path / "link.txt").returncode == 0
    assert (tmp_path / "link.txt").is_symlink()
    assert "topics needed" in (tmp_path / "there.txt").read_text()
    assert shardwise("design", "power", "--variance", 0.05, "--out", "/dev/null").returncode == 0
    assert not Path("/dev/null").is_file()
