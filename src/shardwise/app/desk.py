"""What can be done with analyses, whoever asks: the page and the API say it differently."""

from __future__ import annotations

import io
import re
import shutil
import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shardwise.app import uploads
from shardwise.app.choices import ALLOWED, Misplaced, keep_common_choices, validate_choices
from shardwise.app.examples import EXAMPLES
from shardwise.app.queue import READ, TRUST, Queue
from shardwise.app.settings import Settings
from shardwise.app.store import DONE, DRAFT, Choices, Entry, Store, read_json
from shardwise.core.errors import InputError

NO_TRUST, SIMULATING, SIMULATED = "none", "simulating", "simulated"
"""What there is of the error rates of an analysis."""
SHOWN = re.compile(r"summary\.json|items-view(-\d+)?\.html")  # results that are for the page, not for people


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

    def create_example(self, key: str) -> Entry:
        """Make an analysis of a table that comes with the package, and have it read."""
        if key not in EXAMPLES:
            raise Refused(404, "There is no such example.")
        entry = self.store.create_entry()
        with EXAMPLES[key].open_path() as path:
            shutil.copyfile(path, self.store.input_folder(entry.id) / path.name)
        return self.submit_reading(entry.id, {})

    def submit_reading(self, id: str, given: Any, *, typed: bool = False) -> Entry:
        """Have the files read, or read again in another way; numbers that were typed are texts."""
        entry = self._at_rest(id)
        if entry.state == DONE:
            raise Refused(409, "This analysis is finished; change its settings in a new one.")
        choices = _accept_choices(given, entry.kind, typed)
        # what was said about the columns of files that are no longer used is forgotten
        known = {
            name: value
            for name, value in entry.choices.items()
            if name != "columns" or "files" not in choices
        }
        entry = self.store.update_entry(id, choices={**known, **choices})
        self.queue.submit_entry(entry, READ)
        return entry

    def submit_run(self, id: str, given: Any, *, typed: bool = False) -> Entry:
        """Put an analysis into the queue, as it is chosen; numbers that were typed are texts."""
        entry = self._at_rest(id)
        if entry.state == DONE:
            raise Refused(409, "This analysis is finished; change its settings in a new one.")
        problem = self.store.read_reading(id).get("problem")
        if problem:
            raise Refused(409, f"The files could not be read: {problem}")
        if self.store.read_reading(id).get("kind") == "report":
            entry = self.store.update_entry(id, kind="repeat")
        # how the files were read was chosen before, and is not asked again
        read_so = {name: value for name, value in entry.choices.items() if name in ("files", "columns")}
        choices = _accept_choices(given, entry.kind, typed)
        entry = self.store.update_entry(id, choices=(read_so if entry.kind != "repeat" else {}) | choices)
        self.queue.submit_entry(entry)
        return entry

    def submit_trust(self, id: str) -> Entry:
        """Have the error rates of a finished comparison simulated."""
        entry = self._at_rest(id)
        if entry.state != DONE or entry.kind != "compare":
            raise Refused(409, "Error rates are simulated once a comparison is done.")
        if self.describe_trust(entry) != NO_TRUST:
            raise Refused(409, "The error rates of this analysis are simulated already.")
        self.queue.submit_entry(entry, TRUST)
        return entry

    def describe_trust(self, entry: Entry) -> str:
        """Return whether the error rates of an analysis are there, being simulated, or neither."""
        if self.queue.is_simulating(entry.id):
            return SIMULATING
        summary = read_json(self.store.result_folder(entry.id) / "summary.json")
        return SIMULATED if summary.get("trust") else NO_TRUST

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
        if not folder.is_dir():
            return []
        return sorted(path for path in folder.iterdir() if not SHOWN.fullmatch(path.name))

    def find_items(self, id: str, number: str = "") -> Path | None:
        """Return the view of the items behind an answer, where there is one."""
        path = self.store.result_folder(self.find_entry(id).id) / f"items-view{number}.html"
        return path if path.is_file() else None

    def pack_results(self, id: str) -> bytes:
        """Return all results of an analysis as one zip archive."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in self.list_results(id):
                archive.write(path, path.name)
        return packed.getvalue()

    def _at_rest(self, id: str) -> Entry:
        entry = self.find_entry(id)
        if entry.moving:
            raise Refused(409, "A worker has this analysis; wait, or cancel it.")
        return entry


def _accept_choices(given: Any, kind: str, typed: bool) -> Choices:
    try:
        return validate_choices(given, kind, typed=typed)
    except InputError as error:
        raise Refused(409 if isinstance(error, Misplaced) else 400, f"{error}.") from None
