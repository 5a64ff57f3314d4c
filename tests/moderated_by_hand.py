"""The top group of the moderated test in plain numpy, from the t of all draws."""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Floats, Ints


def leads(t: Floats, ia: Ints, ib: Ints, a: int) -> Floats:
    """(…, pairs of a) t by which the others are above system a, for t (…, P)."""
    return np.concatenate([-t[..., ia == a], t[..., ib == a]], axis=-1)


def slow_p_best(t: Floats, star: Floats, ia: Ints, ib: Ints, systems: int) -> Floats:
    """(R,) larger share of draws in which some system is as far above, or as far below, as the furthest above."""
    p = np.ones(systems)
    for a in range(systems):
        seen, drawn = leads(t, ia, ib, a), leads(star, ia, ib, a)
        if seen.size:
            least = seen.max() - 1e-9 * abs(seen.max())
            above, below = (drawn.max(axis=1) >= least).sum(), ((-drawn).max(axis=1) >= least).sum()
            p[a] = (1 + max(above, below)) / (len(star) + 1)
    return p


def slow_top_group(t: Floats, star: Floats, ia: Ints, ib: Ints, systems: int, alpha: float) -> list[int]:
    """Systems that none is further above than the larger of two upper quantiles: of leads over it, and of its own."""
    kept, rank = [], int(np.floor(alpha * (len(star) + 1) + 1e-9))
    for a in range(systems):
        seen, drawn = leads(t, ia, ib, a), leads(star, ia, ib, a)
        if not seen.size or seen.max() <= max(
            np.sort((side * drawn).max(axis=1))[-rank] for side in (1.0, -1.0)
        ):
            kept.append(a)
    return kept
