"""shardwise design as a user sees it: the published tables on the terminal, charts in files, clear refusals."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shardwise as sw
from command_line import Done, shardwise
from designs import min_diff_at, power_at, width_at
from shardwise.core.errors import InputError
from shardwise.io.reader import read_collection
from shardwise.io.scores import read_scores
from shardwise.lab.simulate_collection import simulate_collection
from shardwise.planning.design import topics_for_power
from shardwise.planning.plans import design_curve, reach_curve
from shardwise.planning.pools import plan_pools
from shardwise.planning.variances import variance
from shardwise.plot.planning import pool_chart, reach_chart, topics_chart, variance_chart


def design(*arguments: object) -> Done:
    """Run a design command in this process."""
    return shardwise("design", *arguments)


def rows(done: Done) -> list[dict[str, float]]:
    assert done.returncode == 0, done.stderr
    found: list[dict[str, float]] = json.loads(done.stdout)["rows"]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("campaign")
    simulate_collection(
        topics=15, systems=5, depth=60, corpus=3000, relevant=25, pool_depth=60, seed=3
    ).write(where)
    return where


def test_power_as_published() -> None:
    """S14 Table 4: AP, minD .10, 10 and 100 systems, alpha .05, beta .20."""
    found = rows(
        design(
            "power", "--variance", 0.053, "--systems", 10, "--systems", 100, "--method", "sakai", "-f", "json"
        )
    )
    assert [row["topics"] for row in found] == [166, 428]
    assert "measure" not in found[0]


def test_power_in_text_names_the_analysis() -> None:
    done = design("power", "--variance", "AP=0.053", "--systems", 10)
    lines = done.stdout.splitlines()
    assert lines[0] == (
        "You need 167 topics to detect a difference of 0.1 in AP between best and worst of 10 systems"
        " (80% power, level 5%)."
    )
    assert lines[1] == "one-way ANOVA, noncentral F: topics needed"
    assert lines[2].split() == ["measure", "variance", "systems", "alpha", "min_diff", "power", "topics"]
    assert lines[3].split()[-1] == "167"


def test_power_of_scores_is_that_of_the_test_that_will_be_made(data: Path, trec3: Path) -> None:
    """TREC-8: 46 topics, where published tables ask for 155; the sentence says both."""
    table = data / "trec8" / "adhoc8_ap.csv"
    lines = design("power", table, "--systems", 10).stdout.splitlines()
    assert lines[0].startswith(
        "You need 46 topics to detect a difference of 0.1 between any two of 10 systems"
    )
    assert lines[0].endswith(" Unpaired: 155.")
    (row,) = rows(design("power", table, "--systems", 10, "--method", "exact", "-f", "json"))
    assert row["topics"] == 155
    (row,) = rows(design("power", table, "--also", trec3, "-f", "json"))
    ours, other = (variance(read_scores(path)) for path in (table, trec3))
    assert row["variance"] == pytest.approx(ours.pool(other).sigma_sq)
    assert row["topics_assured"] >= row["topics"]
    refused = design("power", table, "--method", "sakai", "--variance", "residual")
    assert "use --variance two-way, or another --method" in refused.stderr


def test_sentences_use_the_words_of_the_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"question": np.repeat(range(30), 3), "model": list("xyz") * 30, "correct": rng.normal(0.5, 0.2, 90)}
    )
    frame.to_csv(tmp_path / "table.csv", index=False)
    said = design("power", tmp_path / "table.csv").stdout.splitlines()[0]
    assert (
        " questions to detect a difference of 0.1 in correct between 2 models (80% power, level 5%)." in said
    )
    found = design("power", tmp_path / "table.csv", "--topics", 1000, "--topics", 20).stdout.splitlines()
    assert found[0].startswith("1,000 questions detect a difference of 0.1")
    width = design("interval", tmp_path / "table.csv", "--topics", 50).stdout.splitlines()[0]
    assert width.startswith(
        "50 questions give 95% confidence intervals of a difference in correct of 2 models that"
    )


def test_budget_prints_the_plan(folder: Path, tmp_path: Path) -> None:
    chart = tmp_path / "budget.svg"
    done = design(
        "budget", folder / "qrels.txt", folder / "runs", "--budget", 2000, "--pool", 10, "--pool", 40,
        "--cost", "topic=5", "--chart", chart, "-f", "json",
    )  # fmt: skip
    collection = read_collection(str(folder / "runs"), str(folder / "qrels.txt"))
    plan = plan_pools(collection, [10, 40], judgments=2000, topic_cost=5, systems=2)
    pd.testing.assert_frame_equal(pd.DataFrame(rows(done)), plan.table, check_dtype=False)
    assert json.loads(done.stdout)["title"] == plan.lines[0]
    assert "smallest difference found" in chart.read_text()
    both = ("--also", f"{folder / 'qrels.txt'},{folder / 'runs'}")
    twice = design("pools", folder / "qrels.txt", folder / "runs", "--pool", 10, *both, "-f", "json")
    once = design("pools", folder / "qrels.txt", folder / "runs", "--pool", 10, "-f", "json")
    assert rows(twice)[0]["variance"] == pytest.approx(rows(once)[0]["variance"])


def test_power_turned_round() -> None:
    (row,) = rows(design("power", "--variance", 0.053, "--systems", 10, "--topics", 50, "-f", "json"))
    assert row["power"] == pytest.approx(power_at(n=50, variance=0.053, min_diff=0.1, systems=10))
    assert row["min_diff_at_target"] == pytest.approx(min_diff_at(n=50, variance=0.053, systems=10))


def test_interval_as_published_and_turned_round() -> None:
    """S14 Table 8: AP and nERR at width .10; the paper could not compute the second."""
    given = ("--variance", "AP=.053", "--variance", "nERR=.1208", "-f", "json")
    assert [row["topics"] for row in rows(design("interval", *given))] == [165, 374]
    first, _ = rows(design("interval", *given, "--topics", 50))
    assert first["width"] == pytest.approx(width_at(n=50, variance=0.053))


def test_table_as_published(tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    done = design(
        "table",
        "--variance",
        "AP=.053",
        "--variance",
        "nERR=.1208",
        "--method",
        "sakai",
        "-f",
        "csv",
        "-o",
        out,
    )
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(out).set_index(["systems", "alpha", "min_diff"])
    assert list(table.columns) == ["AP, power 0.9", "nERR, power 0.9", "AP, power 0.8", "nERR, power 0.8"]
    assert table.loc[(10, 0.01, 0.02)].tolist() == [6920, 15771, 5659, 12898]  # S14 Table 4
    widths = rows(design("table", "--variance", "AP=.053", "--width", 0.1, "--width", 0.15, "-f", "json"))
    assert [row["AP"] for row in widths if row["alpha"] == 0.05] == [165, 75]  # S14 Table 8
    assert r"\toprule" in design("table", "--variance", 0.053, "-f", "latex").stdout


def test_variance_from_scores_and_from_runs(folder: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.beta(1, 3, (30, 1)) + rng.normal(0, 0.1, (30, 4)), columns=list("wxyz"))
    table.to_csv(tmp_path / "scores.csv", index=False)
    (row,) = rows(design("power", tmp_path / "scores.csv", "--variance", "residual", "-f", "json"))
    assert row["variance"] == pytest.approx(float(variance(table, "residual")))
    done = design("interval", folder / "qrels.txt", folder / "runs", "-m", "AP", "-m", "P@10")
    assert done.returncode == 0, done.stderr
    assert "AP: variance of a difference" in done.stdout
    assert "P@10" in done.stdout


def test_pools_prints_the_study(folder: Path, tmp_path: Path) -> None:
    chart = tmp_path / "cost.html"
    done = design(
        "pools", folder / "qrels.txt", folder / "runs", "--pool", 10, "--pool", 40, "-m", "AP", "-m", "Q@20",
        "--min-diff", 0.2, "--chart", chart, "-f", "json",
    )  # fmt: skip
    study = plan_pools(
        read_collection(str(folder / "runs"), str(folder / "qrels.txt")),
        [10, 40],
        ["AP", "Q@20"],
        min_diff=0.2,
    )
    found = pd.DataFrame(rows(done))
    pd.testing.assert_frame_equal(found, study.table, check_dtype=False)
    assert json.loads(done.stdout)["goals"] == list(study.lines)
    assert "<script src=" not in chart.read_text()


@pytest.mark.parametrize("command", ["power", "interval", "table"])
def test_charts_are_written(command: str, tmp_path: Path) -> None:
    chart = tmp_path / "chart.svg"
    done = design(
        command, "--variance", "AP=.053", "--variance", "nERR=.12", "--alpha", 0.05, "--chart", chart
    )
    assert done.returncode == 0, done.stderr
    assert chart.read_text().startswith("<svg")
    assert "topics needed" in chart.read_text()
    wide = design("table", "--variance", ".053", "--width", 0.1, "--chart", tmp_path / "w.json")
    assert wide.returncode == 0
    assert "width of the interval" in (tmp_path / "w.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("power",), "a variance is needed, stated or estimated; give --variance 0.053"),
        (("power", "scores.csv", "--variance", "1"), "a variance is needed"),
        (("power", "--variance", "much"), "a variance is needed, stated or estimated"),
        (("power", "--variance", "-1"), "variance = -1: a variance must be above 0"),
        (("power", "--variance", ".05", "--power", "0.05"), "power 0.05 is not above alpha 0.05"),
        (("power", "--variance", ".05", "--method", "guess"), "unknown design method 'guess'"),
        (
            ("interval", "--variance", ".05", "--width", "0"),
            "no number of topics gives an interval without width",
        ),
        (("interval", "nowhere.csv"), "nowhere.csv: no such file"),
        (
            ("interval", "--variance", ".05", "--chart", "chart.gif"),
            "chart.gif: unknown chart format '.gif'",
        ),
    ],
)
def test_refusals_are_one_line(arguments: tuple[str, ...], said: str) -> None:
    done = design(*arguments)
    assert done.returncode == 2, done.stdout
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr


def test_a_measure_that_the_scores_lack(tmp_path: Path, folder: Path) -> None:
    table = pd.DataFrame(
        {
            "topic": ["1", "1", "2", "2"],
            "system": ["a", "b"] * 2,
            "AP": [0.1, 0.2, 0.3, 0.5],
            "RR": [1, 0.5, 0.2, 1],
        }
    )
    table.to_csv(tmp_path / "long.csv", index=False)
    assert [row["measure"] for row in rows(design("power", tmp_path / "long.csv", "-f", "json"))] == [
        "AP",
        "RR",
    ]
    done = design("power", tmp_path / "long.csv", "-m", "P@10")
    assert "has no measure 'P@10'; it has AP, RR" in done.stderr
    pools = design("pools", folder / "qrels.txt", folder / "runs", "--pool", 500)
    assert "no run is deeper than 60" in pools.stderr


# --- charts --------------------------------------------------------------------------------------------------


def test_charts_hold_the_numbers_of_their_tables() -> None:
    curve = design_curve({"AP": 0.05, "Q": 0.04}, systems=[2, 10])
    drawn = topics_chart(curve).to_dict()
    (data,) = drawn["datasets"].values()
    assert [point["topics"] for point in data] == curve["topics"].tolist()
    assert drawn["layer"][0]["encoding"]["x"]["scale"]["type"] == "linear"
    log = topics_chart(
        pd.DataFrame(
            {
                "measure": "AP",
                "variance": [0.1, 0.2],
                "topics": topics_for_power(variance=[0.1, 0.2], min_diff=0.1),
            }
        ),
        "variance",
    ).to_dict()
    assert log["layer"][0]["encoding"]["y"]["scale"]["type"] == "log"
    reach = reach_chart(reach_curve({"AP": 0.05, "Q": 0.04}, topics=[20, 50], systems=[2])).to_dict()
    assert reach["layer"][0]["encoding"]["color"]["scale"]["domain"] == [
        "AP: min_diff, 2 systems", "Q: min_diff, 2 systems", "AP: width", "Q: width",
    ]  # fmt: skip
    with pytest.raises(InputError, match="no column 'value' to draw"):
        reach_chart(curve)


def test_variance_and_pool_charts(folder: Path) -> None:
    table = np.random.default_rng(2).normal(0.3, 0.1, (12, 4))
    grid = pd.DataFrame({method: [float(variance(table, method))] for method in ("one-way", "two-way")})
    bars = variance_chart(grid).to_dict()
    assert bars["layer"][0]["encoding"]["color"]["scale"]["domain"] == list(grid.columns)
    study = plan_pools(read_collection(str(folder / "runs"), str(folder / "qrels.txt")), [10, 40], width=None)
    (data,) = pool_chart(study).to_dict()["datasets"].values()
    assert [point["judgments"] for point in data] == study.table["judgments_power"].tolist()
    with pytest.raises(InputError, match="no column 'topics_interval'"):
        pool_chart(study, "interval")


def test_shards_are_planned_as_by_the_library(tmp_path: Path) -> None:
    """Runs are split into each number of shards, and the model is estimated there."""
    made = sw.simulate.collection(topics=12, systems=4, depth=100, corpus=3000, relevant=30, seed=3)
    made.write(tmp_path)
    inputs = (tmp_path / "qrels.txt", *sorted((tmp_path / "runs").iterdir()))
    runs = sw.read_collection(list(inputs[1:]), inputs[0])
    tables = {}
    for n in (2, 4):
        scores = sw.score(runs, "AP", sw.split(runs, n, seed=0))["AP"]
        tables[n] = sw.fill_undefined(scores, "zero")
    line = ("design", "shards", *inputs, "--shards", 2, "--shards", 4, "--min-diff", 0.1, "--format", "csv")
    done = shardwise(*line)
    assert done.returncode == 0, done.stderr
    rows = pd.read_csv(io.StringIO(done.stdout))
    for k, claim in enumerate(("topic", "these", "topic,shard")):
        part = rows.iloc[2 * k : 2 * k + 2]
        plan = sw.planning.plan_shards(tables, min_diff=0.1, generalize=claim).table
        np.testing.assert_array_equal(part["topics"], plan["topics"].astype(float))
        np.testing.assert_allclose(part["se"], plan["se"], rtol=1e-9)
    table = tmp_path / "shards.csv"
    tables[4].to_dataframe().reset_index().drop(columns="split", errors="ignore").to_csv(table, index=False)
    done = shardwise("design", "shards", table, "--generalize", "these", "--min-diff", 0.1)
    assert done.returncode == 0, done.stderr
    assert "exactly these topics" in done.stdout
    flat = tmp_path / "flat.csv"
    tables[4].mean(("split", "shard")).to_dataframe().reset_index().to_csv(flat, index=False)
    done = shardwise("design", "shards", flat)
    assert done.returncode == 2
    assert "flat.csv: the scores are not on shards" in done.stderr
