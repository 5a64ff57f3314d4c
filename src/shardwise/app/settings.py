"""What a server is told when it starts."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from shardwise.core.errors import InputError, Option

MEGABYTE = 1 << 20


def usual_folder() -> Path:
    """Return where analyses are kept unless another folder is named."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "shardwise"


def read_root(folder: Path) -> str:
    """Return the root of the pages that a folder keeps, made at the first start: addresses survive a restart."""
    file = folder / "root"
    if not file.is_file() or not file.read_text():
        file.touch(0o600)
        file.write_text(f"/{secrets.token_hex(16)}")
    return file.read_text()


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the server listens, what it keeps where, and how much it takes.

    Parameters
    ----------
    folder
        Where analyses are kept.
    token
        The secret that every request has to know.
    host, port
        The address it listens at.
    workers
        Analyses that run at the same time.
    limit
        Bytes of the files of one analysis, also once archives are unpacked.
    files
        Number of files of one analysis.
    memory
        Bytes that the data of an analysis may take in a worker.
    root
        The path below which the pages are, which nobody else knows.
    entry
        A token that lets in once, for the browser that we open; "" for none.
    """

    folder: Path
    token: str
    host: str = "127.0.0.1"
    port: int = 8421
    workers: int = 1
    limit: int = 2048 * MEGABYTE
    files: int = 2000
    memory: int = 4096 * MEGABYTE
    root: str = field(default_factory=lambda: f"/{secrets.token_hex(16)}")
    entry: str = ""

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        return is_local(self.host)

    def derive_secret(self, purpose: str) -> str:
        """Return a secret made from the token: whoever learns it does not learn the token."""
        return hmac.new(self.token.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def is_local(host: str) -> bool:
    """Whether an address is this machine's own.

    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise InputError(
            f"{host!r} is not a valid address", remedy=("use ", Option("host", "127.0.0.1")), argument="host"
        ) from None


def usual_memory(workers: int) -> int:
    """Return three quarters of the machine's memory, shared by the workers; a gigabyte at least."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1024 * MEGABYTE, whole * 3 // 4 // max(workers, 1))
