"""Run the classic methods on the data of an analysis, for reviewers who ask for them."""

from __future__ import annotations

from shardwise.analysis.analysis import Analysis, ClaimResult
from shardwise.comparing.run import run_procedure
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.scores import HUMAN, layout_of
from shardwise.methods.names import parse_procedure
from shardwise.methods.tables import SHARDS, TABLE

CLASSIC = {
    TABLE: ("t bonferroni", "MD1 hsd topic"),
    SHARDS: ("t bonferroni", "MD6 hsd topic"),
}
"""t-tests with Bonferroni's correction and Tukey's HSD for new topics, by layout."""
MOST_PAIRS = 50_000
"""Pairs beyond which they are not run again."""


def compare_classic(analysis: Analysis) -> tuple[ClaimResult, ...]:
    """Compare all pairs by t-tests with Bonferroni's correction and by Tukey's HSD.

    Parameters
    ----------
    analysis : Analysis
        An analysis of all pairs whose claim is about new topics.

    Returns
    -------
    tuple of ClaimResult
        Empty where the classic methods do not apply: other claims, baselines, people's scores, two systems.
    """
    lead, table = analysis.lead, analysis.analysed
    if "split" in table.dims:
        table = table.mean("split", keep_attrs=True)
    names = CLASSIC.get(layout_of(table), ())
    applies = lead.procedure.claim == Claim("topic") and lead.pairs.complete
    if not applies or HUMAN in table.coords or not 1 < len(lead.pairs) <= MOST_PAIRS:
        return ()
    results = []
    for name in names:
        procedure = parse_procedure(name)
        try:
            pairs = run_procedure(procedure, table, only=analysis.systems)
        except InputError:
            # a gap that a classic method cannot take
            continue
        results.append(
            ClaimResult(
                key="like", procedure=procedure, pairs=pairs, alpha=analysis.alpha, order=analysis.systems
            )
        )
    return tuple(results)
