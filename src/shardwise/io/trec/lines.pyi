import numpy as np

from shardwise.core.arrays import Bytes, Codes, Floats, Ints, Words

POS: int
LINE: int
ROWS: int
RUNS: int
SLOW: int
NAMES: int
LABEL: int
LABEL_LEN: int
ONE_LABEL: int
TOPIC: int
TOPIC_LEN: int
ERROR_AT: int
COLUMNS: int
NEED: int
COMMENTS: int
TAILS: int
BY_RANK: int
STATE_SIZE: int
DONE: int
NO_ROOM: int
NO_ROWS: int
NO_RUNS: int
NO_SLOW: int
BAD_COLUMNS: int
BAD_BYTE: int
LONG_NAME: int
BATCH: int

def parse_lines(
    buf: Bytes,
    length: int,
    is_run: bool,
    slots: Words,
    words: Words,
    stride: int,
    key: np.uint64,
    docs: Codes,
    values: Floats,
    run_rows: Ints,
    run_spans: Ints,
    slow: Ints,
    names: Words,
    hashes: Words,
    state: Ints,
) -> int: ...
