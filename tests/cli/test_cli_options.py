"""Every option is declared once, and commands that compare systems take the same ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from command_line import shardwise
from shardwise.cli.options import BUILT_IN, COMMANDS, COMMON, TABLE, list_commands, list_options
from shardwise.cli.parsing import list_rows

FAMILY = ("compare", "leaderboard", "paper", "gate", "stability")
MOST = 67


def test_each_option_is_used() -> None:
    used = {name for command in list_commands().values() for name in command.rows}
    assert used == set(TABLE)


def test_there_are_few_options() -> None:
    assert len(TABLE) - 1 + len(BUILT_IN) <= MOST, "the argument is none"


def test_no_option_is_declared_elsewhere() -> None:
    """What the parser takes is what is declared."""
    for words, command in list_commands().items():
        names = {row.name for row in list_rows(command)}
        assert names <= {*TABLE, *(row.name for row in BUILT_IN)}, words


def test_thirteen_commands() -> None:
    assert list(COMMANDS) == [
        *("demo", "compare", "leaderboard", "paper", "gate", "design", "calibrate"),
        *("stability", "replicate", "score", "simulate", "serve", "repeat"),
    ]


def test_help_begins_with_ten_options_and_has_groups() -> None:
    shown = shardwise("compare", "--help").stdout
    panels = [line.split("─ ")[1].split(" ─")[0] for line in shown.splitlines() if line.startswith("╭─ ")]
    assert panels == [
        *("Arguments", COMMON, "Question", "Input", "Method", "Shards (runs only)", "Output", "Running")
    ]
    first = shown.partition(f"─ {COMMON} ─")[2].partition("╰")[0]
    listed = [word.rstrip(",") for word in first.split() if word.startswith("--")]
    named = [f"--{name}" for name in ("measure", "columns")]
    assert len([line for line in first.splitlines() if line.startswith("│ --")]) == 11, "and --help"
    assert set(named) <= set(listed)


@pytest.mark.parametrize("words", list_commands(), ids="-".join)
def test_help_shows_all_that_is_written(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what stands in brackets, which rich would take for marks of style."""
    command = list_commands()[words]
    rows = {name: replace(row, help=f"{row.help} [red]") for name, row in command.rows.items()}
    marked = replace(command, help=f"{command.help}\n\nNeeds '.[app]', [bold].", rows=rows)
    monkeypatch.setenv("COLUMNS", "2000")
    group = COMMANDS if len(words) == 1 else COMMANDS[words[0]]
    monkeypatch.setitem(group, words[-1], marked)
    shown = "".join(shardwise(*words, "--help").stdout.split())
    assert "".join(marked.help.split()) in shown
    assert shown.count("[red]") == len(rows)


@pytest.mark.parametrize("name", FAMILY)
def test_the_family_takes_the_same_input_question_and_method(name: str) -> None:
    assert set(list_options("COMPARING")) <= set(list_commands()[name,].rows)
    assert name == "stability" or set(list_options("ASKING")) <= set(list_commands()[name,].rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables with and without repeats and judges, people's scores, and runs of three systems with two seeds."""
    where = tmp_path_factory.mktemp("family")
    rng = np.random.default_rng(11)
    models = ("a1", "b2", "c3")
    plain, repeats, people, ratings, splits = [], [], [], [], []
    for q in range(24):
        base = rng.normal(0.5, 0.15)
        for m, model in enumerate(models):
            scores = base + 0.05 * m + rng.normal(0, 0.05, 3)
            plain.append(f"q{q},{model},{scores[0]:.4f}")
            # The first system gives the same result each time.
            repeats += [f"q{q},{model},{k},{scores[k * (m > 0)]:.4f}" for k in range(3)]
            ratings += [f"q{q},{model},j{k},{score:.4f}" for k, score in enumerate(scores)]
            splits += [
                f"q{q},{model},{shard},{split},{scores[shard] + 0.01 * split:.4f}"
                for shard in range(2)
                for split in range(2)
            ]
            if q < 21:
                people.append(f"q{q},{model},{scores[0] + 0.02:.4f}")
    tables = {
        "plain.csv": ("question,model,score", plain),
        "unpaired.csv": (
            "user,variant,revenue,before",
            [f"u{k},{models[k % 2]},{k * 7 % 11},{k * 5 % 13}" for k in range(40)],
        ),
        "repeats.csv": ("question,model,seed,score", repeats),
        "people.csv": ("question,model,score", people),
        "ratings.csv": ("question,model,judge,score", ratings),
        "splits.csv": ("question,model,shard,split,score", splits),
    }
    for name, (head, rows) in tables.items():
        (where / name).write_text("\n".join([head, *rows]) + "\n")
    tasks = [f"{row},t{k // 3 % 2}" for k, row in enumerate(plain)]
    (where / "tasks.csv").write_text("\n".join(["question,model,score,task", *tasks]) + "\n")
    pd.DataFrame([row.split(",") for row in plain], columns=["question", "model", "score"]).to_excel(
        where / "book.xlsx", sheet_name="scores", index=False
    )
    (where / "runs").mkdir()
    qrels, intents = [], []
    for topic in range(1, 13):
        qrels += [f"{topic} 0 {'AB'[d % 2]}{d} {int(d < 8)}\n" for d in range(30)]
        intents.append(f"{topic} 0 1.0\n")
    (where / "qrels.txt").write_text("".join(qrels))
    (where / "intents.txt").write_text("".join(intents))
    (where / "texts.jsonl").write_text(
        "".join(
            json.dumps({"id": f"{'AB'[d % 2]}{d}", "text": f"word{d % 5} word{d % 3}"}) + "\n"
            for d in range(30)
        )
    )
    for m, model in enumerate(models):
        for seed in range(2):
            lines = []
            for topic in range(1, 13):
                scores = rng.normal(size=30) + (0.5 + 0.4 * m) * (np.arange(30) < 8)
                lines += [
                    f"{topic} Q0 {'AB'[d % 2]}{d} 0 {s:.5f} {model}s{seed}\n" for d, s in enumerate(scores)
                ]
            (where / "runs" / f"{model}_seed{seed}.run").write_text("".join(lines))
    for name, values in {"one": (0.2, 0.3), "two": (0.4, 0.6)}.items():
        rows = [f"q{k},{values[k % 2] + k / 100:.3f}" for k in range(12)]
        (where / f"{name}.csv").write_text("\n".join(["question,score", *rows]) + "\n")
        (where / f"{name}_bare.csv").write_text("\n".join(["score", *(row[-5:] for row in rows)]) + "\n")
    thousands = [f'q{k},"1,{234 + k}","2,{345 + 3 * k}"' for k in range(12)]
    (where / "comma.csv").write_text("\n".join(["question,a,b", *thousands]) + "\n")
    (where / "gaps.csv").write_text("\n".join(["question,model,score", *plain[:-1]]) + "\n")
    single = [row for row in repeats if ",a1," not in row or ",a1,0," in row]
    (where / "single.csv").write_text("\n".join(["question,model,seed,score", *single]) + "\n")
    others = [f"p{k},{k * 7 % 10 / 10},{k * 3 % 10 / 10}" for k in range(12)]
    (where / "other.csv").write_text("\n".join(["question,a1,b2", *others]) + "\n")
    (where / "wer.csv").write_text("\n".join(["question,model,wer", *plain]) + "\n")
    frame = pd.DataFrame({"question": range(12), "a": np.arange(12) / 20, "b": np.arange(12) % 5 / 7})
    with pd.ExcelWriter(where / "books.xlsx") as book:
        frame.to_excel(book, sheet_name="dev", index=False)
        frame.assign(a=0.5).to_excel(book, sheet_name="test", index=False)
    topics = range(1, 13)
    subtopics = [f"{t} {1 + d % 2} d{d} {int(d % 3 > 0)}\n" for t in topics for d in range(12)]
    (where / "subtopics.txt").write_text("".join(subtopics))
    (where / "weights.txt").write_text("".join(f"{t} 1 0.9\n{t} 2 0.1\n" for t in topics))
    for shift, name in enumerate(("x.run", "y.run")):
        ranked = [f"{t} Q0 d{(d + shift * t) % 14} 0 {20 - d} {name[0]}\n" for t in topics for d in range(14)]
        # The last topic is not there.
        (where / name).write_text("".join(ranked[: 14 * 11] if shift else ranked))
    return where


RUNS = ("qrels.txt", "runs")
MATRIX: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "measure": (RUNS, ("P@10",)),
    "columns": (("plain.csv",), ("item=question,system=model,score=score",)),
    "read system": (("plain.csv",), ("system=x",)),
    "read task": (("tasks.csv",), ("task=t1",)),
    "read pair_by": (("plain.csv",), ("pair-by=item",)),
    "read decimal": (("plain.csv",), ("decimal=point",)),
    "read sheet": (("book.xlsx",), ("sheet=scores",)),
    "read names": (RUNS, ("names=file",)),
    "read subtopics": (RUNS, ("subtopics",)),
    "read intents": (RUNS, ("subtopics,intents=intents.txt",)),
    "read log": (("plain.csv",), ("log",)),
    "exclude": (("plain.csv",), ("c3",)),
    "missing": (("plain.csv",), ("refuse",)),
    "max_memory": (("plain.csv",), ("1GB",)),
    "like preset": (RUNS, ("trec_eval-10",)),
    "like depth": (RUNS, ("depth=10",)),
    "like complete": (RUNS, ("complete",)),
    "like judged_only": (RUNS, ("judged",)),
    "range": (("plain.csv",), ("-1,2",)),
    "lower_is_better": (("plain.csv",), ()),
    "higher_is_better": (("plain.csv",), ()),
    "instances": (RUNS, ("{system}_seed{instance}.run",)),
    "deterministic": (("repeats.csv",), ("a1",)),
    "fill": (("plain.csv",), ("zero",)),
    "generalize": (("plain.csv",), ("topic",)),
    "baseline": (("plain.csv",), ("a1",)),
    "only": (("plain.csv",), ("a1", "b2")),
    "by": (("tasks.csv",), ("task",)),
    "joint": ((*RUNS, "-m", "AP", "-m", "P@10"), ()),
    "repeats": (("repeats.csv",), ("samples",)),
    "margin": (("plain.csv",), ("0.1",)),
    "columns pre": (("unpaired.csv", "-m", "revenue"), ("pre=before",)),
    "human": (("plain.csv",), ("people.csv",)),
    "alpha": (("plain.csv",), ("0.1",)),
    "method": (("plain.csv",), ("t holm",)),
    "model": (("plain.csv",), ("MD1",)),
    "random": (("ratings.csv", "--random", "judge"), ("question",)),
    "resamples": (("plain.csv", "--method", "bootstrap"), ("50",)),
    "seed": (("plain.csv",), ("3",)),
    "shards": (RUNS, ("2",)),
    "splits": ((*RUNS, "--shards", "2"), ("2",)),
    "kind": ((*RUNS, "--shards", "2"), ("die",)),
    "corpus": ((*RUNS, "--shards", "2"), ("500",)),
}
"""Every option of the family, on files where it has an effect."""
ELSEWHERE = {"quiet", "jobs", "inputs"}
SOME = {"joint", "only", "random", "seed"}
"""Options of some commands of the family."""


def test_the_matrix_has_every_option_and_every_word_of_one() -> None:
    assert {name.partition(" ")[0] for name in MATRIX} == {*list_options("ASKING"), *SOME} - ELSEWHERE
    words = {
        f"{row.name} {word.name}"
        for name in list_options("ASKING")
        for row in [TABLE[name]]
        for word in row.words
    }
    assert words <= set(MATRIX)


REFUSED = {
    "compare": {},
    "leaderboard": {},
    "paper": {},
    "gate": {
        "resamples": "no standard errors, which a margin needs",
        "like complete": "conflicts with --missing refuse",
    },
    "stability": {
        "method": "unknown method",
        **dict.fromkeys(("read task", "read sheet", "columns pre"), "no dimension split"),
        "model": "MD1 is for the whole collection",
    },
}
"""Options that a command of the family cannot honour, and the reason that it gives: the lists only become shorter."""


def list_cases() -> list[Any]:
    """Each option with `compare` and one command in turn, and all that refuse it; the others are for `make full`."""
    cases = []
    for k, name in enumerate(MATRIX):
        others = [command for command in FAMILY if command != "compare"]
        tried = {"compare", others[k % len(others)]}
        for command in FAMILY:
            unknown = name.partition(" ")[0] not in list_commands()[command,].rows
            kept = command in tried or name in REFUSED[command] or unknown
            cases.append(pytest.param(name, command, marks=[] if kept else pytest.mark.full))
    return cases


@pytest.mark.slow
@pytest.mark.parametrize(("name", "command"), list_cases())
def test_every_command_of_the_family_takes_it_or_says_why_not(
    folder: Path, command: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is done, or refused with the reason: never unknown, never dropped, never a crash."""
    monkeypatch.chdir(folder)
    files, values = MATRIX[name]
    option = name.partition(" ")[0]
    words = [word for value in values for word in (f"--{option.replace('_', '-')}", value)]
    words = words or [f"--{option.replace('_', '-')}"]
    if command == "stability":
        files = tuple("splits.csv" if file == "plain.csv" else file for file in files)
    if command == "paper":
        words += ["--out", str(tmp_path / "paper")]
    if command == "gate":
        names = ("a1", "b2") if files[0] != "qrels.txt" or name == "instances" else ("a1s0", "b2s0")
        names = ("a1_seed0.run", "b2_seed0.run") if name == "read names" else names
        words += ["--new", names[1], *(() if name == "baseline" else ("--baseline", names[0]))]
    done = shardwise(command, *files, *words, "-q")
    assert "Traceback" not in done.stderr
    if option not in list_commands()[command,].rows:
        assert (done.returncode, f"unknown option {words[0]}" in done.stderr) == (2, True)
    elif name in REFUSED[command]:
        assert done.returncode == 2
        assert REFUSED[command][name] in done.stderr
        assert len(done.stderr.splitlines()) == 1
    else:
        assert done.returncode in (0, 3), done.stderr


LACKING = ("subtopics.txt", "x.run", "y.run", "--missing", "leave")
BOOTSTRAP = ("compare", "plain.csv", "--method", "bootstrap", "--resamples", "50")
POOLS = ("design", "pools", *RUNS)
SHARDED = ("compare", *RUNS, "--shards", "6", "--kind", "die")
REPEATS = ("design", "repeats", "repeats.csv", "--min-diff", "0.005")
SIMULATED = ("calibrate", "plain.csv", "--method", "t holm", "--scenario", "normal", "--repetitions", "20")
GATE = ("gate", "plain.csv", "--baseline", "a1", "--new", "b2")
PLAN = ("design", "power", "--variance", "0.05")
EFFECTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "measure": (("compare", *RUNS), ("--measure", "P@10")),
    "columns": (("compare", "plain.csv"), ("--columns", "item=model,system=question")),
    "pre": (("compare", "unpaired.csv", "-m", "revenue"), ("--columns", "pre=before")),
    "system": (("compare", "one.csv", "two.csv"), ("--read", "system=x", "--read", "system=y")),
    "task": (("compare", "tasks.csv"), ("--read", "task=t1")),
    "pair_by": (("compare", "one_bare.csv", "two_bare.csv"), ("--read", "pair-by=position")),
    "decimal": (("compare", "comma.csv"), ("--read", "decimal=comma")),
    "sheet": (("compare", "books.xlsx"), ("--read", "sheet=dev")),
    "names": (("compare", *RUNS), ("--read", "names=file")),
    "subtopics": (("compare", *LACKING, "-m", "ERR-IA@10"), ("--read", "subtopics")),
    "intents": (
        ("compare", *LACKING, "-m", "ERR-IA@10", "--read", "subtopics"), ("--read", "intents=weights.txt")
    ),
    "log": (("compare", "plain.csv"), ("--read", "log")),
    "preset": (("compare", *RUNS), ("--like", "trec_eval-10")),
    "complete": (("compare", "subtopics.txt", "x.run", "y.run"), ("--like", "complete")),
    "judged_only": (("compare", *LACKING), ("--like", "judged")),
    "depth": (("compare", *RUNS), ("--like", "depth=10")),
    "instances": (("compare", *RUNS), ("--instances", "{system}_seed{instance}.run")),
    "deterministic": (("compare", "single.csv"), ("--deterministic", "a1")),
    "missing": (("compare", "gaps.csv"), ("--missing", "zero")),
    "fill": (SHARDED, ("--fill", "one")),
    "generalize": (("compare", "repeats.csv"), ("--generalize", "topic")),
    "baseline": (("compare", "plain.csv"), ("--baseline", "a1")),
    "only": (("compare", "plain.csv"), ("--only", "a1", "--only", "b2")),
    "repeats": (("compare", "repeats.csv"), ("--repeats", "samples")),
    "range": (("compare", "plain.csv"), ("--range", "-1,2")),
    "lower_is_better": (("compare", "plain.csv"), ("--lower-is-better",)),
    "higher_is_better": (("compare", "wer.csv"), ("--higher-is-better",)),
    "exclude": (("compare", "plain.csv"), ("--exclude", "c3")),
    "margin": (("compare", "plain.csv"), ("--margin", "score=0.1")),
    "by": (("compare", "tasks.csv"), ("--by", "task")),
    "joint": (("compare", *RUNS, "-m", "AP", "-m", "P@10"), ("--joint",)),
    "contrast": (("compare", "plain.csv"), ("--contrast", "top: a1 b2 vs c3")),
    "human": (("compare", "plain.csv"), ("--human", "people.csv")),
    "alpha": (("compare", "plain.csv"), ("--alpha", "0.1")),
    "method": (("compare", "plain.csv"), ("--method", "t holm")),
    "model": (("compare", "plain.csv"), ("--model", "MD1")),
    "random": (("compare", "ratings.csv", "--random", "judge"), ("--random", "question")),
    "resamples": (BOOTSTRAP[:4], ("--resamples", "60")),
    "seed": (BOOTSTRAP, ("--seed", "3")),
    "shards": (("compare", *RUNS), ("--shards", "2")),
    "splits": (("compare", *RUNS, "--shards", "2"), ("--splits", "2")),
    "kind": (("compare", *RUNS), ("--kind", "attribute:[AB]")),
    "corpus": (("compare", *RUNS, "--shards", "2"), ("--corpus", "500")),
    "format": (("compare", "plain.csv"), ("--format", "csv")),
    "table": (("compare", "plain.csv"), ("--table", "pairs")),
    "quiet": (("compare", "plain.csv"), ("--quiet",)),
    "new": (GATE[:4], ("--new", "c3")),
    "power": (PLAN, ("--power", "0.9")),
    "min_diff": (PLAN, ("--min-diff", "0.2")),
    "systems": (PLAN, ("--systems", "5")),
    "topics": (PLAN, ("--topics", "50")),
    "variance": (PLAN, ("--variance", "AP=0.1")),
    "width": (("design", "interval", "--variance", "0.05"), ("--width", "0.2")),
    "also": (("design", "power", "plain.csv"), ("--also", "other.csv")),
    "pool": (POOLS, ("--pool", "5")),
    "topic_cost": (REPEATS, ("--cost", "topic=3")),
    "answer_cost": (REPEATS, ("--cost", "answer=0.5")),
    "scenario": (SIMULATED, ("--scenario", "permute")),
    "repetitions": (SIMULATED[:-2], ("--repetitions", "20")),
    "budget": (("design", "budget", *RUNS, "--pool", "10"), ("--budget", "5000")),
}  # fmt: skip
"""A command line for every option and word of one, and what is added to it: the answer is another one."""
WITHOUT = {
    "inputs": "the argument",
    "max_memory": "larger tables are read in parts, with the same answer (test_cli_memory)",
    "jobs": "the same answer by any number of threads (tests/scale)",
    **dict.fromkeys(
        ("report", "chart", "out"), "a file more, and the same answer (test_cli, test_cli_terminal)"
    ),
    "calibration": "of the report (test_cli)",
    "sequential": "keeps a state from look to look (tests/analysis)",
    **dict.fromkeys(
        ("ledger", "reveal", "candidates", "base_of", "plan"),
        "keeps a state from candidate to candidate (test_cli_ledger)",
    ),
    **dict.fromkeys(("port", "host", "token", "open", "limit"), "of a server (tests/app)"),
}
"""Options that do not change what is printed, and why."""


def test_the_effect_of_every_option_is_shown() -> None:
    words = {word.name for row in TABLE.values() for word in row.words}
    containers = {row.name for row in TABLE.values() if row.words} - words
    assert set(EFFECTS) - {"pre"} | set(WITHOUT) | containers == set(TABLE) | words
    assert set(EFFECTS) & set(WITHOUT) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", EFFECTS)
def test_every_option_changes_the_answer(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    line, added = EFFECTS[name]
    with_it, without = shardwise(*line, *added), shardwise(*line)
    assert with_it.returncode in (0, 3), with_it.stderr
    assert with_it.stdout != without.stdout


@pytest.mark.slow
def test_margins_of_measures_and_charts_by_kind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    both = ("compare", *RUNS, "-m", "AP", "-m", "P@10")
    shown = shardwise(*both, "--margin", "AP=0.2", "--margin", "P@10=0.3:not-worse").stdout
    assert ("within ±0.2" in shown, "0.3" in shown) == (True, True)
    wrong = shardwise(*both, "--margin", "nDCG=0.2")
    assert (wrong.returncode, wrong.stderr) == (2, "unknown measure 'nDCG'; choose one of AP, P@10\n")
    lacks = shardwise(*GATE, "--margin", "AP=0.1")
    assert (lacks.returncode, "score has no margin" in lacks.stderr) == (2, True)
    for kind in ("forest", "cd"):
        assert shardwise("compare", "plain.csv", "-q", "--chart", f"{kind}:{kind}.json").returncode == 0
    assert (folder / "forest.json").read_text() != (folder / "cd.json").read_text()
    unknown = shardwise("compare", "plain.csv", "--chart", "cds:x.json")
    assert (unknown.returncode, "unknown chart 'cds'" in unknown.stderr) == (2, True)
    only = shardwise(*PLAN, "--chart", "cd:x.json")
    assert (only.returncode, only.stderr) == (2, "has one chart only; write --chart FILE\n")


def test_a_leaderboard_by_random_factors_has_the_figures_of_compare(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    words = ("ratings.csv", "--random", "question", "--random", "judge")
    board = json.loads(shardwise("leaderboard", *words, "-f", "json").stdout)["rows"]
    systems = json.loads(shardwise("compare", *words, "--table", "systems", "-f", "json").stdout)["rows"]
    for row, system in zip(board, systems, strict=True):
        assert row["system"] == system["system"]
        assert [row[name] for name in ("mean", "lower", "upper")] == [
            system[name] for name in ("mean", "lower", "upper")
        ]


def test_a_gate_by_another_method_has_its_interval(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    words = ("plain.csv", "--baseline", "a1", "--method", "t holm")
    (row,) = json.loads(shardwise("gate", *words, "--new", "b2", "-f", "json").stdout)["rows"]
    pairs = json.loads(shardwise("compare", *words, "--only", "a1", "--only", "b2", "-f", "json").stdout)[
        "rows"
    ]
    assert (row["difference"], row["lower"], row["upper"]) == pytest.approx(
        tuple(pairs[0][name] for name in ("difference", "lower", "upper"))
    )


def write_scores_table(folder: Path) -> Path:
    values = np.random.default_rng(3).random((12, 3)).round(3)
    frame = pd.DataFrame(
        values, columns=["a", "b", "c"], index=pd.Index([f"q{k}" for k in range(12)], name="topic")
    )
    frame.to_csv(folder / "t.csv")
    return folder / "t.csv"


def test_options_of_pages_and_of_text_know_the_format(tmp_path: Path) -> None:
    path = write_scores_table(tmp_path)
    page = shardwise("leaderboard", path, "--format", "html", "--table", "fragment")
    assert (page.returncode, page.stderr) == (0, "")
    assert "<html" not in page.stdout
    refused = shardwise("leaderboard", path, "--format", "csv", "--table", "fragment")
    assert (refused.returncode, "--table has no effect in this format" in refused.stderr) == (2, True)
    trimmed = shardwise("compare", path, "--method", "bootstrap trim-percent", "--format", "json")
    assert (trimmed.returncode, "trim-percent has no effect in this format" in trimmed.stderr) == (2, True)


def test_a_margin_that_no_statement_uses_is_refused_by_calibrate(tmp_path: Path) -> None:
    path = write_scores_table(tmp_path)
    line = ("calibrate", path, "--method", "t holm", "--repetitions", "25", "--margin", "0.1")
    done = shardwise(*line)
    assert (done.returncode, "--margin has no effect unless moderated is tried" in done.stderr) == (2, True)


def test_more_shards_than_documents_are_refused_before_a_replication_keeps_anything(tmp_path: Path) -> None:
    lines = [f"{t} Q0 d{d} {d} {20 - d} {{name}}\n" for t in range(1, 6) for d in range(20)]
    (tmp_path / "qrels.txt").write_text(
        "".join(f"{t} 0 d{d} {(t + d) % 2}\n" for t in range(1, 6) for d in range(20))
    )
    for name in "ab":
        rows = lines if name == "a" else lines[::-1]
        (tmp_path / f"{name}.run").write_text("".join(rows).replace("{name}", name))
    out = tmp_path / "f19"
    done = shardwise(
        "replicate", "f19", tmp_path / "qrels.txt", tmp_path / "a.run", tmp_path / "b.run", "--out", out
    )
    assert (done.returncode, "50 shards for 20 documents" in done.stderr, out.exists()) == (2, True, False)


def test_programs_find_systems_under_one_name_whatever_the_user_calls_them(tmp_path: Path) -> None:
    """Any other word broke the schema."""
    rows = [f"q{k},{name},{(k * 7 + j * 3) % 10 / 10}\n" for k in range(9) for j, name in enumerate("ab")]
    (path := tmp_path / "t.csv").write_text("question,engine,score\n" + "".join(rows))
    done = shardwise("compare", path, "--table", "systems", "--format", "json")
    assert [row["system"] for row in json.loads(done.stdout)["rows"]] == ["a", "b"]
    assert "engine" in shardwise("compare", path).stdout
