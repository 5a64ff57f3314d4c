"""Writes tukey_mpmath.csv: upper tails of the studentized range by 30-digit integration.

The textbook double integral is taken as it stands, 1 - r ∫ φ(z) [Φ(z) - Φ(z - w)]^(r-1) dz inside and the density of
log s outside; with 30 digits the cancellation in the first costs nothing that matters down to 1e-12. Run from
the root of the project: python tests/gold/tukey_mpmath.py (takes about ten minutes).
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

from mpmath import erfc, exp, expm1, inf, log, loggamma, mp, mpf, npdf, quad, sqrt

mp.dps = 30
STEP = mpf(1) / 16
# q near the tails .05 and 1e-12 for each (r, df)
CASES = Path(__file__).with_name("tukey_cases.csv")


@cache
def phi(z: mpf) -> mpf:
    return erfc(-z / sqrt(mpf(2))) / 2


def range_sf(w: mpf, r: int) -> mpf:
    total = mpf(0)
    for k in range(-144, int((w / 2 + 10) / STEP)):
        z = k * STEP
        total += npdf(z) * (phi(z) - erfc((w - z) / sqrt(mpf(2))) / 2) ** (r - 1)
    return 1 - r * STEP * total


def studentized_sf(q: mpf, r: int, df: mpf) -> mpf:
    if df == inf:
        return range_sf(q, r)
    constant = log(2) + df / 2 * log(df / 2) - loggamma(df / 2) - df / 2

    def integrand(v: mpf) -> mpf:
        return range_sf(q * exp(v), r) * exp(constant + df * (v - expm1(2 * v) / 2))

    peak = -log(1 + q * q / (2 * df)) / 2
    scale = 1 / sqrt(2 * df)
    left = [peak - scale * x for x in ((8, 6, 4, 2) if df > 100 else (12, 8, 5, 3, 2, 1))]
    if df < 100:
        left = [peak - 33 / df - 1, peak - 18 / df - 1, *left] if peak - 18 / df - 1 < left[0] else left
    right = [peak + scale * x for x in (0, 1, 2, 3, 4, 6, 8)]
    return quad(integrand, left + right, method="gauss-legendre", maxdegree=4)


def main() -> None:
    with CASES.open() as cases, CASES.with_name("tukey_mpmath.csv").open("w") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["r", "df", "q", "sf"])
        for row in csv.DictReader(cases):
            value = studentized_sf(mpf(row["q"]), int(row["r"]), mpf(row["df"]))
            writer.writerow([row["r"], row["df"], row["q"], mp.nstr(value, 17)])
            out.flush()


if __name__ == "__main__":
    main()
