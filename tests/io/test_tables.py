"""Tables as people have them: headers, verdicts in words, ids, means, and what cannot be told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st

import shardwise as sw
from shardwise.core.errors import InputError
from shardwise.core.scores import nouns_of
from shardwise.io.natural_order import natural_key, natural_order
from shardwise.io.scores import read_scores
from shardwise.io.tables.words import is_summary


def file(folder: Path, text: str, name: str = "scores.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def read(folder: Path, text: str, **options: Any) -> xr.DataArray:
    found = read_scores(file(folder, text), **options)
    assert isinstance(found, xr.DataArray)
    return found


def said(found: xr.DataArray) -> str:
    return str(found.attrs["read_as"])


REAL = {
    "bool": ("read as 20 items × 2 systems (A, B), score = correct", {"topic": "item"}),
    "inspect_scores": (
        "read as 60 topics × 3 systems (mockllm/a, mockllm/b, mockllm/c) × 3 instances, score = acc",
        {},
    ),
    "llm1": (
        "read as 20 questions × 2 models (A, B) × 3 seeds",
        {"topic": "question", "system": "model", "instance": "seed"},
    ),
    "llm2": (
        "read as 20 items × 2 models (A, B) × 3 epochs, score = accuracy",
        {"topic": "item", "system": "model", "instance": "epoch"},
    ),
    "llm3": (
        "read as 20 items × 2 systems (A, B) × 3 seeds, score = accuracy",
        {"topic": "item", "instance": "seed"},
    ),
    "llm4": ("read as 20 items × 2 systems (A, B) × 3 instances, score = accuracy", {"topic": "item"}),
    "llm5": (
        "read as 20 items × 2 systems (A, B) × 3 instances in 5 clusters, score = accuracy",
        {"topic": "item"},
    ),
    "llm6": (
        "read as 20 items × 2 systems (A, B) × 3 instances, score = accuracy; left out: comment (text)",
        {"topic": "item"},
    ),
    "task": ("read as 40 items × 2 systems (A, B) in 2 tasks", {"topic": "item"}),
}


@pytest.mark.parametrize("name", REAL)
def test_real_tables_are_read_as_a_person_would(data: Path, name: str) -> None:
    path = data / "llm" / "tables" / f"{name}.csv"
    if not path.is_file():
        pytest.skip(f"no {path}")
    found = read_scores(path)
    assert isinstance(found, xr.DataArray)
    assert (said(found), nouns_of(found)) == REAL[name]
    frame = pd.read_csv(path)
    system = "model" if "model" in frame else "system"
    means = frame.groupby(system)[frame.columns[-1]].mean()  # every table has its scores in the last column
    others = [dim for dim in found.dims if dim != "system"]
    np.testing.assert_allclose(found.mean(others).to_series().loc[means.index], means)


def test_every_real_table_is_among_them(data: Path) -> None:
    assert {path.stem for path in (data / "llm" / "tables").iterdir()} <= set(REAL)


def test_a_run_table_of_means_is_refused(data: Path) -> None:
    path = data / "trec-covid-r1" / "round1.csv"
    with pytest.raises(InputError, match="has one row for each run: contains only aggregate means"):
        read_scores(path)


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        ("True", "False"),
        ("TRUE", "FALSE"),
        ("yes", "no"),
        ("Pass", "Fail"),
        ("passed", "failed"),
        ("correct", "incorrect"),
        ("C", "I"),
        ("T", "F"),
        ("Y", "N"),
        ("1", "0"),
    ],
)
@pytest.mark.parametrize("layout", ["long", "wide"])
def test_verdicts_in_words(tmp_path: Path, yes: str, no: str, layout: str) -> None:
    verdicts = {("q1", "a"): yes, ("q1", "b"): no, ("q2", "a"): no, ("q2", "b"): yes}
    long = "question,model,correct\n" + "".join(f"{q},{m},{v}\n" for (q, m), v in verdicts.items())
    wide = f"question,a,b\nq1,{yes},{no}\nq2,{no},{yes}\n"
    found = read(tmp_path, long if layout == "long" else wide)
    np.testing.assert_array_equal(found.values, [[1.0, 0.0], [0.0, 1.0]])


def test_a_decimal_comma_beside_semicolons(tmp_path: Path) -> None:
    found = read(tmp_path, "frage_id;question;A;B\n1;q1;0,5;1\n2;q2;0,25;,75\n")
    assert found["system"].values.tolist() == ["A", "B"]
    np.testing.assert_array_equal(found.values, [[0.5, 1.0], [0.25, 0.75]])
    mixed = read(tmp_path, "question;A;B\nq1;0,5;0.5\nq2;1;2\n")
    np.testing.assert_array_equal(mixed.values, [[0.5, 0.5], [1, 2]])


def test_labels_stay_as_they_are_written(tmp_path: Path) -> None:
    found = read(tmp_path, "question,model,correct\n007,1.0,1\n007,1.1,0\n7,1.0,0\n7,1.1,1\n")
    assert found["topic"].values.tolist() == ["007", "7"]
    assert found["system"].values.tolist() == ["1.0", "1.1"]


TABLE = [("q1", "a", 1, 0.5), ("q1", "b", 1, 0.25), ("q2", "a", 1, 1.0), ("q2", "b", 1, 0.75)]


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("question,model,seed,score", None),
        ("Question ID,Model Name,Random Seed,Score", None),
        ("sample_id,engine,trial,judge", None),
        ("doc_id,system,epoch,acc", None),
        ("prompt,model,run_id,correct", None),
        ("question,model,sample,score", None),
        ("example,run,repeat,accuracy", None),
        ("instance_id,model,attempt,resolved", None),
        ("task_id,model,sample,passed", None),
        ("x,y,z,w", {"item": "x", "system": "y", "instance": "z", "score": "w"}),
        ("x,y,z,w", {"question": "X", "model": "Y", "seed": "Z", "value": "W"}),
    ],
)
def test_headers_that_people_use(tmp_path: Path, header: str, columns: dict[str, str] | None) -> None:
    rows = "".join(f"{q},{m},{s + k},{v}\n" for q, m, s, v in TABLE for k in (0, 1))
    found = read(tmp_path, f"{header}\n{rows}", columns=columns)
    assert dict(found.sizes) == {"topic": 2, "system": 2, "instance": 2}
    assert found.sel(topic="q2", system="b", instance=2) == 0.75


def _jsonl(frame: pd.DataFrame, path: Path) -> None:
    frame.to_json(path, orient="records", lines=True)


WRITERS: dict[str, Callable[[pd.DataFrame, Path], object]] = {
    "t.csv": lambda frame, path: frame.to_csv(path, index=False),
    "t.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "t.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "t.jsonl": _jsonl,
    "t.json": lambda frame, path: frame.to_json(path, orient="records"),
    "t.parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "t.xlsx": lambda frame, path: frame.to_excel(path, index=False),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("layout", ["long", "wide"])
def test_every_format_gives_the_same_scores(tmp_path: Path, name: str, layout: str) -> None:
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
    long = pd.DataFrame([row[:2] + row[3:] for row in TABLE], columns=["question", "model", "score"])
    wide = long.pivot(index="question", columns="model", values="score").reset_index()
    WRITERS[name](long if layout == "long" else wide, tmp_path / name)
    found = read_scores(tmp_path / name)
    np.testing.assert_array_equal(found.values, [[0.5, 0.25], [1.0, 0.75]])
    assert found["topic"].values.tolist() == ["q1", "q2"]
    assert nouns_of(found)["topic"] == "question"


@pytest.mark.parametrize("word", ["all", "mean", "Average"])
def test_means_are_no_items(tmp_path: Path, word: str) -> None:
    found = read(tmp_path, f"question,a,b\n1,0,1\n2,1,1\n{word},.5,1\n")
    assert found["topic"].values.tolist() == ["1", "2"]
    assert said(found) == f"read as 2 questions × 2 systems (a, b); summary rows left out: {word}"
    rows = "".join(f"{q},{m},1\n" for q in ("1", "2", word) for m in "ab")
    assert read(tmp_path, f"question,model,correct\n{rows}").sizes["topic"] == 2


def test_ids_and_constants_are_no_systems(tmp_path: Path) -> None:
    rows = "".join(f"{100 + k},{k % 2},{k % 3 / 2},2024,{7 * k}\n" for k in range(6))
    for header in ("question,A,B,year,hash", "nr,A,B,year,hash", "frage,A,B,year,hash"):
        found = read(tmp_path, f"{header}\n{rows}")
        assert found["system"].values.tolist() == ["A", "B"], header
        assert found["topic"].values.tolist() == [str(100 + k) for k in range(6)], header
        assert "year (constant, so no system unless columns names it)" in said(found)
        assert "hash (of another scale than the scores)" in said(found)
    named = read(tmp_path, f"question,A,B,year,hash\n{rows}", columns={"system": "A+B+year"})
    assert named["system"].values.tolist() == ["A", "B", "year"]


@pytest.mark.parametrize(
    ("always", "others"), [("1", "0 1"), ("1", ".2 .7"), ("0", ".2 .7"), ("5", "2 5"), ("0", "2 5")]
)
def test_a_system_may_have_the_same_score_everywhere(tmp_path: Path, always: str, others: str) -> None:
    low, high = others.split()
    rows = "".join(f"{k},{(low, high)[k % 2]},{(low, high)[k % 3 % 2]},{always},1\n" for k in range(8))
    found = read(tmp_path, f"question,A,B,perfect,temperature\n{rows}")
    assert found["system"].values.tolist() == ["A", "B", "perfect"]
    assert f"perfect has {always} in every row" in said(found)
    assert "left out: temperature (constant, so no system unless columns names it)" in said(found)


@pytest.mark.parametrize(
    ("name", "always"), [("batch_id", "1"), ("version", "0"), ("tokens", "512"), ("delta", "-3")]
)
def test_a_constant_that_is_no_score_is_no_system(tmp_path: Path, name: str, always: str) -> None:
    rows = "".join(f"{k},{k % 2},{k % 3 / 2},{always}\n" for k in range(8))
    text = f"question,A,B,{name}\n{rows}"
    assert read(tmp_path, text)["system"].values.tolist() == ["A", "B"]
    assert f"{name} (constant" in said(read(tmp_path, text))
    assert read(tmp_path, text, columns={"system": f"A+B+{name}"}).sizes["system"] == 3


def test_text_is_left_out_and_a_score_beside_other_numbers_is_found(tmp_path: Path) -> None:
    text = "question,model,answer,tokens,correct\n" + "".join(
        f'{q},{m},"the answer,\n with ""quotes""",{50 + q},{q % 2}\n' for q in range(3) for m in "ab"
    )
    found = read(tmp_path, text)
    assert found.name == "correct"
    assert said(found) == (
        "read as 3 questions × 2 models (a, b), score = correct; left out: answer (text), tokens (no score)"
    )
    tokens = read(tmp_path, text, measure="tokens")
    assert tokens.sel(topic="2", system="b") == 52


def test_cells_that_hold_more_than_a_value_are_left_out(tmp_path: Path) -> None:
    rows = [
        {"question": q, "model": m, "messages": [{"role": "user"}], "meta": {"seed": q}, "correct": bool(q)}
        for q in range(2)
        for m in "ab"
    ]
    for name, text in (("t.jsonl", "\n".join(map(json.dumps, rows))), ("t.json", json.dumps(rows))):
        found = read_scores(file(tmp_path, text, name))
        np.testing.assert_array_equal(found.values, [[0, 0], [1, 1]])
        assert "messages (text)" in found.attrs["read_as"]


def test_columns_that_say_the_same_are_one(tmp_path: Path) -> None:
    rows = "".join(f"{q},what is {q}?,{m},{q % 2}\n" for q in range(3) for m in "ab")
    found = read(tmp_path, f"question_id,prompt,model,correct\n{rows}")
    assert found["topic"].values.tolist() == ["0", "1", "2"]
    assert "prompt (says the same as question_id)" in said(found)


def test_seeds_of_their_own_are_numbered(tmp_path: Path) -> None:
    rows = "".join(
        f"{q},{m},{17 * q + 5 * k + 100 * (m == 'b')},{k}\n" for q in range(3) for m in "ab" for k in range(2)
    )
    found = read(tmp_path, f"question,model,seed,score\n{rows}")
    assert dict(found.sizes) == {"topic": 3, "system": 2, "instance": 2}
    assert (found.sel(instance=2) == 1).all()


def test_unequal_seeds_are_counted_and_stay_missing(tmp_path: Path) -> None:
    rows = [f"{q},{m},{s},{1.0}" for q in range(4) for m, n in (("a", 5), ("b", 3)) for s in range(n)]
    found = read(tmp_path, "question,model,seed,score\n" + "\n".join(rows[:-1]))
    assert said(found) == "read as 4 questions × 2 models (a, b) × 3 to 5 seeds; 1 of 32 missing"
    assert found.mean(["topic", "instance"]).values.tolist() == [1.0, 1.0]
    assert int(found.isnull().sum()) == 4 * 2 + 1


AMBIGUOUS = [
    (
        "question,prompt,model,correct\n1,x,a,1\n1,y,a,0\n2,x,a,1\n2,y,a,0\n",
        "columns 'question' and 'prompt' both name the item; "
        r"say columns={'item': 'question', 'system': 'prompt'} or columns={'item': 'prompt', 'system': 'question'}",
    ),
    (
        "flavour,colour,points\nx,red,1\ny,red,2\nx,blue,3\ny,blue,4\n",
        "'flavour' and 'colour' could be items and systems; say columns={'item': 'flavour', 'system': 'colour'} or "
        "columns={'item': 'colour', 'system': 'flavour'}",
    ),
    (
        "question,flavour,colour,points\n1,x,p,1\n1,y,q,2\n2,x,q,3\n2,y,p,4\n",
        "'flavour' and 'colour' could both be the systems; say columns={'system': 'flavour'} or",
    ),
    ("model,score\na,1\nb,0\na,0\nb,1\n", "has no column of items"),
    (
        "name,map,ndcg\nbm25,.3,.4\nqld,.2,.5\n",
        r"has one row for each name: contains only aggregate means.*perquery=True",
    ),
]


@pytest.mark.parametrize(("text", "words"), AMBIGUOUS)
def test_what_can_be_read_in_two_ways_is_refused_with_both(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_scores(file(tmp_path, text))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"item": "nothing"}, "has no column 'nothing'; it has question, model, correct"),
        ({"colour": "model"}, "a column cannot be a 'colour'; name item, system"),
        ({"cluster": "question+model"}, "cluster is one column, not 2"),
    ],
)
def test_columns_that_are_not_there(tmp_path: Path, columns: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_scores(file(tmp_path, "question,model,correct\n1,a,1\n1,b,0\n"), columns=columns)


def test_columns_are_an_argument_of_all_that_take_tables(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [(f"i{k}", s, rng.normal()) for k in range(12) for s in ("u", "v")]
    frame = pd.DataFrame(rows, columns=["flavour", "colour", "points"])
    columns = {"item": "flavour", "system": "colour"}
    wanted = sw.as_scores(frame, columns=columns)
    assert dict(wanted.sizes) == {"topic": 12, "system": 2}
    by_hand = sw.compare(wanted, "t holm").to_frame()["p"]
    np.testing.assert_array_equal(sw.compare(frame, "t holm", columns=columns).to_frame()["p"], by_hand)
    np.testing.assert_array_equal(
        sw.analyze(frame, method="t holm", columns=columns).comparisons.to_frame()["p"], by_hand
    )
    with pytest.raises(InputError, match="columns are for tables, and this is an array"):
        sw.as_scores(wanted, columns=columns)


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        (
            '{"question": 1, "model": "a", "correct": 1}\n{"question"\n',
            "t.jsonl",
            r"t.jsonl:2: not an object",
        ),
        (json.dumps([{"question": 1}, 3]), "t.json", r"t.json:row 2: not a table of scores"),
        ('{"a": {"q1": 1}', "t.json", r"t.json: is not JSON"),
        ("question,model,correct\n1,a,1\n1,b,maybe\n2,a,1\n", "t.csv", r"t.csv:3: correct: 'maybe' is not"),
        ("question,model,correct\n1,a,1\n\n,b,1\n", "t.csv", r"t.csv:4: column 'question' is empty"),
    ],
)
def test_faults_are_told_with_file_and_line(tmp_path: Path, text: str, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_scores(file(tmp_path, text, name))


def test_rows_of_nothing_are_passed_over(tmp_path: Path) -> None:
    found = read(tmp_path, "question,a,b\n1,0,1\n,,\n2,1,1\n,,\n")
    assert found["topic"].values.tolist() == ["1", "2"]
    with pytest.raises(InputError, match=r"scores.csv:4: a: 'x' is not a number"):
        read(tmp_path, "question,a,b\n1,0,1\n,,\n2,x,1\n3,1,1\n")


labels = st.text(st.characters(whitelist_categories=("L", "N"), max_codepoint=0x24F), min_size=1, max_size=6)


@st.composite
def long_tables(draw: st.DrawFn) -> dict[tuple[str, str], float]:
    """Some scores of questions by models, in any order."""
    questions = draw(
        st.lists(labels.filter(lambda s: not is_summary(s)), min_size=1, max_size=5, unique=True)
    )
    models = draw(st.lists(labels, min_size=1, max_size=3, unique=True))
    cells = st.sampled_from([(q, m) for q in questions for m in models])
    kept = draw(st.lists(cells, min_size=1, unique=True))
    return {cell: draw(st.floats(-1e6, 1e6)) for cell in kept}


@given(cells=long_tables())
@settings(max_examples=40)
# questions that are called as models are, which could be opponents were they not under headers of other things
@example(cells={("a", "b"): 0.5, ("b", "a"): 0.25, ("c", "a"): 0.5, ("a", "c"): 0.1, ("b", "c"): 0.0})
@example(cells={("a", "b"): 0.0, ("b", "a"): 1.0, ("b", "c"): 1.0, ("c", "a"): 2.0})
def test_any_long_table_gives_back_its_cells_whatever_the_order_of_rows(
    tmp_path_factory: pytest.TempPathFactory, cells: dict[tuple[str, str], float]
) -> None:
    text = "question,model,score\n" + "".join(f'"{q}","{m}",{v!r}\n' for (q, m), v in cells.items())
    found = read_scores(file(tmp_path_factory.mktemp("t"), text))
    assert int(found.notnull().sum()) == len(cells)
    for (q, m), value in cells.items():
        assert found.sel(topic=q, system=m) == value


@pytest.mark.parametrize(
    "ids", [("007", "7", "8"), ("1", "02", "3"), ("1", "0x10", "16"), ("1", "-0", "0"), ("1", "b", "3")]
)
def test_labels_that_look_like_numbers_stay_what_they_are(tmp_path: Path, ids: tuple[str, ...]) -> None:
    found = read(tmp_path, "question,model,correct\n" + "".join(f"{q},{m},1\n" for q in ids for m in "ab"))
    assert sorted(found["topic"].values.tolist()) == sorted(ids)


def test_numbers_for_labels_are_labels(tmp_path: Path) -> None:
    rows = "".join(f"{q}, {m},{q % 2}\n" for q in (3, 1, 20) for m in (10, 9))
    found = read(tmp_path, f"question,model,correct\n{rows}")
    assert found["topic"].values.tolist() == ["1", "3", "20"]
    assert found["system"].values.tolist() == ["9", "10"]
    assert found.sel(topic="20").values.tolist() == [0.0, 0.0]


def test_columns_that_are_factors(tmp_path: Path) -> None:
    rows = "".join(
        f"{q},{m},{j},p{q // 2},{q + k}\n"
        for q in range(4)
        for m in "ab"
        for k, j in enumerate(("ann", "bob"))
    )
    text = f"question,model,judge,passage,score\n{rows}"
    found = read(tmp_path, text, factors=["question", "judge", "passage"])
    assert dict(found.sizes) == {"topic": 4, "system": 2, "judge": 2}
    assert found["passage"].values.tolist() == ["p0", "p0", "p1", "p1"]
    assert found.sel(topic="3", system="b", judge="bob") == 4
    prompts = text.replace("judge", "prompt")  # a second word for the item
    assert read(tmp_path, prompts, factors=["question", "prompt"]).sizes["prompt"] == 2
    with pytest.raises(InputError, match="if 'judge' identifies the repeats, say columns="):
        read(tmp_path, text)


@settings(max_examples=60)
@given(
    st.lists(st.text("q07 19x٣", max_size=4), max_size=8, unique=True), st.sampled_from(["", "q", "topic 1"])
)
def test_names_stand_in_their_natural_order(names: list[str], prefix: str) -> None:
    own = [prefix + name for name in names]
    assert [own[k] for k in natural_order(own)] == sorted(own, key=natural_key)
