"""Write the answer of an analysis: who is best or tied, by how much, what it applies to, and what to do next.

Every surface (terminal, report, leaderboard, notebook, web page) takes its first lines from here, so that no two of
them can contradict each other.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from shardwise.analysis.analysis import Analysis, ClaimResult, PairResult
from shardwise.analysis.power import POWER, OpenTie
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.measure import BY_VALUES, UNIT
from shardwise.core.text import shorten_name
from shardwise.methods.splits import RULES
from shardwise.writing.names import label_systems
from shardwise.writing.numbers import (
    equate_p,
    format_interval,
    format_number,
    format_p,
    format_percent,
    format_signed,
)
from shardwise.writing.slices import write_slices

if TYPE_CHECKING:
    from shardwise.comparing.contrasts import Contrasts

FEW_NAMED = 3
"""Tied systems that the answer names."""
NAMELESS = ("", "score")
"""Measures that need no name beside a number."""
MOST_WRITTEN = 3
"""Further measures that have a sentence each; tables have all."""
MOST_FILES = 3
"""Input files that a heading names."""
UNLIKELY = 0.001
"""p-value below which unequal numbers of items are warned of."""
FAR = 20
"""Times the topics at hand beyond which more topics are no useful advice."""
CONTROLLED = {"family": "family-wise error", "discovery": "false discovery rate"}
"""Error rates that corrections control, by their key."""


Setting = Analysis | PairResult
"""What sentences need to know besides the pairs: the user's words, the measure, the digits, the baselines."""


def capitalize_sentence(text: str) -> str:
    """Return a sentence with its first letter in upper case, unless that is a symbol, as in t-test.

    >>> capitalize_sentence("on these topics"), capitalize_sentence("t with Holm")
    ('On these topics', 't with Holm')
    """
    return f"{text[:1].upper()}{text[1:]}" if text[1:2].isalpha() else text


def join_names(names: Sequence[str], word: str = "and") -> str:
    """Join names by commas and a last word.

    >>> join_names(["a", "b", "c"]), join_names(["a"]), join_names(["a", "b"], "or")
    ('a, b and c', 'a', 'a or b')
    """
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else names[0]


def describe_claim(result: ClaimResult, analysis: Analysis) -> str:
    """Return what a result applies to, without numbers: ``new questions like these, any seed``."""
    over = result.procedure.claim.over
    if not over:
        return f"exactly these {analysis.nouns_for('topic')}"
    first, *others = over
    return "".join(
        [
            f"new {analysis.nouns_for(first)} like these",
            *(f", any {analysis.noun_for(name)}" for name in others),
        ]
    )


def write_answer(setting: Setting, result: PairResult | None = None) -> str:
    """Write the answer in one or two sentences: who is best or tied, and by how much.

    Parameters
    ----------
    setting : Analysis or PairResult
        What was analysed, or comparisons by themselves.
    result : PairResult, optional
        The result of one claim; the leading one without it.

    Returns
    -------
    str
        The first line of every surface.
    """
    result = setting.lead if result is None else result
    if len(result.pairs) == 1:
        return _answer_pair(result, setting)
    if setting.baselines:
        return " ".join(_answer_baseline(result, setting, base) for base in setting.baselines)
    return _answer_best(result, setting) if result.pairs.complete else _answer_listed(result, setting)


def _answer_pair(result: PairResult, setting: Setting) -> str:
    """The difference of two systems with its interval."""
    row = result.pair_row(0)
    labels = label_systems(result)
    a, b = labels[str(row["a"])], labels[str(row["b"])]
    reverse = bool(result.n_significant and result.pairs.gain[0] < 0)
    gain, *details = _list_gain(result, setting, 0, reverse=reverse)
    p = equate_p(format_p(float(row["p_adjusted"]), result.resolution))
    lift = _write_lift(result, setting, reverse=reverse)
    known = "; ".join([", ".join([*details, p] if p not in details else details), *lift])
    if reverse:
        a, b = b, a
    if result.n_significant and result.pairs.lower_is_better and setting.measure not in NAMELESS:
        return f"{a} has a significantly lower {shorten_name(setting.measure)} than {b}: {gain} ({known})."
    if result.n_significant:
        return f"{a} is significantly better than {b}: {_add_unit(gain, setting)} ({known})."
    return f"{a} and {b} are tied: difference {_add_unit(gain, setting)} ({known})."


def _write_lift(result: PairResult, setting: Setting, *, reverse: bool) -> list[str]:
    """The difference of two systems that met different items as a share of the second mean, with its interval."""
    lift = setting.measure_lift(result, reverse=reverse) if isinstance(setting, Analysis) else None
    if lift is None:
        return []
    bounded = np.isfinite(lift.lower) and np.isfinite(lift.upper)
    share, *ends = (f"{format_signed(100.0 * x, 1)}%" for x in (lift if bounded else lift[:1]))
    limits = " to ".join(ends) if bounded else "unbounded"
    return [f"lift {share}, {format_percent(1.0 - result.alpha)} CI {limits}"]


def describe_lift(analysis: Analysis) -> dict[str, float | None]:
    """Return what programs read of the lift of a over b, and of the numbers of items; nothing for paired scores."""
    if not analysis.analysed.unpaired:
        return {}
    lift = analysis.measure_lift()
    figures = zip(("lift", "lift_lower", "lift_upper"), lift or (), strict=False)
    known = {name: value if np.isfinite(value) else None for name, value in figures}
    return {**known, "ratio_p": analysis.ratio_p}


def _write_ratio(analysis: Analysis) -> list[str]:
    """A warning where systems with different items differ in their numbers by more than chance (p < .001)."""
    p = analysis.ratio_p
    if not p < UNLIKELY:
        return []
    counts = np.isfinite(analysis.analysed.system_rows()).sum(axis=1)
    named = ", ".join(f"{n:,}" for n in counts)
    return [
        f"Check the assignment: shares of {analysis.nouns_for('topic')} differ from equal ones ({named}; χ² test,"
        f" {equate_p(format_p(p))}). If they were meant to be equal, the comparison may be invalid."
    ]


def _list_gain(result: PairResult, setting: Setting, k: int, *, reverse: bool = False) -> list[str]:
    """The difference of a pair and its interval, or else its p-value: ``["+0.072", "95% CI 0.011 to 0.133"]``."""
    row, digits = result.pair_row(k), setting.decimals
    difference, lower, upper = (float(row[name]) for name in ("difference", "lower", "upper"))
    if reverse:
        difference, lower, upper = -difference, -upper, -lower
    if np.isfinite(lower):
        interval = format_interval(lower, upper, digits, significant=bool(result.reject()[k]))
        detail = f"{format_percent(1.0 - result.alpha)} CI {interval}"
    else:
        detail = equate_p(format_p(float(row["p_adjusted"]), result.resolution))
    return [format_signed(difference, digits), detail]


def _write_difference(result: PairResult, setting: Setting, a: str, b: str) -> str:
    """The difference of two systems in parentheses, the first less the second."""
    k, reverse = result.find_pair(a, b)
    return f"({', '.join(_list_gain(result, setting, k, reverse=reverse))})"


def _answer_best(result: PairResult, setting: Setting) -> str:
    """The best set, and by how much it beats the first system outside it."""
    names, top, labels = result.pairs.names, result.best_set, label_systems(result)
    score = _write_mean(result, setting, top[0])
    if setting.measure not in NAMELESS:
        score = f"{shorten_name(setting.measure)} {score}"
    best = f"{labels[top[0]]} ({score})"
    if len(top) == len(names):
        last, extreme = names[-1], "Lowest" if result.pairs.lower_is_better else "Highest"
        largest = _write_difference(result, setting, names[0], last)
        return (
            f"No winner: all {setting.format_count(len(names), 'system')} are tied. {extreme} mean: {best}."
            f" Even the largest gap, to {labels[last]}, is not significant {largest}."
        )
    # the first system outside the best set, after the first one that is significantly better than it
    loser = next(name for name in names if name not in top)
    winner = names[int((result.direction_matrix(names)[:, names.index(loser)] > 0).argmax())]
    difference = _write_difference(result, setting, winner, loser)
    if len(top) == 1:
        return f"Best: {best}. It is significantly better than the runner-up, {labels[loser]} {difference}."
    beaten = f"significantly better than {labels[loser]} {difference}"
    if len(top) <= FEW_NAMED:
        others = join_names(
            [best, *(f"{labels[name]} ({_write_mean(result, setting, name)})" for name in top[1:])]
        )
        return f"Best: {others}, tied. {labels[winner]} is {beaten}."
    total = setting.format_count(len(names), "system")
    return f"Best: {best}, tied with {len(top) - 1:,} others of {total}. {labels[winner]} is {beaten}."


def _add_unit(gain: str, setting: Setting) -> str:
    return f"{gain} {shorten_name(setting.measure)}" if setting.measure not in NAMELESS else gain


def _write_mean(result: PairResult, setting: Setting, name: str) -> str:
    pairs = result.pairs
    return format_number(float(pairs.means[pairs.estimates.labels.index(name)]), setting.decimals)


def _answer_baseline(result: PairResult, setting: Setting, baseline: str) -> str:
    """How many systems are better and worse than a baseline, with the largest difference."""
    names = result.pairs.names
    signs = result.direction_matrix(names)[:, names.index(baseline)]
    better, worse = (
        [name for name, sign in zip(names, signs, strict=True) if sign == wanted] for wanted in (1, -1)
    )
    tied = len(names) - 1 - len(better) - len(worse)
    labels = label_systems(result)
    base, system = labels[baseline], setting.noun_for("system")
    parts = []
    if better:
        gain = _write_difference(result, setting, better[0], baseline)
        if len(better) == 1:
            parts.append(f"{labels[better[0]]} is significantly better than {base} {gain}")
        else:
            systems = setting.format_count(len(names) - 1, "system")
            many = f"{len(better):,} of {systems}"
            if len(better) == len(names) - 1:
                many = f"All {systems}" if len(better) > 2 else f"Both {setting.nouns_for('system')}"
            parts.append(f"{many} are significantly better than {base}, {labels[better[0]]} most {gain}")
    else:
        parts.append(f"No {system} is significantly better than {base}")
    if worse:
        loss = _write_difference(result, setting, worse[-1], baseline)
        verb = "is" if len(worse) == 1 else "are"
        last = labels[worse[0]] if len(worse) == 1 else f"{len(worse):,}"
        lowest = "" if len(worse) == 1 else f", {labels[worse[-1]]} most"
        parts.append(f"{last} {verb} significantly worse{lowest} {loss}")
    if tied:
        parts.append(f"{tied:,} {'is' if tied == 1 else 'are'} tied with it")
    return f"{'; '.join(parts)}."


def _answer_listed(result: PairResult, setting: Setting) -> str:
    """How many of chosen pairs differ, with the largest difference."""
    total = len(result.pairs)
    size = np.where(result.reject(), np.abs(result.pairs.difference), -1.0)
    if not result.n_significant:
        size = np.abs(result.pairs.difference)
    k = int(size.argmax())
    row = result.pair_row(k)
    reverse = bool(result.pairs.gain[k] < 0)
    a, b = (str(row["b"]), str(row["a"])) if reverse else (str(row["a"]), str(row["b"]))
    gain = f"({', '.join(_list_gain(result, setting, k, reverse=reverse))})"
    labels = label_systems(result)
    if not result.n_significant:
        return (
            f"No winner: none of the {total:,} pairs compared differs significantly."
            f" The largest difference is {labels[a]} over {labels[b]} {gain}."
        )
    verb = "differs" if result.n_significant == 1 else "differ"
    return (
        f"{result.n_significant:,} of the {total:,} pairs compared {verb} significantly, most of all {labels[a]}"
        f" over {labels[b]} {gain}."
    )


def write_title(analysis: Analysis) -> str:
    """Return the title that was given, or the question as one."""
    if analysis.title:
        return analysis.title
    names, measure, labels = analysis.systems, shorten_name(analysis.measure), label_systems(analysis.lead)
    if len(names) == 2:
        return f"{measure}: {labels[names[0]]} against {labels[names[1]]}"
    if analysis.baselines:
        bases = join_names([labels[name] for name in analysis.baselines])
        return f"{measure}: {analysis.format_count(len(names) - len(analysis.baselines), 'system')} against {bases}"
    return f"{measure}: comparison of {analysis.format_count(len(names), 'system')}"


def write_byline(analysis: Analysis) -> str:
    """Return the files, the measure and sizes, and the date: ``runs.csv · AP, 50 topics × 8 systems · 2 May 2026``."""
    names = [shorten_name(file.name) for file in analysis.inputs]
    if len(names) > MOST_FILES:
        names = [names[0], format_count(len(names) - 1, "other file")]
    sizes = " × ".join(analysis.format_count(n, name) for name, n in analysis.sizes.items())
    files = [join_names(names)] if names else []
    return " · ".join([*files, f"{shorten_name(analysis.measure)}, {sizes}", write_date()])


def write_date() -> str:
    """Return today's date, or that of SOURCE_DATE_EPOCH, by which a page can be made again byte by byte."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    return f"{moment.day} {moment:%B %Y}"


def describe_direction(measure: str) -> str:
    """Return which scores are better, for measures of which less is better.

    >>> describe_direction("wer"), describe_direction("score")
    ('lower is better: wer', 'lower is better')
    """
    return "lower is better" + (f": {shorten_name(measure)}" if measure not in NAMELESS else "")


def write_scope(setting: Setting, result: PairResult | None = None) -> str:
    """Write what the answer applies to, and by which method with the error rate that it controls, in one line.

    Parameters
    ----------
    setting : Analysis or PairResult
        What was analysed, or comparisons by themselves.
    result : PairResult, optional
        The result of one claim; the leading one without it.

    Returns
    -------
    str
        The second line of every surface.
    """
    result = setting.lead if result is None else result
    total, rate, method = len(result.pairs), format_percent(result.alpha), result.title
    # the measures whose pairs are corrected together
    family = result.family if isinstance(result, ClaimResult) else None
    pairs = f"all {total:,} pairs" if result.pairs.complete else f"{total:,} pairs"
    if setting.baselines:
        labels = label_systems(result)
        pairs = f"{total:,} comparisons with {join_names([labels[name] for name in setting.baselines])}"
    if total > 1 and result.pairs.error_rate == "pair":
        method += f", {pairs} not corrected (false-alarm rate {rate} each)"
    elif total > 1 or family is not None:
        if family is not None:
            how = "" if family.resampled else ", by Holm's steps over measures"
            pairs = f"all {family.pairs:,} pairs of {family.measures:,} measures{how}"
        method += f", {pairs} corrected ({CONTROLLED[result.pairs.error_rate]} {rate})"
    direction = f"; {describe_direction(setting.measure)}" if result.pairs.lower_is_better else ""
    return f"Applies to {result.claim}{direction}. {capitalize_sentence(method)}."


def count_pairs(result: PairResult) -> str:
    """Write how many pairs differ significantly, as a clause."""
    total, significant = len(result.pairs), result.n_significant
    verb = "differs" if significant == 1 else "differ"
    how = "not corrected" if result.pairs.error_rate == "pair" else "corrected"
    return (
        f"{significant:,} of {format_count(total, 'pair')} {verb} significantly (p < {result.alpha:g}, {how})"
    )


def write_contrasts(contrasts: Contrasts, decimals: int) -> list[str]:
    """Write contrasts of groups of systems, a line each.

    Parameters
    ----------
    contrasts : Contrasts
        What was compared.
    decimals : int
        Digits after the point.

    Returns
    -------
    list of str
        Estimate, simultaneous interval and corrected p-value of each.
    """
    level = format_percent(contrasts.level)
    lines = []
    for _, row in contrasts.table.iterrows():
        interval = format_interval(float(row["lower"]), float(row["upper"]), decimals)
        p = equate_p(format_p(float(row["p_adjusted"]), 0.0))
        estimate = format_signed(float(row["estimate"]), decimals)
        lines.append(f"{row['contrast']}: {estimate} ({level} CI {interval}, {p}).")
    return lines


def write_pairs(analysis: Analysis) -> list[str]:
    """Write how many pairs differ, and what the other claims say, a line each.

    Parameters
    ----------
    analysis : Analysis
        What was analysed.

    Returns
    -------
    list of str
        Sentences after the scope.
    """
    lines = []
    if len(analysis.comparisons) > 1 and not analysis.baselines:
        critical = ""
        smallest = format_number(analysis.lead.critical_difference, analysis.decimals)
        if analysis.lead.has_common_width and float(smallest.replace(",", "")) > 0.0:
            critical = f"; any gap of {smallest} or more is significant"
        lines.append(f"{count_pairs(analysis.lead)}{critical}.")
    for other in analysis.results_in_order[1:]:
        if other not in analysis.distinct_results or not (
            other.found_beyond(analysis.lead) or analysis.lead.found_beyond(other)
        ):
            lines.append(f"The same pairs differ for {other.claim}.")
        else:
            lines.append(f"For {other.claim}: {lower_first(write_answer(analysis, other))}")
    if analysis.n_labelled:
        lines.append(
            "Every mean and every difference is corrected by people's scores by itself, so that differences may"
            " deviate from those of the means."
        )
    lines += [remark.text for remark in analysis.remarks if remark.kind == "identical systems"]
    return [*lines, *write_measures(analysis), *_write_ratio(analysis)]


def write_measures(analysis: Analysis) -> list[str]:
    """Write what further measures say, whom no system beats on both of a benefit and a cost, and what was corrected.

    Parameters
    ----------
    analysis : Analysis
        An analysis of one measure or several.

    Returns
    -------
    list of str
        Sentences; none for one measure.
    """
    if not analysis.others:
        return []
    # loaded here, since most analyses have one measure
    from shardwise.analysis.measures import find_unbeaten

    lines = []
    for other in analysis.others[:MOST_WRITTEN]:
        lower = f" ({describe_direction('')})" if other.comparisons.lower_is_better else ""
        lines.append(f"By {shorten_name(other.measure)}{lower}: {write_answer(replace(other, measure=''))}")
    if unbeaten := find_unbeaten(analysis):
        labels = label_systems(analysis.lead)
        both = join_names([shorten_name(each.measure) for each in analysis.each])
        names = join_names([labels[name] for name in unbeaten])
        lines.append(f"Not significantly beaten on both {both}: {names}.")
    if analysis.lead.family is None:
        many = f"{len(analysis.each):,} measures"
        lines.append(
            f"The first measure leads; pairs are corrected within each of the {many}, not across them."
        )
    return lines


def lower_first(text: str) -> str:
    """Return a sentence that goes on after a colon: the first of our own words in lower case.

    >>> lower_first("Best: x"), lower_first("BM25 is tied")
    ('best: x', 'BM25 is tied')
    """
    return f"{text[:1].lower()}{text[1:]}" if text.startswith(("Best: ", "No ", "The ")) else text


def write_alternative(result: ClaimResult, analysis: Analysis) -> str:
    """Write what a method says that holds its error rate here, or the same one at a stricter level."""
    level = f" at alpha {result.alpha:g}" if result.alpha != analysis.alpha else ""
    answer = lower_first(write_answer(analysis, result))
    count = f" {capitalize_sentence(count_pairs(result))}." if len(result.pairs) > 1 else ""
    return f"By {result.procedure.name}{level}, for {describe_claim(result, analysis)}: {answer}{count}"


def write_range(analysis: Analysis, *, option: bool = True) -> str:
    """Write on which scale scores were taken to lie, where only the scores say so; empty where it is known.

    Parameters
    ----------
    analysis : Analysis
        What was analysed.
    option : bool
        Whether the sentence names the option that says otherwise.

    Returns
    -------
    str
        One sentence.
    """
    facts = analysis.item_scores.measure
    if facts.range is None or facts.range_from != BY_VALUES or facts.range == UNIT:
        return ""
    low, high = facts.range
    return f"Scores taken to lie on {low:g}–{high:g}{'; --range says otherwise' if option else ''}."


def write_repeats(analysis: Analysis) -> str:
    """Write what repeats were taken for, and what would give more power; empty where there are none."""
    facts = analysis.repeats
    if facts is None:
        return ""
    instance, topic = analysis.noun_for("instance"), analysis.noun_for("topic")
    if facts.kind == "samples":
        effect = facts.effect
        text = (
            f"The {pluralize_noun(instance)} of each {topic} count as independent"
            f"{'' if instance == 'sample' else ' samples'}."
        )
        # a shown effect has a warning of its own
        if effect.shown or not effect.doubtful:
            return text
        rate = format_percent(round(effect.false_alarms(analysis.alpha), 3))
        return (
            f"{text} If the estimated shift is real, the false-alarm rate of a pair is {rate}, not"
            f" {format_percent(analysis.alpha)}; --repeats seeds is safe."
        )
    if facts.declared:
        return "Repeats treated as seeds."
    if facts.effect.shown:
        return f"Repeats treated as seeds: each {instance} shifts all {analysis.nouns_for('topic')} together."
    return (
        f"Repeats treated as seeds (safe). If they were sampled independently for each {topic}, add --repeats"
        " samples for more power."
    )


def write_contrast(analysis: Analysis) -> str:
    """Write how the two claims compare on these data, or why there is only one."""
    topics, systems = analysis.nouns_for("topic"), analysis.nouns_for("system")
    topic, system = analysis.noun_for("topic"), analysis.noun_for("system")
    if len(analysis.claims) == 1:
        (result,) = analysis.claims
        if not result.procedure.claim.over:
            return (
                f"This result does not apply to new {topics}: {analysis.unsupported}. A difference may disappear"
                f" or reverse on new {topics}."
            )
        shards = "shard" in analysis.scores.dims
        if not shards and "instance" not in analysis.scores.dims:
            return ""
        method = result.procedure.method
        if shards and (method.takes_common_gaps or method.takes_gaps):
            return f"Testing exactly these {topics} needs every {system} to have the same scores."
        return f"{result.procedure.name} supports claims about new {topics} only."
    here, like = analysis.claims
    if here.same_pairs(like) and "shard" not in analysis.scores.dims:
        return (
            f"With one score per {topic} and {system}, both claims have the same error term and the same result:"
            f" valid for new {topics}, conservative for exactly these {topics}. Scores on shards separate the two."
        )
    only_here, only_like = here.found_beyond(like), like.found_beyond(here)
    if not only_here and not only_like:
        if here.n_significant:
            return f"Both claims have the same significant pairs: {systems} differ alike from {topic} to {topic}."
        return "No pair is significant for either claim."
    sentences = []
    if only_here:
        verb = "differs" if only_here == 1 else "differ"
        sentences.append(
            f"{format_count(only_here, 'pair')} {verb} significantly for exactly these {topics} only:"
            " differences vary so"
            f" much from {topic} to {topic} that new {topics} may not show them."
        )
    if only_like:
        verb = "differs" if only_like == 1 else "differ"
        pairs = format_count(only_like, "pair")
        sentences.append(f"{pairs} {verb} significantly for {describe_claim(like, analysis)} only.")
    return " ".join(sentences)


def write_splits(analysis: Analysis) -> str:
    """Write how several splits became one answer, and how many are enough; empty where there is one."""
    total, rule = analysis.n_splits, analysis.procedure.rule
    if total < 2:
        return ""
    how = "Results are means over" if rule in ("", "mean") else f"Results ({RULES[rule].title}) combine"
    noise = [
        f" For {describe_claim(result, analysis)}, {split.noise.removable:.0%} of the error variance of one split"
        f" comes from the split itself; {split.noise.enough:,} splits make p-values stable."
        for result in analysis.results_in_order
        for split in analysis.splits
        if split.key == result.key and split.noise is not None
    ]
    return f"{how} {total:,} splits.{''.join(noise)}"


def write_next_step(analysis: Analysis, command: str = "") -> str:
    """Write what these topics can detect, and what would settle the closest tie; empty where no tie is open.

    Parameters
    ----------
    analysis : Analysis
        What was analysed.
    command : str
        The command that plans with these data, such as ``shardwise design power scores.csv``.

    Returns
    -------
    str
        One or two sentences, with the command to type.
    """
    tie = analysis.open_tie()
    if tie is None:
        return ""
    repeat = analysis.noun_for("instance")
    here = analysis.format_count(tie.items, "topic")
    here += f" with {format_count(tie.repeats, repeat)} each" if tie.repeats > 1 else ""
    power = f"{format_percent(POWER)} power"
    low, high = analysis.item_scores.measure.range or (-np.inf, np.inf)
    first = f"{here} detect a difference of {tie.detectable:.2g} with {power}."
    if tie.detectable > high - low:
        first = f"{here} are too few to detect any difference with {power}."
    step = _write_settling(tie, analysis, power)
    # the figures of the command, which gets the difference as it is printed
    planned = bool(command) and tie.paired
    typed = f": {command} --min-diff {tie.difference:g} --systems {len(analysis.systems)}" if planned else ""
    return f"{first} Next: {step}{typed or '.'}" if step else first


def _write_settling(tie: OpenTie, analysis: Analysis, power: str) -> str:
    """How many more topics or repeats would settle a tie."""
    topics, repeat = analysis.nouns_for("topic"), analysis.noun_for("instance")
    few_items = tie.items_needed is not None and tie.items < tie.items_needed <= FAR * tie.items
    few_repeats = tie.repeats_needed is not None and tie.repeats < tie.repeats_needed <= FAR * tie.repeats
    more = []
    if few_items and tie.items_needed is not None:
        more.append(f"{tie.items_needed - tie.items:,} more {topics}")
    if few_repeats and tie.repeats_needed is not None:
        added = tie.repeats_needed - tie.repeats
        each = f" of each {analysis.noun_for('topic')}" if more else ""
        more.append(f"{added:,} more {repeat if added == 1 else pluralize_noun(repeat)}{each}")
    if more:
        labels = label_systems(analysis.lead)
        pair = f"{labels[tie.a]} against {labels[tie.b]}"
        return f"{', or '.join(more)} would settle {pair} if they differ by {tie.difference:g} ({power})"
    if tie.items_needed is not None and tie.items_needed > tie.items:
        total = analysis.format_count(tie.items_needed, "topic")
        return f"decide whether the gap of {tie.difference:g} matters; detecting it takes {total} ({power})"
    if tie.items_needed is None and tie.difference > 0.0 and tie.repeats > 1:
        return f"add {pluralize_noun(repeat)}; more {topics} alone will not show a difference of {tie.difference:g}"
    return ""


def write_summary(analysis: Analysis) -> str:
    """Write the answer, its scope, what other claims say, and warnings: a line each."""
    lines = [
        write_answer(analysis),
        write_scope(analysis),
        *write_pairs(analysis),
        *([] if analysis.slices is None else write_slices(analysis.slices)),
        *(write_alternative(result, analysis) for result in analysis.instead),
        write_range(analysis),
        write_repeats(analysis),
        write_splits(analysis),
        *(f"Warning: {remark.sentence}" for remark in analysis.remarks if remark.warning),
        write_next_step(analysis),
    ]
    return "\n".join(line for line in lines if line)


def summarize_pairs(pairs: Comparisons, alpha: float, measure: str = "") -> str:
    """Write the answer of comparisons that no analysis holds: the answer, its scope, how many pairs differ.

    Parameters
    ----------
    pairs : Comparisons
        What was compared.
    alpha : float
        Significance level.
    measure : str
        What the scores are.

    Returns
    -------
    str
        Two or three lines.
    """
    result = PairResult(pairs=pairs, alpha=alpha, measure=measure)
    lines = [write_answer(result), write_scope(result)]
    if len(pairs) > 1 and not result.baselines:
        lines.append(f"{count_pairs(result)}.")
    return "\n".join(lines)
