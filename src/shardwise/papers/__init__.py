"""The experiments of five papers on other data: verdicts on their claims, every table and figure beside print."""

from __future__ import annotations

from shardwise.papers.exhibit import Exhibit as Exhibit
from shardwise.papers.exhibit import PaperClaim as PaperClaim
from shardwise.papers.exhibit import Replication as Replication
from shardwise.papers.experiment import PaperExperiment as PaperExperiment
from shardwise.papers.f19_shards import F19 as F19
from shardwise.papers.f19_shards import f19 as f19

__all__ = ["F19", "Exhibit", "PaperClaim", "PaperExperiment", "Replication", "f19"]
