"""Forty tables like those in public repositories, made of seeded numbers, each with its truth.

A table is a function that returns a :class:`Found`: its files, what is expected of a reader (``read``; ``ask``, where
a question is as good as the answer; ``refuse``), and the means that a careful person may read in it, by system.
Half of them, by the hash of the name, are kept aside: rules are made by looking at the other half only.
"""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

TABLES: dict[str, Callable[[], Found]] = {}


@dataclass(frozen=True)
class Found:
    """Files by name, what is expected, and the readings that are right: mean by system."""

    files: dict[str, str]
    expect: str = "read"
    readings: Sequence[dict[str, float]] = ()
    lower_is_better: bool = False


def register_table(make: Callable[[], Found]) -> Callable[[], Found]:
    """List a table by its name."""
    TABLES[make.__name__.removeprefix("make_")] = make
    return make


def is_kept_aside(name: str) -> bool:
    """Tell whether a table is of the half by which no rule is made."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 == 0


def draw(name: str) -> np.random.Generator:
    """Return numbers that depend on a name alone."""
    return np.random.default_rng(int(hashlib.sha256(name.encode()).hexdigest()[:12], 16))


def write_csv(header: Sequence[str], rows: Iterable[Sequence[Any]], sep: str = ",") -> str:
    """Return a table as text."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=sep, lineterminator="\n")
    writer.writerows([header, *rows])
    return stream.getvalue()


def mean_by(rows: Iterable[Sequence[Any]], system: int, score: int) -> dict[str, float]:
    """Return the mean score of every system of a long table."""
    values: dict[str, list[float]] = {}
    for row in rows:
        values.setdefault(str(row[system]), []).append(float(row[score]))
    return {name: float(np.mean(scores)) for name, scores in values.items()}


def mean_columns(names: Sequence[str], table: np.ndarray[Any, Any]) -> dict[str, float]:
    """Return the mean of every column."""
    return dict(zip(names, map(float, np.nanmean(table, axis=0)), strict=True))


DATASETS = ("adult", "car", "credit-g", "diabetes", "iris", "letter", "segment", "sonar", "vehicle", "wine")
CLASSIFIERS = ("RandomForest", "SVC", "LogisticRegression", "KNN")
LLMS = ("gpt-4o", "claude-3-5-sonnet", "llama-3-70b", "mistral-large")


@register_table
def make_sklearn_folds() -> Found:
    rng = draw("sklearn_folds")
    rows = [
        (d, c, f, *(0.7 + 0.25 * rng.random(2)).round(4), round(rng.exponential(2.0), 3))
        for d, c, f in itertools.product(DATASETS, CLASSIFIERS, range(5))
    ]
    text = write_csv(("dataset", "classifier", "fold", "accuracy", "f1_macro", "fit_time"), rows)
    return Found({"results.csv": text}, "read", [mean_by(rows, 1, 3)])


@register_table
def make_grid_search() -> Found:
    rng = draw("grid_search")
    splits = (0.8 + 0.1 * rng.random((6, 5))).round(4)
    params = [f"{{'C': {c}, 'kernel': '{k}'}}" for c in (0.1, 1, 10) for k in ("rbf", "linear")]
    order = (-splits.mean(1)).argsort().argsort() + 1
    rows = [
        (round(rng.exponential(0.1), 5), p, *s, s.mean(), s.std(), o)
        for p, s, o in zip(params, splits, order, strict=True)
    ]
    heads = [f"split{k}_test_score" for k in range(5)]
    header = ("mean_fit_time", "params", *heads, "mean_test_score", "std_test_score", "rank_test_score")
    means = dict(zip(params, map(float, splits.mean(1)), strict=True))
    return Found({"cv_results.csv": write_csv(header, rows)}, "ask", [means])


@register_table
def make_open_leaderboard() -> Found:
    rng = draw("open_leaderboard")
    tasks = ("ARC", "HellaSwag", "MMLU", "TruthfulQA", "Winogrande", "GSM8K")
    models = [f"org{k}/model-{k}-{s}b" for k, s in enumerate((7, 13, 34, 70, 8, 3, 1))]
    scores = (40 + 50 * rng.random((7, 6))).round(2)
    rows = [
        (m, "fine-tuned" if k % 2 else "pretrained", round(s.mean(), 2), *s, f"{(7, 13, 34, 70, 8, 3, 1)[k]}")
        for k, (m, s) in enumerate(zip(models, scores, strict=True))
    ]
    text = write_csv(("Model", "Type", "Average", *tasks, "#Params (B)"), rows)
    means = dict(zip(models, map(float, scores.mean(1)), strict=True))
    return Found({"leaderboard.csv": text}, "ask", [means])


@register_table
def make_llm_export_lines() -> Found:
    rng = draw("llm_export_lines")
    rows = [
        {
            "id": f"ex-{k:03d}",
            "model": m,
            "prompt": f"Explain topic number {k} in two sentences.",
            "response": f"An answer {k} of {m}.",
            "score": int(rng.integers(1, 6)),
            "latency_ms": int(rng.integers(300, 4000)),
            "tokens": int(rng.integers(20, 400)),
        }
        for k in range(25)
        for m in LLMS
    ]
    means = mean_by([(r["model"], r["score"]) for r in rows], 0, 1)
    return Found({"evals.jsonl": "".join(json.dumps(r) + "\n" for r in rows)}, "read", [means])


@register_table
def make_judge_wide() -> Found:
    rng = draw("judge_wide")
    scores = rng.integers(1, 11, (30, 3))
    names = ("gpt-4o", "claude", "llama")
    rows = [
        (k + 81, ("writing", "math", "coding")[k % 3], *s, round(float(np.mean(s)), 3))
        for k, s in enumerate(scores.tolist())
    ]
    text = write_csv(("question_id", "category", *(f"{n}_score" for n in names), "mean_score"), rows)
    return Found(
        {"mt_bench.csv": text},
        "read",
        [mean_columns([f"{n}_score" for n in names], scores), mean_columns(names, scores)],
    )


@register_table
def make_mt_segments() -> Found:
    rng = draw("mt_segments")
    rows = [
        ("en-de", "news" if s < 8 else "social", f"doc{s // 4}", s, y, m, round(float(rng.random()), 5))
        for s, y, m in itertools.product(range(16), ("sysA", "sysB", "sysC"), ("COMET", "BLEURT"))
    ]
    text = write_csv(("lp", "domain", "doc_id", "seg_id", "system", "metric", "score"), rows, "\t")
    readings = [mean_by([r for r in rows if r[5] == m], 4, 6) for m in ("COMET", "BLEURT")]
    return Found({"scores.tsv": text}, "ask", readings)


@register_table
def make_mt_direct_assessment() -> Found:
    rng = draw("mt_direct_assessment")
    rows = [
        (s, k, f"annotator{(k + j) % 5}", int(rng.integers(20, 101)))
        for j, s in enumerate(("online-A", "online-B", "ref-B"))
        for k in range(1, 21)
    ]
    text = write_csv(("system", "seg_id", "annotator", "raw_score"), rows)
    return Found({"da.csv": text}, "read", [mean_by(rows, 0, 3)])


@register_table
def make_asr_wide() -> Found:
    rng = draw("asr_wide")
    scores = (rng.random((24, 2)) * 0.4).round(4)
    rows = [
        (f"spk{k // 6}-utt{k:04d}", f"this is sentence number {k}", round(2 + 8 * rng.random(), 2), *s)
        for k, s in enumerate(scores.tolist())
    ]
    text = write_csv(("utt_id", "reference", "duration", "whisper_wer", "wav2vec2_wer"), rows)
    means = [mean_columns(n, scores) for n in (("whisper_wer", "wav2vec2_wer"), ("whisper", "wav2vec2"))]
    return Found({"asr.csv": text}, "read", means, lower_is_better=True)


@register_table
def make_asr_long() -> Found:
    rng = draw("asr_long")
    rows = [
        (
            f"clip_{k:03d}.wav",
            e,
            "some words",
            "some word",
            round(float(rng.random() / 3), 4),
            round(float(rng.random() / 5), 4),
        )
        for k in range(20)
        for e in ("whisper-large", "conformer", "google")
    ]
    text = write_csv(("file", "engine", "ref", "hyp", "wer", "cer"), rows)
    return Found({"wer.csv": text}, "ask", [mean_by(rows, 1, 4), mean_by(rows, 1, 5)], lower_is_better=True)


@register_table
def make_psych_blocks() -> Found:
    rng = draw("psych_blocks")
    rows = [
        (f"S{s:02d}", 18 + s, c, b, t, round(float(400 + 200 * rng.random()), 1), int(rng.random() < 0.9))
        for s, c, b, t in itertools.product(
            range(1, 9), ("congruent", "incongruent", "neutral"), (1, 2), (1, 2, 3)
        )
    ]
    text = write_csv(("subject", "age", "condition", "block", "trial", "rt", "correct"), rows)
    return Found({"stroop.csv": text}, "ask", [mean_by(rows, 2, 6), mean_by(rows, 2, 5)])


@register_table
def make_psych_groups() -> Found:
    rng = draw("psych_groups")
    rows = [
        (k + 1, ("control", "training")[k % 2], ("m", "f")[int(rng.random() < 0.5)], *rng.integers(10, 60, 2))
        for k in range(30)
    ]
    text = write_csv(("participant", "group", "sex", "pre", "post"), rows, ";")
    return Found({"study.csv": text}, "ask", [mean_by(rows, 1, 3), mean_by(rows, 1, 4)])


@register_table
def make_ab_export() -> Found:
    rng = draw("ab_export")
    rows = []
    for k in range(60):
        bought = int(rng.random() < 0.3)
        spent = round(float(bought * 50 * rng.random()), 2)
        where = ("DE", "FR", "US")[int(rng.integers(3))]
        rows.append((100000 + k, ("control", "treatment")[int(rng.random() < 0.5)], bought, spent, where))
    text = write_csv(("user_id", "variant", "converted", "revenue", "country"), rows)
    return Found({"experiment.csv": text}, "ask", [mean_by(rows, 1, 2), mean_by(rows, 1, 3)])


@register_table
def make_ab_buckets() -> Found:
    rng = draw("ab_buckets")
    rows = [
        (f"v{rng.integers(10**8):08d}", "AB"[k % 2], f"2024-03-{1 + k % 28:02d}", int(rng.integers(0, 9)))
        for k in range(50)
    ]
    text = write_csv(("visitor_id", "bucket", "exposed_at", "clicks"), rows)
    return Found({"clicks.csv": text}, "read", [mean_by(rows, 1, 3)])


@register_table
def make_kaggle_board() -> Found:
    rng = draw("kaggle_board")
    scores = np.sort(0.8 + 0.1 * rng.random(15))[::-1].round(5)
    rows = [
        (k + 1, 9000 + k, f"team {k}", f"2024-05-{28 - k:02d} 10:00:00", s, int(rng.integers(1, 90)))
        for k, s in enumerate(scores.tolist())
    ]
    header = ("Rank", "TeamId", "TeamName", "LastSubmissionDate", "Score", "SubmissionCount")
    return Found({"publicleaderboard.csv": write_csv(header, rows)}, "refuse")


@register_table
def make_mlflow_runs() -> Found:
    rng = draw("mlflow_runs")
    rows = [
        (f"{rng.integers(16**8):08x}", "FINISHED", d, m, s, *(0.6 + 0.4 * rng.random(2)).round(4))
        for d, m, s in itertools.product(DATASETS[:6], ("cnn", "mlp", "transformer"), (0, 1, 2))
    ]
    header = (
        "run_id",
        "status",
        "params.dataset",
        "params.model",
        "params.seed",
        "metrics.accuracy",
        "metrics.f1",
    )
    return Found({"runs.csv": write_csv(header, rows)}, "ask", [mean_by(rows, 3, 5), mean_by(rows, 3, 6)])


@register_table
def make_wandb_export() -> Found:
    rng = draw("wandb_export")
    rows = [
        (
            f"{w}-{d}-{s}",
            "finished",
            "2024-01-05T10:00:00",
            int(rng.integers(60, 900)),
            w,
            d,
            s,
            round(float(0.6 + 0.4 * rng.random()), 4),
        )
        for d, w, s in itertools.product(DATASETS[:5], ("erm", "irm", "dro"), (1, 2, 3, 4))
    ]
    header = ("Name", "State", "Created", "Runtime", "algorithm", "dataset", "seed", "test_acc")
    return Found({"wandb.csv": write_csv(header, rows)}, "read", [mean_by(rows, 4, 7)])


@register_table
def make_helm_board() -> Found:
    rng = draw("helm_board")
    heads = (
        "NarrativeQA - F1",
        "NaturalQuestions (open) - F1",
        "OpenbookQA - EM",
        "MMLU - EM",
        "GSM8K - EM",
        "MedQA - EM",
    )
    models = (
        "GPT-4 (0613)",
        "Palmyra X V3",
        "Mixtral (8x7B 32K)",
        "Llama 2 (70B)",
        "Yi (34B)",
        "Falcon (40B)",
    )
    scores = (0.3 + 0.6 * rng.random((6, 6))).round(3)
    wins = [float(np.mean(s > scores)) for s in scores]
    rows = [(m, round(w, 3), *s) for m, w, s in zip(models, wins, scores, strict=True)]
    means = dict(zip(models, map(float, scores.mean(1)), strict=True))
    return Found({"helm.csv": write_csv(("Model", "Mean win rate", *heads), rows)}, "ask", [means])


@register_table
def make_openml_runs() -> Found:
    rng = draw("openml_runs")
    rows = [
        (t, f, r, k, *(0.5 + 0.5 * rng.random(2)).round(6), round(float(rng.exponential()), 4))
        for t, f, r, k in itertools.product(
            (3, 11, 31, 54, 1049), ("mlr.ranger", "mlr.xgboost", "mlr.svm"), (0,), range(4)
        )
    ]
    header = (
        "task_id",
        "flow_name",
        "repeat",
        "fold",
        "predictive_accuracy",
        "area_under_roc_curve",
        "usercpu_time",
    )
    return Found(
        {"evaluations.csv": write_csv(header, rows)}, "ask", [mean_by(rows, 1, 4), mean_by(rows, 1, 5)]
    )


@register_table
def make_tabular_benchmark() -> Found:
    rng = draw("tabular_benchmark")
    rows = [
        (
            f"openml__{d}__{k}",
            a,
            30,
            *(0.6 + 0.4 * rng.random(2)).round(5),
            round(float(rng.exponential(9)), 3),
        )
        for k, d in enumerate(DATASETS)
        for a in ("XGBoost", "CatBoost", "TabPFN")
    ]
    header = ("dataset_name", "alg_name", "num_trials", "Accuracy__val", "Accuracy__test", "training_time")
    return Found(
        {"metadataset.csv": write_csv(header, rows)}, "ask", [mean_by(rows, 1, 4), mean_by(rows, 1, 3)]
    )


@register_table
def make_rag_files() -> Found:
    rng = draw("rag_files")
    files, means = {}, ({}, {})
    for name in ("bm25", "dense"):
        scores = rng.random((15, 2)).round(4)
        rows = [
            (f"What is fact {k}?", f"['context {k}']", f"answer {k}", *s)
            for k, s in enumerate(scores.tolist())
        ]
        header = ("question", "contexts", "answer", "faithfulness", "answer_relevancy")
        files[f"ragas_{name}.csv"] = write_csv(header, rows)
        for k in (0, 1):
            means[k][f"ragas_{name}"] = float(scores[:, k].mean())
    return Found(files, "ask", means)


@register_table
def make_glue_seeds() -> Found:
    rng = draw("glue_seeds")
    rows = [
        (t, m, s, round(float(60 + 35 * rng.random()), 2))
        for t, m, s in itertools.product(
            ("CoLA", "SST-2", "MRPC", "QNLI", "RTE"),
            ("bert-base", "roberta-base", "deberta-v3"),
            (13, 42, 87),
        )
    ]
    return Found(
        {"glue.csv": write_csv(("task", "model", "seed", "value"), rows)}, "read", [mean_by(rows, 1, 3)]
    )


@register_table
def make_robot_episodes() -> Found:
    rng = draw("robot_episodes")
    rows = [
        (e, p, k, round(float(100 * rng.random()), 2), int(rng.random() < 0.6))
        for e, p, k in itertools.product(
            ("lift", "stack", "push", "door"), ("bc", "diffusion", "act"), range(5)
        )
    ]
    text = write_csv(("env", "policy", "episode", "return", "success"), rows)
    return Found({"rollouts.csv": text}, "ask", [mean_by(rows, 1, 3), mean_by(rows, 1, 4)])


@register_table
def make_atari_scores() -> Found:
    rng = draw("atari_scores")
    games = (
        "Alien",
        "Amidar",
        "Assault",
        "Asterix",
        "Breakout",
        "Pong",
        "Qbert",
        "Seaquest",
        "Venture",
        "Zaxxon",
    )
    scale = 10 ** (1 + 3 * rng.random((10, 1)))
    scores = (scale * rng.random((10, 5))).round(1)
    names = ("Random", "Human", "DQN", "A2C", "Rainbow")
    rows = [(g, *s) for g, s in zip(games, scores.tolist(), strict=True)]
    return Found({"atari.csv": write_csv(("Game", *names), rows)}, "read", [mean_columns(names, scores)])


@register_table
def make_compressors() -> Found:
    rng = draw("compressors")
    files = [
        f"corpus/{n}"
        for n in ("alice29.txt", "asyoulik.txt", "cp.html", "fields.c", "grammar.lsp", "kennedy.xls")
    ]
    ratios = (2 + 3 * rng.random((6, 3))).round(3)
    rows = [(f, int(rng.integers(10**4, 10**6)), *r) for f, r in zip(files, ratios.tolist(), strict=True)]
    names = ("gzip", "bzip2", "zstd")
    return Found(
        {"ratio.csv": write_csv(("file", "size_bytes", *names), rows)}, "read", [mean_columns(names, ratios)]
    )


@register_table
def make_solver_times() -> Found:
    rng = draw("solver_times")
    times = (rng.exponential(60, (20, 3))).round(2)
    rows = [
        (f"sat-{k:02d}.cnf", *("TIMEOUT" if v > 120 else v for v in t)) for k, t in enumerate(times.tolist())
    ]
    shown = np.where(times > 120, np.nan, times)
    names = ("minisat", "glucose", "cadical")
    zero = mean_columns(names, np.nan_to_num(shown))
    found = write_csv(("instance", *names), rows, ";")
    return Found({"runtime.csv": found}, "ask", [mean_columns(names, shown), zero], lower_is_better=True)


@register_table
def make_image_quality() -> Found:
    rng = draw("image_quality")
    rows = [
        (
            f"img_{k:04d}.png",
            m,
            round(float(24 + 8 * rng.random()), 3),
            round(float(0.6 + 0.4 * rng.random()), 4),
            round(float(0.5 * rng.random()), 4),
        )
        for k in range(14)
        for m in ("bicubic", "EDSR", "SwinIR")
    ]
    text = write_csv(("image", "method", "psnr", "ssim", "lpips"), rows)
    return Found({"sr.csv": text}, "ask", [mean_by(rows, 1, k) for k in (2, 3, 4)])


@register_table
def make_dice_wide() -> Found:
    rng = draw("dice_wide")
    scores = (0.7 + 0.3 * rng.random((18, 3))).round(4)
    names = ("U-Net", "nnU-Net", "SwinUNETR")
    rows = [(f"BraTS_{k:03d}", *s) for k, s in enumerate(scores.tolist())]
    rows += [("mean", *scores.mean(0).round(4)), ("std", *scores.std(0).round(4))]
    return Found({"dice.csv": write_csv(("case", *names), rows)}, "read", [mean_columns(names, scores)])


@register_table
def make_ranks_in_brackets() -> Found:
    rng = draw("ranks_in_brackets")
    scores = (70 + 30 * rng.random((10, 4))).round(2)
    ranks = (-scores).argsort(1).argsort(1) + 1
    rows = [
        (d, *(f"{v:.2f} ({r})" for v, r in zip(s, o, strict=True)))
        for d, s, o in zip(DATASETS, scores.tolist(), ranks.tolist(), strict=True)
    ]
    text = write_csv(("Dataset", *CLASSIFIERS), rows)
    return Found({"table3.csv": text}, "read", [mean_columns(CLASSIFIERS, scores)])


@register_table
def make_forecast_values() -> Found:
    rng = draw("forecast_values")
    rows = [
        (f"H{u}", f"2024-01-{t + 1:02d}", *(100 + 20 * rng.random(4)).round(3))
        for u in (1, 2, 3)
        for t in range(8)
    ]
    return Found(
        {"forecasts.csv": write_csv(("unique_id", "ds", "y", "AutoARIMA", "ETS", "Naive"), rows)}, "refuse"
    )


@register_table
def make_forecast_metrics() -> Found:
    rng = draw("forecast_metrics")
    names = ("AutoARIMA", "AutoETS", "Theta")
    scores = rng.random((24, 3)).round(4) + np.repeat([[0.5], [5.0]], 12, axis=0)
    rows = [
        (f"M{k % 12 + 1}", ("mase", "smape")[k // 12], *(round(v, 4) for v in s))
        for k, s in enumerate(scores.tolist())
    ]
    readings = [mean_columns(names, scores[:12]), mean_columns(names, scores[12:])]
    return Found(
        {"evaluation.csv": write_csv(("unique_id", "metric", *names), rows)},
        "ask",
        readings,
        lower_is_better=True,
    )


@register_table
def make_human_ratings() -> Found:
    rng = draw("human_ratings")
    rows = [
        (f"sent_{k:02d}", r, s, *rng.integers(1, 6, 2).tolist())
        for k, r, s in itertools.product(range(10), ("r1", "r2", "r3"), ("baseline", "ours", "human"))
    ]
    text = write_csv(("item", "rater", "system", "fluency", "adequacy"), rows)
    return Found({"ratings.csv": text}, "ask", [mean_by(rows, 2, 3), mean_by(rows, 2, 4)])


@register_table
def make_code_samples() -> Found:
    rng = draw("code_samples")
    rows = [
        {
            "task_id": f"Lib/{k}",
            "model": m,
            "sample": s,
            "completion": f"def f{k}(): return {s}",
            "passed": bool(rng.random() < 0.5),
        }
        for k, m, s in itertools.product(range(12), ("codellama-13b", "starcoder2-15b"), range(3))
    ]
    means = mean_by([(r["model"], r["passed"]) for r in rows], 0, 1)
    return Found({"samples.jsonl": "".join(json.dumps(r) + "\n" for r in rows)}, "read", [means])


@register_table
def make_retrieval_wide() -> Found:
    rng = draw("retrieval_wide")
    names = ("BM25", "DPR", "ColBERTv2", "SPLADE++")
    scores = rng.random((25, 4)).round(4)
    rows = [
        (int(i), f"how to do thing {k}", *s)
        for k, (i, s) in enumerate(zip(rng.permutation(10**6)[:25], scores.tolist(), strict=True))
    ]
    return Found(
        {"ndcg.tsv": write_csv(("qid", "query", *names), rows, "\t")}, "read", [mean_columns(names, scores)]
    )


@register_table
def make_predictions() -> Found:
    rng = draw("predictions")
    words = ("positive", "negative")
    rows = [
        (k, f"review text number {k} is here", *(words[i] for i in rng.integers(0, 2, 3))) for k in range(20)
    ]
    return Found(
        {"predictions.csv": write_csv(("id", "text", "label", "bert_pred", "roberta_pred"), rows)}, "refuse"
    )


@register_table
def make_clinical_visits() -> Found:
    rng = draw("clinical_visits")
    rows = [
        (f"P{p:03d}", ("placebo", "drug")[p % 2], v, round(float(20 + 10 * rng.random()), 1))
        for p, v in itertools.product(range(1, 21), (0, 4, 8))
    ]
    text = write_csv(("patient_id", "arm", "visit_week", "hamd_total"), rows)
    return Found({"trial.csv": text}, "ask", [mean_by(rows, 1, 3)])


@register_table
def make_prices() -> Found:
    rng = draw("prices")
    rows = [
        (f"2024-02-{k + 1:02d}", *(100 + 5 * rng.random(4)).round(2), int(rng.integers(10**5, 10**6)))
        for k in range(20)
    ]
    return Found(
        {"prices.csv": write_csv(("date", "open", "high", "low", "close", "volume"), rows)}, "refuse"
    )


@register_table
def make_timings() -> Found:
    rng = draw("timings")
    rows = []
    for k in range(8):
        low, spread = rng.exponential(1.0), rng.exponential(0.2)
        rows.append(
            (
                f"test_parse[{k}]",
                round(low, 5),
                round(low + 3 * spread, 5),
                round(low + spread, 5),
                round(spread, 5),
                int(rng.integers(5, 99)),
            )
        )
    return Found(
        {"benchmark.csv": write_csv(("name", "min", "max", "mean", "stddev", "rounds"), rows)}, "refuse"
    )


@register_table
def make_german_sheet() -> Found:
    rng = draw("german_sheet")
    scores = rng.random((12, 3)).round(3)
    rows = [
        (f"Frage {k + 1}", *(f"{v:.3f}".replace(".", ",") for v in s)) for k, s in enumerate(scores.tolist())
    ]
    rows += [("Mittelwert", *(f"{v:.3f}".replace(".", ",") for v in scores.mean(0)))]
    names = ("Modell A", "Modell B", "Modell C")
    return Found(
        {"auswertung.csv": write_csv(("Frage", *names), rows, ";")}, "read", [mean_columns(names, scores)]
    )


@register_table
def make_prompt_variants() -> Found:
    rng = draw("prompt_variants")
    rows = [
        (f"case-{k}", p, m, int(rng.random() < 0.7))
        for k, p, m in itertools.product(
            range(15), ("zero-shot", "few-shot", "cot"), ("gpt-4o", "llama-3-8b")
        )
    ]
    text = write_csv(("test_case", "prompt_template", "model_name", "exact_match"), rows)
    joined = mean_by([(f"{r[2]} {r[1]}", r[3]) for r in rows], 0, 1)
    turned = mean_by([(f"{r[1]} {r[2]}", r[3]) for r in rows], 0, 1)
    return Found({"prompts.csv": text}, "ask", [mean_by(rows, 2, 3), mean_by(rows, 1, 3), joined, turned])


@register_table
def make_recommenders() -> Found:
    rng = draw("recommenders")
    rows = [
        (d, a, *(0.3 * rng.random(3)).round(4))
        for d in ("ml-100k", "ml-1m", "yelp", "gowalla", "lastfm")
        for a in ("Pop", "ItemKNN", "BPR", "LightGCN")
    ]
    text = write_csv(("Dataset", "Model", "Recall@10", "NDCG@10", "MRR@10"), rows)
    return Found({"recsys.csv": text}, "ask", [mean_by(rows, 1, k) for k in (2, 3, 4)])
