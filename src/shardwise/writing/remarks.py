"""Write what diagnostics found: a name, sentences, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.diagnostics import Remark
from shardwise.analysis.trust import Finding, list_findings
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.scores import is_unpaired, nouns_of
from shardwise.core.text import shorten_name, shorten_names
from shardwise.writing.answer import capitalize_sentence
from shardwise.writing.numbers import format_percent

MOST_LISTED = 5
"""Names that a remark lists."""
RATES = {
    "family": "reports at least one false difference in {rate} of simulated data sets",
    "discovery": "has a false discovery rate of {rate} on simulated data",
    "pair": "calls a pair of equal {systems} different in {rate} of simulated data sets",
}
"""What a method does where systems are equal, by the error rate that it controls."""
ASSUMED = ("non-normal residuals", "unequal variances")
"""Remarks that matter only to methods that assume the contrary."""
Words = tuple[str, str, str]


def describe_remark(remark: Remark) -> Words:
    """Return the name of a remark, what was found, and what to do about it.

    Parameters
    ----------
    remark : Remark
        What a diagnostic found.

    Returns
    -------
    tuple of str
        Name, text, remedy; the remedy is empty where nothing needs to be done.

    >>> describe_remark(Remark("few topics", True, {"topics": 8}, {"topic": "question"}))[1]
    'Only 8 questions: a claim about new questions rests on a small sample, and p-values are approximate.'
    """
    nouns = {name: remark.nouns.get(name, name) for name in ("topic", "system", "instance")}
    name, text, remedy = _WRITERS[remark.kind](remark.facts, nouns)
    if remark.kind in ASSUMED and not remark.warning:
        # the method that was used does not assume it
        return name, f"{text} {remark.facts['procedure']} does not assume otherwise.", ""
    return name, text, remedy


def _write_non_normal(facts: Mapping[str, Any], nouns: Mapping[str, str]) -> Words:
    figures = f"skewness {facts['skewness']:.1f}, excess kurtosis {facts['kurtosis']:.1f}"
    return (
        "non-normal residuals",
        f"The residuals are not normally distributed ({figures}).",
        "Compare p-values near the level with those of the moderated test, which resamples"
        f" {pluralize_noun(nouns['topic'])}.",
    )


def _write_unequal(facts: Mapping[str, Any], nouns: Mapping[str, str]) -> Words:
    most, least = shorten_names((facts["most"], facts["least"]), 40).values()
    ratio = f"{facts['ratio']:.1f} times as large for {most} as for {least}"
    return (
        "unequal variances",
        f"The standard deviation of the residuals is {ratio}.",
        f"Methods with one common variance are too strict for steady {pluralize_noun(nouns['system'])} and"
        " too lenient for"
        " variable ones; the moderated test is not.",
    )


def _write_growing(facts: Mapping[str, Any], nouns: Mapping[str, str]) -> Words:
    trend = "grow" if facts["fanning"] > 0 else "shrink"
    return (
        "variance depends on the score",
        f"Residuals {trend} with the score (rank correlation {facts['fanning']:.2f}), which is common for measures"
        " between 0 and 1.",
        "",
    )


def _write_undefined(facts: Mapping[str, Any], nouns: Mapping[str, str]) -> Words:
    filled, cells, policy, topic = facts["filled"], facts["cells"], facts["policy"], nouns["topic"]
    if policy == "drop":
        verb = "was" if filled == 1 else "were"
        text = f"{format_count(filled, topic)} with undefined scores {verb} left out; {facts['topics']:,} remain."
        return "undefined scores", text, ""
    how = "counted as zero" if policy == "zero" else f"filled by the policy “{policy}”"
    verb = "is" if filled == 1 else "are"
    text = (
        f"{filled:,} of {cells:,} scores ({filled / cells:.1%}) {verb} undefined, because the {topic} has no relevant"
        f" document in the shard; they are {how}."
    )
    return "undefined scores", text, ""


def _write_many_undefined(facts: Mapping[str, Any], nouns: Mapping[str, str]) -> Words:
    _, text, _ = _write_undefined(facts, nouns)
    return "many undefined scores", text, "Use fewer shards, or shards that each contain relevant documents."


def _write_few_topics(facts: Mapping[str, Any], nouns: Mapping[str, str]) -> Words:
    topics = pluralize_noun(nouns["topic"])
    return (
        f"few {topics}",
        f"Only {facts['topics']:,} {topics}: a claim about new {topics} rests on a small sample, and p-values are"
        " approximate.",
        "Treat p-values near the level as inconclusive.",
    )


def _write_uninformative(facts: Mapping[str, Any], nouns: Mapping[str, str]) -> Words:
    verb = "gives" if facts["topics"] == 1 else "give"
    systems = pluralize_noun(nouns["system"])
    text = f"{format_count(facts['topics'], nouns['topic'])} {verb} all {systems} the same score."
    return f"uninformative {pluralize_noun(nouns['topic'])}", text, ""


def _write_identical(facts: Mapping[str, Any], nouns: Mapping[str, str]) -> Words:
    same = facts["pairs"]
    labels = shorten_names((name for pair in same[:MOST_LISTED] for name in pair), 40)
    listed = "; ".join(f"{labels[a]} and {labels[b]}" for a, b in same[:MOST_LISTED])
    more = f" and {format_count(len(same) - MOST_LISTED, 'more pair')}" if len(same) > MOST_LISTED else ""
    name = f"identical {pluralize_noun(nouns['system'])}"
    return (
        name,
        f"Identical scores: {listed}{more}.",
        "Check whether one is a copy of the other; leave a copy out with --exclude.",
    )


def _write_missing_instances(facts: Mapping[str, Any], nouns: Mapping[str, str]) -> Words:
    labels = shorten_names((name for name, _ in facts["counts"]), 40)
    counts = [f"{labels[name]} ({count})" for name, count in facts["counts"]]
    more = f" and {len(counts) - MOST_LISTED} more" if len(counts) > MOST_LISTED else ""
    verb = "has" if len(counts) == 1 else "have"
    text = (
        f"{format_count(len(counts), nouns['system'])} {verb} fewer than"
        f" {format_count(facts['most'], nouns['instance'])}:"
        f" {', '.join(counts[:MOST_LISTED])}{more}."
    )
    return f"missing {pluralize_noun(nouns['instance'])}", text, ""


def _write_missing_scores(facts: Mapping[str, Any], nouns: Mapping[str, str]) -> Words:
    gaps, fill = facts["gaps"], facts["fill"]
    verb = "is" if gaps == 1 else "are"
    how = f"{'counts' if gaps == 1 else 'count'} as {fill}" if fill else f"{verb} left out"
    text = f"{gaps:,} of {facts['cells']:,} scores {verb} missing and {how}."
    remedy = "Check why: results are valid only if scores are missing for reasons unrelated to their value."
    return "missing scores", text, remedy


def _write_left_out(facts: Mapping[str, Any], nouns: Mapping[str, str]) -> Words:
    topics = facts["topics"]
    verb = "is" if topics == 1 else "are"
    text = f"{format_count(topics, nouns['topic'])} {verb} left out, where no {nouns['system']} has all its scores."
    remedy = "Fill undefined scores by a policy, or use a model, which takes incomplete data."
    return "scores left out", text, remedy


def _write_fit(facts: Mapping[str, Any], nouns: Mapping[str, str]) -> Words:
    return "about the fit", f"{capitalize_sentence(facts['note'])}.", ""


def _write_seeds(facts: Mapping[str, Any], nouns: Mapping[str, str]) -> Words:
    effect = facts["effect"]
    topics = pluralize_noun(nouns["topic"])
    text = (
        f"Each {nouns['instance']} shifts all {topics} together (standard deviation {effect.sd:.4f},"
        f" {effect.lower:.4f} to {effect.upper:.4f}; p = {effect.p:.2g}), which independent samples would not do."
    )
    return "seeds, not samples", text, "Treat the repeats as seeds."


def _write_excess(facts: Mapping[str, Any], nouns: Mapping[str, str]) -> Words:
    finding: Finding = facts["finding"]
    text, remedy = describe_finding(finding, nouns)
    return f"excess false alarms of {finding.method}", text, remedy


def describe_finding(finding: Finding, nouns: Mapping[str, str]) -> tuple[str, str]:
    """Return how a method does on simulated data like the scores, and what to use instead where it fails.

    Parameters
    ----------
    finding : Finding
        Measured error rates of one method for one claim.
    nouns : mapping
        The user's own words for dimensions.

    Returns
    -------
    tuple of str
        Text and remedy; the remedy is empty unless a method that was used fails.
    """
    systems, nominal = pluralize_noun(nouns.get("system", "system")), format_percent(finding.alpha)
    rate = f"{finding.rate:.1%} ({finding.low:.1%} to {finding.high:.1%})"
    does = RATES[finding.error_rate].format(rate=rate, systems=systems)
    if not finding.used:
        ending = "it is not meant for this claim"
    else:
        ending = {
            "holds": f"within the nominal {nominal}",
            "unclear": f"no evidence of more than the nominal {nominal}",
            "fails": f"more than the nominal {nominal}",
        }[finding.status]
    text = f"For {finding.claim}: with equal {systems}, {finding.method} {does}: {ending}."
    if not finding.warning:
        return text, ""
    level = f" At alpha {finding.level:.2g} its rate would be {nominal}." if finding.level > 0.0 else ""
    if finding.instead:
        return text, f"Use {finding.instead} instead; its answer is given too.{level}"
    return text, f"{level.strip()} The answer at that level is given too."


def write_trust(analysis: Analysis) -> list[tuple[str, str]]:
    """Write how far the results can be trusted in three plain lines: false alarms, intervals, what to do.

    Parameters
    ----------
    analysis : Analysis
        What was analysed, with its simulations.

    Returns
    -------
    list of (str, str)
        A word or two, and the line; nothing simulated gives one line.
    """
    trust, nouns = analysis.trust, nouns_of(analysis.scores)
    nominal = format_percent(analysis.alpha)
    if trust.recorded is None and trust.calibration is None:
        return [("Not simulated", f"{capitalize_sentence(trust.reason)}.")] if trust.reason else []
    findings = [finding for finding in list_findings(trust) if finding.used]
    described = [describe_finding(finding, nouns) for finding in findings]
    if trust.recorded is not None:
        alarms = (
            f"With equal {pluralize_noun(nouns.get('system', 'system'))}, {trust.recorded.method} reports a false"
            f" difference in {trust.recorded.mean:.1%} of simulated data sets of this kind and size"
            f" (nominal {nominal}; above it beyond chance in {trust.recorded.exceeding} of {trust.recorded.designs})."
        )
    else:
        alarms = " ".join(text for text, _ in described) or "Not simulated for this method."
    remedies = list(dict.fromkeys(remedy for _, remedy in described if remedy))
    check = trust.statements
    if check is None:
        intervals = _describe_coverage(analysis) or "Not checked for data of this kind."
    elif check.holds:
        tables = format_count(int(check.table["tables"].max()), "resampled data set")
        intervals = (
            f"{capitalize_sentence(tables)} like yours: no evidence against the nominal rates of intervals,"
        )
        intervals += " rank ranges and best set."
    else:
        missed = [
            f"{row['statement']} in {row['measured']:.1%} (nominal {row['kind']} {format_percent(row['nominal'])})"
            for row in check.table.to_dict("records")
            if row["exceeded"]
        ]
        intervals = f"Not held on resampled data like yours: {'; '.join(missed)}."
        remedies.append("Treat these intervals as approximate, or add items.")
    return [
        ("False alarms", alarms),
        ("Intervals", intervals),
        ("What to do", " ".join(remedies) or "Nothing; no problem was found."),
    ]


def _describe_coverage(analysis: Analysis) -> str:
    """How often simulated intervals of the leading method cover the true difference; empty where none were."""
    rows = analysis.trust.rows
    if not len(rows):
        return ""
    rows = rows[rows["used"] & (rows["method"] == analysis.procedure.name) & (rows["coverage_null"] != "")]
    return " ".join(
        f"{row['coverage']:.1%} ({row['coverage_low']:.1%} to {row['coverage_high']:.1%}) of simulated intervals of"
        f" {row['method']} contain the true difference (nominal {format_percent(1.0 - analysis.alpha)})."
        for row in rows.to_dict("records")
    )


def explain_shard_means(analysis: Analysis) -> str:
    """Write why means over shards are not those of the whole collection; empty without shards.

    Parameters
    ----------
    analysis : Analysis
        What was analysed.

    Returns
    -------
    str
        One sentence.
    """
    if "shard" not in analysis.scores.dims or analysis.shards < 2:
        return ""
    splits = f" of {format_count(analysis.n_splits, 'split')}" if analysis.n_splits > 1 else ""
    measure = shorten_name(analysis.measure)
    return (
        f"Means are over {analysis.shards:,} shards{splits}: in each shard, {measure} counts only the documents of that"
        f" shard, so a mean differs from {measure} on the whole collection."
    )


def explain_missing_items(analysis: Analysis, inputs: str = "") -> str:
    """Write why a page has no view of single items.

    Parameters
    ----------
    analysis : Analysis
        What was analysed.
    inputs : str
        Paths of the inputs, as a command takes them.

    Returns
    -------
    str
        One sentence; empty where no item has scores of two systems.
    """
    if is_unpaired(analysis.item_scores):
        return ""
    items = format_count(int(analysis.item_scores.sizes["topic"]), analysis.item_noun)
    pair = ",".join(analysis.systems[:2])
    return f"{items} are too many for a page; list them with: shardwise compare {inputs or 'FILE'} --table items:{pair}"


_WRITERS: dict[str, Callable[[Mapping[str, Any], Mapping[str, str]], Words]] = {
    "non-normal residuals": _write_non_normal,
    "unequal variances": _write_unequal,
    "variance grows with score": _write_growing,
    "undefined scores": _write_undefined,
    "many undefined scores": _write_many_undefined,
    "few topics": _write_few_topics,
    "uninformative topics": _write_uninformative,
    "identical systems": _write_identical,
    "missing instances": _write_missing_instances,
    "missing scores": _write_missing_scores,
    "topics left out": _write_left_out,
    "about the fit": _write_fit,
    "seeds, not samples": _write_seeds,
    "excess false alarms": _write_excess,
}
