"""The characteristic function of a pool of residuals, through its Chebyshev moments.

With the pool scaled to x in [-1, 1] and M_k = mean of T_k(x), the Jacobi-Anger expansion gives

    φ(z) = mean of exp(i z x) = J_0(z) + 2 · sum over k ≥ 1 of i^k J_k(z) M_k.

One pass over the pool thus serves all frequencies, to full precision: about |z| + 20 moments are enough, as the
Bessel functions vanish beyond.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shardwise.core.arrays import Floats
from shardwise.methods.bootstrap.kernels import chebyshev_moments, jacobi_anger

Complex = npt.NDArray[np.complex128]


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Residuals to draw from, with the moments found so far."""

    values: Floats
    reach: float  # largest absolute value
    variance: float
    _moments: list[Floats] = field(default_factory=list, repr=False)

    @classmethod
    def from_values(cls, values: Floats) -> Pool:
        """Make a pool of values, centred: residuals sum to zero but for rounding."""
        values = np.ascontiguousarray(values, np.float64).ravel()
        values = values - values.mean()
        return cls(values, float(np.abs(values).max()), float(np.mean(values * values)))

    def characteristic(self, frequencies: Floats) -> Complex:
        """φ(s) = mean of exp(i s r) over the pool.

        >>> pool = Pool.from_values(np.array([-1.0, 1.0]))
        >>> complex(np.round(pool.characteristic(np.array([0.5]))[0], 12)) == complex(round(np.cos(0.5), 12))
        True
        """
        z = np.asarray(frequencies, np.float64) * self.reach
        largest = float(np.abs(z).max(initial=0.0))
        # from this order on the Bessel functions J_k(z) are below rounding
        order = int(largest + 14.0 * np.cbrt(largest)) + 20
        if not self._moments or len(self._moments[0]) < order:
            self._moments[:] = [chebyshev_moments(self.values / (self.reach or 1.0), max(order, 64))]
        out = np.empty(z.shape, np.complex128)
        jacobi_anger(self._moments[0], z, out)
        return out
