"""How alike two rankings of systems are, and how sharply a measure tells systems apart."""

from __future__ import annotations

from shardwise.comparing.rankings import discriminative_power as discriminative_power
from shardwise.comparing.rankings import friedman_test as friedman_test
from shardwise.comparing.rankings import kendall_tau as kendall_tau
from shardwise.comparing.rankings import share_significant as share_significant
from shardwise.comparing.rankings import tau_ap as tau_ap

__all__ = [
    "discriminative_power",
    "friedman_test",
    "kendall_tau",
    "share_significant",
    "tau_ap",
]
