"""Files that lines are added to: whole lines only, one process at a time, edits noticed."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shardwise.core.errors import InputError
from shardwise.io.journal import open_journal, read_journal


def add(path: Path, *numbers: int) -> None:
    for number in numbers:
        with open_journal(path) as journal:
            journal.append({"entry": "x", "number": number})


def numbers(path: Path) -> list[int]:
    return [entry["number"] for entry in read_journal(path).entries]


def test_entries_are_kept_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    add(path, 1, 2)
    with open_journal(path) as journal:
        journal.append({"entry": "x", "number": 3}, {"entry": "x", "number": 4, "name": 'é"\n'})
        assert len(journal.entries) == 4
    assert numbers(path) == [1, 2, 3, 4]
    assert read_journal(path).entries[-1]["name"] == 'é"\n'


@pytest.mark.parametrize("line", [0, 1, 2])
def test_edited_lines_are_noticed(tmp_path: Path, line: int) -> None:
    path = tmp_path / "a.jsonl"
    add(path, 1, 2, 3)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line] = lines[line].replace(b'"number":', b'"number":1')
    path.write_bytes(b"".join(lines))
    with pytest.raises(InputError, match=f"line {line + 1}: was changed after it was written"):
        read_journal(path)


def test_missing_and_exchanged_lines_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    add(path, 1, 2, 3)
    one, two, three = path.read_bytes().splitlines(keepends=True)
    for kept in ([one, three], [two, three], [one, three, two]):
        path.write_bytes(b"".join(kept))
        with pytest.raises(
            InputError, match="was changed after it was written, or a line before it is missing"
        ):
            read_journal(path)


def test_a_half_line_of_a_killed_process_goes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    add(path, 1, 2)
    whole = path.read_bytes()
    third = whole.splitlines(keepends=True)[1]
    for cut in (1, 5, len(third) - 1):
        path.write_bytes(whole + third[:cut])
        assert numbers(path) == [1, 2]
        add(path, 3)
        assert numbers(path) == [1, 2, 3]


@pytest.mark.parametrize("content", [b"item,a,b\nq1,1,0\n", b"item,a,b", b'{"format": "x"}\n', b"\x00\xff"])
def test_other_files_are_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "scores.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not a ledger; name another file"):
        add(path, 1)
    assert path.read_bytes() == content


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
@pytest.mark.parametrize("device", ["/dev/full", "/dev/null"])
def test_devices_are_refused(device: str) -> None:
    for call in (read_journal, lambda path: add(path, 1)):
        with pytest.raises(InputError, match="is not a ledger; name another file"):
            call(Path(device))


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    add(path, 1)
    before = path.read_bytes()
    write = os.write

    def refuse(handle: int, *content: bytes) -> int:
        if content and len(content[0]) > 10:
            # the first bytes still fit
            return write(handle, content[0][:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
            add(path, 2)
    assert path.read_bytes() == before
    add(path, 2)
    assert numbers(path) == [1, 2]


ADDING = """
import sys
from shardwise.io.journal import open_journal
for number in range(int(sys.argv[2])):
    with open_journal(sys.argv[1]) as journal:
        count = len(journal.entries)
        journal.append({"entry": "x", "number": count, "padding": "p" * 5000})
    print(count, flush=True)
"""


def test_processes_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    each = [subprocess.Popen([sys.executable, "-c", ADDING, str(path), "15"], stdout=-1) for _ in range(4)]
    told = sorted(int(line) for process in each for line in process.communicate()[0].split())
    assert numbers(path) == told == list(range(60))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no such signal")
def test_killed_processes_lose_nothing_that_was_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    told = []
    for attempt in range(5):
        process = subprocess.Popen([sys.executable, "-c", ADDING, str(path), "100000"], stdout=-1)
        assert process.stdout is not None
        told.append(int(process.stdout.readline()))
        time.sleep(0.003 * attempt)
        process.kill()
        told.extend(int(line) for line in process.stdout.read().split(b"\n")[:-1])
        process.stdout.close()
        process.wait()
    kept = numbers(path)
    assert kept == list(range(len(kept)))
    assert set(told) <= set(kept)
    assert len(kept) - len(set(told)) <= 5
