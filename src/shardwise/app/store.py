"""What a server is told, and its analyses: a folder each with files and results, and an index of how each stands."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from shardwise.core.errors import InputError, Option

Choices = dict[str, list[str]]


class Stage(StrEnum):
    """How an analysis stands."""

    draft = "draft"
    reading = "reading"
    ready = "ready"
    queued = "queued"
    running = "running"
    done = "done"
    failed = "failed"
    cancelled = "cancelled"
    interrupted = "interrupted"


TABLE = """
CREATE TABLE IF NOT EXISTS analyses (
    id TEXT PRIMARY KEY, created REAL NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL,
    title TEXT NOT NULL, message TEXT NOT NULL, choices TEXT NOT NULL
)
"""
NAMES = ("id", "created", "kind", "state", "title", "message", "choices")
STOPPED = (
    "The server was stopped before this was finished. Nothing of it is lost but the time: start it again."
)


MEGABYTE = 1 << 20


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


@dataclass(frozen=True, slots=True)
class Entry:
    """One analysis: what it is, and how it stands."""

    id: str
    created: float
    kind: str  # compare, calibrate or repeat
    state: str
    title: str
    message: str
    choices: Choices

    @property
    def moving(self) -> bool:
        """Whether a process has it, or will have."""
        return self.state in (Stage.reading, Stage.queued, Stage.running)


class Store:
    """The folder of all analyses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            # Other users of the machine cannot read what is made here; a folder that exists stays. A file that exists
            # is not opened: closing it would end the lock that this process may hold on it.
            if not folder.is_dir():
                folder.mkdir(parents=True, mode=0o700)
            (folder / "analyses").mkdir(mode=0o700, exist_ok=True)
            (folder / "analyses").chmod(0o700)
            for name in ("index.sqlite", "lock.sqlite"):
                with suppress(FileExistsError):
                    os.close(os.open(folder / name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                (folder / name).chmod(0o600)
            # a folder is kept for this process by SQLite's lock of a file of its own, which goes with the process
            self._lock = sqlite3.connect(
                folder / "lock.sqlite", check_same_thread=False, isolation_level=None, timeout=0
            )
            self._lock.execute("BEGIN EXCLUSIVE")
            self._index = sqlite3.connect(
                folder / "index.sqlite", check_same_thread=False, isolation_level=None
            )
            self._index.execute("PRAGMA journal_mode = WAL")
            self._index.execute(TABLE)
        except (OSError, sqlite3.Error) as error:
            busy = getattr(error, "sqlite_errorname", "") == "SQLITE_BUSY"
            raise InputError(
                "another server keeps its analyses here"
                if busy
                else f"analyses cannot be kept here ({error})",
                where=str(folder),
                remedy="stop it, or name another --out" if busy else "name another --out",
            ) from None
        # what was under way when the last server stopped is finished if its results are there, and else says so
        for entry in self.list_entries():
            if entry.moving:
                finished = entry.state != Stage.reading and self.result_folder(entry.id).is_dir()
                self.update_entry(
                    entry.id,
                    state=Stage.done if finished else Stage.interrupted,
                    message="" if finished else STOPPED,
                )

    def close(self) -> None:
        """Let another server have the folder."""
        self._index.close()
        self._lock.close()

    def create_entry(self, kind: str = "compare") -> Entry:
        """Make room for a new analysis."""
        entry = Entry(secrets.token_hex(8), time.time(), kind, Stage.draft, "", "", {})
        self.input_folder(entry.id).mkdir(parents=True)
        row = (entry.id, entry.created, kind, Stage.draft, "", "", "{}")
        self._index.execute("INSERT INTO analyses VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        return entry

    def copy_entry(self, entry: Entry, kind: str) -> Entry:
        """Make another analysis of the same files, with the same reading and choices; the bytes are shared."""
        made = self.create_entry(kind)
        here, folder = self.input_folder(entry.id), self.input_folder(made.id)
        for path in here.rglob("*"):
            target = folder / path.relative_to(here)
            if path.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                _link_or_copy(path, target)
        read = self.entry_folder(entry.id) / "reading.json"
        if read.is_file():
            _link_or_copy(read, self.entry_folder(made.id) / "reading.json")
        return self.update_entry(made.id, state=Stage.ready, title=entry.title, choices=entry.choices)

    def find_entry(self, id: str) -> Entry | None:
        """Return an analysis, if there is one by this name."""
        entries = self._select_entries("WHERE id = ?", (id,))
        return entries[0] if entries else None

    def list_entries(self) -> list[Entry]:
        """Return all analyses, the newest first."""
        return self._select_entries("ORDER BY created DESC", ())

    def _select_entries(self, which: str, values: Sequence[Any]) -> list[Entry]:
        rows = self._index.execute(f"SELECT * FROM analyses {which}", values).fetchall()
        return [
            Entry(**dict(zip(NAMES, row, strict=True)) | {"choices": json.loads(row[-1])}) for row in rows
        ]

    def update_entry(self, id: str, **fields: Any) -> Entry:
        """Change what the index says of an analysis; on the disk when this returns."""
        if "choices" in fields:
            fields["choices"] = json.dumps(fields["choices"])
        assignments = ", ".join(f"{name} = ?" for name in fields)
        self._index.execute(f"UPDATE analyses SET {assignments} WHERE id = ?", (*fields.values(), id))
        entry = self.find_entry(id)
        assert entry is not None
        return entry

    def delete_entry(self, id: str) -> None:
        """Remove an analysis with its files."""
        self._index.execute("DELETE FROM analyses WHERE id = ?", (id,))
        shutil.rmtree(self.entry_folder(id), ignore_errors=True)

    def entry_folder(self, id: str) -> Path:
        """Return the folder of an analysis; the name is one that `create` made."""
        return self.folder / "analyses" / id

    def input_folder(self, id: str) -> Path:
        """Return the folder of the files it is made from."""
        return self.entry_folder(id) / "inputs"

    def result_folder(self, id: str) -> Path:
        """Return the folder of what came out, which is there when it is complete."""
        return self.entry_folder(id) / "results"

    def read_reading(self, id: str) -> dict[str, Any]:
        """Return how the files were understood; nothing where they have not been read."""
        return read_json(self.entry_folder(id) / "reading.json")


def _link_or_copy(path: Path, target: Path) -> None:
    """Give a file a second name; a copy where the file system has no such thing."""
    try:
        os.link(path, target)
    except OSError:
        shutil.copyfile(path, target)


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a file of ours; nothing where there is none yet."""
    try:
        content: Mapping[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    return dict(content)
