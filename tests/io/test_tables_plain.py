"""Plain text is read by compiled code, anything else by Arrow: where both can, both read the same."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xarray as xr
from fuzz.guard import guarded
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise.core.errors import InputError
from shardwise.io import natural_order
from shardwise.io.files import Padded, padded
from shardwise.io.scores import read_scores
from shardwise.io.tables import cells, column, delimited, kernels, names, tensor
from shardwise.io.tables.cells import DONE, NOT_WHOLE, NUMBER, STRANGE, TEXT, WHOLE, plain_columns
from shardwise.io.tables.sheet import Sheet

PATH = Path("table.csv")
LETTERS = st.text("ab07 é漢'-/;\t", max_size=12).filter(lambda text: "\t" not in text and ";" not in text)
IDS = st.one_of(
    st.integers(0, 30).map(str),
    st.integers(0, 300).map(lambda k: f"q{k}"),
    st.integers(0, 300).map(lambda k: f"{k:05d}"),
    st.integers(10**13, 10**17).map(str),
    st.uuids().map(str),
    LETTERS,
    st.integers(1, 40).map(lambda k: "long" * k),
)
ODD = ["+1", "-0", "007", "5.", ".5", "-.5", "1e5", "1E-3", "1e400", "-1e-400", "1_000", "0x1F", "inf", "-inf", "nan",
       "", " 1", "1 ", "true", "2020-01-01", "12:30", "1.2.3", "--1", "-", ".", "e5", "1e", "NA", "x", "1'",
       "12345678901234567", "123456789012345678901", "0.1234567890123456789", "9007199254740993", "9007199254740993.0",
       "999999999999999", "1000000000000000", "123456789", "-999999999999999",
       "1e-300", "0.000012345678901234567", "1" + "0" * 30 + ".5"]  # fmt: skip
NUMBERS = st.one_of(
    st.floats(-1e9, 1e9).map(repr),
    st.floats(0, 1).map(lambda x: str(round(x, 4))),
    st.integers(-20, 20).map(str),
    st.integers(-(10**12), 10**12).map(str),
)


@pytest.fixture(scope="module", autouse=True)
def _all_compiled() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (cells, column, delimited, kernels, names, natural_order, tensor):
            patch.setattr(module, "MANY", 0)
        yield


def text_of(content: bytes) -> Padded:
    """Text at the edge of what may be read."""
    return Padded(*guarded(*padded(content, np.empty(0, dtype=np.uint8))))


def columns_of(
    content: str | bytes, kinds: list[int], delimiter: str = ",", workers: int = 1, block: int = 8192
) -> tuple[int, list[list[Any]]]:
    """What the compiled code makes of rows that are shared among workers."""
    text = text_of(content.encode() if isinstance(content, str) else content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "workers", lambda jobs: workers)
        patch.setattr(cells, "_SHARE", 1)
        patch.setattr(cells, "_BLOCK", block)
        ended, found = plain_columns(text.buffer, text.size, delimiter, kinds)
    return ended, [one.to_pylist() for one in found]


def bits(values: Any) -> list[bytes]:
    return [struct.pack("d", value) for value in values]


def seen(sheet: Sheet) -> dict[str, Any]:
    """All that a sheet says of its columns, whatever kind of array they are of."""
    found: dict[str, Any] = {"rows": sheet.rows, "empty": sheet.empty, "names": list(sheet.columns)}
    for name, one in sheet.columns.items():
        labels = [one.labels.names[code] for code in one.labels.codes.tolist()]
        told = (
            labels,
            set(one.labels.names),
            bits(one.values),
            one.numeric,
            one.distinct,
            one.constant,
            one.counts,
        )
        found[f"column {name}"] = told
    return found


def outcome(content: bytes, *, compiled: bool, start: int = 1 << 13) -> tuple[Any, bool]:
    """A sheet or a refusal, and whether compiled code read it; ``start`` is how much of the text tells the kinds."""
    used = []
    first, plain = delimited._start, delimited._plain

    def tried(*given: Any) -> Any:
        found = plain(*given) if compiled else None
        used.append(found is not None)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_plain", tried)
        patch.setattr(delimited, "_start", lambda body, *rest: first(body[:start], *rest))
        patch.setattr(cells, "workers", lambda jobs: 2)
        patch.setattr(cells, "_SHARE", 1)
        try:
            found: Any = seen(delimited.from_text(text_of(content), PATH))
        except InputError as error:
            found = str(error)
    return found, any(used)


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """Tables of all kinds, plain ones mostly."""
    delimiter = draw(st.sampled_from(",,,\t;"))
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    headers = draw(
        st.lists(
            st.sampled_from(["question_id", "model", "seed", "score", "cost", "note", "run", "cluster", ""]),
            min_size=2,
            max_size=5,
            unique=True,
        )
    )
    labels = {"question_id", "model", "seed", "run", "cluster", "", "note"}
    kinds = [
        draw(st.sampled_from([IDS, st.integers(0, 4).map(str)])) if h in labels else NUMBERS for h in headers
    ]
    rows = [[draw(kind) for kind in kinds] for _ in range(draw(st.integers(1, 12)))]
    if draw(st.booleans()):
        at = draw(st.integers(0, len(rows) - 1)), draw(st.integers(0, len(headers) - 1))
        rows[at[0]][at[1]] = draw(st.sampled_from(ODD))
    lines = [delimiter.join(row) for row in rows]
    if draw(st.integers(0, 5)) == 0:
        odd = draw(
            st.sampled_from(["", " ", delimiter, delimiter * len(headers), '"a"', "\r", "x\ry", "é\0"])
        )
        lines.insert(draw(st.integers(0, len(lines))), odd)
    content = end.join([delimiter.join(headers), *lines]) + (end if draw(st.booleans()) else "")
    found = content.encode()
    return found.replace("é".encode(), b"\xe9") if draw(st.integers(0, 9)) == 0 else found


@settings(max_examples=600, deadline=None)
@given(tables(), st.sampled_from([16, 64, 1 << 13]))
def test_sheets_are_those_of_arrow(content: bytes, start: int) -> None:
    found, _ = outcome(content, compiled=True, start=start)
    expected, _ = outcome(content, compiled=False, start=start)
    assert found == expected


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_plain_tables_are_read_by_compiled_code(end: str, last: bool) -> None:
    rows = ["q1,a,1,0.5,x", "q2,a,1,-1e-3,né", "q10,b,2,3,x y"]
    content = end.join(["question,model,seed,score,note", *rows]) + (end if last else "")
    found, used = outcome(content.encode(), compiled=True)
    assert used
    assert found["column question"][0] == ["q1", "q2", "q10"]
    assert found["column score"][2] == bits([0.5, -1e-3, 3.0])
    assert found["column note"][0] == ["x", "né", "x y"]


PLAIN = "q1,1,0.5\nq2,2,0.25\n"
STRANGE_ROWS = {
    "a quote": 'q3,3,"0.5"\n',
    "a quote in a name": 'q"3,3,0.5\n',
    "a carriage return in a row": "q\r3,3,0.5\n",
    "a carriage return for a row": "q3,3,0.5\rq4,3,0.5\n",
    "a cell too few": "q3,3\n",
    "a cell too many": "q3,3,0.5,1\n",
    "an empty line": "\n",
    "an empty line in the end": "q3,3,0.5\n\n",
    "an empty number": "q3,3,\n",
    "no number": "q3,3,nan\n",
    "a truth": "q3,3,true\n",
    "a date": "q3,3,2020-01-01\n",
    "a sign before a number": "q3,3,+1\n",
    "a decimal comma": "q3,3,0;5\n",
    "a space before a number": "q3,3, 1\n",
    "more digits than are read exactly": "q3,3,0.12345678901234567890\n",
    "a whole number beyond doubles": "q3,3,9007199254740993\n",
    "an exponent out of range": "q3,3,1e300\n",
}


@pytest.mark.parametrize("row", STRANGE_ROWS.values(), ids=STRANGE_ROWS)
@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_not_plain_is_left_to_arrow(row: str, workers: int) -> None:
    kinds = [TEXT, WHOLE, NUMBER]
    assert columns_of(PLAIN, kinds, workers=workers)[0] == DONE
    for content in (row + PLAIN, PLAIN + row, PLAIN + row + PLAIN):
        assert columns_of(content, kinds, workers=workers) == (STRANGE, [])


@pytest.mark.parametrize("cell", ["x", "", "-1", "+1", "007", "00", "1.0", "1e3", " 1", "1 ", "٣", "1" * 16])
def test_labels_that_are_no_plain_whole_numbers_are_text(cell: str) -> None:
    rows = f"q1,1,0.5\nq2,{cell},0.5\n"
    assert columns_of(rows, [TEXT, WHOLE, NUMBER]) == (NOT_WHOLE, [])
    assert columns_of(rows, [TEXT, TEXT, NUMBER])[1][1] == ["1", cell]
    content = f"question,seed,score\n{PLAIN}q3,{cell},0.5\n".encode()
    found, used = outcome(content, compiled=True, start=20)
    assert used
    assert found["column seed"][0] == ["1", "2", cell.strip()]


@pytest.mark.parametrize("rows", [b"q1,1,0.5\nq\xff,1,0.5\n", b"q1,1,0.5\n\xc3,1,0.5\n\xa9,1,0.5\n"])
def test_bytes_that_are_no_text_are_left_to_arrow_and_refused(rows: bytes) -> None:
    """Also where the names of two rows, one behind the other, would be text."""
    assert columns_of(rows, [TEXT, WHOLE, NUMBER]) == (STRANGE, [])
    with pytest.raises(InputError, match=r"table.csv:3: not a text file in UTF-8"):
        delimited.from_text(text_of(b"question,seed,score\n" + rows), PATH)


def test_few_rows_and_two_columns_of_one_name_are_left_to_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "MANY", 3)
    assert columns_of("a,1\nb,2\n", [TEXT, NUMBER]) == (STRANGE, [])
    assert columns_of("a,1\nb,2\nc,3\n", [TEXT, NUMBER])[0] == DONE
    body = text_of(b"a,1\nb,2\nc,3\n")
    assert delimited._plain(body.buffer, body.size, ["", ""], ",", [{"a"}, {"1"}]) is None
    assert delimited._plain(body.buffer, body.size, ["x", ""], ",", [{"a"}, {"1"}]) is not None


def test_a_decimal_comma_is_left_to_arrow() -> None:
    found, used = outcome(b"question;model;score\nq1;a;0,5\nq2;a;1\n", compiled=True)
    assert not used
    assert found["column score"][2] == bits([0.5, 1.0])
    found, used = outcome(b"question;model;score\nq1;a;0.5\nq2;a;1\n", compiled=True)
    assert used


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("ids", [("7", "007"), ("-0", "0"), ("0", "-0"), ("01", "1"), ("0", "00")])
def test_labels_keep_their_zeros(ids: tuple[str, str], delimiter: str, compiled: bool) -> None:
    for places in ((0, 1), (1, 0)):  # the last cell of a text, too
        rows = [("question", "score"), *((one, "1") for one in ids)]
        content = "\n".join(delimiter.join(row[k] for k in places) for row in rows)
        found, used = outcome(content.encode(), compiled=compiled)
        assert found["column question"][0] == list(ids)
        assert used == compiled


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(LETTERS, st.integers(0, 10**15 - 1), st.floats(-1e9, 1e9)), min_size=1, max_size=30),
    st.integers(1, 8),
    st.sampled_from([1, 2, 5, 8192]),
    st.booleans(),
)
def test_cells_are_those_that_were_written(
    rows: list[tuple[str, int, float]], workers: int, block: int, last: bool
) -> None:
    """However they are shared out, down to a row for each."""
    lines = [f"{a.replace(',', '')},{b},{round(c, 6)}" for a, b, c in rows]
    ended, found = columns_of(
        "\n".join(lines) + "\n" * last, [TEXT, WHOLE, NUMBER], workers=workers, block=block
    )
    assert ended == DONE
    assert found[:2] == [[a for a, _, _ in rows], [b for _, b, _ in rows]]
    assert bits(found[2]) == bits(round(c, 6) for _, _, c in rows)


def test_numbers_are_the_nearest_to_what_is_written() -> None:
    g = random.Random(7)
    ways = (
        lambda: repr(g.uniform(-1, 1)),
        lambda: repr(g.uniform(-1, 1) * 10.0 ** g.randint(-30, 30)),
        lambda: (
            f"{g.randrange(10 ** g.randint(1, 9))}.{g.randrange(10 ** g.randint(1, 9)):0{g.randint(1, 9)}d}"
        ),
        lambda: f"-{g.randrange(10**15)}",
        lambda: f"{g.randrange(10**8)}e{g.randint(-20, 20)}",
    )
    written = [g.choice(ways)() for _ in range(20_000)]
    ended, (_, found) = columns_of("".join(f"a,{one}\n" for one in written), [TEXT, NUMBER], workers=2)
    assert ended == DONE
    assert bits(found) == bits(map(float, written))


@pytest.mark.parametrize("size", [1, 7, 8, 9, 40, 62, 63, 64, 65, 126, 127, 128, 500])
def test_rows_and_cells_of_any_length(size: int) -> None:
    """Text is looked at in pieces: cells begin, end and have their points on both sides of every edge."""
    names_ = ["x" * (size + k) for k in range(70)]
    rows = "".join(f"{name},{k}.{k},{k}\n" for k, name in enumerate(names_))
    ended, found = columns_of(rows, [TEXT, NUMBER, WHOLE])
    assert ended == DONE
    assert found == [names_, [float(f"{k}.{k}") for k in range(70)], list(range(70))]
    ended, found = columns_of(rows.replace("\n", "\r\n"), [TEXT, NUMBER, TEXT])
    assert ended == DONE
    assert found == [names_, [float(f"{k}.{k}") for k in range(70)], [str(k) for k in range(70)]]


def test_whole_numbers_are_such_and_others_not() -> None:
    text = text_of(b"1,1,1\n-2,2.0,2e0\n")
    _, found = plain_columns(text.buffer, text.size, ",", [NUMBER, NUMBER, NUMBER])
    assert [one.type for one in found] == [pa.int64(), pa.float64(), pa.float64()]


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("ids", ["{}", "q{}", "task/abc-{:05d}", "é{}"])
def test_scores_of_a_long_table_are_those_of_arrow(
    ids: str, shuffled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels, their order and their type, values, attributes and indexes."""
    rows = [
        f"{ids.format(k)},{m},{s},{(k * 7 + s) % 11 / 8}"
        for k in range(1500)
        for m in ("b", "a")
        for s in (1, 2)
    ]
    if shuffled:
        random.Random(3).shuffle(rows)
    (tmp_path / "t.csv").write_text("\n".join(["question_id,model,seed,score", *rows]))
    plain, used = delimited._plain, []
    monkeypatch.setattr(delimited, "_plain", lambda *given: used.append(plain(*given)) or used[-1])
    found = read_scores(tmp_path / "t.csv")
    assert used[0] is not None
    monkeypatch.setattr(delimited, "_plain", lambda *given: None)
    for module in (cells, column, delimited, kernels, names, natural_order, tensor):
        monkeypatch.setattr(module, "MANY", 10**9)
    expected = read_scores(tmp_path / "t.csv")
    assert isinstance(found, xr.DataArray)
    assert found.identical(expected)
    assert found.values.tobytes() == expected.values.tobytes()
    for dim in expected.dims:
        assert found[dim].dtype == expected[dim].dtype
        assert type(found.indexes[dim]) is type(expected.indexes[dim])
        assert found.indexes[dim].dtype == expected.indexes[dim].dtype
    assert found.sel(topic=ids.format(1499)).identical(expected.sel(topic=ids.format(1499)))


def test_the_line_of_a_row_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("question,model,score\n" + "".join(f"q{k},a,0.5\n" for k in range(50)) + "q7,a,0.25\n")
    with pytest.raises(InputError, match=r"t.csv:52: a second score .* the first is at .*t.csv:9"):
        read_scores(path)


def test_names_are_looked_at_as_a_list() -> None:
    written = ["b", "a", "", "ccc"]
    for texts in (pa.array(written), pa.array(["x", *written], pa.large_string()).slice(1)):
        found = names.Names(texts)
        assert (len(found), list(found), found[1], found[-1]) == (4, written, "a", "ccc")
        assert found == written
        assert written == found
        assert found != ["b"]
        assert list(found[1:3]) == ["a", ""]
        assert ("" in found, "c" in found, 1 in found) == (True, False, False)
        assert (found.index("ccc"), found.index("ccc", 2)) == (3, 3)
        with pytest.raises(ValueError, match="not among"):
            found.index("b", 1)
        assert names.places_of({"a", "b", "z"}, found) == names.places_of({"a", "b", "z"}, written) == [0, 1]
        assert names.letters(found)[0] == names.letters(written)[0] == b"baccc"
        assert names.letters(found)[1].tolist() == names.letters(written)[1].tolist() == [1, 1, 0, 3]
        assert (
            list(names.at_places(found, np.array([3, 0])))
            == names.at_places(written, np.array([3, 0]))
            == ["ccc", "b"]
        )
    assert kernels.differ(names.Names(pa.array(written)))
    assert not kernels.differ(names.Names(pa.array([*written, "a"])))
