"""Which file is which instance: patterns, folders, lists; and tables with a column of instances."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from shardwise.core.errors import InputError
from shardwise.io.instances import (
    flag_deterministic,
    instance_names,
    read_instance_scores,
    read_instances,
)
from shardwise.io.reader import read_collection
from shardwise.scoring.scoring import score

QRELS = {"1": {"a": 1, "b": 0}, "2": {"c": 1, "d": 1}, "3": {"a": 1}}


def write_run(path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for topic in QRELS:
        for rank, doc in enumerate(rng.permutation(list("abcde"))):
            lines.append(f"{topic} Q0 {doc} {rank + 1} {10 - rank} tag")
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, seeds in (("dense", (1, 2, 10)), ("sparse", (1, 2))):
        for seed in seeds:
            write_run(tmp_path / f"{name}_seed{seed}.run", seed + 100 * len(name))
    write_run(tmp_path / "bm25.run", 7)
    return tmp_path


PATTERNS = ["{system}_seed{instance}.run", "{system}.run"]


def test_runs_by_pattern(folder: Path) -> None:
    runs = read_instances(folder, QRELS, PATTERNS, deterministic=["bm25"])
    scores = runs.arrange(score(runs.collection, ["AP", "P@1"]))
    ap = scores["AP"]
    assert set(ap.dims) == {"system", "instance", "topic"}
    assert list(ap["system"].values) == ["bm25", "dense", "sparse"]
    assert list(ap["instance"].values) == ["1", "2", "10"]  # as people count
    assert ap["deterministic"].values.tolist() == [True, False, False]
    plain = score(read_collection(folder, QRELS, names="file"), "AP")["AP"]
    for system, instance, file in (("dense", "10", "dense_seed10.run"), ("sparse", "2", "sparse_seed2.run")):
        np.testing.assert_array_equal(
            ap.sel(system=system, instance=instance).sel(topic=["1", "2", "3"]), plain.sel(system=file)
        )
    assert ap.sel(system="sparse", instance="10").isnull().all()
    assert ap.notnull().all("topic").sum("instance").values.tolist() == [1, 3, 2]
    assert (ap.attrs["undefined"], ap.attrs["missing"]) == (0, 9)


def test_runs_by_folder(tmp_path: Path) -> None:
    for system in ("x", "y"):
        for k in range(2):
            write_run(tmp_path / system / f"run{k}.txt", k)
    runs = read_instances([tmp_path / "x", tmp_path / "y"], QRELS, "folder")
    assert runs.systems == ("x", "x", "y", "y")
    assert runs.instances == ("run0.txt", "run1.txt", "run0.txt", "run1.txt")
    also = read_instances([tmp_path / "x", tmp_path / "y"], QRELS, "{system}/run{instance}.txt")
    assert also.instances == ("0", "1", "0", "1")


def test_runs_by_list(folder: Path) -> None:
    table = folder.parent / f"{folder.name}.csv"
    rows = [
        f"{path.name},{path.name[:4]},{path.stem[-1]},{'yes' if 'bm25' in path.name else ''}"
        for path in folder.iterdir()
    ]
    table.write_text("\n".join(["file,system,instance,deterministic", *rows]))
    runs = read_instances(folder, QRELS, table)
    assert set(runs.systems) == {"bm25", "dens", "spar"}
    assert runs.deterministic == ("bm25",)
    mapping = {path.name: ("one", path.stem) for path in folder.iterdir()}
    assert set(read_instances(folder, QRELS, mapping).systems) == {"one"}


@pytest.mark.parametrize(("path", "pattern", "found"), [
    ("a_seed1_seed2.run", "{system}_seed{instance}.run", ("a_seed1", "2")),
    ("runs/t5.3.gz", "{system}.{instance}", ("t5", "3")),
    ("runs/t5.3.gz", "{system}.{instance}.gz", ("t5", "3")),
    ("m/t5/seed=3/test.run", "{system}/seed={instance}/*.run", ("t5", "3")),
    ("x.run", "{system}.run", ("x", "1")),
])  # fmt: skip
def test_patterns(path: str, pattern: str, found: tuple[str, str]) -> None:
    assert instance_names([Path(path)], pattern) == ([found], [])


def test_refusals_of_runs(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("lists")
    with pytest.raises(
        InputError, match=r"bm25.run: the name does not match '\{system\}_seed\{instance\}.run'"
    ):
        read_instances(folder, QRELS)
    with pytest.raises(InputError, match=r"needs \{system\} once"):
        read_instances(folder, QRELS, "run{instance}")
    with pytest.raises(InputError, match="already"):
        read_instances(folder, QRELS, ["{system}_*.run", "{system}.run"])
    with pytest.raises(InputError, match="'dense', named as deterministic, has 3 runs"):
        read_instances(folder, QRELS, PATTERNS, deterministic="dense")
    with pytest.raises(InputError, match="is not in the list of instances"):
        read_instances(folder, QRELS, {"bm25.run": ("bm25", "1")})
    table = elsewhere / "list.csv"
    for text, message in (
        ("file,system\nx,y", "no column 'instance'"),
        ("file,system,instance\na,b,1\na,b,2", "list.csv:3: a is listed twice"),
        ("file,system,instance,deterministic\na,b,1,perhaps", "list.csv:2: deterministic is 'perhaps'"),
    ):
        table.write_text(text)
        with pytest.raises(InputError, match=message):
            instance_names([Path("a")], table)
    with pytest.raises(InputError, match="cannot be read"):
        instance_names([Path("a")], elsewhere / "none.csv")
    runs = read_instances(folder, QRELS, PATTERNS)
    other = score(read_collection(folder, QRELS, names="file"), "AP")
    with pytest.raises(InputError, match="not of these runs"):
        runs.arrange(other)


def long(rows: list[tuple[str, int, str, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["system", "instance", "topic", "AP"])


def test_tables_with_unequal_numbers_of_instances(tmp_path: Path) -> None:
    rows = [
        (s, i, t, 0.1 * i) for s, m in (("a", 3), ("b", 1)) for i in range(1, m + 1) for t in ("t1", "t2")
    ]
    path = tmp_path / "scores.csv"
    long(rows).to_csv(path, index=False)
    table = read_instance_scores(path, deterministic=["b"])
    assert isinstance(table, xr.DataArray)
    assert dict(table.sizes) == {"topic": 2, "system": 2, "instance": 3}
    assert table["deterministic"].values.tolist() == [False, True]
    assert table.sel(system="b", instance=[2, 3]).isnull().all()


def test_refusals_of_tables() -> None:
    rows = [("a", 1, "t1", 0.1), ("a", 1, "t2", 0.2), ("a", 2, "t1", 0.3)]
    with pytest.raises(InputError, match="instance 2 of system a has no score for topic t2"):
        read_instance_scores(long(rows))
    with pytest.raises(InputError, match="no column 'instance'"):
        read_instance_scores(long(rows)[:2].drop(columns="instance"))
    with pytest.raises(InputError, match="unknown system 'c'"):
        read_instance_scores(long(rows[:2]), deterministic="c")


def test_flags_survive_selection_and_files(tmp_path: Path) -> None:
    table = xr.DataArray(
        np.zeros((2, 1, 3)), dims=("system", "instance", "topic"), coords={"system": ["a", "b"]}, name="AP"
    )
    flagged = flag_deterministic(table, ["b"])
    assert bool(flagged.sel(system="b")["deterministic"])
    flagged.to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    again = xr.load_dataarray(tmp_path / "x.nc", engine="h5netcdf")
    assert again["deterministic"].values.tolist() == [False, True]
