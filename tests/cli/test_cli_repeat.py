"""A report can be made again from what it holds; the page itself may come from anyone."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import tomllib
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import shardwise
from report_pages import simulated
from shardwise.analysis.provenance import list_versions
from shardwise.cli.repeat import compare_reports
from shardwise.core.text import script_json
from shardwise.writing.embedded import read_report
from shardwise.writing.html import write_report

pytestmark = pytest.mark.slow
INPUTS = Path(__file__).parent.parent / "golden" / "inputs"
Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with inputs and a report of them, made there."""
    folder = tmp_path_factory.mktemp("made")
    shutil.copytree(INPUTS, folder / "data", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    documents = sorted({line.split()[2] for line in (INPUTS / "qrels.txt").read_text().splitlines()})
    (folder / "data" / "documents.txt").write_text("\n".join([*documents, "more", "and-more"]) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = shardwise(
            "compare", "data/qrels.txt", "data/runs", "--shards", 2, "--splits", 2, "--seed", 9, "--report", "r.html",
            "--corpus", "data/documents.txt", "-q",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, to work in."""
    shutil.copytree(made, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


class _Data(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.inside, self.text = False, ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = ("id", "data") in attrs

    def handle_data(self, data: str) -> None:
        self.text += data if self.inside else ""


def changed(path: Path, change: Change) -> Path:
    """The same page with other data inside."""
    page = path.read_text()
    parser = _Data()
    parser.feed(page)
    data = json.loads(parser.text)
    file = next(file for file in data["files"] if file["name"] == "report.json")
    inside = json.loads(gzip.decompress(base64.b64decode(file["packed"])))
    change(inside)
    file["packed"] = base64.b64encode(gzip.compress(json.dumps(inside).encode(), mtime=0)).decode()
    other = path.with_name("changed.html")
    stored = parser.text.strip()
    assert page.count(stored) == 1
    other.write_text(page.replace(stored, script_json(data)))
    return other


def test_what_a_report_says_about_itself(folder: Path) -> None:
    stored = read_report("r.html")
    table = tomllib.loads(stored["recipe"]["toml"])["compare"]
    assert stored["recipe"]["command"] == ["compare"]
    assert stored["recipe"]["arguments"][:3] == ["compare", "data/qrels.txt", "data/runs"]
    assert table["qrels"] == "data/qrels.txt"
    assert table["runs"] == [f"data/runs/{name}.run" for name in ("bm25", "dense", "rerank", "tfidf")]
    # defaults are written out, what was chosen automatically too
    chosen = {
        "measure": "AP",
        "method": "moderated",
        "alpha": 0.05,
        "shards": 2,
        "splits": 2,
        "seed": 9,
        "kind": "even",
    }
    assert {key: table[key] for key in chosen} == chosen
    assert not {"report", "out", "quiet", "jobs", "format", "config"} & set(table)
    assert [one["path"] for one in stored["inputs"]][-2:] == ["data/runs/tfidf.run", "data/documents.txt"]
    assert stored["versions"] == list_versions()
    page = (folder / "r.html").read_text()
    assert "shardwise compare data/qrels.txt data/runs --shards 2" in page
    assert "method = &#34;moderated&#34;" in page


def test_the_same_numbers_again(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = shardwise("repeat", "r.html", "--out", "again.html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("the same: ")
    assert "6 inputs are unchanged" in done.stdout
    assert compare_reports(read_report("r.html"), read_report("again.html"))["different"].sum() == 0
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert set(after) - set(before) == {folder / "again.html"}
    assert all(after[path] == content for path, content in before.items())
    table = tomllib.loads(read_report("again.html")["recipe"]["toml"])
    assert table == tomllib.loads(read_report("r.html")["recipe"]["toml"])
    assert shardwise("repeat", "again.html", "-q").returncode == 0


LISTING = "file,system,instance\n" + "".join(
    f"{name}_seed{k}.run,{name},{k}\n" for name in ("new", "old", "other") for k in range(3)
)
SEEDS = {
    "two systems": (
        "data/qrels.txt",
        "data/seeds/new*",
        "data/seeds/old*",
        "--instances",
        "{system}_seed{instance}.run",
        "--measure",
        "nDCG@10",
    ),
    "a pattern": ("data/qrels.txt", "data/seeds/*", "--instances", "{system}_seed{instance}.run"),
    "a listing": ("data/qrels.txt", "data/seeds/*", "--instances", "data/listing.csv", "--baseline", "old"),
    "a table": ("data/table.csv", "--columns", "instance=round", "--repeats", "samples", "--seed", "4"),
}


@pytest.mark.parametrize("kind", SEEDS)
def test_instances_again(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Where the inputs have moved to."""
    rng = np.random.default_rng(3)
    rows = [f"q{q},{m},{k},{rng.random():.3f}" for q in range(12) for m in ("x", "y") for k in range(3)]
    Path("data/table.csv").write_text("\n".join(["question,model,round,score", *rows]) + "\n")
    Path("data/listing.csv").write_text(LISTING)
    done = shardwise("compare", *SEEDS[kind], "--report", "seeds.html", "-q")
    assert done.returncode == 0, done.stderr
    stored = read_report("seeds.html")
    assert stored["recipe"]["command"] == ["compare"]
    assert "kind" not in tomllib.loads(stored["recipe"]["toml"])["compare"], "without effect"
    (folder / "data").rename(tmp_path / "data")
    assert shardwise("repeat", "seeds.html").returncode == 2
    again = shardwise("repeat", "seeds.html", "--inputs", tmp_path, "--out", "again.html")
    assert again.returncode == 0, (again.stdout, again.stderr)
    assert again.stdout.startswith("the same: ")
    assert compare_reports(stored, read_report("again.html"))["different"].sum() == 0


def test_samples_again(folder: Path) -> None:
    rng = np.random.default_rng(5)
    rows = [f"q{q},{m},{k},{rng.random():.3f}" for q in range(12) for m in ("x", "y") for k in range(3)]
    Path("t.csv").write_text("\n".join(["question,model,sample,score", *rows]) + "\n")
    done = shardwise("compare", "t.csv", "--repeats", "samples", "--report", "samples.html", "-q")
    assert done.returncode == 0, done.stderr
    assert shardwise("repeat", "samples.html", "-q").returncode == 0


def test_a_page_names_no_runs_that_it_has_no_hash_of(folder: Path) -> None:
    done = shardwise("compare", *SEEDS["two systems"], "--report", "r.html", "-q")
    assert done.returncode == 0, done.stderr

    def more(report: dict[str, Any]) -> None:
        report["recipe"]["toml"] = report["recipe"]["toml"].replace("new_seed0", "../secret")

    refused = shardwise("repeat", changed(folder / "r.html", more))
    assert refused.returncode == 2
    assert "is not an input of the report" in refused.stderr


def test_the_analysis_in_the_page_is_a_config_file(folder: Path) -> None:
    Path("shardwise.toml").write_text(read_report("r.html")["recipe"]["toml"])
    done = shardwise("compare", "--config", "shardwise.toml", "--report", "third.html", "-q")
    assert done.returncode == 0, done.stderr
    assert compare_reports(read_report("r.html"), read_report("third.html"))["different"].sum() == 0


def test_inputs_elsewhere(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "moved").mkdir()
    (folder / "data").rename(tmp_path / "moved" / "store")
    monkeypatch.chdir(tmp_path)
    lost = shardwise("repeat", folder / "r.html")
    assert lost.returncode == 2
    assert lost.stderr == (
        "data/qrels.txt: this input of the report is not here; name the folder it is in with --inputs\n"
    )
    assert shardwise("repeat", folder / "r.html", "--inputs", "moved/store").returncode == 0
    wrong = shardwise("repeat", folder / "r.html", "--inputs", "moved")
    assert "data/qrels.txt: this input of the report is not in moved" in wrong.stderr
    (tmp_path / "moved" / "store").rename(folder / "data")
    assert shardwise("repeat", folder / "r.html").returncode == 0  # beside the report


def test_an_input_that_is_another(folder: Path) -> None:
    path = folder / "data" / "runs" / "bm25.run"
    path.write_text(path.read_text().replace("A-00", "A-99"))
    done = shardwise("repeat", "r.html", "--out", "again.html")
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("data/runs/bm25.run: is not the file that the report was made from (SHA-256 ")
    assert not Path("again.html").exists()


def test_numbers_that_differ_are_named(folder: Path) -> None:
    def change(report: dict[str, Any]) -> None:
        report["systems"][1]["mean"] *= 1.5
        report["versions"]["numpy"] = "0.1"

    page = changed(folder / "r.html", change)
    done = shardwise("repeat", page, "-f", "json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["same"] is False
    assert told["versions_differ"] is True
    assert told["title"].startswith("different: 1 of ")
    assert "systems[1].mean" in told["title"]
    assert f"numpy 0.1 then, {list_versions()['numpy']} now" in told["notes"]


def test_rounding_is_not_a_difference(folder: Path) -> None:
    def change(report: dict[str, Any]) -> None:
        report["systems"][1]["mean"] *= 1 + 1e-6

    done = shardwise("repeat", changed(folder / "r.html", change))
    assert done.returncode == 0
    assert done.stdout.startswith("the same but for rounding: ")


def test_a_number_of_four_hundred_digits_is_another_number(folder: Path) -> None:
    done = shardwise("repeat", changed(folder / "r.html", lambda r: r["systems"][1].update(mean=10**400)))
    assert done.returncode == 1
    assert "systems[1].mean" in done.stdout


def test_it_says_what_it_reads_and_writes_and_writes_over_nothing(folder: Path) -> None:
    Path("there.html").write_text("mine")
    done = shardwise("repeat", "r.html", "--out", "there.html")
    assert (done.returncode, done.stdout) == (2, "")
    assert "exists already; name another file: repeat overwrites nothing" in done.stderr
    assert Path("there.html").read_text() == "mine"
    line, wrote = shardwise("repeat", "r.html", "--out", "again.html").stderr.splitlines()
    assert wrote == "wrote again.html"
    assert line.startswith("reads data/qrels.txt, data/runs/bm25.run, ")
    assert line.endswith(" and 1 more; writes again.html")


def test_no_link_leads_out_of_the_folder_of_the_inputs(folder: Path, tmp_path: Path) -> None:
    (folder / "data").rename(tmp_path / "elsewhere")
    (folder / "data").mkdir()
    for name in ("runs", "qrels.txt", "documents.txt"):
        (folder / "data" / name).symlink_to(tmp_path / "elsewhere" / name)
    done = shardwise("repeat", "r.html", "--inputs", "data")
    assert done.returncode == 2
    assert done.stderr.startswith("data/qrels.txt: this input of the report is not in data")


def test_an_interrupt_is_said_to_be_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shardwise.cli.compare.compare_systems", stopped)
    monkeypatch.setattr("shardwise.cli.main.leave_at_once", lambda code: None)
    done = shardwise("repeat", "r.html", "--out", "again.html", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")
    assert not Path("again.html").exists()


def test_a_report_made_from_python(tmp_path: Path) -> None:
    write_report(tmp_path / "r.html", simulated(4))
    done = shardwise("repeat", tmp_path / "r.html")
    assert done.returncode == 2
    assert "this report was made from Python" in done.stderr
    assert "from Python" in (tmp_path / "r.html").read_text()


def test_a_report_of_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(INPUTS / "scores.csv", tmp_path / "-my scores.csv")
    monkeypatch.chdir(tmp_path)
    done = shardwise("compare", "./-my scores.csv", "--report", "r.html", "--fill", "mean", "--method", "bh")
    assert done.returncode == 0, done.stderr
    assert shardwise("repeat", "r.html").returncode == 0


def test_a_report_of_scores_writes_no_option_that_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report or a file that has one is refused."""
    shutil.copy(INPUTS / "scores.csv", tmp_path / "scores.csv")
    monkeypatch.chdir(tmp_path)
    assert shardwise("compare", "scores.csv", "--report", "r.html", "--calibration", 0).returncode == 0
    table = tomllib.loads(read_report("r.html")["recipe"]["toml"])["compare"]
    assert not {"shards", "splits", "kind", "read", "like", "corpus"} & set(table)
    assert {"seed", "alpha", "fill"} <= set(table)
    older = 'shards = 1\nsplits = 1\nkind = "even"\nread = "names=auto"\n'
    page = changed(tmp_path / "r.html", lambda r: recipe(r, toml=r["recipe"]["toml"] + older))
    refused = shardwise("repeat", page)
    assert refused.returncode == 2
    assert "--kind, --read names, --shards, --splits have no effect with a table of scores" in refused.stderr
    Path("older.toml").write_text(read_report(page)["recipe"]["toml"])
    refused = shardwise("compare", "--config", "older.toml", "--report", "again.html")
    assert refused.returncode == 2
    assert "--kind, --read names, --shards, --splits have no effect with a table of scores" in refused.stderr


def recipe(report: dict[str, Any], **changes: Any) -> None:
    report["recipe"].update(changes)


@pytest.mark.parametrize(
    "change",
    [
        lambda r: recipe(r, command=["simulate"], toml='[simulate]\nout = "evil"\n'),
        lambda r: recipe(r, command=["score"], toml='[score]\nout = "evil"\n'),
        lambda r: recipe(r, command="compare"),
        lambda r: recipe(r, toml=r["recipe"]["toml"] + 'out = "evil"\n'),
        lambda r: recipe(r, toml=r["recipe"]["toml"] + 'chart = "evil.svg"\n'),
        lambda r: recipe(r, toml=r["recipe"]["toml"] + 'report = "evil.html"\n'),
        lambda r: recipe(r, toml=r["recipe"]["toml"] + 'config = "evil.toml"\n'),
        lambda r: recipe(r, toml=r["recipe"]["toml"] + '[score]\nout = "evil"\n'),
        lambda r: recipe(r, toml='out = "evil"\n' + r["recipe"]["toml"]),
        lambda r: recipe(r, toml=r["recipe"]["toml"].replace("data/qrels.txt", "/etc/hostname")),
        lambda r: recipe(r, toml=r["recipe"]["toml"].replace('"data/documents.txt"', '"/etc/hostname"')),
        lambda r: recipe(r, toml=r["recipe"]["toml"].replace('"data/qrels.txt"', "5")),
        lambda r: recipe(r, toml=r["recipe"]["toml"] + '"alpha2 = 1\\nout" = "evil"\n'),
        lambda r: recipe(r, toml=r["recipe"]["toml"] + '"#\\nchart" = "evil.svg"\n'),
        lambda r: recipe(r, toml=r["recipe"]["toml"] + "[compare.alpha]\nout = 1\n"),
        lambda r: recipe(r, toml=r["recipe"]["toml"] + "jobs = 2\n"),
        lambda r: recipe(r, toml="[compare"),
        lambda r: recipe(r, toml=7),
        lambda r: r.update(recipe=[1, 2]),
        lambda r: r.update(inputs=None),
        lambda r: r.update(inputs=[{"path": 5}]),
        lambda r: r["inputs"][0].update(path="/dev/zero"),
        lambda r: r["inputs"][0].update(path="\x1b[2J"),
    ],
)
def test_a_page_that_asks_for_more(folder: Path, change: Change) -> None:
    """No other command, no file to be written, no input that is not listed with its hash."""
    page = changed(folder / "r.html", change)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = shardwise("repeat", page)
    assert done.returncode == 2, done.stdout
    said = [line for line in done.stderr.splitlines() if not line.startswith("reads ")]
    assert len(said) == 1
    assert "\x1b" not in done.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "packed",
    [
        "not base64!",
        base64.b64encode(b"not gzip").decode(),
        base64.b64encode(gzip.compress(b"not json", mtime=0)).decode(),
        base64.b64encode(gzip.compress(b"[1]", mtime=0)).decode(),
        base64.b64encode(gzip.compress(b"[" * 100_000, mtime=0)).decode(),
        base64.b64encode(gzip.compress(b"{}" * 50, mtime=0)[:-9]).decode(),
        5,
    ],
)
def test_a_page_with_anything_inside(tmp_path: Path, packed: object) -> None:
    data = script_json({"files": [{"name": "report.json", "packed": packed}]})
    (tmp_path / "r.html").write_text(f'<script type="application/json" id="data">{data}</script>')
    done = shardwise("repeat", tmp_path / "r.html")
    assert done.returncode == 2
    assert "not a report of shardwise" in done.stderr


def test_what_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardwise.writing.embedded.MOST_INSIDE", 1000)
    data = script_json(
        {
            "files": [
                {
                    "name": "report.json",
                    "packed": base64.b64encode(gzip.compress(b" " * 2000, mtime=0)).decode(),
                }
            ]
        }
    )
    (tmp_path / "r.html").write_text(f'<script id="data">{data}</script>')
    assert "cut short or endless" in shardwise("repeat", tmp_path / "r.html").stderr
    monkeypatch.setattr("shardwise.writing.embedded.MOST_PAGE", 10)
    assert "too large" in shardwise("repeat", tmp_path / "r.html").stderr


@pytest.mark.slow
def test_the_demo_again(tmp_path: Path) -> None:
    """Simulated anew: the collection, its scores and all figures are the same."""
    assert shardwise("demo", "--out", tmp_path / "demo", "--seed", 11, "-q").returncode == 0
    page = tmp_path / "demo" / "report.html"
    shutil.copy(page, tmp_path / "kept.html")
    shutil.rmtree(tmp_path / "demo")
    done = shardwise("repeat", tmp_path / "kept.html", "--out", tmp_path / "again.html")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("the same: ")
    assert "the inputs were simulated again" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"kept.html", "again.html"}
