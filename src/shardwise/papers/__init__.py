"""The experiments of five papers on anybody's data: every table and figure, with what was printed beside it."""

from __future__ import annotations

from shardwise.papers.exhibit import Exhibit as Exhibit
from shardwise.papers.exhibit import Replication as Replication
from shardwise.papers.f19_shards import f19 as f19
from shardwise.papers.ff21_bootstrap import ff21 as ff21
from shardwise.papers.j15_instances import j15 as j15
from shardwise.papers.s14_topic_sets import s14 as s14
from shardwise.papers.v17_replicates import v17 as v17

__all__ = ["Exhibit", "Replication", "f19", "ff21", "j15", "s14", "v17"]
