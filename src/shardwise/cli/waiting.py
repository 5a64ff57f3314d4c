"""What a user is told while a command waits: that kernels are being compiled."""

from __future__ import annotations

import sys
from importlib import import_module


def say_when_compiling() -> None:
    """Say on a terminal, once, when a kernel has to be compiled: bars stand still meanwhile."""
    if not sys.stderr.isatty() or "numba" not in sys.modules:
        return
    event = import_module("numba.core.event")

    class Telling(event.Listener):  # type: ignore[misc,name-defined]
        """A listener that speaks at the first compilation."""

        told = False

        def on_start(self, event: object) -> None:
            """Say it."""
            if not self.told:
                sys.stderr.write("compiling (first use only), up to a minute …\n")
                self.told = True

        def on_end(self, event: object) -> None:
            """Compilation ends are not spoken of."""

    event.register("numba:compile", Telling())
