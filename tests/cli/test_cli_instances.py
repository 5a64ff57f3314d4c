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
    assert (row["a"], row["b"], row["holds"]) == ("a", "b", True)
    assert row["difference"] == pytest.approx(expected.difference)
    assert row["p"] == pytest.approx(expected.p)
    assert told["claim"] == expected.claim.replace("of z", "of a").replace("of x", "of b")


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
    done = shardwise("instances", *z, "--", one, "--qrels", folder / "qrels", "--deterministic", "b")
    assert done.returncode == 0, done.stderr
    assert "a - b = " in done.stdout


def test_runs_of_nobody_are_refused(folder: Path) -> None:
    done = shardwise("instances", folder / "z", "--qrels", folder / "qrels")
    assert done.returncode == 2
    assert "whose runs are these?" in done.stderr
    done = shardwise("instances", folder / "z", "--", "--qrels", folder / "qrels")
    assert "one of the two systems has no runs" in done.stderr
