"""Eight bytes at a time: the few machine instructions that a byte parser wants and Python lacks.

All assume a little-endian machine, and that eight bytes may be read behind the last one asked for.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from shardwise.core.arrays import Bytes
from shardwise.core.compiled import njit

if sys.byteorder != "little":
    raise ImportError("shardwise reads files on little-endian machines only")

PADDING = 16
"""Bytes that must be readable behind the text."""

_33S = np.uint64(0x2121212121212121)
_TOPS = np.uint64(0x8080808080808080)
_8 = np.uint64(8)
_1 = np.uint64(1)
_0 = np.uint64(0)


def _load8(context: Any, buf: Any, at: Any) -> Any:
    """Load eight bytes from ``buf[at]`` on as one word, the first byte lowest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(array.data, [arguments[1]])
        word = builder.bitcast(place, ir.IntType(64).as_pointer())
        return builder.load(word, align=1)

    return types.uint64(buf, types.intp), generate


def _byte(context: Any, buf: Any, at: Any) -> Any:
    """Load one byte, widened, without the test for a negative index."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.zext(builder.load(builder.gep(array.data, [arguments[1]])), ir.IntType(64))

    return types.int64(buf, types.intp), generate


def _trailing_zeros(context: Any, word: Any) -> Any:
    """Count the zero bits below the lowest one of a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.true_bit)

    return types.int64(types.uint64), generate


def _reversed_bytes(context: Any, word: Any) -> Any:
    """Turn the bytes of a word round, so that words compare as text does."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), generate


def _prefetch(context: Any, array: Any, at: Any) -> Any:
    """Ask for an element of an array to be brought near, without waiting for it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(builder.gep(view.data, [arguments[1]]), cgutils.voidptr_t)
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, i32, i32, i32])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
        builder.call(fetch, [place, i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.none(array, types.intp), generate


byte: Any = intrinsic(_byte)
load8: Any = intrinsic(_load8)
trailing_zeros: Any = intrinsic(_trailing_zeros)
reversed_bytes: Any = intrinsic(_reversed_bytes)
prefetch: Any = intrinsic(_prefetch)


@njit(cache=True, nogil=True, inline="always")
def blanks(word: np.uint64) -> np.uint64:
    """Mark bytes below 33; the lowest mark is exact, and there is none where there is no such byte."""
    return (word - _33S) & ~word & _TOPS


@njit(cache=True, nogil=True, inline="always")
def token_end(buf: Bytes, at: int) -> int:
    """Find the first byte below 33 from ``at`` on."""
    mark = blanks(load8(buf, at))
    while mark == _0:
        at += 8
        mark = blanks(load8(buf, at))
    return at + int(trailing_zeros(mark) >> 3)


@njit(cache=True, nogil=True, inline="always")
def low_bytes(word: np.uint64, count: int) -> np.uint64:
    """Keep the lowest bytes of a word, fewer than eight."""
    return word & ((_1 << (_8 * np.uint64(count))) - _1)


@njit(cache=True, nogil=True, inline="always")
def same_bytes(buf: Bytes, a: int, b: int, count: int) -> bool:
    """Whether ``count`` bytes from ``a`` on equal those from ``b`` on."""
    while count >= 8:
        if load8(buf, a) != load8(buf, b):
            return False
        a += 8
        b += 8
        count -= 8
    return bool(low_bytes(load8(buf, a) ^ load8(buf, b), count) == _0)
