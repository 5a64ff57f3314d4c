"""How many threads the linear algebra takes where the work is shared out by other means."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import scipy.linalg.blas  # noqa: F401  (loaded before libraries are looked for: its own is one of them)


@cache
def _get_controller() -> Any:
    return import_module("threadpoolctl").ThreadpoolController()


def one_thread() -> Any:
    """A context with one BLAS thread: for sizes at which a second costs more than it brings, and within workers."""
    return _get_controller().limit(limits=1, user_api="blas")
