"""What a user sees and can do while a command works: that kernels are being compiled, and that Control-C stops it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

from shardwise.io.atomic import forget_drafts

GRACE = 1.5  # seconds that a stopped command has for removing its drafts


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


def stop_soon() -> Callable[[], None]:
    """Let Control-C end the process in two seconds, whatever its threads compute; return what takes this back.

    Python hands the signal to the main thread, which may wait for kernels that cannot be interrupted; the system writes
    it to a pipe at once, where a thread of its own waits for it.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def watch() -> None:
        while heard := os.read(reading, 16):
            if signal.SIGINT in heard:
                time.sleep(GRACE)
                forget_drafts()
                say_stopped()
                os._exit(130)
        os.close(reading)

    def back() -> None:
        signal.set_wakeup_fd(before)
        os.close(writing)

    threading.Thread(target=watch, daemon=True).start()
    return back


_SAID = threading.Event()


def say_stopped() -> None:
    """Say that the command was stopped, once."""
    if not _SAID.is_set():
        _SAID.set()
        with suppress(OSError):
            sys.stderr.write("stopped\n")
            sys.stderr.flush()
