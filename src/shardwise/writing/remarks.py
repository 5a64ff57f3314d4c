"""Write what diagnostics and simulations found, what to do about it, and why not by the classic methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.analyze import OF_DATA_SETS, compare_classic
from shardwise.analysis.diagnostics import Remark
from shardwise.analysis.trust import Finding, list_findings
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.text import shorten_name, shorten_names
from shardwise.lab.recorded import recorded_rates
from shardwise.writing.answer import capitalize_sentence, join_names
from shardwise.writing.names import label_systems
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


NAMES = {
    "variance grows with score": "variance depends on the score",
    "topics left out": "scores left out",
    "few topics": "few {topics}",
    "uninformative topics": "uninformative {topics}",
    "identical systems": "identical {systems}",
    "missing instances": "missing {instances}",
    "excess false alarms": "excess false alarms of {method}",
}
"""What remarks are called, by their kind, where that is not the kind itself."""
TEXTS = {
    "non-normal residuals": "The residuals are not normally distributed (skewness {skewness:.1f}, excess kurtosis"
    " {kurtosis:.1f}).",
    "unequal variances": "The standard deviation of the residuals is {ratio:.1f} times as large for {most} as for"
    " {least}.",
    "variance grows with score": "Residuals {trend} with the score (rank correlation {fanning:.2f}), which is common"
    " for measures between 0 and 1.",
    "few topics": "Only {n_topics:,} {topics}: a claim about new {topics} rests on a small sample, and p-values are"
    " approximate.",
    "uninformative topics": "{counted} {give} all {systems} the same score.",
    "identical systems": "Identical scores: {listed}.",
    "missing instances": "{counted} {have} fewer than {all_instances}: {listed}.",
    "missing scores": "{gaps:,} of {cells:,} scores {are} missing and {how}.",
    "topics left out": "{counted} {are} left out, where no {system} has all its scores.",
    "about the fit": "{note}.",
    "seeds, not samples": "Each {instance} shifts all {topics} together (standard deviation {effect.sd:.4f},"
    " {effect.lower:.4f} to {effect.upper:.4f}; p = {effect.p:.2g}), which independent samples would not do.",
}
"""What was found, by the kind of remark."""
REMEDIES = {
    "non-normal residuals": "Distrust p-values near the level; the moderated test, which resamples {topics}, does"
    " not assume normal scores.",
    "unequal variances": "Methods with one common variance are too strict for steady {systems} and too lenient for"
    " variable ones; the moderated test is not.",
    "many undefined scores": "Use fewer shards, or shards that each contain relevant documents.",
    "few topics": "Treat p-values near the level as inconclusive.",
    "identical systems": "Check whether one is a copy of the other; leave a copy out with --exclude.",
    "missing scores": "Check why: results are valid only if scores are missing for reasons unrelated to their value.",
    "topics left out": "Fill undefined scores by a policy, or use a model, which takes incomplete data.",
    "seeds, not samples": "Treat the repeats as seeds.",
}
"""What to do about it, by the kind of remark; nothing where nothing needs to be done."""


def describe_remark(remark: Remark) -> tuple[str, str, str]:
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
    kind, facts = remark.kind, remark.facts
    nouns = {name: remark.nouns.get(name, name) for name in ("topic", "system", "instance")}
    words = {**facts, **nouns, **{f"{name}s": pluralize_noun(noun) for name, noun in nouns.items()}}
    n = facts.get("topics", facts.get("gaps", 0))
    words |= {"n_topics": n, "counted": format_count(n, nouns["topic"])}
    words |= {"are": "is" if n == 1 else "are", "give": "gives" if n == 1 else "give"}
    text, remedy = TEXTS.get(kind, ""), REMEDIES.get(kind, "")
    if kind in ("undefined scores", "many undefined scores"):
        words["text"], text = _describe_undefined(facts, nouns["topic"]), "{text}"
    elif kind == "unequal variances":
        words["most"], words["least"] = shorten_names((facts["most"], facts["least"]), 40).values()
    elif kind == "variance grows with score":
        words["trend"] = "grow" if facts["fanning"] > 0 else "shrink"
    elif kind == "identical systems":
        same = facts["pairs"]
        labels = shorten_names((name for pair in same[:MOST_LISTED] for name in pair), 40)
        more = len(same) - MOST_LISTED
        words["listed"] = "; ".join(f"{labels[a]} and {labels[b]}" for a, b in same[:MOST_LISTED])
        words["listed"] += f" and {format_count(more, 'more pair')}" if more > 0 else ""
    elif kind == "missing instances":
        labels, fewer = shorten_names((name for name, _ in facts["counts"]), 40), facts["counts"]
        more = len(fewer) - MOST_LISTED
        words["listed"] = ", ".join(f"{labels[name]} ({count})" for name, count in fewer[:MOST_LISTED])
        words["listed"] += f" and {more} more" if more > 0 else ""
        words |= {
            "counted": format_count(len(fewer), nouns["system"]),
            "have": "has" if len(fewer) == 1 else "have",
        }
        words["all_instances"] = format_count(facts["most"], nouns["instance"])
    elif kind == "missing scores":
        counts_as = f"{'counts' if n == 1 else 'count'} as {facts['fill']}"
        words["how"] = counts_as if facts["fill"] else f"{words['are']} left out"
    elif kind == "about the fit":
        words["note"] = capitalize_sentence(facts["note"])
    elif kind == "excess false alarms":
        words["method"] = facts["finding"].method
        words["text"], words["remedy"] = describe_finding(facts["finding"], nouns)
        text, remedy = "{text}", "{remedy}"
    name, text, remedy = (pattern.format(**words) for pattern in (NAMES.get(kind, kind), text, remedy))
    if kind in ASSUMED and not remark.warning:
        # the method that was used does not assume it
        return name, f"{text} {facts['procedure']} does not assume otherwise.", ""
    return name, text, remedy


def _describe_undefined(facts: Mapping[str, Any], topic: str) -> str:
    """How many scores are undefined, and what was done about them."""
    filled, cells, policy = facts["filled"], facts["cells"], facts["policy"]
    if policy == "drop":
        were = "was" if filled == 1 else "were"
        return f"{format_count(filled, topic)} with undefined scores {were} left out; {facts['topics']:,} remain."
    how = "counted as zero" if policy == "zero" else f"filled by the policy “{policy}”"
    return (
        f"{filled:,} of {cells:,} scores ({filled / cells:.1%}) {'is' if filled == 1 else 'are'} undefined, because the"
        f" {topic} has no relevant document in the shard; they are {how}."
    )


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
    trust, nouns = analysis.trust, analysis.nouns
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
    if analysis.item_scores.unpaired:
        return ""
    items = format_count(analysis.item_scores.sizes["topic"], analysis.item_noun)
    pair = ",".join(analysis.systems[:2])
    return f"{items} are too many for a page; list them with: shardwise compare {inputs or 'FILE'} --table items:{pair}"


RECORDED = {"hsd": "MD1 hsd topic", "bonferroni": "t holm"}
"""Recorded procedures by the correction of a classic one; Holm's and Bonferroni's are alike where no systems differ."""
ASKED = {
    "bonferroni": "t-tests with Bonferroni",
    "hsd": "Tukey’s HSD",
    "dunnett": "Dunnett’s test",
    OF_DATA_SETS: "Friedman’s test",
}
"""Classic methods by their correction or name, as reviewers ask for them."""
MOST_BEST = 4
"""Systems of a best set that the table names."""


def explain_choice(analysis: Analysis) -> dict[str, Any] | None:
    """Return the box "Why not t-tests with Bonferroni or Tukey's HSD?"; None where these do not apply.

    Parameters
    ----------
    analysis : Analysis
        An analysis of all pairs, or of those with baselines.

    Returns
    -------
    dict or None
        ``title``: the question; ``change``: what the classic methods change on these data; ``rows``: what each method
        finds, and its measured error rate, that of the report first; ``reasons``: sentences on their error rates.
    """
    lead, systems, topics = analysis.lead, analysis.nouns_for("system"), analysis.nouns_for("topic")
    classic = [result for result in compare_classic(analysis) if result.procedure != lead.procedure]
    if not classic:
        return None
    rows, changes, names = [], [], list(analysis.systems)
    for result in (lead, *classic):
        labels = label_systems(result)
        best = [labels[name] for name in result.best_set]
        shown = join_names(best) if 0 < len(best) <= MOST_BEST else f"{len(best):,} {systems}"
        if analysis.baselines:
            verdicts = result.judge_systems(names, analysis.baselines)
            shown = f"{verdicts.count('better'):,} better, {verdicts.count('worse'):,} worse"
        name, correction = result.procedure.name, result.procedure.correction
        rates = None if name == OF_DATA_SETS else recorded_rates(RECORDED.get(correction, name))
        # significant pairs that the method of the report does not have, and those of it that this one does not have
        gained, lost = result.found_beyond(lead), lead.found_beyond(result)
        rows.append(
            {
                "title": result.title,
                "significant": result.n_significant,
                "gained": gained,
                "lost": lost,
                "best": shown,
                "measured": ""
                if rates is None
                else f"{100 * rates.mean:.1f}% on average, up to {100 * rates.highest:.1f}%; 5% ruled out"
                f" (at 1%) in {rates.exceeding} of {rates.designs} designs",
            }
        )
        parts = [f"adds {format_count(gained, 'pair')}"] if gained else []
        parts += [f"loses {format_count(lost, 'pair')}"] if lost else []
        changes.append(f"{result.title} {' and '.join(parts) or 'gives the same significant pairs'}")
    asked = [
        ASKED.get(result.procedure.name, ASKED.get(result.procedure.correction, "")) for result in classic
    ]
    common = next((name for name in asked if name in (ASKED["hsd"], ASKED["dunnett"])), "")
    reasons = [
        f"{common} assumes that all {systems} are equally variable; where they are not, its family-wise error"
        f" exceeds the nominal {format_percent(0.05)}."
        if common
        else "",
        f"t-tests with Bonferroni's correction estimate each pair's variance from few {topics}, which is unreliable for"
        " skewed scores, and ignore that pairs are correlated, which costs power.",
        "The moderated test shrinks each pair's variance towards the pooled variance and takes the joint distribution"
        f" of {'these' if analysis.baselines else 'all'} pairs from resampled {topics}.",
        f"Friedman's test looks at ranks alone, not at how large differences are, and Nemenyi's verdict on two"
        f" {systems} depends on which others take part (Benavoli et al., 2016)."
        if ASKED[OF_DATA_SETS] in asked
        else "",
    ]
    if (rates := recorded_rates("moderated")) is not None:
        collections = join_names(list(rates.collections))
        reasons.append(
            f"Error rates are those of all pairs, measured with equal {systems} on simulated data like {collections}"
            f" ({rates.designs} designs)."
        )
    return {
        "title": f"Why not {join_names(list(dict.fromkeys(filter(None, asked))), 'or')}?",
        "head": "Against the baseline" if analysis.baselines else "Best set",
        "change": f"On these data, {'; '.join(changes[1:])}.",
        "rows": rows,
        "reasons": list(filter(None, reasons)),
    }
