"""Assertions for tests of systems: no worse than what is in use, by more than a margin."""

from __future__ import annotations

from typing import Any

from shardwise.analysis.gate import Gate, Gates, gate

__all__ = ["assert_better", "assert_no_worse"]


def assert_no_worse(base: Any, new: Any, margin: float = 0.01, **choices: Any) -> Gate | Gates:
    """Fail unless a new system is better than the one in use, or worse by less than the margin.

    A result that is inconclusive fails too: its message says how many items would be needed.

    Parameters
    ----------
    base, new : scores
        Scores of both systems on the same items, as `gate` takes them: arrays of one score an item, tables, files.
    margin : float
        The largest loss that does not matter.
    choices : Any
        What else `gate` takes: ``alpha``, ``power``, ``repeats``, ``range``, ``lower_is_better``, ``scores``.

    Returns
    -------
    Gate or Gates
        The figures, for further assertions.

    >>> import numpy as np
    >>> old = np.linspace(0.2, 0.8, 300)
    >>> assert_no_worse(old, old + 0.01, margin=0.02).passes
    True
    >>> assert_no_worse(old, old - 0.1, margin=0.02)
    Traceback (most recent call last):
    ...
    AssertionError: ...
    """
    result: Gate | Gates = gate(base, new, margin=margin, **choices)
    if not result.passes:
        raise AssertionError(str(result))
    return result


def assert_better(base: Any, new: Any, **choices: Any) -> Gate | Gates:
    """Fail unless a new system is significantly better than the one in use.

    Parameters
    ----------
    base, new : scores
        As for `assert_no_worse`.
    choices : Any
        What else `gate` takes.

    Returns
    -------
    Gate or Gates
        The figures, for further assertions.

    >>> import numpy as np
    >>> old = np.linspace(0.2, 0.8, 300)
    >>> assert_better(old, old + 0.05 + 0.01 * np.sin(np.arange(300))).passes
    True
    """
    result: Gate | Gates = gate(base, new, **choices)
    verdicts = [result] if isinstance(result, Gate) else list(result.each)
    if any(verdict.verdict != "better" for verdict in verdicts):
        raise AssertionError(str(result))
    return result
