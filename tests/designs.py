"""What a design reaches, as functions of its numbers."""

from __future__ import annotations

from typing import Any

from shardwise.planning.design import Design


def power_at(*, n: Any, variance: Any, df: Any = None, **choices: Any) -> Any:
    """Power with n topics."""
    return Design(variance, n, variance_df=df, **choices).power


def min_diff_at(*, n: Any, variance: Any, power: Any = 0.8, df: Any = None, **choices: Any) -> Any:
    """Smallest difference that n topics detect with the power."""
    return Design(variance, n, target=power, variance_df=df, **choices).detectable


def width_at(*, n: Any, variance: Any, **choices: Any) -> Any:
    """Expected width of an interval with n topics."""
    return Design(variance, n, **choices).width
