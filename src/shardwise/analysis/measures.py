"""Several measures of the same systems: the first leads, the others stand beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shardwise.analysis.analysis import Analysis, ClaimResult, Family
from shardwise.core.arrays import Floats
from shardwise.core.errors import Either, InputError
from shardwise.core.libraries import pd
from shardwise.methods.moderated.method import ResampledDistribution, resample_together
from shardwise.methods.pairs import JOINT, JointDraws
from shardwise.stats.slices import adjust_across


def correct_measures(analyses: Sequence[Analysis]) -> list[Analysis]:
    """Return analyses of the same systems whose pairs, those of all measures, are one family for each claim."""
    remedy = Either("name several measures", "add another --measure")
    if len(analyses) < 2:
        raise InputError("joint has no effect with one measure", remedy=remedy, argument="joint")
    if any(analysis.slices is not None for analysis in analyses):
        raise InputError("joint has no effect on slices", remedy="leave out one of the two", argument="joint")
    keys = [claim.key for claim in analyses[0].claims]
    if any([claim.key for claim in analysis.claims] != keys for analysis in analyses):
        raise InputError(
            "the measures support different claims",
            remedy=Either("compare them one by one", "remove --joint"),
            argument="joint",
        )
    # topics that are resampled together must be the same ones
    aligned = len({analysis.analysed.topics for analysis in analyses}) == 1
    columns = [
        correct_jointly([analysis.claims[k] for analysis in analyses], aligned) for k in range(len(keys))
    ]
    return [
        replace(analysis, claims=claims)
        for analysis, claims in zip(analyses, zip(*columns, strict=True), strict=True)
    ]


def correct_jointly(results: Sequence[ClaimResult], aligned: bool) -> list[ClaimResult]:
    """Return what measures say of one claim with p-values and intervals that hold for the pairs of all of them.

    The default method steps down over all pairs in the same resamples of topics; others step over measures by Holm.
    """
    for result in results:
        if result.pairs.error_rate != "family":
            raise InputError(
                f"{result.procedure.name} does not control the family-wise error",
                remedy="choose a correction that does, such as holm",
                argument="joint",
            )
    units = [unit for result in results if (unit := result.pairs.pairs.resampled) is not None]
    alike = len({(int(unit.key), unit.n_resamples, len(unit.scores)) for unit in units}) == 1
    if not (aligned and alike and len(units) == len(results)):
        stepped = adjust_across(np.array([result.pairs.p_adjusted for result in results]))
        return [_replace_draws(result, results, p, None) for result, p in zip(results, stepped, strict=True)]
    tables = [
        (unit.scores, *result.locate_systems(result.pairs.names), result.pairs.statistic / unit.care)
        for unit, result in zip(units, results, strict=True)
    ]
    drawn = resample_together(tables, units[0].key, units[0].n_resamples)
    parts = np.split(drawn.p_adjusted, np.cumsum([len(result.pairs) for result in results])[:-1])
    return [_replace_draws(result, results, p, drawn) for result, p in zip(results, parts, strict=True)]


def _replace_draws(
    result: ClaimResult, results: Sequence[ClaimResult], p: Floats, drawn: ResampledDistribution | None
) -> ClaimResult:
    """Return a result with the p-values and the intervals of all results together."""
    before, many = result.pairs.pairs, len(results)
    unit = before.resampled

    def half_width(alpha: float) -> Floats:
        """Bonferroni's over measures where they are not resampled together."""
        if drawn is None or unit is None:
            return before.half_widths(alpha / many)
        return np.where(before.se == 0.0, 0.0, before.se * drawn.critical(alpha) * unit.care)

    p_adjusted, single = np.maximum(np.broadcast_to(p, before.p.shape), before.least_p), before.single_p
    draws = JointDraws(lambda: p_adjusted, half_width, lambda: single)
    pairs = replace(before, draws=draws, correction=JOINT, p_adjusted=p_adjusted)
    family = Family(many, sum(len(each.pairs) for each in results), drawn is not None)
    return replace(result, pairs=replace(result.pairs, pairs=pairs), family=family)


def tabulate_measures(analysis: Analysis) -> pd.DataFrame:
    """Return the systems by each measure: `measure, system, mean, lower, upper, verdict`, as of `Slices.means`.

    Parameters
    ----------
    analysis : Analysis
        An analysis of one measure or several.

    Returns
    -------
    DataFrame
        One row a measure and system, the systems in the order of the analysis.
    """
    names = analysis.systems
    frames = []
    for each in analysis.each:
        frame = (
            each.lead.intervals.loc[list(names)]
            .rename(columns={"estimate": "mean"})
            .reset_index(names="system")
        )
        frame.insert(0, "measure", each.measure)
        frames.append(frame.assign(verdict=each.lead.judge_systems(names, analysis.baselines)))
    return pd.concat(frames, ignore_index=True)


def find_unbeaten(analysis: Analysis) -> tuple[str, ...]:
    """Return the systems that none beats significantly on both of a benefit and a cost; empty without all pairs.

    Parameters
    ----------
    analysis : Analysis
        An analysis of two measures.

    Returns
    -------
    tuple of str
        Names, in the order of the analysis.
    """
    directions = {each.comparisons.lower_is_better for each in analysis.each}
    if len(analysis.each) != 2 or len(directions) != 2 or not analysis.comparisons.complete:
        return ()
    names = analysis.systems
    wins = [each.lead.direction_matrix(names) > 0 for each in analysis.each]
    beaten = np.any(wins[0] & wins[1], axis=0)
    return tuple(names[k] for k in np.flatnonzero(~beaten))
