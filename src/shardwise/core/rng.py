"""Explicit randomness: replicate i depends on (seed, i) only, whatever the number of workers."""

from __future__ import annotations

import numpy as np


def make_generator(seed: int, *path: int) -> np.random.Generator:
    """Return the generator of one replicate, addressed by a seed and a path of indices.

    >>> bool(make_generator(7, 3).random() == make_generator(7, 3).random())
    True
    >>> bool(make_generator(7, 3).random() == make_generator(7, 4).random())
    False
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=path)))
