"""The same conventions in every command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from command_line import shardwise

MEAN = 0.2689
"""What trec_eval prints for its own test, one of whose 31 topics has no relevant document."""


@pytest.fixture(scope="module")
def files(data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """NIST's test, with a second run that is like its own but for the topics of one line."""
    folder = data / "conformance" / "trec_eval"
    if not folder.is_dir():
        pytest.skip("no folder conformance among the data")
    lines = (folder / "results.comment.test").read_text().splitlines()
    other = tmp_path_factory.mktemp("runs") / "other"
    # the same documents, best last: a second system that differs
    reversed_scores = [re.sub(r" (\S+) comment\.test$", lambda m: f" -{m[1]} other", line) for line in lines]
    other.write_text("\n".join(reversed_scores) + "\n")
    return [str(folder / "qrels.comment.test"), str(folder / "results.comment.test"), str(other)]


def figures(*arguments: object) -> list[str]:
    done = shardwise(*arguments)
    assert done.returncode == 0, done.stderr
    return re.findall(r"\d\.\d{3,}", done.stdout)


def is_mean(shown: str) -> bool:
    """Whether a number is the mean, to the three digits or more that are shown; without one topic it is .278."""
    return round(MEAN, min(4, len(shown) - 2)) == round(float(shown), 4)


@pytest.mark.parametrize("command", ["score", "compare", "leaderboard"])
def test_the_mean_is_that_of_trec_eval(files: list[str], command: str) -> None:
    assert any(map(is_mean, figures(command, *files)))


def test_the_tables_of_a_paper_have_it_too(files: list[str], tmp_path: Path) -> None:
    done = shardwise("paper", *files, "--out", tmp_path / "paper", "-q")
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"\d\.\d{3,}", (tmp_path / "paper" / "numbers.tex").read_text())
    assert any(map(is_mean, shown))


def test_score_prints_what_it_chose(files: list[str]) -> None:
    done = shardwise("score", *files)
    said = " ".join((done.stdout + done.stderr).split())
    assert "Conventions: default (ties in single precision, topics without relevant documents count 0" in said
    done = shardwise("score", *files, "--like", "undefined", "-f", "json")
    table = json.loads(done.stdout)["rows"]
    assert {row["system"]: round(row["AP"], 4) for row in table}["comment.test"] == 0.2779


def test_planning_counts_the_same_topics(files: list[str]) -> None:
    """The variance is that of all 31 topics, as the scores that score writes have it."""
    done = shardwise("design", "power", *files, "--min-diff", "0.1", "-f", "json")
    assert done.returncode == 0, done.stderr
    assert "31" in done.stdout


def test_names_follow_the_program(files: list[str]) -> None:
    done = shardwise("score", *files, "--like", "ranx", "-m", "rbp.95", "-m", "ndcg@10", "-f", "json")
    assert done.returncode == 0, done.stderr
    assert {"RBP(p=0.95,scale='none')", "nDCG@10"} <= set(json.loads(done.stdout)["rows"][0])
    done = shardwise("score", *files, "-m", "ndcg@10")
    assert done.returncode == 2
    assert "has 2 meanings" in done.stderr


def test_topics_that_a_run_lacks(files: list[str], tmp_path: Path) -> None:
    """Left out with a note by score, refused by compare, 0 with `--like complete` and with ir_measures' conventions."""
    qrels, first, second = files
    lines = Path(second).read_text().splitlines()
    topic = next(line.split()[0] for line in lines if line.split()[0] in Path(qrels).read_text())
    short = tmp_path / "short"
    short.write_text("\n".join(line for line in lines if line.split()[0] != topic) + "\n")
    done = shardwise("score", qrels, first, short)
    assert done.returncode == 0, done.stderr
    assert (
        "1 ranking without documents, left out of the means of their run: other" in done.stdout + done.stderr
    )
    done = shardwise("compare", qrels, first, short)
    assert done.returncode == 2
    assert "--missing leave" in done.stderr
    for option in (("--like", "complete"), ("--like", "ir_measures"), ("--missing", "zero")):
        done = shardwise("compare", qrels, first, short, *option)
        assert done.returncode == 0, done.stderr
    done = shardwise("compare", qrels, first, short, "--like", "complete", "--missing", "drop")
    assert done.returncode == 2
    assert "conflicts with" in done.stderr


def test_judged_documents_only(files: list[str]) -> None:
    with_all = figures("score", *files, "-m", "P@10", "-f", "json")
    judged = figures("score", *files, "-m", "P@10", "--like", "judged", "-f", "json")
    named = figures("score", *files, "-m", "P(judged_only=True)@10", "-f", "json")
    assert judged == named != with_all
