"""Format numbers for sentences and tables: the digits that mean something, and no more."""

from __future__ import annotations

from typing import Any

import numpy as np

LEAST_P = 0.0001
"""Smaller p-values are only said to be smaller."""


def format_number(x: float, decimals: int = 3) -> str:
    """Format a score or difference.

    >>> format_number(0.12345), format_number(-0.0001), format_number(float("nan"))
    ('0.123', '0.000', '–')
    """
    if not np.isfinite(x):
        return "–"
    text = f"{x:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def format_signed(x: float, decimals: int = 3) -> str:
    """Format a difference with its sign.

    >>> format_signed(0.12345), format_signed(-0.1), format_signed(0.0001)
    ('+0.123', '−0.100', '0.000')
    """
    text = format_number(x, decimals)
    return f"+{text}" if x > 0 and float(text) != 0 else text


def format_interval(lower: float, upper: float, decimals: int = 3, *, significant: bool = False) -> str:
    """Format an interval as sentences and tables show it; that of a significant difference has no limit of 0.

    >>> format_interval(0.004, 0.0381)
    '0.004 to 0.038'
    >>> format_interval(0.0, 0.0381, significant=True), format_interval(-0.3, -0.0001, significant=True)
    ('>0 to 0.038', '−0.300 to <0')
    """
    if not np.isfinite(lower):
        return "–"
    ends = [format_number(lower, decimals), format_number(upper, decimals)]
    if significant and lower >= 0.0 and float(f"{lower:.{decimals}f}") == 0.0:
        ends[0] = ">0"
    elif significant and upper <= 0.0 and float(f"{upper:.{decimals}f}") == 0.0:
        ends[1] = "<0"
    return " to ".join(ends)


def format_percent(share: float) -> str:
    """Format a share as a percentage.

    >>> format_percent(0.95), format_percent(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * share:.6g}%"


def format_ranks(table: Any) -> list[str]:
    """Format the range of ranks of each system: ``2–5``, ``1``.

    Parameters
    ----------
    table : DataFrame or dict of columns
        Columns `rank_best, rank_worst`.

    Returns
    -------
    list of str
        One text a row.

    >>> format_ranks({"rank_best": [1, 2], "rank_worst": [1, 5]})
    ['1', '2–5']
    """
    ends = zip(table["rank_best"], table["rank_worst"], strict=True)
    return [f"{low}–{high}" if low < high else f"{low}" for low, high in ends]


def format_p(p: float, resolution: float = 0.0) -> str:
    """Format a p-value; at the resolution of resamples it is only known to be as small.

    >>> [format_p(p) for p in (0.0, 0.00004, 0.0312, 0.5, 1.0)]
    ['< 0.0001', '< 0.0001', '0.031', '0.50', '1.00']
    >>> format_p(1e-4, 1e-4), format_p(5e-4, 5e-4), format_p(0.01, 0.01)
    ('≤ 0.0001', '≤ 0.0005', '≤ 0.01')
    """
    if not np.isfinite(p):
        return "–"
    if resolution > 0 and p <= resolution * (1 + 1e-9):
        return f"≤ {resolution:.1g}"
    if p < LEAST_P:
        return f"< {LEAST_P:g}"
    return f"{p:.2g}" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def equate_p(p: str) -> str:
    """Write a p-value after the letter p.

    >>> equate_p("0.031"), equate_p("≤ 0.0001")
    ('p = 0.031', 'p ≤ 0.0001')
    """
    return f"p {p}" if p.startswith(("<", "≤")) else f"p = {p}"


def format_df(df: float) -> str:
    """Format degrees of freedom, which need not be whole.

    >>> format_df(29204.0), format_df(41.26)
    ('29,204', '41.3')
    """
    return f"{df:,.0f}" if abs(df - round(df)) < 1e-6 else f"{df:,.1f}"
