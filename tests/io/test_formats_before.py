"""Files that an earlier version wrote (tests/data/formats/, a folder a version) are read as they were then."""

from __future__ import annotations

from pathlib import Path

import pytest
import xarray as xr

from shardwise.cli.schema import RESULTS, make_schema
from shardwise.io.collection import Collection
from shardwise.io.scores import read_scores
from shardwise.scoring.scoring import score
from shardwise.sharding.splits import Splits
from shardwise.writing.embedded import read_report

FORMATS = Path(__file__).parent.parent / "data" / "formats"
VERSIONS = sorted(FORMATS.iterdir())


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: folder.name)
def test_scores_are_the_same_in_every_format(folder: Path) -> None:
    plain = read_scores(folder / "scores.csv")
    assert isinstance(plain, xr.Dataset)
    for name in ("scores.nc", "scores.parquet", "scores.csv.zst"):
        found = read_scores(folder / name)
        assert isinstance(found, xr.Dataset)
        xr.testing.assert_allclose(found, plain, rtol=1e-15)
    # AP by hand: bm25 has its relevant documents at ranks 1 and 3, and at 1 and 2
    assert plain["AP"].sel(system="bm25").values.tolist() == [(1 + 2 / 3) / 2, 1.0]


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: folder.name)
def test_collections_splits_and_reports_are_read(folder: Path) -> None:
    collection = Collection.load(folder / "collection.zst")
    splits = Splits.load(folder / "splits.zst", collection)
    again = score(collection, ["AP"])["AP"]
    stored = read_scores(folder / "scores.csv", measure="AP")
    assert isinstance(stored, xr.DataArray)
    xr.testing.assert_allclose(again.drop_attrs(), stored.drop_attrs(), rtol=1e-15)
    assert score(collection, ["AP"], splits)["AP"].sizes["shard"] == 2
    assert len(read_report(folder / "report.html")["systems"]) == 2


@pytest.mark.parametrize("command", sorted(RESULTS))
def test_every_schema_has_a_version(command: str) -> None:
    assert make_schema(command)["$id"] == f"urn:shardwise:{command.replace(' ', '-')}:1"
