import numpy as np

from shardwise.core.arrays import Bytes, Codes, Ints, Words

MAX_NAME: int
SPARE: int

def find(
    slots: Words, words: Words, stride: int, name: Words, n_words: int, h: int | np.uint64
) -> tuple[int, int]: ...
def put(
    slots: Words,
    words: Words,
    stride: int,
    name: Words,
    n_words: int,
    h: int | np.uint64,
    code: int,
    slot: int,
) -> None: ...
def rehash(slots: Words, words: Words, stride: int, key: np.uint64, count: int) -> None: ...
def intern_texts(
    text: Bytes,
    edges: Ints,
    codes: Codes,
    done: int,
    slots: Words,
    words: Words,
    stride: int,
    key: np.uint64,
    count: int,
    scratch: Words,
) -> tuple[int, int]: ...
def copy_sorted(words: Words, stride: int, order: Codes, rows: Words, codes: Codes) -> None: ...
def merge_sorted(a: Words, b: Words, rows: Words, code_of_a: Codes, code_of_b: Codes) -> int: ...
def sort_names(words: Words, stride: int, order: Codes, keys: Words) -> None: ...
def measure_names(rows: Words, starts: Ints) -> None: ...
def spell_names(rows: Words, starts: Ints, names: Bytes) -> None: ...
