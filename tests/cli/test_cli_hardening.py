"""The command line among closed streams, interrupts, read-only folders and names made to harm."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import io
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stderr
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import shardwise as sw
from command_line import shardwise
from shardwise.cli.main import main
from shardwise.io import atomic
from shardwise.io.atomic import write_atomically


def table(path: Path, *, names: tuple[str, ...] = ("a", "b", "c"), topics: int = 20) -> Path:
    values = np.random.default_rng(2).random((topics, len(names)))
    rows = [
        f'{t + 1},"{name}",{float(values[t, k])!r}' for t in range(topics) for k, name in enumerate(names)
    ]
    path.write_text("\n".join(["topic,system,AP", *rows]))
    return path


def runs(folder: Path, grade: int = 1, topic: str = "1") -> list[Path]:
    """A qrels file and two runs of two topics."""
    (folder / "q.txt").write_text("".join(f"{t}{topic} 0 d{k} {grade}\n" for t in (1, 2) for k in range(5)))
    for name in "ab":
        lines = (f"{t}{topic} Q0 d{k} {k} {9 - k} {name}\n" for t in (1, 2) for k in range(9))
        (folder / f"{name}.run").write_text("".join(lines))
    return [folder / "q.txt", folder / "a.run", folder / "b.run"]


def with_output(stream: io.TextIOWrapper | None, *arguments: object) -> tuple[int, str]:
    """Run a command in this process with another output, or none; return its exit code and what it says."""
    err = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["shardwise", *map(str, arguments)]),
        mock.patch.object(sys, "stdout", stream),
        redirect_stderr(err),
        pytest.raises(SystemExit) as stopped,
    ):
        main()
    return int(stopped.value.code or 0), err.getvalue()


def test_output_that_cannot_show_a_letter_shows_its_code(tmp_path: Path) -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")  # as Python makes it where LANG=C and no coercion
    assert with_output(out, "compare", table(tmp_path / "t.csv"))[0] == 0
    assert rb"20 topics \xd7 3 systems" in raw.getvalue()
    assert raw.getvalue().isascii()


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # what stands for the output is left open, as the output is
def test_a_closed_output_is_said_in_one_line(tmp_path: Path) -> None:
    """Python has no output then; what goes to a file does not miss it."""
    code, said = with_output(None, "compare", table(tmp_path / "t.csv"))
    assert (code, said.count("\n")) == (2, 1)
    out = tmp_path / "o.csv"
    assert with_output(None, "compare", tmp_path / "t.csv", "--out", out) == (0, f"wrote {out}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_an_output_that_is_full(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        code, said = with_output(full, "compare", table(tmp_path / "t.csv"))
    assert (code, said.count("\n")) == (2, 1)
    assert "No space left on device" in said


@pytest.mark.parametrize("file", ["runs/sys2.run", "qrels.txt"])
@pytest.mark.parametrize("moved", [False, True])
def test_a_disk_that_is_full_while_a_campaign_is_written(
    file: str, moved: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is named as it would be, not as its draft; nothing is left behind."""
    write_bytes, replace = Path.write_bytes, Path.replace

    def write(path: Path, content: bytes) -> int:
        if path.as_posix().endswith(file) and not moved:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write_bytes(path, content)

    def move(path: Path, target: Path) -> Path:
        if path.as_posix().endswith(file):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return replace(path, target)

    monkeypatch.setattr(Path, "write_bytes", write)
    monkeypatch.setattr(Path, "replace", move)
    out = tmp_path / "made"
    small = ("--topics", "3", "--systems", "2", "--depth", "10", "--corpus", "100,relevant=5")
    done = shardwise("simulate", *small, "--out", out)
    assert done.returncode == 2
    reason = (
        "cannot be written (No space left on device); check the folder, its permissions and the space left"
    )
    assert done.stderr == f"{out / file}: {reason}\n"
    assert not [path for path in out.rglob("*") if path.name.startswith(".partial")]
    monkeypatch.undo()
    assert shardwise("simulate", *small, "--out", out, "--quiet").returncode == 0


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        ("P@" + "9" * 5000, "is not a rank"),
        ("nDCG(dcg='exp-log2')@5", "too large for a number"),
        ("ERR@5", "too high"),
    ],
)
def test_numbers_at_the_edge_of_measures_are_refused(tmp_path: Path, measure: str, said: str) -> None:
    done = shardwise("score", *runs(tmp_path, grade=1024), "-m", measure)
    assert done.returncode == 2
    assert said in done.stderr


def test_exponential_gains_up_to_the_edge_are_numbers(tmp_path: Path) -> None:
    done = shardwise(
        "score", *runs(tmp_path, grade=990), "-m", "nDCG(dcg='exp-log2')@5", "-m", "ERR(max_rel=1025)@5"
    )
    assert done.returncode == 0
    assert "nan" not in done.stdout.lower()


def test_topics_of_five_thousand_digits(tmp_path: Path) -> None:
    done = shardwise("score", *runs(tmp_path, topic="9" * 5000), "-m", "AP")
    assert done.returncode == 0


@pytest.mark.parametrize("grade", ["inf", "-inf", "1e400"])
def test_grades_that_are_no_numbers_are_refused_in_every_form_of_qrels(tmp_path: Path, grade: str) -> None:
    _, *both = runs(tmp_path)
    for line in (f"1 0 d1 {grade}\n", f"1 0 d1 1 {grade}\n"):
        (tmp_path / "odd.txt").write_text(f"{line}2 0 d2 {'1 ' if line.count(' ') == 4 else ''}1\n")
        done = shardwise("score", tmp_path / "odd.txt", *both, "-m", "AP")
        assert done.returncode == 2, line
        assert "whole number" in done.stderr


def test_simulated_runs_are_not_mixed_with_others(tmp_path: Path) -> None:
    size = ("--topics", 3, "--depth", 10, "--corpus", "500,relevant=3")
    assert shardwise("simulate", "--out", tmp_path / "x", "--systems", 4, *size).returncode == 0
    assert shardwise("simulate", "--out", tmp_path / "x", "--systems", 4, *size).returncode == 0, (
        "the same names"
    )
    done = shardwise("simulate", "--out", tmp_path / "x", "--systems", 2, *size)
    assert done.returncode == 2
    assert "would count" in done.stderr
    assert len(list((tmp_path / "x" / "runs").iterdir())) == 4


def test_no_cell_of_a_table_of_pairs_is_run_by_a_spreadsheet(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", names=("=cmd|' /C calc'!A0", "@b", "+c"))
    done = shardwise("compare", path, "--format", "csv")
    assert done.returncode == 0
    assert not [cell for line in done.stdout.splitlines() for cell in line.split(",")[:2] if cell[0] in "=@+"]


def without_privilege() -> None:
    """Let permissions count for root as well: the capability to pass over them is dropped (prctl, capability 1)."""
    ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)


@pytest.mark.slow
def test_an_installation_and_a_home_that_may_not_be_written_to(tmp_path: Path) -> None:
    """Compiled code comes with the package: a command neither writes beside it nor anywhere else."""
    installed, place, home = (tmp_path / name for name in ("installed", "place", "home"))
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(sw.__file__).parent, installed / "shardwise", ignore=left_out)
    scores = table(tmp_path / "t.csv")
    for folder in (place, home):
        folder.mkdir()
    for folder in (place, home, *(path for path in installed.rglob("*") if path.is_dir())):
        folder.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-m", "shardwise", "compare", str(scores), "--quiet"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(installed), "TMPDIR": str(place), "HOME": str(home)},
        preexec_fn=without_privilege,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not [*place.iterdir(), *home.iterdir(), *installed.rglob("__pycache__")]


def test_drafts_of_killed_processes_are_removed_by_the_next(tmp_path: Path) -> None:
    """A lock goes with its process: what can be locked is nobody's, and so is what is very old."""
    left, held, old = (tmp_path / f".x.csv.{k}.partial" for k in range(3))
    for draft in (left, held, old):
        draft.touch()
    os.utime(old, (0, 0))
    with held.open() as first, old.open() as second:
        for file in (first, second):
            fcntl.flock(file, fcntl.LOCK_EX)
        write_atomically(tmp_path / "x.csv", b"1")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([held.name, "x.csv"])
    atomic._DRAFTS.add(held)
    atomic.forget_drafts()
    atomic._DRAFTS.clear()
    assert not held.exists()


def test_drafts_of_folders_are_removed_by_the_next(tmp_path: Path) -> None:
    (tmp_path / ".partial-left" / "runs").mkdir(parents=True)
    with atomic.draft_folder(tmp_path) as one, atomic.draft_folder(tmp_path) as other:
        assert set(tmp_path.iterdir()) == {one, other}
    assert list(tmp_path.iterdir()) == []


def test_a_name_as_long_as_a_name_may_be(tmp_path: Path) -> None:
    write_atomically(tmp_path / f"{'漢' * 83}.csv", b"1")
    assert [len(os.fsencode(path.name)) for path in tmp_path.iterdir()] == [253]
