"""Python processes that we start: none looks for modules in the current folder, which may hold a stranger's files.

It is loaded before the current folder is left, and therefore loads next to nothing itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

SAFE_PATH = "PYTHONSAFEPATH"
"""Variable that does what ``-P`` does, for processes whose command is not ours."""
HOME = str(Path(__file__).parents[2])
"""Folder of this package."""

_lock = Lock()
_before: list[str | None] = []
"""What the variable was when each of those who protect now began."""


def python_command(module: str, *arguments: str) -> list[str]:
    """Return the command of a process that runs a module of ours, for use with `python_environment`."""
    return [sys.executable, "-P", "-m", module, *arguments]


def python_environment() -> dict[str, str]:
    """Return the environment of such a process: it imports from where this one does, but for the current folder."""
    paths = [path for path in sys.path if path and not is_current_folder(path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys([*paths, HOME]))}


def is_current_folder(path: str) -> bool:
    """Return whether a path is the current folder, and not that of this package."""
    return os.path.realpath(path) == os.path.realpath(".") != os.path.realpath(HOME)


def leave_current_folder() -> None:
    """Take the current folder, which ``python -m`` puts first, from the path of this process."""
    if not sys.flags.safe_path and is_current_folder(sys.path[0]):
        del sys.path[0]


@contextmanager
def protect_children() -> Iterator[None]:
    """Keep Python processes that start meanwhile, such as those of `multiprocessing`, from the current folder.

    They take over the path of this process once they have loaded what they need for that.
    """
    with _lock:
        _before.append(os.environ.get(SAFE_PATH))
        os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        with _lock:
            before = _before.pop()
            if before is None:
                os.environ.pop(SAFE_PATH, None)
            else:
                os.environ[SAFE_PATH] = before
