"""Names for the array types that pass between the parts."""

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
