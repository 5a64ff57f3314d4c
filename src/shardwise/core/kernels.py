"""Where compiled kernels are kept when neither the package nor a home folder may be written to."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path


def keep_kernels(package: Path) -> None:
    """Name a folder for numba's cache where it would find none, which would end the program as it begins.

    numba writes beside the sources, or else in the user's cache folder. What it reads there is run, hence a folder in
    the place for temporary files is taken only if it is this user's alone.
    """
    if "NUMBA_CACHE_DIR" in os.environ or _writable(package) or _writable(_user_folder()):
        return
    folder = Path(tempfile.gettempdir()) / f"shardwise-kernels-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
    if not _own(folder):
        folder = Path(tempfile.mkdtemp(prefix="shardwise-kernels-"))
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)


def _user_folder() -> Path:
    """Where numba keeps kernels for a user."""
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "numba"


def _writable(folder: Path) -> bool:
    """Whether files can be made in a folder, or the folder itself."""
    there = next((one for one in (folder, *folder.parents) if one.exists()), folder)
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _own(folder: Path) -> bool:
    try:
        about = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & 0o077
