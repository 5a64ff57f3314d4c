"""Systems that lack modules of POSIX, and installations that lack an extra."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shardwise.app.store import Store
from shardwise.core import extras
from shardwise.core.errors import InputError
from shardwise.core.extras import EXTRAS, import_extra, is_installed
from shardwise.io import atomic
from shardwise.io.atomic import draft_folder, write_atomically

ABSENT = ("fcntl", "resource", "grp", "pwd", "termios")
WITHOUT = f"""
import sys
for name in {ABSENT!r}:
    sys.modules[name] = None
import os
for name in ("fork", "forkpty", "nice", "sched_getaffinity", "getuid", "geteuid", "link"):
    if hasattr(os, name):
        delattr(os, name)
import io, builtins
def open_without_proc(file, *arguments, opened=io.open, **named):
    # the list of loaded libraries is asked for by threadpoolctl, which has other ways on other systems
    if str(file).startswith("/proc/") and file != "/proc/self/maps":
        raise FileNotFoundError(2, "No such file or directory", str(file))
    return opened(file, *arguments, **named)
io.open = builtins.open = open_without_proc
"""
COMMAND = "from shardwise.cli.main import main; main()"


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, str]:
    """Variables of an interpreter whose processes, and theirs, have nothing that only POSIX has."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(WITHOUT)
    source = Path(extras.__file__).parent.parent.parent
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(source)])}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    scores = pd.DataFrame({"question": range(40), "old": rng.random(40)})
    scores["new"] = np.clip(scores["old"] + rng.normal(0.05, 0.05, 40), 0, 1)
    scores["other"] = rng.random(40)
    scores.to_csv(tmp_path / "scores.csv", index=False)
    return tmp_path / "scores.csv"


def run(environment: dict[str, str], *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *map(str, words)], env=environment, capture_output=True, text=True
    )


def test_what_is_absent_there_is_absent(elsewhere: dict[str, str]) -> None:
    for name in ABSENT[:2]:
        done = subprocess.run([sys.executable, "-c", f"import {name}"], env=elsewhere, capture_output=True)
        assert b"ModuleNotFoundError" in done.stderr


def test_commands_need_nothing_that_only_posix_has(
    elsewhere: dict[str, str], table: Path, tmp_path: Path
) -> None:
    commands = (
        ("compare", table, "-q"),
        ("compare", table, "-q", "--report", tmp_path / "report.html", "--calibration", "20"),
        ("leaderboard", table, "-q"),
        ("gate", table, "--baseline", "old", "--new", "new", "--margin", "0.3", "-q"),
    )
    for words in commands:
        done = run(elsewhere, *words)
        assert (done.returncode, done.stderr) == (0, ""), (words, done.stderr)
    assert (tmp_path / "report.html").stat().st_size > 10_000


def status_of(address: str, patience: float = 60.0) -> int:
    """Status of a page whose server may just be starting."""
    end = time.monotonic() + patience
    # the token of the address is exchanged for a cookie
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    while True:
        try:
            with opener.open(address, timeout=patience) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except urllib.error.URLError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def test_the_server_needs_nothing_that_only_posix_has(
    elsewhere: dict[str, str], tmp_path: Path, table: Path
) -> None:
    words = ["serve", "--port", "0", "--folder", str(tmp_path / "served")]
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words],
        env={**elsewhere, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            address = next(word for line in server.stdout for word in line.split() if word.startswith("http"))
            assert status_of(address) == 200
        finally:
            server.terminate()


def test_drafts_without_locks_are_known_by_their_age(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "fcntl", None)
    young, old = tmp_path / ".scores.csv.1.partial", tmp_path / ".scores.csv.2.partial"
    for path in (young, old):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    write_atomically(tmp_path / "scores.csv", b"whole")
    assert (tmp_path / "scores.csv").read_bytes() == b"whole"
    assert young.exists()
    assert not old.exists()
    with draft_folder(tmp_path) as folder:
        assert folder.is_dir()
    assert not folder.exists()


def test_a_folder_has_one_server(tmp_path: Path) -> None:
    first = Store(tmp_path)
    with pytest.raises(InputError, match="another server"):
        Store(tmp_path)
    first.close()
    Store(tmp_path).close()


def test_files_are_copied_where_they_cannot_be_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError

    monkeypatch.setattr(os, "link", refuse)
    store = Store(tmp_path)
    entry = store.create_entry()
    (store.input_folder(entry.id) / "a.csv").write_text("text")
    copy = store.copy_entry(entry, "calibrate")
    assert (store.input_folder(copy.id) / "a.csv").read_text() == "text"
    store.close()


@pytest.mark.parametrize("module", sorted(EXTRAS))
def test_what_lacks_an_extra_says_what_to_install(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert not is_installed(module)
    with pytest.raises(InputError, match=rf"pip install 'shardwise\[{EXTRAS[module]}\]'"):
        import_extra(module, "such things")


def test_a_table_is_compared_without_any_extra(table: Path, tmp_path: Path) -> None:
    """Optional packages are absent: the answer comes all the same, and what needs one says which."""
    block = f"import sys; sys.modules.update(dict.fromkeys({sorted(EXTRAS)!r}))\n"
    source = Path(extras.__file__).parent.parent.parent

    def without(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", block + COMMAND, *map(str, words)],
            env={**os.environ, "PYTHONPATH": str(source)},
            capture_output=True,
            text=True,
        )

    assert without("compare", table, "-q").returncode == 0
    for words, extra in (
        (("compare", table, "-q", "--chart", tmp_path / "chart.png"), "charts"),
        (("compare", table, "-q", "--report", tmp_path / "report.html"), "charts"),
        (("serve",), "app"),
    ):
        done = without(*words)
        assert done.returncode == 2, (words, done.stderr)
        assert f"pip install 'shardwise[{extra}]'" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
