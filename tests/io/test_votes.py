"""Files of votes: which columns name systems, winners, prompts, voters and the order; and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shardwise.core.errors import InputError
from shardwise.io.scores import read_file, read_scores
from shardwise.io.tables.records import Wishes
from shardwise.io.tables.sheet import Sheet
from shardwise.io.tables.votes import read_votes
from shardwise.io.votes import Votes

ROWS = [
    ("q1", "x", "y", 1.0),
    ("q2", "y", "z", 0.0),
    ("q3", "z", "x", -1.0),
    ("q4", "x", "z", 0.0),
    ("q5", "y", "x", 1.0),
]


def read(path: Path, **columns: str) -> Votes:
    content = read_file(path, Wishes())
    votes = read_votes(content, columns) if isinstance(content, Sheet) else content
    assert isinstance(votes, Votes)
    return votes


def write(folder: Path, text: str, name: str = "votes.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def triples(votes: Votes) -> list[tuple[str, str, float]]:
    names = votes.systems
    return [
        (names[a], names[b], float(y))
        for a, b, y in zip(votes.first, votes.second, votes.outcome, strict=True)
    ]


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("question,model_a,model_b,winner", {1.0: "model_a", 0.0: "tie", -1.0: "model_b"}),
        ("question_id,model_a,model_b,winner", {1.0: "model_a", 0.0: "tie (bothbad)", -1.0: "model_b"}),
        ("prompt,left,right,vote", {1.0: "left", 0.0: "both bad", -1.0: "right"}),
        ("item,system_1,system_2,preference", {1.0: "1", 0.0: "equal", -1.0: "2"}),
        ("question,a,b,chosen", {1.0: "A", 0.0: "Draw", -1.0: "B"}),
    ],
)
def test_words_for_winners(tmp_path: Path, head: str, words: dict[float, str]) -> None:
    text = "".join(f"{q},{a},{b},{words[y]}\n" for q, a, b, y in ROWS)
    votes = read(write(tmp_path, f"{head}\n{text}"))
    assert triples(votes) == [row[1:] for row in ROWS]
    assert votes.prompt is not None
    assert votes.prompt.names == ("q1", "q2", "q3", "q4", "q5")


def test_winners_by_name_flags_and_the_order_shown(tmp_path: Path) -> None:
    named = "".join(
        f"{a},{b},{a if y > 0 else b if y < 0 else 'tie'},v{k}\n" for k, (_, a, b, y) in enumerate(ROWS)
    )
    votes = read(write(tmp_path, f"model_a,model_b,winner,judge\n{named}"))
    assert triples(votes) == [row[1:] for row in ROWS]
    assert votes.voter is not None
    assert votes.voter.noun == "judge"
    flags = "".join(f"{a},{b},{int(y > 0)},{int(y < 0)},{int(y == 0)}\n" for _, a, b, y in ROWS)
    flagged = write(tmp_path, f"model_a,model_b,winner_model_a,winner_model_b,winner_tie\n{flags}")
    assert triples(read(flagged)) == [row[1:] for row in ROWS]
    # an order of ba says that the second system was shown first
    words = {1.0: "model_a", 0.0: "tie", -1.0: "model_b"}
    turned = "".join(f"{a},{b},{words[y]},{'ba' if k else 'ab'}\n" for k, (_, a, b, y) in enumerate(ROWS))
    ordered = read(write(tmp_path, f"model_a,model_b,winner,order\n{turned}"))
    assert triples(ordered) == [ROWS[0][1:], *((b, a, -y) for _, a, b, y in ROWS[1:])]


def test_grades_are_differences(tmp_path: Path) -> None:
    text = "".join(f"{q},{a},{b},{3 + y},{3 - y}\n" for q, a, b, y in ROWS)
    path = write(tmp_path, f"question,model_a,model_b,score_a,score_b\n{text}")
    with pytest.raises(InputError, match=r"no column says in words which won.*'grade': 'score_a-score_b'"):
        read(path)
    votes = read(path, first="model_a", second="model_b", grade="score_a-score_b")
    assert votes.graded
    assert triples(votes) == [(a, b, 2.0 * y) for _, a, b, y in ROWS]
    text = "".join(f"{q},{a},{b},{2.5 * y}\n" for q, a, b, y in ROWS)
    path = write(tmp_path, f"question,model_a,model_b,preference\n{text}")
    with pytest.raises(InputError, match=r"no column says in words which won.*'grade': 'preference'"):
        read(path)
    named = read(path, first="model_a", second="model_b", grade="preference")
    assert triples(named) == [(a, b, 2.5 * y) for _, a, b, y in ROWS]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("q1,x,y,banana\nq2,y,x,model_a\n", r"votes.csv:2: winner 'banana' is neither model_a, model_b"),
        ("q1,x,y,model_a\nq2,y,x,z\nq3,z,y,model_a\n", "winner 'z' took no part in this vote"),
        ("q1,x,y,\nq2,y,x,error\n", "no vote has a winner"),
        ("q1,x,y,model_a\nq2,y,,model_a\nq3,y,x,tie\n", "column 'model_b' is empty"),
    ],
)
def test_what_says_nothing_is_refused_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(write(tmp_path, f"question,model_a,model_b,winner\n{text}"))


def test_votes_left_out_are_counted_and_categories_chosen(tmp_path: Path) -> None:
    text = "x y model_a code,x x model_a code,y z  math,z x tie math,y x model_b code,x z model_b math,z y model_b math"
    rows = [f"q{k}," + ",".join(row.split(" ")) for k, row in enumerate(text.split(","))]
    path = write(tmp_path, "question,model_a,model_b,winner,category\n" + "\n".join(rows) + "\n")
    votes = read(path)
    assert votes.notes == ("1 vote without a winner left out", "1 vote on a system and itself left out")
    content = read_file(path, Wishes())
    assert isinstance(content, Sheet)
    math = read_votes(content, None, ["math"])
    assert math is not None
    assert len(math) == 3
    with pytest.raises(InputError, match="unknown task 'distribution'"):
        read_votes(content, None, ["distribution"])
    assert set(votes.leave_out(["z"]).systems) == {"x", "y"}


def test_frames_and_json_lines_are_votes_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "question": [f"q{k % 20}" for k in range(120)],
            "model_a": rng.choice(["x", "y"], 120),
            "model_b": "z",
            "winner": rng.choice(["model_a", "tie", "model_b"], 120),
        }
    )
    scores = read_scores(frame, measure="strength")
    path = tmp_path / "votes.jsonl"
    frame.to_json(path, orient="records", lines=True)
    np.testing.assert_allclose(read_scores(path, measure="strength"), scores)
    assert scores.attrs["read_as"].startswith("read as 120 votes by 20 questions on 3 models")
    without = read_scores(frame, measure="strength", exclude="y")
    assert set(without["system"].values) == {"x", "z"}


def test_published_votes_have_the_expected_shares(data: Path) -> None:
    folder = data / "doors"
    if not (folder / "expected.json").is_file():
        pytest.skip(f"no {folder}")
    expected = json.loads((folder / "expected.json").read_text())
    for tool, name in (
        ("votes", "llmfao-crowd-comparisons.csv"),
        ("mt_bench", "model_judgment/gpt-4_pair.jsonl"),
    ):
        shares = next(iter(expected[tool][name].values()))
        votes = read(folder / tool / name)
        assert set(votes.systems) == set(shares)
        for k, system in enumerate(votes.systems):
            own = np.concatenate([votes.outcome[votes.first == k], -votes.outcome[votes.second == k]])
            if tool == "mt_bench":
                # every pair is judged in both orders, and FastChat counts a win only if both agree
                first, second = votes.outcome[votes.first == k], -votes.outcome[votes.second == k]
                own = np.where(first == second, first, 0.0)
            assert float(np.mean((own + 1.0) / 2.0)) == pytest.approx(shares[system]["mean"])
            assert len(own) == shares[system]["items"]
    for ending in ("csv", "json"):
        assert len(read(folder / "votes" / f"arena-columns.{ending}")) == 1395
