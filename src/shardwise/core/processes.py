"""Python processes that we start: none looks for modules in the current folder, which may hold a stranger's files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from shardwise.core.errors import InputError
from shardwise.core.extras import import_if_there

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


resource = import_if_there("resource")

# of winnt.h: kinds of limits of a job object, and the number of the structure that holds them
_PROCESS_TIME, _PROCESS_MEMORY, _EXTENDED = 0x2, 0x100, 9


LEAST_SPACE = 10**9
"""Bytes of address space in which numpy, pandas and Arrow can be loaded and a small table compared."""


def read_space_limit() -> int | None:
    """Return the bytes of address space that this process may use (``ulimit -v``), None where there is no limit."""
    if resource is None:
        return None
    limit: int = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def fit_address_space() -> None:
    """Refuse a limit of address space that is too small, and let linear algebra start no more threads than fit.

    To be called before numpy is loaded, which fails in many ways where memory is short, or waits for ever.
    """
    limit = read_space_limit()
    if limit is None:
        return
    if limit < LEAST_SPACE:
        raise InputError(
            f"the limit of {limit // 10**6:,} MB of virtual memory is too small to load numpy and pandas",
            remedy="allow 1 GB or more, as with ulimit -v 1000000",
        )
    # each thread sets aside tens of megabytes for its products and its stack
    if limit // LEAST_SPACE < (os.cpu_count() or 1):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", str(limit // LEAST_SPACE))


def limit_processor(seconds: int) -> None:
    """End this process once it has used so many seconds of a processor."""
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    elif os.name == "nt":
        # in steps of 100 ns
        _limit_job(seconds=seconds * 10_000_000)


def limit_memory(more: int) -> None:
    """Let allocations fail that go beyond what this process holds now by more than so many bytes."""
    held = _held_memory()
    if resource is not None and held is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (held + more, held + more))
    elif os.name == "nt":
        _limit_job(memory=(held or 0) + more)


def _held_memory() -> int | None:
    """Bytes that this process has set aside, where the system tells."""
    try:
        with open("/proc/self/status") as status:
            lines = status.read().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmData:")), None)


def _limit_job(seconds: int = 0, memory: int = 0) -> None:
    """Put this process into a job object of Windows with these limits; 0 for none."""
    import ctypes
    from ctypes import wintypes

    class BasicLimits(ctypes.Structure):
        """JOBOBJECT_BASIC_LIMIT_INFORMATION."""

        _fields_ = (
            ("PerProcessUserTimeLimit", wintypes.LARGE_INTEGER),
            ("PerJobUserTimeLimit", wintypes.LARGE_INTEGER),
            ("LimitFlags", wintypes.DWORD),
            ("MinimumWorkingSetSize", ctypes.c_size_t),
            ("MaximumWorkingSetSize", ctypes.c_size_t),
            ("ActiveProcessLimit", wintypes.DWORD),
            ("Affinity", ctypes.c_size_t),
            ("PriorityClass", wintypes.DWORD),
            ("SchedulingClass", wintypes.DWORD),
        )

    class ExtendedLimits(ctypes.Structure):
        """JOBOBJECT_EXTENDED_LIMIT_INFORMATION; the counters of input and output are not used."""

        _fields_ = (
            ("BasicLimitInformation", BasicLimits),
            ("IoInfo", ctypes.c_ulonglong * 6),
            ("ProcessMemoryLimit", ctypes.c_size_t),
            ("JobMemoryLimit", ctypes.c_size_t),
            ("PeakProcessMemoryUsed", ctypes.c_size_t),
            ("PeakJobMemoryUsed", ctypes.c_size_t),
        )

    limits: Any = ExtendedLimits()
    limits.BasicLimitInformation.PerProcessUserTimeLimit = seconds
    limits.BasicLimitInformation.LimitFlags = (_PROCESS_TIME if seconds else 0) | (
        _PROCESS_MEMORY if memory else 0
    )
    limits.ProcessMemoryLimit = memory
    kernel: Any = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]
    kernel.CreateJobObjectW.restype = kernel.GetCurrentProcess.restype = wintypes.HANDLE
    job = wintypes.HANDLE(kernel.CreateJobObjectW(None, None))
    process = wintypes.HANDLE(kernel.GetCurrentProcess())
    # a system that refuses goes without, as those do that have no limits
    if kernel.SetInformationJobObject(job, _EXTENDED, ctypes.byref(limits), ctypes.sizeof(limits)):
        kernel.AssignProcessToJobObject(job, process)
