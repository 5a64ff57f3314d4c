"""Files from strangers: what is damaged, endless or stored elsewhere is refused in one line."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import xarray as xr
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from shardwise.comparing.compare import paired_tests
from shardwise.core.errors import InputError
from shardwise.core.text import guard_name, unguard_name
from shardwise.io import files
from shardwise.io.files import compress_text, read_text
from shardwise.io.netcdf import _load_dataset, netcdf_bytes
from shardwise.io.scores import read_scores, write_scores


def scores(topics: int = 30) -> xr.DataArray:
    values = np.random.default_rng(1).random((topics, 3))
    return xr.DataArray(
        values, {"topic": [str(k + 1) for k in range(topics)], "system": ["a", "b", "c"]}, name="AP"
    )


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
def test_a_file_made_to_fill_the_memory_is_not_inflated(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LEAST_TEXT", 1 << 20)
    monkeypatch.setattr(files, "GROWTH_TEXT", 2)
    path = tmp_path / f"run{ending}"
    path.write_bytes(compress_text(ending, bytes(4 << 20)))
    with pytest.raises(InputError, match="inflate to over"):
        read_text(path)


@pytest.mark.parametrize("rest", [b"garbage", b"\0\0\0\0garbage", b"\n"])
@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
def test_what_follows_the_compressed_text_is_refused(ending: str, rest: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"run{ending}"
    path.write_bytes(compress_text(ending, b"1 Q0 d 1 2 r\n") + rest)
    with pytest.raises(InputError, match="cannot be read as a"):
        read_text(path)


def test_a_compressed_table_that_would_fill_the_memory_is_refused_in_one_line(tmp_path: Path) -> None:
    """Text of a compressed file takes many times its size in memory once it is a table."""
    bomb = tmp_path / "bomb.csv.zst"
    bomb.write_bytes(zstandard.compress(b"topic,a,b\n" + b"1,2,3\n" * 10_000_000, level=1))
    resource = pytest.importorskip("resource")
    started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match=r"inflate to over 33,554,432; check where it comes from"):
        read_scores(bomb)
    # kilobytes
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - started < 300_000


def test_the_memory_of_a_table_is_estimated_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LEAST_TEXT", 1 << 10)
    monkeypatch.setattr(files, "usable_memory", lambda: 1 << 20)
    lines = "".join(f"{k},0.5,0.{k % 10}\n" for k in range(2000))
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(f"topic,a,b\n{lines}".encode()))
    with pytest.raises(InputError, match=r"inflate to over 9,70\d"):
        read_scores(path)
    with files.raise_limit(1 << 30):
        assert dict(read_scores(path).sizes)["topic"] == 2000


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
def test_files_of_several_parts_are_read_whole(ending: str, parts: int, tmp_path: Path) -> None:
    text = random.Random(1).randbytes(50_000)
    other = {
        ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstandard.compress,
    }[ending]  # fmt: skip
    path = tmp_path / f"run{ending}"
    path.write_bytes(other(text) * parts)
    assert read_text(path) == text * parts


@pytest.mark.parametrize("ending", [".csv.zst", ".csv.gz", ".csv.xz", ".csv.bz2", ".parquet", ".nc"])
def test_no_flipped_bit_changes_a_score(ending: str, tmp_path: Path) -> None:
    table, path = scores(), tmp_path / f"scores{ending}"
    write_scores(table, path)
    whole = path.read_bytes()
    generator = random.Random(0)
    refused = 0
    for _ in range(60):
        at = generator.randrange(len(whole) * 8)
        damaged = bytearray(whole)
        damaged[at // 8] ^= 1 << at % 8
        path.write_bytes(damaged)
        try:
            found = read_scores(path)
        except InputError:
            refused += 1
            continue
        assert isinstance(found, xr.DataArray)
        xr.testing.assert_equal(found.drop_attrs(), table.drop_attrs())
    assert refused


@pytest.mark.parametrize("damage", [b"", b"x", b"x" * 10_000])
def test_netcdf_whose_hash_is_out_of_place_is_not_taken_for_that_of_another_program(
    damage: bytes, tmp_path: Path
) -> None:
    """Nothing else would tell that a score was altered as well."""
    path = tmp_path / "scores.nc"
    for at in (-60, -80, -1):
        path.write_bytes(netcdf_bytes(scores().to_dataset())[:at] + damage)
        with pytest.raises(InputError, match="is damaged"):
            read_scores(path)


def test_netcdf_that_would_read_another_file_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(np.arange(6.0).tobytes())
    inside, linked, virtual = (tmp_path / f"{name}.nc" for name in ("inside", "linked", "virtual"))
    with h5py.File(inside, "w") as file:
        file.create_dataset("AP", (2, 3), "f8", external=[(str(secret), 0, 48)])
    with h5py.File(linked, "w") as file:
        file["AP"] = h5py.ExternalLink(str(inside), "AP")
    with h5py.File(virtual, "w") as file:
        layout = h5py.VirtualLayout((2, 3), "f8")
        layout[:] = h5py.VirtualSource(str(inside), "AP", (2, 3))
        file.create_virtual_dataset("AP", layout)
    with pytest.raises(InputError, match=r"another file"):  # said by a process of its own
        read_scores(inside)
    for path in (linked, virtual):
        with pytest.raises(InputError, match=r"another file|elsewhere"):
            _load_dataset(path.read_bytes(), str(path))


def test_netcdf_that_says_it_is_huge_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.nc"
    with h5py.File(path, "w") as file:
        file.create_dataset("AP", (200_000, 200_000), "f8", chunks=(100, 100))
    assert path.stat().st_size < 20_000
    with pytest.raises(InputError, match="more than a file of this size"):
        _load_dataset(path.read_bytes(), str(path))


def test_parquet_that_says_it_is_huge_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LEAST", 1 << 20)
    path = tmp_path / "huge.parquet"
    pa.parquet.write_table(
        pa.table({"topic": pa.array(np.zeros(10_000_000)), "a": np.zeros(10_000_000)}), path
    )
    with pytest.raises(InputError, match="more than a file of this size"):
        read_scores(path)


@pytest.mark.parametrize("ending", [".nc", ".parquet", ".csv"])
def test_a_full_disk_is_said_in_one_line(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"scores{ending}"
    path.symlink_to("/dev/full")
    with pytest.raises(InputError, match="cannot be written"):
        write_scores(scores(), path)


@pytest.mark.parametrize("ending", [".nc", ".parquet", ".csv", ".csv.zst"])
def test_files_of_scores_keep_their_permissions(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"scores{ending}"
    path.touch(mode=0o600)
    path.chmod(0o640)
    write_scores(scores(), path)
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == [path.name]


@given(st.text())
def test_guarded_names_read_back(name: str) -> None:
    assert unguard_name(guard_name(name)) == name
    assert guard_name(name)[:1] not in set("=@") or not name


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_no_cell_of_csv_is_run_by_a_spreadsheet(layout: str, tmp_path: Path) -> None:
    table = scores().assign_coords(system=["=cmd|' /C calc'!A0", "+b", "'@c"])
    path = tmp_path / "scores.csv"
    write_scores(table, path, layout=layout)  # type: ignore[arg-type]
    cells = [cell for line in path.read_text().splitlines() for cell in line.split(",")]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]
    assert set(read_scores(path)["system"].values) == set(table["system"].values)


@pytest.mark.parametrize("test", ["randomization", "bootstrap", "max-t", "tukey", "t"])
def test_results_do_not_depend_on_the_order_of_rows(test: str) -> None:
    rows = scores(40).to_dataframe().reset_index()
    again = rows.sample(frac=1.0, random_state=3)
    one, other = (paired_tests(frame, test, n_resamples=499).to_frame() for frame in (rows, again))
    pd.testing.assert_frame_equal(one, other, check_exact=True)


@pytest.mark.parametrize("scale", [1e160, 1e308, 1e-160, 5e-324])
def test_scores_that_cannot_be_squared_are_refused(scale: float) -> None:
    with pytest.raises(InputError, match="cannot be squared"):
        paired_tests(scores() * scale)


@pytest.mark.parametrize("name", ["topic", "system", "shard"])
def test_a_measure_may_not_be_called_like_a_dimension(name: str) -> None:
    rows = scores().to_dataframe().reset_index()
    frame = rows.rename(columns={"AP": "value"}).assign(measure=name)
    with pytest.raises(InputError, match="rename it"):
        read_scores(frame)


@pytest.mark.parametrize("label", ["²", "9" * 30, "٣"])
def test_strange_numbers_are_names(label: str) -> None:
    frame = scores().to_dataframe().reset_index().assign(seed=label)
    assert [str(one) for one in read_scores(frame)["instance"].values] == [label]


def test_deep_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_bytes(b"[" * 200_000)
    with pytest.raises(InputError, match=r"not JSON|not a table"):
        read_scores(path)
    with gzip.open(tmp_path / "deep.jsonl.gz", "wb") as stream:
        stream.write(b'{"a":' * 200_000)
    with pytest.raises(InputError):
        read_scores(tmp_path / "deep.jsonl.gz")


def test_a_damaged_workbook_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scores.xlsx"
    buffer = io.BytesIO()
    scores().to_pandas().to_excel(buffer, engine="openpyxl")
    path.write_bytes(buffer.getvalue()[:-200])
    with pytest.raises(InputError, match="not a workbook"):
        read_scores(path)


@pytest.mark.parametrize("text", [",", '"', '"",', "topic,system,AP\n\r", "a b\n\x0b", '\n"\n'])
def test_tables_of_nothing_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "nothing.csv"
    path.write_text(text)
    with pytest.raises(InputError):
        read_scores(path)


def test_parquet_with_names_that_are_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    pa.parquet.write_table(
        pa.table({"topic": ["1"], "system": ["a"], "zzzz": [0.5]}), path, store_schema=False
    )
    path.write_bytes(path.read_bytes().replace(b"zzzz", b"\xf5\xf5\xf5\xf5"))
    with pytest.raises(InputError, match="Parquet"):
        read_scores(path)


@pytest.mark.parametrize("text", ["null", "null\n{}", '{"a":1}null', '{"a":1}{"a":2}', "[1]", "5"])
def test_lines_that_are_no_objects_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match="not an object of JSON"):
        read_scores(path)


@pytest.mark.parametrize(
    "content", [b"", b"\n", b'{"topic": "t\xb0", "system": "s", "AP": 1}', b'{"\xc1": 1, "b": 2}']
)
def test_lines_of_nothing_or_of_no_text_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"nothing stands|not UTF-8 text"):
        read_scores(path)


GOOD = {"id": "1", "epoch": 1, "scores": {"match": {"value": 0.5}}}
HEAD = {"eval": {"task": "x", "model": "m"}, "status": "success"}


@pytest.mark.parametrize(
    ("head", "samples"),
    [
        ([], [GOOD]),
        ({"eval": []}, [GOOD]),
        (HEAD | {"results": [1]}, [GOOD, 5]),
        (HEAD, {"a": GOOD}),
        (HEAD | {"results": {"headline": {"score": []}}}, [{"scores": []}]),
        (HEAD, [GOOD | {"scores": {"match": {"value": 10**400}}}]),
        (HEAD, None),
    ],
)
def test_logs_that_hold_something_else_are_refused(head: object, samples: object, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "odd.eval", "w") as archive:
        archive.writestr("header.json", json.dumps(head))
        archive.writestr("summaries.json", json.dumps(samples))
    with pytest.raises(InputError):
        read_scores(tmp_path / "odd.eval")


def test_a_log_in_an_archive_of_a_later_version_is_refused(tmp_path: Path) -> None:
    """Of two damaged bytes, the one that says which version of zip is needed."""
    path = tmp_path / "odd.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(HEAD))
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 6] = 84
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not a log of inspect, or is damaged"):
        read_scores(path)


def test_a_workbook_made_to_fill_the_memory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """Its XML is three hundred times its size; openpyxl took 2 GB of memory and did not end in 90 seconds."""
    pytest.importorskip("openpyxl")
    pd.DataFrame({"topic": ["a", "b"], "x": [0.1, 0.2], "y": [0.3, 0.1]}).to_excel(
        tmp_path / "t.xlsx", index=False
    )
    row = b"<row><c><v>1</v></c><c><v>2</v></c><c><v>3</v></c></row>"
    with (
        zipfile.ZipFile(tmp_path / "t.xlsx") as book,
        zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", 8) as bomb,
    ):
        for name in book.namelist():
            content = book.read(name)
            more = row * 400_000 if name == "xl/worksheets/sheet1.xml" else b""
            bomb.writestr(name, content.replace(b"</sheetData>", more + b"</sheetData>"))
    with pytest.raises(InputError, match=r"inflate to over 4,194,304; check where it comes from"):
        read_scores(tmp_path / "bomb.xlsx")
    assert read_scores(tmp_path / "t.xlsx").sizes["system"] == 2


def test_a_zip_archive_is_called_one(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.zip", "w", 8) as archive:
        archive.writestr("t.csv", "topic,a,b\n1,0.1,0.2\n2,0.2,0.5\n" * 99)
    with pytest.raises(InputError, match=r"t\.zip: is a zip archive; unpack it, and name the files in it"):
        read_scores(tmp_path / "t.zip")
