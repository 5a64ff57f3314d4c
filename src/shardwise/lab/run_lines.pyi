from shardwise.core.arrays import Bytes, Codes, Floats, Ints

def format_ranking(
    head: Bytes, tail: Bytes, docs: Codes, scores: Floats, names: Bytes, starts: Ints, buffer: Bytes
) -> int: ...
