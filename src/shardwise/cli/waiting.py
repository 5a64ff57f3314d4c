"""What a user is told of kernels: that they are being compiled, and that they cannot be kept."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any


def watch_compiling() -> None:
    """Say that kernels are compiled, since bars stand still meanwhile; where they cannot be kept, go on without."""
    if "numba" in sys.modules:
        _keep_if_possible()
        if sys.stderr.isatty():
            import_module("numba.core.event").register("numba:compile", telling())


@cache
def _keep_if_possible() -> None:
    """Let numba use what it cannot save, as on a full disk, and say so once.

    It writes an index before the code that the index names: without that code, the index would name an older one.
    """
    caching = import_module("numba.core.caching")
    save = caching.Cache.save_overload
    told: list[OSError] = []

    def save_overload(self: Any, sig: object, data: object) -> None:
        try:
            save(self, sig, data)
        except OSError as error:
            with suppress(OSError):
                os.unlink(self._cache_file._index_path)
            if not told:
                told.append(error)
                sys.stderr.write(
                    f"compiled code cannot be kept ({error.strerror}), and will be compiled again next time\n"
                )

    caching.Cache.save_overload = save_overload


def telling() -> Any:
    """A listener to numba that speaks at the first compilation."""
    event = import_module("numba.core.event")

    class Telling(event.Listener):  # type: ignore[misc,name-defined]
        told = False

        def on_start(self, event: object) -> None:
            if not self.told:
                sys.stderr.write("compiling (first use only), up to a minute …\n")
                self.told = True

        def on_end(self, event: object) -> None:
            pass

    return Telling()
