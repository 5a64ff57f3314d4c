"""What can be done with analyses, whoever asks: the page and the API say it differently."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shardwise.app import uploads
from shardwise.app.choices import ALLOWED, Misplaced, keep_common_choices, validate_choices
from shardwise.app.queue import Queue
from shardwise.app.settings import Settings
from shardwise.app.store import DONE, DRAFT, Choices, Entry, Store
from shardwise.core.errors import InputError

SHOWN = frozenset({"summary.json"})  # results that are for the page, not for people


class Refused(Exception):
    """A request that cannot be done, with the status that says so."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


@dataclass(frozen=True, slots=True)
class Desk:
    """The store and the queue, and what may be asked of them."""

    settings: Settings
    store: Store
    queue: Queue

    def find_entry(self, id: str) -> Entry:
        """Return an analysis, or refuse a name that none has."""
        entry = self.store.find_entry(id)
        if entry is None:
            raise Refused(404, "There is no such analysis; it may have been deleted.")
        return entry

    async def receive_file(self, id: str, name: str, length: int, stream: AsyncIterator[bytes]) -> Path:
        """Take a file for an analysis that has not been read."""
        entry = self.find_entry(id)
        if entry.state != DRAFT:
            raise Refused(409, "The files of this analysis are complete; start a new one.")
        limit = self.settings.limit
        try:
            if length > limit:
                raise uploads.too_large(limit)
            return await uploads.receive_stream(
                stream, self.store.input_folder(id), name, limit, self.settings.files
            )
        except uploads.TooMuch as error:
            raise Refused(413, f"{error}.") from None
        except OSError as error:
            raise Refused(507, f"The file could not be written: {error.strerror or error}.") from None

    def submit_reading(self, id: str, given: Any) -> Entry:
        """Have the files read, or read again in another way."""
        entry = self._at_rest(id)
        if entry.state == DONE:
            raise Refused(409, "This analysis is finished; change its settings in a new one.")
        choices = _accept_choices(given, entry.kind)
        entry = self.store.update_entry(id, choices={**entry.choices, **choices})
        self.queue.submit_entry(entry, reading=True)
        return entry

    def submit_run(self, id: str, given: Any) -> Entry:
        """Put an analysis into the queue, as it is chosen."""
        entry = self._at_rest(id)
        if entry.state == DONE:
            raise Refused(409, "This analysis is finished; change its settings in a new one.")
        problem = self.store.read_reading(id).get("problem")
        if problem:
            raise Refused(409, f"The files could not be read: {problem}")
        if self.store.read_reading(id).get("kind") == "report":
            entry = self.store.update_entry(id, kind="repeat")
        entry = self.store.update_entry(id, choices=_accept_choices(given, entry.kind))
        self.queue.submit_entry(entry)
        return entry

    def copy_entry(self, id: str, kind: str) -> Entry:
        """Make another analysis of the same files."""
        entry = self._at_rest(id)
        if kind not in ALLOWED:
            raise Refused(404, "There is no such kind of analysis.")
        made = self.store.copy_entry(entry, kind)
        return (
            self.store.update_entry(made.id, choices=keep_common_choices(entry.choices, kind))
            if kind != entry.kind
            else made
        )

    async def cancel_entry(self, id: str) -> Entry:
        """Stop an analysis if it is under way; it has stopped when this returns."""
        self.find_entry(id)
        self.queue.cancel_entry(id)
        async for _ in self.queue.stream_events(id):
            pass
        return self.find_entry(id)

    async def delete_entry(self, id: str) -> None:
        """Stop an analysis if it is under way, and remove all of it."""
        await self.cancel_entry(id)
        self.store.delete_entry(id)

    def find_result(self, id: str, name: str) -> Path:
        """Return the path of one of the results, by a name that is compared with those that are there."""
        self.find_entry(id)
        for path in self.list_results(id):
            if path.name == name:
                return path
        raise Refused(404, "There is no such result.")

    def list_results(self, id: str) -> list[Path]:
        """Return the results that are there."""
        folder = self.store.result_folder(id)
        return sorted(path for path in folder.iterdir() if path.name not in SHOWN) if folder.is_dir() else []

    def _at_rest(self, id: str) -> Entry:
        entry = self.find_entry(id)
        if entry.moving:
            raise Refused(409, "A worker has this analysis; wait, or cancel it.")
        return entry


def _accept_choices(given: Any, kind: str) -> Choices:
    try:
        return validate_choices(given, kind)
    except InputError as error:
        raise Refused(409 if isinstance(error, Misplaced) else 400, f"{error}.") from None
