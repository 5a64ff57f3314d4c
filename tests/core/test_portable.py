"""Systems that lack modules of POSIX, and installations that lack an extra."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import Done
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
MODULES = {extra: packages.replace("-", "_").split() for extra, (_, packages) in EXTRAS.items()}
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


LINES = """
import json, sys
from dataclasses import astuple
from command_line import shardwise
print(json.dumps([astuple(shardwise(*words)) for words in json.loads(sys.argv[1])]))
"""


def run_lines(
    lines: Iterable[tuple[object, ...]], environment: Mapping[str, str] = os.environ, before: str = ""
) -> list[Done]:
    """Run commands one after another in one process of their own, after some lines of Python."""
    source, tests = Path(extras.__file__).parent.parent.parent, Path(__file__).parent.parent
    path = [environment["PYTHONPATH"]] if environment is not os.environ else []
    words = json.dumps([list(map(str, line)) for line in lines])
    done = subprocess.run(
        [sys.executable, "-c", before + LINES, words],
        env={**environment, "PYTHONPATH": os.pathsep.join([*path, str(source), str(tests)])},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-2000:]
    return [Done(*one) for one in json.loads(done.stdout)]


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
    for words, done in zip(commands, run_lines(commands, elsewhere), strict=True):
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
    words = ["serve", "--port", "0", "--out", str(tmp_path / "served")]
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


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_what_lacks_an_extra_says_what_to_install(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in MODULES[extra]:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            assert not is_installed(module)
            with pytest.raises(InputError) as refused:
                import_extra(extra, "a.file")
            purpose, packages = EXTRAS[extra]
            assert str(refused.value).startswith(f"a.file: {purpose} need ")
            assert str(refused.value).endswith(f"; run pip install {packages}")


def hide_extras(*lines: tuple[object, ...]) -> list[Done]:
    """Run commands where no optional package is installed."""
    hidden = sorted(module for modules in MODULES.values() for module in modules)
    return run_lines(lines, before=f"import sys; sys.modules.update(dict.fromkeys({hidden!r}))\n")


def test_a_table_is_compared_and_drawn_without_any_extra(table: Path, tmp_path: Path) -> None:
    (done,) = hide_extras(
        ("compare", table, "--chart", tmp_path / "chart.png", "--report", tmp_path / "report.html")
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "chart.png").stat().st_size > 1_000
    assert (tmp_path / "report.html").stat().st_size > 10_000


NEED_EXTRAS = (
    ("app", ("serve",)),
    ("cluster", ("compare", "broken.csv", "--jobs", "local")),
    ("irds", ("compare", "irds:beir/scifact/test", "broken.run", "broken.run")),
    ("netcdf", ("compare", "broken.nc")),
    ("netcdf", ("compare", "broken.csv", "scores.nc")),
    ("netcdf", ("score", "qrels", "broken.run", "--out", "scores.nc")),
    ("xlsx", ("compare", "broken.csv", "scores.xlsx")),
    ("xlsx", ("compare", "broken.csv", "--human", "scores.xlsx")),
    ("zarr", ("compare", "scores.zarr")),
    ("zarr", ("score", "qrels", "broken.run", "--out", "scores.zarr")),
    ("zst", ("compare", "broken.csv", "scores.csv.zst")),
    ("zst", ("compare", "packed")),
    ("zst", ("compare", "qrels", "broken.run", "other.run.zst")),
    ("zst", ("score", "qrels", "broken.run", "--out", "scores.csv.zst")),
)


def test_what_lacks_an_extra_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of the inputs cannot be read: whoever reads it would say so."""
    monkeypatch.chdir(tmp_path)
    for name in ("broken.csv", "broken.nc", "broken.run", "scores.nc", "scores.xlsx"):
        Path(name).write_text('"never closed\n')
    for name in ("scores.csv.zst", "other.run.zst", "packed"):
        Path(name).write_bytes(b"\x28\xb5\x2f\xfd and no frame")
    Path("qrels").write_text("1 0 a 1\n")
    Path("scores.zarr").mkdir()
    Path("scores.zarr/zarr.json").write_text("{")
    before = sorted(map(str, tmp_path.rglob("*")))
    answers = hide_extras(*(words for _, words in NEED_EXTRAS))
    for (extra, words), done in zip(NEED_EXTRAS, answers, strict=True):
        assert (done.returncode, done.stdout) == (2, ""), words
        assert done.stderr.endswith(f"; run pip install {EXTRAS[extra][1]}\n"), words
        assert len(done.stderr.splitlines()) == 1, words
    assert sorted(map(str, tmp_path.rglob("*"))) == before
