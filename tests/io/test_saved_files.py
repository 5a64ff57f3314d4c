"""Files of our own: whole or refused, whoever wrote them and however many write at once."""

from __future__ import annotations

import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

import shardwise as sw
from shardwise.io import files
from shardwise.io.archive import load_arrays, save_arrays
from shardwise.io.atomic import write_atomically

QRELS = "1 0 a 1\n1 0 b 0\n2 0 c 2\n2 0 a 0\n"
RUN = "1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n2 Q0 c 1 2 x\n2 Q0 d 2 1 x\n"


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "one").write_text(RUN)
    collection = sw.read_collection([tmp_path / "one"], tmp_path / "qrels")
    collection.save(tmp_path / "collection")
    sw.split(collection, 2, n_splits=3, seed=1).save(tmp_path / "splits")
    return tmp_path / "collection", tmp_path / "splits"


EDGES_AND_CODES = ("name_starts", "docs", "starts", "qrel_docs", "qrel_starts")
COLUMNS = (*EDGES_AND_CODES, "grades", "qrel_grades")


@pytest.mark.parametrize(
    ("name", "way"),
    [(name, way) for name in EDGES_AND_CODES for way in ("beyond", "below")]
    + [(name, way) for name in COLUMNS for way in ("short", "kind")],
)
def test_a_collection_that_points_nowhere_is_refused(saved: tuple[Path, Path], name: str, way: str) -> None:
    spoil(saved[0], "collection", name, way)
    with pytest.raises(sw.InputError, match="is damaged: its numbers"):
        sw.Collection.load(saved[0])


@pytest.mark.parametrize(
    ("name", "way"),
    [(name, way) for name in ("shards", "name_starts") for way in ("beyond", "short", "kind")]
    + [("sizes", "short")],
)
def test_splits_that_point_nowhere_are_refused(saved: tuple[Path, Path], name: str, way: str) -> None:
    spoil(saved[1], "splits", name, way)
    with pytest.raises(sw.InputError, match="is damaged: its numbers"):
        sw.Splits.load(saved[1])


def spoil(path: Path, kind: str, name: str, way: str) -> None:
    arrays, facts = load_arrays(path, kind)
    array: Any = arrays[name].copy()
    if way == "short":
        array = array[:-1]
    elif way == "kind":
        array = array.astype(np.float64)
    else:
        array.flat[-1] = 30_000 if way == "beyond" else -1
    told = {key: value for key, value in facts.items() if key not in ("holds", "format")}
    save_arrays(path, kind, arrays | {name: array}, told)


def test_a_cut_or_altered_file_is_refused(saved: tuple[Path, Path]) -> None:
    whole, original = saved[0].read_bytes(), sw.Collection.load(saved[0])
    for end in range(0, len(whole), 7):
        saved[0].write_bytes(whole[:end])
        with pytest.raises(sw.InputError, match="damaged"):
            sw.Collection.load(saved[0])
    for at in range(0, len(whole), 5):
        saved[0].write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :])
        try:
            read = sw.Collection.load(saved[0])
        except sw.InputError:
            continue
        assert repr(read) == repr(
            original
        )  # a bit that nobody reads, as some versions of zstandard have in their head
        read.save(saved[1])
        assert saved[1].read_bytes() == whole


def test_a_file_made_to_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LEAST", 1 << 24)  # a gigabyte takes its time
    path = tmp_path / "bomb"
    path.write_bytes(zstandard.ZstdCompressor(level=1).compress(bytes((1 << 24) + 1)))
    assert path.stat().st_size < 20_000
    with pytest.raises(sw.InputError, match="damaged"):
        sw.Collection.load(path)


def test_files_of_earlier_versions_are_read(
    saved: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were compressed with zstd, which new ones do without."""
    original = sw.Collection.load(saved[0])
    old = saved[0].with_name("old")
    old.write_bytes(zstandard.compress(saved[0].read_bytes()))
    assert repr(sw.Collection.load(old)) == repr(original)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    original.save(saved[0])
    assert repr(sw.Collection.load(saved[0])) == repr(original)
    with pytest.raises(sw.InputError, match=r"old: .*; run pip install zstandard$"):
        sw.Collection.load(old)


def test_many_may_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    contents = [bytes([65 + k]) * 200_000 for k in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(lambda k: write_atomically(path, contents[k % 4]), range(80)):
            assert path.read_bytes() in contents
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]


def test_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    path.chmod(0o640)
    write_atomically(path, b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o640)
