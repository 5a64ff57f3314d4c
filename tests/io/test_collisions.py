"""Names chosen so that a hash without a key puts them all into one slot."""

from __future__ import annotations

import numpy as np

from shardwise.io.trec.parsed import Interner
from shardwise.io.trec.probes import hash_name

SPREAD = 0x9E3779B97F4A7C15


def _crafted(count: int) -> list[bytes]:
    """Names whose second word is what it is compared with where the key is known to be 0: all products are 0."""
    second = (SPREAD * SPREAD % 2**64).to_bytes(8, "big")
    names = (b"%08d" % k + second for k in range(count))
    return [name for name in names if 0 not in name]


def _slots(names: list[bytes], key: int) -> int:
    words = np.array(
        [[int.from_bytes(part, "big") for part in (name[:8], name[8:])] for name in names], dtype=np.uint64
    )
    return len({hash_name(name, key) >> 32 & 0xFFFF for name in words})


def test_the_crafted_names_collide_without_a_key() -> None:
    assert _slots(_crafted(2000), 0) == 1


def test_the_key_parts_them() -> None:
    names = _crafted(2000)
    assert _slots(names, int(Interner().key)) > 1500


def test_codes_do_not_depend_on_the_key() -> None:
    names = _crafted(500)
    found = []
    for key in (0, 1, 2**63):
        one = Interner()
        one.key = np.uint64(key)
        found.append(one.intern_names([*names, *names[::-1]]).tolist())
    assert found[0] == found[1] == found[2] == [*range(500), *reversed(range(500))]
