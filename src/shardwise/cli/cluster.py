"""Long work on other processes and machines: an executor of dask.distributed."""

from __future__ import annotations

import errno
import logging
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

from shardwise.core.arguments import count_processors
from shardwise.core.errors import InputError
from shardwise.io.tables.sheet import first_line

LOCAL = "local"
WAIT = 10  # seconds for a scheduler to answer
PARTING = 3  # seconds for it to hear that nobody needs it any more
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what a full disk says
LOUD = ("distributed", "distributed.client", "distributed.utils", "tornado.application", "asyncio")


@contextmanager
def on_cluster(
    address: str | None, quiet: bool = False, consequence: str = "nothing was written"
) -> Iterator[Executor | None]:
    """An executor of the cluster at an address, or of processes of this machine; None without an address.

    A worker that is lost costs time: its work is done again by others. Where the scheduler itself is lost, the same
    command does again what was not done, with the same figures; ``consequence`` says what that is.
    """
    if address is None:
        yield None
        return
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise InputError(
            "--cluster needs dask.distributed", remedy="install it: pip install 'shardwise[cluster]'"
        ) from None
    for name in LOUD:  # their stacks of calls say less than our line
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with ExitStack() as held:
        try:
            if address == LOCAL:
                cluster = distributed.LocalCluster(
                    n_workers=count_processors(),
                    threads_per_worker=1,
                    dashboard_address=":0",
                    silence_logs=logging.ERROR,
                )
                client = distributed.Client(held.enter_context(cluster))
            else:
                client = distributed.Client(address, timeout=WAIT)
            held.callback(_close_quietly, client)
        except (OSError, ValueError, TimeoutError, RuntimeError) as error:
            if address == LOCAL:
                raise InputError(
                    f"no workers could be started here ({first_line(error)})",
                    remedy="check the space left for temporary files, or remove --cluster",
                ) from None
            raise InputError(
                f"no cluster answers at {address} ({type(error).__name__})",
                remedy="start a scheduler there, or use --cluster local",
            ) from None
        if not quiet:
            sys.stderr.write(f"dashboard: {client.dashboard_link}\n")
        try:
            yield client.get_executor(pure=False)
        except InputError:
            raise
        except Exception as error:  # what a lost scheduler raises depends on what was being done
            if isinstance(error, OSError) and error.errno in FULL:
                raise InputError(
                    f"a worker of the cluster cannot write ({error.strerror})",
                    remedy=f"free its disk or leave it out, and repeat the command: {consequence}",
                ) from None
            if type(error).__name__ == "KilledWorker":
                raise InputError(
                    "several workers of the cluster died at the same task",
                    remedy=f"give them more memory, and repeat the command: {consequence}",
                ) from None
            if client.status == "running" and not isinstance(error, CancelledError):
                raise
            raise InputError(
                "the connection to the cluster was lost",
                remedy=f"start it and repeat the command: {consequence}",
            ) from None


def _close_quietly(client: Any) -> None:
    """Close what may be lost already: its complaints would hide what is said of the loss."""
    try:
        client.close(timeout=PARTING)
    except Exception:
        client.status = "closed"  # or else it is closed once more when it is collected, and complains then
