"""Inputs that do not fit into memory: streamed by themselves, and limits that an option lifts."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shardwise as sw
from command_line import reader_of, shardwise
from shardwise.cli.inputs import BYTES_NEEDED, SHARE_OF_MEMORY
from shardwise.cli.main import NO_THREAD
from shardwise.io import files
from shardwise.io.files import most_inside, parse_size, raise_limit


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "scores.csv"
    rng = np.random.default_rng(8)
    values = rng.normal(0.5, 0.2, (1500, 1)) + rng.normal([0.0, 0.01, 0.05], 0.1, (1500, 3))
    frame = pd.DataFrame(values.round(4), columns=["a", "b", "c"])
    frame.insert(0, "item", [f"q{k}" for k in range(len(frame))])
    frame.to_csv(path, index=False)
    return path


def rows(*arguments: object) -> pd.DataFrame:
    done = shardwise(*arguments, "-f", "json")
    assert done.returncode == 0, done.stderr
    return pd.DataFrame(json.loads(done.stdout)["rows"])


def test_a_table_beyond_memory_is_streamed_and_says_the_same(table: Path) -> None:
    whole = rows("compare", table, "--method", "t holm")
    streamed = rows("compare", table, "--method", "t holm", "--max-memory", "1KB")
    pd.testing.assert_frame_equal(whole[["a", "b"]], streamed[["a", "b"]])
    for name in ("difference", "se", "p_adjusted"):
        np.testing.assert_allclose(whole[name], streamed[name], rtol=1e-8)
    text = shardwise("compare", table, "--max-memory", "1KB").stdout
    assert "streamed: 1,500 items × 3 systems" in text


def test_the_machine_decides_where_no_limit_is_given(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = table.stat().st_size
    enough = SHARE_OF_MEMORY * BYTES_NEEDED * size
    for memory, streamed in ((enough, False), (enough - 1, True)):
        monkeypatch.setattr("shardwise.cli.inputs.usable_memory", lambda memory=memory: memory)
        assert reader_of(table).is_streamed is streamed


def test_moments_are_saved_and_added(table: Path, tmp_path: Path) -> None:
    saved = tmp_path / "week.moments"
    first = shardwise("compare", table, "--out", saved)
    assert first.returncode == 0, first.stderr
    more = shardwise("compare", saved, table, "--out", saved, "-f", "json")
    assert json.loads(more.stdout)["items"] == 3000
    assert sw.ScoreMoments.load(saved).n == 3000


@pytest.mark.parametrize(
    ("option", "value"),
    [("--report", "r.html"), ("--fill", "mean"), ("--only", "a"), ("--chart", "c.html"), ("--margin", "0.1")],
)
def test_what_needs_the_whole_table_is_refused(
    table: Path, tmp_path: Path, option: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = shardwise("compare", table, "--max-memory", "1KB", option, value)
    assert done.returncode == 2
    assert f"{option} has no effect with moments, which keep means and cross-products only" in done.stderr


def test_compressed_files_have_a_limit_that_can_be_lifted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "".join(f"{k},0.5,0.{k % 10}\n" for k in range(20_000))
    (tmp_path / "t.csv.xz").write_bytes(lzma.compress(f"topic,a,b\n{lines}".encode()))
    monkeypatch.setattr(files, "LEAST_TEXT", 1000)
    monkeypatch.setattr(files, "GROWTH_TEXT", 5)
    refused = shardwise("compare", tmp_path / "t.csv.xz", "--method", "t holm")
    assert refused.returncode == 2
    assert "inflate to over" in refused.stderr
    assert "--max-memory 1GB" in refused.stderr
    done = shardwise("compare", tmp_path / "t.csv.xz", "--method", "t holm", "--max-memory", "1GB")
    assert done.returncode == 0, done.stderr


def test_limits() -> None:
    assert most_inside(10) == files.LEAST
    with raise_limit(5 * files.LEAST):
        assert most_inside(10) == 5 * files.LEAST
    assert most_inside(10) == files.LEAST
    assert most_inside(10 * files.LEAST) == files.GROWTH * 10 * files.LEAST


@pytest.mark.parametrize("text", ["", "much", "-1GB", "0", "1 PB"])
def test_sizes_that_are_none(text: str, table: Path) -> None:
    if text:
        done = shardwise("compare", table, "--max-memory", text)
        assert done.returncode == 2
        assert f"'{text}' is not a size; write for instance 16GB" in done.stderr
    with pytest.raises(sw.InputError, match="is not a size"):
        parse_size(text)


def test_a_thread_that_cannot_be_started_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(work: object) -> int:
        raise RuntimeError(NO_THREAD)

    monkeypatch.setattr("shardwise.cli.main.run_interruptibly", refuse)
    done = shardwise("compare", "scores.csv")
    assert done.returncode == 2
    assert done.stderr == "not enough memory to start a thread; allow more memory, or use --jobs 1\n"


REPORT = ("--report", "r.html", "--calibration", "0")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep to a limit of address space")
@pytest.mark.parametrize(
    ("megabytes", "options", "code", "said"),
    [
        (300, (), 2, "the limit of 300 MB of virtual memory is too small to load numpy and pandas"),
        (300, ("--help",), 0, ""),
        (1000, (), 0, ""),
        (2000, REPORT, 2, "drawings of charts reserve 66 GB of virtual memory"),
    ],
)
def test_a_limit_of_virtual_memory_is_met_in_one_line(
    megabytes: int, options: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    """Under 300 MB loading numpy waited for ever, and a report under any limit ended with 39 lines of its engine."""
    import resource

    (tmp_path / "t.csv").write_text("topic,a,b\n1,.1,.2\n2,.2,.2\n3,.3,.5\n4,.1,.4\n")
    limits = (megabytes * 10**6, megabytes * 10**6)
    done = subprocess.run(
        [sys.executable, "-m", "shardwise", "compare", "t.csv", *options],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(sw.__file__).parents[1])},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limits),
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == (1 if said else 0), done.stderr
    assert bool(done.stdout) is (code == 0)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
