"""Logs of evaluation programs, against the means that these programs computed themselves."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zstandard

import shardwise as sw
from shardwise.core.errors import InputError
from shardwise.core.scores import as_scores
from shardwise.io.files import LEAST_TEXT
from shardwise.io.scores import read_scores


@pytest.fixture
def llm(data: Path) -> Path:
    folder = data / "llm"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    return folder


def test_means_of_lm_eval_are_those_of_its_results(llm: Path) -> None:
    found = read_scores(sorted((llm / "lm-eval").glob("*samples*.jsonl")))
    assert isinstance(found, xr.Dataset)
    assert found["system"].values.tolist() == ["m1", "m2", "m3"]
    for metric in ("acc", "acc_norm"):
        for model in ("m1", "m2", "m3"):
            results = json.loads((llm / "lm-eval" / f"{model}-results.json").read_text())
            theirs = results["results"]["toyqa"][f"{metric},none"]
            assert float(found[metric].sel(system=model).mean()) == pytest.approx(theirs, abs=1e-12)
    assert found["acc"].mean("topic").values == pytest.approx([0.225, 0.295, 0.22])
    assert len(set(found["cluster"].values)) == 40
    assert as_scores(found["acc"]).nouns["system"] == "model"
    assert sw.as_scores([str(p) for p in sorted((llm / "lm-eval").glob("*samples*"))]).measure.name == "acc"
    with pytest.raises(InputError, match=r"m1-results.json: contains only aggregate means.*samples_\*.jsonl"):
        read_scores(llm / "lm-eval" / "m1-results.json")


def test_means_of_inspect_are_those_of_its_results(llm: Path) -> None:
    found = read_scores([llm / "inspect" / name for name in ("a.eval", "b.eval", "c.json")])
    assert isinstance(found, xr.DataArray)
    assert dict(found.sizes) == {"topic": 60, "system": 3, "instance": 3}
    assert found.mean(["topic", "instance"]).values.round(3).tolist() == [0.828, 0.6, 0.756]
    theirs = json.loads((llm / "inspect" / "c.json").read_text())["results"]["scores"][0]["metrics"]
    assert float(found.sel(system="mockllm/c").mean()) == pytest.approx(theirs["accuracy"]["value"])
    table = read_scores(llm / "tables" / "inspect_scores.csv")
    np.testing.assert_array_equal(found.values, table.values)
    assert read_scores(llm / "inspect").equals(found), "a folder is the logs in it"
    assert found.attrs["read_as"].startswith(
        "read as inspect log, 60 questions × 3 models (mockllm/a, mockllm/b, mockllm/c) × 3 epochs in 12 passages"
    )


def row(doc: int, score: float, *, kept: str = "none", **more: Any) -> dict[str, Any]:
    return {
        "doc_id": doc,
        "doc": {"q": "?"},
        "filter": kept,
        "metrics": ["em"],
        "resps": [[""]],
        "em": score,
    } | more


def samples(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def test_models_are_called_by_results_folder_or_option(tmp_path: Path) -> None:
    date = "_2026-01-02T03-04-05.678"
    for folder, name in (("org__one", "org/one"), ("two", "")):
        samples(tmp_path / folder / f"samples_gsm8k{date}.jsonl", [row(0, 1.0), row(1, 0.0)])
        if name:
            results = {"results": {}, "configs": {}, "model_name": name}
            (tmp_path / folder / f"results{date}.json").write_text(json.dumps(results))
    files = sorted(tmp_path.glob("*/samples_*.jsonl"))
    assert read_scores(files)["system"].values.tolist() == ["org/one", "two"]
    assert read_scores(tmp_path)["system"].values.tolist() == ["org/one", "two"]
    assert read_scores(files, system=["x", "y"])["system"].values.tolist() == ["x", "y"]
    with pytest.raises(InputError, match="1 names of systems for 2 logs"):
        read_scores(files, system="x")


def test_filters_repeats_and_tasks(tmp_path: Path) -> None:
    both = [row(k, float(k == 0), kept=kept) for k in range(2) for kept in ("strict", "flexible")]
    found = read_scores(samples(tmp_path / "m" / "samples_a.jsonl", both))
    assert list(found.data_vars) == ["em,strict", "em,flexible"]  # type: ignore[union-attr]
    assert read_scores(tmp_path / "m" / "samples_a.jsonl", measure="em").name == "em,strict"
    repeated = [row(k, float(r)) for k in range(2) for r in range(3)]
    found = read_scores(samples(tmp_path / "n" / "samples_a.jsonl", repeated))
    assert (found.sizes["instance"], as_scores(found).nouns["instance"]) == (3, "repeat")  # type: ignore[arg-type]
    assert found.mean("topic").values.tolist() == [[0.0, 1.0, 2.0]]  # type: ignore[union-attr]
    for model in ("x", "y"):
        for task in ("a", "b"):
            samples(tmp_path / "t" / model / f"samples_{task}.jsonl", [row(k, 1.0) for k in range(3)])
    tasks = read_scores(tmp_path / "t")
    assert dict(tasks.sizes) == {"topic": 6, "system": 2}
    assert tasks["task"].values.tolist() == ["a"] * 3 + ["b"] * 3
    assert tasks["topic"].values.tolist()[3] == "b/0"


def test_metrics_without_a_number_a_line_are_left_out(tmp_path: Path) -> None:
    rows = [row(k, 1.0, metrics=["perplexity", "em"], perplexity=[-3.5, 7]) for k in range(3)]
    assert read_scores(samples(tmp_path / "samples_a.jsonl", rows)).name == "em"
    with pytest.raises(InputError, match=r"samples_b.jsonl: has no metric of single answers"):
        read_scores(samples(tmp_path / "samples_b.jsonl", [row(0, 0, metrics=["em"]) | {"em": [1, 2]}]))
    with pytest.raises(InputError, match=r"samples_c.jsonl:2: em: 'x' is not a number"):
        read_scores(samples(tmp_path / "samples_c.jsonl", [row(0, 0), row(1, 0) | {"em": "x"}]))


@pytest.mark.parametrize("metrics", [7, True, 0.5, "em", {"em": 1}, [7], [["em"]], [None]])
def test_metrics_that_are_no_list_of_names_are_refused(tmp_path: Path, metrics: Any) -> None:
    rows = [row(0, 1.0), row(1, 0.0, metrics=metrics)]
    with pytest.raises(InputError, match=r"samples_a.jsonl:2: metrics is not a list of names; mend the line"):
        read_scores(samples(tmp_path / "samples_a.jsonl", rows))


def sample(item: str, value: Any, epoch: int = 1, **metadata: Any) -> dict[str, Any]:
    return {"id": item, "epoch": epoch, "scores": {"judge": {"value": value}}, "metadata": metadata}


def log(model: str, samples: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "version": 2,
        "status": "success",
        "eval": {"model": model, "task": "t"},
        "samples": samples,
    } | more


def test_verdicts_epochs_and_gaps_of_a_log(tmp_path: Path) -> None:
    one = log("one", [sample(q, v) for q, v in (("1", "C"), ("2", "I"), ("3", "P"), ("4", "N"))])
    two = log(
        "two", [sample("1", 0.25), sample("2", True), sample("3", None), sample("4", "yes")], status="error"
    )
    for name, content in (("one", one), ("two", two)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    found = read_scores([tmp_path / "one.json", tmp_path / "two.json"])
    assert isinstance(found, xr.DataArray)
    assert found.sel(system="one").values.tolist() == [1.0, 0.0, 0.5, 0.0]
    np.testing.assert_array_equal(found.sel(system="two"), [0.25, 1.0, np.nan, 1.0])
    assert found.attrs["read_as"].endswith("1 of 8 missing; two.json ended with error")
    (tmp_path / "bad.json").write_text(json.dumps(log("x", [sample("1", "splendid")])))
    with pytest.raises(InputError, match=r"bad.json: sample 1, epoch 1: judge: 'splendid' is not a number"):
        read_scores(tmp_path / "bad.json")
    (tmp_path / "none.json").write_text(json.dumps(log("x", [])))
    with pytest.raises(InputError, match="has no scores of samples"):
        read_scores(tmp_path / "none.json")


def test_two_logs_of_a_model_keep_apart_and_a_field_can_be_the_cluster(tmp_path: Path) -> None:
    rows = [sample(str(k), "C", subject=f"s{k % 2}") for k in range(4)]
    for name in ("first", "second"):
        (tmp_path / f"{name}.json").write_text(json.dumps(log("m", rows)))
    files = [tmp_path / "first.json", tmp_path / "second.json"]
    found = read_scores(files, columns={"cluster": "subject"})
    assert found["system"].values.tolist() == ["m (first)", "m (second)"]
    assert found["cluster"].values.tolist() == ["s0", "s1", "s0", "s1"]
    with pytest.raises(InputError, match="has an item without a field 'chapter'; fields are subject"):
        read_scores(files, columns={"cluster": "chapter"})
    with pytest.raises(InputError, match="a log says itself what the item is"):
        read_scores(files, columns={"item": "id"})


def packed(members: dict[str, bytes], *, claimed: int | None = None) -> bytes:
    """A zip archive whose members are compressed by zstandard, method 93, as inspect writes it."""
    out, directory = io.BytesIO(), io.BytesIO()
    for name, content in members.items():
        small, raw = zstandard.compress(content), name.encode()
        size = len(content) if claimed is None else claimed
        common = struct.pack(
            "<HHHHHIIIHH", 63, 0, 93, 0, 33, zlib.crc32(content), len(small), size, len(raw), 0
        )
        directory.write(b"PK\x01\x02" + struct.pack("<H", 63) + common)
        directory.write(struct.pack("<HHHII", 0, 0, 0, 0, out.tell()) + raw)
        out.write(b"PK\x03\x04" + common + raw + small)
    start = out.tell()
    out.write(directory.getvalue())
    count, size = len(members), len(directory.getvalue())
    out.write(b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count, count, size, start, 0))
    return out.getvalue()


def test_compressed_logs_are_read_from_summaries_or_samples_and_bombs_are_not_inflated(
    tmp_path: Path,
) -> None:
    whole = log("m", [sample(str(k), "C", epoch=e) for k in range(3) for e in (1, 2)])
    rows = whole.pop("samples")
    header = json.dumps(whole).encode()
    path = tmp_path / "x.eval"
    path.write_bytes(packed({"header.json": header, "summaries.json": json.dumps(rows).encode()}))
    wanted = read_scores(path)
    assert dict(wanted.sizes) == {"topic": 3, "system": 1, "instance": 2}
    unfinished = {f"samples/{k}.json": json.dumps(one).encode() for k, one in enumerate(rows)}
    path.write_bytes(packed({"_journal/start.json": header, **unfinished}))
    assert read_scores(path).equals(wanted)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:  # as older versions wrote it
        archive.writestr("header.json", header)
        archive.writestr("summaries.json", json.dumps(rows))
    assert read_scores(path).equals(wanted)
    path.write_bytes(packed({"header.json": header}, claimed=LEAST_TEXT + 1))
    with pytest.raises(InputError, match=r"x.eval \(header.json\): would inflate to 33,554,433 bytes"):
        read_scores(path)
    path.write_bytes(packed({"header.json": b" " * 1_000_000 + header}, claimed=100))
    with pytest.raises(InputError, match=r"x.eval \(header.json\): cannot be inflated"):
        read_scores(path)
    path.write_bytes(packed({"other.json": header}))
    with pytest.raises(InputError, match="is not a log of inspect: it has no header"):
        read_scores(path)
