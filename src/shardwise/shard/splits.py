"""Document -> shard, several times over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shardwise.arrays import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """Several ways to divide the documents of a collection into shards, one row a split."""

    shards: npt.NDArray[np.int16]  # (n_splits, n_docs): shard number of each document code
    n_shards: int
    kind: str
    seed: int
    sizes: (
        Ints  # (n_splits, n_shards): documents of the whole corpus in each shard, where known, else seen ones
    )
    labels: tuple[str, ...]  # name of each shard

    @property
    def n_splits(self) -> int:
        """Number of splits."""
        return len(self.shards)
