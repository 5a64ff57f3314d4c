"""The command line in a process of its own: on a terminal, in a pipe, stopped, and with no room left."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from unittest import mock

import pytest

from command_line import shardwise
from shardwise.cli.main import main
from shardwise.cli.output import progress_bar
from shardwise.lab.simulate_collection import simulate_collection

COMMAND = [sys.executable, "-W", "error", "-c", "from shardwise.cli.main import main; main()"]
PATIENCE = 120.0  # seconds until a test gives up; nothing is asserted about time
SCORES = "topic,x,y,z\n" + "".join(
    f"t{k},0.{k % 7 + 2},0.{(3 * k) % 5 + 2},0.{k % 3 + 1}\n" for k in range(60)
)


def stoppable() -> None:
    """What a shell starts in the background ignores Control-C, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def on_terminal(*arguments: object) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a command with a terminal as standard error, and standard output in a pipe."""
    master, slave = pty.openpty()
    variables = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=slave,
        env=variables,
        preexec_fn=stoppable,
    )
    os.close(slave)
    try:
        yield process, master
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
        os.close(master)


def read_until(master: int, wanted: bytes | None) -> bytes:
    """What the terminal shows until a text is there, or, without one, until the process ends."""
    seen = b""
    end = time.monotonic() + PATIENCE
    while wanted is None or wanted not in seen:
        ready, _, _ = select.select([master], [], [], 1.0)
        assert time.monotonic() < end, seen
        if ready:
            try:
                piece = os.read(master, 65536)
            except OSError:  # the other end is closed
                piece = b""
            if not piece:
                break
            seen += piece
    return seen


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("campaign")
    made = simulate_collection(
        topics=12, systems=5, depth=60, corpus=3000, relevant=20, pool_depth=30, seed=3
    )
    made.write(where)
    (where / "scores.csv").write_text(SCORES)
    return where


@pytest.mark.slow
def test_bars_on_a_terminal_with_the_remaining_time(folder: Path) -> None:
    given = (folder / "qrels.txt", folder / "runs", "--shards", 2, "--splits", 3)
    with on_terminal("stability", *given) as (process, master):
        shown = read_until(master, None).decode()
        assert process.wait(PATIENCE) == 0
        for work in ("reading runs", "scoring", "comparing splits"):
            assert work in shown
        assert "5/5" in shown  # five runs read
        assert ":--:--" in shown or "0:00:0" in shown  # the remaining time
    assert progress_bar(quiet=True) is None


class Screen(io.StringIO):
    """Output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("format", ["text", "csv", "latex", "json", "markdown"])
def test_names_do_no_harm_on_a_terminal(tmp_path: Path, format: str) -> None:
    """Also as CSV and LaTeX, which keep names as they are for programs."""
    path = tmp_path / "scores.csv"
    path.write_bytes(b"topic,a\x1b[31m,b\xe2\x80\xae\n1,0.5,0.4\n2,0.3,0.25\n3,0.4,0.2\n")
    screen = Screen()
    with (
        mock.patch.object(sys, "argv", ["shardwise", "compare", str(path), "-f", format]),
        redirect_stdout(screen),
        pytest.raises(SystemExit) as stopped,
    ):
        main()
    assert stopped.value.code == 0
    assert "\x1b[31m" not in screen.getvalue()
    assert "\u202e" not in screen.getvalue()
    assert "31m" in screen.getvalue()


@pytest.mark.parametrize("out", ["result.json", "report.html"])
@pytest.mark.slow
def test_stopped_in_the_midst_of_work(folder: Path, tmp_path: Path, out: str) -> None:
    """Control-C while resamples are drawn, or while splits are compared for the report."""
    if out == "result.json":
        work, given = (
            b"comparing",
            ("--method", "bootstrap", "--resamples", 20_000_000, "--out", tmp_path / out),
        )
        inputs: tuple[Path, ...] = (folder / "scores.csv",)
    else:
        how = ("--model", "MD6", "--shards", 3, "--splits", 1200)
        work, given = b"comparing", (*how, "--report", tmp_path / out)
        inputs = (folder / "qrels.txt", folder / "runs")
    with on_terminal("compare", *inputs, *given) as (process, master):
        read_until(master, work)
        process.send_signal(signal.SIGINT)
        shown = read_until(master, None).decode()
        assert process.wait(PATIENCE) == 130
        assert process.stdout is not None
        assert process.stdout.read() == b""
    assert "stopped" in shown
    assert "Traceback" not in shown
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_stopped_while_methods_are_calibrated(folder: Path) -> None:
    """Kernels that cannot be interrupted are not waited for: the process is gone, and says so once."""
    with on_terminal("calibrate", folder / "scores.csv", "--repetitions", 200_000) as (process, master):
        read_until(master, b"/")  # tables done of all
        process.send_signal(signal.SIGINT)
        shown = read_until(master, None).decode()
        assert process.wait(PATIENCE) == 130
    assert shown.count("stopped") == 1
    assert "Traceback" not in shown


@pytest.mark.slow
def test_stopped_while_files_are_written(tmp_path: Path) -> None:
    """A simulated campaign is there as a whole or not at all, and so is its draft."""
    out = tmp_path / "made"
    command = [*COMMAND, "simulate", "--systems", "150", "--topics", "30", "--out", str(out)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=stoppable,
    )
    end = time.monotonic() + PATIENCE
    while process.poll() is None and not list(out.glob(".partial-*/runs/*")):
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, stderr
    assert stderr == b"stopped\n"
    assert [path for path in out.rglob("*") if path.is_file()] == []
    assert [path.name for path in out.iterdir()] == ["runs"]


FULL = """
import contextlib, io, json, resource, sys
from shardwise.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
for line in json.loads(sys.argv[1]):
    sys.argv = ["shardwise", *line]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as stopped:
            code = stopped.code
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""


@pytest.mark.slow
def test_a_disk_that_is_full(folder: Path, tmp_path: Path) -> None:
    """Files may have 100 bytes here: every way of writing one fails in one line, and nothing is left."""
    given = (str(folder / "qrels.txt"), str(folder / "runs"))
    lines = [
        ("compare", *given, "--out", "pairs.txt"),
        ("compare", *given, "--calibration", "0", "--report", "r.html"),
        ("compare", *given, "--chart", "c.svg"),
        ("score", *given, "--out", "s.csv"),
        ("score", *given, "--out", "s.parquet"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", FULL, json.dumps(lines)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # Python itself would keep what it could write of its own
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for line, told in zip(lines, map(json.loads, done.stdout.splitlines()), strict=True):
        assert told[:2] == [2, ""], line
        (said,) = [one for one in told[2].splitlines() if not one.startswith("compiled code cannot be kept")]
        assert said.startswith(f"{line[-1]}: cannot be written (")
        assert said.endswith("File too large); check the folder, its permissions and the space left")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="no folder here that nobody may write to")
def test_a_folder_that_may_not_be_written_to(folder: Path) -> None:
    done = shardwise("compare", folder / "scores.csv", "--out", "/proc/pairs.csv")
    assert done.returncode == 2
    assert done.stderr.startswith("/proc/pairs.csv: cannot be written (")
    assert len(done.stderr.splitlines()) == 1


def complete(words: str, shell: str = "bash") -> list[str]:
    number = str(len(words.split(" ")) - 1)
    variables = {"_SHARDWISE_COMPLETE": f"complete_{shell}", "COMP_WORDS": words, "COMP_CWORD": number}
    done = subprocess.run(
        COMMAND, capture_output=True, text=True, check=False, env={**os.environ, **variables}
    )
    return done.stdout.split()


@pytest.mark.slow
def test_shells_complete_commands_options_and_values() -> None:
    assert complete("shardwise com") == ["compare"]
    assert complete("shardwise compare --format ") == ["text", "json", "csv", "latex", "markdown", "html"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_completion(shell: str) -> None:
    done = subprocess.run([*COMMAND, "--completion", shell], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"_SHARDWISE_COMPLETE={shell}" in done.stdout
