"""Numbers as they stand in sentences and tables: the digits that mean something, and no more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shardwise.analysis.analysis import ClaimResult

LEAST_P = 0.0001  # smaller ones are only said to be smaller


def number(x: float, decimals: int = 3) -> str:
    """A score or difference.

    >>> number(0.12345), number(-0.0001), number(float("nan"))
    ('0.123', '0.000', '–')
    """
    if not np.isfinite(x):
        return "–"
    text = f"{x:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def p_value(p: float, resolution: float = 0.0) -> str:
    """A p-value with the digits that mean something; at the resolution of resamples it is only known to be as small.

    >>> [p_value(p) for p in (0.0, 0.00004, 0.0312, 0.5, 1.0)]
    ['< 0.0001', '< 0.0001', '0.031', '0.50', '1.00']
    >>> p_value(1e-4, 1e-4), p_value(5e-4, 5e-4), p_value(0.01, 0.01)
    ('≤ 0.0001', '≤ 0.0005', '≤ 0.01')
    """
    if not np.isfinite(p):
        return "–"
    if resolution > 0 and p <= resolution * (1 + 1e-9):
        return f"≤ {resolution:.1g}"
    if p < LEAST_P:
        return f"< {LEAST_P:g}"
    return f"{p:.2g}" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def equated(p: str) -> str:
    """A p-value after the letter p.

    >>> equated("0.031"), equated("≤ 0.0001")
    ('p = 0.031', 'p ≤ 0.0001')
    """
    return f"p {p}" if p.startswith(("<", "≤")) else f"p = {p}"


def decimals_for(claims: Iterable[ClaimResult]) -> int:
    """Digits after the point: the four that are usual, fewer on a coarse scale, more where intervals are tiny."""
    halves = [one.half[np.isfinite(one.half) & (one.half > 0)] for one in claims]
    widths = [float(half.min()) for half in halves if half.size]
    if not widths:
        return 4
    place = int(np.floor(np.log10(min(widths))))
    return int(np.clip(2 - place, 1, max(4, 1 - place)))


def degrees(df: float) -> str:
    """Degrees of freedom, which need not be whole.

    >>> degrees(29204.0), degrees(41.26)
    ('29,204', '41.3')
    """
    return f"{df:,.0f}" if abs(df - round(df)) < 1e-6 else f"{df:,.1f}"
