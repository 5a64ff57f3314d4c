"""Tables of many rows, which compiled code reads: the same scores as a dictionary of plain Python holds."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise.core.errors import InputError
from shardwise.io import natural_order as order
from shardwise.io.natural_order import natural_key
from shardwise.io.scores import read_scores
from shardwise.io.tables import cells, column, delimited, kernels, parquet, tensor

NUMBERED = st.integers(0, 40).map(str)
NAMED = st.one_of(
    st.integers(0, 300).map(lambda k: f"q{k}"),
    st.uuids().map(str),
    st.integers(0, 300).map(lambda k: f"task/abc-{k:05d}"),
    st.text("ab07 é-/", min_size=1, max_size=12).map(str.strip).filter(lambda s: s not in ("", "-")),
)
TABLES = st.one_of(
    *(st.lists(one, min_size=1, max_size=8, unique=True) for one in (NUMBERED, NAMED, NUMBERED | NAMED))
)


@pytest.fixture(scope="module", autouse=True)
def _all_compiled() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (cells, column, delimited, tensor, order):
            patch.setattr(module, "MANY", 0)
        yield


def told(scores: xr.DataArray) -> dict[tuple[Any, ...], float]:
    """Cells by their labels, without those that are empty."""
    places = product(*(scores[dim].values.tolist() for dim in scores.dims))
    cells = zip(places, scores.values.ravel().tolist(), strict=True)
    return {tuple(map(str, place)): value for place, value in cells if not np.isnan(value)}


def read(rows: list[tuple[str, str, int, float]], ending: str, missing: str = "leave") -> xr.DataArray:
    frame = pd.DataFrame(rows, columns=["question_id", "model", "seed", "score"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{ending}"
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path, index=False)
        found = read_scores(path, missing=missing)
    assert isinstance(found, xr.DataArray)
    return found


@settings(max_examples=80, deadline=None)
@given(TABLES, st.data(), st.sampled_from(["csv", "parquet"]))
def test_scores_are_those_of_a_dictionary(ids: list[str], data: st.DataObject, ending: str) -> None:
    cells = list(product(ids, ("gpt", "a2", "a10"), (1, 2)))
    kept = data.draw(st.permutations(cells)) if len(cells) < 20 else cells[::-1]
    kept = kept[: data.draw(st.integers(max(len(kept) // 2, 4), len(kept)))]
    rows = [(*cell, 1 + k / 8) for k, cell in enumerate(kept)]
    expected = {(i, model, str(seed)): score for i, model, seed, score in rows}
    found = read(rows, ending)
    dims = [dim for dim in ("topic", "system", "instance") if dim in found.dims]
    own = {"topic": 0, "system": 1, "instance": 2}
    by_cell = {tuple(cell[own[dim]] for dim in dims): score for cell, score in expected.items()}
    assert told(found.transpose(*dims)) == by_cell
    for dim in ("topic", "system"):
        names = {cell[own[dim]] for cell in expected}
        assert found[dim].values.tolist() == sorted(names, key=natural_key)
    assert found.attrs.get("missing_rows", 0) == found.size - len(rows)


@settings(max_examples=30, deadline=None)
@given(TABLES, st.data())
def test_a_second_score_of_a_cell_is_refused_with_both_lines(ids: list[str], data: st.DataObject) -> None:
    rows = [(*cell, 0.5) for cell in product(ids, ("a", "b"), (1, 2))]
    first = data.draw(st.integers(0, len(rows) - 1))
    again = data.draw(st.integers(first + 1, len(rows)))
    rows.insert(again, rows[first])
    with pytest.raises(InputError, match="a second score") as refused:
        read(rows, "csv")
    assert f"table.csv:{first + 2}" in str(refused.value)
    assert f"table.csv:{again + 2}: " in str(refused.value)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.text(max_size=20), max_size=40), max_size=4))
def test_codes_are_those_of_arrow(parts: list[list[str]]) -> None:
    data = pa.chunked_array([pa.array(part, pa.string()) for part in parts], pa.string())
    if parts:  # a block that begins inside another
        data = pa.chunked_array([*data.chunks, pa.array(["x", *parts[0]]).slice(1)], pa.string())
    codes, names = kernels.coded_texts(data)
    expected = list(dict.fromkeys(data.to_pylist()))
    assert names.to_pylist() == expected
    assert [expected[code] for code in codes] == data.to_pylist()


def test_room_is_made_for_many_and_long_names() -> None:
    texts = [f"{k % 30_000}" * (1 + k % 7) for k in range(90_000)] + ["long" * 100_000]
    codes, names = kernels.coded_texts(pa.chunked_array([texts[:50_000], texts[50_000:]]))
    expected = pc.dictionary_encode(pa.array(texts))
    assert names.to_pylist() == expected.dictionary.to_pylist()
    np.testing.assert_array_equal(codes, expected.indices.to_numpy())


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("q07 19xé٣\0", max_size=9), max_size=20, unique=True))
def test_places_are_those_of_natural_keys(names: list[str]) -> None:
    places = kernels.natural_places(names)
    known = order.natural_order(names)
    assert [names[k] for k in known] == sorted(names, key=natural_key)
    keys = {natural_key(name)[:-1] for name in names}
    strange = any("\0" in name or "٣" in name for name in names)
    assert (places is None) == (strange or len(keys) < len(names))


@settings(max_examples=200, deadline=None)
@given(st.text("0017-,;.\n", min_size=3, max_size=12))
def test_zeros_that_a_number_would_lose_are_seen(text: str) -> None:
    found = delimited._odd_zeros(memoryview(text.encode()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "MANY", 10)
        assert delimited._odd_zeros(memoryview(text.encode())) == found


def test_what_pandas_says_of_columns_that_are_not_there_is_not_believed(tmp_path: Path) -> None:
    frame = pd.DataFrame({"question": ["1", "1"], "model": ["a", "b"], "score": [0.5, 1.0]})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    for said in (b'"name": "model"', b'"field_name": "model"'):
        about = table.schema.metadata[b"pandas"].replace(said, said.replace(b"model", b"gone"))
        assert about != table.schema.metadata[b"pandas"]
        assert not parquet._as_it_is(table.replace_schema_metadata({b"pandas": about}))
    assert parquet._as_it_is(table)
