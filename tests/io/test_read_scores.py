"""Score tables in every shape, there and back, and what is said of bad ones."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise.core.errors import InputError
from shardwise.io.scores import read_scores, write_scores

EXPECTED = xr.DataArray(
    [[0.1, 0.25], [0.5, 1.0]], {"topic": ["301", "302"], "system": ["bm25", "qld"]}, name="AP"
)


def file(folder: Path, text: str, name: str = "scores.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def same(found: xr.DataArray | xr.Dataset, expected: xr.DataArray | xr.Dataset) -> None:
    xr.testing.assert_equal(found, expected)
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "text",
    [
        "topic,bm25,qld\n301,.1,.25\n302,0.5,1\n",
        "topic\tbm25\tqld\r\n301\t1e-1\t2.5E-1\r\n\r\n302\t0.5\t+1.0\r\n",
        "qid;bm25;qld\n301;.1;.25\n302;.5;1",
        ",bm25,qld\n301,.1,.25\n302,.5,1\n",
        "\ufefftopic,bm25,qld\n301,.1,.25\n302,.5,1\n",
        '"topic","bm25","qld"\n"301",".1",".25"\n"302",".5","1"\n',
        "topic bm25 qld\n301 .1 .25\n302 .5 1\n",
        "topic,system,AP\n301,bm25,.1\n301,qld,.25\n302,bm25,.5\n302,qld,1\n",
        "run,query_id,measure,value\nbm25,301,AP,.1\nbm25,302,AP,.5\nqld,301,AP,.25\nqld,302,AP,1\n",
        "Name,QID,Metric,Score\nbm25,301,AP,.1\nbm25,302,AP,.5\nqld,301,AP,.25\nqld,302,AP,1\n",
    ],
)
def test_shapes_of_text(tmp_path: Path, text: str) -> None:
    found = read_scores(file(tmp_path, text), measure="AP")
    same(found, EXPECTED)
    assert found.attrs["undefined"] == 0


def test_wide_without_topics_or_measure(tmp_path: Path) -> None:
    found = read_scores(file(tmp_path, "bm25,qld\n.1,.25\n.5,1\n"))
    same(found, EXPECTED.assign_coords(topic=["1", "2"]).rename("score"))


def test_real_wide_table(data: Path) -> None:
    found = read_scores(data / "trec8" / "adhoc8_ap.csv", measure="AP")
    assert isinstance(found, xr.DataArray)
    assert found.dims == ("topic", "system")
    assert list(found["topic"].values) == [str(i) for i in range(1, 51)]
    frame = pd.read_csv(data / "trec8" / "adhoc8_ap.csv")
    np.testing.assert_array_equal(found.values, frame.to_numpy())
    assert list(found["system"].values) == list(frame.columns)


def test_several_measures_shards_and_splits(tmp_path: Path) -> None:
    rows = [
        f"{split},{topic},{system},{shard},{split + topic / 10},{shard == 'b'}\n".replace(
            "True", "1"
        ).replace("False", "")
        for split in (0, 1)
        for topic in (1, 2)
        for system in ("x", "y", "z")
        for shard in ("a", "b")
    ]
    found = read_scores(file(tmp_path, "split,topic,system,shard,AP,P@10\n" + "".join(rows)))
    assert isinstance(found, xr.Dataset)
    assert found["AP"].dims == ("split", "topic", "system", "shard")
    assert found["split"].dtype.kind == "i"
    assert found["AP"].sel(split=1, topic="2", system="z", shard="a") == 1.2
    assert (found["P@10"].attrs["undefined"], found["P@10"].attrs["missing"]) == (12, 0)
    assert found["P@10"].sel(shard="a").isnull().all()


def test_trec_eval_and_ir_measures_output(tmp_path: Path) -> None:
    for name, (one, two) in {"bm25": (0.1, 0.5), "qld": (0.25, 1.0)}.items():
        printed = [
            *[("runid", "all", name), ("map", "301", one), ("P_10", "301", 0.3), ("map", "302", two)],
            *[("P_10", "302", 0.4), ("map", "all", 0.3), ("P_10", "all", 0.35)],
        ]
        file(
            tmp_path,
            "".join(f"{measure:<22}\t{topic}\t{value}\n" for measure, topic, value in printed),
            f"{name}.eval",
        )
        file(tmp_path, f"301\tAP\t{one}\n302\tAP\t{two}\nall\tAP\t0.3\n", f"{name}.irm")
        file(tmp_path, f"map all {(one + two) / 2}\n", f"{name}.means")
    same(read_scores(tmp_path / "*.irm"), EXPECTED)
    both = read_scores([tmp_path / "bm25.eval", tmp_path / "qld.eval"])
    assert isinstance(both, xr.Dataset)
    same(both["map"].rename("AP"), EXPECTED)
    same(read_scores(tmp_path / "*.eval", measure="map").rename("AP"), EXPECTED)
    with pytest.raises(InputError, match="means over topics only; run trec_eval with -q"):
        read_scores(tmp_path / "bm25.means")
    with pytest.raises(InputError, match="has no measure 'ndcg'; it has map, P_10"):
        read_scores(tmp_path / "*.eval", measure="ndcg")


def test_evaluation_without_summary_rows(tmp_path: Path) -> None:
    same(read_scores(file(tmp_path, "AP 301 .1\nAP 302 .5\n", "bm25.txt")), EXPECTED.isel(system=slice(1)))
    same(read_scores(file(tmp_path, "301 AP .1\n302 AP .5\n", "bm25.txt")), EXPECTED.isel(system=slice(1)))


def test_frames(tmp_path: Path) -> None:
    wide = pd.DataFrame({"bm25": [0.1, 0.5], "qld": [0.25, 1.0]}, index=pd.Index([301, 302], name="topic"))
    same(read_scores(wide, measure="AP"), EXPECTED)
    long = wide.reset_index().melt("topic", var_name="system", value_name="AP")
    same(read_scores(long), EXPECTED)
    path = tmp_path / "x.parquet"
    long.to_parquet(path)
    same(read_scores(path), EXPECTED)
    with pytest.raises(InputError, match="table:row 2: AP: 'good' is not a number"):
        read_scores(pd.DataFrame({"topic": [1, 2], "system": ["a", "a"], "AP": ["0.5", "good"]}))


def test_missing_rows(tmp_path: Path) -> None:
    path = file(tmp_path, "topic,system,AP\n301,bm25,.1\n301,qld,.25\n302,qld,1\n")
    with pytest.raises(InputError, match="1 score is missing, the first for AP, topic 302, system bm25; add"):
        read_scores(path, missing="refuse")
    left = read_scores(path)
    assert np.isnan(left.sel(topic="302", system="bm25").item())
    assert [left.attrs[name] for name in ("undefined", "missing", "missing_rows")] == [0, 1, 1]
    assert left.attrs["read_as"] == "read as 2 topics × 2 systems (bm25, qld), score = AP; 1 of 4 missing"
    assert read_scores(path, missing="zero").sel(topic="302", system="bm25") == 0.0


@pytest.mark.parametrize(
    ("header", "nouns"),
    [
        ("topic,system,instance,score", {}),
        ("question_id,model_name,seed,correct", {"topic": "question", "system": "model", "instance": "seed"}),
        ("prompt,engine,epoch,accuracy", {"topic": "prompt", "system": "engine", "instance": "epoch"}),
        ("Example,Model,Trial,Value", {"topic": "example", "system": "model", "instance": "trial"}),
        ("id,name,repeat,score", {"instance": "repeat"}),
        ("sample,run,replicate,AP", {"topic": "sample", "system": "run", "instance": "replicate"}),
    ],
)
def test_the_users_own_words_are_understood_and_kept(
    tmp_path: Path, header: str, nouns: dict[str, str]
) -> None:
    rows = "".join(f"{t},{s},{i},{t / 10 + i}\n" for t in (1, 2) for s in "xy" for i in (1, 2))
    found = read_scores(file(tmp_path, f"{header}\n{rows}"))
    assert isinstance(found, xr.DataArray)
    assert dict(found.sizes) == {"topic": 2, "system": 2, "instance": 2}
    assert found.sel(topic="2", system="y", instance=1) == 1.2
    kept = {dim: found.attrs.get(f"{dim}_noun") for dim in found.dims}
    assert {dim: word for dim, word in kept.items() if word is not None} == nouns


@pytest.mark.parametrize("name", ["id", "question", "Item", "sample_id", "doc_id", "nr", "index"])
def test_the_first_column_of_a_wide_table_is_no_system_where_it_names_the_rows(
    tmp_path: Path, name: str
) -> None:
    found = read_scores(file(tmp_path, f"{name},bm25,qld\n301,.1,.25\n302,.5,1\n"), measure="AP")
    same(found, EXPECTED)


def test_a_number_beside_the_topic_is_no_measure(tmp_path: Path) -> None:
    found = read_scores(file(tmp_path, "id,question,model,AP\n7,301,bm25,.1\n8,302,bm25,.5\n"))
    same(found, EXPECTED.isel(system=slice(1)))
    columns = "question,model,correct,accuracy\n301,bm25,1,.1\n302,bm25,0,.5\n"
    assert list(read_scores(file(tmp_path, columns)).data_vars) == ["correct", "accuracy"]  # type: ignore[union-attr]


def test_an_instance_that_was_not_run_is_missing_and_not_refused(tmp_path: Path) -> None:
    rows = [
        f"{q},{m},{s},{q / 10}" for q in (1, 2) for m, seeds in (("a", 2), ("b", 1)) for s in range(seeds)
    ]
    found = read_scores(file(tmp_path, "question,model,seed,score\n" + "\n".join(rows)))
    assert found.sel(system="b", instance=1).isnull().all()
    assert (found.attrs["missing"], found.attrs["undefined"]) == (2, 0)
    zero = read_scores(file(tmp_path, "question,model,seed,score\n" + "\n".join(rows)), missing="zero")
    assert zero.sel(system="b", instance=1).isnull().all(), "nobody invents a seed"
    with pytest.raises(
        InputError, match="1 score is missing, the first for score, question 2, model b, seed 0"
    ):
        read_scores(file(tmp_path, "question,model,seed,score\n" + "\n".join(rows[:-1])), missing="refuse")


def test_tasks_and_clusters_are_labels_of_items(tmp_path: Path) -> None:
    found = read_scores(file(tmp_path, "task,topic,system,AP\nqa,1,x,.1\nmt,1,x,.2\n"))
    assert found.dims == ("topic", "system")
    assert found["topic"].values.tolist() == ["mt/1", "qa/1"], "items of two tasks are two items"
    assert found["task"].values.tolist() == ["mt", "qa"]
    rows = "".join(f"{q},{m},{q // 2},{q % 2}\n" for q in range(4) for m in "ab")
    found = read_scores(file(tmp_path, f"question,model,passage,correct\n{rows}"))
    assert found["cluster"].dims == ("topic",)
    assert found["cluster"].values.tolist() == ["0", "0", "1", "1"]
    assert found.attrs["read_as"] == "read as 4 questions × 2 models (a, b) in 2 passages, score = correct"
    write_scores(found, tmp_path / "again.csv")
    xr.testing.assert_equal(read_scores(tmp_path / "again.csv"), found)
    with pytest.raises(InputError, match=r"scores.csv:7: item 2 is in cluster '5', and in '1' before; give"):
        read_scores(file(tmp_path, f"question,model,passage,correct\n{rows}".replace("2,b,1", "2,b,5")))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "topic,a\n1,.5\n2,good\n",
            r"scores.csv:3: a: 'good' is not a number; correct it, or treat such cells as missing with missing='leave'",
        ),
        (
            "topic,a\n1,inf\n",
            r"scores.csv:2: has no columns of scores: 'inf' is neither a number nor a known verdict",
        ),
        (
            "topic,a\n1,1_0\n",
            r"scores.csv:2: has no columns of scores: '1_0' is neither a number nor a known verdict",
        ),
        ("topic,a,b\n1,.5,.5\n\n2,.5\n", r"scores.csv:4: 2 columns instead of 3; give every row"),
        ("topic,a,a\n1,.5,.5\n", r"scores.csv:1: two columns are called 'a'"),
        (
            "topic,system,AP\n1,a,.5\n2,a,.5\n1,a,.6\n",
            r"scores.csv:4: a second score of AP for topic 1, system a; the first is at .*scores.csv:2; keep one",
        ),
        ("topic,a\n1,.5\n1,.6\n", r"scores.csv:3: a second score of score for topic 1, system a"),
        ("topic,system\n1,a\n", r"has no column of scores"),
        ("topic\n1\n", r"has no columns of scores"),
        (
            "topic,qid,a\n1,1,.3\n2,1,.4\n3,2,.1\n",
            r"columns 'topic' and 'qid' both name the item; say columns={.item.: .topic.} or columns={.item.: .qid.",
        ),
        ("topic,system,measure\n1,a,AP\n", r"has a column of measures but none of values"),
        ("topic,system,AP\n,a,.5\n", r"scores.csv:2: column 'topic' is empty"),
        ("topic,a\n", r"scores.csv:1: the table has no rows"),
        ("0.5,0.25\n0.1,0.2\n", r"scores.csv: has no header: the first row is data; add a line"),
        ("", r"scores.csv: the file is empty"),
        ("\n \n", r"scores.csv: the file is empty"),
        ('topic,a\n1,"' + "x" * 140_000, r"scores.csv: not a table of scores .*; check the quotes"),
        ("map 1 .5\nmap 2\n", r"scores.csv:2: 2 columns instead of 3; expected measure, topic, value"),
    ],
)
def test_bad_tables_are_refused_with_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read_scores(file(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_scores(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="is a folder, not a file"):
        read_scores(tmp_path)
    for name in ("x.nc", "x.parquet"):
        with pytest.raises(InputError, match=r"not a (NetCDF|Parquet) file"):
            read_scores(file(tmp_path, "neither", name))
    (tmp_path / "damaged.csv").write_bytes(b"topic,a\n\xc3\xa9,.5\n2,\xe9\n")
    with pytest.raises(InputError, match=r"damaged\.csv:3: not UTF-8 text; save it as UTF-8"):
        read_scores(tmp_path / "damaged.csv")
    whole = gzip.compress(b"topic,a\n1,.5\n")
    (tmp_path / "cut.csv.gz").write_bytes(whole[:-9])
    with pytest.raises(InputError, match=r"cut.csv.gz: cannot be read"):
        read_scores(tmp_path / "cut.csv.gz")
    xr.Dataset({"AP": (("topic", "planet"), [[0.5]])}).to_netcdf(tmp_path / "y.nc", engine="h5netcdf")
    with pytest.raises(InputError, match="has dimension 'planet'; scores have task, split, topic, system"):
        read_scores(tmp_path / "y.nc")


cells = st.floats(0, 1) | st.floats(-1e300, 1e300) | st.just(float("nan"))


@st.composite
def tensors(draw: st.DrawFn) -> xr.Dataset:
    dims = draw(st.sampled_from([("topic", "system"), ("split", "topic", "system", "shard")]))
    sizes = [draw(st.integers(1, 3)) for _ in dims]
    coords = {
        dim: np.arange(size) if dim == "split" else [f"{dim}{i}" for i in range(size)]
        for dim, size in zip(dims, sizes, strict=True)
    }
    count = int(np.prod(sizes))
    measures = draw(st.sampled_from([["AP"], ["AP", "nDCG(dcg='exp-log2')@20", "RBP(p=0.8)"]]))
    some = st.lists(cells, min_size=count, max_size=count)
    values = [draw(st.one_of(some, st.just([np.nan] * count))) for _ in measures]
    return xr.Dataset(
        {m: (dims, np.reshape(v, sizes)) for m, v in zip(measures, values, strict=True)}, coords=coords
    )


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz", ".tsv.zst", ".parquet", ".nc"])
@given(scores=tensors())
@settings(max_examples=15, deadline=None)
def test_written_scores_read_back(
    tmp_path_factory: pytest.TempPathFactory, ending: str, scores: xr.Dataset
) -> None:
    folder = tmp_path_factory.mktemp("scores")
    path = folder / f"scores{ending}"
    write_scores(scores, path)
    assert [p.name for p in folder.iterdir()] == [path.name]
    found = read_scores(path)
    same(found, scores if len(scores.data_vars) > 1 else scores["AP"])


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_wide_tables_read_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"wide{ending}"
    write_scores(EXPECTED, path, layout="wide")
    same(read_scores(path, measure="AP"), EXPECTED)
    sharded = EXPECTED.expand_dims(shard=["s1", "s2"]).transpose("topic", "system", "shard")
    write_scores(sharded, path, layout="wide")
    same(read_scores(path, measure="AP"), sharded)
    names = {"topic": [f"t{k}" for k in range(6)], "system": ["a", "b", "c"]}
    rows = [[np.nan, k % 3 / 2, k % 2] for k in range(6)]
    nothing = xr.DataArray(rows, names, name="AP")  # a system without any score stays one
    write_scores(nothing, path, layout="wide")
    same(read_scores(path, measure="AP"), nothing)


def test_a_column_in_which_nothing_stands_is_no_system(tmp_path: Path) -> None:
    text = "topic,a,b,notes\n" + "".join(f"t{k},{k % 2},{k % 3 / 2},\n" for k in range(6))
    (tmp_path / "t.csv").write_text(text)
    assert read_scores(tmp_path / "t.csv")["system"].values.tolist() == ["a", "b"]


def test_netcdf_keeps_the_attributes(tmp_path: Path) -> None:
    scores = EXPECTED.assign_attrs(long_name="average precision", undefined=0)
    write_scores(scores, tmp_path / "s.nc")
    found = read_scores(tmp_path / "s.nc")
    assert isinstance(found, xr.DataArray)
    xr.testing.assert_identical(found, scores)


def test_writing_refuses(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown extension '.xls'; use .csv"):
        write_scores(EXPECTED, tmp_path / "a.xls")
    with pytest.raises(InputError, match="no such folder; make it first"):
        write_scores(EXPECTED, tmp_path / "no" / "a.csv")
    with pytest.raises(InputError, match="a wide table holds one measure"):
        write_scores(xr.Dataset({"AP": EXPECTED, "P": EXPECTED}), tmp_path / "a.csv", layout="wide")
    assert list(tmp_path.iterdir()) == []
