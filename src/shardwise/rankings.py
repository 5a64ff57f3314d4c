"""How alike two rankings of systems are, and how sharply a measure tells systems apart."""

from __future__ import annotations

from shardwise.comparing.rankings import RankFit as RankFit
from shardwise.comparing.rankings import discriminative_power as discriminative_power
from shardwise.comparing.rankings import kendall_tau as kendall_tau
from shardwise.comparing.rankings import rank_systems as rank_systems
from shardwise.comparing.rankings import share_significant as share_significant
from shardwise.comparing.rankings import tau_ap as tau_ap

__all__ = [
    "RankFit",
    "discriminative_power",
    "kendall_tau",
    "rank_systems",
    "share_significant",
    "tau_ap",
]
