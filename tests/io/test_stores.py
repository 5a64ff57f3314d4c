"""Scores as Zarr stores: whole or not there, lazily read, and refused in one line where they are damaged."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import shardwise as sw
from collections_for_tests import write_runs
from command_line import shardwise
from shardwise.io import atomic, stores

pytest.importorskip("zarr")
if tuple(map(int, xr.__version__.split(".")[:2])) < (2025, 1):
    pytest.skip("the extra [zarr] asks for a later xarray", allow_module_level=True)


def sharded(topics: int = 12, measures: tuple[str, ...] = ("AP", "nDCG@10")) -> xr.Dataset:
    rng = np.random.default_rng(2)
    sizes = {"split": 3, "topic": topics, "system": 5, "shard": 2}
    labels = {"topic": [f"t{k}" for k in range(topics)], "system": list("abcde"), "shard": ["1", "2"]}
    found = {name: (tuple(sizes), rng.random(tuple(sizes.values())), {"undefined": 3}) for name in measures}
    data = xr.Dataset(found, {**labels, "split": np.arange(3)}, {"notes": "made up", "split_seed": 4})
    data[measures[0]][0, 1, :, 0] = np.nan  # undefined
    return data


def test_scores_come_back_with_all_that_they_say(tmp_path: Path) -> None:
    path = tmp_path / "scores.zarr"
    sw.write_scores(sharded(), path)
    found = sw.read_scores(path)
    assert isinstance(found, xr.Dataset)
    assert sorted(tmp_path.iterdir()) == [path]  # no draft is left
    xr.testing.assert_identical(found.load(), sharded())
    one = sw.read_scores(str(path), measure="nDCG@10")
    assert isinstance(one, xr.DataArray)
    assert one.attrs["split_seed"] == 4
    named = sharded().assign_coords(system=np.array(list("vwxyz"), dtype=object))
    sw.write_scores(named, path)  # in the place of the other
    assert list(sw.read_scores(path)["system"].values) == list("vwxyz")
    assert sorted(tmp_path.iterdir()) == [path]


def test_only_the_split_that_is_looked_at_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "scores.zarr"
    monkeypatch.setattr(stores, "CHUNK", 12 * 2 * 2)  # two systems of a split
    sw.write_scores(sharded(measures=("AP",)), path)
    chunks = sorted(file.name for file in (path / "AP").iterdir() if file.name[0] != ".")
    assert len(chunks) == 3 * 3
    found = sw.read_scores(path)
    for name in chunks:
        if not name.startswith("1."):
            (path / "AP" / name).unlink()  # after it was opened: nobody may miss them
    expected = sharded(measures=("AP",))["AP"].isel(split=1)
    np.testing.assert_array_equal(found.isel(split=1).to_numpy(), expected.to_numpy())


def test_a_store_is_a_table_for_everything(tmp_path: Path) -> None:
    plain = sharded(40, ("AP",))["AP"].isel(split=1, shard=1, drop=True)
    sw.write_scores(plain, tmp_path / "s.zarr")
    np.testing.assert_array_equal(
        sw.compare(sw.read_scores(tmp_path / "s.zarr"), "t holm").p, sw.compare(plain, "t holm").p
    )
    found = sw.ScoreMoments.of(tmp_path / "s.zarr", rows=7)
    np.testing.assert_allclose(found.means.to_numpy(), plain.mean("topic").to_numpy(), rtol=1e-12)
    done = shardwise("compare", tmp_path / "s.zarr", "--method", "t holm", "--format", "json", "--quiet")
    sw.write_scores(plain, tmp_path / "s.nc")
    same = shardwise("compare", tmp_path / "s.nc", "--method", "t holm", "--format", "json", "--quiet")
    assert (done.returncode, json.loads(done.stdout)["rows"]) == (0, json.loads(same.stdout)["rows"])
    report = tmp_path / "report.html"
    how = ("--method", "t holm", "--calibration", "0", "--quiet", "--report", report)
    assert shardwise("compare", tmp_path / "s.zarr", *how).returncode == 0
    assert stores.store_hash(tmp_path / "s.zarr")[1][:12] in report.read_text()
    with pytest.raises(sw.InputError, match="read by itself"):
        sw.read_scores([tmp_path / "s.zarr", tmp_path / "s.nc"])


def damages(path: Path) -> dict[str, Any]:
    """Ways in which a store is not what was written."""
    chunk = path / "AP" / "1.0.0.0"

    def flipped() -> None:
        blob = bytearray(chunk.read_bytes())
        blob[-5] ^= 1
        chunk.write_bytes(blob)

    return {
        "AP/1.0.0.0 is lacking": chunk.unlink,
        "AP/1.0.0.0 is not the one": lambda: chunk.write_bytes(chunk.read_bytes()[:-3]),
        "0.0 is not the one that": flipped,
        ".zmetadata is not the one": lambda: (path / ".zmetadata").write_text("{}"),
        "AP/9.9.9.9 is not the one": lambda: shutil.copy(chunk, path / "AP" / "9.9.9.9"),
        "cannot be read": lambda: (path / stores.LIST).write_text("{"),
        "another format": lambda: (path / stores.LIST).write_text(
            json.dumps({"holds": "scores", "format": 2, "files": {}})
        ),
        "a link to elsewhere": lambda: (path / "AP" / "7.0.0.0").symlink_to("/etc/hostname"),
    }


@pytest.mark.parametrize("said", damages(Path()))
def test_a_damaged_store_is_refused_in_one_line(tmp_path: Path, said: str) -> None:
    path = tmp_path / "scores.zarr"
    sw.write_scores(sharded(), path)
    damages(path)[said]()
    for read in (sw.read_scores, sw.ScoreMoments.of):
        with pytest.raises(sw.InputError, match=said) as refused:
            read(path)
        assert len(str(refused.value).splitlines()) == 1


def test_a_store_of_another_program_runs_no_code(tmp_path: Path) -> None:
    path = tmp_path / "other.zarr"
    plain = sharded(6, ("AP",)).isel(split=0, shard=0, drop=True)
    plain.to_zarr(path, zarr_format=2, consolidated=True)
    np.testing.assert_array_equal(sw.read_scores(path).to_numpy(), plain["AP"].to_numpy())
    for name in (".zmetadata", "AP/.zarray"):
        told = json.loads((path / name).read_text())
        array = told["metadata"]["AP/.zarray"] if name == ".zmetadata" else told
        for harm, match in (
            ({"filters": [{"id": "pickle"}]}, "'pickle', which is not known"),
            ({"shape": [10**9, 10**9]}, "more than a store"),
        ):
            kept = dict(array)
            array.update(harm)
            (path / name).write_text(json.dumps(told))
            with pytest.raises(sw.InputError, match=match):
                sw.read_scores(path)
            array.clear()
            array.update(kept)
            (path / name).write_text(json.dumps(told))
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(sw.InputError, match="is not a Zarr store"):
        sw.read_scores(tmp_path / "empty.zarr")


def test_a_full_disk_leaves_the_store_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "scores.zarr"
    sw.write_scores(sharded(), path)

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(sw.InputError, match="No space left on device"):
        sw.write_scores(sharded(20), path)
    assert sorted(tmp_path.iterdir()) == [path]
    assert sw.read_scores(path).sizes["topic"] == 12


KILLED = """
import os, sys
from pathlib import Path
from shardwise.io import atomic, stores
import shardwise as sw
def killed(draft):
    os.kill(os.getpid(), 9)
scores = sw.read_scores(sys.argv[1]).load().isel(topic=slice(3))
atomic._remove_draft = killed  # the new one is in its place, and the old one is to be deleted
stores.write_store(scores, Path(sys.argv[1]))
"""


def test_a_kill_before_the_old_store_is_gone_leaves_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "scores.zarr"
    sw.write_scores(sharded(), path)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -9
    assert len(list(tmp_path.iterdir())) == 2  # what is left of the old one is beside it
    xr.testing.assert_identical(sw.read_scores(path).load(), sharded().isel(topic=slice(3)))
    sw.write_scores(sharded(20), path)
    assert sorted(tmp_path.iterdir()) == [path]
    assert sw.read_scores(path).sizes["topic"] == 20


def test_there_is_a_whole_store_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing moves the old one away first: at every call that renames there is a store, before and after it."""
    path = tmp_path / "scores.zarr"
    sw.write_scores(sharded(), path)
    rename, moved = Path.rename, []

    def watched(self: Path, target: Path) -> Path:
        moved.append((self, target))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", watched)
    if not atomic._swap_names(path, path):
        pytest.skip("this file system cannot swap names")
    sw.write_scores(sharded(20), path)
    assert moved == []
    assert sw.read_scores(path).sizes["topic"] == 20


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EINVAL])
def test_where_names_cannot_be_swapped_they_are_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    class Without:
        @staticmethod
        def renameat2(*call: Any) -> int:
            ctypes.set_errno(number)
            return -1

    path = tmp_path / "scores.zarr"
    sw.write_scores(sharded(), path)
    monkeypatch.setattr(ctypes, "CDLL", lambda *name, **how: Without)
    sw.write_scores(sharded(20), path)
    assert sorted(tmp_path.iterdir()) == [path]
    assert sw.read_scores(path).sizes["topic"] == 20
    monkeypatch.setattr(ctypes, "CDLL", lambda *name, **how: object())  # neither Linux nor macOS
    sw.write_scores(sharded(), path)
    assert sw.read_scores(path).sizes["topic"] == 12
    number = errno.EACCES
    monkeypatch.setattr(ctypes, "CDLL", lambda *name, **how: Without)
    with pytest.raises(sw.InputError, match="Permission denied"):
        sw.write_scores(sharded(20), path)
    assert sorted(tmp_path.iterdir()) == [path]
    assert sw.read_scores(path).sizes["topic"] == 12


def test_what_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "mine.zarr").mkdir()
    (tmp_path / "mine.zarr" / "letter.txt").write_text("dear")
    with pytest.raises(sw.InputError, match="is not a Zarr store"):
        sw.write_scores(sharded(), tmp_path / "mine.zarr")
    with pytest.raises(sw.InputError, match="has no layout"):
        sw.write_scores(sharded(), tmp_path / "s.zarr", layout="wide")
    assert (tmp_path / "mine.zarr" / "letter.txt").read_text() == "dear"


def test_without_zarr_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(sw.InputError, match=r"; run pip install zarr$"):
        sw.write_scores(sharded(), tmp_path / "s.zarr")


@pytest.mark.parametrize("how", [(), ("--max-memory", "1KB")])
def test_the_command_writes_a_store(tmp_path: Path, how: tuple[str, ...]) -> None:
    runs = write_runs(tmp_path)
    words = ("score", tmp_path / "qrels", *runs, "--shards", "2", "--splits", "2", "-q", *how)
    for name in ("s.nc", "s.zarr", "s.zarr"):  # the second time in the place of the first
        done = shardwise(*words, "--out", tmp_path / name)
        assert (done.returncode, done.stderr) == (0, "")
    found, same = sw.read_scores(tmp_path / "s.zarr"), sw.read_scores(tmp_path / "s.nc")
    xr.testing.assert_identical(found.load(), same)
