"""How much a file may hold."""

from __future__ import annotations

LEAST, GROWTH = 1 << 30, 500  # bytes that any file may hold, and how many times its own size


def most_inside(packed: int) -> int:
    """Bytes that a file of so many may hold when inflated or read; more is made to fill the memory."""
    return max(LEAST, GROWTH * packed)
