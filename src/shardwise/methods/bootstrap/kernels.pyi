import numpy as np
import numpy.typing as npt

from shardwise.core.arrays import Floats, Ints

def means_of_draws(
    pool: Floats, weights: Floats, counts: Ints, key: np.uint64, first: int, out: Floats
) -> None: ...
def chebyshev_moments(x: Floats, order: int) -> Floats: ...
def jacobi_anger(moments: Floats, z: Floats, out: npt.NDArray[np.complex128]) -> None: ...
