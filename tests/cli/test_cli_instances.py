"""shardwise instances, as a command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
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


def test_two_systems_say_what_the_library_says(folder: Path) -> None:
    z, x = (sorted((folder / system).iterdir()) for system in "zx")
    done = shardwise("instances", *z, "--", *x, "--qrels", folder / "qrels", "--side", "lower", "-f", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    runs = sw.instances.read_instances([*z, *x], folder / "qrels")
    scores = runs.arrange(sw.score(runs.collection, "AP"))["AP"]
    expected = sw.compare_instances(scores.sel(system="z"), scores.sel(system="x"))
    (row,) = told["rows"]
    assert (row["a"], row["b"], row["holds"]) == ("z", "x", True)
    assert row["difference"] == pytest.approx(expected.difference)
    assert row["p"] == pytest.approx(expected.p)
    assert told["claim"] == expected.claim
    assert told["title"].startswith("z is better than x by ")


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
    assert sentence == "rate4 is better than every other model on questions like these, whatever the seed"
    assert repeats.startswith(
        "taken as seeds, which is right for samples too; no seed is seen to move all questions"
    )
    expected = sw.compare(scores, "unified holm").to_frame()
    assert [row["p_adjusted"] for row in told["rows"]] == pytest.approx(list(expected["p_adjusted"]))
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
    hpd = json.loads(
        shardwise("instances", scores, *two, "--verdict", "hpd", "--side", "superior", "-f", "json").stdout
    )
    assert hpd["rows"][0]["probability"] > 0.99


@pytest.mark.parametrize(("options", "said"), [
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
