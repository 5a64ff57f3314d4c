"""Where compiled kernels are kept when neither the package nor a home folder may be written to.

Every ``import shardwise`` runs this, hence paths as text: modules of paths and temporary files cost a third of it.
"""

from __future__ import annotations

import os
import stat
import sys


def keep_kernels(package: str) -> None:
    """Name a folder for numba's cache where it would find none, which would end the program as it begins.

    numba writes beside the sources, or else in the user's cache folder. What it reads there is run, hence a folder in
    the place for temporary files is taken only if it is this user's alone.
    """
    if "NUMBA_CACHE_DIR" in os.environ or _writable(package) or _writable(_user_folder()):
        return
    import tempfile
    from contextlib import suppress

    folder = os.path.join(tempfile.gettempdir(), f"shardwise-kernels-{os.getuid()}")
    with suppress(OSError):  # it is there, or cannot be
        os.mkdir(folder, mode=0o700)
    if not _own(folder):
        folder = tempfile.mkdtemp(prefix="shardwise-kernels-")
    os.environ["NUMBA_CACHE_DIR"] = folder
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder


def _user_folder() -> str:
    """Where numba keeps kernels for a user."""
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "numba")


def _writable(folder: str) -> bool:
    """Whether files can be made in a folder, or the folder itself."""
    while not os.path.exists(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


def _own(folder: str) -> bool:
    try:
        about = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & 0o077
