"""Tables are read by how their columns cross, and by what their numbers have in common, before words decide."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from command_line import shardwise
from shardwise.cli.inputs import parse_columns
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import as_scores
from shardwise.io.files import read_padded
from shardwise.io.scores import read_scores
from shardwise.io.tables.delimited import read_delimited
from shardwise.io.tables.votes import read_votes

RNG = np.random.default_rng(5)
SHARES = RNG.random((12, 3)).round(4)


def read_text(folder: Path, text: str, **options: object) -> xr.DataArray | xr.Dataset:
    (path := folder / "t.csv").write_text(text)
    return read_scores(path, **options)


def read_frame(frame: pd.DataFrame) -> xr.DataArray:
    scores = read_scores(frame)
    assert isinstance(scores, xr.DataArray)
    return scores


@pytest.mark.parametrize("rows", [20, 21, 22, 23, 40])
def test_users_of_an_experiment_are_compared_by_variant(tmp_path: Path, rows: int) -> None:
    lines = [f"u{k},{('control', 'v1')[k % 3 > 1]},{k % 4 // 3},{9.5 * (k % 4 // 3)}" for k in range(rows)]
    scores = read_text(
        tmp_path, "\n".join(["user_id,variant,converted,revenue", *lines]), measure="converted"
    )
    assert scores["system"].values.tolist() == ["control", "v1"]
    assert "unpaired: each user met one variant" in scores.attrs["read_as"]
    with_country = [f"{line},{('de', 'fr', 'it')[k % 3]}" for k, line in enumerate(lines)]
    text = "\n".join(["user_id,variant,converted,revenue,country", *with_country])
    assert read_text(tmp_path, text, measure="converted")["system"].values.tolist() == ["control", "v1"]


def test_a_number_beside_the_score_of_an_experiment_is_another_measure(tmp_path: Path) -> None:
    lines = [f"u{k},{('control', 'v1')[k % 2]},{k % 4 // 3},{9.5 * (k % 4 // 3)},{k % 7}" for k in range(20)]
    scores = read_text(tmp_path, "\n".join(["user_id,variant,converted,revenue,latency_ms", *lines]))
    assert "left out: revenue (another measure), latency_ms (no score)" in scores.attrs["read_as"]
    text = "\n".join(["user_id,variant,converted,revenue,latency_ms", *lines])
    assert read_text(tmp_path, text, measure="revenue").name == "revenue"


@pytest.mark.parametrize("rows", [["1,0,1", "2,0,1"], ["0,.2,.4", "1,.3,.1"], ["1,0,1", "2,0,1", "3,1,1"]])
def test_a_first_column_that_counts_the_rows_names_them(tmp_path: Path, rows: list[str]) -> None:
    scores = read_text(tmp_path, "\n".join(["q,a,b", *rows]))
    assert scores["system"].values.tolist() == ["a", "b"]
    assert scores["topic"].values.tolist() == [row.split(",")[0] for row in rows]


def test_two_rows_of_numbers_that_do_not_count_are_scores(tmp_path: Path) -> None:
    assert read_text(tmp_path, "x,a,b\n2,0,1\n1,0,1\n")["system"].values.tolist() == ["x", "a", "b"]


def test_a_group_and_a_number_are_an_unpaired_comparison(tmp_path: Path) -> None:
    lines = [f"{('control', 'treatment')[k % 2]},{k % 5}" for k in range(30)]
    scores = read_text(tmp_path, "\n".join(["group,points", *lines]))
    assert dict(scores.sizes) == {"topic": 30, "system": 2}


@pytest.mark.parametrize("values", [SHARES, (SHARES > 0.5).astype(int)])
def test_a_column_of_scores_called_system_does_not_vanish(values: np.ndarray) -> None:
    frame = pd.DataFrame(values, columns=["baseline", "ours", "system"])
    frame.insert(0, "topic", [f"q{k}" for k in range(12)])
    assert read_frame(frame)["system"].values.tolist() == ["baseline", "ours", "system"]


def test_columns_that_count_are_repeats_of_one_system(tmp_path: Path) -> None:
    frame = pd.DataFrame(SHARES, columns=["0", "1", "2"])
    frame.insert(0, "dataset", [f"set{k}" for k in range(12)])
    for name in ("rocket", "forest"):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    scores = read_scores([tmp_path / "rocket.csv", tmp_path / "forest.csv"])
    assert dict(scores.sizes) == {"topic": 12, "system": 2, "instance": 3}


def test_items_systems_and_repeats_are_known_by_their_crossing(tmp_path: Path) -> None:
    rows = [
        f"P{p}_style,{run},ticket_{t:02},text of ticket {t},{(p + t + run) % 2}"
        for p in range(3)
        for run in (1, 2)
        for t in range(20)
    ]
    scores = read_text(tmp_path, "\n".join(["prompt_id,run_idx,input_id,ticket,correct", *rows]))
    assert dict(scores.sizes) == {"topic": 20, "system": 3, "instance": 2}


def test_measures_beside_classifiers_and_folds_are_read_and_the_known_one_comes_first(tmp_path: Path) -> None:
    rows = [
        f"{c},{d},{f},{RNG.random():.3f},{RNG.random():.3f},{7.5 + f}"
        for c in ("mlp", "cnn")
        for d in ("adult", "iris", "wine")
        for f in range(3)
    ]
    text = "\n".join(["classifier_name,dataset_name,iteration,precision,accuracy,duration", *rows])
    scores = read_text(tmp_path, text)
    assert isinstance(scores, xr.Dataset)
    assert (list(scores.data_vars), scores.attrs["primary"]) == (["precision", "accuracy"], "accuracy")
    assert dict(scores.sizes) == {"topic": 3, "system": 2, "instance": 3}


def test_a_second_factor_is_joined_to_the_systems_or_is_their_repeat(tmp_path: Path) -> None:
    rows = [f"d{d},{m},{v},{RNG.random():.3f}" for d in range(6) for m in ("a", "b") for v in ("x", "y")]
    text = "\n".join(["dataset,method,diagram,loss", *rows])
    with pytest.raises(InputError, match="has several scores of one method on one dataset") as refused:
        read_text(tmp_path, text)
    repeat, part, joined = (parse_columns([str(choice)]) for choice in refused.value.choices)
    assert dict(read_text(tmp_path, text, columns=repeat).sizes) == {"topic": 6, "system": 2, "instance": 2}
    parts = read_text(tmp_path, text, columns=part)
    assert dict(parts.sizes) == {"topic": 12, "system": 2}
    assert sorted(set(parts["cluster"].values.tolist())) == [f"d{d}" for d in range(6)]
    assert read_text(tmp_path, text, columns=joined)["system"].values.tolist() == ["a x", "a y", "b x", "b y"]


@pytest.mark.parametrize(
    ("header", "problem"),
    [("r,l,t", "numbers of different kinds"), ("accuracy_mean,accuracy,steps", "holds|one system|systems")],
)
def test_numbers_that_share_no_measure_are_no_systems(tmp_path: Path, header: str, problem: str) -> None:
    rows = [f"{4000 + 50 * k},{3000 + 7 * k},{k / 3:.2f}" for k in range(20)]
    with pytest.raises(InputError, match=problem):
        read_text(tmp_path, "\n".join([header, *rows]))


def test_rows_of_measures_for_each_model_are_means(tmp_path: Path) -> None:
    rows = ["gpt-4o,.8,.81,1317", "gemma,.3,.96,1191", "mixtral,.7,1.1,1114"]
    text = "\n".join(["Model,R2 (of the fit),RMSE (to people),Arena Score", *rows])
    with pytest.raises(InputError, match="has one row for each model: contains only aggregate means"):
        read_text(tmp_path, text)


def test_a_slice_is_no_task_and_is_named(tmp_path: Path) -> None:
    rows = [f"q{k},{m},{'law' if k < 9 else 'art'},{k % 2}" for k in range(12) for m in ("a", "b")]
    scores = read_text(tmp_path, "\n".join(["question,model,domain,correct", *rows]))
    assert "task" not in scores.coords
    assert " in 2 domains" in scores.attrs["read_as"]


def test_columns_of_systems_by_measures_are_split_and_differences_are_none(tmp_path: Path) -> None:
    rows = [f"q{k}," + ",".join(f"{v:.3f}" for v in RNG.random(4)) + ",0.1" for k in range(8)]
    scores = read_text(tmp_path, "\n".join(["topic,hit3_base,hit3_new,mrr_base,mrr_new,delta_hit3", *rows]))
    assert isinstance(scores, xr.Dataset)
    assert (list(scores.data_vars), scores["system"].values.tolist()) == (["hit3", "mrr"], ["base", "new"])


def test_a_shared_suffix_is_the_measure(tmp_path: Path) -> None:
    rows = [f"u{k},{RNG.random():.3f},{RNG.random():.3f}" for k in range(8)]
    assert read_text(tmp_path, "\n".join(["utterance,asr1_WER,asr2_WER", *rows])).name == "WER"


def test_a_table_of_one_system_names_the_column_that_could_hold_several(tmp_path: Path) -> None:
    rows = [f"id{k},{('north', 'south')[k % 2]},{k % 7}" for k in range(30)]
    scores = read_text(tmp_path, "\n".join(["id,region,score", *rows]))
    assert scores.sizes["system"] == 1
    columns = parse_columns([scores.attrs["perhaps_columns"]])
    assert read_text(tmp_path, "\n".join(["id,region,score", *rows]), columns=columns).sizes["system"] == 2


def test_no_option_is_offered_that_does_not_read(tmp_path: Path) -> None:
    rows = [f"{p},{t},{RNG.random():.3f}" for p in range(3) for t in range(4) for _ in range(2)]
    with pytest.raises(InputError, match=r"it has age \(whole numbers, 3 different") as refused:
        read_text(tmp_path, "\n".join(["age,shade,signal", *rows]))
    offered = [part.value for part in refused.value.remedy if isinstance(part, Option) and part.value]
    assert all("…" in str(value) for value in offered)


def test_a_system_without_any_score_is_left_out_and_named(tmp_path: Path) -> None:
    rows = [f"q{k},{RNG.random():.3f},{RNG.random():.3f}," for k in range(8)]
    scores = read_text(tmp_path, "\n".join(["topic,bm25,dense,weka", *rows]))
    assert scores["system"].values.tolist() == ["bm25", "dense"]
    assert "left out: weka (" in scores.attrs["read_as"]


def test_numbers_that_describe_the_systems_are_no_items(tmp_path: Path) -> None:
    sizes = {"llama": 7, "qwen": 7, "mistral": 13, "gemma": 13, "phi": 2.7, "yi": 34}
    rows = [
        f"{m},{size},{d},{RNG.random():.3f}" for m, size in sizes.items() for d in ("mmlu", "arc", "drop")
    ]
    scores = read_text(tmp_path, "\n".join(["model,#Params (B),dataset,accuracy", *rows]))
    assert dict(scores.sizes) == {"topic": 3, "system": 6}
    assert "left out: #Params (B) (no score)" in scores.attrs["read_as"]
    rows = [
        f"{size},{method},{RNG.random():.3f}" for size in (1, 3, 7, 13, 70) for method in ("lora", "full")
    ]
    text = "\n".join(["#Params (B),method,score", *rows])
    with pytest.raises(InputError, match="could be items and systems"):
        read_text(tmp_path, text)
    named = {"item": "Params (B)", "system": "method"}
    assert dict(read_text(tmp_path, text, columns=named).sizes) == {"topic": 5, "system": 2}


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("id,y_true,y_pred_rf,y_pred_svm", "y_pred_rf, y_pred_svm may be predictions of 'y_true'"),
        ("id,label,prob_bert,prob_lstm", "prob_bert, prob_lstm may be predictions of 'label'"),
        ("id,gold,bm25,dense", "bm25, dense may be predictions of 'gold'"),
        ("id,steps,pred_rf,pred_svm", "pred_rf, pred_svm may be predictions rather than scores"),
    ],
)
def test_predictions_are_no_scores(tmp_path: Path, header: str, message: str) -> None:
    rows = [f"{k},{k % 2},{(k * 7 % 10) / 10},{(k * 3 % 10) / 10}" for k in range(30)]
    text = "\n".join([header, *rows])
    with pytest.raises(InputError, match=message) as refused:
        read_text(tmp_path, text)
    (choice,) = refused.value.choices
    assert dict(read_text(tmp_path, text, columns=parse_columns([str(choice)])).sizes) == {
        "topic": 30,
        "system": 2,
    }


def test_problem_instances_are_items_where_nothing_else_names_any(tmp_path: Path) -> None:
    rows = [
        f"p{k:02d}.mps,{solver},OPTIMAL,{k + 3 * j}.5" for k in range(12) for j, solver in enumerate("ab")
    ]
    scores = read_text(tmp_path, "\n".join(["instance,solver,status,time", *rows]))
    assert dict(scores.sizes) == {"topic": 12, "system": 2}
    rows = [f"q{k},{s},{r},.{k}{r}" for k in range(9) for s in "ab" for r in (1, 2)]
    scores = read_text(tmp_path, "\n".join(["question,model,instance,score", *rows]))
    assert dict(scores.sizes) == {"topic": 9, "system": 2, "instance": 2}


def test_a_column_of_one_date_is_left_out(tmp_path: Path) -> None:
    rows = [f"s{k},2024-01-01,{k / 9:.3f},{k * k % 7 / 7:.3f}" for k in range(12)]
    assert dict(read_text(tmp_path, "\n".join(["series,cutoff,naive,ets", *rows])).sizes)["system"] == 2


@pytest.mark.parametrize("group", ["test group", "group", "experiment_group"])
def test_the_table_of_groups_shows_their_names(tmp_path: Path, group: str) -> None:
    rows = [f"{k},{'ad' if k % 3 else 'control'},{int(k * 7 % 11 < 5)}" for k in range(60)]
    path = tmp_path / "ab.csv"
    path.write_text("\n".join([f"user id,{group},converted", *rows]))
    lines = shardwise("compare", path).stdout.splitlines()
    assert {line.split("  ")[0] for line in lines if line.startswith(("ad  ", "control  "))} == {
        "ad",
        "control",
    }


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        # numbers by the clock are no items unless their columns look like systems
        ("time,sensor_1,sensor_2,humidity", "2024-05-01 10:{k:02d}:00,2{k},2{k}.5,5{k}", "no column names systems"),
        # a table of ratings with the limits of their intervals
        ("Model,Elo,95% CI low,95% CI high,Votes", "m{k},10{k},90{k},12{k},5{k}", "contains only aggregate means"),
        # codes of a protocol
        ("ts,variant,status,bytes,duration_ms", "17000{k:02d},v{j},200,3.{k},1.{k}", "bytes.*duration_ms"),
        ("algorithm,environment,seed_0,seed_1,seed_2", "a{j},e{h},.1{k},.2{k},.3{k}", "has repeats side by side"),
    ],
)  # fmt: skip
def test_what_is_no_table_of_scores_is_refused(tmp_path: Path, header: str, row: str, message: str) -> None:
    lines = [row.format(k=k, j=k % 2, h=k // 2) for k in range(24)]
    with pytest.raises(InputError, match=message):
        read_text(tmp_path, "\n".join([header, *lines]))


def test_resamples_of_caret_are_systems_by_measures(tmp_path: Path) -> None:
    rows = [f"Fold{k:02d},.8{k},.5{k},.7{k},.4{k}" for k in range(20)]
    scores = read_text(tmp_path, "\n".join(["Resample,rf~Accuracy,rf~Kappa,svm~Accuracy,svm~Kappa", *rows]))
    assert isinstance(scores, xr.Dataset)
    assert {*scores.data_vars} == {"Accuracy", "Kappa"}
    assert scores["system"].values.tolist() == ["rf", "svm"]


def test_people_who_judge_are_no_systems_unless_one_says_so(tmp_path: Path) -> None:
    rows = [
        f"i{k},{who},{k * j % 5 + 1}" for k in range(20) for j, who in enumerate(("ann1", "ann2", "ann3"), 1)
    ]
    text = "\n".join(["item_id,annotator,label", *rows])
    with pytest.raises(InputError, match="could be items and systems"):
        read_text(tmp_path, text)
    assert read_text(tmp_path, text, columns={"system": "annotator"}).sizes["system"] == 3


@pytest.mark.parametrize(
    ("numbers", "outcomes"), [("1,0,0.5", (1, -1, 0)), ("1,2,0", (1, -1, 0)), ("2,1,2", (-1, 1, -1))]
)
def test_results_of_games_say_who_won(tmp_path: Path, numbers: str, outcomes: tuple[int, ...]) -> None:
    said = numbers.split(",")
    rows = [f"p{k % 4},q{k % 5},{said[k % 3]}" for k in range(60)]
    rows = [
        row.replace("q", "p") if k % 4 != k % 5 else row.replace(f"q{k % 5}", "p4")
        for k, row in enumerate(rows)
    ]
    (path := tmp_path / "games.csv").write_text("\n".join(["player_1,player_2,result", *rows]))
    votes = read_votes(read_delimited(read_padded(path), path))
    assert votes is not None
    assert votes.outcome[:3].tolist() == list(outcomes)
    assert not votes.graded


def test_numbers_of_two_sides_that_say_nothing_are_no_grades(tmp_path: Path) -> None:
    rows = [f"p{k % 4},p{(k + 1 + k % 3) % 4},{k % 2}" for k in range(60)]
    with pytest.raises(InputError, match="no column says in words which won") as refused:
        read_text(tmp_path, "\n".join(["player_1,player_2,result", *rows]))
    assert "grade" not in str(refused.value)


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        (
            "seed,baseline,proposed",
            "{k},.8{k},.7{k}",
            "if scores of one seed belong together, say .*'item': 'seed'",
        ),
        ("fold,model,auc", "{h},m{j},.8{k}", "if scores of one fold belong together, say .*'item': 'fold'"),
        (
            "store_id,week,promo,sales",
            "s{h},{j},{p},4{k}",
            "could both be the systems|several scores|no column",
        ),
        (
            "sentence,gold_score,bert_score,sbert_score",
            "s {k},.{k},.3{k},.2{k}",
            "may be predictions of 'gold_score'",
        ),
    ],
)
def test_what_may_be_the_item_or_the_truth_is_asked(
    tmp_path: Path, header: str, row: str, message: str
) -> None:
    lines = [row.format(k=k, j=k % 2, h=k // 2, p=("none", "bogo")[k % 3 > 1]) for k in range(10, 40)]
    with pytest.raises(InputError, match=message):
        read_text(tmp_path, "\n".join([header, *lines]))


def test_columns_beside_those_of_one_measure_are_no_systems(tmp_path: Path) -> None:
    rows = [f"u{k},{5 + k % 9},{k % 3},{k % 4}" for k in range(30)]
    scores = read_text(tmp_path, "\n".join(["utterance,ref_words,whisper_errors,conformer_errors", *rows]))
    assert scores["system"].values.tolist() == ["whisper_errors", "conformer_errors"]
    assert scores.name == "errors"
    assert as_scores(scores).measure.lower_is_better


def test_a_constant_is_no_score_where_another_number_may_be(tmp_path: Path) -> None:
    rows = [
        f"p{k},{a},{'ok' if k % 3 else 'timeout'},{k + j}.5,3600"
        for k in range(12)
        for j, a in enumerate("xy")
    ]
    scores = read_text(tmp_path, "\n".join(["instance_id,algorithm,status,runtime,cutoff", *rows]))
    assert scores.name == "runtime"


def test_measures_by_systems_are_told_apart_whatever_their_scales(tmp_path: Path) -> None:
    rows = [f"img{k},2{k}.5,2{k}.9,.{k},.{k + 3}" for k in range(10, 30)]
    scores = read_text(
        tmp_path, "\n".join(["Image,PSNR_bicubic,PSNR_esrgan,SSIM_bicubic,SSIM_esrgan", *rows])
    )
    assert isinstance(scores, xr.Dataset)
    assert {*scores.data_vars} == {"PSNR", "SSIM"}


def test_rows_below_results_are_read_beside_what_describes_them(tmp_path: Path) -> None:
    rows = [{"query": f"q{k}", "system": s, "ap": k / 30} for k in range(20) for s in "xy"]
    (path := tmp_path / "run.json").write_text(json.dumps({"metadata": {"date": "2024"}, "results": rows}))
    assert dict(read_scores(path).sizes) == {"topic": 20, "system": 2}


def test_a_comment_of_ok_is_no_system(tmp_path: Path) -> None:
    rows = [f"Write {k},{k % 7 + 1},{k % 5 + 3},ok" for k in range(25)]
    scores = read_text(tmp_path, "\n".join(["prompt,gpt4_rating,mixtral_rating,comment", *rows]))
    assert scores["system"].values.tolist() == ["gpt4_rating", "mixtral_rating"]
    assert "comment (text)" in scores.attrs["read_as"]


def test_versions_of_a_survey_are_the_systems(tmp_path: Path) -> None:
    rows = [f"{k},{('old', 'new')[k % 2]},{k % 5 + 1},{k % 4 + 1}" for k in range(60)]
    scores = read_text(tmp_path, "\n".join(["respondent_id,version,q1,q2", *rows]))
    assert isinstance(scores, xr.Dataset)
    assert scores["system"].values.tolist() == ["new", "old"]


def test_words_between_what_describes_items_and_systems_are_no_lost_system(tmp_path: Path) -> None:
    rows = [f"c{k},{20 + k * 7 % 50},{'MF'[k % 2]},.{k}1,.{k}5" for k in range(10, 40)]
    scores = read_text(tmp_path, "\n".join(["case_id,age,sex,dice_v1,dice_v2", *rows]))
    assert scores["system"].values.tolist() == ["dice_v1", "dice_v2"]
