"""Who does the long work of a grid: processes of this machine, or the cluster that CLUSTER names.

CLUSTER=tcp://scheduler:8786 python -m bench.moderated_grid   # workers need shardwise and this folder
JOBS=8 python -m bench.moderated_grid
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager

from shardwise.cli.cluster import on_cluster


@contextmanager
def crew() -> Iterator[Executor]:
    """An executor; figures depend on their numbers alone, not on it."""
    with on_cluster(os.environ.get("CLUSTER")) as far:
        if far is not None:
            yield far
            return
        with ProcessPoolExecutor(int(os.environ.get("JOBS", "2"))) as near:
            yield near
