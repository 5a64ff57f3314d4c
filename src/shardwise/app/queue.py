"""Analyses wait for a worker process, are worked on, tell how they go, and can be stopped at any time.

An analysis has its answer, and is done, before its error rates are simulated. The simulation is a job of its own, which
may be stopped without harm to the answer.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from shardwise.app.store import STOPPED, Entry, Settings, Stage, Store
from shardwise.core.processes import python_command, python_environment

LONGEST_LINE = 1 << 20  # bytes that a worker says at once
CRASHED = (
    "It stopped all of a sudden, perhaps for want of memory. Other analyses go on; try it with fewer files, splits or "
    "simulated tables."
)


READ, RUN, TRUST = "read", "run", "trust"
LANES = (READ, RUN, TRUST)
"""Queues, each with workers of its own: nobody waits for the answer until the error rates of another are simulated."""


@dataclass(slots=True)
class Job:
    """An analysis that waits or is worked on."""

    id: str
    kind: str
    lane: str
    process: asyncio.subprocess.Process | None = None
    cancelled: bool = False
    lost: int = 0  # processes that were dead before they took it
    told: dict[str, Any] = field(default_factory=lambda: {"doing": "starting", "done": 0, "total": 0})


class Queue:
    """Analyses in the order in which they came; readings and simulations of error rates have a worker of their own.

    Processes are started as they are needed, up to one more than can be busy: that one is kept warm, so that one that
    is killed costs nobody a wait. The process that worked last is taken first, as it has loaded most.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self._waiting: dict[str, deque[Job]] = {lane: deque() for lane in LANES}
        self._news: dict[str, asyncio.Event] = {}
        self._jobs: dict[str, Job] = {}
        self._listeners: dict[str, set[asyncio.Event]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._processes: set[asyncio.subprocess.Process] = set()
        self._hiring = self._seeking = 0  # processes that load, and queues that wait for one
        self._most_processes = settings.workers + len(LANES)

    async def start(self) -> None:
        """Start the workers."""
        self._idle: asyncio.LifoQueue[asyncio.subprocess.Process] = asyncio.LifoQueue()
        self._news = {lane: asyncio.Event() for lane in LANES}
        for lane in (READ, TRUST, *[RUN] * self.settings.workers):
            self._keep_task(self._work_in_turn(lane))
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
            if job.lane != TRUST:
                self.store.update_entry(job.id, state=Stage.interrupted, message=STOPPED)

    def _keep_task(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _find_process(self) -> asyncio.subprocess.Process:
        """Wait for an idle process; where there is none, one is started for everybody who waits."""
        self._seeking += 1
        try:
            if self._idle.empty() and self._hiring < self._seeking:
                self._hire_process()
            return await self._idle.get()
        finally:
            self._seeking -= 1

    def _hire_process(self) -> None:
        """Start a process unless there are as many as can be busy, and one more."""
        if len(self._processes) < self._most_processes:
            self._keep_task(self._start_process())

    async def _start_process(self) -> None:
        """Start a process; it is idle once it has loaded what it needs."""
        self._hiring += 1
        process = await asyncio.create_subprocess_exec(
            *python_command("shardwise.app.worker", str(self.settings.memory)), env=python_environment(),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LONGEST_LINE, start_new_session=True,
        )  # fmt: skip
        self._processes.add(process)
        assert process.stdout is not None
        ready = await process.stdout.readline()
        self._hiring -= 1
        if ready:
            await self._idle.put(process)
        else:
            await asyncio.sleep(1)
            self._replace_process(process)

    def _replace_process(self, process: asyncio.subprocess.Process) -> None:
        """Forget a process that has ended, and start another."""
        self._processes.discard(process)
        self._keep_task(self._start_process())

    def submit_entry(self, entry: Entry, lane: str = RUN) -> None:
        """Put an analysis at the end of a queue: to be read, to be answered, or for its error rates."""
        job = Job(entry.id, entry.kind if lane == RUN else lane, lane)
        states = {READ: {"state": Stage.reading}, RUN: {"state": Stage.queued}, TRUST: {}}
        self.store.update_entry(entry.id, message="", **states[lane])
        self._jobs[entry.id] = job
        self._waiting[lane].append(job)
        self._news[lane].set()
        for listener in self._listeners.get(entry.id, ()):
            listener.set()

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
                self._waiting[job.lane].remove(job)
            self._end_job(job, **_describe_end(job, {}))

    def describe_progress(self, id: str) -> dict[str, Any]:
        """Return what is being done, how much of it of how much, how many wait before it, and when some came last."""
        job = self._jobs.get(id)
        if job is None:
            return {}
        waiting = self._waiting[job.lane]
        ahead = waiting.index(job) if job in waiting else 0
        some = self.store.entry_folder(id) / "partial.json"
        seen = some.stat().st_mtime if some.is_file() else 0
        return {**job.told, "lane": job.lane, "ahead": ahead, "partial": seen}

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
                if not entry.moving and id not in self._jobs:
                    return
                with suppress(TimeoutError):  # a word now and then keeps the line open
                    await asyncio.wait_for(news.wait(), 15)
                news.clear()
        finally:
            self._listeners[id].discard(news)
            if not self._listeners[id]:
                del self._listeners[id]

    async def _work_in_turn(self, lane: str) -> None:
        """Work on one analysis after the other."""
        while True:
            while not self._waiting[lane]:
                self._news[lane].clear()
                await self._news[lane].wait()
            process = await self._find_process()
            if process.returncode is not None:  # killed from outside
                self._replace_process(process)
                continue
            if not self._waiting[lane]:  # taken out meanwhile
                self._idle.put_nowait(process)
                continue
            await self._work_on_job(self._waiting[lane].popleft(), process)

    async def _work_on_job(self, job: Job, process: asyncio.subprocess.Process) -> None:
        entry = self.store.find_entry(job.id)
        assert entry is not None
        assert process.stdin is not None
        assert process.stdout is not None
        job.process = process
        order = {
            "folder": str(self.store.entry_folder(job.id).absolute()),
            "kind": job.kind,
            "choices": entry.choices,
            "limits": [self.settings.limit, self.settings.files],
        }
        ended: dict[str, Any] = {}
        taken = False
        with suppress(ConnectionError):
            process.stdin.write(json.dumps(order).encode() + b"\n")
            await process.stdin.drain()
            while line := await process.stdout.readline():
                message = json.loads(line)
                if job.lane == RUN and not taken:
                    self.store.update_entry(job.id, state=Stage.running)
                taken = True
                if "end" in message:
                    ended = message
                    break
                job.told = message
                for listener in self._listeners.get(job.id, ()):
                    listener.set()
        # a process that simulated gave way to all others, and cannot take that back
        if ended and not job.cancelled and job.lane != TRUST:
            self._idle.put_nowait(process)
        else:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            self._replace_process(process)
        # a process that died while it was idle has done nothing: another takes the job
        if not taken and not job.cancelled and job.lost < self._most_processes:
            job.process, job.lost = None, job.lost + 1
            self._waiting[job.lane].appendleft(job)
            return
        self._end_job(job, **_describe_end(job, ended))
        # a spare one is loaded now that nobody waits for this answer: the simulation may take the one that is idle
        if job.lane == RUN and self._idle.qsize() + self._hiring < 2:
            self._hire_process()
        if job.lane == RUN and ended.get("simulate") and not job.cancelled:
            self.submit_entry(entry, TRUST)

    def _end_job(self, job: Job, **fields: Any) -> None:
        del self._jobs[job.id]
        if fields:
            self.store.update_entry(job.id, **fields)
        for listener in self._listeners.get(job.id, ()):
            listener.set()


def _describe_end(job: Job, ended: Mapping[str, Any]) -> dict[str, Any]:
    """What the index says of an analysis once a job has ended; an answer stays, whatever becomes of its error rates."""
    done = ended.get("end") == "done"
    if job.lane == TRUST:
        return {} if done or job.cancelled else {"message": ended.get("message", CRASHED)}
    if done:
        return {
            "state": Stage.ready if job.lane == READ else Stage.done,
            "title": ended["title"],
            "message": "",
        }
    if job.cancelled:
        return {"state": Stage.cancelled, "message": ""}
    return {"state": Stage.failed, "message": ended.get("message", CRASHED)}
