"""Names chosen so that a hash without a key puts them all into one slot."""

from __future__ import annotations

import numpy as np

from shardwise.io.trec import interning
from shardwise.io.trec.interning import Interner

_SPREAD_BACK = pow(0x9E3779B97F4A7C15, -1, 1 << 64)
_ALL = (1 << 64) - 1


def _unmix(h: int) -> int:
    """The word that an unkeyed hash comes of."""
    h = h ^ (h >> 32)
    h = (h * _SPREAD_BACK) & _ALL
    h = h ^ (h >> 29) ^ (h >> 58)
    h = (h * _SPREAD_BACK) & _ALL
    return h ^ (h >> 32)


def _crafted(count: int) -> list[bytes]:
    """Names of eight bytes whose unkeyed hashes agree in their upper half, which says where the search begins."""
    words = (_unmix((7 << 32) | k) for k in range(1, 200 * count))
    names = (word.to_bytes(8, "big") for word in words)
    return [name for name in names if 0 not in name][:count]


def _slots(names: list[bytes], key: int) -> int:
    words = np.array([int.from_bytes(name, "big") for name in names], dtype=np.uint64)
    hashes = [interning.mix(np.uint64(key), word) for word in words]
    return len({int(h) >> 32 & 0xFFFF for h in hashes})


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
        found.append(one.codes([*names, *names[::-1]]).tolist())
    assert found[0] == found[1] == found[2] == [*range(500), *reversed(range(500))]
