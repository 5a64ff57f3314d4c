"""Many splits of the documents: one conclusion from all of them, and how far they agree."""

from __future__ import annotations

from shardwise.comparing.stability import Stability as Stability
from shardwise.comparing.stability import WithinAcross as WithinAcross
from shardwise.comparing.stability import agreement as agreement
from shardwise.comparing.stability import agreement_matrix as agreement_matrix
from shardwise.comparing.stability import agreement_over_splits as agreement_over_splits
from shardwise.comparing.stability import combined_p as combined_p
from shardwise.comparing.stability import found_over_splits as found_over_splits
from shardwise.comparing.stability import majority as majority
from shardwise.comparing.stability import over_splits as over_splits
from shardwise.comparing.stability import split_noise as split_noise
from shardwise.comparing.stability import stability as between_splits
from shardwise.comparing.stability import stability_of as between
from shardwise.comparing.stability import stability_of_fills as between_fills
from shardwise.comparing.stability import stability_of_methods as between_methods
from shardwise.comparing.stability import summary_over_splits as summary_over_splits
from shardwise.comparing.stability import unanimous as unanimous
from shardwise.comparing.stability import voorhees_bh as voorhees_bh
from shardwise.comparing.stability import within_across as within_across

__all__ = [
    "Stability",
    "WithinAcross",
    "agreement",
    "agreement_matrix",
    "agreement_over_splits",
    "between",
    "between_fills",
    "between_methods",
    "between_splits",
    "combined_p",
    "found_over_splits",
    "majority",
    "over_splits",
    "split_noise",
    "summary_over_splits",
    "unanimous",
    "voorhees_bh",
    "within_across",
]
