"""Cells, encodings and rows as strangers write them: what is read, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import xarray as xr
from bench.reading import agree_means, is_held_out, list_remedies

import shardwise as sw
from shardwise.core.errors import InputError
from shardwise.io.scores import read_scores
from shardwise.io.tables import numerals
from shardwise.io.tables.arrow import sheet_of_table
from shardwise.io.tables.numerals import parse_texts

TABLE = "topic,bm25,Größe\nq1,0.5,0.25\nq2,0.75,0.5\nq3,0.25,1\n"


def write(folder: Path, content: str | bytes, name: str = "scores.csv") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read_as(scores: xr.DataArray | xr.Dataset) -> str:
    array = scores if isinstance(scores, xr.DataArray) else next(iter(scores.data_vars.values()))
    return str(array.attrs["read_as"])


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["68.4(7.1)", "62.7(6.1)"], [68.4, 62.7]),
        (["68.4 ± 7.1", "70 +/- 2", "71"], [68.4, 70.0, 71.0]),
        (["0.84 (1)", "0.8 (2)"], [0.84, 0.8]),
        (["0.84 [0.80, 0.88]", "0.7 (0.6–0.8)"], [0.84, 0.7]),
        (["0,84 (0,01)", "0,9"], [0.84, 0.9]),
        (["71% (2%)", "80%"], [71.0, 80.0]),
        (["nan (0.5)", "17 (1.5)"], [np.nan, 17.0]),
    ],
)
def test_of_cells_with_a_second_number_the_first_is_read_and_said(
    cells: list[str], values: list[float]
) -> None:
    parsed = parse_texts(cells)
    np.testing.assert_array_equal(parsed.values, values)
    assert numerals.SPREAD_NOTE in parsed.notes


@pytest.mark.parametrize("cells", [["gpt (1)", "gpt (2)"], ["(7.1)", "(3)"], ["1 (a)", "2"], ["q1 (2)"]])
def test_brackets_after_words_stay_words(cells: list[str]) -> None:
    parsed = parse_texts(cells)
    assert np.isinf(parsed.values[0])
    assert not parsed.notes


def test_a_count_in_brackets_after_few_of_many_numbers_is_not_decided(tmp_path: Path) -> None:
    text = "task,a,b\nt1,0.5,0.4\nt2,0.7 (6),0.3\nt3,0.2,0.1\n"
    with pytest.raises(InputError, match=r"'0.7 \(6\)' is not a number.*missing='leave'"):
        read_scores(write(tmp_path, text))


def test_a_table_of_means_and_deviations_says_what_it_took(tmp_path: Path) -> None:
    text = "dataset,MLP,FCN\nbeef,68.4(7.1),62.7(6.1)\ncar,39.7(1.9),84.4(0.7)\ncoffee,82.9(0.6),48.4(2.5)\n"
    scores = read_scores(write(tmp_path, text))
    assert scores.sel(topic="car").values.tolist() == [39.7, 84.4]
    assert read_as(scores).count("first number of cells") == 1


def test_cells_of_every_kind() -> None:
    cells = ["1", "-2.5", "+3", ".5", "5.", "1e-3", "1e999", "x", "", "NA", "yes", "12", "007"]
    expected = [1, -2.5, 3, 0.5, 5, 0.001, np.inf, np.inf, np.nan, np.nan, np.inf, 12, 7]
    np.testing.assert_array_equal(parse_texts(cells).values, expected)


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-16-le", "utf-16-be"])
def test_other_encodings_are_read_and_said(encoding: str, tmp_path: Path) -> None:
    scores = read_scores(write(tmp_path, TABLE.encode(encoding)))
    assert scores["system"].values.tolist() == ["bm25", "Größe"]
    name = "UTF-16" if "16" in encoding else "cp1252 (Latin-1)"
    assert f"text in {name}" in read_as(scores)


def test_long_texts_in_other_encodings_are_read(tmp_path: Path) -> None:
    rows = "".join(f"q{k // 2},{'größer' if k % 2 else 'kleiner'},{k % 7}\n" for k in range(80_000))
    scores = read_scores(write(tmp_path, f"topic,system,score\n{rows}".encode("cp1252")))
    assert scores.sizes == {"topic": 40_000, "system": 2}
    assert scores["system"].values.tolist() == ["größer", "kleiner"]


@pytest.mark.parametrize(
    "content",
    [TABLE.encode() + b"q4,\xe9,1\n", b"topic,a\n1,.5\n2,\xe9\x00\x01\n", b"topic,a\n\x81,1\n2,1\n"],
)
def test_damaged_text_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not UTF-8 text; save it as UTF-8"):
        read_scores(write(tmp_path, content))


def test_utf_8_with_letters_is_nothing_special(tmp_path: Path) -> None:
    assert "text in" not in read_as(read_scores(write(tmp_path, TABLE)))


@pytest.mark.parametrize(
    "start", ["<!DOCTYPE html>\n<html>", "\n  <html lang='en'>", "<?xml version='1.0'?>\n<table>"]
)
def test_a_web_page_is_refused_as_such(start: str, tmp_path: Path) -> None:
    page = f"{start}<body><table><tr><td>topic,a,b</td></tr>\n1,2,3\n</table></body></html>\n"
    with pytest.raises(InputError, match=r"is a web page .*download the file itself"):
        read_scores(write(tmp_path, page))


def test_a_header_by_spaces_above_rows_by_tabs(tmp_path: Path) -> None:
    rows = "".join(f"sys{k % 3}\t-{k % 5}.5 {k // 3}\n" for k in range(30))
    scores = read_scores(write(tmp_path, f"system mqm_avg_score seg_id\n{rows}", "scores.tsv"))
    assert scores.sizes == {"topic": 10, "system": 3}
    assert float(scores.sel(topic="1", system="sys0")) == -3.5
    plain = "system score seg_id\n" + rows.replace(" ", "\t")
    assert read_scores(write(tmp_path, plain, "plain.tsv")).sizes == {"topic": 10, "system": 3}


def test_a_title_of_words_above_tabs_is_no_header(tmp_path: Path) -> None:
    text = "My great results\ntopic\ta\tb\n" + "".join(f"q{k}\t0.{k}\t0.{9 - k}\n" for k in range(1, 9))
    scores = read_scores(write(tmp_path, text, "scores.tsv"))
    assert scores["system"].values.tolist() == ["a", "b"]


def test_a_column_without_any_value_beside_repeated_scores(tmp_path: Path) -> None:
    # more than Arrow reads in one piece, each piece with a type of its own
    lines = [
        json.dumps(
            {
                "item": f"q{k // 2}",
                "model": "ab"[k % 2],
                "score": k % 3 / 2,
                "comment": None,
                "text": "x" * 40,
            }
        )
        for k in range(24_000)
    ]
    path = write(tmp_path, "\n".join(lines), "scores.jsonl")
    assert path.stat().st_size > 2_000_000
    scores = read_scores(path)
    assert scores.sizes == {"topic": 12_000, "system": 2}
    table = pa.table({"comment": pa.chunked_array([pa.nulls(2), pa.nulls(3)]), "x": range(5)})
    nothing = sheet_of_table(table).columns["comment"]
    assert nothing.labels.names == [""]
    assert nothing.blank


@pytest.mark.parametrize("number", ["007", "-5", "5e3", "x"])
def test_labels_that_are_not_whole_further_down_stay_what_they_are(number: str, tmp_path: Path) -> None:
    rows = "".join(f"{k},{system},{k % 10}e-05\n" for k in range(1, 60_000) for system in "ab")
    text = f"item,system,score\n{rows}{number},a,1\n{number},b,0\n"
    scores = read_scores(write(tmp_path, text))
    assert float(scores.sel(topic=number, system="a")) == 1.0
    assert "7" in scores["topic"].values


def test_small_scores_do_not_make_texts_of_labels(tmp_path: Path) -> None:
    from shardwise.io.files import read_padded
    from shardwise.io.tables.delimited import read_delimited

    rows = "".join(f"{k},{system},{k % 10 + 1}e-05\n" for k in range(60_000) for system in "ab")
    path = write(tmp_path, f"item,system,score\n{rows}")
    cells = read_delimited(read_padded(path), path).columns["item"].cells
    assert np.asarray(cells).dtype.kind == "i"


def test_folders_name_the_systems_of_files_called_alike(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, f"dataset,MASE\nd1,{k}\nd2,{k + 1}\nd3,{k + 3}\n", f"{model}/v1/all_results.csv")
        for k, model in enumerate(("naive", "chronos"))
    ]
    scores = read_scores(paths)
    means = scores.mean("topic").to_series().to_dict()
    assert means == pytest.approx({"naive": 4 / 3, "chronos": 7 / 3})


def test_results_with_a_column_of_systems_are_no_samples_of_one(tmp_path: Path) -> None:
    lines = [
        json.dumps({"task_id": f"HumanEval/{k}", "system": system, "passed": k % 3 > j, "result": "ok"})
        for k in range(9)
        for j, system in enumerate(("big", "small"))
    ]
    scores = read_scores(write(tmp_path, "\n".join(lines), "results.jsonl"))
    assert "HumanEval" not in read_as(scores)
    array = scores if isinstance(scores, xr.DataArray) else scores["passed"]
    assert array["system"].values.tolist() == ["big", "small"]
    assert array.mean("topic").values.tolist() == pytest.approx([2 / 3, 1 / 3])


@pytest.mark.parametrize(
    "record",
    [
        lambda k, model: {"doc_id": k, "doc": {}, "resps": [], "filtered_resps": [], "acc": k % 2, "model": model},
        lambda k, model: {
            "question_id": k, "judge": "j", "turn": 1, "model": "m", "score": k, "config": model
        },
    ],
    ids=["lm_eval", "mt_bench"],
)  # fmt: skip
def test_two_systems_in_one_log_never_become_repeats_of_one(record: Any, tmp_path: Path) -> None:
    lines = [json.dumps(record(k, model)) for k in range(5) for model in ("x", "y")]
    with pytest.raises(
        InputError, match=r"answers of several systems in '(model|config)' \(x, y\); write a file"
    ):
        read_scores(write(tmp_path, "\n".join(lines), "samples_task.jsonl"))


def test_two_scores_of_one_instance_of_helm_are_refused(tmp_path: Path) -> None:
    stat = {"name": {"name": "exact_match", "split": "test"}, "mean": 1.0}
    entries = [{"instance_id": f"id{k // 2}", "train_trial_index": 0, "stats": [stat]} for k in range(6)]
    with pytest.raises(InputError, match="a second exact_match of instance id0"):
        read_scores(write(tmp_path, json.dumps(entries), "per_instance_stats.json"))


def test_details_of_two_tasks_over_the_same_passages(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    paths = []
    for model in ("big", "small"):
        for task in ("gen", "choice"):
            rows = [
                {
                    "doc": {"id": f"{task}{k}", "task_name": task, "specific": {"passage": f"p{k // 4}"}},
                    "metric": {"em": float(rng.random() < 0.6)},
                    "model_response": {"text": "x"},
                }
                for k in range(40)
            ]
            path = tmp_path / "org" / model / "t" / f"details_{task}_t.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
            paths.append(path)
    scores = read_scores(paths)
    assert "in 2 tasks in 10 passages" in read_as(scores)
    assert "new passages like these 10 with 80 questions" in str(sw.compare(scores))


def test_results_of_former_versions_of_mteb(tmp_path: Path) -> None:
    paths = []
    for model, scores in (("a__x", (0.5, 0.7)), ("a__y", (0.4, 0.3))):
        for task, score in zip(("SciFact", "ArguAna"), scores, strict=True):
            former = {"mteb_version": "1.2.0", "mteb_dataset_name": task, "dataset_revision": "1"}
            former |= {"test": {"ndcg_at_10": score, "map_at_1": 0.1, "evaluation_time": 3.0}}
            paths.append(write(tmp_path, json.dumps(former), f"{model}/no_revision/{task}.json"))
    found = read_scores(paths)
    assert found.mean("topic").sel(system="a/x").item() == pytest.approx(0.6)


def test_remedies_of_a_refusal_are_found_in_its_words() -> None:
    text = (
        "a.csv: unclear; say --columns item=a,system=b or --columns 'item=x y' --measure P@10, or rename it"
    )
    assert list(list_remedies(text)) == [
        ["--columns", "item=a,system=b"],
        ["--columns", "item=x y", "--measure", "P@10"],
    ]
    assert list(list_remedies("say which it is: --columns 'item=…'")) == []


def test_means_agree_by_name_and_number() -> None:
    rows = [{"system": "BM-25", "mean": 0.5}, {"system": "dense", "mean": 0.25}]
    assert agree_means(rows, {"bm25": 0.50001, "dense": 0.25, "bm25#n": 3})
    assert not agree_means(rows, {"bm25": 0.25, "dense": 0.5})
    assert not agree_means(rows, {"bm25": 0.5})


def test_a_third_is_kept_aside() -> None:
    share = np.mean([is_held_out(f"case {k}") for k in range(3000)])
    assert abs(share - 1 / 3) < 0.04
    assert is_held_out("case 1") == is_held_out("case 1")
