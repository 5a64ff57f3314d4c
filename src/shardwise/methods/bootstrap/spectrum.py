"""The characteristic function of a pool of residuals, through its Chebyshev moments.

With the pool scaled to x in [-1, 1] and M_k = mean of T_k(x), the Jacobi-Anger expansion gives

    φ(z) = mean of exp(i z x) = J_0(z) + 2 · sum over k ≥ 1 of i^k J_k(z) M_k.

One pass over the pool thus serves all frequencies, to full precision: about |z| + 20 moments are enough, as the
Bessel functions vanish beyond.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shardwise.core.arrays import Floats
from shardwise.core.compiled import njit

Complex = npt.NDArray[np.complex128]


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Residuals to draw from, with the moments found so far."""

    values: Floats
    reach: float  # largest absolute value
    variance: float
    _moments: list[Floats] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, values: Floats) -> Pool:
        """Make a pool of values, centred: residuals sum to zero but for rounding."""
        values = np.ascontiguousarray(values, np.float64).ravel()
        values = values - values.mean()
        return cls(values, float(np.abs(values).max()), float(np.mean(values * values)))

    def characteristic(self, frequencies: Floats) -> Complex:
        """φ(s) = mean of exp(i s r) over the pool.

        >>> pool = Pool.of(np.array([-1.0, 1.0]))
        >>> complex(np.round(pool.characteristic(np.array([0.5]))[0], 12)) == complex(round(np.cos(0.5), 12))
        True
        """
        z = np.asarray(frequencies, np.float64) * self.reach
        order = orders(float(np.abs(z).max(initial=0.0)))
        if not self._moments or len(self._moments[0]) < order:
            kernel: Any = chebyshev_moments
            self._moments[:] = [kernel(self.values / (self.reach or 1.0), max(order, 64))]
        out = np.empty(z.shape, np.complex128)
        expand: Any = jacobi_anger
        expand(self._moments[0], z, out)
        return out


def orders(z: float) -> int:
    """Order from which on the Bessel functions J_k(z) are below rounding."""
    return int(z + 14.0 * np.cbrt(z)) + 20


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def chebyshev_moments(x: Floats, order: int) -> Floats:
    """Mean of T_k(x) for k below the order, by T_k+1 = 2 x T_k - T_k-1 on blocks that stay in the cache."""
    block = 512
    sums = np.zeros(order)
    before, now = np.empty(block), np.empty(block)
    for start in range(0, x.size, block):
        part = x[start : start + block]
        m = part.size
        for i in range(m):
            before[i] = 1.0
            now[i] = part[i]
        sums[0] += m
        for k in range(1, order):
            total = 0.0
            for i in range(m):
                value = now[i]
                total += value
                now[i] = 2.0 * part[i] * value - before[i]
                before[i] = value
            sums[k] += total
    return sums / x.size


@njit(cache=True, nogil=True)
def jacobi_anger(moments: Floats, z: Floats, out: Complex) -> None:
    """Sum the expansion for each z, with Bessel functions by Miller's backward recurrence."""
    for f in range(z.size):
        a = abs(z[f])
        if a < 1e-12:
            out[f] = complex(1.0, a * moments[1] if z[f] > 0 else -a * moments[1])
            continue
        top = int(a + 14.0 * np.cbrt(a)) + 19
        above, here = 0.0, 1e-290
        norm = real = imaginary = 0.0
        for k in range(top + 16, -1, -1):
            if k <= top:
                weight = here if k == 0 else 2.0 * here
                sign = -1.0 if (k // 2) % 2 else 1.0
                if k % 2 == 0:
                    real += sign * weight * moments[k]
                else:
                    imaginary += sign * weight * moments[k]
            if k % 2 == 0:
                norm += here if k == 0 else 2.0 * here  # J_0 + 2 J_2 + 2 J_4 + … = 1
            above, here = here, 2.0 * k / a * here - above
            if abs(here) > 1e200:
                above, here = above * 1e-200, here * 1e-200
                norm, real, imaginary = norm * 1e-200, real * 1e-200, imaginary * 1e-200
        out[f] = complex(real / norm, (imaginary if z[f] > 0 else -imaginary) / norm)
