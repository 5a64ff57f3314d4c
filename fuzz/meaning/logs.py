"""Logs of every evaluation tool that is read, with what they say; votes, and files that hold no scores of items."""

from __future__ import annotations

import csv
import io
import itertools
import json
import random
import shutil
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import xarray as xr

from fuzz.cases import FOLDER, Wrong
from fuzz.meaning.truth import Truth, read_files, try_reading
from shardwise.core.errors import InputError

MODELS = ["acme/toy-7b", "acme/toy-13b", "base-8b", "gpt x (new)", "modèle,2"]
NAMED = ["acme-7b", "acme-13b", "base_8b", "grösse", "a+b"]
"""Names that may also be names of files."""
Files = dict[str, bytes]


@dataclass(frozen=True)
class VoteTruth(Truth):
    """Votes: (first, second, outcome), 1 where the first wins, 0 for a tie."""

    votes: Sequence[tuple[str, str, int]] = ()

    def explain_difference(self, read: xr.Dataset) -> str:
        """Return what differs between the votes that were read and these."""
        facts = read["strength"].attrs["votes"]
        ties = float(np.mean([outcome == 0 for *_, outcome in self.votes]))
        if sorted(facts.systems) != sorted(
            {name for first, second, _ in self.votes for name in (first, second)}
        ):
            return f"systems {facts.systems}"
        if facts.votes != len(self.votes) or not np.isclose(facts.ties, ties):
            return f"{facts.votes} votes, {facts.ties:.3f} ties instead of {len(self.votes)}, {ties:.3f}"
        wins = dict.fromkeys(facts.systems, 0)
        for first, second, outcome in self.votes:
            wins[first] += outcome
            wins[second] -= outcome
        strength = dict(zip(facts.systems, facts.fit.strengths, strict=True))
        for a, b in itertools.combinations(facts.systems, 2):
            if (wins[a] - wins[b]) * (strength[a] - strength[b]) < 0:
                return f"{a} has {wins[a]:+} wins and {b} {wins[b]:+}, but strengths are {strength[a]}, {strength[b]}"
        return ""


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _dump_lines(rows: Sequence[Any]) -> bytes:
    return b"".join(_dump(row) + b"\n" for row in rows)


def _cells(truth: Truth, measure: str, system: int) -> list[tuple[str, int, float]]:
    """Item, repeat and score of a system, repeat by repeat."""
    scores = truth.scores[measure]
    return [
        (item, r, float(scores[k, system, r]))
        for r in range(scores.shape[2])
        for k, item in enumerate(truth.items)
    ]


# tools: the truth as files --------------------------------------------------------------------------------------------


def _write_inspect(g: random.Random, truth: Truth) -> Files:
    files, form = {}, g.choice(("eval", "json"))
    for j, model in enumerate(truth.systems):
        samples = [
            {
                "id": item,
                "epoch": r + 1,
                "scores": {"match": {"value": "CI"[score == 0] if form == "eval" else score}},
            }
            for item, r, score in _cells(truth, "match", j)
        ]
        header = {"version": 2, "status": "success", "eval": {"task": "toyqa", "model": model}, "plan": {}}
        if form == "json":
            files[f"log{j}.json"] = _dump({**header, "samples": samples})
            continue
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("header.json", json.dumps(header))
            if g.random() < 0.5:
                archive.writestr("summaries.json", json.dumps(samples))
            else:
                for n, sample in enumerate(samples):
                    archive.writestr(f"samples/{n}.json", json.dumps(sample))
        files[f"log{j}.eval"] = stream.getvalue()
    return files


def _write_lm_eval(g: random.Random, truth: Truth) -> Files:
    files = {}
    for j, model in enumerate(truth.systems):
        rows = [
            {"doc_id": int(item), "doc": {"q": item}, "target": "x", "resps": [["a"]], "filtered_resps": ["a"],
             "doc_hash": "0", "metrics": ["acc"], "filter": "none", "acc": score}
            for item, _, score in _cells(truth, "acc", j)
        ]  # fmt: skip
        g.shuffle(rows)
        folder = model.replace("/", "__")
        files[f"{folder}/samples_toyqa_2026-11-17T12-34-1{j}.821888.jsonl"] = _dump_lines(rows)
        results = {"results": {"toyqa": {"acc,none": 0.1}}, "configs": {}, "model_name": model}
        files[f"{folder}/results_2026-11-17T12-34-1{j}.821888.json"] = _dump(results)
    return files


def _write_promptfoo(g: random.Random, truth: Truth) -> Files:
    rows = [
        {"provider": {"id": model, "label": model}, "success": bool(score), "score": score, "testIdx": n,
         "vars": {"question": item}, "testCase": {"vars": {"question": item}}, "prompt": {"label": "p", "raw": "p"},
         "namedScores": {}}
        for j, model in enumerate(truth.systems)
        for n, (item, _, score) in enumerate(_cells(truth, "success", j))
    ]  # fmt: skip
    g.shuffle(rows)
    if g.random() < 0.5:
        return {"out.jsonl": _dump_lines(rows)}
    return {"out.json": _dump({"evalId": "e", "config": {}, "results": {"version": 3, "results": rows}})}


def _write_deepeval(g: random.Random, truth: Truth) -> Files:
    files = {}
    for j, model in enumerate(truth.systems):
        cases = [
            {"name": f"case_{n}", "input": item, "actualOutput": "x", "success": bool(score),
             "metricsData": [{"name": "GEval", "score": score / 2}]}
            for n, (item, _, score) in enumerate(_cells(truth, "success", j))
        ]  # fmt: skip
        run = {
            "testCases": cases,
            "conversationalTestCases": [],
            "metricsScores": [],
            "hyperparameters": {"model": model},
        }
        files[f"r{j}/test_run_20261117.json"] = _dump(run)
    return files


def _write_helm(g: random.Random, truth: Truth) -> Files:
    files = {}
    for j, model in enumerate(truth.systems):
        entries = [
            {"instance_id": item, "train_trial_index": r, "stats": [
                {"name": {"name": "num_prompt_tokens", "split": "test"}, "count": 1, "mean": 40.0},
                {"name": {"name": "exact_match", "split": "test"}, "count": 1, "mean": score}]}
            for item, r, score in _cells(truth, "exact_match", j)
        ]  # fmt: skip
        folder = f"runs/v1/sums:off={j},model={model.replace('/', '_')}"
        files[f"{folder}/per_instance_stats.json"] = _dump(entries)
        files[f"{folder}/run_spec.json"] = _dump({"adapter_spec": {"model": model}})
        files[f"{folder}/stats.json"] = _dump([{"name": {"name": "exact_match"}, "mean": 0.5}])
    return {
        name.replace(f"off={j}", "off=1"): text
        for j in range(9)
        for name, text in files.items()
        if f"off={j}" in name
    }


def _write_lighteval(g: random.Random, truth: Truth) -> Files:
    files = {}
    for j, model in enumerate(truth.systems):
        rows = [
            {
                "doc": {"id": item, "task_name": "sums|0", "query": "q"},
                "metric": {"em": score},
                "model_response": {"text": "x"},
            }
            for item, _, score in _cells(truth, "em", j)
        ]
        stream = io.BytesIO()
        pa.parquet.write_table(pa.Table.from_pylist(rows), stream)
        files[f"details/{model}/2026-11-17T12-57-0{j}/details_sums|0_2026-11-17.parquet"] = stream.getvalue()
    return files


def _write_every_eval_ever(g: random.Random, truth: Truth) -> Files:
    return {
        f"toyqa/{model}/{j}_samples.jsonl": _dump_lines([
            {"schema_version": "0.3.0", "model_id": model, "evaluation_name": "toyqa", "evaluation_result_id": "match",
             "sample_id": item, "evaluation": {"score": score, "is_correct": bool(score)}}
            for item, _, score in _cells(truth, "match", j)])
        for j, model in enumerate(truth.systems)
    }  # fmt: skip


def _write_swe_bench(g: random.Random, truth: Truth) -> Files:
    form = g.choice(("lists", "flat", "single"))
    files: Files = {}
    for j, model in enumerate(truth.systems):
        cells = _cells(truth, "resolved", j)
        if form == "lists":
            ids = [item for item, *_ in cells]
            files[f"{model}.run1.json"] = _dump({
                "total_instances": len(ids), "submitted_ids": ids, "resolved_ids": [i for i, _, s in cells if s],
                "unresolved_ids": [i for i, _, s in cells if not s]})  # fmt: skip
        elif form == "flat":
            files[f"{model}/eval_results.json"] = _dump({item: bool(score) for item, _, score in cells})
        else:
            for item, _, score in cells:
                files[f"logs/run1/{model}/{item}/report.json"] = _dump({item: {"resolved": bool(score)}})
    return files


def _write_openai_evals(g: random.Random, truth: Truth) -> Files:
    files = {}
    for j, model in enumerate(truth.systems):
        events = [
            {
                "run_id": "r",
                "event_id": n,
                "sample_id": item,
                "type": "match",
                "data": {"correct": bool(score)},
            }
            for n, (item, _, score) in enumerate(_cells(truth, "correct", j))
        ]
        spec = {"spec": {"completion_fns": [model], "eval_name": "sums.v0", "base_eval": "sums"}}
        files[f"{j}.jsonl"] = _dump_lines([spec, {"final_report": {"accuracy": 0.1}}, *events])
    return files


def _write_human_eval(g: random.Random, truth: Truth) -> Files:
    return {
        f"{model}.jsonl_results.jsonl": _dump_lines([
            {"task_id": item, "completion": "x", "result": "passed" if score else "failed", "passed": bool(score)}
            for item, _, score in _cells(truth, "passed", j)])
        for j, model in enumerate(truth.systems)
    }  # fmt: skip


def _write_evalplus(g: random.Random, truth: Truth) -> Files:
    files = {}
    for j, model in enumerate(truth.systems):
        samples: dict[str, list[Any]] = {item: [] for item in truth.items}
        for item, _, score in _cells(truth, "plus", j):
            samples[item].append(
                {"task_id": item, "base_status": "pass", "plus_status": "pass" if score else "fail"}
            )
        files[f"{model}_eval_results.json"] = _dump({"date": "d", "hash": "h", "eval": samples})
    return files


def _write_alpaca_eval(g: random.Random, truth: Truth) -> Files:
    return {
        f"results/{j}/annotator/annotations.json": _dump([
            {"instruction": item, "generator_1": "baseline", "generator_2": model, "preference": 1 + score,
                "annotator": "a"}
            for item, _, score in _cells(truth, "win", j)])
        for j, model in enumerate(truth.systems)
    }  # fmt: skip


def _write_mt_bench(g: random.Random, truth: Truth) -> Files:
    rows = [
        {
            "question_id": int(item),
            "model": model,
            "judge": ["gpt-4", "single-v1"],
            "turn": turn,
            "score": score + shift,
        }
        for j, model in enumerate(truth.systems)
        for item, _, score in _cells(truth, "score", j)
        for turn, shift in ((1, 0.5), (2, -0.5))
    ]
    g.shuffle(rows)
    return {"gpt-4_single.jsonl": _dump_lines(rows)}


def _write_mteb(g: random.Random, truth: Truth) -> Files:
    return {
        f"{model.replace('/', '__')}/rev/{item}.json": _dump({
            "mteb_version": "1.2", "task_name": item, "dataset_revision": "x",
            "scores": {"test": [{"main_score": score + 0.125, "hf_subset": "a"}, {"main_score": score - 0.125}]}})
        for j, model in enumerate(truth.systems)
        for item, _, score in _cells(truth, "main_score", j)
    }  # fmt: skip


def _write_ragas(g: random.Random, truth: Truth) -> Files:
    """A table for each system, which its file names."""
    files = {}
    for j, model in enumerate(truth.systems):
        stream = io.StringIO()
        writer = csv.writer(stream)
        writer.writerow(["user_input", "retrieved_contexts", "response", "reference", "faithfulness"])
        for item, _, score in _cells(truth, "faithfulness", j):
            writer.writerow([item, "['a, b', 'c']", f"it is\n{item}", "ref", score])
        files[f"{model}.csv"] = stream.getvalue().encode()
    return files


def _write_trec_eval(g: random.Random, truth: Truth) -> Files:
    """What trec_eval -q prints, a file for each run."""
    return {
        f"{model}.txt": "".join(
            [f"map                   \t{item}\t{score:.4f}\n" for item, _, score in _cells(truth, "map", j)]
            + [f"runid                 \tall\t{model}\n", "map                   \tall\t0.1234\n"]).encode()
        for j, model in enumerate(truth.systems)
    }  # fmt: skip


def _write_votes(g: random.Random, truth: Truth) -> Files:
    assert isinstance(truth, VoteTruth)
    words = g.choice((("model_a", "model_b", "tie"), ("A", "B", "Tie"), ("left", "right", "tie")))
    heads = ("left", "right") if words[0] == "left" else ("model_a", "model_b")
    rows = [
        {
            "question_id": f"q{n % 9}",
            heads[0]: a,
            heads[1]: b,
            "winner": words[{1: 0, -1: 1, 0: 2}[outcome]],
            "judge": f"j{n % 5}",
        }
        for n, (a, b, outcome) in enumerate(truth.votes)
    ]
    if g.random() < 0.3:
        rows = [
            {**row, "winner": row[heads[words.index(row["winner"])]] if row["winner"] in words[:2] else "tie"}
            for row in rows
        ]
    if g.random() < 0.5:
        return {"votes.jsonl": _dump_lines(rows)}
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return {"votes.csv": stream.getvalue().encode()}


def _write_pairs(g: random.Random, truth: Truth) -> Files:
    """MT-bench judgments of pairs: two votes a line, the second with the answers exchanged."""
    assert isinstance(truth, VoteTruth)
    words = {1: ("model_1", "model_2"), -1: ("model_2", "model_1"), 0: ("tie", "tie")}
    rows = []
    halves = zip(truth.votes[::2], truth.votes[1::2], strict=True)
    for n, ((a, b, outcome), (_, _, other)) in enumerate(halves):
        rows.append({"question_id": n, "model_1": a, "model_2": b, "judge": ["gpt-4", "pair-v2"],
                     "g1_winner": words[outcome][0], "g2_winner": words[-other][0]})  # fmt: skip
    return {"gpt-4_pair.jsonl": _dump_lines(rows)}


@dataclass(frozen=True)
class Tool:
    """How files of a tool are written: names, scores, repeats."""

    write: Callable[[random.Random, Truth], Files]
    measure: str
    systems: Sequence[str]
    item: Callable[[int], str]
    scores: str = "binary"
    repeats: int = 1
    inputs: str = ""  # what is named on the command line, as a pattern; all files where empty
    votes: bool = False


TOOLS = {
    "inspect": Tool(_write_inspect, "match", MODELS, "q{}".format, repeats=3),
    "lm-eval": Tool(_write_lm_eval, "acc", MODELS[:2], str, "share", inputs="**/samples_*.jsonl"),
    "promptfoo": Tool(_write_promptfoo, "success", MODELS, "What is {0}+{0}?".format, repeats=3),
    "deepeval": Tool(_write_deepeval, "success", MODELS, "What is {0}+{0}?".format, inputs="r*"),
    "helm": Tool(
        _write_helm, "exact_match", MODELS[:2], "id{}".format, "share", 2, inputs="**/per_instance_stats.json"
    ),
    "lighteval": Tool(_write_lighteval, "em", MODELS[:2], str, "share", inputs="**/*.parquet"),
    "every eval ever": Tool(
        _write_every_eval_ever, "match", MODELS[:3], "q{}".format, inputs="**/*_samples.jsonl"
    ),
    "swe-bench": Tool(
        _write_swe_bench, "resolved", NAMED[:3], "django__django-1{:04}".format, inputs="**/*.json"
    ),
    "openai evals": Tool(_write_openai_evals, "correct", MODELS, "sums.s.{}".format, repeats=2),
    "human eval": Tool(_write_human_eval, "passed", NAMED, "HumanEval/{}".format, repeats=3),
    "evalplus": Tool(_write_evalplus, "plus", NAMED, "Mbpp/{}".format, repeats=3),
    "alpaca eval": Tool(
        _write_alpaca_eval, "win", MODELS, "Tell me {} things".format, "share", inputs="**/*.json"
    ),
    "mt-bench": Tool(_write_mt_bench, "score", MODELS, str, "grade"),
    "mteb": Tool(_write_mteb, "main_score", MODELS[:2], "Task{}".format, "share", inputs="**/*.json"),
    "ragas": Tool(_write_ragas, "faithfulness", NAMED, "Why, exactly, {}?".format, "share"),
    "trec_eval -q": Tool(_write_trec_eval, "map", NAMED[:3], lambda k: str(300 + k), "share"),
    "votes": Tool(_write_votes, "", MODELS[:4], str, votes=True),
    "mt-bench pairs": Tool(_write_pairs, "", MODELS[:4], str, votes=True),
}
DRAWS: dict[str, Callable[[random.Random], float]] = {
    "binary": lambda g: float(g.random() < 0.6),
    "share": lambda g: round(g.uniform(0.2, 0.8), 3),
    "grade": lambda g: float(g.randint(2, 9)),
}
MEANS: dict[str, Callable[[random.Random], Files]] = {
    "lm-eval results": lambda g: {"results.json": _dump({"results": {"t": {"acc,none": 0.4}}, "configs": {},
        "n-shot": {}})},
    "lighteval results": lambda g: {"results.json": _dump({"config_general": {}, "results": {"t": {"em": 0.3}},
        "config_tasks": {}})},
    "ranx report": lambda g: {"report.json": _dump({"model_names": ["a"], "metrics": ["map"], "stat_test": "t"})},
    "ranx run": lambda g: {"run.json": _dump({f"q{k}": {f"d{k}{n}": g.random() for n in range(5)} for k in range(5)})},
    "tira": lambda g: {"evaluation.prototext": b'measure {\n  key: "map"\n  value: "0.4"\n}\n'},
    "trec_eval means": lambda g: {"a.txt": b"map                   \tall\t0.1234\nP_10                  \tall\t0.2\n"},
}  # fmt: skip
"""Files without scores of single items, which are refused."""


def make_log(g: random.Random) -> tuple[str, Truth | None, Files, str]:
    """Return the tool, the truth (None where there is none to be read), the files and which of them are named."""
    name = g.choice([*TOOLS, *TOOLS, *MEANS])
    if name in MEANS:
        return name, None, MEANS[name](g), ""
    tool = TOOLS[name]
    n_items, n_systems = g.randint(4, 14), g.randint(2, len(tool.systems))
    systems = tuple(tool.systems[:n_systems])
    if tool.votes:
        truth = _make_votes(g, systems, paired=name == "mt-bench pairs")
        return name, truth, tool.write(g, truth), tool.inputs
    repeats = g.randint(1, tool.repeats)
    draw = DRAWS[tool.scores]
    scores = [[[draw(g) for _ in range(repeats)] for _ in systems] for _ in range(n_items)]
    items = tuple(tool.item(k) for k in range(1, n_items + 1))
    truth = Truth(items, systems, {tool.measure: np.array(scores)}, True, (name, f"{repeats} repeats"))
    return name, truth, tool.write(g, truth), tool.inputs


def _make_votes(g: random.Random, systems: tuple[str, ...], *, paired: bool) -> Truth:
    """Every pair equally often in both orders, so that the order of strengths is that of wins."""
    votes = []
    for _ in range(g.randint(6, 12)):
        for a, b in itertools.combinations(systems, 2):
            lean = 0.6 * (systems.index(b) - systems.index(a))
            for first, second, sign in ((a, b, 1), (b, a, -1)):
                weights = [np.exp(sign * lean), np.exp(-sign * lean), 0.5]
                votes.append((first, second, g.choices((1, -1, 0), weights)[0]))
    if not paired:
        g.shuffle(votes)
    # a system that never loses to another may have no finite strength, which is refused
    wins = {
        (first, second) if outcome > 0 else (second, first) for first, second, outcome in votes if outcome
    }
    finite = len(wins) == len(systems) * (len(systems) - 1)
    return VoteTruth((), systems, {}, finite, ("votes",), votes=votes)


def try_log(case: tuple[str, Truth | None, Files, str]) -> str:
    """Write the files and read them: all, or those that the pattern names; sometimes their folder."""
    name, truth, files, pattern = case
    folder = FOLDER / "logs"
    shutil.rmtree(folder, ignore_errors=True)
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    paths = sorted(folder.glob(pattern)) if pattern else [folder / path for path in files]
    if truth is not None:
        return try_reading(replace(truth, traits=(name, *truth.traits)), paths, folder)
    try:
        read = read_files(tuple(paths), {})
    except InputError as error:
        if not error.remedy:
            raise Wrong(f"refused without a remedy: {error}") from None
        return "refused"
    raise Wrong(f"{name} is read as {read}")
