"""Analyses wait for a worker process, are worked on, tell how they go, and can be stopped at any time."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from shardwise.app.settings import Settings
from shardwise.app.store import (
    CANCELLED,
    DONE,
    FAILED,
    INTERRUPTED,
    QUEUED,
    READING,
    READY,
    RUNNING,
    STOPPED,
    Entry,
    Store,
)

LONGEST_LINE = 1 << 20  # bytes that a worker says at once
CRASHED = (
    "The worker that had this stopped all of a sudden, perhaps for want of memory. Others are not harmed; try it with "
    "fewer files, splits or tables."
)


@dataclass(slots=True)
class Job:
    """An analysis that waits or is worked on."""

    id: str
    kind: str
    process: asyncio.subprocess.Process | None = None
    cancelled: bool = False
    told: dict[str, Any] = field(
        default_factory=lambda: {"doing": "waiting for a worker", "done": 0, "total": 0}
    )


class Queue:
    """Analyses in the order in which they came; readings, which people wait for, have a worker of their own.

    Processes are started as they are needed, up to one more than can be busy: that one is kept warm, so that one that
    is killed costs nobody a wait.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self._waiting: dict[bool, deque[Job]] = {True: deque(), False: deque()}  # readings, the rest
        self._news: dict[bool, asyncio.Event] = {}
        self._jobs: dict[str, Job] = {}
        self._listeners: dict[str, set[asyncio.Event]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._processes: set[asyncio.subprocess.Process] = set()
        self._hiring = 0

    async def start(self) -> None:
        """Start the workers."""
        self._idle: asyncio.Queue[asyncio.subprocess.Process] = asyncio.Queue()
        self._news = {True: asyncio.Event(), False: asyncio.Event()}
        for reading in [True] + [False] * self.settings.workers:
            self._keep_task(self._work_in_turn(reading))
        self._keep_task(self._start_process())

    async def stop(self) -> None:
        """Stop the workers; what they were at says that it was not finished."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for process in self._processes:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        for job in self._jobs.values():
            self.store.update_entry(job.id, state=INTERRUPTED, message=STOPPED)

    def _keep_task(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start_process(self) -> None:
        """Start a process; it is idle once it has loaded what it needs."""
        self._hiring += 1
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "shardwise.app.worker", str(self.settings.memory),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LONGEST_LINE, start_new_session=True,
        )  # fmt: skip
        self._hiring -= 1
        self._processes.add(process)
        assert process.stdout is not None
        if await process.stdout.readline():
            await self._idle.put(process)
        else:
            await asyncio.sleep(1)
            self._replace_process(process)

    def _replace_process(self, process: asyncio.subprocess.Process) -> None:
        """Forget a process that has ended, and start another."""
        self._processes.discard(process)
        self._keep_task(self._start_process())

    def submit_entry(self, entry: Entry, *, reading: bool = False) -> None:
        """Put an analysis at the end of the queue."""
        job = Job(entry.id, "read" if reading else entry.kind)
        self.store.update_entry(entry.id, state=READING if reading else QUEUED, message="")
        self._jobs[entry.id] = job
        self._waiting[reading].append(job)
        self._news[reading].set()
        self._notify_listeners(entry.id)

    def cancel_entry(self, id: str) -> None:
        """Stop an analysis: one that waits is taken out, one that is worked on loses its worker."""
        job = self._jobs.get(id)
        if job is None:
            return
        job.cancelled = True
        if job.process is not None:
            job.process.kill()
        else:
            with suppress(ValueError):
                self._waiting[job.kind == "read"].remove(job)
            self._end_job(job, state=CANCELLED, message="")

    def describe_progress(self, id: str) -> dict[str, Any]:
        """Return what is being done, how much of it of how much, how many wait before it, and when some came last."""
        job = self._jobs.get(id)
        if job is None:
            return {}
        waiting = self._waiting[job.kind == "read"]
        ahead = waiting.index(job) if job in waiting else 0
        some = self.store.entry_folder(id) / "partial.json"
        seen = some.stat().st_mtime if some.is_file() else 0
        return {**job.told, "ahead": ahead, "partial": seen}

    async def stream_events(self, id: str) -> AsyncIterator[dict[str, Any]]:
        """Yield the state and progress of an analysis, at once and whenever they change, until no worker has it."""
        news = asyncio.Event()
        self._listeners.setdefault(id, set()).add(news)
        try:
            while True:
                entry = self.store.find_entry(id)
                if entry is None:
                    return
                yield {"state": entry.state, **self.describe_progress(id)}
                if not entry.moving:
                    return
                with suppress(TimeoutError):  # a word now and then keeps the line open
                    await asyncio.wait_for(news.wait(), 15)
                news.clear()
        finally:
            self._listeners[id].discard(news)
            if not self._listeners[id]:
                del self._listeners[id]

    def _notify_listeners(self, id: str) -> None:
        for listener in self._listeners.get(id, ()):
            listener.set()

    async def _work_in_turn(self, reading: bool) -> None:
        """Work on one analysis after the other."""
        while True:
            while not self._waiting[reading]:
                self._news[reading].clear()
                await self._news[reading].wait()
            process = await self._idle.get()
            if process.returncode is not None:  # killed from outside
                self._replace_process(process)
                continue
            if not self._waiting[reading]:  # taken out meanwhile
                self._idle.put_nowait(process)
                continue
            await self._work_on_job(self._waiting[reading].popleft(), process)

    async def _work_on_job(self, job: Job, process: asyncio.subprocess.Process) -> None:
        entry = self.store.find_entry(job.id)
        assert entry is not None
        assert process.stdin is not None
        assert process.stdout is not None
        job.process = process
        if len(self._processes) + self._hiring < self.settings.workers + 2:
            self._keep_task(self._start_process())
        if job.kind != "read":
            self.store.update_entry(job.id, state=RUNNING)
        order = {
            "folder": str(self.store.entry_folder(job.id).absolute()),
            "kind": job.kind,
            "choices": entry.choices,
            "limits": [self.settings.limit, self.settings.files],
        }
        ended: dict[str, Any] = {}
        with suppress(ConnectionError):
            process.stdin.write(json.dumps(order).encode() + b"\n")
            await process.stdin.drain()
            while line := await process.stdout.readline():
                message = json.loads(line)
                if "end" in message:
                    ended = message
                    break
                job.told = message
                self._notify_listeners(job.id)
        if ended and not job.cancelled:
            self._idle.put_nowait(process)
        else:
            await process.wait()
            self._replace_process(process)
        if ended.get("end") == "done":
            self._end_job(job, state=READY if job.kind == "read" else DONE, title=ended["title"], message="")
        elif job.cancelled:
            self._end_job(job, state=CANCELLED, message="")
        else:
            self._end_job(job, state=FAILED, message=ended.get("message", CRASHED))

    def _end_job(self, job: Job, **fields: Any) -> None:
        del self._jobs[job.id]
        self.store.update_entry(job.id, **fields)
        self._notify_listeners(job.id)
