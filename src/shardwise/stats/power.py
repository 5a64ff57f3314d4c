"""Power: of F tests, of one pair corrected for all pairs of R systems, and of equivalence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from shardwise.core.arrays import Bools, Floats
from shardwise.stats import studentized_range
from shardwise.stats.moderation import own_share, spread_share


def moderated_df(topics: Floats | float, systems: Floats | float) -> Floats:
    """Degrees of freedom (T-1)/(w² + (1-w²)/(R-1)) of a moderated variance, w the weight of a pair's own one.

    >>> float(moderated_df(50.0, 2))
    49.0
    """
    own_df = np.asarray(topics, np.float64) - 1.0
    count = np.asarray(systems, np.float64)
    return own_df / spread_share(own_share(own_df), count)


def critical_pairs(systems: Floats, df: Floats, alpha: Floats) -> Floats:
    """Critical t² of one pair among all pairs of R systems, q²/2 of the studentized range, in one shape."""
    systems, df, alpha = np.broadcast_arrays(systems, df, alpha)
    critical = np.asarray(special.fdtri(1.0, df, 1.0 - alpha), np.float64)
    for r, a in set(zip(systems.ravel().tolist(), alpha.ravel().tolist(), strict=True)):
        which = (systems == r) & (alpha == a)
        if r > 2.0:
            critical[which] = studentized_range.isf(a, int(r), df[which]) ** 2 / 2.0
    return critical


def f_power(lam: Floats, phi_a: Floats, phi_e: Floats, critical: Floats) -> Floats:
    """P(F' > critical) with noncentrality λ: power of an F test, and of a pair in both directions where φA is 1.

    >>> f_power(np.array([9.0]), np.ones(1), np.array([49.0]), np.array([4.038])).round(3)
    array([0.837])
    """
    beta = special.ncfdtr(phi_a, phi_e, lam, critical)
    # the series of ncfdtr breaks down, as NaN, only where its value is below 1e-40: at a λ above a thousand
    return 1.0 - np.where(np.isnan(beta) & (lam > 1000.0), 0.0, beta)


def sakai_power(lam: Floats, phi_a: Floats, phi_e: Floats, w: Floats) -> Floats:
    """Normal approximation to that power as it stands behind the tables of S14; NaN where it has no value.

    The textbook adds the two variances under the root; only their difference gives the printed tables.
    """
    c_a = (phi_a + 2.0 * lam) / (phi_a + lam)
    phi_star = (phi_a + lam) ** 2 / (phi_a + 2.0 * lam)
    spread = c_a / phi_a - w / phi_e
    u = np.sqrt(w / phi_e * (2.0 * phi_e - 1.0)) - np.sqrt(c_a / phi_a * (2.0 * phi_star - 1.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 0, special.ndtr(-u / np.sqrt(spread)), np.nan)


def guess_noncentrality(systems: Floats, alpha: Floats, power: Floats) -> Floats:
    """λ that would give an F test the power were the variance known: where to start searching."""
    phi_a, power = np.asarray(systems) - 1.0, np.asarray(power)
    lam = special.chndtrinc(special.chdtri(phi_a, alpha), phi_a, 1.0 - power)
    return np.where(np.isfinite(lam) & (lam > 0), lam, 10.0)


def find_noncentrality(power_of: Callable[[Floats], Floats], power: Floats, guess: Floats) -> Floats:
    """Smallest λ whose power is reached, by halving log λ from a guess; NaN where none does."""
    high = np.log(guess)
    low = high - 1.0

    def has_power(log_lam: Floats) -> Bools:
        return power_of(np.exp(log_lam)) >= power

    # beyond e^40 times the guess no difference is large enough
    for _ in range(40):
        short, ample = ~has_power(high), has_power(low)
        if not (short | ample).any():
            break
        low, high = (
            np.where(short, high, np.where(ample, low - 1.0, low)),
            np.where(short, high + 1.0, np.where(ample, low, high)),
        )
    unreachable = ~has_power(high)
    while (high - low).max(initial=0.0) > 1e-12:
        middle = (low + high) / 2.0
        yes = has_power(middle)
        low, high = np.where(yes, low, middle), np.where(yes, middle, high)
    return np.where(unreachable, np.nan, np.exp(high))


def equivalence_power(margin: float, difference: float, se: Floats, df: Floats, alpha: float) -> Floats:
    """Power of two one-sided t-tests: P(difference ± t·s within the margin), averaged over the distribution of s."""
    df = np.asarray(df)[..., None]
    chances = (np.arange(400) + 0.5) / 400
    cut = special.stdtrit(df, 1.0 - alpha) * np.sqrt(special.chdtri(df, 1.0 - chances) / df)
    unit = np.where(se > 0.0, se, 1.0)[..., None]
    upper, lower = (margin - difference) / unit - cut, -(margin + difference) / unit + cut
    held = np.maximum(special.ndtr(upper) - special.ndtr(lower), 0.0).mean(axis=-1)
    return np.asarray(np.where(se > 0.0, held, 1.0))


def mean_of_sd(df: Floats) -> Floats:
    """E[√V]/σ for a variance estimate V on df degrees: √(2/df)·Γ((df+1)/2)/Γ(df/2)."""
    log_ratio = special.gammaln((df + 1.0) / 2.0) - special.gammaln(df / 2.0)
    # the difference of log-gammas cancels
    series = 1.0 - 1.0 / (4.0 * df) + 1.0 / (32.0 * df**2)
    return np.where(df > 1e4, series, np.sqrt(2.0 / df) * np.exp(log_ratio))
