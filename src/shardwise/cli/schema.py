"""What commands write with ``--format json``: every field described once, and JSON Schemas made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shardwise.core.errors import InputError

VERSION = 1
SHARE = {"minimum": 0, "maximum": 1}
KINDS: dict[str, dict[str, Any]] = {
    "controlled": {"enum": ["family", "discovery", "pair"]},
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "flag": {"type": "boolean"},
    "integer": {"type": "integer"},
    "integer?": {"type": ["integer", "null"]},
    "number": {"type": "number"},
    "number?": {"type": ["number", "null"]},
    "numbers": {"type": "object", "additionalProperties": {"type": "number"}},
    "share": {"type": "number", **SHARE},
    "share?": {"type": ["number", "null"], **SHARE},
    "level": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
}
"""Kinds of values by the words that fields use; a question mark stands for null where there is none."""

Field = tuple[str, str]
"""Kind and description; a kind with bars lists the words that the field may have, one in brackets names a table."""

FIELDS: dict[str, Field] = {
    # Systems and pairs
    "system": ("text", "Name of the system."),
    "measure": ("text", "The measure; in rows where there are several."),
    "lower_is_better": (
        "flag",
        "Whether the best system is the one with the lowest mean, by the first measure.",
    ),
    "a": ("text", "The better system; with a baseline, the other system."),
    "b": ("text", "The other system, or the baseline."),
    "mean": ("number?", "Mean score."),
    "difference": ("number?", "Difference of the means, a − b."),
    "lower": ("number?", "Lower end of the confidence interval; null where the method has none."),
    "upper": ("number?", "Upper end of the confidence interval."),
    "se": ("number?", "Standard error of the difference; null where the method has none."),
    "df": ("number?", "Degrees of freedom; null where the method has none."),
    "statistic": ("number?", "Test statistic."),
    "p": ("share?", "p-value without correction."),
    "p_adjusted": ("share?", "p-value corrected for the number of comparisons."),
    "effect_size": ("number?", "Difference in standard deviations; null where the method has none."),
    "topic_effect_size": (
        "number?",
        "Difference in standard deviations of the differences by topic (J15 eq. 8).",
    ),
    "verdict": ("text", "Whether a is significantly better or worse than the baseline; in gate, the result."),
    "baseline": ("text", "The baseline, where there are several."),
    "group": (
        "text",
        "Letters; systems that share one do not differ significantly. Absent above twelve groups.",
    ),
    "rank": ("integer", "1 plus the number of systems with a higher mean."),
    "rank_best": ("integer", "Best rank that the system may have: 1 plus the number significantly better."),
    "rank_worst": (
        "integer",
        "Worst rank that it may have: the number of systems less those significantly worse.",
    ),
    "to_best": ("number", "Mean less that of the best system."),
    "top": ("flag", "Whether the system may be the best."),
    "near_best": (
        "flag",
        "With --margin: whether it is shown to be less than the margin worse than the best.",
    ),
    # Items
    "item": ("text", "Name of the item."),
    "task": ("text", "Task of the item."),
    "cluster": ("text", "Cluster of the item."),
    "score_a": ("number?", "Mean score of a on the item; null where it has none."),
    "score_b": ("number?", "Mean score of b on the item; null where it has none."),
    "outcome": ("win|tie|loss|missing", "Whether a is better on the item, worse, or neither."),
    "contribution": ("number?", "What the item adds to the difference of the means."),
    "carries_half": ("flag", "Whether it is among the fewest items that add up to half of the difference."),
    "outlier": ("flag", "Whether its difference is far from those of the other items."),
    "all_fail": ("flag", "Whether all systems have the lowest possible score on the item."),
    "all_solve": ("flag", "Whether all systems have the highest possible score on the item."),
    **{
        f"n_{name}": ("integer", f"Items that are {what}.")
        for name, what in (
            ("win", "wins of a"),
            ("tie", "ties"),
            ("loss", "losses of a"),
            ("missing", "missing for a or b"),
        )
    },
    # Margins
    **{
        f"{name}_{side}": (kind, f"{what} of the test that {claim}.")
        for side, claim in (
            ("both", "the two are equivalent"),
            ("lower", "b is not worse than a by the margin"),
            ("superior", "a is better by more than the margin"),
        )
        for name, kind, what in (
            ("lower", "number?", "Lower end of the interval"),
            ("upper", "number?", "Upper end of the interval"),
            ("p", "share?", "p-value"),
            ("p_adjusted", "share?", "Corrected p-value"),
        )
    },
    "holds": ("flag", "Whether the claim of --margin is shown; in paper, what the file holds."),
    "smallest_margin": ("number?", "Margin at which it just would be; for superior the largest one."),
    "probability": ("share", "Posterior probability of the claim, with :hpd after --margin."),
    **{
        f"probability_{name}": (
            "share",
            f"Share of the confidence distribution where a is {what} with --margin.",
        )
        for name, what in (
            ("better", "better by more than the margin,"),
            ("equal", "practically equal to b,"),
            ("worse", "worse by more than the margin,"),
        )
    },
    # Votes
    "win_rate": ("share", "Expected share of wins against the baseline, ties counting half; of votes."),
    "win_lower": ("share", "Lower end of the confidence interval of the win rate."),
    "win_upper": ("share", "Upper end of the confidence interval of the win rate."),
    # Contrasts
    "contrast": ("text", "Name of the contrast."),
    "estimate": ("number", "Mean of the first group less that of the second, or the weighted sum."),
    # Repeats
    "instance": ("text", "The repeat."),
    "instances": ("integer?", "Repeats of each system; null where no number is enough."),
    "median": ("number?", "Median p-value."),
    "share": ("number?", "Share of p-values below the level, or of the variance."),
    "component": ("text", "Source of variance."),
    "variance": ("number?", "Variance of a system's scores."),
    "sd": ("number?", "Standard deviation."),
    "setting": ("number", "Number in the name of the system."),
    "where": ("text", "Where the variances come from."),
    "smallest": ("number?", "Smallest setting that is not worse than the baseline."),
    # What holds for a whole result
    "procedure": ("text", "Name of the method, which --method takes; empty where it has none."),
    "method": ("text", "The method."),
    "claim": ("text", "What the result applies to."),
    "repeats": ("text", "What repeated scores were taken for; empty where there are none."),
    "answer": ("text", "The answer in a sentence or two."),
    "scope": ("text", "What the answer applies to, and the method."),
    "model": ("text", "The model."),
    "alpha": ("level", "Significance level; intervals have level 1 − alpha."),
    "margin": ("number", "Largest difference that does not matter."),
    "side": ("both|lower|superior", "What the margin is for."),
    "seed": ("integer", "Seed of all randomness."),
    "measures": ("texts", "The measures; further ones in leaderboard."),
    "baselines": ("texts", "Systems with which all others are compared."),
    "explained": ("texts", "What intervals and marks are."),
    "items": ("integer", "Number of items."),
    "dropped": ("integer", "Items left out for lack of a score."),
    "variance_components": ("numbers", "Variances of the random factors."),
    "anova": ("[anova]", "The ANOVA table."),
    "contrasts": ("[contrasts]", "Contrasts of groups of systems, with --contrast."),
    "claims": ("[claims]", "What the two results apply to."),
    # Splits
    "pairs": ("integer", "Number of pairs."),
    "least": ("number?", "Smallest value over splits."),
    "most": ("number?", "Largest value over splits."),
    "majority": ("integer", "Pairs that most splits find significant."),
    "unanimous": ("integer", "Pairs that all splits find significant."),
    "interval_width": ("number?", "Mean width of the intervals."),
    "significant": ("number?", "Significant pairs, the mean over splits."),
    "share_significant": ("share?", "Share of pairs that are significant."),
    "common": ("number?", "Pairs that all splits find significant."),
    "share_common": ("share?", "These, as a share of the mean number of significant pairs."),
    **{
        name: ("number?", f"Pairs of systems on which two splits {what}, the mean over pairs of splits.")
        for name, what in (
            ("AA", "find the same system better"),
            ("AD", "find opposite systems better"),
            ("PA", "find no difference"),
            ("PD", "differ, one of them finding a difference"),
        )
    },
    "PAA": ("share?", "Share of active agreement, 2 AA / (2 AA + PD)."),
    "PPA": ("share?", "Share of passive agreement, 2 PA / (2 PA + PD)."),
    "approach": ("text", "The approach: bootstrap or traditional ANOVA, with its correction."),
    "fill": ("text", "How undefined scores are filled."),
    # Files
    "folder": ("text", "Folder of the files."),
    "file": ("text", "Path of the file."),
    "runs": ("text", "Folder of the runs."),
    "qrels": ("text", "The qrels file."),
    # Gate
    "passes": ("flag", "Whether the new system passes: exit code 0, else 3."),
    "base": ("text", "The system in use."),
    "new": ("text", "The system that may replace it."),
    "mean_base": ("number", "Mean score of the system in use."),
    "mean_new": ("number", "Mean score of the new system."),
    "needed": (
        "number?",
        "Items at which equal systems would pass; null after a pass, or where none suffices.",
    ),
    "error_rate": (
        "share?",
        "Of a verdict, the probability that it is wrong (null if inconclusive); of a method, what it controls.",
    ),
    "units": ("integer", "Items or clusters counted at all interim looks."),
    "added": ("integer", "Items or clusters that are new at this look."),
    "threshold": ("number", "Evidence that a verdict takes."),
    "evidence_better": ("number", "Evidence that the new system is better."),
    "evidence_no_worse": ("number", "Evidence that its loss is below the margin."),
    "evidence_worse": ("number", "Evidence that it is worse."),
    # Plans
    "systems": ("integer", "Number of systems."),
    "topics": ("integer", "Number of topics."),
    "power": ("number?", "Power to reach, or with --topics the power reached."),
    "min_diff": (
        "number?",
        "Difference to detect: of any two systems, or in an F test between best and worst.",
    ),
    "min_diff_assured": ("number?", "The same with the power averaged over the uncertainty of the variance."),
    "min_diff_at_target": ("number", "With --topics: difference detected with the power to reach."),
    "target": ("number", "With --topics: power to reach."),
    "assurance": ("number", "With --topics: power averaged over the uncertainty of the variance."),
    "topics_assured": (
        "integer",
        "Topics needed if the power is averaged over the uncertainty of the variance.",
    ),
    "width": ("number?", "Expected width of the confidence interval of a difference."),
    "half_width": ("number?", "Half the width of the confidence interval."),
    "variances": ("numbers", "Variance of each measure."),
    "variance_method": ("text", "How the variance was estimated."),
    "detectable": ("number?", "Smallest difference that is detected with the power to reach."),
    "items_needed": (
        "integer?",
        "Items that would settle the closest tie with 80% power; null where no number does.",
    ),
    "cost": ("number", "Cost beyond what is there; the number of answers where no costs were given."),
    "answers": ("number", "Answers of systems to items that it takes."),
    "components": ("numbers", "Variances that the plan starts from."),
    "what": ("text", "What is added to the data: more items, more repeats, or the cheapest of both."),
    "goals": ("texts", "Goals of the plan."),
    "depth": ("integer", "Depth of the pool."),
    "pooled": ("number", "Mean number of documents in the pool of a topic."),
    "judged": ("number", "Of these, judged."),
    "relevant": ("number", "Of these, relevant."),
    "topics_power": ("integer", "Topics needed for the power."),
    "judgments_power": ("integer", "Documents to judge for it."),
    "topics_interval": ("integer", "Topics needed for the width."),
    "judgments_interval": ("integer", "Documents to judge for it."),
    "judgments": ("number", "Judgments spent, or that can be paid for."),
    "topic_cost": ("number", "Cost of a topic besides its judgments, in judgments."),
    # Calibration
    "meant": ("flag", "Whether the method is made for the claim."),
    "rate": ("number?", "False-alarm rate in the scenario where it is highest."),
    "low": ("number?", "Lower end of its Monte-Carlo interval."),
    "high": ("number?", "Upper end of its Monte-Carlo interval."),
    "null": ("text", "That scenario."),
    "status": ("holds|unclear|fails", "Verdict on the false-alarm rate."),
    "level": ("number?", "Level at which the false-alarm rate would be as stated; null where there is none."),
    "coverage": ("number?", "Share of intervals that contain the true difference."),
    "coverage_null": ("text", "Scenario of the intervals."),
    "intervals": ("|holds|unclear|fails", "Verdict on the intervals; empty where there are none."),
    "best": ("number?", "Share of the truly best systems that the best set contains."),
    **{
        f"{name}_{end}": ("number?", f"{which} end of the Monte-Carlo interval of {name}.")
        for name in ("level", "coverage", "best", "power")
        for end, which in (("low", "Lower"), ("high", "Upper"))
    },
    "repetitions": ("integer", "Simulated tables of the scenario with most of them."),
    "budget": ("integer", "Simulated tables of a scenario at most."),
    "scores": ("text", "What the simulated tables are like."),
    "skipped": ("texts", "Scenarios that were skipped, and why."),
    "verdicts": ("[verdicts]", "What is recommended for each claim."),
    "rates": ("[rates]", "False-alarm rates by scenario."),
    "halves": ("[halves]", "Checks of each half of the topics against the other."),
    "statements": (
        "[statements]",
        "Statements of the default method where systems differ: no worse, intervals, ranks, best set, planned power.",
    ),
    "planted": ("flag", "Whether some systems differ in the scenario."),
    "for_alarms": ("flag", "Whether false alarms are counted in it."),
    "for_intervals": ("flag", "Whether the coverage of intervals is."),
    "n": ("integer", "Simulated tables."),
    "advice": ("[advice]", "What to use for each error rate."),
    "use": ("[use]", "Method to use for each error rate."),
    "unclear": ("texts", "Methods on which more tables would decide."),
    "fails": ("texts", "Methods with excess false alarms."),
    "causes": ("texts", "Systems and topics that cause them."),
    "text": ("text", "The same as text."),
    "declared": ("text", "The default method."),
    "calibrated": ("flag", "Whether alpha is another level than the one asked for."),
    "now": ("text", "Command to type."),
    # ANOVA
    "term": ("text", "Source of variation."),
    "ss": ("number?", "Sum of squares."),
    "ms": ("number?", "Mean square."),
    "F": ("number?", "F statistic."),
    "omega_sq": ("number?", "Share of variance in the population."),
    "size": ("text", "The share as a word."),
    "partial_eta_sq": ("number?", "Share of the variation left by the other terms."),
    # Stability, simulation, repetition, demonstration
    "figure": ("text", "What the number is of."),
    "meaning": ("text", "What the figure counts."),
    "splits": ("integer", "Number of splits."),
    "quality": ("number", "True quality in the simulation."),
    "part": ("text", "Part of the report."),
    "figures": ("integer", "Values compared."),
    "different": ("integer", "Values that differ by more than rounding."),
    "largest_difference": (
        "number?",
        "Largest relative difference; null where anything but a number differs.",
    ),
    "first": ("text", "First value that differs, before and now."),
    "same": ("flag", "Whether nothing differs by more than rounding."),
    "versions_differ": (
        "flag",
        "Whether versions of the program or its libraries differ; the notes name them.",
    ),
    "kendall_tau": ("number", "Rank correlation of the means with the simulated quality."),
    **{
        f"{name}_{claim}": (kind, f"{what} for {topics}.")
        for claim, topics in (("here", "exactly these topics"), ("like", "new topics like these"))
        for name, kind, what in (
            ("lower", "number", "Lower end of the interval"),
            ("upper", "number", "Upper end of the interval"),
            ("rank_best", "integer", "Best rank that the system may have"),
            ("rank_worst", "integer", "Worst rank that the system may have"),
            ("group", "text", "Group"),
            ("top", "flag", "Whether the system may be the best"),
        )
    },
}
"""Every field of rows and results: a name means the same in every command."""

PAIR = "a b difference lower upper se df statistic p p_adjusted effect_size"
PLANS = "what topics instances power detectable half_width cost"
OF_MARGIN = " ".join(
    f"{name}_{side}?"
    for side in ("both", "lower", "superior")
    for name in ("lower", "upper", "p", "p_adjusted")
)


@dataclass(frozen=True, slots=True)
class Result:
    """What a command writes.

    Parameters
    ----------
    description : str
        In a phrase.
    row : str
        What a row stands for.
    facts : str
        Fields besides title, notes and rows, by name; those with a question mark may be absent, and a kind
        after a colon is another than usual.
    rows : mapping
        Fields of the rows of each table.
    named : mapping
        Further fields of the rows of a table, named by the data.
    patterns : mapping
        The same, by regular expression.
    """

    description: str
    row: str
    facts: str
    rows: Mapping[str, str]
    named: Mapping[str, Field] = field(default_factory=dict)
    patterns: Mapping[str, Field] = field(default_factory=dict)


RESULTS: dict[str, Result] = {
    "demo": Result(
        "The systems of the simulated campaign.",
        "a system, best first",
        "claims folder seed kendall_tau",
        {
            "systems": "rank system mean"
            " lower_here upper_here rank_best_here? rank_worst_here? group_here? top_here"
            " lower_like upper_like rank_best_like? rank_worst_like? group_like? top_like"
        },
    ),
    "compare": Result(
        "Pairs of systems that were compared; with --table, other rows.",
        "a pair; by --table a system, seed, number of repeats, component or setting; with --items an item",
        "answer? scope? procedure? method? claim? repeats? model? measure? lower_is_better? alpha? margin? side? a? b?"
        " where? smallest?"
        " items? dropped? difference? n_win? n_tie? n_loss? n_missing?"
        " detectable? items_needed?"
        " variance_components? anova? contrasts?",
        {
            "pairs": f"measure? {PAIR} verdict? topic_effect_size? {OF_MARGIN} holds? smallest_margin? probability?"
            " probability_better? probability_equal? probability_worse?",
            "systems": "measure? baseline? mean lower? upper? difference? p_adjusted? verdict?"
            " win_rate? win_lower? win_upper?"
            " rank_best? rank_worst? group?",
            "seeds": "instance difference p verdict",
            "spread": "instances median lower upper share",
            "shares": "component variance sd share",
            "settings": "setting difference lower upper p holds",
            "items": "item task? cluster? score_a score_b difference outcome contribution carries_half outlier"
            " all_fail all_solve se?",
            "matrix": "item task? cluster? mean sd systems all_fail all_solve",
        },
        named={
            "systems": ("text", "The system, under the user's word for it."),
            "matrix": ("number?", "Mean score of the system of this name; null where it has none."),
        },
    ),
    "leaderboard": Result(
        "Systems, best first, with the ranks that each may have.",
        "a system, best first",
        "answer scope procedure claim measure measures lower_is_better baselines alpha margin? explained",
        {"systems": "rank rank_best rank_worst system mean lower upper group? to_best top near_best?"},
        patterns={
            "^.+ (rank|rank_best|rank_worst)$": (
                "integer",
                "The same by a further measure, whose name comes first.",
            ),
            "^.+ (mean|lower|upper|difference|p|p_adjusted)$": (
                "number?",
                "The same by a further measure, or, after vs, of the difference from a baseline.",
            ),
            "^vs .+ verdict$": (
                "text",
                "Whether the system is significantly better or worse than the baseline.",
            ),
        },
    ),
    "paper": Result(
        "The files that were written for a paper.",
        "a file",
        "folder procedure claim measures lower_is_better baselines alpha",
        {"files": "file holds:text"},
    ),
    "gate": Result(
        "Whether a new system may replace the one in use.",
        "a new system",
        "passes measure claim? procedure? repeats? margin alpha power?",
        {
            "systems": "base new mean_base mean_new difference lower upper p verdict error_rate items needed",
            "looks": "base new verdict units added threshold evidence_better evidence_no_worse evidence_worse",
        },
    ),
    "design power": Result(
        "Topics needed to detect a difference, or what a number of topics detects.",
        "a setting, or a plan for scores with repeats",
        "method? components? repeats? systems? min_diff? alpha?",
        {
            "plans": PLANS,
            "settings": "measure? variance systems alpha min_diff power topics topics_assured? assurance? target?"
            " min_diff_at_target?",
        },
    ),
    "design interval": Result(
        "Topics needed for intervals of a width, or the width that a number of topics gives.",
        "a setting",
        "method",
        {"settings": "measure? variance alpha width topics"},
    ),
    "design table": Result(
        "Topics needed over a grid of settings.",
        "a setting",
        "method variances",
        {"settings": "systems? alpha min_diff? width?"},
        named={"settings": ("integer", "Topics needed, by measure and power.")},
    ),
    "design pools": Result(
        "What each pool depth costs.",
        "a measure and depth",
        "goals variance_method",
        {
            "depths": "measure depth pooled judged relevant variance topics_power judgments_power topics_interval"
            " judgments_interval"
        },
    ),
    "design budget": Result(
        "What a number of judgments can detect, by the depth of the pool.",
        "a measure and depth",
        "judgments topic_cost systems alpha power",
        {
            "depths": "measure depth pooled judged relevant variance topics judgments min_diff min_diff_assured"
            " width",
            "repeats": "instances topics answers detectable half_width",
        },
    ),
    "design repeats": Result(
        "How many more items or repeats detect a difference, and what they cost.",
        "a plan",
        "components repeats systems min_diff alpha",
        {"plans": PLANS},
    ),
    "design equivalence": Result(
        "Repeats and topics needed to show that two systems are equivalent.",
        "a plan",
        "components margin difference alpha",
        {"plans": "instances topics se df power"},
    ),
    "calibrate": Result(
        "False-alarm rates and power of methods on simulated data like yours.",
        "a claim and method",
        "alpha repetitions budget seed scores skipped verdicts rates power:[power] halves? statements?",
        {
            "methods": "claim method error_rate:controlled meant rate low high null status level level_low level_high"
            " coverage coverage_low coverage_high coverage_null intervals best best_low best_high power"
            " power_low power_high"
        },
    ),
    "stability": Result(
        "How often two splits lead to the same conclusion.",
        "a figure",
        "alpha splits claim?",
        {
            "agreement": "figure mean half_width meaning",
            "summary": "figure mean half_width least most",
            "found": "alpha pairs mean least most majority unanimous",
            "divided": "splits:text pairs share",
            "models": "model interval_width significant share_significant common share_common AA AD PA PD PAA PPA",
            "methods": "approach significant PAA PPA AD",
            "fills": "fill significant",
        },
        named={
            "methods": (
                "number?",
                "Significant pairs beyond those of the approach in the name of the field.",
            ),
            "fills": ("number?", "Significant pairs in common with the fill of this name."),
        },
    ),
    "score": Result(
        "Mean score of every system, best first by the first measure.",
        "a system, best first",
        "",
        {"systems": "system"},
        named={
            "systems": ("number?", "Mean of the measure of this name; null where it is undefined everywhere.")
        },
    ),
    "simulate": Result(
        "The collection that was written.",
        "a system, best first",
        "runs qrels seed",
        {"systems": "system quality"},
    ),
    "repeat": Result(
        "Whether an analysis gave the same numbers again.",
        "a part of the report",
        "same versions_differ",
        {"parts": "part figures different largest_difference first"},
    ),
}
"""Every command that writes JSON."""

TABLES: dict[str, str] = {
    "[contrasts]": "contrast estimate lower upper se df statistic p p_adjusted",
    "[anova]": "term ss df ms F p omega_sq size partial_eta_sq",
    "[verdicts]": "claim advice use holds:texts unclear fails causes text",
    "[advice]": "error_rate:controlled method alpha:number declared status:text calibrated now",
    "[rates]": "method error_rate:controlled meant claim null planted for_alarms for_intervals figure rate low high n",
    "[power]": "method error_rate?:controlled meant? claim null? difference:number power low? high?",
}
"""Fields that are tables themselves: those of a row."""

OBJECTS: dict[str, dict[str, Any]] = {
    "[claims]": {
        "type": "object",
        "properties": {"here": {"type": "string"}, "like": {"type": "string"}},
        "required": ["here", "like"],
        "additionalProperties": False,
    },
    "[use]": {"type": "object", "additionalProperties": {"type": "string"}},
    "[statements]": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "statement": {"type": "string"},
                "kind": {"enum": ["at most", "at least", "about", "power"]},
                "nominal": {"type": ["number", "null"]},
                **{name: {"type": "number"} for name in ("measured", "low", "high")},
                "tables": {"type": "integer"},
                "exceeded": {"type": "boolean"},
            },
            "required": ["statement", "kind", "nominal", "measured", "low", "high", "tables", "exceeded"],
            "additionalProperties": False,
        },
    },
    "[halves]": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"procedure": {"type": "string"}},
            "required": ["procedure"],
            "additionalProperties": {"type": ["number", "string", "null"]},
        },
    },
}
"""Fields of other forms."""


def list_described() -> tuple[str, ...]:
    """Return the commands that have a schema."""
    return tuple(sorted(RESULTS))


def make_schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema of a command's JSON output.

    Parameters
    ----------
    command : str
        Its words, as in ``design power``.

    Returns
    -------
    dict
        A schema of draft 2020-12.

    >>> make_schema("compare")["properties"]["command"]
    {'const': 'compare'}
    """
    if command not in RESULTS:
        raise InputError(f"{command} does not write JSON", remedy=f"use one of {', '.join(list_described())}")
    result = RESULTS[command]
    tables = [_describe_object(names, title, result) for title, names in result.rows.items()]
    facts, required = _describe_fields(result.facts)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:shardwise:{command.replace(' ', '-')}:{VERSION}",
        "title": f"shardwise {command} --format json",
        "description": result.description,
        "type": "object",
        "properties": {
            "command": {"const": command},
            "title": {"type": "string", "description": "The result in words."},
            **facts,
            "notes": {**KINDS["texts"], "description": "What was decided on the way; empty with --quiet."},
            "rows": {
                "type": "array",
                "items": tables[0] if len(tables) == 1 else {"anyOf": tables},
                "description": f"One row for {result.row}.",
            },
        },
        "required": ["command", "title", *required, "notes", "rows"],
        "additionalProperties": False,
    }


def field_names(fields: str) -> list[str]:
    """Return the names in a list of fields.

    >>> field_names("measure? a b holds:text")
    ['measure', 'a', 'b', 'holds']
    """
    return [word.partition(":")[0].removesuffix("?") for word in fields.split()]


def _describe_fields(fields: str) -> tuple[dict[str, Any], list[str]]:
    """Descriptions of fields, and the names of those that are always there."""
    described_fields: dict[str, Any] = {}
    required = []
    for word, name in zip(fields.split(), field_names(fields), strict=True):
        usual, description = FIELDS[name]
        kind = word.partition(":")[2] or usual
        described_fields[name] = {**_describe_kind(kind), "description": description}
        required += [] if word.partition(":")[0].endswith("?") else [name]
    return described_fields, required


def _describe_kind(kind: str) -> dict[str, Any]:
    if kind in TABLES:
        return {"type": "array", "items": _describe_object(TABLES[kind])}
    if kind in OBJECTS:
        return OBJECTS[kind]
    return KINDS[kind] if kind in KINDS else {"enum": kind.split("|")}


def _describe_object(names: str, title: str = "", result: Result | None = None) -> dict[str, Any]:
    """Schema of an object with these fields; of a row where it belongs to a result."""
    properties, required = _describe_fields(names)
    named = result.named.get(title) if result is not None else None
    patterns = result.patterns if result is not None else {}
    rows = {key: {**_describe_kind(kind), "description": text} for key, (kind, text) in patterns.items()}
    return {
        **({"title": title} if title else {}),
        "type": "object",
        "properties": properties,
        **({"patternProperties": rows} if rows else {}),
        "required": required,
        "additionalProperties": False
        if named is None
        else {**_describe_kind(named[0]), "description": named[1]},
    }
