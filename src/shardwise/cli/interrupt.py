"""Ctrl-C is heard at once, also while compiled code is running, which Python cannot interrupt."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

from shardwise.io.atomic import forget_drafts

Result = TypeVar("Result")
GRACE = 1.0  # seconds that work has to end by itself
TICK = 0.1


def run_interruptibly(work: Callable[[], Result]) -> Result:
    """Do work in a thread of its own, while this one waits for an interrupt.

    Interrupted work is asked to end, which cleans up behind it; where it cannot hear that, it is left alone.

    >>> run_interruptibly(lambda: 42)
    42
    """
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((copy_context().run(work), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, daemon=True, name="work")
    try:
        thread.start()
    except RuntimeError:
        # no thread can be started
        return work()
    try:
        while thread.is_alive():
            thread.join(TICK)
    except KeyboardInterrupt:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident or 0), ctypes.py_object(KeyboardInterrupt)
        )
        thread.join(GRACE)
        raise
    result, error = outcome[0]
    if error is not None:
        raise error
    answer: Result = result
    return answer


def leave_at_once(code: int) -> None:
    """End the process without waiting for threads that are still at work, and without their drafts of files."""
    if threading.active_count() > 1:
        forget_drafts()
        os._exit(code)
