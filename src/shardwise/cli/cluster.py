"""Long work on other processes and machines: an executor of dask.distributed."""

from __future__ import annotations

import errno
import ipaddress
import logging
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from shardwise.core.arguments import count_processors
from shardwise.core.errors import InputError
from shardwise.core.extras import import_extra
from shardwise.core.processes import protect_children
from shardwise.io.tables.sheet import first_line

LOCAL = "local"
INSECURE = "insecure+"
"""Before an address: allows a scheduler on another machine without encryption."""
ENCRYPTED = ("tls", "wss", "inproc")
"""Schemes of addresses that nobody can listen to or join without a certificate."""
WAIT = 10  # seconds for a scheduler to answer
PARTING = 3  # seconds for it to hear that nobody needs it any more
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what a full disk says
LOUD = ("distributed", "distributed.client", "distributed.utils", "tornado.application", "asyncio")


def refuse_unencrypted(address: str) -> str:
    """Return the address of a scheduler, or refuse one on another machine that is not encrypted.

    A scheduler and its workers run whatever code they are sent, by whoever can reach them.

    Parameters
    ----------
    address : str
        As given to ``--jobs``.

    Returns
    -------
    str
        The address without the mark that allows an unencrypted connection.

    >>> refuse_unencrypted("tcp://127.0.0.1:8786"), refuse_unencrypted("insecure+tcp://10.0.0.5:8786")
    ('tcp://127.0.0.1:8786', 'tcp://10.0.0.5:8786')
    """
    if address.startswith(INSECURE):
        return address.removeprefix(INSECURE)
    scheme, mark, rest = address.rpartition("://")
    if address == LOCAL or scheme in ENCRYPTED or is_loopback(rest.rpartition(":")[0] or rest):
        return address
    raise InputError(
        f"{address} is another machine, and the connection is not encrypted",
        remedy=f"use tls://{rest}, or {INSECURE}{scheme + mark or 'tcp://'}{rest} on a network that you trust",
        argument="jobs",
        value=address,
    )


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine.

    Parameters
    ----------
    host : str
        Name or address, brackets around IPv6 allowed.

    Returns
    -------
    bool
        False for names other than localhost.

    >>> is_loopback("localhost"), is_loopback("[::1]"), is_loopback("scheduler")
    (True, True, False)
    """
    with suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host == "localhost"


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
    address = refuse_unencrypted(address)
    _, distributed = import_extra("cluster")
    for name in LOUD:  # their stacks of calls say less than our line
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with ExitStack() as held:
        try:
            if address == LOCAL:
                held.enter_context(protect_children())
                cluster = distributed.LocalCluster(
                    n_workers=count_processors(),
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
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
                    remedy="check the space left for temporary files, or remove --jobs",
                ) from None
            raise InputError(
                f"no cluster answers at {address} ({type(error).__name__})",
                remedy="start a scheduler there, or use --jobs local",
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
