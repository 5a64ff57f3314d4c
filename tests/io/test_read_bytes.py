"""The compiled reader of numbers and names against Python's own."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shardwise.io.files import PADDING
from shardwise.io.trec.names import find, put
from shardwise.io.trec.parsed import Interner, Worker, merge_interners
from shardwise.io.trec.probes import look, mix, parse_number, parse_plain, same_bytes, token_end
from shardwise.io.trec.ranking import LAST_STAMP, order_groups


def padded(text: bytes) -> np.ndarray:
    return np.frombuffer(bytearray(text + b"\n" * PADDING), dtype=np.uint8)


def read_number(text: str) -> tuple[int, float | None]:
    return parse_number(padded(text.encode()))


def read_plain(text: str) -> float | None:
    point = text.find(".")
    return parse_plain(padded(text.encode()), len(text), point if point >= 0 else len(text))


DECIMALS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(min_value=-1e6, max_value=1e6).map(lambda x: f"{x:.6f}"),
    st.tuples(st.integers(0, 10**19), st.integers(-70, 50)).map(lambda p: f"{p[0]}e{p[1]}"),
    st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)).map(lambda p: f"+{p[0]}.{p[1]}"),
)


@pytest.mark.slow
@settings(max_examples=2000)
@given(DECIMALS)
@example("9007199254740993")  # halfway between two doubles
@example("9007199254740993.0")
@example("1e-3")
@example("-0")
@example(".5")
@example("5.")
@example("0.000000000000000000000000000000001234567890123456789")
@example("18446744073709551615")
@example("1.8446744073709551616")  # 2^64 wraps around to nothing
@example("184467440737095516160.5")
def test_a_number_is_the_nearest_double_or_left_to_the_caller(text: str) -> None:
    end, value = read_number(text)
    assert value is None or (
        value == float(text) and math.copysign(1, value) == math.copysign(1, float(text))
    )
    assert value is None or end == len(text)


PLAIN = st.one_of(
    DECIMALS,
    st.text("0123456789.-+e", min_size=1, max_size=24),
    st.tuples(
        st.sampled_from(("", "-")), st.text("0123456789", max_size=9), st.text("0123456789", max_size=18)
    ).map(lambda p: f"{p[0]}{p[1]}.{p[2]}"),
)


@settings(max_examples=1000)
@given(PLAIN)
@example("-.")
@example("-")
@example("-0.0")
@example("9007199254740993.0")
@example("99999999.99999999")
@example("12345678.12345678901")
@example("1/2")
@example("1:2")
@example("1..2")
def test_a_plain_number_is_the_nearest_double_or_left_to_the_caller(text: str) -> None:
    value = read_plain(text)
    assert value is None or (
        value == float(text) and math.copysign(1, value) == math.copysign(1, float(text))
    )


@given(
    st.one_of(
        st.floats(min_value=-1e8, max_value=1e8).map(lambda x: f"{x:.6f}"),
        st.floats(min_value=1e-3, max_value=100).map(lambda x: f"{x:.15f}"),
        st.integers(-99_999_999, 99_999_999).map(str),
    ).filter(lambda text: len(text.lstrip("-").partition(".")[0]) <= 8)
)
def test_scores_as_they_are_printed_are_plain_numbers(text: str) -> None:
    assert read_plain(text) == float(text)


@given(st.floats(min_value=1e-12, max_value=1e12).map(repr))
def test_everyday_scores_take_the_fast_path(text: str) -> None:
    assert read_number(text)[1] == float(text)


@pytest.mark.parametrize(
    "text", ["inf", "-inf", "nan", "12,5", "1e", "-", ".", "abc", "1.2.3", "0x10", "1_000"]
)
def test_what_is_no_plain_decimal_is_left_to_the_caller(text: str) -> None:
    assert read_number(text)[1] is None


NAMES = st.lists(
    st.one_of(
        st.text("ab-019", min_size=1, max_size=40),
        st.text("x", min_size=1, max_size=200),
        st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=1, max_size=20),
    ),
    min_size=1,
    max_size=200,
)


@given(st.lists(NAMES, min_size=1, max_size=3))
def test_codes_tell_names_apart_and_merge_in_byte_order(parts: list[list[str]]) -> None:
    interners, codes = [], []
    for names in parts:
        interner = Interner()
        codes.append(interner.intern_names([name.encode() for name in names]))
        interners.append(interner)
        assert len(set(codes[-1].tolist())) == len(set(names)) == interner.count
    merged = merge_interners(interners)
    text = merged.names.tobytes()
    edges = merged.name_starts.tolist()
    spelled = [text[a:b] for a, b in itertools.pairwise(edges)]
    assert spelled == sorted({name.encode() for names in parts for name in names})
    for names, coded, new in zip(parts, codes, merged.codes, strict=True):
        assert [spelled[new[code]] for code in coded] == [name.encode() for name in names]


def test_names_with_the_same_hash_keep_apart() -> None:
    slots = np.zeros(8, dtype=np.uint64)
    words = np.zeros(16, dtype=np.uint64)
    same_hash = np.uint64(0x1234567800000007)
    first, second = np.array([5, 6], dtype=np.uint64), np.array([5, 7], dtype=np.uint64)
    code, slot = find(slots, words, 2, first, 2, same_hash)
    assert code == -1
    put(slots, words, 2, first, 2, same_hash, 0, slot)
    code, other = find(slots, words, 2, second, 2, same_hash)
    assert code == -1
    assert other != slot
    put(slots, words, 2, second, 2, same_hash, 1, other)
    assert find(slots, words, 2, first, 2, same_hash)[0] == 0
    assert find(slots, words, 2, second, 2, same_hash)[0] == 1
    shorter = np.array([5, 99], dtype=np.uint64)
    assert find(slots, words, 2, shorter, 1, same_hash)[0] == -1


def test_many_names_grow_the_table() -> None:
    interner = Interner()
    names = [f"DOC-{i}".encode() for i in range(50_000)]
    assert interner.intern_names(names).tolist() == list(range(50_000))
    assert interner.intern_names(names[::-1]).tolist() == list(range(50_000))[::-1]


@given(st.binary(max_size=40), st.binary(max_size=40), st.integers(0, 40))
def test_byte_helpers_agree_with_python(a: bytes, b: bytes, count: int) -> None:
    text = a.ljust(48, b"\x80") + b.ljust(48, b"\x80")
    buf = padded(text)
    assert same_bytes(buf, 0, 48, count) == (text[:count] == text[48 : 48 + count])
    assert token_end(buf) == next(i for i, c in enumerate(buf) if c < 33)


@given(st.lists(st.sampled_from(b'\0\t\n\r !"-.0aZ\x7f\x80\xa0\xff'), max_size=80).map(bytes))
def test_bits_of_64_bytes_agree_with_python(text: bytes) -> None:
    buf = padded(text)
    blank, gaps, points = ([i for i in range(64) if word >> i & 1] for word in look(buf))
    assert blank == [i for i in range(64) if buf[i] < 33]
    assert gaps == [i for i in range(64) if buf[i] in b" \t"]
    assert points == [i for i in range(64) if buf[i] in b"."]


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_products_agree_with_python(a: int, b: int) -> None:
    high, low = divmod(a * b, 2**64)
    assert mix(a, b) == high ^ low


NAME = st.one_of(
    st.text("ab-019", min_size=1, max_size=12),
    st.text("ab-019", min_size=1, max_size=80),
    st.sampled_from(("a" * 8, "a" * 16, "a" * 31, "a" * 32, "a" * 33, "a" * 64, "a" * 65, "é", "d.1")),
)
SCORE = st.one_of(
    st.floats(min_value=-1e3, max_value=1e3).map(lambda x: f"{x:.4f}"),
    st.floats(min_value=-1e3, max_value=1e3).map(repr),
    st.sampled_from(("1", "-1", "+2.5", "1e3", "5.", ".5", "inf", "0.1234567890123456789", "123456789.5")),
)
USUAL = ("7", " ", "Q0", " ", " ", "1", " ", " ", "tag", "\n")
UNUSUAL = (
    ("8", "12345678901", " 7"),
    ("  ", "\t", " \t "),
    ("0", "Q00"),
    ("\t", "   "),
    ("\t", "     "),
    ("1000", "x.y", "."),
    ("\t", "  "),
    ("\t", "  "),
    ("tag2", "t", "a-long-one" * 3),
    (" \n", "\r\n", "\n\n", "\n \n"),
)


@st.composite
def run_lines(draw: st.DrawFn) -> list[tuple[str, str, str, str]]:
    """Lines as text, with topic, document and score: a few of them unlike the others in one place or two."""
    found = []
    for name in draw(st.lists(NAME, min_size=1, max_size=150, unique=True)):
        parts = list(USUAL)
        for place in draw(st.sets(st.integers(0, 9), max_size=2)) if draw(st.integers(0, 5)) == 0 else ():
            parts[place] = draw(st.sampled_from(UNUSUAL[place]))
        score = draw(SCORE)
        text = "".join([*parts[:4], name, *parts[4:7], score, *parts[7:]])
        found.append((text, parts[0].strip(), name, score))
    return found


@settings(max_examples=300)
@given(run_lines(), st.booleans())
def test_lines_unlike_those_before_are_read_as_well(
    lines: list[tuple[str, str, str, str]], ended: bool
) -> None:
    text = "".join(line[0] for line in lines).encode()
    text = text if ended else text.rstrip(b"\r\n ")
    worker = Worker(0)
    rows = worker._parse_file(Path("x"), (padded(text), len(text)), is_run=True)
    assert rows.count == len(lines)
    names = [worker._decode_name(code) for code in worker._docs[: rows.count]]
    assert names == [line[2] for line in lines]
    assert worker._values[: rows.count].tolist() == [float(line[3]) for line in lines]
    topics = [line[1] for line in lines]
    changes = [i for i, topic in enumerate(topics) if i == 0 or topic != topics[i - 1]]
    assert rows.run_rows.tolist() == changes
    assert rows.topics == [topics[i] for i in changes]


def test_repeated_documents_are_found_when_the_stamps_begin_anew() -> None:
    interner = Interner()
    interner.intern_names([b"a", b"b"])
    groups = 10
    stamps = np.zeros(2, dtype=np.uint16)

    def ordered(docs: list[int], serial: int) -> tuple[int, int]:
        edges = np.arange(0, 2 * groups + 1, 2)
        scores = np.tile([2.0, 1.0], groups)
        return order_groups(
            np.array(docs, dtype=np.int32), scores, edges, interner.words, interner.stride, stamps, serial
        )

    fine = [0, 1] * groups
    for serial in range(0, 3 * LAST_STAMP, groups):
        assert ordered(fine, serial) == (-1, -1)
    for place in range(groups):  # the numbers begin anew before, at and behind the group with the repeat
        twice = fine.copy()
        twice[2 * place + 1] = 0
        stamps[:] = 0
        assert ordered(twice, LAST_STAMP - 5) == (place, 2 * place + 1)
