"""Does it hold on other topics? Checks on held-out topics and on other collections."""

from __future__ import annotations

from shardwise.lab.holdout import PredictiveCheck as PredictiveCheck
from shardwise.lab.holdout import across_collections as across_collections
from shardwise.lab.holdout import split_half as split_half

__all__ = [
    "PredictiveCheck",
    "across_collections",
    "split_half",
]
