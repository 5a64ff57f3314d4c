"""shardwise instances, as a command."""

from __future__ import annotations

import json
import zipfile
from dataclasses import fields
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import shardwise as sw
from command_line import shardwise
from shardwise.analysis.analyze import analyze
from shardwise.cli.commands.compare import CompareOptions
from shardwise.cli.commands.instances import InstancesOptions
from shardwise.report.embedded import read_report


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three systems with four seeds each: z ranks the relevant documents best, x and y alike."""
    where = tmp_path_factory.mktemp("seeds")
    rng = np.random.default_rng(5)
    topics = [str(t) for t in range(1, 21)]
    (where / "qrels").write_text("".join(f"{t} 0 d{d} {int(d < 8)}\n" for t in topics for d in range(40)))
    for system, lift in (("x", 0.5), ("y", 0.5), ("z", 2.5)):
        (where / system).mkdir()
        for seed in range(4):
            rows = []
            for t in topics:
                scores = rng.normal(size=40) + lift * (np.arange(40) < 8)
                rows += [f"{t} Q0 d{d} 0 {s:.6f} {system}{seed}\n" for d, s in enumerate(scores)]
            (where / system / f"{system}_seed{seed}.run").write_text("".join(rows))
    return where


def test_two_systems_say_what_the_library_says(folder: Path) -> None:
    z, x = (sorted((folder / system).iterdir()) for system in "zx")
    done = shardwise("instances", *z, "--", *x, "--qrels", folder / "qrels", "--side", "lower", "-f", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    runs = sw.instances.read_instances([*z, *x], folder / "qrels")
    scores = runs.arrange(sw.score(runs.collection, "AP"))["AP"]
    expected = sw.compare(scores)
    (row,) = told["rows"]
    assert (row["a"], row["b"], row["holds"]) == ("z", "x", True)
    assert row["difference"] == pytest.approx(expected.difference)
    assert row["p_adjusted"] == pytest.approx(expected.p_adjusted)
    assert (told["claim"], told["procedure"]) == (expected.claim, "moderated topic+instance")
    assert told["title"].startswith("z is better than x by ")
    other = shardwise(
        *("instances", *x, "--", *z, "--qrels", folder / "qrels", "--method", "unified none", "-f", "json")
    )
    (row,) = json.loads(other.stdout)["rows"]
    by_itself = sw.compare_instances(scores.sel(system="x"), scores.sel(system="z"))
    assert (row["a"], row["b"]) == ("x", "z"), "in the direction in which they were typed"
    assert (row["difference"], row["p"]) == pytest.approx((by_itself.difference[0], by_itself.p[0]))


def test_several_systems_by_pattern(folder: Path) -> None:
    files = [path for system in "xyz" for path in sorted((folder / system).iterdir())]
    done = shardwise(
        "instances",
        *files,
        "--qrels",
        folder / "qrels",
        "--instances",
        "{system}_seed{instance}.run",
        "-f",
        "json",
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["a"] for row in rows[:2]] == ["z", "z"]
    assert [row["p_adjusted"] < 0.05 for row in rows] == [True, True, False]


def test_a_deterministic_system(folder: Path) -> None:
    z = sorted((folder / "z").iterdir())
    one = folder / "x" / "x_seed0.run"
    undeclared = shardwise("instances", *z, "--", one, "--qrels", folder / "qrels")
    assert "taken to vary as those of the others do" in undeclared.stdout
    done = shardwise("instances", *z, "--", one, "--qrels", folder / "qrels", "--deterministic", "x")
    assert done.returncode == 0, done.stderr
    assert "z - x = " in done.stdout


def test_runs_of_nobody_are_refused(folder: Path) -> None:
    done = shardwise("instances", folder / "z", "--qrels", folder / "qrels")
    assert done.returncode == 2
    assert "whose runs are these?" in done.stderr
    done = shardwise("instances", folder / "z", "--", "--qrels", folder / "qrels")
    assert "one of the two systems has no runs" in done.stderr


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four models with three seeds on thirty questions, the last far better; a few scores are missing."""
    g = np.random.default_rng(6)
    y = g.normal(0.5, 0.2, (30, 1, 1)) + g.normal(0, 0.05, (30, 4, 1)) + g.normal(0, 0.05, (30, 4, 3))
    y += np.array([0.0, 0.0, 0.01, 0.2])[:, None]
    rows = [
        f"q{q},{model},{seed},{y[q, m, seed]:.6f}\n"
        for m, model in enumerate(("base", "rate1", "rate2", "rate4"))
        for q in range(30)
        for seed in range(3)
        if (q, m, seed) not in {(3, 0, 1), (7, 2, 2)}
    ]
    path = tmp_path_factory.mktemp("table") / "scores.csv"
    path.write_text("".join(["question,model,seed,correct\n", *rows]))
    return path


def test_a_table_of_scores(scores: Path) -> None:
    done = shardwise("instances", scores, "-f", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    sentence, repeats, *_ = told["title"].splitlines()
    assert sentence == (
        "rate4 is better than every other model on questions like these, whatever the seed "
        "(by moderated topic+instance)"
    )
    assert repeats.startswith(
        "taken as seeds, which is right for samples too; no seed is seen to move all questions"
    )
    assert [row["p_adjusted"] for row in told["rows"]] == pytest.approx(list(sw.compare(scores).p_adjusted))
    pairwise = json.loads(shardwise("instances", scores, "--method", "unified holm", "-f", "json").stdout)
    expected = list(sw.compare(scores, "unified holm").p_adjusted)
    assert [row["p_adjusted"] for row in pairwise["rows"]] == pytest.approx(expected)
    assert "(by unified holm)" in pairwise["title"].splitlines()[0]
    said = shardwise(
        "instances", scores, "--repeats", "samples", "--baseline", "base", "--side", "superior", "-f", "json"
    )
    rows = json.loads(said.stdout)["rows"]
    assert {row["b"] for row in rows} == {"base"}
    assert [row["holds"] for row in rows] == [True, False, False]


def test_other_tables(scores: Path, tmp_path: Path) -> None:
    two = ("--only", "rate4", "--only", "rate1")
    seeds = shardwise("instances", scores, *two, "--table", "seeds")
    assert "each seed of rate4 against rate1 by itself: 3 better" in seeds.stdout
    chart = tmp_path / "spread.json"
    assert shardwise("instances", scores, *two, "--table", "spread", "--chart", chart).returncode == 0
    assert chart.exists()
    shares = json.loads(shardwise("instances", scores, "--table", "shares", "-f", "json").stdout)["rows"]
    assert sum(row["share"] for row in shares) == pytest.approx(1.0)
    series = json.loads(
        shardwise(
            "instances", scores, "--table", "settings", "--baseline", "base", "--margin", 0.05, "-f", "json"
        ).stdout
    )
    assert [row["setting"] for row in series["rows"]] == [1, 2, 4]
    assert series["smallest"] == 1
    # the posterior law that belongs to the default
    hpd = json.loads(
        shardwise("instances", scores, *two, "--verdict", "hpd", "--side", "superior", "-f", "json").stdout
    )
    assert hpd["rows"][0]["probability"] > 0.99


TAKEN = {
    "measure": ("-m", "correct"),
    "method": ("--method", "unified max-t"),
    "generalize": ("--generalize", "topic"),
    "baseline": ("--baseline", "base", "--baseline", "rate1"),
    "only": ("--only", "rate4", "--only", "rate1", "--only", "base"),
    "repeats": ("--repeats", "samples"),
    "alpha": ("--alpha", "0.1"),
    "fill": ("--fill", "0.5"),
    "seed": ("--seed", "3"),
    "missing": ("--missing", "zero"),
    "columns": ("--columns", "item=question,system=model,instance=seed,score=correct"),
}
"""Options of both commands that are about what is computed from a table."""
OTHERWISE = {"system", "depth", "jobs", "cluster", "chart", "report", "calibration", "quiet", "format", "out"}
"""Options of both that are about files and results."""
OF_COMPARE = {
    *("inputs", "names", "shards", "splits", "kind", "by", "texts", "proportions", "corpus"),
    *("model", "fit", "resamples", "null", "tails", "density", "trim"),
    *("human", "random", "pairs"),
}
"""Options of compare alone: of runs and shards; of means over instances, for which --method has names; those that
average instances or take them for one factor of several; and instances writes all pairs anyway."""


def test_every_option_of_compare_is_known() -> None:
    of_compare, of_instances = (
        {one.name for one in fields(options)} for options in (CompareOptions, InstancesOptions)
    )
    assert of_compare - of_instances == OF_COMPARE
    assert of_compare & of_instances == set(TAKEN) | OTHERWISE


def figures(command: str, *arguments: object) -> list[dict[str, float]]:
    done = shardwise(command, *arguments, "-f", "json")
    assert done.returncode == 0, done.stderr
    names = ("a", "b", "difference", "lower", "upper", "se", "df", "p", "p_adjusted", "effect_size")
    return [{name: row[name] for name in names} for row in json.loads(done.stdout)["rows"]]


@pytest.mark.parametrize("name", ["", *TAKEN])
def test_options_mean_what_they_mean_to_compare(scores: Path, name: str) -> None:
    options = TAKEN.get(name, ())
    found = figures("instances", scores, *options)
    assert found == figures("compare", scores, *options)
    assert name in ("", "measure", "columns") or found != figures("instances", scores), "it does something"


def written(folder: Path, kind: str) -> list[Path]:
    """Scores of two models with two repeats of six questions in files of a kind."""
    rng = np.random.default_rng(3)
    rows = [
        (f"q{q}", m, e, round(float(rng.random() + (m == "b") / 2), 3))
        for m in "ab"
        for q in range(6)
        for e in (1, 2)
    ]
    frame = pd.DataFrame(rows, columns=["question", "model", "seed", "score"])
    path = folder / f"scores.{kind}"
    if kind == "samples":
        line = {"doc": {}, "filter": "none", "metrics": ["em"], "resps": []}
        for model, own in frame.groupby("model"):
            logged = [line | {"doc_id": int(q[1:]), "em": s} for _, q, _, _, s in own.itertuples()]
            (folder / f"{model}-samples_t.jsonl").write_text("\n".join(map(json.dumps, logged)))
        return sorted(folder.glob("*-samples_t.jsonl"))
    if kind in ("json", "eval"):
        for model, own in frame.groupby("model"):
            samples = [
                {"id": q, "epoch": e, "scores": {"m": {"value": s}}} for _, q, _, e, s in own.itertuples()
            ]
            log = {"version": 2, "status": "success", "eval": {"model": model, "task": "t"}}
            if kind == "json":
                (folder / f"{model}.json").write_text(json.dumps(log | {"samples": samples}))
            else:
                with zipfile.ZipFile(folder / f"{model}.eval", "w") as archive:
                    archive.writestr("header.json", json.dumps(log))
                    archive.writestr("summaries.json", json.dumps(samples))
        return sorted(folder.glob(f"*.{kind}"))
    if kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif kind == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    elif kind in ("nc", "parquet", "tsv.gz"):
        sw.write_scores(sw.as_scores(frame), path)
    else:
        frame.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    return [path]


@pytest.mark.parametrize(
    "kind", ["csv", "tsv", "tsv.gz", "jsonl", "parquet", "xlsx", "nc", "samples", "json", "eval"]
)
def test_files_that_compare_takes(tmp_path: Path, kind: str) -> None:
    files = written(tmp_path, kind)
    found = figures("instances", *files)
    assert found == figures("compare", *files)
    assert [(row["a"], row["b"]) for row in found] == [("b", "a")]


def test_a_file_of_options_names_scores(scores: Path, tmp_path: Path) -> None:
    (tmp_path / "analysis.toml").write_text(f'[instances]\nscores = "{scores}"\nbaseline = "base"\n')
    done = shardwise("instances", "--config", tmp_path / "analysis.toml", "-f", "json")
    assert [row["b"] for row in json.loads(done.stdout)["rows"]] == ["base"] * 3


def test_a_report_is_of_what_was_asked(scores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = mock.Mock(wraps=analyze)
    monkeypatch.setattr("shardwise.cli.instances.analyze", asked)
    report = tmp_path / "report.html"
    words = ("--baseline", "base", "--repeats", "samples", "--fill", "0.5", "--calibration", 7)
    done = shardwise("instances", scores, *words, "--report", report)
    assert done.returncode == 0, done.stderr
    (table, how), _ = asked.call_args
    assert not table.isnull().any()
    assert (how.baseline, how.repeats, how.calibration) == (["base"], "samples", 7)
    assert how.inputs == (scores,)
    assert read_report(report)["recipe"]["command"] == ["instances"]


@pytest.mark.parametrize(("options", "said"), [
    (("--table", "seeds", "--method", "unified none"), "--method does nothing with --table seeds"),
    (("--calibration", "9"), "--calibration does nothing without a report"),
    (("--only", "base", "--only", "rate1", "--report", "r.html"), "a report compares all systems"),
    (("--method", "t-means", "--report", "r.html"), "a report is of a procedure"),
    (("--depth", "9"), "--depth does nothing with a table of scores"),
    (("--fill", "most"), "no policy for undefined cells"),
    (("--instances", "{system}.run"), "--instances does nothing with a table of scores"),
    (("--repeats", "seed"), "seeds"),
    (("--method", "unified holm", "--repeats", "seeds"), "a method too"),
    (("--table", "settings"), "settings are held against a baseline"),
    (("--table", "seeds"), "4 systems, and this is for two"),
    (("--table", "shares", "--verdict", "wald"), "tost"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(scores: Path, options: tuple[str, ...], said: str) -> None:
    done = shardwise("instances", scores, *options)
    assert done.returncode == 2
    assert said in done.stderr
