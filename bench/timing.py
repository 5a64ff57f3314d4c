"""Seconds by the clock and of processors."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

Result = TypeVar("Result")


class Seconds(NamedTuple):
    """What something took; on a busy machine the processors say more than the clock."""

    wall: float
    spent: float

    def __str__(self) -> str:
        return f"{self.wall:.3g} ({self.spent:.3g})"


def best_of(times: int, action: Callable[[], Result]) -> tuple[Seconds, Result]:
    """Do something so many times: the least that it took, and what came of it last."""
    found = []
    for _ in range(times):
        start, used = time.perf_counter(), time.process_time()
        result = action()
        found.append((time.perf_counter() - start, time.process_time() - used))
    walls, spents = zip(*found, strict=True)
    return Seconds(min(walls), min(spents)), result
