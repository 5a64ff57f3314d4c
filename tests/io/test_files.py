"""Bytes of files: compressed, cut short, and from pipes."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import threading
from pathlib import Path

import numpy as np
import pytest
import zstandard

import shardwise as sw
from shardwise.core.errors import InputError
from shardwise.io import files
from shardwise.io.files import PADDING, read_bytes

TEXT = b"301 Q0 doc 1 2.5 tag\n" * 5000
PACKED = {
    ".gz": gzip.compress(TEXT, mtime=0),
    ".bz2": bz2.compress(TEXT),
    ".xz": lzma.compress(TEXT),
    ".zst": zstandard.compress(TEXT),
}


def contents(path: Path) -> bytes:
    buffer, size = read_bytes(path, np.empty(0, dtype=np.uint8))
    return bytes(buffer[:size])


@pytest.mark.parametrize("ending", PACKED)
def test_a_packed_file_is_read_whole_by_its_name_or_its_first_bytes(tmp_path: Path, ending: str) -> None:
    for name in (f"run{ending}", "run"):
        path = tmp_path / name
        path.write_bytes(PACKED[ending])
        assert contents(path) == TEXT
        path.write_bytes(PACKED[ending] * 2)
        assert contents(path) == TEXT * 2


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize("lost", [1, 5, 20])
def test_a_packed_file_that_is_cut_short_is_refused(tmp_path: Path, ending: str, lost: int) -> None:
    path = tmp_path / f"run{ending}"
    path.write_bytes(PACKED[ending][:-lost])
    with pytest.raises(InputError, match=f"cannot be read as a {ending} file"):
        contents(path)


def test_frames_that_hold_no_data_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "run.zst"
    path.write_bytes(PACKED[".zst"] + (0x184D2A53).to_bytes(4, "little") + (3).to_bytes(4, "little") + b"abc")
    assert contents(path) == TEXT


def piped(folder: Path, name: str, content: bytes) -> Path:
    """A named pipe into which another thread writes."""
    path = folder / name
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(content,), daemon=True).start()
    return path


def test_pipes_are_read_once_and_whole(tmp_path: Path) -> None:
    assert contents(piped(tmp_path, "plain", TEXT * 10)) == TEXT * 10
    assert contents(piped(tmp_path, "packed", PACKED[".gz"])) == TEXT
    documents = [f"doc{k}" for k in range(2000)]
    run = "".join(f"1 Q0 {doc} 1 {-k} tag\n" for k, doc in enumerate(documents)).encode()
    qrels = "".join(f"1 0 {doc} {k % 2}\n" for k, doc in enumerate(documents)).encode()
    found = sw.read_collection(piped(tmp_path, "a.run", run), piped(tmp_path, "qrels", qrels))
    assert (found.n_docs, found.systems) == (2000, ("tag",))
    assert sw.score(found, "P@2")["P@2"].item() == 0.5
    table = "topic,a,b\n" + "".join(f"t{k},0.5,{k % 2}\n" for k in range(2000))
    scores = sw.read_scores(piped(tmp_path, "table", table.encode()))
    assert scores.sizes == {"topic": 2000, "system": 2}


@pytest.mark.parametrize("subtopics", [False, True])
def test_a_document_name_that_is_too_long_is_refused_in_all_judgments(
    tmp_path: Path, subtopics: bool
) -> None:
    end = "1" if subtopics else "1 1"
    (tmp_path / "qrels").write_text(f"1 0 d {end}\n1 0 {'x' * 2000} {end}\n")
    (tmp_path / "run").write_text("1 Q0 d 1 2.5 tag\n")
    with pytest.raises(InputError, match="qrels:2: document name of more than 1024 bytes"):
        sw.read_collection(tmp_path / "run", tmp_path / "qrels", subtopics=subtopics)


@pytest.mark.parametrize("size", [0, 1, 7, 1000])
@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_a_large_file_is_read_in_parts(
    size: int, jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PART", 1)
    text = bytes(range(65, 90)) * 40
    (tmp_path / "large").write_bytes(text[:size])
    buffer, found = read_bytes(tmp_path / "large", np.empty(0, dtype=np.uint8), jobs=jobs)
    assert (found, buffer[:found].tobytes()) == (size, text[:size])
    assert (buffer[found : found + PADDING] == 10).all()


def test_a_file_that_became_shorter_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"0123456789")
    for size in (9, 10, 11, 19, 25):
        room = bytearray(size)
        with (tmp_path / "short").open("rb") as stream:
            told = files._read_parts(stream.fileno(), memoryview(room), 3)
        assert room[:told] == b"0123456789"[:size]


@pytest.mark.parametrize("checked", [True, False])
def test_a_file_without_a_checksum_is_named(tmp_path: Path, checked: bool) -> None:
    packer = zstandard.ZstdCompressor(write_checksum=checked)
    table = "topic,a,b\n" + "".join(f"{k},0.{k},0.5\n" for k in range(1, 9))
    (tmp_path / "t.csv.zst").write_bytes(packer.compress(table.encode()))
    (tmp_path / "qrels").write_text("301 0 doc 1\n")
    (tmp_path / "run.zst").write_bytes(packer.compress(b"301 Q0 doc 1 2.5 tag\n"))
    read_as = sw.read_scores(tmp_path / "t.csv.zst").attrs["read_as"]
    assert (files.UNCHECKED in read_as) is not checked
    collection = sw.read_collection(tmp_path / "run.zst", tmp_path / "qrels")
    assert (f"{files.UNCHECKED}: run.zst" in collection.notes) is not checked
