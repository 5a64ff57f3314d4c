"""The command line as a user sees it: commands, output, and one clear line for every error."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from command_line import PAIR_COLUMNS, Done, shardwise
from shardwise.lab.simulate_collection import simulate_collection


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("campaign")
    simulate_collection(
        topics=12, systems=5, depth=60, corpus=3000, relevant=20, pool_depth=30, seed=3
    ).write(where)
    return where


def test_score_prints_means_and_writes_all_scores(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.nc"
    done = shardwise(
        "score", folder / "qrels.txt", folder / "runs", "-m", "AP", "-m", "P@10", "--shards", 3, "--splits", 2,
        "--format", "json", "--out", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [set(row) for row in rows] == [{"system", "AP", "P@10"}] * 5
    assert [row["AP"] for row in rows] == sorted((row["AP"] for row in rows), reverse=True)
    stored = xr.load_dataset(out, engine="h5netcdf")
    assert dict(stored.sizes) == {"split": 2, "topic": 12, "system": 5, "shard": 3}
    best = rows[0]["system"]
    assert np.isclose(float(stored["AP"].sel(system=best).mean()), rows[0]["AP"])


def test_text_output_is_a_table(folder: Path) -> None:
    done = shardwise("score", folder / "qrels.txt", folder / "runs")
    lines = done.stdout.splitlines()
    assert lines[0] == "5 systems, 12 topics"
    assert lines[1].split() == ["system", "AP"]
    assert len(lines) >= 7
    assert "5 systems are called by their run tag" in done.stdout


@pytest.mark.parametrize("format", ["csv", "latex", "json"])
def test_compare_in_other_formats(folder: Path, tmp_path: Path, format: str) -> None:
    out = tmp_path / "pairs"
    done = shardwise(
        "compare", folder / "qrels.txt", folder / "runs", "--shards", 3, "--generalize", "topic",
        "--format", format, "--out", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = out.read_text()
    if format == "csv":
        assert list(pd.read_csv(out).columns) == PAIR_COLUMNS
        assert len(pd.read_csv(out)) == 10
    elif format == "json":
        result = json.loads(text)
        assert "topics like these 12" in result["claim"]
        assert list(result["rows"][0]) == PAIR_COLUMNS
    else:
        assert r"\toprule" in text
        assert text.count(r"\\") == 11


def test_compare_a_table_of_scores_and_draw_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal([0.5, 0.3, 0.1], 0.05, (20, 3)), columns=["x", "y", "z"])
    table.to_csv(tmp_path / "scores.csv", index=False)
    done = shardwise("compare", tmp_path / "scores.csv", "--model", "MD1", "--chart", tmp_path / "c.svg")
    assert done.returncode == 0, done.stderr
    assert "3 of 3 pairs differ significantly (p < 0.05, corrected)" in done.stdout
    assert done.stdout.startswith("Best: x (0.")
    assert (tmp_path / "c.svg").read_text().startswith("<svg")


@pytest.mark.slow
def test_compare_writes_a_report_on_both_claims(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = shardwise(
        "compare", folder / "qrels.txt", folder / "runs", "--shards", 3, "--splits", 2, "--report", page, "--seed", 5
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"report: {page}" in done.stdout
    assert "pairs differ significantly" in done.stdout
    text = page.read_text()
    assert "these 12 topics" in text
    assert "topics like these" in text
    assert "Over 2 splits" in text
    assert text.count('<tr><th scope="row"><bdi>') >= 6  # qrels and five runs, by hash
    digest = hashlib.sha256((folder / "qrels.txt").read_bytes()).hexdigest()
    assert digest in text


@pytest.mark.slow
def test_a_report_of_a_file_of_scores_with_splits(folder: Path, tmp_path: Path) -> None:
    stored = tmp_path / "scores.nc"
    made = ("score", folder / "qrels.txt", folder / "runs", "--shards", 3, "--splits", 2, "--out", stored)
    assert shardwise(*made).returncode == 0
    told = json.loads(shardwise("compare", stored, "--method", "bootstrap", "-f", "json").stdout)
    assert told["procedure"] == "quantile banova MD6 difference bh"
    assert "2 splits" in shardwise("compare", stored).stdout
    assert shardwise("compare", stored, "--report", tmp_path / "r.html").returncode == 0
    assert (tmp_path / "r.html").exists()


@pytest.mark.slow
def test_demo_needs_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, but for the tables that its report would simulate."""
    monkeypatch.chdir(tmp_path)
    done = shardwise("demo")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no bars in a pipe
    readme = (Path(__file__).parent.parent.parent / "README.md").read_text()
    block = readme.partition("$ shardwise demo\n")[2].partition("```")[0].splitlines()
    printed = (line.rstrip() for line in done.stdout.splitlines())
    assert all(line in printed for line in block if line != "..."), "the README shows what it prints"
    made = {path.name for path in (tmp_path / "demo").iterdir()}
    drawn = {"intervals.html", "intervals.png", "report.html"}
    assert made == {"runs", "qrels.txt", "scores.csv", "pairs.csv", ".shardwise-made"} | drawn
    assert "demo/report.html" in done.stdout
    page = (tmp_path / "demo" / "intervals.html").read_text()
    assert "<script src=" not in page


def test_simulate_writes_a_collection(tmp_path: Path) -> None:
    sizes = ("--topics", 3, "--systems", 2, "--depth", 20, "--corpus", "500,relevant=5")
    done = shardwise("simulate", "--out", tmp_path / "made", *sizes)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "made" / "runs").iterdir())) == 2
    again = shardwise("score", tmp_path / "made" / "qrels.txt", tmp_path / "made" / "runs", "-f", "csv")
    assert again.stdout.splitlines()[0] == "system,AP"


def test_diversity_measures(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 1 a 1\n1 2 b 1\n1 2 c 0\n")
    (tmp_path / "x.run").write_text("1 Q0 a 1 3 x\n1 Q0 c 2 2 x\n1 Q0 b 3 1 x\n")
    (tmp_path / "intents").write_text("1 1 0.9\n1 2 0.1\n")
    command = (
        "score",
        tmp_path / "qrels",
        tmp_path / "x.run",
        "-m",
        "StRecall@2",
        "-m",
        "ERR_IA@3",
        "--read",
        "subtopics",
    )
    plain = shardwise(*command, "-f", "json")
    assert plain.returncode == 0, plain.stderr
    assert json.loads(plain.stdout)["rows"][0]["StRecall@2"] == 0.5
    weighted = shardwise(*command, "-f", "json", "--read", f"intents={tmp_path / 'intents'}")
    first, second = (json.loads(done.stdout)["rows"][0]["ERR_IA@3"] for done in (plain, weighted))
    assert second > first


def test_version() -> None:
    assert shardwise("--version").stdout.startswith("shardwise 0.")


def refused(done: Done) -> str:
    """The one line that a refused input gets."""
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


class TestRefusals:
    def test_a_corrupted_byte(self, folder: Path, tmp_path: Path) -> None:
        text = bytearray((folder / "runs" / "sys1.run").read_bytes())
        text[200] = 0
        (tmp_path / "bad.run").write_bytes(bytes(text))
        line = refused(shardwise("score", folder / "qrels.txt", tmp_path / "bad.run"))
        assert "bad.run:6: byte 0x00 does not belong in a text file; the file may be damaged" in line

    def test_a_truncated_gz(self, folder: Path, tmp_path: Path) -> None:
        whole = gzip.compress((folder / "runs" / "sys1.run").read_bytes())
        (tmp_path / "cut.gz").write_bytes(whole[:-30])
        line = refused(shardwise("score", folder / "qrels.txt", tmp_path / "cut.gz"))
        assert "cut.gz: cannot be read as a .gz file" in line
        assert "fetch it again" in line

    def test_a_folder_instead_of_a_file(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        line = refused(shardwise("score", tmp_path / "empty", folder / "runs"))
        assert "empty: the folder has no files" in line

    def test_qrels_given_as_a_run(self, folder: Path) -> None:
        line = refused(shardwise("score", folder / "qrels.txt", folder / "qrels.txt"))
        assert (
            "qrels.txt:1: 4 columns where a run (topic Q0 document rank score tag) has 6; this looks like"
            in line
        )

    def test_nothing_half_written(self, folder: Path, tmp_path: Path) -> None:
        runs, qrels = folder / "runs", folder / "qrels.txt"
        out = tmp_path / "nowhere" / "scores.csv"
        assert "nowhere: no such folder" in refused(shardwise("score", qrels, runs, "--out", out))
        line = refused(shardwise("score", qrels, runs, "-m", "Apx", "--out", tmp_path / "s.csv"))
        assert "Apx" in line
        assert list(tmp_path.iterdir()) == []

    def test_no_runs_and_an_unknown_model(self, folder: Path) -> None:
        assert "no runs were given" in refused(shardwise("score", folder / "qrels.txt"))
        line = refused(shardwise("compare", folder / "qrels.txt", folder / "runs", "--model", "MD9 +"))
        assert "cannot read" in line

    def test_a_model_that_the_scores_cannot_bear(self, folder: Path) -> None:
        line = refused(shardwise("compare", folder / "qrels.txt", folder / "runs", "--model", "MD3"))
        assert "MD3" in line
        assert "shards" in line

    def test_a_report_that_cannot_be(self, folder: Path, tmp_path: Path) -> None:
        runs = (folder / "qrels.txt", folder / "runs")
        line = refused(shardwise("compare", *runs, "--report", tmp_path / "nowhere" / "r.html"))
        assert "nowhere: no such folder" in line
        line = refused(shardwise("compare", *runs, "--report", tmp_path / "r.html", "--only", "sys1"))
        assert "a report compares all systems" in line
        assert list(tmp_path.iterdir()) == []

    def test_usage_errors_have_exit_code_2(self) -> None:
        assert shardwise("score").returncode == 2
        assert shardwise("nonsense").returncode == 2


def test_names_from_files_do_no_harm_on_the_terminal(folder: Path, tmp_path: Path) -> None:
    text = (folder / "runs" / "sys1.run").read_text()
    evil = "\x1b[31mred[bold]<b>"
    (tmp_path / "a.run").write_text(text.replace("sys1", "x" * 300), encoding="utf-8")
    (tmp_path / "b.run").write_text(text.replace("sys1", "[bold]<b>&_%"), encoding="utf-8")
    done = shardwise("score", folder / "qrels.txt", tmp_path / "a.run", tmp_path / "b.run")
    assert done.returncode == 0, done.stderr
    assert "[bold]<b>&_%" in done.stdout
    assert "x" * 61 not in done.stdout
    (tmp_path / "c.run").write_text(text.replace("sys1", evil), encoding="utf-8")
    line = refused(shardwise("score", folder / "qrels.txt", tmp_path / "c.run"))
    assert "\x1b" not in line
    latex = shardwise("score", folder / "qrels.txt", tmp_path / "b.run", "-f", "latex").stdout
    assert r"\&\_\%" in latex
