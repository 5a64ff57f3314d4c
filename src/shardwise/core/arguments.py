"""Arguments that many functions share, checked in one place and with one meaning."""

from __future__ import annotations

import math
import os
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

from shardwise.core.errors import InputError, Option, refuse_unknown
from shardwise.core.processes import protect_children

Progress = Callable[[int, int], None]  # done, of how many
Task = TypeVar("Task")
Result = TypeVar("Result")

PATIENCE = 0.2  # seconds
CGROUP = Path("/sys/fs/cgroup")
CHUNKS = 64  # parts that work is cut into for an executor, of whose workers nobody says how many there are


BETWEEN = {"alpha": (0.0, 0.5), "level": (0.5, 1.0)}
"""What a level of significance and a level of confidence lie between; other probabilities between 0 and 1."""


def validate_level(value: float, name: str = "alpha") -> float:
    """Return a probability within its limits: alpha below 0.5, a confidence level above it; or refuse it.

    >>> validate_level(0.05), validate_level(0.3, "power")
    (0.05, 0.3)
    >>> validate_level(5)
    Traceback (most recent call last):
    ...
    shardwise.core.errors.InputError: alpha 5 is not between 0 and 0.5; did you mean 0.05?
    >>> validate_level(0.05, "level")
    Traceback (most recent call last):
    ...
    shardwise.core.errors.InputError: level 0.05 is not between 0.5 and 1; did you mean 0.95?
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    low, high = BETWEEN.get(name, (0.0, 1.0))
    if not low < number < high:
        # the level that was probably meant: a hundredth of percent, or what is left to 1
        share = number / 100.0 if 1.0 < number < 100.0 else number
        meant = next((x for x in (share, 1.0 - share) if low < x < high), None)
        if meant is not None and not 0.25 < meant < 0.75:
            remedy = f"did you mean {meant:.6g}?"
        else:
            remedy = "write 0.05 for 5%" if name == "alpha" else "write 0.95 for 95%"
        raise InputError(
            f"{name} {value:g} is not between {low:g} and {high:g}"
            if math.isfinite(number)
            else f"{value!r} is not a level",
            remedy=remedy,
            argument=name,
            value=value,
        )
    return number


def resolve_alpha(alpha: float | None, level: float | None) -> float:
    """Return the level of significance, from alpha or from the level 1 - alpha of intervals; 0.05 without either.

    >>> resolve_alpha(None, 0.9), resolve_alpha(None, None)
    (0.1, 0.05)
    """
    if alpha is not None and level is not None:
        raise InputError("alpha and level are both given", remedy="leave one out", argument="level")
    if level is not None:
        # 1 - 0.9 is less than 0.1 as numbers go
        return round(1.0 - validate_level(level, "level"), 12)
    return validate_level(0.05 if alpha is None else alpha)


def validate_count(value: Any, name: str, *, least: int = 1, what: str = "") -> int:
    """Return a whole number of at least ``least``, or refuse it; 2.5 is not taken for 2.

    >>> validate_count(3, "n_shards")
    3
    >>> validate_count(2.5, "n_shards", what="shards")
    Traceback (most recent call last):
    ...
    shardwise.core.errors.InputError: 2.5 shards: give a whole number, 1 or more
    """
    try:
        number = int(value)
        fits = number == value and not isinstance(value, bool) and number >= least
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise InputError(
            f"{value} {what or name}: give a whole number, {least} or more", argument=name, value=value
        )
    return number


def validate_choice(value: Any, name: str, choices: Iterable[Any], *, what: str = "") -> Any:
    """Return a value that is one of the choices, or refuse it."""
    known = tuple(choices)
    if value not in known:
        raise refuse_unknown(name, value, known, what=what)
    return value


def count_processors() -> int:
    """Return how many processors this process may use: those of its affinity, at most the quota of its cgroup."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _read_quota()
    return max(1, min(count, math.ceil(quota)) if quota is not None else count)


def _read_quota() -> float | None:
    """Read how many processors the cgroup grants, None where it sets no limit."""
    try:
        if (CGROUP / "cpu.max").is_file():
            granted, period = (CGROUP / "cpu.max").read_text().split()[:2]
        else:
            granted = (CGROUP / "cpu" / "cpu.cfs_quota_us").read_text().strip()
            period = (CGROUP / "cpu" / "cpu.cfs_period_us").read_text().strip()
        share = float(granted) / float(period)
    except (OSError, ValueError, ZeroDivisionError):  # "max", or no cgroup at all
        return None
    return share if share > 0 else None


def count_workers(jobs: int | None) -> int:
    """Return the number of workers that ``jobs`` asks for: None for all processors there are, else 1 or more."""
    return count_processors() if jobs is None else validate_count(jobs, "jobs")


def map_parallel(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    steps: Callable[[Task], int] = lambda task: 1,
    ahead: int | None = None,
) -> Iterator[Result]:
    """Yield the results of tasks in their order, from threads of this process or from the executor given.

    ``steps`` says how many steps a task counts for ``progress``. An executor of processes or machines needs a work
    function at module level. ``ahead`` is how many results may wait until they are taken; None for all of them.

    >>> list(map_parallel(abs, [-1, 2, -3], jobs=2))
    [1, 2, 3]
    """
    total, done = sum(map(steps, tasks)), 0
    pool = executor or _start_threads(min(count_workers(jobs), len(tasks)))
    results = map(work, tasks) if pool is None else _run_ahead(pool, work, iter(tasks), ahead or len(tasks))
    try:
        for task in tasks:
            result = next(results)
            done += steps(task)
            if progress is not None:
                progress(done, total)
            yield result
            del result  # whoever takes one need not hold it until the next is there
    finally:
        if pool is not None and executor is None:
            # who was interrupted need not wait for what is under way
            pool.shutdown(wait=False, cancel_futures=True)


def _run_ahead(
    pool: Executor, work: Callable[[Task], Result], tasks: Iterator[Task], ahead: int
) -> Iterator[Result]:
    """Yield the results of tasks in their order, while a pool works on so many of them.

    What the making of a task raises is heard after the results of those before it.
    """
    coming, failed = deque[Future[Result]](), None
    threads = isinstance(pool, ThreadPoolExecutor)
    work = work if threads else _pickle_work(work)
    try:
        while coming or failed is None:
            try:
                # an executor of processes starts them as work is submitted
                with nullcontext() if threads else protect_children():
                    while failed is None and len(coming) < ahead:
                        coming.append(pool.submit(work, next(tasks)))
            except Exception as error:  # StopIteration, too
                failed = error
            if coming:
                yield _await_result(coming.popleft())
        if not isinstance(failed, StopIteration):
            raise failed
    finally:
        for future in coming:
            future.cancel()


def _start_threads(count: int) -> ThreadPoolExecutor | None:
    """Return so many threads; None for fewer than two, and where no thread can be started."""
    if count < 2:
        return None
    pool = ThreadPoolExecutor(count)
    try:
        pool.submit(int)
    except RuntimeError:
        pool.shutdown(wait=False, cancel_futures=True)
        return None
    return pool


@dataclass(frozen=True, slots=True)
class _PickledWork:
    """A work function that was pickled once for all its tasks, and is unpacked once in each process.

    Its arrays may be written to: those that Dask hands out itself are read-only.
    """

    content: bytes

    def __call__(self, task: Any) -> Any:
        return _unpickle_work(self.content)(task)


@lru_cache(maxsize=2)
def _unpickle_work(content: bytes) -> Callable[[Any], Any]:
    work: Callable[[Any], Any] = pickle.loads(content)
    return work


def _pickle_work(work: Callable[[Task], Result]) -> Callable[[Task], Result]:
    """Pickle a work function for other processes; one that only an executor's own pickler can handle is left to it."""
    content = BytesIO()
    try:
        pickle.Pickler(content, protocol=5).dump(work)
    except (pickle.PicklingError, AttributeError, TypeError):
        return work
    return work if b"__main__" in content.getvalue() else _PickledWork(content.getvalue())


def count_parallel_tasks(executor: Executor) -> int:
    """Estimate how many tasks an executor works on at the same time.

    >>> count_parallel_tasks(ThreadPoolExecutor(7))
    7
    """
    known = getattr(executor, "_max_workers", None)
    if known is None and (client := getattr(executor, "_client", None)) is not None:  # of dask.distributed
        known = sum(client.nthreads().values())
    return max(int(known or 0), count_processors())


def stream_results(
    work: Callable[[Task], Result], tasks: Iterator[Task], *, jobs: int | None = None
) -> Iterator[Result]:
    """Yield the results of tasks in their order; threads work while the next tasks are being made, few of them ahead.

    >>> list(stream_results(abs, iter([-1, 2, -3]), jobs=2))
    [1, 2, 3]
    """
    count = count_workers(jobs)
    pool = _start_threads(count)
    try:
        yield from map(work, tasks) if pool is None else _run_ahead(pool, work, tasks, count + 1)
    finally:
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)


@dataclass
class _Loan:
    """An executor for all draws of a call, and whether any took it."""

    executor: Executor
    taken: bool = False


_LOAN: ContextVar[_Loan | None] = ContextVar("loan", default=None)


@contextmanager
def lend_executor(executor: Executor | None) -> Iterator[None]:
    """Lend an executor to whatever draws within, however deep; refuse it where nothing did.

    Results hold no executor: what they draw later, when it may be closed, is drawn here, with the same figures.
    """
    if executor is None:
        yield
        return
    loan = _Loan(executor)
    token = _LOAN.set(loan)
    try:
        yield
    finally:
        _LOAN.reset(token)
    if not loan.taken:
        raise InputError(
            (Option("executor"), " has no effect here: no resampling takes long enough to be distributed"),
            remedy="remove it",
            argument="executor",
        )


def borrow_executor() -> Executor | None:
    """Return the executor that was lent to this call, if any."""
    loan = _LOAN.get()
    if loan is None:
        return None
    loan.taken = True
    return loan.executor


def _await_result(future: Future[Result]) -> Result:
    """Return the result of a future, in short waits, so that an interrupt is heard."""
    while not future.done():
        wait([future], timeout=PATIENCE)
    try:
        return future.result()
    except BrokenExecutor:
        raise InputError(
            "a worker of the executor died",
            remedy="give them more memory, and call again with a new executor: the figures do not depend on it",
            argument="executor",
        ) from None
