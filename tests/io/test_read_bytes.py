"""The compiled reader of numbers and names against Python's own."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shardwise.io.trec.interning import Interner, find, merge, put
from shardwise.io.trec.intrinsics import PADDING, same_bytes, token_end
from shardwise.io.trec.numbers import parse_number


def read_number(text: str) -> tuple[int, float | None]:
    value = np.zeros(1)
    buf = np.frombuffer(bytearray(text.encode() + b"\n" * PADDING), dtype=np.uint8)
    end, understood = parse_number(buf, 0, value.view(np.uint64), value)
    return end, float(value[0]) if understood else None


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
        codes.append(interner.codes([name.encode() for name in names]))
        interners.append(interner)
        assert len(set(codes[-1].tolist())) == len(set(names)) == interner.count
    merged = merge(interners)
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
    assert interner.codes(names).tolist() == list(range(50_000))
    assert interner.codes(names[::-1]).tolist() == list(range(50_000))[::-1]


@given(st.binary(max_size=40), st.binary(max_size=40), st.integers(0, 40))
def test_byte_helpers_agree_with_python(a: bytes, b: bytes, count: int) -> None:
    padded = a.ljust(48, b"\x80") + b.ljust(48, b"\x80") + b"\n" * PADDING
    buf = np.frombuffer(bytearray(padded), dtype=np.uint8)
    assert same_bytes(buf, 0, 48, count) == (padded[:count] == padded[48 : 48 + count])
    assert token_end(buf, 0) == next(i for i, c in enumerate(padded) if c < 33)
