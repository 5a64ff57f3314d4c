"""What a measure's name says of its direction, and what scores say of their range."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import shardwise as sw
from shardwise.core.measure import classify_measure, find_range, is_lower_better
from shardwise.core.scores import as_scores

LOWER = (
    "wer", "WER", "cer", "TER", "mer", "error", "error_rate", "errors", "number_of_errors", "test_error",
    "zero_one_loss", "val_loss", "loss", "nll", "neg_log_likelihood", "perplexity", "word_perplexity",
    "byte_perplexity", "bits_per_byte", "ppl", "rmse", "RMSE", "rmse_test", "log_mse_test", "mse", "MAE", "mape",
    "MASE", "eval_metrics/MASE[0.5]", "eval_metrics/mean_weighted_sum_quantile_loss", "logloss", "log_loss",
    "brier", "brier_score", "latency", "latency_ms", "p95_latency", "latencyP95", "time", "test_time",
    "timeTaken", "time_to_first_token", "total_ms", "ms", "seconds", "response_seconds", "duration", "runtime_s",
    "makespan", "cost", "cost_per_query", "price", "regret", "edit_distance", "normalized_edit_distance", "rank",
    "avg_rank", "mean_rank", "AverageRank", "ttft", "wer_score", "failure_rate",
)  # fmt: skip
HIGHER = (
    "accuracy", "score", "AP", "MAP", "map", "nDCG@10", "ndcg_cut_k", "P_k", "recall_k", "recip_rank",
    "mean_reciprocal_rank", "RR", "mrr", "rank_biased_overlap", "rank_correlation", "ERR", "nERR@10", "err@20",
    "NERR8", "error_free", "error_free_rate", "lossless", "no_errors", "neg_mean_squared_error",
    "tokens_per_second", "requests_per_sec", "speed", "speedup", "throughput", "qps", "win_rate", "hit_rate",
    "f1", "bleu", "rouge", "cost_savings", "cost_reduction", "time_saved", "error_reduction", "pass@1",
    "success_rate", "revenue", "converted", "exact_match", "rbp", "rbp_resid", "num_ret", "num_rel_ret", "runid",
    "utility_a", "bpref", "infAP", "binG", "G", "11pt_avg", "set_F", "strec@5", "alpha-nDCG@5", "Compat",
    "Judged", "NumRet", "INST", "r2_test", "auc", "auc_pr", "duration_score", "brevity", "model_size",
)  # fmt: skip


@pytest.mark.parametrize("name", LOWER)
def test_names_of_errors_losses_times_and_costs_turn(name: str) -> None:
    assert is_lower_better(name)


@pytest.mark.parametrize("name", HIGHER)
def test_other_names_do_not(name: str) -> None:
    assert not is_lower_better(name)


def test_words_with_spaces_and_units() -> None:
    assert is_lower_better("training time (s)")
    assert not is_lower_better("tokens / second")
    assert classify_measure("tokens per second") == "speed"
    assert classify_measure("") == ""


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ([0, 0.5, 1, 0.3], (0, 1)),
        ([5] * 12, (1, 5)),
        ([2, 4, 4, 2], (1, 5)),
        ([0, 4, 4, 0], (0, 5)),
        ([1, 7, 7, 1], (1, 7)),
        ([1, 9, 9, 1], (1, 10)),
        ([0, 9, 9, 0], (0, 10)),
        ([0, 100, 100, 0], (0, 100)),
        ([-2, 130, 130, -2], (-2, 130)),
        ([250] * 4, None),
        ([12.1, 31.5, 7.2], None),
    ],
)
def test_ranges_by_the_scores(values: list[float], limits: tuple[float, float] | None) -> None:
    assert find_range("grade", np.array(values, float))[0] == limits
    # of times, costs and speeds nothing is guessed
    assert find_range("latency_ms", np.array(values, float)) == (None, "")


def table(values: object, name: str | None = None, **attrs: object) -> xr.DataArray:
    return xr.DataArray(values, dims=("topic", "system"), name=name, attrs=attrs)


def test_how_range_and_direction_are_known() -> None:
    y = np.array([[1.0, 4.0], [4.0, 1.0], [1.0, 1.0]])
    found = as_scores(table(y)).measure
    assert (found.range, found.range_from, found.lower_is_better, found.direction_from) == (
        (1, 5),
        "values",
        False,
        "",
    )
    assert as_scores(table(y, "wer")).measure.direction_from == "name"
    declared = as_scores(table(y, "wer", range=(0, 9), lower_is_better=False)).measure
    assert declared.range == (0, 9)
    assert (declared.range_from, declared.lower_is_better, declared.direction_from) == (
        "declared",
        False,
        "declared",
    )
    # a keyword is stronger than an attribute
    assert as_scores(table(y, range=(0, 9)), range=(0, 20)).measure.range == (0, 20)
    assert as_scores(table(y, lower_is_better=True), lower_is_better=False).measure.lower_is_better is False


def test_the_range_is_that_of_the_whole_file() -> None:
    y = np.tile([1.0, 2.0, 9.0], (6, 1))
    assert as_scores(table(y)).select(system=[0, 1]).measure.range == (1, 10)


def test_the_gate_can_be_passed_twice() -> None:
    for given in (
        table(np.eye(4) * 3),
        table(np.eye(4), "wer"),
        table(np.random.default_rng(0).normal(size=(5, 2))),
    ):
        once = as_scores(given)
        assert as_scores(once) is once
        assert as_scores(once.to_xarray()) == once
    assert as_scores(table(np.eye(4))).declare(name="wer").measure.lower_is_better


def test_a_score_outside_a_declared_range_is_refused() -> None:
    with pytest.raises(sw.InputError, match="a score of 3 lies outside the range 0 to 1"):
        as_scores(table(np.eye(2) * 3), range=(0, 1))
    with pytest.raises(sw.InputError, match="2 to 1 is not a range"):
        sw.compare(table(np.eye(3)), range=(2, 1))


def test_tables_without_a_measure_take_the_name_of_systems_or_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    rows = "\n".join(f"d{k},{k * 7 % 5},{k * 3 % 7}" for k in range(12))
    for head, file, name in (
        ("set,asr1_wer,asr2_wer", "a.csv", "wer"),
        ("set,wer_asr1,wer_asr2", "b.csv", "wer"),
        ("set,svm,forest", "test_time.csv", "test_time"),
        ("set,svm,forest", "results.csv", "score"),
        ("set,cost-aware,cost-blind", "results.csv", "score"),
    ):
        (tmp_path / file).write_text(f"{head}\n{rows}\n")
        assert sw.read_scores(tmp_path / file).name == name


def test_what_is_declared_is_written_and_read_again(tmp_path) -> None:  # type: ignore[no-untyped-def]
    given = sw.read_scores({"a": {"1": 2, "2": 3}, "b": {"1": 4, "2": 5}}, range=(1, 5), lower_is_better=True)
    assert given.attrs["lower_is_better"] == 1
    assert given.attrs["range"] == (1, 5)
    for name in ("scores.nc", "scores.zarr"):
        sw.write_scores(given, tmp_path / name)
        known = as_scores(sw.read_scores(tmp_path / name)).measure
        assert (known.range, known.lower_is_better, known.range_from, known.direction_from) == (
            *((1, 5), True),
            *("declared", "declared"),
        )
