"""shardwise compare of systems with repeated scores: seeds, samples, sessions."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shardwise as sw
from command_line import shardwise


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


PATTERN = ("--instances", "{system}_seed{instance}.run")


def test_runs_by_pattern_say_what_the_library_says(folder: Path) -> None:
    files = [path for system in "xyz" for path in sorted((folder / system).iterdir())]
    done = shardwise("compare", folder / "qrels", *files, *PATTERN, "-f", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    runs = sw.instances.read_instances(files, folder / "qrels")
    expected = sw.compare(runs.arrange(sw.score(runs.collection, "AP"))["AP"])
    assert [(row["a"], row["b"]) for row in told["rows"]] == list(
        expected.to_frame()[["a", "b"]].itertuples(index=False, name=None)
    )
    assert [row["p_adjusted"] for row in told["rows"]] == pytest.approx(list(expected.p_adjusted))
    assert (told["claim"], told["procedure"]) == (expected.claim, "moderated topic+instance")
    assert [row["p_adjusted"] < 0.05 for row in told["rows"]] == [True, True, False]


def test_a_folder_a_system(folder: Path) -> None:
    named = shardwise("compare", folder / "qrels", *(folder / s for s in "zx"), "--instances", "folder")
    assert named.returncode == 0, named.stderr
    pattern = shardwise("compare", folder / "qrels", *(folder / s for s in "zx"), *PATTERN)
    systems = [line for line in pattern.stdout.splitlines() if line.startswith(("z  ", "x  "))]
    assert len(systems) == 2
    assert set(systems) <= set(named.stdout.splitlines())


def test_a_margin(folder: Path) -> None:
    words = ("compare", folder / "qrels", folder / "z", folder / "x", *PATTERN)
    runs = sw.instances.read_instances(
        [*sorted((folder / "z").iterdir()), *sorted((folder / "x").iterdir())], folder / "qrels"
    )
    pairs = sw.compare(runs.arrange(sw.score(runs.collection, "AP"))["AP"])
    for side, word in (("lower", "not-worse"), ("both", "both"), ("superior", "better")):
        margin = ("--margin", f"0.01:{word}")
        expected = sw.equivalence(pairs, 0.01, side)
        (row,) = json.loads(shardwise(*words, *margin, "-f", "json").stdout)["rows"]
        assert (row["a"], row["b"], row["holds"]) == ("z", "x", expected.holds)
        assert row[f"p_{side}"] == pytest.approx(expected.table["p"].iloc[0])
        assert str(expected) in shardwise(*words, *margin).stdout


def test_a_deterministic_system(folder: Path) -> None:
    words = ("compare", folder / "qrels", folder / "z", folder / "x" / "x_seed0.run", *PATTERN)
    undeclared = shardwise(*words)
    assert undeclared.returncode == 2
    assert "'x' has a single instance" in undeclared.stderr
    done = shardwise(*words, "--deterministic", "x")
    assert done.returncode == 0, done.stderr
    assert undeclared.stdout != done.stdout


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
    done = shardwise("compare", scores, "-f", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["repeats"].startswith("Repeats treated as seeds (safe).")
    assert [row["p_adjusted"] for row in told["rows"]] == pytest.approx(list(sw.compare(scores).p_adjusted))
    pairwise = json.loads(shardwise("compare", scores, "--method", "unified holm", "-f", "json").stdout)
    expected = list(sw.compare(scores, "unified holm").p_adjusted)
    assert [row["p_adjusted"] for row in pairwise["rows"]] == pytest.approx(expected)
    words = ("--repeats", "samples", "--baseline", "base", "--margin", "0.01:better")
    rows = json.loads(shardwise("compare", scores, *words, "-f", "json").stdout)["rows"]
    assert {row["b"] for row in rows} == {"base"}
    assert [row["holds"] for row in rows] == [True, False, False]


def test_two_systems_by_other_methods(scores: Path) -> None:
    two = ("--only", "rate4", "--only", "base", "--fill", 0.5)
    told = json.loads(shardwise("compare", scores, *two, "--method", "repeats t-means", "-f", "json").stdout)
    table = sw.read_scores(scores).fillna(0.5)
    expected = sw.compare_instances(table.sel(system="rate4"), table.sel(system="base"), method="t-means")
    (row,) = told["rows"]
    assert (row["difference"], row["p"]) == pytest.approx((expected.difference[0], expected.p[0]))


def test_other_tables(scores: Path, tmp_path: Path) -> None:
    two = ("--only", "rate4", "--only", "rate1")
    seeds = shardwise("compare", scores, *two, "--table", "seeds")
    assert "each seed of rate4 against rate1 by itself: 3 better" in seeds.stdout
    chart = tmp_path / "spread.json"
    assert shardwise("compare", scores, *two, "--table", "spread", "--chart", chart).returncode == 0
    assert chart.exists()
    shares = json.loads(shardwise("compare", scores, "--table", "shares", "-f", "json").stdout)["rows"]
    assert sum(row["share"] for row in shares) == pytest.approx(1.0)
    series = json.loads(
        shardwise(
            "compare", scores, "--table", "settings", "--baseline", "base", "--margin", 0.05, "-f", "json"
        ).stdout
    )
    assert [row["setting"] for row in series["rows"]] == [1, 2, 4]
    assert series["smallest"] == 1
    # the posterior distribution that belongs to the default
    hpd = json.loads(shardwise("compare", scores, *two, "--margin", "0.01:better:hpd", "-f", "json").stdout)
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
"""Options that change what is computed from a table."""


def figures(command: str, *arguments: object) -> list[dict[str, float]]:
    done = shardwise(command, *arguments, "-f", "json")
    assert done.returncode == 0, done.stderr
    names = ("a", "b", "difference", "lower", "upper", "se", "df", "p", "p_adjusted", "effect_size")
    return [{name: row[name] for name in names} for row in json.loads(done.stdout)["rows"]]


@pytest.mark.parametrize("name", TAKEN)
def test_every_option_does_something(scores: Path, name: str) -> None:
    found = figures("compare", scores, *TAKEN[name])
    assert name in ("measure", "columns") or found != figures("compare", scores)


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
    found = figures("compare", *files)
    assert [(row["a"], row["b"]) for row in found] == [("b", "a")]


def test_a_file_of_options_names_scores(scores: Path, tmp_path: Path) -> None:
    (tmp_path / "analysis.toml").write_text(f'[compare]\nscores = "{scores}"\nbaseline = "base"\n')
    done = shardwise("compare", "--config", tmp_path / "analysis.toml", "-f", "json")
    assert [row["b"] for row in json.loads(done.stdout)["rows"]] == ["base"] * 3


@pytest.mark.parametrize(("options", "said"), [
    (("--table", "seeds", "--method", "unified none"), "--method has no effect with this --table"),
    (("--calibration", "9"), "--calibration has no effect without a report"),
    (("--only", "base", "--only", "rate1", "--report", "r.html"), "a report compares all systems"),
    (("--method", "repeats t-means", "--report", "r.html"), "a report needs a method for all systems"),
    (("--like", "depth=9"), "--like depth has no effect with a table of scores"),
    (("--fill", "most"), "unknown policy for undefined cells"),
    (("--instances", "{system}.run"), "--instances has no effect with a table of scores"),
    (("--repeats", "seed"), "seeds"),
    (("--method", "unified holm", "--repeats", "seeds"), "a method too"),
    (("--table", "settings"), "settings need a baseline"),
    (("--table", "seeds"), "4 systems, but this needs two"),
    (("--margin", "0.1:wald"), "tost"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(scores: Path, options: tuple[str, ...], said: str) -> None:
    done = shardwise("compare", scores, *options)
    assert done.returncode == 2
    assert said in done.stderr
