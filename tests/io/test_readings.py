"""Tables that were misread: each is read as a person reads it, or refused with the way in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import xarray as xr
from bench.reading import is_held_out, judge_case
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise.app.reading import describe_files
from shardwise.core.errors import InputError
from shardwise.io.scores import read_scores
from shardwise.io.tables import delimited, signs

ITEMS = [f"q{k}" for k in range(1, 13)]
SYSTEMS = ("bm25", "dense", "hybrid")
VALUES = np.random.default_rng(4).random((12, 3)).round(4)
TABLE = pd.DataFrame(VALUES, columns=list(SYSTEMS))


def write_wide(
    path: Path, header: str = "topic", *, extra: dict[str, Any] | None = None, below: tuple[str, ...] = ()
) -> Path:
    frame = TABLE.assign(**(extra or {}))
    frame.insert(0, header, ITEMS)
    path.write_text(frame.to_csv(index=False) + "".join(f"{row}\n" for row in below))
    return path


def write_long(path: Path, *headers: str) -> Path:
    rows = [(item, s, VALUES[k, j]) for k, item in enumerate(ITEMS) for j, s in enumerate(SYSTEMS)]
    path.write_text(pd.DataFrame(rows, columns=list(headers)).to_csv(index=False))
    return path


def assert_read(scores: xr.DataArray | xr.Dataset) -> None:
    assert isinstance(scores, xr.DataArray)
    assert sorted(map(str, scores["system"].values)) == sorted(SYSTEMS)
    others = [dim for dim in scores.dims if dim not in ("topic", "system")]
    table = scores.mean(others) if others else scores
    found = table.sel(system=list(SYSTEMS)).transpose("topic", "system").values
    np.testing.assert_allclose(np.sort(found, axis=0), np.sort(VALUES, axis=0), rtol=1e-9)


STATISTICS = {
    "Sum": np.sum, "Total": np.sum, "Gesamt": np.sum, "Mean": np.mean, "Average:": np.mean, "moyenne": np.mean,
    "平均": np.mean, "Durchschnitt": np.mean, "Median": np.median, "Max": np.max, "Min": np.min, "Std": np.std,
    "Mean ± SD": np.mean, "Ø": np.mean, "Overall": np.mean, "": np.mean, "Keskmine": np.mean,
}  # fmt: skip


@pytest.mark.parametrize("label", STATISTICS)
def test_summary_rows_are_no_items(tmp_path: Path, label: str) -> None:
    row = ",".join([label, *(f"{STATISTICS[label](VALUES[:, k]):.4f}" for k in range(3))])
    scores = read_scores(write_wide(tmp_path / "t.csv", below=(row,)))
    assert_read(scores)
    assert f"summary rows left out: {label or '(no name)'}" in scores.attrs["read_as"]


def test_a_row_that_only_looks_like_a_summary_is_refused(tmp_path: Path) -> None:
    means = ",".join(["q13", *(f"{VALUES[:, k].mean():.4f}" for k in range(3))])
    with pytest.raises(
        InputError, match=r"t.csv:14: row 'q13' is the mean of the rows above; leave it out with"
    ):
        read_scores(write_wide(tmp_path / "t.csv", below=(means,)))
    path = tmp_path / "words.csv"
    path.write_text("word,a,b\napple,.1,.2\nbest,.3,.45\ncat,.7,.55\n")
    with pytest.raises(
        InputError, match="row 'best' may be an item, or sum up others; leave it out with exclude"
    ):
        read_scores(path)
    assert read_scores(path, exclude="best").sizes["topic"] == 2


@pytest.mark.parametrize(
    ("rows", "items"),
    [
        # a row without scores at the end is a note, but two rows always stay
        (["apple,.1,.2", "banana,.3,.45", "taken from the paper,,"], 2),
        (["apple,.1,.2", "taken from the paper,,", "and checked twice,,"], 2),
        (["apple,.1,.2", "banana,.3,.45", "note,,"], 3),
        # what two rows have in common says that a row is their mean, and one row does not
        (["apple,.1,.2", "banana,.3,.4", "mean,.2,.3"], 2),
        (["apple,.1,.2", "mean,.1,.2"], "row 'mean' may be an item"),
        # without a word, the last of four rows may be a mean; the last of three may be an item
        (["apple,.11,.2", "banana,.3,.41", "cat,.7,.5", "dog,.37,.37"], 3),
        (["apple,.11,.2", "banana,.3,.41", "dog,.205,.305"], 3),
    ],
)
def test_rows_that_are_just_enough(tmp_path: Path, rows: list[str], items: int | str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["word,a,b", *rows]) + "\n")
    if isinstance(items, str):
        with pytest.raises(InputError, match=items):
            read_scores(path)
    else:
        assert read_scores(path).sizes["topic"] == items


def test_summaries_of_many_rows_are_found() -> None:
    rows = (1 << 16) + 1
    rng = np.random.default_rng(1)
    names = [*(f"q{k}" for k in range(rows - 1)), "Mean ± SD"]
    values = rng.random((rows - 1, 2))
    table = pd.DataFrame(np.vstack([values, values.mean(axis=0)]), columns=["a", "b"])
    assert read_scores(table.assign(question=names)[["question", "a", "b"]]).sizes["topic"] == rows - 1


@pytest.mark.parametrize("layout", ["wide", "long"])
@pytest.mark.parametrize(
    ("names", "word", "items"),
    [
        # where more than four of five names are those of items, a word at the end is enough
        (["q1", "q2", "q3", "q4", "apple"], "overall", None),
        (["q1", "q2", "q3", "q4", "q5", "apple"], "overall", 6),
        # two letters are no word
        (["apple", "banana", "cat"], "se", 4),
    ],
)
def test_words_at_the_end_that_are_just_enough(
    names: list[str], word: str, items: int | None, layout: str
) -> None:
    scores = np.random.default_rng(2).random((len(names) + 1, 2)).round(3)
    table = pd.DataFrame(scores, columns=["a", "b"], index=pd.Index([*names, word], name="question"))
    if layout == "long":
        table = table.rename_axis(columns="model").stack().rename("score").to_frame()
    table = table.reset_index()
    if items is None:
        with pytest.raises(InputError, match=f"row '{word}' may be an item"):
            read_scores(table)
    else:
        assert read_scores(table).sizes["topic"] == items


@pytest.mark.parametrize(("agreeing", "items"), [(4, 3), (3, None)])
def test_means_of_four_in_five_systems_are_enough(agreeing: int, items: int | None) -> None:
    scores = np.random.default_rng(4).random((3, 5)).round(3)
    means = np.where(np.arange(5) < agreeing, scores.mean(axis=0), 0.77)
    index = pd.Index(["apple", "banana", "cat", "mean"], name="question")
    wide = pd.DataFrame(
        np.vstack([scores, means]), columns=pd.Index(list("abcde"), name="model"), index=index
    )
    table = wide.stack().rename("score").reset_index()
    if items is None:
        with pytest.raises(InputError, match="row 'mean' may be an item"):
            read_scores(table)
    else:
        assert read_scores(table).sizes["topic"] == items


def test_summaries_of_many_items_of_a_long_table_are_found() -> None:
    count = 2000
    names = [*(f"q{k}" for k in range(count - 1)), "Mean ± SD"]
    scores = np.random.default_rng(3).random(2 * count)
    table = pd.DataFrame({"question": np.repeat(names, 2), "model": ["a", "b"] * count, "score": scores})
    assert read_scores(table).sizes["topic"] == count - 1


@pytest.mark.parametrize(
    ("names", "word", "items"),
    [
        # two items are enough to say that the mean is none of them; two letters say too little
        (["q1", "q2"], "mean", 2),
        (["apple"], "mean", 2),
        (["q1", "q2", "q3"], "Δ%", 4),
    ],
)
def test_items_of_a_long_table_that_are_just_enough(names: list[str], word: str, items: int) -> None:
    rng = np.random.default_rng(2)
    scores = rng.random((len(names), 2)).round(3)
    rows = [(name, system, scores[i, k]) for i, name in enumerate(names) for k, system in enumerate("ab")]
    rows += [(word, system, scores[:, k].mean()) for k, system in enumerate("ab")]
    table = pd.DataFrame(rows, columns=["question", "model", "score"])
    assert read_scores(table).sizes["topic"] == items


EXTRAS: dict[str, Any] = {
    "mean": VALUES.mean(1).round(4), "best": VALUES.max(1), "std": VALUES.std(1, ddof=1).round(4),
    "diff": (VALUES[:, 0] - VALUES[:, 1]).round(4), "Mittelwert": VALUES.mean(1).round(3), "year": 1999 + np.arange(12),
    "latency_ms": 100 + 37 * np.arange(12) % 400, "Kosten": 50.0 + np.arange(12), "rank": 1 + np.arange(12) % 5,
    "difficulty": 1 + np.arange(12) % 5, "Länge": 20 + 7 * np.arange(12), "comment": ["good work"] * 12,
}  # fmt: skip


@pytest.mark.parametrize("name", EXTRAS)
def test_columns_beside_the_scores_are_no_systems(tmp_path: Path, name: str) -> None:
    scores = read_scores(write_wide(tmp_path / "t.csv", extra={name: EXTRAS[name]}))
    assert_read(scores)
    assert f"left out: {name} (" in scores.attrs["read_as"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("cost", VALUES[:, 0][::-1]),
        ("p_value", VALUES[:, 1][::-1]),
        ("foo", 300 + np.arange(12) * 17 % 500),
        ("ensemble", VALUES.mean(1).round(4)),
    ],
)
def test_one_sign_alone_drops_nothing(tmp_path: Path, name: str, values: Any) -> None:
    path = write_wide(tmp_path / "t.csv", extra={name: values})
    with pytest.raises(InputError, match=rf"column '{name}' .*say columns=.*bm25\+dense\+hybrid'") as refused:
        read_scores(path)
    without, kept = refused.value.choices
    assert_read(read_scores(path, columns=without))
    assert name in read_scores(path, columns=kept)["system"].values


@pytest.mark.parametrize("header", ["", "id", "llm", "algorithm", "approach", "Methode", "name", "system"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "json"])
def test_rows_may_be_systems(tmp_path: Path, header: str, ending: str) -> None:
    frame = pd.DataFrame(VALUES.T, index=pd.Index(SYSTEMS, name=header or None), columns=ITEMS)
    path = tmp_path / f"t.{ending}"
    if ending == "csv":
        frame.to_csv(path)
    elif ending == "parquet":
        frame.to_parquet(path)
    elif ending == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path)
    else:
        path.write_text(json.dumps(frame.to_dict()))
    scores = read_scores(path)
    assert_read(scores)
    assert "rows are systems, columns are items" in scores.attrs["read_as"]


def test_an_unnamed_index_of_parquet_names_the_items(tmp_path: Path) -> None:
    frame = TABLE.set_axis(ITEMS)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.sample(frac=1.0, random_state=3).to_parquet(tmp_path / "b.parquet")
    a, b = read_scores(tmp_path / "a.parquet"), read_scores(tmp_path / "b.parquet")
    xr.testing.assert_equal(a, b)
    frame.rename_axis("Subject").to_parquet(tmp_path / "c.parquet")
    assert read_scores(tmp_path / "c.parquet").attrs["topic_noun"] == "subject"
    large = TABLE.set_axis(pd.Index(np.arange(12, dtype=np.uint64) + np.uint64(2**63), name="question"))
    assert read_scores(large)["topic"].values[0] == str(2**63)


@pytest.mark.parametrize(
    "headers", [("Frage", "Modell", "Punkte"), ("问题", "模型", "得分"), ("вопрос", "модель", "оценка")]
)
def test_headers_in_other_languages(tmp_path: Path, headers: tuple[str, str, str]) -> None:
    assert_read(read_scores(write_long(tmp_path / "t.csv", *headers)))


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ("891 1,032 1,500 702", "'1,032' may be 1032 or 1.032"),
        ("891 1.032 1.500 702", "'1.032' may be 1032 or 1.032"),
    ],
)
def test_marks_that_may_be_thousands_are_refused(tmp_path: Path, cells: str, problem: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("topic;a\n" + "".join(f"q{k};{cell}\n" for k, cell in enumerate(cells.split())))
    with pytest.raises(InputError, match=f"{problem}; say decimal='comma' or decimal='point'"):
        read_scores(path)
    readings = [read_scores(path, decimal=mark).max().item() for mark in ("comma", "point")]
    assert sorted(readings) == [891.0, 1500.0]


@pytest.mark.parametrize(
    "rows",
    [
        "q1,0.74,0.75\nq2,0.33,0.14\nq3,0.43,0.14\n",
        "1,0\n0,1\n1,1\n0,0\n",
        "q1,a,0.7\nq1,b,0.2\nq2,a,0.3\nq2,b,0.1\n",
    ],
)
def test_a_first_row_of_data_is_no_header(tmp_path: Path, rows: str) -> None:
    (tmp_path / "t.csv").write_text(rows)
    with pytest.raises(InputError, match="has no header: the first row is data; add a line") as refused:
        read_scores(tmp_path / "t.csv")
    assert read_scores(tmp_path / "t.csv", columns=refused.value.choices[0]).sizes["system"] >= 2


def test_runs_of_a_method_are_its_repeats(tmp_path: Path) -> None:
    rows = [
        f"{3 * j + seed},{s},{item},{VALUES[k, j]}"
        for k, item in enumerate(ITEMS)
        for j, s in enumerate(SYSTEMS)
        for seed in range(3)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["run,method,question,score", *rows]))
    scores = read_scores(tmp_path / "t.csv")
    assert_read(scores)
    assert dict(scores.sizes) == {"topic": 12, "system": 3, "instance": 3}


def test_a_first_row_of_verdicts_without_a_label_is_no_row_of_units(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("bm25,dense,hybrid\n,yes,no\nno,yes,yes\nyes,no,no\n")
    assert read_scores(tmp_path / "t.csv").sizes["topic"] == 3
    (tmp_path / "t.csv").write_text("topic,bm25,dense\n,s,s\nq1,1.5,2\nq2,2.5,3\n")
    assert "row of units left out: s" in read_scores(tmp_path / "t.csv").attrs["read_as"]


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        ([f"2024-03-{k:02}" for k in range(1, 13)], ["=1+1", "+a", "-b"]),
        (["true", *(f"word {k}" for k in range(1, 12))], ["0.1", "0.2", "0.5"]),
    ],
)
def test_columns_that_may_be_items_are_not_taken_for_systems(
    tmp_path: Path, names: list[str], labels: list[str]
) -> None:
    (tmp_path / "t.json").write_text(json.dumps(pd.DataFrame(VALUES.T, labels, names).to_dict()))
    with pytest.raises(InputError, match=r"rows may be items or systems") as refused:
        read_scores(tmp_path / "t.json")
    turned = read_scores(tmp_path / "t.json", columns=refused.value.choices[1])
    assert turned["system"].values.tolist() == labels


@pytest.mark.parametrize("word", ["TIMEOUT", "OOM", "refused", "#DIV/0!", "?"])
def test_words_among_scores_are_refused_with_their_count(tmp_path: Path, word: str) -> None:
    path = write_wide(tmp_path / "t.csv")
    path.write_text(path.read_text().replace(str(VALUES[2, 1]), word).replace(str(VALUES[4, 1]), word))
    with pytest.raises(
        InputError, match=r"t.csv:4: dense: .* is not a number \(2 such cells\); .* missing='leave'"
    ):
        read_scores(path)
    assert int(read_scores(path, missing="leave").isnull().sum()) == 2
    assert float(read_scores(path, missing="zero").min()) == 0.0


def test_a_system_does_not_vanish(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["topic", *SYSTEMS])
    for k, item in enumerate(ITEMS):
        book.active.append([item, *VALUES[k, :2], f"=B{k + 2}+0.1"])
    book.save(tmp_path / "formula.xlsx")
    with pytest.raises(
        InputError, match=r"'hybrid' holds formulas that were never computed; .*exclude='hybrid'"
    ):
        read_scores(tmp_path / "formula.xlsx")
    assert read_scores(tmp_path / "formula.xlsx", exclude="hybrid").sizes["system"] == 2
    with pytest.raises(InputError, match="unknown system or item 'colbert'"):
        read_scores(tmp_path / "formula.xlsx", exclude=["hybrid", "colbert"])
    dates = pd.date_range("2026-01-01", periods=12).astype(str)
    with pytest.raises(InputError, match="column 'late' holds dates where scores should be"):
        read_scores(write_wide(tmp_path / "dates.csv", extra={"late": dates}))
    book.active.cell(1, 3).value = "bm25"
    book.save(tmp_path / "twice.xlsx")
    with pytest.raises(InputError, match="two columns are called 'bm25'"):
        read_scores(tmp_path / "twice.xlsx")


def test_sheets_are_chosen_or_named(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    frame = TABLE.assign(topic=ITEMS)[["topic", *SYSTEMS]]
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        for name in ("first", "second"):
            frame.to_excel(book, sheet_name=name, index=False)
    with pytest.raises(
        InputError, match="has 2 sheets with numbers: first, second; choose one with sheet='first'"
    ):
        read_scores(tmp_path / "two.xlsx")
    assert_read(read_scores(tmp_path / "two.xlsx", sheet="second"))
    with pd.ExcelWriter(tmp_path / "readme.xlsx") as book:
        pd.DataFrame({"readme": ["see the next sheet"]}).to_excel(book, sheet_name="about", index=False)
        frame.to_excel(book, sheet_name="data", index=False)
    scores = read_scores(tmp_path / "readme.xlsx")
    assert_read(scores)
    assert "sheet without scores left out: about" in scores.attrs["read_as"]


def test_files_are_paired_by_items_and_by_position_only_when_asked(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.csv" for name in SYSTEMS]
    for k, path in enumerate(files):
        path.write_text("score\n" + "".join(f"{value}\n" for value in VALUES[:, k]))
    with pytest.raises(
        InputError, match=r"has no column of items .* pair rows by their order with pair_by='position'"
    ):
        read_scores(files)
    assert_read(read_scores(files, pair_by="position"))
    for k, path in enumerate(files):
        path.write_text(
            "topic,AP\n" + "".join(f"{'abc'[k]}{row},{value}\n" for row, value in enumerate(VALUES[:, k]))
        )
    with pytest.raises(
        InputError, match=r"shares no item with .*; give files of the same items, named alike"
    ):
        read_scores(files)


def test_measures_of_one_system_are_no_systems(tmp_path: Path) -> None:
    frame = TABLE.set_axis(["AP", "P@10", "nDCG@10"], axis=1).assign(qid=ITEMS)
    path = tmp_path / "bm25.csv"
    frame.to_csv(path, index=False)
    with pytest.raises(
        InputError, match=r"holds 3 measures of one system \(AP, P@10, nDCG@10\); give a file for each"
    ):
        read_scores(path)
    assert read_scores(path, system="bm25", measure="AP").shape == (12, 1)
    names = ["bm25_AP", "bm25_P10", "dense_AP"]
    both = read_scores(TABLE.set_axis(names, axis=1).assign(qid=ITEMS))
    assert isinstance(both, xr.Dataset)
    assert (list(both.data_vars), both["system"].values.tolist()) == (["AP", "P10"], ["bm25", "dense"])


USERS = "".join(f"u{k},{'ab'[k % 2]},{k % 3 % 2}\n" for k in range(20))
CROSSED = "".join(f"{i},{j},{(i * j) % 7}\n" for i in range(4) for j in range(3))
LOG = "".join(f"{k},{k % 3}.5,{k % 4}.25,{k % 5}.75\n" for k in range(8))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"question,variant,bought\n{USERS}", "no question has scores of two variants"),
        ("measure,a,b\nAP,.1,.2\nRR,.3,.4\n", "contains only aggregate means"),
        (f"person,version_no,mark\n{CROSSED}", "could be items and systems"),
        (f"id,latency,cost,tokens\n{LOG}", "or numbers of one system"),
    ],
)
def test_what_holds_no_scores_of_items_and_systems_is_refused(
    tmp_path: Path, text: str, problem: str
) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=problem) as refused:
        read_scores(tmp_path / "t.csv")
    assert "; " in str(refused.value), "and says what to do"


def test_durations_are_seconds_and_uneven_lists_are_refused() -> None:
    frame = pd.DataFrame(
        {
            "question": ["a", "b"] * 2,
            "model": ["x", "x", "y", "y"],
            "score": pd.to_timedelta([1, 2, 3, 4], "s"),
        }
    )
    assert read_scores(frame).sum().item() == 10.0
    with pytest.raises(InputError, match=r"lists of different lengths cannot be paired \(a has 2, b has 1\)"):
        read_scores({"a": [1, 2], "b": [1]})


def test_the_page_offers_competing_readings_as_choices(tmp_path: Path) -> None:
    folder = tmp_path / "inputs"
    folder.mkdir()
    (folder / "t.csv").write_text("flavour,colour,points\nx,red,1\ny,red,2\nx,blue,3\ny,blue,4\n")
    found = describe_files(folder, {})
    assert [one["value"] for one in found["readings"]] == [
        "item=flavour,system=colour",
        "item=colour,system=flavour",
    ]
    assert found["readings"][0]["words"] == "items are in flavour, systems are in colour"
    chosen = describe_files(folder, {"columns": [found["readings"][1]["value"]]})
    assert (chosen["problem"], chosen["systems"]) == ("", ["x", "y"])


@given(
    st.lists(
        st.tuples(
            st.text("ab7é -", max_size=4), st.integers(-5, 50), st.floats(-9, 9).map(lambda v: round(v, 3))
        ),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from([",", ";", "\t"]),
)
@settings(max_examples=150, deadline=None)
def test_long_texts_are_read_as_short_ones_are(rows: list[tuple[str, int, float]], mark: str) -> None:
    text = (
        "\n".join([mark.join(("question", "seed", "score")), *(mark.join(map(str, row)) for row in rows)])
        + "\n"
    )
    content = np.frombuffer(text.encode(), dtype=np.uint8)
    source = delimited.Padded(content, len(content))
    short = delimited.read_delimited(source, Path("t.csv"), "point")
    with mock.patch.object(delimited, "SHORT", 0):
        long = delimited.read_delimited(source, Path("t.csv"), "point")
    for name, column in short.columns.items():
        np.testing.assert_array_equal(column.values, long.columns[name].values)
    labels = [column.labels for column in (short.columns["question"], long.columns["question"])]
    assert [labels[0].names[k] for k in labels[0].codes] == [labels[1].names[k] for k in labels[1].codes]


@given(st.lists(st.lists(st.floats(-100, 100), min_size=3, max_size=3), min_size=2, max_size=20))
@settings(max_examples=50, deadline=None)
def test_statistics_are_those_of_pandas(rows: list[list[float]]) -> None:
    frame = pd.DataFrame(rows)
    found = signs.statistics_of(np.array(rows))
    names = {
        "mean": "mean",
        "max": "max",
        "min": "min",
        "median": "median",
        "standard deviation": "std",
        "variance": "var",
    }
    for ours, theirs in names.items():
        np.testing.assert_allclose(found[ours], frame.agg(theirs), rtol=1e-9, atol=1e-9)


@given(st.permutations(range(12)), st.sampled_from(["mean", "sum", "std"]))
@settings(max_examples=20, deadline=None)
def test_neither_order_nor_a_summary_changes_what_is_read(order: list[int], statistic: str) -> None:
    frame = TABLE.assign(topic=ITEMS)[["topic", *SYSTEMS]].iloc[list(order)]
    summary = pd.DataFrame([{"topic": statistic, **frame[list(SYSTEMS)].agg(statistic).to_dict()}])
    xr.testing.assert_equal(read_scores(pd.concat([frame, summary])), read_scores(TABLE.assign(topic=ITEMS)))


def test_no_table_with_a_known_truth_is_misread(data: Path) -> None:
    """Any reading but the right one is an error; nearly all that any person understands is read."""
    folder = data / "spreadsheets"
    if not (folder / "truth.json").is_file():
        pytest.skip(f"no {folder}")
    cases = json.loads((folder / "truth.json").read_text())
    truth = {name: case for name, case in cases.items() if not is_held_out(name)}
    outcomes = {name: judge_case(folder, case) for name, case in truth.items()}
    wrong = {name: said for name, (outcome, said) in outcomes.items() if outcome not in ("exact", "refused")}
    assert wrong == {}
    shares = {
        kind: np.mean(
            [outcomes[name][0] == "exact" for name, case in truth.items() if case["expect"] == kind]
        )
        for kind in ("read", "read or refuse", "refuse")
    }
    assert shares["read"] >= 0.95
    assert shares["read or refuse"] >= 0.6
    assert shares["refuse"] == 0.0
    silent = [said for outcome, said in outcomes.values() if outcome == "refused" and "; " not in said]
    assert silent == [], "every refusal names the way in"


def test_an_arrow_table_passes_the_same_gate() -> None:
    table = pa.table(
        {"topic": ITEMS, **{name: VALUES[:, k] for k, name in enumerate(SYSTEMS)}, "mean": VALUES.mean(1)}
    )
    assert_read(read_scores(table))


def test_a_system_whose_name_ends_in_a_word_for_systems_is_kept(tmp_path: Path) -> None:
    frame = TABLE.set_axis(["Baseline", "Our method", "prompt"], axis=1)
    frame.insert(0, "topic", ITEMS)
    path = tmp_path / "t.csv"
    path.write_text(frame.to_csv(index=False))
    assert list(read_scores(path)["system"].values) == ["Baseline", "Our method", "prompt"]
    path.write_text(frame.drop(columns="topic").to_csv(index=False))
    assert list(read_scores(path)["system"].values) == ["Baseline", "Our method", "prompt"]


def test_systems_named_after_measures_are_not_crossed_with_them(tmp_path: Path) -> None:
    frame = TABLE.set_axis(["recall-tuned", "f1-loss", "score-fusion"], axis=1)
    frame.insert(0, "topic", ITEMS)
    (path := tmp_path / "t.csv").write_text(frame.to_csv(index=False))
    assert list(read_scores(path)["system"].values) == ["recall-tuned", "f1-loss", "score-fusion"]


def test_summary_columns_and_footnotes_of_a_turned_table_are_left_out(tmp_path: Path) -> None:
    frame = TABLE.T.set_axis(ITEMS, axis=1).assign(Moyenne=VALUES.mean(axis=0).round(6))
    frame.insert(0, "model", SYSTEMS)
    path = tmp_path / "t.csv"
    path.write_text(frame.to_csv(index=False) + "* all runs of May" + "," * 13 + "\n")
    assert_read(read_scores(path))


def test_a_turned_table_with_numbers_for_systems_is_not_read_by_columns(tmp_path: Path) -> None:
    frame = TABLE.T.set_axis(ITEMS, axis=1)
    frame.insert(0, "model", ["0.1", "0.5", "0.9"])
    (path := tmp_path / "t.csv").write_text(frame.to_csv(index=False))
    assert list(read_scores(path)["system"].values) == ["0.1", "0.5", "0.9"]


def test_quotes_around_cells_between_bars_are_no_part_of_them(tmp_path: Path) -> None:
    path = write_long(tmp_path / "t.csv", "topic", "system", "score")
    rows = [line.split(",") for line in path.read_text().splitlines()]
    path.write_text("\n".join("|".join(f'"{cell}"' for cell in row) for row in rows))
    assert_read(read_scores(path))


def test_columns_whose_names_cannot_be_listed_are_offered_by_number(tmp_path: Path) -> None:
    frame = TABLE.set_axis(["a, b", "c+d", "e"], axis=1).assign(Mean=np.arange(12) % 5 * 0.1 + 0.05)
    frame.insert(0, "topic", ITEMS)
    (path := tmp_path / "t.csv").write_text(frame.to_csv(index=False))
    with pytest.raises(InputError, match=r"'#2\+#3\+e'") as refused:
        read_scores(path)
    scores = read_scores(path, columns=refused.value.choices[0])
    assert list(scores["system"].values) == ["a, b", "c+d", "e"]


def test_items_called_best_among_right_and_wrong_answers_do_not_vanish(tmp_path: Path) -> None:
    names = ["apple", "best", "cat", "total", "dog", "egg", "fig", "gnu"]
    rows = [f"{name},{s},{(k + j) % 2}" for k, name in enumerate(names) for j, s in enumerate("ab")]
    (path := tmp_path / "t.csv").write_text("\n".join(["item,system,correct", *rows]))
    with pytest.raises(InputError, match="may be an item, or sum up others"):
        read_scores(path)
    numbered = ["word 1", "word 2", "word 3", "word 4", "word 5", "best", "word 7", "word 8"]
    wide = [f"{name},{(k * 37 % 11) / 11:.3f},{(k * 29 % 13) / 13:.3f}" for k, name in enumerate(numbered)]
    path.write_text("\n".join(["topic,bm25,dense", *wide]))
    with pytest.raises(InputError, match="row 'best' may be an item, or sum up others"):
        read_scores(path)


def test_one_score_that_happens_to_be_the_mean_of_the_others_is_an_item(tmp_path: Path) -> None:
    for name, scores in (("a", (0.1, 0.2, 0.6, 0.3)), ("b", (0.4, 0.2, 0.5, 0.1))):
        lines = [f"map                   \t{301 + k}\t{value:.4f}" for k, value in enumerate(scores)]
        (tmp_path / f"{name}.txt").write_text("\n".join([*lines, "map\tall\t0.3000"]) + "\n")
    scores = read_scores([tmp_path / "a.txt", tmp_path / "b.txt"])
    assert scores.sizes == {"topic": 4, "system": 2}


def test_dates_that_name_items_stay_as_written_in_json_lines(tmp_path: Path) -> None:
    rows = [{"topic": f"2024-03-0{k + 1}", "a": k / 10, "b": k / 7} for k in range(5)]
    (path := tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert read_scores(path)["topic"].values[0] == "2024-03-01"


def test_a_column_that_crosses_items_by_chance_is_a_system_where_seeds_tell_rows_apart(
    tmp_path: Path,
) -> None:
    rows = [f"q{k},{seed},{k % 2},{seed - 1}" for k in range(6) for seed in (1, 2)]
    (path := tmp_path / "t.csv").write_text("\n".join(["question,seed,A,B", *rows]))
    assert list(read_scores(path)["system"].values) == ["A", "B"]
