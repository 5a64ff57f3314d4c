"""A small cluster for the tests, within their own process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import distributed


@contextmanager
def small_cluster() -> Iterator[str]:
    """Address of a scheduler with one worker, on the loopback and without a dashboard."""
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address=None,
    ) as made:
        yield made.scheduler_address
