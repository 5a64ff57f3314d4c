"""Names for the array types that pass between the parts, and the generator of random ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Codes = npt.NDArray[np.int32]
Grades = npt.NDArray[np.int16]
Stamps = npt.NDArray[np.uint16]


def make_generator(seed: int, *path: int) -> np.random.Generator:
    """Return the generator of one replicate, addressed by a seed and a path of indices, whatever the number of workers.

    >>> bool(make_generator(7, 3).random() == make_generator(7, 3).random())
    True
    >>> bool(make_generator(7, 3).random() == make_generator(7, 4).random())
    False
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=path)))
