"""Moments of scores: the same answers as from the table, from any source, added in any order."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.ipc
import pyarrow.parquet
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import shardwise as sw
from shardwise.core.arguments import stream_results
from shardwise.core.arrays import Floats
from shardwise.io.archive import save_arrays
from shardwise.io.blocks import open_blocks
from shardwise.methods.moments.gram import gram_of, merge_moments

NAMES = ["a", "b", "c", "d"]


def scores(n: int = 300, seed: int = 1) -> Floats:
    rng = np.random.default_rng(seed)
    shared = rng.normal(0.5, 0.2, (n, 1))
    return shared + rng.normal([0.0, 0.01, 0.03, 0.03], [0.05, 0.1, 0.1, 0.2], (n, 4))


def frame(y: Floats) -> pd.DataFrame:
    table = pd.DataFrame(y, columns=NAMES)
    table.insert(0, "question", [f"q{k}" for k in range(len(y))])
    return table


def long(y: Floats) -> pd.DataFrame:
    return (
        frame(y).melt("question", var_name="model", value_name="score").sort_values("question", kind="stable")
    )


def assert_same(found: sw.ScoreMoments, y: Floats, rtol: float = 1e-12) -> None:
    assert found.n == len(y)
    np.testing.assert_allclose(found.means[NAMES], y.mean(axis=0), rtol=rtol)
    np.testing.assert_allclose(found.covariance.loc[NAMES, NAMES], np.cov(y.T), rtol=rtol, atol=1e-15)


@pytest.mark.parametrize(
    "method", ["t holm", "t bh", "t none", "MD1 hsd topic", "MD1 hsd", "MD1 scheffe topic"]
)
def test_closed_forms_are_those_of_the_table(method: str) -> None:
    y = scores()
    table = xr.DataArray(y, dims=("topic", "system"), coords={"system": NAMES})
    found = sw.compare(sw.ScoreMoments.of(table), method).to_frame()
    expected = sw.compare(table, method).to_frame()
    pd.testing.assert_frame_equal(found, expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("method", ["moderated none", "moderated holm", "moderated bh"])
def test_the_moderated_test_of_single_pairs_is_that_of_the_table(method: str) -> None:
    y = scores()
    table = xr.DataArray(y, dims=("topic", "system"), coords={"system": NAMES})
    moments = sw.ScoreMoments.of(table)
    pd.testing.assert_frame_equal(
        sw.compare(moments, method).to_frame(), sw.compare(table, method).to_frame(), rtol=1e-10, atol=1e-14
    )


def test_the_joint_distribution_is_the_limit_of_resampling() -> None:
    y = scores(4000)
    table = xr.DataArray(y, dims=("topic", "system"), coords={"system": NAMES})
    drawn, limit = (sw.compare(one, "moderated") for one in (table, sw.ScoreMoments.of(table)))
    wide, narrow = (one.to_frame()["upper"] - one.to_frame()["lower"] for one in (drawn, limit))
    np.testing.assert_allclose(
        narrow, wide, rtol=0.03
    )  # 9,999 draws each: the quantile is known to about 1 %
    a, b = (one.to_frame()["p_adjusted"].to_numpy() for one in (drawn, limit))
    np.testing.assert_allclose(a, b, atol=0.02)  # three standard errors of the difference of two p
    assert drawn.best() == limit.best()


def test_draws_do_not_depend_on_workers_or_on_the_order_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = sw.ScoreMoments.of(scores(), systems=NAMES)
    expected = sw.compare(moments, n_resamples=999).to_frame()
    monkeypatch.setattr("shardwise.core.arguments.count_processors", lambda: 1)
    pd.testing.assert_frame_equal(sw.compare(moments, n_resamples=999).to_frame(), expected)


@given(st.integers(0, 10_000), st.lists(st.integers(0, 30), min_size=1, max_size=8), st.randoms())
def test_parts_are_added_in_any_order(seed: int, sizes: list[int], order: Any) -> None:
    y = scores(sum(sizes) + 2, seed) * 10.0 ** (seed % 7 - 3) + seed % 11
    edges = [0, 2, *(2 + np.cumsum(sizes)).tolist()]
    parts = [sw.ScoreMoments.of(y[a:b], systems=NAMES) for a, b in pairwise(edges)]
    order.shuffle(parts)
    turned = [sw.ScoreMoments.of(y[:0][:, ::-1], systems=NAMES[::-1]), *parts]  # systems the other way round
    total = turned[0]
    for part in turned[1:]:
        total = total + part
    np.testing.assert_allclose(total.means[NAMES], y.mean(axis=0), rtol=1e-12, atol=1e-12 * np.abs(y).max())
    scale = np.abs(np.cov(y.T)).max() + 1e-30
    np.testing.assert_allclose(total.covariance.loc[NAMES, NAMES] / scale, np.cov(y.T) / scale, atol=1e-12)


def test_a_large_offset_costs_no_digits() -> None:
    y = scores(5000)
    found = sw.ScoreMoments.of(y + 1e6, systems=NAMES, rows=64)
    np.testing.assert_allclose(found.covariance, np.cov(y.T), rtol=1e-7)  # of 1e6 about ten digits are left


def write_arrow(path: Path, table: pa.Table, rows: int, compression: str | None = None) -> None:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(str(path), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)


def sources(y: Floats, folder: Path) -> dict[str, Any]:
    wide, table = frame(y), xr.DataArray(y, dims=("topic", "system"), coords={"system": NAMES}, name="score")
    wide.to_parquet(folder / "wide.parquet")
    wide.to_csv(folder / "wide.csv", index=False)
    wide.to_csv(folder / "wide.tsv", index=False, sep="\t")
    long(y).to_parquet(folder / "long.parquet")
    long(y).to_csv(folder / "long.csv", index=False)
    np.save(folder / "array.npy", y)
    (folder / "parts").mkdir()
    for k, part in enumerate(np.array_split(np.arange(len(y)), 3)):
        wide.iloc[part].to_parquet(folder / "parts" / f"{k}.parquet")
    arrow = pa.Table.from_pandas(wide)
    write_arrow(folder / "wide.arrow", arrow, 37)
    write_arrow(folder / "once.arrow", arrow, len(y))
    write_arrow(folder / "packed.feather", arrow, 90, "lz4")
    write_arrow(folder / "long.arrow", pa.Table.from_pandas(long(y)), 53)
    table.to_dataset(name="score").to_netcdf(folder / "scores.nc", engine="h5netcdf")
    files = (
        "wide.parquet", "wide.csv", "wide.tsv", "wide.arrow", "once.arrow", "packed.feather", "long.parquet",
        "long.csv", "long.arrow", "parts", "scores.nc",
    )  # fmt: skip
    return {
        **{name: folder / name for name in files},
        "frame": wide,
        "arrow": arrow,
        "dataset": pa.dataset.dataset(arrow),
        "reader": pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches(max_chunksize=37)),
        "long reader": pa.Table.from_pandas(long(y)).to_reader(max_chunksize=53),
        "dask": table.chunk({"topic": 41}),
        "labelled": table,
    }


def test_every_source_gives_the_same(tmp_path: Path) -> None:
    y = scores(200)
    for name, source in sources(y, tmp_path).items():
        found = sw.ScoreMoments.of(source, rows=64)
        assert set(found.systems) == set(NAMES), name
        assert_same(found, y)
    assert_same(sw.ScoreMoments.of(tmp_path / "array.npy", systems=NAMES, rows=64), y)
    assert sw.ScoreMoments.of(tmp_path / "wide.csv").item == "question"


def test_saved_moments_come_back(tmp_path: Path) -> None:
    found = sw.ScoreMoments.of(scores(), systems=NAMES)
    found.save(tmp_path / "a.moments")
    again = sw.ScoreMoments.load(tmp_path / "a.moments")
    assert again.systems == found.systems
    assert again.n == found.n
    np.testing.assert_array_equal(again.gram.cross, found.gram.cross)
    whole = (tmp_path / "a.moments").read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.moments").write_bytes(whole[:cut])
        with pytest.raises(sw.InputError, match=r"cut\.moments"):
            sw.ScoreMoments.load(tmp_path / "cut.moments")


def test_missing_scores_are_refused_or_counted(tmp_path: Path) -> None:
    y = scores(50)
    y[7, 2] = np.nan
    with pytest.raises(sw.InputError, match="topic 8"):
        sw.ScoreMoments.of(y, systems=NAMES)
    found = sw.ScoreMoments.of(y, systems=NAMES, missing="drop")
    assert found.dropped == 1
    assert_same(found, np.delete(y, 7, axis=0))
    table = long(scores(50)).sample(frac=1.0, random_state=1)  # the rows of an item are apart
    table.to_csv(tmp_path / "apart.csv", index=False)
    with pytest.raises(sw.InputError, match="lacks a score"):
        sw.ScoreMoments.of(tmp_path / "apart.csv")


@pytest.mark.parametrize("method", ["wilcoxon holm", "max-t", "MD6 hsd", "unified holm"])
def test_what_moments_cannot_say_is_refused(method: str) -> None:
    with pytest.raises(sw.InputError, match="needs the scores themselves"):
        sw.compare(sw.ScoreMoments.of(scores(), systems=NAMES), method)


def test_other_refusals(tmp_path: Path) -> None:
    moments = sw.ScoreMoments.of(scores(), systems=NAMES)
    with pytest.raises(sw.InputError, match="only one side has"):
        moments + sw.ScoreMoments.of(scores()[:, :3], systems=NAMES[:3])
    with pytest.raises(sw.InputError, match="takes two"):
        sw.ScoreMoments.of(scores()[:, :1], systems=["a"])
    with pytest.raises(sw.InputError, match="no such file"):
        sw.ScoreMoments.of(tmp_path / "none.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 this is none")
    with pytest.raises(sw.InputError, match=r"bad\.parquet"):
        sw.ScoreMoments.of(tmp_path / "bad.parquet")
    with pytest.raises(sw.InputError, match="infinite"):
        sw.ScoreMoments.of(np.array([[1.0, np.inf], [0.0, 1.0]]))
    with pytest.raises(sw.InputError, match="about new topics only"):
        sw.compare(moments, "moderated", generalize=())


def test_an_arrow_file_damaged_anywhere_is_refused_in_one_line(tmp_path: Path) -> None:
    write_arrow(tmp_path / "a.arrow", pa.Table.from_pandas(frame(scores(200))), 20)
    whole = (tmp_path / "a.arrow").read_bytes()
    for cut in (0, 5, len(whole) // 2, len(whole) - 3):
        (tmp_path / "cut.arrow").write_bytes(whole[:cut])
        with pytest.raises(sw.InputError, match=r"cut\.arrow: ") as refused:
            sw.ScoreMoments.of(tmp_path / "cut.arrow")
        assert "\n" not in str(refused.value)
    (tmp_path / "hole.arrow").write_bytes(
        whole[: len(whole) // 2] + b"\xff" * 300 + whole[len(whole) // 2 + 300 :]
    )
    with pytest.raises(
        sw.InputError, match=r"hole\.arrow: "
    ):  # numbers that are none, or a header that is none
        sw.ScoreMoments.of(tmp_path / "hole.arrow")
    empty = pa.Table.from_pandas(frame(scores(200)).iloc[:0])
    write_arrow(tmp_path / "empty.arrow", empty, 20)
    with pytest.raises(sw.InputError, match="holds no rows"):
        sw.ScoreMoments.of(tmp_path / "empty.arrow")


@pytest.mark.parametrize("margins", [False, True])
def test_figures_do_not_depend_on_the_number_of_threads(tmp_path: Path, margins: bool) -> None:
    y = np.random.default_rng(4).normal(3.0, 1.0, (1500, 60))
    np.save(tmp_path / "array.npy", y)
    wide = pd.DataFrame(y, columns=[f"s{k}" for k in range(60)])
    wide.to_parquet(tmp_path / "wide.parquet")
    wide.to_parquet(tmp_path / "groups.parquet", row_group_size=70)
    write_arrow(tmp_path / "batches.arrow", pa.Table.from_pandas(wide), 70)
    for name in ("array.npy", "wide.parquet", "groups.parquet", "batches.arrow"):
        found = [
            sw.ScoreMoments.of(tmp_path / name, rows=300, jobs=jobs, margins=margins).gram for jobs in (1, 5)
        ]
        for other in found[1:]:
            for one, same in zip(found[0], other, strict=True):
                np.testing.assert_array_equal(one, same)


def test_arrays_in_files_are_read_block_by_block(tmp_path: Path) -> None:
    y = np.round(scores(500) * 100.0)
    for kind in ("f8", ">f8", "f4", "i2"):
        np.save(tmp_path / "a.npy", y.astype(kind))
        assert_same(sw.ScoreMoments.of(tmp_path / "a.npy", systems=NAMES, rows=200), y)
    np.save(tmp_path / "turned.npy", np.asfortranarray(y))
    assert_same(sw.ScoreMoments.of(tmp_path / "turned.npy", systems=NAMES, rows=200), y)


@pytest.mark.parametrize("group", [1, 37, 60, 64, 150, 400])
def test_row_groups_of_any_size(tmp_path: Path, group: int) -> None:
    y = scores(400)
    frame(y).to_parquet(tmp_path / "a.parquet", row_group_size=group)
    done: list[int] = []
    found = sw.ScoreMoments.of(
        tmp_path / "a.parquet", rows=64, jobs=3, progress=lambda items, _: done.append(items)
    )
    assert_same(found, y)
    assert done == sorted(done)
    assert done[-1] == 400
    y[333, 1] = np.nan
    frame(y).to_parquet(tmp_path / "a.parquet", row_group_size=group)
    with pytest.raises(sw.InputError, match=r"a\.parquet: question 334: a system lacks a score"):
        sw.ScoreMoments.of(tmp_path / "a.parquet", rows=64, jobs=3)


def test_parquet_damaged_beyond_its_first_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    frame(scores(4000)).to_parquet(path, row_group_size=1000, compression="zstd")
    bytes_ = bytearray(path.read_bytes())
    start = pa.parquet.read_metadata(path).row_group(3).column(2).data_page_offset
    bytes_[start : start + 200] = b"\xff" * 200
    path.write_bytes(bytes_)
    with pytest.raises(sw.InputError, match=r"a\.parquet: cannot be read"):
        sw.ScoreMoments.of(path, rows=500, jobs=2)


@given(st.integers(1, 40), st.integers(0, 60), st.booleans())
def test_cross_products_are_the_same_either_way_round(columns: int, rows: int, by_row: bool) -> None:
    y = np.random.default_rng(columns + rows).normal(5.0, 1.0, (rows, columns) if by_row else (columns, rows))
    pieces = np.array_split(y.T if by_row else y, 3, axis=1)
    found = gram_of(pieces, columns)
    for one in (found, merge_moments(found, gram_of(pieces[:1], columns))):
        np.testing.assert_array_equal(one.cross, one.cross.T)


def test_a_file_cut_short_while_it_is_read(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", scores(500))
    opened = open_blocks(tmp_path / "a.npy", rows=100)
    with (tmp_path / "a.npy").open("r+b") as file:
        file.truncate(9000)
    with pytest.raises(sw.InputError, match="ends too early"):
        list(stream_results(lambda block: [piece.sum() for piece in block()], opened.each, jobs=2))


@given(
    st.integers(0, 10_000), st.lists(st.integers(0, 40), min_size=1, max_size=6), st.sampled_from([0.0, 1e6])
)
def test_margins_are_those_of_the_cross_products(seed: int, sizes: list[int], offset: float) -> None:
    y = scores(sum(sizes) + 3, seed) + offset
    edges = [0, 3, *(3 + np.cumsum(sizes)).tolist()]
    parts = [sw.ScoreMoments.of(y[a:b], systems=NAMES, margins=True) for a, b in pairwise(edges)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert total.gram.cross is None
    centred = (y - offset) - (y - offset).mean(axis=0)
    lost = 1e-12 if not offset else 1e-7  # of 1e6 about ten digits are left
    np.testing.assert_allclose(total.gram.squares, (centred**2).sum(axis=0), rtol=lost)
    np.testing.assert_allclose(total.gram.total, (centred.sum(axis=1) ** 2).sum(), rtol=lost, atol=1e-9)


@pytest.mark.parametrize("method", ["MD1 hsd topic", "MD1 hsd", "MD1 scheffe topic", "MD1 bh topic"])
def test_margins_are_enough_for_one_error(method: str) -> None:
    table = xr.DataArray(scores(), dims=("topic", "system"), coords={"system": NAMES})
    found = sw.compare(sw.ScoreMoments.of(table, margins=True), method)
    expected = sw.compare(table, method)
    pd.testing.assert_frame_equal(found.to_frame(), expected.to_frame(), rtol=1e-10, atol=1e-14)
    pd.testing.assert_frame_equal(found.systems(), expected.systems(), rtol=1e-10)


@pytest.mark.parametrize("method", ["t holm", "moderated", "moderated bh"])
def test_what_needs_pairs_is_refused_of_margins(method: str) -> None:
    margins = sw.ScoreMoments.of(scores(), systems=NAMES, margins=True)
    with pytest.raises(
        sw.InputError, match="margins are without them; read the table without margins, or use MD1"
    ):
        sw.compare(margins, method)
    with pytest.raises(sw.InputError, match="covariances need"):
        margins.covariance  # noqa: B018


def test_margins_are_saved_and_added_to_margins_alone(tmp_path: Path) -> None:
    found = sw.ScoreMoments.of(scores(), systems=NAMES)
    found.margins().save(tmp_path / "a.moments")
    again = sw.ScoreMoments.load(tmp_path / "a.moments")
    for one, same in zip(found.gram[:4], again.gram, strict=False):
        np.testing.assert_array_equal(one, same)
    with pytest.raises(sw.InputError, match=r"\.margins\(\) of the one that has more"):
        found + again
    turned = sw.ScoreMoments.of(scores()[:, ::-1], systems=NAMES[::-1], margins=True)
    both = again + turned
    np.testing.assert_allclose(both.gram.squares, 2.0 * found.gram.squares, rtol=1e-12)
    save_arrays(
        tmp_path / "bad.moments", "moments", {"mean": np.zeros(2), "squares": np.zeros(2)},
        {"systems": ["a", "b"], "n": 3, "total": "much"},
    )  # fmt: skip
    with pytest.raises(sw.InputError, match="damaged"):
        sw.ScoreMoments.load(tmp_path / "bad.moments")


@pytest.mark.parametrize("margins", [False, True])
def test_gaps_are_found_in_any_block(tmp_path: Path, margins: bool) -> None:
    y = scores(400)
    y[[5, 250, 399], [0, 2, 3]] = np.nan
    np.save(tmp_path / "a.npy", y)
    frame(y).to_parquet(tmp_path / "a.parquet")
    for name in ("a.npy", "a.parquet"):
        with pytest.raises(sw.InputError, match=rf"{name}: \w+ 6: a system lacks a score"):
            sw.ScoreMoments.of(tmp_path / name, rows=60, margins=margins)
        found = sw.ScoreMoments.of(tmp_path / name, rows=60, missing="drop", margins=margins)
        assert (found.n, found.dropped) == (397, 3)
        left = np.delete(y, [5, 250, 399], axis=0)
        np.testing.assert_allclose(found.means.to_numpy(), left.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(found.gram.squares / 396, left.var(axis=0, ddof=1), rtol=1e-12)


@pytest.mark.calibration
def test_the_joint_distribution_keeps_its_level_where_items_are_many() -> None:
    """Equal systems of unequal spread, two of them nearly the same: 5 % of tables with an alarm."""
    rng, alarms, tables = np.random.default_rng(5), 0, 400
    for _ in range(tables):
        shared = rng.gamma(0.5, 0.2, (1500, 1))
        y = shared + rng.normal(0.0, [0.02, 0.05, 0.2, 0.4], (1500, 4))
        y = np.column_stack([y, y[:, 0] + rng.normal(0.0, 0.001, 1500)])
        found = sw.compare(sw.ScoreMoments.of(y), "moderated", n_resamples=499)
        alarms += bool(found.reject(0.05).any())
    assert (
        0.05 - 3.0 * np.sqrt(0.05 * 0.95 / tables)
        < alarms / tables
        < 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / tables)
    )
