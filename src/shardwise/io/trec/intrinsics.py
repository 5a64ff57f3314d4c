"""Many bytes at a time: the few machine instructions that a byte parser wants and Python lacks.

All assume a little-endian machine, and that eight bytes may be read behind the last one asked for; `look` and
`matches` see 64.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from shardwise.core.compiled import njit

if sys.byteorder != "little":
    raise ImportError("shardwise reads files on little-endian machines only")

PADDING = 80
"""Bytes that must be readable behind the text."""

_33S = np.uint64(0x2121212121212121)
_TOPS = np.uint64(0x8080808080808080)
_8 = np.uint64(8)
_1 = np.uint64(1)
_0 = np.uint64(0)


def _address(context: Any, array: Any) -> Any:
    """Place of the first element of an array in memory.

    Helpers of kernels take places and no arrays: an array that is handed on is counted as a reference, by an atomic
    instruction that takes longer than the rest of them.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.ptrtoint(data, ir.IntType(64))

    return types.int64(array), generate


def _load8(context: Any, place: Any) -> Any:
    """Load eight bytes as one word, the first byte lowest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()), align=1)

    return types.uint64(types.int64), generate


def _byte(context: Any, place: Any) -> Any:
    """Load one byte, widened."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = builder.load(builder.inttoptr(arguments[0], ir.IntType(8).as_pointer()))
        return builder.zext(found, ir.IntType(64))

    return types.int64(types.int64), generate


def _as_float(context: Any, word: Any) -> Any:
    """The double that has these bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), generate


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


def _leading_zeros(context: Any, word: Any) -> Any:
    """Count the zero bits above the highest one of a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], cgutils.true_bit)

    return types.int64(types.uint64), generate


def _product(context: Any, a: Any, b: Any) -> Any:
    """High and low word of a 64 x 64-bit product."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        i64, i128 = ir.IntType(64), ir.IntType(128)
        whole = builder.mul(*(builder.zext(word, i128) for word in arguments))
        words = [builder.trunc(builder.lshr(whole, i128(64)), i64), builder.trunc(whole, i64)]
        return context.make_tuple(builder, signature.return_type, words)

    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), generate


def _look(context: Any, place: Any) -> Any:
    """Compare 64 bytes at once: which are below 33, which a space or tab, which a point.

    Each answer is a word with a bit for each byte, the first lowest.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        many = ir.VectorType(ir.IntType(8), 64)
        text = builder.load(builder.inttoptr(arguments[0], many.as_pointer()), align=1)

        def bits(relation: str, value: int) -> Any:
            found = builder.icmp_unsigned(relation, text, ir.Constant(many, [value] * 64))
            return builder.bitcast(found, ir.IntType(64))

        gaps = builder.or_(bits("==", 32), bits("==", 9))
        return context.make_tuple(builder, signature.return_type, [bits("<", 33), gaps, bits("==", 46)])

    return types.UniTuple(types.uint64, 3)(types.int64), generate


def _matches(context: Any, place: Any, value: Any) -> Any:
    """Which of 64 bytes are this one: a word with a bit for each, the first lowest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        many = ir.VectorType(ir.IntType(8), 64)
        text = builder.load(builder.inttoptr(arguments[0], many.as_pointer()), align=1)
        one = builder.insert_element(
            ir.Constant(many, ir.Undefined), builder.trunc(arguments[1], ir.IntType(8)), ir.IntType(32)(0)
        )
        every = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
        wanted = builder.shuffle_vector(one, ir.Constant(many, ir.Undefined), every)
        return builder.bitcast(builder.icmp_unsigned("==", text, wanted), ir.IntType(64))

    return types.uint64(types.int64, types.int64), generate


def _ones(context: Any, word: Any) -> Any:
    """Count the bits of a word that are one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


address: Any = intrinsic(_address)
as_float: Any = intrinsic(_as_float)
byte: Any = intrinsic(_byte)
leading_zeros: Any = intrinsic(_leading_zeros)
look: Any = intrinsic(_look)
matches: Any = intrinsic(_matches)
ones: Any = intrinsic(_ones)
product: Any = intrinsic(_product)
load8: Any = intrinsic(_load8)
trailing_zeros: Any = intrinsic(_trailing_zeros)
reversed_bytes: Any = intrinsic(_reversed_bytes)
prefetch: Any = intrinsic(_prefetch)


@njit(cache=True, nogil=True)
def blanks(word: np.uint64) -> np.uint64:
    """Mark bytes below 33; the lowest mark is exact, and there is none where there is no such byte."""
    return (word - _33S) & ~word & _TOPS


@njit(cache=True, nogil=True)
def token_end(at: int) -> int:
    """Find the first byte below 33 from a place on."""
    mark = blanks(load8(at))
    while mark == _0:
        at += 8
        mark = blanks(load8(at))
    return at + int(trailing_zeros(mark) >> 3)


@njit(cache=True, nogil=True)
def low_bytes(word: np.uint64, count: int) -> np.uint64:
    """Keep the lowest bytes of a word, fewer than eight."""
    return word & ((_1 << (_8 * np.uint64(count))) - _1)


@njit(cache=True, nogil=True)
def same_bytes(a: int, b: int, count: int) -> bool:
    """Whether ``count`` bytes at one place equal those at another."""
    while count >= 8:
        if load8(a) != load8(b):
            return False
        a += 8
        b += 8
        count -= 8
    return bool(low_bytes(load8(a) ^ load8(b), count) == _0)
